/* From rows of the kernel to groups that people look at: by name, stack and cause. */
#include <stdlib.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/hash.h"
#include "common/base/na.h"
#include "common/report/redact.h"

#define NAMES_MAX 1024

static size_t names_of(const struct waits *w, uint32_t stack, const char **names)
{
	const struct wait_stack *s = &w->stacks[stack];
	size_t n = 0;

	for (uint32_t i = 0; stack && i < s->count && n < NAMES_MAX; i++)
		names[n++] = w->frames[s->frames[i]].name;
	return n;
}

enum wait_cause view_cause(const struct waits *w, const struct wait_row *r)
{
	const char *names[NAMES_MAX];

	if (!r->state)
		return CAUSE_RUNNABLE;
	const size_t count = names_of(w, r->kernel, names);
	const enum wait_cause cause = r->flags & WAIT_FUTEX && !count ? CAUSE_FUTEX :
		wait_cause_of(names, count, w->threads[r->thread].is_kernel);

	if (cause != CAUSE_FUTEX || !(r->flags & WAIT_FUTEX))
		return cause;
	const size_t users = names_of(w, r->user, names);

	return wait_cause_of_futex(names, users, r->flags & (WAIT_FUTEX_PI | WAIT_FUTEX_2));
}

static const char *root_of(struct arena *a, const struct wait_thread *t)
{
	switch (window.by) {
	case BY_PID:
		return arena_printf(a, "%s-%llu", t->comm, (unsigned long long)t->tgid);
	case BY_TID:
		return arena_printf(a, "%s-%llu/%llu", t->comm, (unsigned long long)t->tgid,
				    (unsigned long long)t->tid);
	case BY_CGROUP:
		return t->cgroup ? t->cgroup : "[unknown]";
	case BY_NONE:
		return NULL;
	case BY_COMM:
		break;
	}
	return *t->comm ? t->comm : "[nameless]";
}

struct group_key {
	uint64_t root;
	uint32_t user, kernel, chain, cause;
};

static struct wait_group *group_of(struct view *v, struct hash *known, struct hash *roots,
				   const struct wait_row *r, enum wait_cause cause)
{
	const struct wait_thread *t = &v->waits->threads[r->thread];
	const char *root = root_of(&v->arena, t);
	struct group_key key = {
		.user = window.kernel_only ? 0 : r->user,
		.kernel = window.user_only ? 0 : r->kernel,
		.chain = window.wakers ? r->chain : 0,
		.cause = cause,
	};

	if (root) {
		void **same = hash_name(roots, root);

		if (!*same)
			*same = (void *)root;
		root = *same;
		key.root = (uintptr_t)root;
	}
	void **slot = hash_number(known, hash_bytes(&key, sizeof(key)));

	if (!*slot) {
		v->groups = mem_grow(v->groups, &v->cap, v->count + 1, sizeof(*v->groups));
		v->groups[v->count++] = (struct wait_group){
			.root = root, .user = key.user, .kernel = key.kernel, .chain = key.chain,
			.cause = cause, .is_idle = wait_cause_is_idle(cause),
			.is_kernel = t->is_kernel,
		};
		*slot = (void *)(uintptr_t)v->count;
	}
	return &v->groups[(uintptr_t)*slot - 1];
}

static bool is_wanted(const struct waits *w, const struct wait_row *r)
{
	if (!targets_want(&w->threads[r->thread]))
		return false;
	if (window.completed_only && (r->flags & (WAIT_OPEN | WAIT_BEGUN)))
		return false;
	const uint32_t state = r->state ? r->state : 1u << 31;

	return !window.state_mask || (window.state_mask & state);
}

static bool is_resting(enum wait_cause cause, uint32_t flags)
{
	return cause == CAUSE_TIMER ||
	       ((flags & WAIT_OPEN) && (flags & WAIT_BEGUN) &&
		(cause == CAUSE_PIPE || cause == CAUSE_NETWORK || cause == CAUSE_OTHER));
}

