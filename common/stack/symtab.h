/*
 * A sorted table of functions: which one covers an address. Built once from an ELF file's symbols
 * (names stay in the file) or from any list; of several names for one address the one that people
 * know is kept.
 */
#ifndef STACK_SYMTAB_H
#define STACK_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

struct elfimage;
struct symtab;

#define SYMTAB_MAX (8u << 20)          /* functions of one object; more are not kept */
#define SYMTAB_NAMES_MAX (1u << 30)    /* bytes of one table of names: as far as they are reached */

struct symtab_entry {
	uint64_t start;
	uint32_t size;
	uint32_t name;                 /* see symtab_name */
};

enum symtab_binding { SYMTAB_LOCAL, SYMTAB_WEAK, SYMTAB_GLOBAL };

struct symtab *symtab_new(void);
void symtab_free(struct symtab *t);

/*
 * The functions of .symtab, or of .dynsym in a file without. An object that is still to be linked
 * (a kernel module) counts as the kernel lays it out: executable sections one behind the other from
 * address 0. False: the file has neither. The file's bytes are used until symtab_free.
 */
bool symtab_add_elf(struct symtab *t, const struct elfimage *e);
/* "name@plt" for the stubs through which other objects' functions are called. */
void symtab_add_plt(struct symtab *t, const struct elfimage *e);

/*
 * A symbol of any other list. names: a table (one of up to SYMTAB_TABLES), whose bytes are used
 * until symtab_free; name: where in it, with NUL behind. size 0: up to the next one, or limit.
 */
#define SYMTAB_TABLES 4u
bool symtab_add_table(struct symtab *t, struct text names, unsigned *table);
void symtab_add(struct symtab *t, uint64_t start, uint64_t size, uint64_t limit, unsigned table,
		size_t name, enum symtab_binding binding);

/* Nothing more comes: sorts. Before that nothing is found. */
void symtab_seal(struct symtab *t);
bool symtab_is_cut(const struct symtab *t);            /* there were more than SYMTAB_MAX */

const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address);
const char *symtab_name(const struct symtab *t, const struct symtab_entry *e);
/* All entries, sorted; size may be changed (to 0: covers nothing). */
struct symtab_entry *symtab_entries(struct symtab *t, size_t *count);

#endif
