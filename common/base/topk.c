#include "common/base/topk.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

#define NONE 0                         /* links are index + 1 */
#define FIRST_CAP 64

/* Each word by an odd number of its own, so that they are multiplied side by side; then mixed. */
static uint32_t hash_key(const struct topk_key *key)
{
	uint64_t h = 0, by = 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < TOPK_KEY_WORDS; i++, by = by * 5 + 2)
		h += (key->words[i] ^ key->words[i] >> 29) * by;
	h = (h ^ h >> 32) * 0xff51afd7ed558ccdull;
	return (uint32_t)(h >> 32);
}

static bool is_same(const struct topk_key *a, const struct topk_key *b)
{
	uint64_t differ = 0;

	for (size_t i = 0; i < TOPK_KEY_WORDS; i++)
		differ |= a->words[i] ^ b->words[i];
	return !differ;
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
	free(t->links);
	topk_start(t, t->limit);
}

/* Twice the counters, and the next power of two of chains. */
static void grow(struct topk *t)
{
	size_t cap = t->cap ? t->cap * 2 : FIRST_CAP, heads = 1, room = t->cap;

	if (cap > t->limit)
		cap = t->limit;
	t->items = mem_grow(t->items, &room, cap, sizeof(*t->items));
	room = t->cap;
	t->links = mem_grow(t->links, &room, cap, sizeof(*t->links));
	t->cap = cap;
	while (heads < cap)
		heads *= 2;
	free(t->heads);
	t->heads = mem_alloc(heads * sizeof(*t->heads));
	t->head_mask = heads - 1;
	for (size_t i = 0; i < t->count; i++) {
		uint32_t *head = &t->heads[t->links[i].hash & t->head_mask];

		t->links[i].next = *head;
		*head = (uint32_t)i + 1;
	}
}

/* Its index + 1. */
static uint32_t find(const struct topk *t, const struct topk_key *key, uint32_t hash)
{
	uint32_t i = t->heads ? t->heads[hash & t->head_mask] : NONE;

	while (i != NONE && (t->links[i - 1].hash != hash || !is_same(&t->items[i - 1].key, key)))
		i = t->links[i - 1].next;
	return i;
}

const struct topk_item *topk_find(const struct topk *t, const struct topk_key *key)
{
	uint32_t i = find(t, key, hash_key(key));

	return i == NONE ? NULL : &t->items[i - 1];
}

static void unlink_item(struct topk *t, size_t at)
{
	uint32_t *link = &t->heads[t->links[at].hash & t->head_mask];

	while (*link != at + 1)
		link = &t->links[*link - 1].next;
	*link = t->links[at].next;
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
			if (t->links[t->cursor].count <= t->least)
				return t->cursor++;
		t->least = UINT64_MAX;
		for (size_t i = 0; i < t->count; i++)
			if (t->links[i].count < t->least)
				t->least = t->links[i].count;
		t->cursor = 0;
	}
}

static struct topk_item *count_again(struct topk *t, size_t at)
{
	t->items[at].count = ++t->links[at].count;
	return &t->items[at];
}

struct topk_item *topk_add(struct topk *t, const struct topk_key *key)
{
	const uint32_t hash = hash_key(key), found = find(t, key, hash);
	uint64_t error = 0;
	size_t at;

	t->total++;
	if (found != NONE)
		return count_again(t, found - 1);
	if (t->count < t->limit) {
		if (t->count == t->cap)
			grow(t);
		at = t->count++;
	} else {
		t->is_exact = false;
		at = find_least(t);
		error = t->links[at].count;
		unlink_item(t, at);
	}
	uint32_t *head = &t->heads[hash & t->head_mask];

	t->links[at] = (struct topk_link){ hash, *head, error + 1 };
	*head = (uint32_t)at + 1;
	t->items[at] = (struct topk_item){ .key = *key, .count = error + 1, .error = error };
	return &t->items[at];
}

uint64_t topk_error(const struct topk *t)
{
	uint64_t most = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].error > most)
			most = t->items[i].error;
	return most;
}
