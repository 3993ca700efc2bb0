#include "common/stack/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"

/*
 * Nodes are columns of numbers, not structs: what a walk needs lies together. Two hash tables of
 * numbers with a piece of the hash beside each, so that nearly every miss is seen without a look
 * at what the number stands for: names by their bytes, nodes by parent and name.
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

struct fold {
	struct table by_text, by_parent;

	struct name *names;            /* from 1 */
	uint32_t name_count;
	size_t name_cap;
	char *bytes;
	size_t bytes_len, bytes_cap;

	uint32_t *parent, *name;
	uint64_t *weight[2];           /* NULL until there is one */
	double *part[2];
	uint32_t count;
	size_t cap;
	uint32_t nodes_max;
	size_t bytes_max;
};

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0x9fb21c651e98df25ull;
	h ^= h >> 29;
	h *= 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

static uint64_t load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Eight bytes at a time; the last, overlapping eight cover the rest. */
static uint32_t hash_text(struct text t)
{
	uint64_t h = t.len * 0x9e3779b97f4a7c15ull;
	const char *p = t.data;

	if (t.len < 8) {
		uint64_t v = 0;

		if (t.len)
			memcpy(&v, p, t.len);
		return (uint32_t)mix(h ^ v);
	}
	for (size_t left = t.len; left > 8; left -= 8, p += 8) {
		h = (h ^ load64(p)) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return (uint32_t)mix(h ^ load64(t.data + t.len - 8));
}

static void put(struct table *t, struct slot s)
{
	size_t at = s.tag & (t->size - 1);

	while (t->slots[at].number)
		at = (at + 1) & (t->size - 1);
	t->slots[at] = s;
}

/* Makes room for one more. */
static void table_reserve(struct table *t)
{
	if ((t->used + 1) * 3 <= t->size * 2)
		return;
	struct table old = *t;

	t->size = old.size ? old.size * 2 : 1024;
	t->slots = mem_alloc(t->size * sizeof(*t->slots));
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].number)
			put(t, old.slots[i]);
	free(old.slots);
}

struct fold *fold_new(void)
{
	struct fold *f = mem_alloc(sizeof(*f));

	f->names = mem_grow(NULL, &f->name_cap, 64, sizeof(*f->names));
	f->name_count = 1;
	f->cap = 1024;
	f->parent = mem_alloc(f->cap * sizeof(*f->parent));
	f->name = mem_alloc(f->cap * sizeof(*f->name));
	f->count = 1;
	fold_limit(f, FOLD_NODES_MAX, FOLD_NAMES_BYTES_MAX);
	return f;
}

void fold_limit(struct fold *f, uint32_t nodes, uint32_t name_bytes)
{
	f->nodes_max = nodes < FOLD_NODES_MAX ? nodes : FOLD_NODES_MAX;
	f->bytes_max = name_bytes < FOLD_NAMES_BYTES_MAX ? name_bytes : FOLD_NAMES_BYTES_MAX;
}

void fold_free(struct fold *f)
{
	if (!f)
		return;
	free(f->by_text.slots);
	free(f->by_parent.slots);
	free(f->names);
	free(f->bytes);
	free(f->parent);
	free(f->name);
	for (unsigned side = 0; side < 2; side++) {
		free(f->weight[side]);
		free(f->part[side]);
	}
	free(f);
}

struct text fold_name_text(const struct fold *f, uint32_t name)
{
	const struct name *n = &f->names[name];

	return (struct text){ n->len ? f->bytes + n->at : "", n->len };
}

static uint32_t add_name(struct fold *f, struct text name)
{
	if (f->bytes_len + name.len > f->bytes_max)
		return FOLD_FULL;
	f->names = mem_grow(f->names, &f->name_cap, f->name_count + 1u, sizeof(*f->names));
	f->bytes = mem_grow(f->bytes, &f->bytes_cap, f->bytes_len + name.len, 1);
	f->names[f->name_count] = (struct name){ (uint32_t)f->bytes_len, (uint16_t)name.len };
	if (name.len)
		memcpy(f->bytes + f->bytes_len, name.data, name.len);
	f->bytes_len += name.len;
	return f->name_count++;
}

