/* The table of control groups. */
#include <string.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

struct group_row {
	const char *cgroup;
	double left_ratio;
	struct memgroup *group;
	/* complete fills the rest, for rows that are printed: there may be thousands */
	const char *names, *limited_by;
	uint64_t limit_bytes, effective_limit_bytes, headroom_low_bytes, headroom_high_bytes,
		swap_left_bytes;
	uint64_t usage_bytes, working_set_bytes, unreclaimable_bytes, anon_bytes, file_bytes,
		shmem_bytes, kernel_bytes, slab_reclaimable_bytes, slab_unreclaimable_bytes,
		unevictable_bytes, dirty_bytes, peak_bytes, swap_bytes, high_bytes,
		swap_limit_bytes, memsw_limit_bytes, kmem_limit_bytes;
	uint64_t total_kills, kills, max_events, high_events, oom_events, total_max_events,
		total_high_events, total_oom_events, total_group_kills;
	double growth_per_second, refaults_per_second, some_ratio, full_ratio;
	uint64_t time_left_ns;
	const char *oom_group, *oom_killer;
	const char *container_id, *pod_uid;
};

static const struct column group_columns[] = {
	COL_NAME(struct group_row, cgroup, "CGROUP", ROLE_KEY, NAME_CGROUP,
		 "control group, as in /proc/PID/cgroup"),
	COL_NAME_IF_ANY(struct group_row, names, "CONTAINER", ROLE_TEXT, NAME_CONTAINER,
			"container and pod, if its path says so"),
	COL(struct group_row, limit_bytes, "LIMIT", ROLE_GAUGE, UNIT_BYTES,
	    "its own limit (memory.max, limit_in_bytes)"),
	COL(struct group_row, effective_limit_bytes, "EFFECTIVE", ROLE_GAUGE, UNIT_BYTES,
	    "the least of its own, its ancestors' and the host's memory"),
	COL_NAME_IF_ANY(
		struct group_row, limited_by, "BY", ROLE_TEXT, NAME_CGROUP,
		"whose limit that is, if not its own: an ancestor's, \"host\", or \"(hidden)\" "
		"for an ancestor that can't be seen"),
	COL(struct group_row, usage_bytes, "USED", ROLE_GAUGE, UNIT_BYTES,
	    "all that is charged to it, page cache included"),
	COL(struct group_row, working_set_bytes, "WORKING", ROLE_GAUGE, UNIT_BYTES,
	    "usage less inactive page cache, as the kubelet counts"),
	COL(struct group_row, unreclaimable_bytes, "FIXED", ROLE_GAUGE, UNIT_BYTES,
	    "what no reclaim frees without swap: anonymous, unevictable and kernel memory"),
	COL(struct group_row, headroom_low_bytes, "LEFT", ROLE_GAUGE, UNIT_BYTES,
	    "left before the next limit, over it, its ancestors and the host, if no cache is "
	    "freed"),
	COL(struct group_row, headroom_high_bytes, "LEFT+CACHE", ROLE_GAUGE, UNIT_BYTES,
	    "the same if all file pages and slab that can be freed are"),
	COL(struct group_row, left_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "headroom_high_bytes of the effective limit"),
	COL(struct group_row, peak_bytes, "PEAK", ROLE_GAUGE, UNIT_BYTES, "most it ever used"),
	COL(struct group_row, total_kills, "KILLS", ROLE_COUNTER, UNIT_COUNT,
	    "tasks killed for memory since it was made; v2: in groups below, too"),
	COL(struct group_row, kills, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "the same in the interval"),
	COL(struct group_row, growth_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "bytes by which unreclaimable memory and swap grew, over the looks it has been rising"),
	COL(struct group_row, time_left_ns, NULL, ROLE_GAUGE, UNIT_NS,
	    "until nothing is left at that rate"),
	COL(struct group_row, some_ratio, "STALL", ROLE_GAUGE, UNIT_RATIO,
	    "share of the interval some task in it waited for memory (PSI)"),
	COL(struct group_row, full_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "share of the interval all of them did"),
	COL(struct group_row, high_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "memory.high: above it its tasks are slowed"),
	COL(struct group_row, anon_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "anonymous memory"),
	COL(struct group_row, file_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "page cache, shared memory included"),
	COL(struct group_row, shmem_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "shared memory and tmpfs"),
	COL(struct group_row, kernel_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "kernel memory, slab included"),
	COL(struct group_row, slab_reclaimable_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "slab that can shrink"),
	COL(struct group_row, slab_unreclaimable_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "slab that can't"),
	COL(struct group_row, unevictable_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "locked memory"),
	COL(struct group_row, dirty_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "page cache that must be written first"),
	COL(struct group_row, swap_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "swap in use"),
	COL(struct group_row, swap_limit_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "memory.swap.max"),
	COL(struct group_row, memsw_limit_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "v1: limit of memory and swap together"),
	COL(struct group_row, kmem_limit_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "v1: limit of kernel memory"),
	COL(struct group_row, swap_left_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "what can still be swapped out: its own and its ancestors' limits, the host's swap"),
	COL(struct group_row, max_events, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "times it was at its own limit in the interval (v1: failcnt); page cache alone does "
	    "it"),
	COL(struct group_row, high_events, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "times it was above its own memory.high in the interval"),
	COL(struct group_row, oom_events, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "times its own limit left an allocation nothing in the interval"),
	COL(struct group_row, total_max_events, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "limit reached since it was made; v2: below, too"),
	COL(struct group_row, total_high_events, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "above memory.high since it was made, and below"),
	COL(struct group_row, total_oom_events, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "out of memory since it was made, and below"),
	COL(struct group_row, total_group_kills, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "whole groups killed (memory.oom.group) since it was made, and below"),
	COL(struct group_row, refaults_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "pages read again soon after they were taken away"),
	COL(struct group_row, oom_group, NULL, ROLE_TEXT, UNIT_TEXT,
	    "yes: one kill takes the whole group (memory.oom.group)"),
	COL(struct group_row, oom_killer, NULL, ROLE_TEXT, UNIT_TEXT,
	    "v1: on, off (tasks hang instead), or hanging"),
	COL_NAME(struct group_row, container_id, NULL, ROLE_TEXT, NAME_CONTAINER,
		 "container id in the path"),
	COL_NAME(struct group_row, pod_uid, NULL, ROLE_TEXT, NAME_CONTAINER, "pod uid in the path"),
};

