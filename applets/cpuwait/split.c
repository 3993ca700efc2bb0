/*
 * Which part of a thread's run-queue wait was throttling: its group, or an ancestor, out of quota.
 *
 * The kernel counts throttled time by group, summed over CPUs. What a thread's share of it was lies
 * between two bounds, for each group a on the way to the root that was throttled for T_a:
 *
 *   low   T_a - what the other members of a waited in all
 *             (a run queue counts as throttled only while it holds a waiting member: since 6.6)
 *   low   T_a - the time the other CPUs could at most have been throttled - the thread's own sleep
 *             (only while it stayed on one CPU)
 *   high  what it waited; the sum of all T_a; the interval less what a ran on the thread's CPU
 *
 * Both sides are computed from counters that move when a wait ends, then scaled to the wait that is
 * shown.
 */
#include <stdlib.h>

#include "applets/cpuwait/cpuwait.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/throttle.h"

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_known(const struct thread *t)
{
	return !t->is_new && t->waited_ns != NA_U64;
}

static void keep_worst(struct group *group, struct thread *t)
{
	for (size_t i = 0; i < sizeof(group->worst) / sizeof(group->worst[0]); i++) {
		struct thread *other = group->worst[i];

		if (other && (other->waited_ns > t->waited_ns ||
			      (other->waited_ns == t->waited_ns && other->tid <= t->tid)))
			continue;
		group->worst[i] = t;
		if (!other)
			return;
		t = other;
	}
}

/* Counts one member, known or not, in its group and all above it. was: the group it was in, -1
 * none. */
static void count_member(struct groups *g, long at, long was, struct thread *t,
			 uint64_t interval_ns)
{
	for (; at >= 0; at = g->items[at].parent) {
		struct group *group = &g->items[at];

		group->members++;
		group->arrived += was < 0 || !group_is_within(g, (size_t)was, (size_t)at);
		group->runnable +=
			t && (t->state == 'R' || (is_known(t) && t->waited_ns > interval_ns / 100));
		group->members_waited_ns += t && is_known(t) ? t->raw_waited_ns : interval_ns;
		group->members_ran_ns = sum_u64(group->members_ran_ns,
						t ? thread_ran_ns(t) : NA_U64);
		if (t && is_known(t))
			keep_worst(group, t);
	}
}

/* The group a thread was in at the look before, as an index of now; -1: none with a quota; -2: it
 * is gone. */
static long former_group(const struct look *now, const struct look *before, uint32_t tid)
{
	const struct thread *b = threads_find(&before->threads, tid);

	if (!b || b->group < 0)
		return -1;
	struct group *group = groups_find(&now->groups, before->groups.items[b->group].path);

	return group ? group - now->groups.items : -2;
}

static void mark_limited(struct group *group, const struct group *parent)
{
	group->is_under_limit = group->is_listed || (parent && parent->is_under_limit);
	group->is_under_throttled = group_was_throttled(group) ||
				    (parent && parent->is_under_throttled);
	group->is_under_unknown = group->cpu.trouble || (parent && parent->is_under_unknown);
}

void split_find_members(struct look *now, const struct look *before,
			const struct cgroup_layout *layout, uint64_t interval_ns)
{
	struct groups *g = &now->groups;
	const uint32_t *tids;
	size_t count;

	for (size_t i = 0; i < g->count; i++) {
		struct group *group = &g->items[i];

		mark_limited(group, group->parent >= 0 ? &g->items[group->parent] : NULL);
		if (!group->is_under_limit ||
		    cgroup_read_threads(&layout->cpu, group->folder, &tids, &count) < 0)
			continue;
		for (size_t k = 0; k < count; k++) {
			struct thread *t = threads_find(&now->threads, tids[k]);

			if (t)
				t->group = (long)i;
			count_member(g, (long)i, former_group(now, before, tids[k]), t,
				     interval_ns);
		}
	}
	for (size_t i = 0; i < g->count; i++) {
		struct group *group = &g->items[i];
		const struct group *b = groups_find(&before->groups, group->path);

		group->is_stable = !group->arrived && b && b->members == group->members;
		/* no cpuacct group of this path: what its threads ran, if they were the same
		 * throughout */
		if (group->used_ns == NA_U64 && group->members && group->is_stable)
			group->used_ns = group->members_ran_ns;
	}
}

struct cpu_set {
	bool has[CPU_MAX];
};

static void set_cpu(unsigned cpu, void *arg)
{
	((struct cpu_set *)arg)->has[cpu] = true;
}

