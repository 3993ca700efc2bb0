/* What a fold is made of, for fold.c and what walks all of it. */
#ifndef STACK_FOLD_IMPL_H
#define STACK_FOLD_IMPL_H

#include "common/stack/fold.h"

/*
 * Most nodes have one child, numbered next to them: that is found at the parent, in memory that was
 * just touched. Only the others are in a hash table, by parent and name. Names have one, too, by
 * their bytes. A slot has a piece of the hash beside the number, so that nearly every miss is seen
 * without a look at what the number stands for.
 */
struct slot {
	uint32_t number;               /* 0: free */
	uint32_t tag;                  /* lower half of the hash; its low bits are the place */
};

struct table {
	struct slot *slots;
	size_t size;                   /* a power of two */
	size_t used;
};

struct name {
	uint32_t at;                   /* where in bytes */
	uint16_t len;
};

struct node {
	uint32_t parent, name;
	uint32_t first;                /* child: the one that came first; 0: none */
	uint32_t weight;               /* where in weight and part; 0: none, as most have */
};

struct fold {
	struct table by_text, by_parent;

	struct name *names;            /* from 1 */
	uint32_t name_count;
	size_t name_cap;
	char *bytes;
	size_t bytes_len, bytes_cap;

	struct node *nodes;
	uint64_t *weight[2];           /* NULL until there is one */
	double *part[2];
	uint32_t weight_count;
	size_t weight_cap;
	uint32_t count;
	size_t cap;
	uint32_t nodes_max;
	size_t bytes_max;
};

static inline struct text fold_bytes_of(const struct fold *f, uint32_t name)
{
	const struct name *n = &f->names[name];

	return (struct text){ n->len ? f->bytes + n->at : "", n->len };
}

#endif