static void complete(void *row);

const struct table group_table = {
	.name = "cgroups",
	.help = "a control group with a memory limit, or that ran out once",
	TABLE(struct group_row, group_columns),
	.sort = "left_ratio",
	.top = true,
	.complete = complete,
	.kept_size = offsetof(struct group_row, names)
};

/* No limit is no number. */
static uint64_t shown_limit(uint64_t bytes)
{
	return memcg_is_limit(bytes) ? bytes : NA_U64;
}

static const char *limited_by(const struct memgroup *g)
{
	if (g->is_limited_above)
		return "(hidden)";
	if (g->effective_limit_bytes == NA_U64 || g->limited_by == g)
		return NULL;
	return g->limited_by ? g->limited_by->path : "host";
}

/* Of nothing, nothing is left. */
static double left_ratio(const struct memgroup *g)
{
	return g->effective_limit_bytes ? ratio_of(g->headroom_high_bytes, g->effective_limit_bytes)
					: 0;
}

static void fill_sizes(struct group_row *row, const struct memgroup *g)
{
	const struct memcg *m = &g->memory;

	row->limit_bytes = shown_limit(m->limit_bytes);
	row->high_bytes = shown_limit(m->high_bytes);
	row->swap_limit_bytes = shown_limit(m->swap_limit_bytes);
	row->memsw_limit_bytes = shown_limit(m->memsw_limit_bytes);
	row->kmem_limit_bytes = shown_limit(m->kmem_limit_bytes);
	row->effective_limit_bytes = g->effective_limit_bytes;
	row->limited_by = limited_by(g);
	row->headroom_low_bytes = g->headroom_low_bytes;
	row->headroom_high_bytes = g->headroom_high_bytes;
	row->left_ratio = left_ratio(g);
	row->swap_left_bytes = g->swap_left_bytes;
	row->usage_bytes = m->usage_bytes;
	row->working_set_bytes = memcg_working_set(m);
	row->unreclaimable_bytes = g->unreclaimable_bytes;
	row->anon_bytes = m->anon_bytes;
	row->file_bytes = m->file_bytes;
	row->shmem_bytes = m->shmem_bytes;
	row->kernel_bytes = m->kernel_bytes;
	row->slab_reclaimable_bytes = m->slab_reclaimable_bytes;
	row->slab_unreclaimable_bytes = m->slab_unreclaimable_bytes;
	row->unevictable_bytes = m->unevictable_bytes;
	row->dirty_bytes = m->dirty_bytes;
	row->peak_bytes = m->peak_bytes;
	row->swap_bytes = m->swap_bytes;
}

