/*
 * Control groups with a CPU quota, and those that were ever throttled: what moved between two
 * looks.
 */
#include <stdlib.h>

#include "applets/cpuwait/cpuwait.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"

struct walk {
	struct groups *now;
	const struct cgroup_layout *layout;
};

static const struct cgroup_cpu unknown_cpu = {
	.quota_ns = NA_U64, .period_ns = NA_U64, .burst_ns = NA_U64, .periods = NA_U64,
	.throttled_periods = NA_U64, .throttled_ns = NA_U64, .local_throttled_ns = NA_U64,
	.bursts = NA_U64, .burst_used_ns = NA_U64, .usage_ns = NA_U64,
	.pressure = { NA_U64, NA_U64 },
};

static bool is_moved(uint64_t n)
{
	return n != 0 && n != NA_U64;
}

/* A quota, or traces of one: such a group is a row. */
static bool has_limit(const struct group *group)
{
	return group->cpu.quota_ns != NA_U64 || is_moved(group->cpu.throttled_periods) ||
	       is_moved(group->cpu.throttled_ns) || group->cpu.trouble;
}

static void add_group(const char *path, const char *folder, unsigned depth, long parent, void *arg)
{
	const struct walk *walk = arg;
	struct groups *g = walk->now;

	g->items = mem_grow(g->items, &g->cap, g->count + 1, sizeof(*g->items));
	struct group *group = &g->items[g->count++];

	*group = (struct group){ .path = arena_strdup(&g->arena, path),
				 .folder = arena_strdup(&g->arena, folder),
				 .depth = depth,
				 .parent = parent,
				 .limited_by = -1 };
	/* a group that went away stays in the array, all unknown: children refer to its index */
	int err = cgroup_read_quota(walk->layout, folder, &group->cpu);

	/* the other files say something only where there is a quota, or above one we can't see */
	if (err >= 0 && (has_limit(group) || depth == 0))
		err = cgroup_read_cpu(walk->layout, folder, &group->cpu);
	if (err < 0) {
		group->is_gone = true;
		group->cpu = unknown_cpu;
	}
}

/* The least quota over the group and its ancestors, and whose it is. */
static void find_effective(struct groups *g, size_t i)
{
	struct group *group = &g->items[i];
	const struct group *parent = group->parent >= 0 ? &g->items[group->parent] : NULL;

	group->quota_cpus = ratio_of(group->cpu.quota_ns, group->cpu.period_ns);
	group->effective_cpus = parent ? parent->effective_cpus : NA_F64;
	group->limited_by = parent ? parent->limited_by : -1;
	if (isnan(group->quota_cpus) || group->quota_cpus > group->effective_cpus)
		return;
	group->effective_cpus = group->quota_cpus;
	group->limited_by = (long)i;
}

static void move_group(struct group *group, const struct group *b, bool has_before)
{
	/* not there at a look that listed all groups: made since, so its counters started at 0 */
	static const struct group unmade;

	group->is_new = !b;
	if (!b && has_before)
		b = &unmade;
	group->periods = group->throttled_periods = group->throttled_ns = NA_U64;
	group->local_throttled_ns = group->used_ns = group->pressure_ns = NA_U64;
	if (!b)
		return;
	group->periods = delta_u64(group->cpu.periods, b->cpu.periods);
	group->throttled_periods =
		delta_u64(group->cpu.throttled_periods, b->cpu.throttled_periods);
	group->throttled_ns = delta_u64(group->cpu.throttled_ns, b->cpu.throttled_ns);
	group->local_throttled_ns =
		delta_u64(group->cpu.local_throttled_ns, b->cpu.local_throttled_ns);
	group->used_ns = delta_u64(group->cpu.usage_ns, b->cpu.usage_ns);
	group->pressure_ns = delta_u64(group->cpu.pressure.some_ns, b->cpu.pressure.some_ns);
}

static void read_percpu(struct groups *g, struct group *group, const struct cgroup_layout *layout)
{
	const uint64_t *ns;
	unsigned count;

	if (cgroup_read_percpu(layout, group->path, &ns, &count) < 0 || !count)
		return;
	uint64_t *copy = arena_alloc(&g->arena, count * sizeof(*copy));

	memcpy(copy, ns, count * sizeof(*copy));
	group->percpu_ns = copy;
	group->percpu_count = count;
}

int groups_read(struct groups *now, const struct groups *before, const struct cgroup_layout *layout)
{
	struct walk walk = { now, layout };

	now->count = 0;
	arena_reset(&now->arena);
	hash_reset(&now->by_path);
	if (!layout->cpu.version)
		return 0;
	int err = cgroup_walk(&layout->cpu, add_group, &walk);

	for (size_t i = 0; i < now->count; i++) {
		struct group *group = &now->items[i];

		*hash_name(&now->by_path, group->path) = (void *)(uintptr_t)(i + 1);
		find_effective(now, i);
		move_group(group, groups_find(before, group->path), before->count > 0);
		group->is_listed = !group->is_gone && has_limit(group);
		if (group->is_listed)
			read_percpu(now, group, layout);
	}
	return err;
}

struct group *groups_find(const struct groups *g, const char *path)
{
	uintptr_t at = (uintptr_t)hash_find_name(&g->by_path, path);

	return at ? &g->items[at - 1] : NULL;
}

bool group_is_within(const struct groups *g, size_t inner, size_t outer)
{
	long i = (long)inner;

	while (i >= 0 && i != (long)outer)
		i = g->items[i].parent;
	return i >= 0;
}

bool group_was_throttled(const struct group *group)
{
	return is_moved(group->throttled_ns) || is_moved(group->local_throttled_ns) ||
	       is_moved(group->throttled_periods);
}

void groups_free(struct groups *g)
{
	free(g->items);
	hash_free(&g->by_path);
	arena_free(&g->arena);
	*g = (struct groups){ 0 };
}
