#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/stack/elfsym_impl.h"

struct elfsym_file *elfsym_file_new(char *image, size_t len)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory(image, len);

	if (!elf)
		return NULL;
	struct elfsym_file *f = mem_alloc(sizeof(*f));

	f->elf = elf;
	return f;
}

Dwarf *elfsym_file_dwarf(struct elfsym_file *f)
{
	if (!f->looked_for_dwarf) {
		f->looked_for_dwarf = true;
		f->dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	}
	return f->dwarf;
}

void elfsym_file_free(struct elfsym_file *f)
{
	if (!f)
		return;
	dwarf_end(f->dwarf);
	elf_end(f->elf);
	free(f);
}