static void fill_events(struct group_row *row, const struct memgroup *g)
{
	const struct memcg *m = &g->memory;

	row->total_kills = m->oom_kills;
	row->kills = g->moved_kills;
	row->max_events = g->own_max_events;
	row->high_events = g->own_high_events;
	row->oom_events = g->own_oom_events;
	row->total_max_events = m->max_events;
	row->total_high_events = m->high_events;
	row->total_oom_events = m->oom_events;
	row->total_group_kills = m->oom_group_kills;
	row->oom_group = m->oom_group < 0 ? NULL : m->oom_group ? "yes" : "no";
	row->oom_killer = m->oom_kill_disabled < 0 ? NULL : !m->oom_kill_disabled ? "on" :
			  m->under_oom == 1 ? "hanging" : "off";
	row->some_ratio = ratio_of(g->some_ns, oomcheck.interval_ns);
	row->full_ratio = ratio_of(g->full_ns, oomcheck.interval_ns);
	row->refaults_per_second = rate_of(g->moved_refaults, oomcheck.interval_ns);
}

static void fill_growth(struct group_row *row, const struct memgroup *g)
{
	struct growth growth;

	row->growth_per_second = NA_F64;
	row->time_left_ns = NA_U64;
	if (!g->track || !track_growth(g->track, &growth))
		return;
	row->growth_per_second = growth.bytes_per_second;
	row->time_left_ns = memgroup_time_left(g, &growth);
}

/* Groups far from their limit are read in full only here. */
static void complete(void *data)
{
	struct group_row *row = data;
	struct cgroup_names names = { 0 };

	memgroup_read_all(row->group);
	fill_sizes(row, row->group);
	fill_events(row, row->group);
	fill_growth(row, row->group);
	cgroup_name(src_arena(), row->group->path, &names);
	cgroup_name_from_logs(src_arena(), &names);
	row->names = cgroup_names_text(src_arena(), &names);
	row->container_id = names.container_id;
	row->pod_uid = names.pod_uid;
}

void memgroups_show(struct out *out)
{
	struct memgroup *const *list;
	size_t count = memgroups_all(&list);
	unsigned once = 0;

	for (size_t i = 0; i < count; i++) {
		struct memgroup *g = list[i];
		const struct group_row row = {
			.cgroup = g->path,
			.left_ratio = left_ratio(g),
			.group = g,
		};

		if (!g->is_listed || !memgroup_is_selected(g))
			continue;
		out_row(out, &group_table, &row);
		uint64_t kills = g->memory.oom_kills;

		if (!kills || kills == NA_U64)
			continue;
		once++;
		if (shared.past)
			out_history(out, "%s: %llu killed for memory",
				    redact_name(out_arena(out), NAME_CGROUP, g->path),
				    (unsigned long long)kills);
	}
	if (once && !shared.past)
		out_history(out, "%u cgroup%s once killed for memory", once, once == 1 ? "" : "s");
}
