/* Shared by elfsym_file.c, elfsym_cfi.c and elfsym_inline.c, which alone know elfutils. */
#ifndef STACK_ELFSYM_IMPL_H
#define STACK_ELFSYM_IMPL_H

#include <stdbool.h>

#include "common/stack/elfsym_file.h"

struct Elf;
struct Dwarf;

struct elfsym_file {
	struct Elf *elf;
	struct Dwarf *dwarf;
	bool looked_for_dwarf;
};

struct Dwarf *elfsym_file_dwarf(struct elfsym_file *f);        /* NULL: no debug information */

#endif