uint32_t fold_name(struct fold *f, struct text name)
{
	if (name.len > FOLD_FRAME_MAX)
		name.len = FOLD_FRAME_MAX;
	table_reserve(&f->by_text);
	const uint32_t tag = hash_text(name);
	size_t at = tag & (f->by_text.size - 1);

	for (; f->by_text.slots[at].number; at = (at + 1) & (f->by_text.size - 1)) {
		const struct slot *s = &f->by_text.slots[at];

		if (s->tag != tag || f->names[s->number].len != name.len)
			continue;
		if (!name.len || !memcmp(f->bytes + f->names[s->number].at, name.data, name.len))
			return s->number;
	}
	const uint32_t number = add_name(f, name);

	if (number == FOLD_FULL)
		return FOLD_FULL;
	f->by_text.slots[at] = (struct slot){ number, tag };
	f->by_text.used++;
	return number;
}

static void *widen(void *items, size_t from, size_t to, size_t size)
{
	void *wider = mem_alloc(to * size);

	memcpy(wider, items, from * size);
	free(items);
	return wider;
}

static void nodes_reserve(struct fold *f)
{
	if (f->count < f->cap)
		return;
	const size_t cap = f->cap * 2;

	f->parent = widen(f->parent, f->cap, cap, sizeof(*f->parent));
	f->name = widen(f->name, f->cap, cap, sizeof(*f->name));
	for (unsigned side = 0; side < 2; side++) {
		if (f->weight[side])
			f->weight[side] = widen(f->weight[side], f->cap, cap, sizeof(uint64_t));
		if (f->part[side])
			f->part[side] = widen(f->part[side], f->cap, cap, sizeof(double));
	}
	f->cap = cap;
}

uint32_t fold_child_of(struct fold *f, uint32_t parent, uint32_t name)
{
	if (parent == FOLD_FULL || name == FOLD_FULL)
		return FOLD_FULL;
	table_reserve(&f->by_parent);
	const uint32_t tag = (uint32_t)mix((uint64_t)parent << 32 | name);
	size_t at = tag & (f->by_parent.size - 1);

	for (; f->by_parent.slots[at].number; at = (at + 1) & (f->by_parent.size - 1)) {
		const struct slot *s = &f->by_parent.slots[at];

		if (s->tag == tag && f->parent[s->number] == parent && f->name[s->number] == name)
			return s->number;
	}
	if (f->count >= f->nodes_max)
		return FOLD_FULL;
	nodes_reserve(f);
	f->parent[f->count] = parent;
	f->name[f->count] = name;
	f->by_parent.slots[at] = (struct slot){ f->count, tag };
	f->by_parent.used++;
	return f->count++;
}

uint32_t fold_child(struct fold *f, uint32_t parent, struct text name)
{
	return parent == FOLD_FULL ? FOLD_FULL : fold_child_of(f, parent, fold_name(f, name));
}

void fold_add(struct fold *f, uint32_t node, unsigned side, uint64_t weight)
{
	if (node == FOLD_FULL)
		return;
	if (!f->weight[side])
		f->weight[side] = mem_alloc(f->cap * sizeof(uint64_t));
	uint64_t *w = &f->weight[side][node];

	if (__builtin_add_overflow(*w, weight, w))
		*w = UINT64_MAX;
}

void fold_add_part(struct fold *f, uint32_t node, unsigned side, double part)
{
	if (node == FOLD_FULL)
		return;
	if (!f->part[side])
		f->part[side] = mem_alloc(f->cap * sizeof(double));
	f->part[side][node] += part;
}

uint32_t fold_count(const struct fold *f)
{
	return f->count;
}

uint32_t fold_parent(const struct fold *f, uint32_t node)
{
	return f->parent[node];
}

uint32_t fold_name_of(const struct fold *f, uint32_t node)
{
	return f->name[node];
}

struct text fold_text(const struct fold *f, uint32_t node)
{
	return fold_name_text(f, f->name[node]);
}

uint64_t fold_weight(const struct fold *f, uint32_t node, unsigned side)
{
	uint64_t w = f->weight[side] ? f->weight[side][node] : 0;

	if (f->part[side] && __builtin_add_overflow(w, (uint64_t)(f->part[side][node] + 0.5), &w))
		w = UINT64_MAX;
	return w;
}

uint32_t fold_stacks(const struct fold *f)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < f->count; i++)
		n += fold_weight(f, i, 0) || fold_weight(f, i, 1);
	return n;
}

size_t fold_memory(const struct fold *f)
{
	size_t per_node = 2 * sizeof(uint32_t);

	for (unsigned side = 0; side < 2; side++)
		per_node += (f->weight[side] ? sizeof(uint64_t) : 0) +
			    (f->part[side] ? sizeof(double) : 0);
	return (f->by_text.size + f->by_parent.size) * sizeof(struct slot) +
	       f->name_cap * sizeof(struct name) + f->bytes_cap + f->cap * per_node;
}
