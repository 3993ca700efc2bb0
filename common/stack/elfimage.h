/*
 * An ELF file in memory, read with every length checked against what is there: nobody vouches for
 * the files that a recording names. Of this machine's byte order, of 32 and 64 bits.
 *
 * Format: the System V gABI, chapters 4 and 5; <elf.h>.
 */
#ifndef STACK_ELFIMAGE_H
#define STACK_ELFIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

#define ELFIMAGE_BUILD_ID_MAX 64       /* bytes; longer ones are as good as none */
#define ELFIMAGE_BUILD_ID_HEX (2 * ELFIMAGE_BUILD_ID_MAX + 1)

struct elfimage {
	struct text bytes;             /* the caller's, as long as the image is used */
	bool is_64;
	uint16_t type, machine;
	uint64_t entry, segments_at, sections_at;
	uint32_t segment_size, section_size, segment_count, section_count, names_section;
};

struct elfsection {
	struct text name;
	uint32_t type, link, info;
	uint64_t flags, address, offset, size, align, entry_size;
	struct text data;              /* empty for NOBITS and for what lies outside the file */
};

struct elfsegment {
	uint32_t type, flags;
	uint64_t offset, address, file_size, memory_size;
};

struct elfsymbol {
	struct text name;              /* NUL behind it */
	uint64_t value, size;
	uint16_t section;
	unsigned char info, other;
};

/* 0, or -ENOEXEC with fail text: no ELF file, another byte order, cut within its tables' counts. */
int elfimage_open(struct text bytes, struct elfimage *e);

/* False: there is no such. A table cut short ends where the file does. */
bool elfimage_section(const struct elfimage *e, uint32_t index, struct elfsection *s);
bool elfimage_find_section(const struct elfimage *e, const char *name, struct elfsection *s);
bool elfimage_find_type(const struct elfimage *e, uint32_t type, struct elfsection *s);
bool elfimage_segment(const struct elfimage *e, uint32_t index, struct elfsegment *s);

/* Where a byte of the file is loaded, counted as its symbols count; through PT_LOAD. */
bool elfimage_address_of(const struct elfimage *e, uint64_t offset, uint64_t *address);
/* Bytes that its compressed sections say they unpack to, together. */
uint64_t elfimage_unpacked_size(const struct elfimage *e);
/* The file's bytes from an address to the end of its segment. Empty: nothing is loaded there. */
struct text elfimage_loaded_at(const struct elfimage *e, uint64_t address);

/* Symbols of a SHT_SYMTAB or SHT_DYNSYM section, whose names stand in `names` (see link). */
size_t elfimage_symbol_count(const struct elfimage *e, const struct elfsection *symbols);
bool elfimage_symbol(const struct elfimage *e, const struct elfsection *symbols,
		     struct text names, size_t index, struct elfsymbol *s);

/* The value of a symbol in .symtab; looks at all of them. */
bool elfimage_symbol_value(const struct elfimage *e, const char *name, uint64_t *value);

/* The GNU build id in lower-case hex. */
bool elfimage_build_id(const struct elfimage *e, char hex[ELFIMAGE_BUILD_ID_HEX]);
/* The same out of notes alone, as /sys/kernel/notes holds them. */
bool elfimage_notes_build_id(struct text notes, char hex[ELFIMAGE_BUILD_ID_HEX]);

#endif
