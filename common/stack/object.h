/*
 * A program, library or kernel module that a recording names: its file found again, if it is still
 * the one that was recorded, with the functions in it. Kept once for all processes that map it.
 */
#ifndef STACK_OBJECT_H
#define STACK_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/stack/elfimage.h"
#include "common/stack/hostfile.h"
#include "common/stack/symbols.h"
#include "common/stack/symtab.h"

#define OBJECT_UNPACKED_MAX (256u << 20)       /* a compressed module, mini debug info */
#define OBJECT_CODE_MAX 4

enum object_state {
	OBJECT_GOOD,
	OBJECT_MISSING,                /* no file there, or not readable */
	OBJECT_OTHER_BUILD,            /* a file is there, its build id or inode is another */
};

struct elfsym_cfi;
struct elfsym_inline;

struct object {
	const char *path;              /* as recorded, without " (deleted)" */
	const char *build_id;          /* as recorded; NULL unknown */
	uint64_t inode;                /* to go by without a build id; 0: nothing */
	enum object_state state;
	struct elfimage elf;           /* if OBJECT_GOOD */
	struct object_code {           /* its executable segments, as many as fit */
		uint64_t offset, size, address;
	} code[OBJECT_CODE_MAX];
	unsigned code_count;
	struct hostfile file;
	struct buf unpacked;           /* what file holds, if it is compressed */

	bool looked_for_symbols;
	struct symtab *symbols;        /* once looked for; NULL: none */
	struct hostfile debug_file;    /* symbols and debug information kept apart */
	struct elfimage debug;
	bool has_debug, looked_for_debug;
	struct buf mini;               /* .gnu_debugdata unpacked */
	struct hash readable;          /* from a symbol to its demangled name */
	uint64_t nameless;             /* look-ups that found no name */

	struct elfsym_file *own, *apart, *shared;      /* the three files as elfutils has them */
	struct elfsym_cfi *cfi;        /* unwind.c's */
	struct elfsym_inline *lines;   /* elfsym_inline.c's; NULL: none, if looked for */
	struct hostfile shared_file;   /* debug information that several objects share */
	struct hash inlined;           /* by address: symbols_inline.c's */
	bool looked_for_lines;
	struct object *next;
};

/* Where files may be. */
struct object_places {
	const struct symbols_options *options;
	struct hash by_build_id;       /* of --buildids: to a path */
	struct arena arena;
};

void object_places_read(struct object_places *p, const char *buildids);
void object_places_free(struct object_places *p);

/* The object of a map, opened; owned by the caller: object_free. */
struct object *object_new(const struct object_places *p, const struct symbols_map *map);
void object_free(struct object *o);

/* Where a byte of the file is, counted as its symbols count; false: it is not loaded. */
bool object_address_of(const struct object *o, uint64_t offset, uint64_t *address);

/* The object's functions; NULL if it has none, or no file. */
struct symtab *object_symbols(struct object *o, const struct object_places *p);
/* The ELF file that has a section (".debug_info"): the object's or its debug file. NULL: none. */
const struct elfimage *object_with_section(struct object *o, const struct object_places *p,
					   const char *name);

/* The object's unwind information; NULL if it has no file. */
struct elfsym_cfi *object_cfi(struct object *o, const struct object_places *p);
/* The object's debug information; NULL if it has none. */
struct elfsym_inline *object_lines(struct object *o, const struct object_places *p);

/* Whether a process sees other files than we do: it is in another mount namespace. */
bool object_process_is_elsewhere(uint32_t pid);

/* Whether two build ids are the same: older recordings fill them up with zeroes. */
bool object_build_ids_match(const char *a, const char *b);

#endif