/* The CPUs some member of the group may run on; all online ones where that can't be asked. */
static void find_usable(struct look *now, size_t at, struct cpu_set *set)
{
	*set = (struct cpu_set){ 0 };
	for (size_t i = 0; i < now->threads.count; i++) {
		const struct thread *t = &now->threads.items[i];
		const char *list;

		if (t->group < 0 || !group_is_within(&now->groups, (size_t)t->group, at))
			continue;
		if (src_affinity(t->tid, &list) < 0 ||
		    scan_cpu_list(text_of(list), CPU_MAX, set_cpu, set) < 0)
			goto all;
	}
	return;
all:
	for (unsigned cpu = 0; cpu < now->cpus.cpu_count; cpu++)
		set->has[cpu] = now->cpus.cpus[cpu].is_online;
}

static uint64_t ran_on(const struct group *now, const struct group *before, unsigned cpu)
{
	if (!before || cpu >= now->percpu_count || cpu >= before->percpu_count)
		return 0;
	uint64_t ran = delta_u64(now->percpu_ns[cpu], before->percpu_ns[cpu]);

	return ran == NA_U64 ? 0 : ran;
}

/* What one throttled group on the thread's way to the root says. */
struct level {
	const struct group *now, *before;
	uint64_t throttled_ns;
	bool skips_empty; /* its throttled time leaves out run queues without a member */
	struct cpu_set usable;
	unsigned usable_count;
};

/* The most that CPUs other than `own` can have been throttled together. */
static uint64_t others_at_most(const struct level *l, unsigned own, uint64_t interval_ns)
{
	uint64_t sum = 0;

	if (!l->now->percpu_count) {
		/* no count by CPU: whatever the group ran beyond one CPU's worth, it ran elsewhere
		 */
		uint64_t used = l->now->used_ns == NA_U64 ? 0 : l->now->used_ns;
		unsigned others = l->usable_count - (l->usable.has[own] && l->usable_count ? 1 : 0);

		return less(others * interval_ns, less(used, interval_ns));
	}
	for (unsigned cpu = 0; cpu < CPU_MAX; cpu++)
		if (l->usable.has[cpu] && cpu != own)
			sum += less(interval_ns, ran_on(l->now, l->before, cpu));
	return sum;
}

static void narrow(struct thread *t, const struct level *l, uint64_t interval_ns, uint64_t *low,
		   uint64_t *high)
{
	uint64_t others_waited = less(l->now->members_waited_ns, t->raw_waited_ns);
	uint64_t slept = less(interval_ns, t->ran_ns + t->waited_ns);

	if (l->skips_empty && l->now->is_stable && less(l->throttled_ns, others_waited) > *low)
		*low = less(l->throttled_ns, others_waited);
	if (t->has_moved_cpu || t->cpu >= CPU_MAX)
		return;
	uint64_t certain = less(l->throttled_ns, others_at_most(l, t->cpu, interval_ns) + slept);

	if (certain > *low)
		*low = certain;
	if (l->now->percpu_count)
		*high = least(*high, less(interval_ns, ran_on(l->now, l->before, t->cpu)));
}

/* One group at a time: its members' bounds become narrower. */
static void narrow_members(struct look *now, size_t at, const struct level *l, uint64_t interval_ns)
{
	for (size_t i = 0; i < now->threads.count; i++) {
		struct thread *t = &now->threads.items[i];

		if (t->group >= 0 && is_known(t) && !t->is_realtime && !t->has_changed_group &&
		    group_is_within(&now->groups, (size_t)t->group, at))
			narrow(t, l, interval_ns, &t->throttled_low_ns, &t->throttled_high_ns);
	}
}

/* The most a thread of this group can have been throttled: its own group's word on all above it,
 * else their sum. */
static uint64_t throttled_at_most(const struct groups *g, long at)
{
	uint64_t sum = 0;

	if (g->items[at].local_throttled_ns != NA_U64)
		return g->items[at].local_throttled_ns;
	for (; at >= 0; at = g->items[at].parent)
		if (g->items[at].throttled_ns != NA_U64)
			sum += g->items[at].throttled_ns;
	return sum;
}

/* Whether it left or entered a group where quota was short in the interval: its wait may be either
 * kind. */
static bool has_changed_group(const struct look *now, const struct look *before,
			      const struct thread *t)
{
	long was = former_group(now, before, t->tid);

	if (was == t->group || (was == -1 && t->group < 0))
		return false;
	return was == -2 || (was >= 0 && now->groups.items[was].is_under_throttled) ||
	       (t->group >= 0 && now->groups.items[t->group].is_under_throttled);
}

/* Bounds that hold without looking at a group: nothing, or up to all of it. */
static void start_bounds(struct look *now, const struct look *before, bool is_visible)
{
	for (size_t i = 0; i < now->threads.count; i++) {
		struct thread *t = &now->threads.items[i];

		if (!is_known(t) || (!is_visible && !t->is_realtime))
			continue;
		if (t->group >= 0 && now->groups.items[t->group].is_under_unknown &&
		    !t->is_realtime)
			continue;
		t->has_changed_group = has_changed_group(now, before, t);
		t->throttled_low_ns = 0;
		if (t->is_realtime)
			t->throttled_high_ns = 0;
		else if (t->has_changed_group)
			t->throttled_high_ns = t->raw_waited_ns;
		else
			t->throttled_high_ns = t->group < 0 ? 0 :
				least(t->raw_waited_ns, throttled_at_most(&now->groups, t->group));
	}
}

