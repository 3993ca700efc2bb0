/* An ELF file of anybody's making: its sections, functions and stubs lie inside it. */
#include "common/stack/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "common/stack/elfimage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_table(struct symtab *t)
{
	size_t count;
	const struct symtab_entry *e = symtab_entries(t, &count);

	for (size_t i = 0; i < count; i++) {
		const struct symtab_entry *found = symtab_find(t, e[i].start);

		if (i && e[i - 1].start >= e[i].start)
			abort();
		if (found && found->start > e[i].start)
			abort();
		if (i < 100 && strlen(symtab_name(t, &e[i])) == SIZE_MAX)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text image = { (const char *)data, size };
	char id[ELFIMAGE_BUILD_ID_HEX];
	struct elfsection s;
	struct elfimage e;
	uint64_t address;

	if (elfimage_open(image, &e))
		return 0;
	for (uint32_t i = 0; elfimage_section(&e, i, &s); i++)
		if (s.data.len && (s.data.data < image.data ||
				   s.data.data + s.data.len > image.data + image.len))
			abort();
	if (elfimage_build_id(&e, id) && strspn(id, "0123456789abcdef") != strlen(id))
		abort();
	elfimage_address_of(&e, size / 2, &address);
	if (elfimage_loaded_at(&e, e.entry).len > size)
		abort();
	struct symtab *t = symtab_new();

	symtab_add_elf(t, &e);
	symtab_add_plt(t, &e);
	symtab_seal(t);
	check_table(t);
	symtab_free(t);
	return 0;
}
