#include "common/stack/fold_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/buf.h"
#include "common/base/mem.h"

#define LARGE_PAGE (2u << 20)
#define LARGE_MIN (8u << 20)           /* what is smaller gets none: half of one may stay unused */
#define NAMES_AT_ONCE 32               /* whose places in the table are fetched together */

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

/* Memory that is used from end to end, in any order: with large pages few of it need a fault. */
static void use_large_pages(void *p, size_t size)
{
	const uintptr_t from = ((uintptr_t)p + LARGE_PAGE - 1) & -(uintptr_t)LARGE_PAGE;
	const uintptr_t to = ((uintptr_t)p + size) & -(uintptr_t)LARGE_PAGE;

	if (size >= LARGE_MIN)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
}

/* Makes room for `more`. */
static void table_reserve(struct table *t, size_t more)
{
	if ((t->used + more) * 3 <= t->size * 2)
		return;
	struct table old = *t;

	t->size = old.size ? old.size * 2 : 1024;
	t->slots = mem_alloc(t->size * sizeof(*t->slots));
	use_large_pages(t->slots, t->size * sizeof(*t->slots));
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
	f->nodes = mem_alloc(f->cap * sizeof(*f->nodes));
	f->count = 1;
	f->weight_count = 1;
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
	free(f->nodes);
	for (unsigned side = 0; side < 2; side++) {
		free(f->weight[side]);
		free(f->part[side]);
	}
	free(f);
}

