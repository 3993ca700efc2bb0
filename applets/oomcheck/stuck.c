/* Threads that the kernel holds because their group is above memory.high. */
#include <stdlib.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"

#define THREADS_MAX 1024               /* looked at in one group */
#define HELD_MAX 64                    /* remembered */
#define NEAR_HIGH 0.9

static bool is_held(uint32_t tid)
{
	struct text t;

	return src_readf(&t, "proc/%u/wchan", tid) >= 0 &&
	       text_starts(t, "mem_cgroup_handle_over_high");
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
			if (!is_held(tids[i]))
				continue;
			held[count++] = tids[i];
			if (was_held(t, tids[i]) && !g->stuck_twice_count++)
				g->stuck_twice_tid = tids[i];
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
