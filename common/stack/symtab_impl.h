/* Shared by symtab.c and symtab_plt.c. */
#ifndef STACK_SYMTAB_IMPL_H
#define STACK_SYMTAB_IMPL_H

#include "common/base/buf.h"
#include "common/stack/symtab.h"

struct symtab_raw {
	uint64_t start, limit;         /* limit: where it ends at the latest if size is 0 */
	uint32_t size, name, order;    /* order: in which they came */
	unsigned char binding;
	bool is_label;
};

struct symtab {
	struct symtab_raw *raw;        /* until sealed */
	size_t raw_count, raw_cap;
	struct symtab_entry *entries;  /* then */
	size_t count;
	struct text tables[SYMTAB_TABLES - 1];
	unsigned table_count;
	struct buf made;               /* names made here: the last table */
	bool is_cut;
};

void symtab_add_made(struct symtab *t, uint64_t start, uint64_t size, struct text name,
		     const char *suffix);

#endif
