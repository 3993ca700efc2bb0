/* What an ELF file says about itself: build id, symbol of an address; and names made readable. */
#ifndef STACK_ELFSYM_H
#define STACK_ELFSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

#define ELFSYM_BUILD_ID_MAX 20                     /* bytes; as the kernel's BUILD_ID_SIZE_MAX */
#define ELFSYM_BUILD_ID_HEX (2 * ELFSYM_BUILD_ID_MAX + 1)

const char *elfsym_library_version(void);          /* of elfutils */

/*
 * The GNU build id as lower-case hex. 0, or a negative errno with fail text: -ENOENT if the file
 * has none, -ENOEXEC if it is neither a program nor a shared object, or is damaged. The file's
 * offset isn't touched, the fd stays open.
 */
int elfsym_build_id(int fd, char hex[ELFSYM_BUILD_ID_HEX]);
int elfsym_build_id_of(struct text image, char hex[ELFSYM_BUILD_ID_HEX]);

/*
 * The symbol that covers an address, counted as the file itself counts (st_value): its name as
 * mangled, cut to fit, and how far into it the address lies. -ENOENT if no symbol covers it. Reads
 * .symtab, .dynsym and .gnu_debugdata of this file and nothing else; no other file is opened.
 */
int elfsym_lookup(int fd, uint64_t address, char *name, size_t size, uint64_t *offset);
int elfsym_lookup_of(struct text image, uint64_t address, char *name, size_t size,
		     uint64_t *offset);

/*
 * C++, Rust (v0 and legacy) and D names without parameters, as they stand in a folded stack (D
 * names keep theirs); cut to fit. False, and out is untouched, if the name is not mangled in any of
 * these ways.
 */
bool elfsym_demangle(const char *mangled, char *out, size_t size);

#endif