static void finish_bounds(struct thread *t)
{
	if (!is_known(t) || t->throttled_high_ns == NA_U64 || t->throttled_high_ns == 0)
		goto pending;
	t->throttled_low_ns = least(t->throttled_low_ns, t->throttled_high_ns);
	double scale = (double)t->waited_ns / (double)t->raw_waited_ns;

	t->throttled_low_ns = (uint64_t)((double)t->throttled_low_ns * scale);
	t->throttled_high_ns = (uint64_t)((double)t->throttled_high_ns * scale);
	return;
pending:
	/* a wait under a quota that has not ended yet: nobody counted which kind it is */
	if (is_known(t) && t->group >= 0 && !t->is_realtime && t->waited_ns && !t->raw_waited_ns)
		t->throttled_low_ns = t->throttled_high_ns = NA_U64;
}

void split_threads(struct look *now, const struct look *before, uint64_t interval_ns)
{
	struct level *l = mem_alloc(sizeof(*l));
	struct groups *g = &now->groups;

	start_bounds(now, before, g->count > 0);
	for (size_t i = 0; i < g->count; i++) {
		struct group *group = &g->items[i];
		bool has_local = group->local_throttled_ns != NA_U64;
		uint64_t own = group->throttled_ns == NA_U64 ? 0 : group->throttled_ns;

		if (!group_was_throttled(group) || !group->members)
			continue;
		l->now = group;
		l->before = groups_find(&before->groups, group->path);
		l->throttled_ns = has_local && group->local_throttled_ns > own
					  ? group->local_throttled_ns
					  : own;
		l->skips_empty = has_local;
		find_usable(now, i, &l->usable);
		l->usable_count = 0;
		for (unsigned cpu = 0; cpu < CPU_MAX; cpu++)
			l->usable_count += l->usable.has[cpu];
		narrow_members(now, i, l, interval_ns);
	}
	for (size_t i = 0; i < now->threads.count; i++)
		finish_bounds(&now->threads.items[i]);
	free(l);
}

/* The groups that the threads asked for are in. */
void split_mark_selected(struct look *now, const struct cgroup_layout *layout)
{
	struct groups *g = &now->groups;

	for (size_t i = 0; i < now->threads.count; i++) {
		const struct thread *t = &now->threads.items[i];
		struct text text, path;

		if (!t->is_selected ||
		    src_readf(&text, "proc/%u/task/%u/cgroup", t->tgid, t->tid) < 0 ||
		    !task_parse_cgroup(text, layout->cpu.version == 2 ? "" : "cpu", &path))
			continue;
		struct group *group = groups_find(g, arena_text(src_arena(), path));

		for (long at = group ? group - g->items : -1; at >= 0; at = g->items[at].parent)
			g->items[at].has_selected = true;
	}
}

/* With -p or --tid: the others under the same quota are needed for the bounds, and nothing else. */
void split_add_members(struct look *now, const struct cgroup_layout *layout)
{
	struct groups *g = &now->groups;
	bool *is_wanted = mem_alloc(g->count * sizeof(bool));

	for (size_t i = 0; i < g->count; i++) {
		const struct group *group = &g->items[i];
		const uint32_t *tids;
		size_t count;

		is_wanted[i] = (group->has_selected && group->is_listed) ||
			       (group->parent >= 0 && is_wanted[group->parent]);
		if (!is_wanted[i] ||
		    cgroup_read_threads(&layout->cpu, group->folder, &tids, &count) < 0)
			continue;
		for (size_t k = 0; k < count; k++)
			threads_add(&now->threads, tids[k]);
	}
	free(is_wanted);
}

int split_exact_read(struct look *now)
{
	const struct throttle_row *rows;
	size_t count;
	int err = throttle_read(&rows, &count);

	for (size_t i = 0; err >= 0 && i < count; i++) {
		struct thread *t = threads_find(&now->threads, rows[i].tid);

		if (!t)
			continue;
		t->exact_throttled_ns = rows[i].throttled_ns;
		t->exact_unsure_ns = rows[i].unsure_ns;
	}
	return err;
}

void split_exact(struct look *now, const struct look *before)
{
	for (size_t i = 0; i < now->threads.count; i++) {
		struct thread *t = &now->threads.items[i];
		const struct thread *b = threads_find(&before->threads, t->tid);

		if (!is_known(t) || !b)
			continue;
		uint64_t throttled_ns = delta_u64(t->exact_throttled_ns, b->exact_throttled_ns);

		t->throttled_low_ns = throttled_ns;
		t->throttled_high_ns =
			sum_u64(throttled_ns, delta_u64(t->exact_unsure_ns, b->exact_unsure_ns));
	}
}
