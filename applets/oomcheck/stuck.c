/* Threads that the kernel holds because their group is above memory.high. */
#include <stdlib.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"

#define THREADS_MAX 1024               /* looked at in one group */
#define HELD_MAX 64                    /* remembered */
#define NEAR_HIGH 0.9

/* mm/memcontrol.c: the second is what Linux 6.18 made of the first, which is inline there. */
static const char *const over_high[] = { "mem_cgroup_handle_over_high",
					 "__mem_cgroup_handle_over_high" };

/* The function that holds it, NULL: none. */
static const char *held_in(uint32_t tid)
{
	struct text t;

	if (src_readf(&t, "proc/%u/wchan", tid) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(over_high) / sizeof(*over_high); i++)
		if (text_starts(t, over_high[i]))
			return over_high[i];
	return NULL;
}

static bool was_held(const struct track *t, uint32_t tid)
{
	for (size_t i = 0; i < t->stuck_count; i++)
		if (t->stuck[i] == tid)
			return true;
	return false;
}

void stuck_look(struct memgroup *g)
{
	const struct memcg *m = &g->memory;
	struct track *t = g->track;
	const uint32_t *tids;
	uint32_t held[HELD_MAX];
	size_t count = 0;

	g->stuck_twice_count = 0;
	if (memcg_is_limit(m->high_bytes) && m->usage_bytes != NA_U64 &&
	    (double)m->usage_bytes >= NEAR_HIGH * (double)m->high_bytes) {
		size_t n = memgroup_threads(g, THREADS_MAX, &tids);

		for (size_t i = 0; i < n && count < HELD_MAX; i++) {
			const char *function = held_in(tids[i]);

			if (!function)
				continue;
			held[count++] = tids[i];
			if (was_held(t, tids[i]) && !g->stuck_twice_count++) {
				g->stuck_twice_tid = tids[i];
				g->stuck_twice_in = function;
			}
		}
	}
	free(t->stuck);
	t->stuck = NULL;
	if (count) {
		t->stuck = mem_alloc(count * sizeof(*held));
		memcpy(t->stuck, held, count * sizeof(*held));
	}
	t->stuck_count = count;
}
