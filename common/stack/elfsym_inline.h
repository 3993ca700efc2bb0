/*
 * Which functions stand at an address according to debug information (DWARF): those that the
 * compiler put into others have no symbol of their own.
 *
 * Format: DWARF 5, sections 3.3.8 and 6.2.
 */
#ifndef STACK_ELFSYM_INLINE_H
#define STACK_ELFSYM_INLINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/stack/elfsym_file.h"

struct elfsym_inline;

struct inlined_function {
	const char *name;              /* mangled if the compiler says so; NULL unknown */
	const char *file;              /* where in it the address is; NULL unknown */
	int line;
};

/*
 * A file with .debug_info, and the one that it shares its debug information with (what dwz made;
 * NULL: none). Both are used until elfsym_inline_free. NULL: it can't be read.
 */
struct elfsym_inline *elfsym_inline_new(struct elfsym_file *file, struct elfsym_file *shared);
void elfsym_inline_free(struct elfsym_inline *i);

/*
 * The functions at an address, counted as the file's symbols are: innermost first, at most max;
 * the last one is the function that has a symbol. 0: the debug information does not cover it.
 * What it takes is bounded: of objects with absurd debug information only a part is read.
 */
size_t elfsym_inline_find(struct elfsym_inline *i, uint64_t address, struct inlined_function *found,
			  size_t max);

#endif
