/*
 * The most frequent keys of a stream, in bounded memory: counted exactly while there are at most
 * `limit` different ones, then by space-saving (Metwally, Agrawal, El Abbadi: Efficient Computation
 * of Frequent and Top-k Elements in Data Streams, 2005): a new key takes over the counter with the
 * least count. Then a count is at most its true value + error, error at most total / limit, and
 * every key that came more than total / limit times is there.
 */
#ifndef BASE_TOPK_H
#define BASE_TOPK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPK_KEY_WORDS 9
#define TOPK_SUMS 6

/* All bytes count: what a key does not use is 0. */
struct topk_key {
	uint64_t words[TOPK_KEY_WORDS];
};

struct topk_item {
	struct topk_key key;
	uint64_t count, error;         /* true count: between count - error and count */
	uint64_t sums[TOPK_SUMS];      /* the caller's, of what came since the key got its counter;
					  NA_U64 is the caller's, too */
};

struct topk {
	size_t limit, count;
	struct topk_item *items;       /* count of them, in no order */
	uint64_t total;                /* topk_add calls */
	bool is_exact;                 /* no key had to give up its counter */
	/* topk.c's: what is walked most stands close together, apart from the items */
	uint32_t *heads;               /* chains by hash; index + 1 */
	struct topk_link {
		uint32_t hash, next;
		uint64_t count;
	} *links;
	size_t cap, head_mask, cursor;
	uint64_t least;
};

/* Empty, for at most limit keys (> 0); memory is taken as keys come. Free with topk_free. */
void topk_start(struct topk *t, size_t limit);

/* One more of this key: its counter, which lives until the next topk_add. */
struct topk_item *topk_add(struct topk *t, const struct topk_key *key);

const struct topk_item *topk_find(const struct topk *t, const struct topk_key *key);   /* or NULL */
void topk_reset(struct topk *t);               /* empty, memory kept */
void topk_free(struct topk *t);

/* The most a count may be too high: 0 while exact. */
uint64_t topk_error(const struct topk *t);

#endif
