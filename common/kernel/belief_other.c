/* Node's heap and Go's limit. */
#include "common/kernel/belief_impl.h"

#define OLD_LEAST_BYTES (256 * MIB)
#define OLD_MOST_BYTES (2 * GIB)
#define OLD_MOST_LARGE_BYTES (4 * GIB) /* where there is as much memory as the next */
#define LARGE_BYTES (15 * GIB)
#define OLD_FIXED_BYTES (1400 * MIB)   /* before 12 */
#define SEMI_MOST_BYTES (16 * MIB)
#define NODE_BYTES (32 * MIB)          /* what it is taken to need besides its heap */

/* Young objects live in three half spaces; V8's heap_size_limit counts them in. */
static uint64_t young_bytes(uint64_t old, uint64_t semi)
{
	uint64_t size = MIB;

	if (semi != NA_U64)
		return 3 * semi;
	while (old > OLD_LEAST_BYTES && size < SEMI_MOST_BYTES && size < old / 128)
		size *= 2;
	return 3 * size;
}

/* The memory it goes by; NA_U64 unknown. */
static uint64_t node_sees(struct belief_version n, const struct belief_view *v, bool *is_host)
{
	uint64_t limit = MEMCG_NONE;

	*is_host = false;
	/* 18.18.0 came with a libuv that later ones took back */
	if (!n.feature || (v->cgroup_version == 2 && n.feature == 18 && n.update == 18))
		return NA_U64;
	if ((v->cgroup_version == 2 && belief_is_at_least(n, 20, 3)) ||
	    (v->cgroup_version == 1 && belief_is_at_least(n, 12, 7)))
		limit = v->own_limit_bytes;
	return belief_seen_bytes(limit, v->host_bytes, is_host);
}

static uint64_t default_old(struct belief_version n, uint64_t sees)
{
	uint64_t most = sees >= LARGE_BYTES && n.feature >= 14 ? OLD_MOST_LARGE_BYTES
								: OLD_MOST_BYTES;
	uint64_t old = sees / 2;

	return old < OLD_LEAST_BYTES ? OLD_LEAST_BYTES : old > most ? most : old;
}

static void make_default(struct arena *a, const struct belief_options *o,
			 const struct belief_view *v, struct belief *b)
{
	struct belief_version n = o->version;
	uint64_t old;

	if (n.feature && n.feature < 12) {
		old = OLD_FIXED_BYTES;
		b->heap_source = "what Node took before 12, whatever there is";
	} else {
		b->sees_bytes = node_sees(n, v, &b->sees_host);
		if (b->sees_bytes == NA_U64)
			return;
		old = default_old(n, b->sees_bytes);
		b->heap_source = belief_seen_text(a, b->sees_bytes, b->sees_host);
		if (old == OLD_LEAST_BYTES) {
			b->heap_source = "the least default";
			b->sees_host = false;
		} else if (old < b->sees_bytes / 2) {
			b->heap_source = arena_printf(a, "the most by default, of %s",
						      b->heap_source);
		} else {
			b->heap_source = arena_printf(a, "half of %s", b->heap_source);
		}
	}
	b->heap_bytes = old + young_bytes(old, o->node.semi_bytes);
}

/* --max-old-space-size-percentage, of the memory it sees */
static void make_percentage(struct arena *a, const struct belief_options *o,
			    const struct belief_view *v, struct belief *b)
{
	b->sees_bytes = node_sees(o->version, v, &b->sees_host);
	if (b->sees_bytes == NA_U64)
		return;
	uint64_t old = (uint64_t)((double)b->sees_bytes * o->node.old_percent / 100);

	b->heap_source = arena_printf(a, "%s of %s", o->node.heap_option,
				      belief_seen_text(a, b->sees_bytes, b->sees_host));
	b->heap_bytes = old + young_bytes(old, o->node.semi_bytes);
}

static const char *why_node_sees_host(struct arena *a, struct belief_version n,
				      const struct belief_view *v)
{
	if (!v->cgroup_version)
		return NULL;
	if (v->cgroup_version == 2 && !belief_is_at_least(n, 20, 3))
		return arena_printf(a, "%u.%u does not read cgroup v2, 20.3 does", n.feature,
				    n.update);
	if (v->cgroup_version == 1 && !belief_is_at_least(n, 12, 7))
		return arena_printf(a, "%u.%u does not read control groups, 12.7 does", n.feature,
				    n.update);
	return "it reads its own group's limit, not its ancestors'";
}

void belief_make_node(struct arena *a, const struct belief_options *o, const struct belief_view *v,
		      struct belief *b)
{
	b->other_bytes = NODE_BYTES;
	if (o->node.is_incomplete)
		return;
	/* the command line overrules NODE_OPTIONS */
	b->is_heap_sure = o->has_environment || o->node.heap_option[0];
	if (o->node.old_bytes != NA_U64) {
		/* a size that was given leaves the young ones their most */
		b->heap_bytes = o->node.old_bytes +
			young_bytes(OLD_MOST_LARGE_BYTES, o->node.semi_bytes);
		b->heap_source = arena_strdup(a, o->node.heap_option);
		b->is_heap_asked = true;
		b->certain_bytes = o->node.old_bytes + LEAST_NONHEAP_BYTES;
	} else if (!is_na_f64(o->node.old_percent)) {
		make_percentage(a, o, v, b);
	} else {
		make_default(a, o, v, b);
	}
	if (b->sees_host)
		b->why_host = why_node_sees_host(a, o->version, v);
}

void belief_make_go(struct arena *a, const struct belief_options *o, struct belief *b)
{
	if (o->go.cpus != NA_U64)
		b->cpus = (double)o->go.cpus;
	if (o->go.limit_bytes == NA_U64)
		return;
	b->heap_bytes = o->go.limit_bytes;
	b->heap_source = arena_printf(a, "GOMEMLIMIT=%s%s", belief_size_text(a, b->heap_bytes),
				      o->go.has_no_gc ? " GOGC=off" : "");
	b->is_heap_sure = true;
	if (!o->go.has_no_gc) {
		b->sum = "GOMEMLIMIT is where the collector works harder, not a size it takes";
		return;
	}
	b->is_heap_asked = true;
	b->nonheap_bytes = 0;
	b->need_bytes = b->heap_bytes;
	b->certain_bytes = b->heap_bytes;
	b->sum = arena_printf(a, "all of it %s (%s)", belief_size_text(a, b->heap_bytes),
			      b->heap_source);
}
