/* Shared by symbols.c, symbols_kernel.c and symbols_jit.c. */
#ifndef STACK_SYMBOLS_IMPL_H
#define STACK_SYMBOLS_IMPL_H

#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/stack/object.h"
#include "common/stack/symbols.h"

struct kallsyms;
struct ksymname;
struct perfmap;

struct ksymbol {
	uint64_t start, end;
	struct text name;
};

struct kernel {
	struct symbols_kernel is;      /* as recorded, copied; all 0: it says nothing */
	bool was_opened;
	struct ksymname *asked;        /* the kernel itself; NULL: its list, if that may be used */
	unsigned asked_count;
	struct kallsyms *list;         /* NULL: none that may be used */
	uint64_t shift;                /* recorded address less the list's (or vmlinux's) */
	bool has_shift;
	bool has_modules;              /* so are its modules and BPF programs the recorded ones */
	struct object *vmlinux;
	const char *why_not;           /* no names: a remark; in the arena */
	struct ksymbol *ksymbols;      /* later ones come first */
	size_t ksymbol_count, ksymbol_cap;
	uint64_t ksymbol_low, ksymbol_high;
	struct hash modules;           /* by path: objects */
};

struct symbols {
	struct symbols_options options;
	struct object_places places;
	struct arena arena;            /* names that live as long as the symbols */
	struct hash objects;           /* by key */
	struct object *first;          /* all of them */
	struct kernel kernel;
	struct hash inlined_names;     /* from debug information's to demangled ones */
	struct hash jits;              /* by pid */
	struct jit *first_jit;
	const char **remarks;
	size_t remark_count, remark_cap;
};

void symbols_kernel_free(struct symbols *s);

/* The object of a map, opened at the first time. */
struct object *symbols_object(struct symbols *s, const struct symbols_map *map);
/* The object's name for a symbol table's entry, demangled. */
struct text symbols_readable(struct symbols *s, struct object *o, const struct symtab_entry *e);

/* Names of memory without a file: what the process's JIT wrote. */
bool symbols_is_jit(const struct symbols_map *map);
bool symbols_find_jit(struct symbols *s, const struct symbols_map *map, uint64_t address,
		      struct symbol *found);
void symbols_jit_free(struct symbols *s);

void symbols_remark(struct symbols *s, const char *format, ...) PRINTF_LIKE(2, 3);
void symbols_kernel_remarks(struct symbols *s);
void symbols_jit_remarks(struct symbols *s);

#endif
