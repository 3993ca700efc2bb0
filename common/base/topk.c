#include "common/base/topk.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

#define NONE 0                         /* links are index + 1 */
#define FIRST_CAP 64

/* Multiply and fold: keys differ in few bits, and an attacker gains little by making chains long. */
static uint64_t hash_key(const struct topk_key *key)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < TOPK_KEY_WORDS; i++) {
		h = (h ^ key->words[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

static bool is_same(const struct topk_key *a, const struct topk_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void topk_start(struct topk *t, size_t limit)
{
	*t = (struct topk){ .limit = limit, .is_exact = true };
}

void topk_reset(struct topk *t)
{
	if (t->heads)
		memset(t->heads, 0, (t->head_mask + 1) * sizeof(*t->heads));
	t->count = t->cursor = 0;
	t->total = t->least = 0;
	t->is_exact = true;
}

void topk_free(struct topk *t)
{
	free(t->items);
	free(t->heads);
	topk_start(t, t->limit);
}

static uint32_t *head_of(const struct topk *t, const struct topk_key *key)
{
	return &t->heads[hash_key(key) & t->head_mask];
}

/* Twice the counters, and as many chains as the next power of two. */
static void grow(struct topk *t)
{
	size_t cap = t->cap ? t->cap * 2 : FIRST_CAP, heads = 1;

	if (cap > t->limit)
		cap = t->limit;
	t->items = mem_grow(t->items, &t->cap, cap, sizeof(*t->items));
	t->cap = cap;
	while (heads < cap)
		heads *= 2;
	free(t->heads);
	t->heads = mem_alloc(heads * sizeof(*t->heads));
	t->head_mask = heads - 1;
	for (size_t i = 0; i < t->count; i++) {
		uint32_t *head = head_of(t, &t->items[i].key);

		t->items[i].next = *head;
		*head = (uint32_t)i + 1;
	}
}

static struct topk_item *find(const struct topk *t, const struct topk_key *key)
{
	for (uint32_t i = t->heads ? *head_of(t, key) : NONE; i != NONE; i = t->items[i - 1].next)
		if (is_same(&t->items[i - 1].key, key))
			return &t->items[i - 1];
	return NULL;
}

const struct topk_item *topk_find(const struct topk *t, const struct topk_key *key)
{
	return find(t, key);
}

static void unlink_item(struct topk *t, size_t at)
{
	uint32_t *link = head_of(t, &t->items[at].key);

	while (*link != at + 1)
		link = &t->items[*link - 1].next;
	*link = t->items[at].next;
}

/*
 * The next counter that holds the least count. Counts only grow, so one walk over all finds each of
 * them, and only then the least can have become more; as least x limit is at most what came, the
 * walks cost a constant per key that came.
 */
static size_t find_least(struct topk *t)
{
	for (;;) {
		for (; t->cursor < t->count; t->cursor++)
			if (t->items[t->cursor].count <= t->least)
				return t->cursor++;
		t->least = UINT64_MAX;
		for (size_t i = 0; i < t->count; i++)
			if (t->items[i].count < t->least)
				t->least = t->items[i].count;
		t->cursor = 0;
	}
}

struct topk_item *topk_add(struct topk *t, const struct topk_key *key)
{
	struct topk_item *item = find(t, key);
	uint64_t error = 0;
	size_t at;

	t->total++;
	if (item) {
		item->count++;
		return item;
	}
	if (t->count < t->limit) {
		if (t->count == t->cap)
			grow(t);
		at = t->count++;
	} else {
		t->is_exact = false;
		at = find_least(t);
		error = t->items[at].count;
		unlink_item(t, at);
	}
	uint32_t *head = head_of(t, key);

	item = &t->items[at];
	*item = (struct topk_item){ .key = *key, .count = error + 1, .error = error,
				    .next = *head };
	*head = (uint32_t)at + 1;
	return item;
}

uint64_t topk_error(const struct topk *t)
{
	uint64_t most = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].error > most)
			most = t->items[i].error;
	return most;
}
