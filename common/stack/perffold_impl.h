/* Shared by the files behind perffold.h. */
#ifndef STACK_PERFFOLD_IMPL_H
#define STACK_PERFFOLD_IMPL_H

#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/stack/perffold.h"
#include "common/stack/symbols.h"

/* Our own contexts in a raw stack, in the range that is never an address. */
#define CONTEXT_UNWOUND ((uint64_t)-4000)      /* user addresses to be looked up as they are */
#define CONTEXT_TRUNCATED ((uint64_t)-4001)    /* the stack goes on towards its root */

/* A callchain, contexts and all, of one process under one root frame. */
struct raw_stack {
	struct raw_stack *next;        /* of the same process */
	struct raw_stack *next_of_all;
	struct process *process;       /* NULL: it was looked up */
	uint64_t samples, weight;
	uint32_t root, count;
	uint64_t chain[];
};

struct raw_slot {
	uint64_t hash;
	struct raw_stack *stack;       /* NULL: free */
};

/* What an address is called: one name, or several from names[name] on. */
struct name_slot {
	uint64_t address, space;       /* space 0: free */
	uint32_t name, count;
};

struct raw_table {
	struct raw_slot *slots;
	size_t used, size;
	struct raw_stack *all;         /* newest first; some may have been looked up */
	struct arena arena;
	size_t bytes;
};

struct name_cache {
	struct name_slot *slots;
	size_t used, size;
	uint32_t *names;
	size_t name_count, name_cap;
};

struct event_state {
	bool is_seen, is_wanted;
	size_t entry;                  /* in perffold.events */
};

struct deferred {
	uint64_t cookie, weight;
	uint32_t pid, tid, root;
	size_t count;                  /* 0: free */
	uint64_t *chain;
};

struct perffold {
	struct perffold_options options;
	struct fold *fold;
	struct stack_filter *filter, *own_filter;
	struct processes *processes;
	struct raw_table raw;
	struct name_cache cache;
	uint64_t kernel_epoch;
	bool knows_kernel;             /* symbols were told about it */
	struct hash build_ids;         /* by path */
	size_t build_ids_known;
	uint32_t *names;               /* of the stack at hand, leaf first */
	size_t name_count, name_cap;
	uint64_t *chain;               /* of the sample at hand, where the record's won't do */
	size_t chain_count, chain_cap;
	struct event_state *states;    /* by the event's index */
	size_t state_cap;
	struct perffold_event *events;
	size_t event_count, event_cap;
	bool has_folded_event;
	size_t folded_event;
	struct hash last_reads;        /* counters' values before, by id */
	struct deferred *deferred;     /* a ring */
	uint64_t deferred_count;       /* ever */
	size_t deferred_waiting;
	struct arena arena;
	struct perffold_result result;
};

/* Both halves of the product are used, as in wyhash. */
static inline uint64_t perffold_mix(uint64_t a, uint64_t b)
{
	const __uint128_t m = (__uint128_t)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Counts one sample with that chain, leaf first and beginning with a context. */
void perffold_raw_add(struct perffold *pf, struct process *p, uint32_t root,
		      const uint64_t *chain, size_t count, uint64_t weight);
/* Looks up and folds what waits of a process; NULL: all. */
void perffold_raw_flush(struct perffold *pf, struct process *p);

void perffold_chain_add(struct perffold *pf, uint64_t address);
/* A sample's stack, as its record has it or put together in pf->chain; contexts stay in it. */
void perffold_chain(struct perffold *pf, const struct process *p, const struct perf_sample *s,
		    const uint64_t **chain, size_t *count);

/* Appends the names of one address to pf->names, leaf first. */
void perffold_name(struct perffold *pf, struct process *p, uint64_t address, enum cpumode mode,
		   bool is_return);
/* Opens the file of a new map while it is there. */
void perffold_prepare(struct perffold *pf, const struct process *p, const struct process_map *m);
/* As symbols want it; p NULL: of the kernel. */
struct symbols_map perffold_symbols_map(struct perffold *pf, const struct process *p,
					const struct process_map *m);
void perffold_name_text(struct perffold *pf, struct text name);

#endif