static void add_row(struct view *v, struct wait_group *g, const struct wait_row *r)
{
	/* made, and never yet switched out: what it waits for is a CPU, as after a wakeup */
	const bool is_preempted = !r->state && !(r->flags & WAIT_NEW);
	const uint64_t sleep = window.parts & PART_SLEEPING ? r->sleep_ns : 0;
	const uint64_t wait = window.parts & PART_RUNNABLE && !is_preempted ? r->wait_ns : 0;
	const uint64_t preempted = window.parts & PART_PREEMPTED && is_preempted ? r->wait_ns : 0;
	const uint64_t throttled = wait || preempted ? r->throttled_ns : 0;
	const uint64_t total = sleep + wait + preempted;

	if (!g->is_idle && is_resting(g->cause, r->flags))
		v->resting_ns += sleep;
	g->sleep_ns += sleep;
	g->wait_ns += wait;
	g->preempted_ns += preempted;
	g->throttled_ns += throttled;
	g->total_ns += total;
	g->count += r->count;
	g->flags |= r->flags;
	if (g->max_ns < r->max_ns)
		g->max_ns = r->max_ns;
	if (g->last_thread != r->thread)
		g->threads++;
	g->last_thread = r->thread;
	v->sleep_ns += sleep;
	v->wait_ns += wait;
	v->preempted_ns += preempted;
	v->throttled_ns += throttled;
	v->total_ns += total;
	/* idle is the sleep; once there is work, waiting for a CPU is not */
	v->busy_ns += total - (g->is_idle ? sleep : 0);
	v->by_cause_ns[g->cause] += g->cause == CAUSE_RUNNABLE ? total : sleep;
	v->by_cause_count[g->cause] += r->count;
	if (g->cause != CAUSE_RUNNABLE)
		v->by_cause_ns[CAUSE_RUNNABLE] += wait;
}

static int by_thread(const void *a, const void *b)
{
	const struct wait_row *const *x = a, *const *y = b;

	if ((*x)->thread != (*y)->thread)
		return (*x)->thread < (*y)->thread ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

void view_make(struct view *v, const struct waits *w)
{
	const struct wait_row **order = mem_alloc((w->row_count + 1) * sizeof(*order));
	struct hash known = { 0 }, roots = { 0 };
	uint32_t last = 0;

	*v = (struct view){ .waits = w };
	for (size_t i = 0; i < w->row_count; i++)
		order[i] = &w->rows[i];
	qsort(order, w->row_count, sizeof(*order), by_thread);
	for (size_t i = 0; i < w->row_count; i++) {
		const struct wait_row *r = order[i];
		const enum wait_cause cause = view_cause(w, r);

		if (!is_wanted(w, r) || (window.no_idle && wait_cause_is_idle(cause)))
			continue;
		v->threads += last != r->thread;
		last = r->thread;
		add_row(v, group_of(v, &known, &roots, r, cause), r);
	}
	free(order);
	hash_free(&known);
	hash_free(&roots);
}

void view_free(struct view *v)
{
	free(v->groups);
	arena_free(&v->arena);
}

const char *view_where(struct arena *a, const struct waits *w, uint32_t stack, unsigned max)
{
	const struct wait_stack *s = &w->stacks[stack];
	const char *text = NULL;

	for (uint32_t i = 0; stack && i < s->count && i < max; i++) {
		const char *name = redact_name(a, NAME_COMMAND, w->frames[s->frames[i]].name);

		text = text ? arena_printf(a, "%s < %s", text, name) : name;
	}
	return text ? text : "-";
}

const char *view_thread(struct arena *a, const struct wait_thread *t)
{
	const char *comm = out_escape(a, redact_name(a, NAME_COMMAND, t->comm));

	if (t->tid == t->tgid)
		return arena_printf(a, "%s/%llu", comm, (unsigned long long)t->tgid);
	return arena_printf(a, "%s/%llu tid %llu", comm, (unsigned long long)t->tgid,
			    (unsigned long long)t->tid);
}
