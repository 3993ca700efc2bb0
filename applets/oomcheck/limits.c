/* What a group's own numbers, its ancestors' and the host's leave it. */
#include "applets/oomcheck/oomcheck.h"

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* v1's group that asked not to be counted with its parent stands alone. */
static const struct memgroup *counted_in(const struct memgroup *g)
{
	return g->parent && g->parent->memory.is_hierarchical == 0 ? NULL : g->parent;
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
	return limit == NA_U64 || used == NA_U64 ? NA_U64 : limit > used ? limit - used : 0;
}

/*
 * The least over the levels. The host's memory, where it is not known, is no limit that counts; a
 * group's own limit that can't be read may be lower than all others, so nothing is known below it.
 */
static void find_limit(struct memgroup *g)
{
	const struct memcg *m = &g->memory;
	const struct memgroup *up = counted_in(g);

	g->has_unknown_limit = m->limit_bytes == NA_U64 || (up && up->has_unknown_limit);
	g->effective_limit_bytes = up ? up->effective_limit_bytes : oomcheck.total_bytes;
	g->limited_by = up ? up->limited_by : NULL;
	g->is_limited_above = up && up->is_limited_above;
	if (memcg_is_limit(m->limit_bytes) && m->limit_bytes <= g->effective_limit_bytes) {
		g->effective_limit_bytes = m->limit_bytes;
		g->limited_by = g;
		g->is_limited_above = false;
	}
	if (memcg_is_limit(m->hierarchical_limit_bytes) &&
	    m->hierarchical_limit_bytes < g->effective_limit_bytes) {
		g->effective_limit_bytes = m->hierarchical_limit_bytes;
		g->limited_by = NULL;
		g->is_limited_above = true;
	}
	if (g->has_unknown_limit) {
		g->effective_limit_bytes = NA_U64;
		g->limited_by = NULL;
		g->is_limited_above = false;
	}
}

/* What may still be swapped out of it: its own and its ancestors' limits, and the host's swap. */
static void find_swap(struct memgroup *g)
{
	const struct memcg *m = &g->memory;
	const struct memgroup *up = counted_in(g);
	uint64_t left = up ? up->swap_left_bytes : host_now()->swap_free_bytes;

	if (memcg_is_limit(m->swap_limit_bytes))
		left = less(left, left_of(m->swap_limit_bytes, m->swap_bytes));
	/* v1 limits the sum, of which memory may have its own limit */
	if (memcg_is_limit(m->memsw_limit_bytes) && memcg_is_limit(m->limit_bytes))
		left = less(left, left_of(left_of(m->memsw_limit_bytes, m->limit_bytes),
					  m->swap_bytes));
	g->swap_left_bytes = left;
}

/* NA_U64, the largest number, where one is not known: so for the host, but not for a group. */
static uint64_t least_left(uint64_t up, bool is_host, uint64_t here)
{
	return here == NA_U64 || (up == NA_U64 && !is_host) ? NA_U64 : less(up, here);
}

/* Usage is taken at the level whose limit it is. */
static void find_headroom(struct memgroup *g)
{
	const struct memcg *m = &g->memory;
	const struct memgroup *up = counted_in(g);
	const struct host *h = host_now();

	g->headroom_low_bytes = up ? up->headroom_low_bytes : h->free_bytes;
	g->headroom_high_bytes = up ? up->headroom_high_bytes : h->available_bytes;
	/* how much is used at a level that can't be seen is not known */
	if (g->has_unknown_limit || g->is_limited_above) {
		g->headroom_low_bytes = g->headroom_high_bytes = NA_U64;
		return;
	}
	if (!memcg_is_limit(m->limit_bytes))
		return;
	uint64_t low = left_of(m->limit_bytes, m->usage_bytes), high = low;
	uint64_t reclaimable = memcg_reclaimable(m);

	/* what was not read for being far from the limit counts as if nothing could be freed */
	if (g->is_full && low != NA_U64)
		high = reclaimable == NA_U64 ? NA_U64 :
			left_of(m->limit_bytes, m->usage_bytes - less(reclaimable, m->usage_bytes));
	g->headroom_low_bytes = least_left(g->headroom_low_bytes, !up, low);
	g->headroom_high_bytes = least_left(g->headroom_high_bytes, !up, high);
}

static void find_need(struct memgroup *g)
{
	const struct memcg *m = &g->memory;

	if (!g->is_full)
		return;
	uint64_t anon = m->anon_lists_bytes != NA_U64 ? m->anon_lists_bytes : m->anon_bytes;

	g->unreclaimable_bytes = memcg_unreclaimable(m);
	g->swappable_bytes = g->swap_left_bytes == NA_U64 || anon == NA_U64 ? 0 :
		less(g->swap_left_bytes, anon);
}

void memgroup_derive(struct memgroup *g)
{
	find_limit(g);
	find_swap(g);
	find_headroom(g);
	find_need(g);
}

uint64_t memgroup_committed(const struct memgroup *g)
{
	uint64_t swapped = g->memory.swap_bytes == NA_U64 ? 0 : g->memory.swap_bytes;

	return sum_u64(g->unreclaimable_bytes, swapped);
}

uint64_t memgroup_time_left(const struct memgroup *g, const struct growth *growth)
{
	uint64_t left = sum_u64(g->headroom_high_bytes,
				g->swap_left_bytes == NA_U64 ? 0 : g->swap_left_bytes);

	if (left == NA_U64 || !(growth->bytes_per_second > 0))
		return NA_U64;
	double ns = (double)left * 1e9 / growth->bytes_per_second;

	return ns < 1e18 ? (uint64_t)ns : NA_U64;
}