struct text fold_name_text(const struct fold *f, uint32_t name)
{
	return fold_bytes_of(f, name);
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

/* There is room for one more in the table. */
static uint32_t name_of(struct fold *f, struct text name, uint32_t tag)
{
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

static struct text kept_part(struct text name)
{
	return (struct text){ name.data, name.len < FOLD_FRAME_MAX ? name.len : FOLD_FRAME_MAX };
}

uint32_t fold_name(struct fold *f, struct text name)
{
	table_reserve(&f->by_text, 1);
	name = kept_part(name);
	return name_of(f, name, hash_text(name));
}

/* The name that it is, most likely: of the same hash. 0: none is. */
static uint32_t likely_name(const struct fold *f, uint32_t tag)
{
	const size_t mask = f->by_text.size - 1;
	size_t at = tag & mask;

	while (f->by_text.slots[at].number && f->by_text.slots[at].tag != tag)
		at = (at + 1) & mask;
	return f->by_text.slots[at].number;
}

/* A look-up is three steps to memory that is far away; here each is on its way for all names. */
static void names_of(struct fold *f, const struct text *names, size_t n, uint32_t *numbers)
{
	uint32_t tags[NAMES_AT_ONCE];

	table_reserve(&f->by_text, n);
	for (size_t i = 0; i < n; i++) {
		tags[i] = hash_text(kept_part(names[i]));
		__builtin_prefetch(&f->by_text.slots[tags[i] & (f->by_text.size - 1)]);
	}
	for (size_t i = 0; i < n; i++) {
		numbers[i] = likely_name(f, tags[i]);
		__builtin_prefetch(&f->names[numbers[i]]);
	}
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(fold_bytes_of(f, numbers[i]).data);
	for (size_t i = 0; i < n; i++)
		numbers[i] = name_of(f, kept_part(names[i]), tags[i]);
}

void fold_names(struct fold *f, const struct text *names, size_t count, uint32_t *numbers)
{
	for (size_t from = 0; from < count; from += NAMES_AT_ONCE) {
		const size_t left = count - from;

		names_of(f, names + from, left < NAMES_AT_ONCE ? left : NAMES_AT_ONCE,
			 numbers + from);
	}
}

static uint32_t add_node(struct fold *f, uint32_t parent, uint32_t name)
{
	if (f->count >= f->nodes_max)
		return FOLD_FULL;
	f->nodes = mem_grow(f->nodes, &f->cap, f->count + 1u, sizeof(*f->nodes));
	f->nodes[f->count] = (struct node){ .parent = parent, .name = name };
	return f->count++;
}

/* A child that is not its parent's first. */
static uint32_t later_child(struct fold *f, uint32_t parent, uint32_t name)
{
	table_reserve(&f->by_parent, 1);
	const uint32_t tag = (uint32_t)mix((uint64_t)parent << 32 | name);
	size_t at = tag & (f->by_parent.size - 1);

	for (; f->by_parent.slots[at].number; at = (at + 1) & (f->by_parent.size - 1)) {
		const struct slot *s = &f->by_parent.slots[at];

		if (s->tag == tag && f->nodes[s->number].parent == parent &&
		    f->nodes[s->number].name == name)
			return s->number;
	}
	const uint32_t node = add_node(f, parent, name);

	if (node == FOLD_FULL)
		return FOLD_FULL;
	f->by_parent.slots[at] = (struct slot){ node, tag };
	f->by_parent.used++;
	return node;
}

uint32_t fold_child_of(struct fold *f, uint32_t parent, uint32_t name)
{
	if (parent == FOLD_FULL || name == FOLD_FULL)
		return FOLD_FULL;
	const uint32_t first = f->nodes[parent].first;

	if (first)
		return f->nodes[first].name == name ? first : later_child(f, parent, name);
	const uint32_t node = add_node(f, parent, name);

	if (node != FOLD_FULL)
		f->nodes[parent].first = node;
	return node;
}

uint32_t fold_child(struct fold *f, uint32_t parent, struct text name)
{
	return parent == FOLD_FULL ? FOLD_FULL : fold_child_of(f, parent, fold_name(f, name));
}

/* Room for one more weight, in all columns alike. */
static void weights_reserve(struct fold *f)
{
	const size_t need = f->weight_count + 1u;
	size_t cap = f->weight_cap;

	if (need <= cap)
		return;
	cap += cap / 2 + 64;
	for (unsigned side = 0; side < 2; side++) {
		size_t same = f->weight_cap;

		if (f->weight[side])
			f->weight[side] = mem_grow(f->weight[side], &same, cap, sizeof(uint64_t));
		same = f->weight_cap;
		if (f->part[side])
			f->part[side] = mem_grow(f->part[side], &same, cap, sizeof(double));
	}
	f->weight_cap = cap;
}

/* Where the node's weights are, in any of the columns. */
static uint32_t weight_at(struct fold *f, uint32_t node)
{
	if (!f->nodes[node].weight) {
		weights_reserve(f);
		f->nodes[node].weight = f->weight_count++;
	}
	return f->nodes[node].weight;
}

void fold_add(struct fold *f, uint32_t node, unsigned side, uint64_t weight)
{
	if (node == FOLD_FULL)
		return;
	const uint32_t at = weight_at(f, node);

	if (!f->weight[side])
		f->weight[side] = mem_alloc(f->weight_cap * sizeof(uint64_t));
	uint64_t *w = &f->weight[side][at];

	if (__builtin_add_overflow(*w, weight, w))
		*w = UINT64_MAX;
}

void fold_add_part(struct fold *f, uint32_t node, unsigned side, double part)
{
	if (node == FOLD_FULL)
		return;
	const uint32_t at = weight_at(f, node);

	if (!f->part[side])
		f->part[side] = mem_alloc(f->weight_cap * sizeof(double));
	f->part[side][at] += part;
}

uint32_t fold_count(const struct fold *f)
{
	return f->count;
}

uint32_t fold_parent(const struct fold *f, uint32_t node)
{
	return f->nodes[node].parent;
}

uint32_t fold_name_of(const struct fold *f, uint32_t node)
{
	return f->nodes[node].name;
}

struct text fold_text(const struct fold *f, uint32_t node)
{
	return fold_name_text(f, f->nodes[node].name);
}

uint64_t fold_weight(const struct fold *f, uint32_t node, unsigned side)
{
	const uint32_t at = f->nodes[node].weight;
	uint64_t w = f->weight[side] ? f->weight[side][at] : 0;

	if (f->part[side] && __builtin_add_overflow(w, (uint64_t)(f->part[side][at] + 0.5), &w))
		w = UINT64_MAX;
	return w;
}

uint32_t fold_stacks(const struct fold *f)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < f->count; i++)
		n += f->nodes[i].weight && (fold_weight(f, i, 0) || fold_weight(f, i, 1));
	return n;
}

size_t fold_memory(const struct fold *f)
{
	size_t per_weight = 0;

	for (unsigned side = 0; side < 2; side++)
		per_weight += (f->weight[side] ? sizeof(uint64_t) : 0) +
			      (f->part[side] ? sizeof(double) : 0);
	return (f->by_text.size + f->by_parent.size) * sizeof(struct slot) +
	       f->name_cap * sizeof(struct name) + f->bytes_cap + f->cap * sizeof(struct node) +
	       f->weight_cap * per_weight;
}
