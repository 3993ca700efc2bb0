/* Causes and stacks as rows. */
#include <stdlib.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/buf.h"
#include "common/base/na.h"
#include "common/report/redact.h"

#define WHERE_USER 6                   /* frames from the leaf that people see */
#define WHERE_KERNEL 3

struct cause_row {
	const char *cause;
	uint64_t waited_ns, count;
	double share_ratio;
	bool is_idle;
};

struct stack_row {
	const char *comm, *cause, *where, *waker, *stack;
	uint64_t waited_ns, busy_ns, sleeping_ns, runnable_ns, preempted_ns, throttled_ns, max_ns,
		count, threads;
	double share_ratio;
	bool is_idle, still_blocked;
};

struct thread_row {
	uint64_t tgid, tid, host_tgid, host_tid, waited_ns, sleeping_ns, runnable_ns, preempted_ns,
		throttled_ns, count;
	const char *comm, *cgroup;
};

static const struct column thread_columns[] = {
	COL(struct thread_row, tgid, "TGID", ROLE_KEY, UNIT_ID, "process, as counted here"),
	COL(struct thread_row, tid, "TID", ROLE_KEY, UNIT_ID, "thread, as counted here"),
	COL(struct thread_row, host_tgid, NULL, ROLE_KEY, UNIT_ID,
	    "process, as counted in the first pid namespace"),
	COL(struct thread_row, host_tid, NULL, ROLE_KEY, UNIT_ID,
	    "thread, as counted in the first pid namespace"),
	COL(struct thread_row, waited_ns, "WAITED", ROLE_GAUGE, UNIT_NS, "off the CPU, all of it"),
	COL(struct thread_row, sleeping_ns, "ASLEEP", ROLE_GAUGE, UNIT_NS, "until woken"),
	COL(struct thread_row, runnable_ns, "RUNQ", ROLE_GAUGE, UNIT_NS,
	    "woken, until it got a CPU"),
	COL(struct thread_row, preempted_ns, "PREEMPT", ROLE_GAUGE, UNIT_NS,
	    "taken off the CPU, until it got one again"),
	COL(struct thread_row, throttled_ns, "THRTL", ROLE_GAUGE, UNIT_NS,
	    "part of these two: its control group was out of CPU quota"),
	COL(struct thread_row, count, "COUNT", ROLE_GAUGE, UNIT_COUNT, "times"),
	COL_NAME(struct thread_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND, "its name"),
	COL_NAME_IF_ANY(struct thread_row, cgroup, "CGROUP", ROLE_TEXT, NAME_CGROUP,
			"with --by cgroup: its control group"),
};

static const struct column cause_columns[] = {
	COL(struct cause_row, cause, "CAUSE", ROLE_KEY, UNIT_TEXT,
	    "what was waited for; runnable: a CPU"),
	COL(struct cause_row, waited_ns, "WAITED", ROLE_GAUGE, UNIT_NS, "by all threads together"),
	COL(struct cause_row, share_ratio, "%", ROLE_GAUGE, UNIT_RATIO, "of all waiting"),
	COL(struct cause_row, count, "COUNT", ROLE_GAUGE, UNIT_COUNT, "times"),
	COL(struct cause_row, is_idle, "IDLE", ROLE_GAUGE, UNIT_YES,
	    "waits for work to come, not for work to be done"),
};

static const struct column stack_columns[] = {
	COL(struct stack_row, waited_ns, "WAITED", ROLE_GAUGE, UNIT_NS,
	    "off the CPU, all parts that were asked for"),
	COL(struct stack_row, share_ratio, "%", ROLE_GAUGE, UNIT_RATIO,
	    "of all waiting that is not idle; of idle rows: of all"),
	COL(struct stack_row, sleeping_ns, NULL, ROLE_GAUGE, UNIT_NS, "until woken"),
	COL(struct stack_row, runnable_ns, "RUNQ", ROLE_GAUGE, UNIT_NS,
	    "woken, until it got a CPU"),
	COL(struct stack_row, preempted_ns, "PREEMPT", ROLE_GAUGE, UNIT_NS,
	    "taken off the CPU, until it got one again"),
	COL(struct stack_row, throttled_ns, NULL, ROLE_GAUGE, UNIT_NS,
	    "part of these two: its control group was out of CPU quota"),
	COL(struct stack_row, count, "COUNT", ROLE_GAUGE, UNIT_COUNT, "times"),
	COL(struct stack_row, max_ns, "MAX", ROLE_GAUGE, UNIT_NS, "the longest of them"),
	COL(struct stack_row, threads, NULL, ROLE_GAUGE, UNIT_COUNT, "threads that waited so"),
	COL(struct stack_row, still_blocked, NULL, ROLE_GAUGE, UNIT_YES,
	    "one of them still did as the window ended"),
	COL(struct stack_row, is_idle, NULL, ROLE_GAUGE, UNIT_YES,
	    "it waited for work to come, not for work to be done"),
	COL(struct stack_row, busy_ns, NULL, ROLE_GAUGE, UNIT_NS,
	    "waited_ns without the sleep of idle rows"),
	COL(struct stack_row, cause, "CAUSE", ROLE_KEY, UNIT_TEXT, "what was waited for"),
	COL_NAME(struct stack_row, comm, "COMM", ROLE_KEY, NAME_COMMAND,
		 "the thread's name, or what --by says"),
	COL_NAME(struct stack_row, where, "WHERE", ROLE_TEXT, NAME_PLAIN,
		 "frames nearest to the leaf, user space's if there are"),
	COL_NAME_IF_ANY(struct stack_row, waker, "WOKEN BY", ROLE_KEY, NAME_PLAIN,
			"with --wakers: who ended the wait, and where"),
	COL_NAME(struct stack_row, stack, NULL, ROLE_KEY, NAME_COMMAND,
		 "frames from the root to the leaf, ; between them"),
};

static const struct table cause_table = {
	.name = "causes", .help = "what was waited for", .sort = "-waited_ns",
	TABLE(struct cause_row, cause_columns),
};

static const struct table stack_table = {
	.name = "stacks", .help = "equal stacks of threads of one name, and one cause",
	.sort = "-busy_ns", .top = true,
	TABLE(struct stack_row, stack_columns),
};

static const struct table thread_table = {
	.name = "threads",
	.help = "a thread under one name (people see them with --by tid)",
	.sort = "-waited_ns", .top = true,
	TABLE(struct thread_row, thread_columns),
};

extern const struct table locks_table;
const struct table *const window_tables[] = {
	&cause_table, &stack_table, &thread_table, &locks_table, NULL,
};

const char *window_first_table(void)
{
	return window.locks ? "locks" : "stacks";
}

static void show_causes(struct out *out, const struct view *v)
{
	for (unsigned c = 0; c < CAUSES; c++)
		if (v->by_cause_ns[c] || v->by_cause_count[c])
			out_row(out, &cause_table, &(struct cause_row){
				.cause = wait_cause_name(c),
				.waited_ns = v->by_cause_ns[c],
				.share_ratio = ratio_of(v->by_cause_ns[c], v->total_ns),
				.count = v->by_cause_count[c],
				.is_idle = wait_cause_is_idle(c),
			});
}

static void put_frames(struct buf *b, const struct waits *w, uint32_t stack)
{
	const struct wait_stack *s = &w->stacks[stack];

	for (uint32_t i = stack ? s->count : 0; i > 0; i--) {
		if (b->len)
			buf_add_char(b, ';');
		fold_escape(b, text_of(w->frames[s->frames[i - 1]].name));
	}
}

static const char *stack_text(struct arena *a, const struct waits *w, const struct wait_group *g)
{
	struct buf b = { 0 };

	put_frames(&b, w, g->user);
	put_frames(&b, w, g->kernel);
	const char *text = arena_text(a, buf_text(&b));

	buf_free(&b);
	return text;
}

static const char *waker_text(struct arena *a, const struct waits *w, uint32_t chain)
{
	const struct wait_chain *c = &w->chains[chain];

	if (!chain)
		return NULL;
	if (!c->thread)
		return arena_printf(a, "interrupt: %s", view_where(a, w, c->kernel, WHERE_KERNEL));
	return arena_printf(a, "%s: %s", view_thread(a, &w->threads[c->thread]),
			    view_where(a, w, c->user ? c->user : c->kernel, WHERE_KERNEL));
}

static void show_group(struct out *out, const struct view *v, const struct wait_group *g)
{
	struct arena *a = out_arena(out);
	const uint64_t busy_ns = g->total_ns - (g->is_idle ? g->sleep_ns : 0);

	out_row(out, &stack_table, &(struct stack_row){
		.comm = g->root ? g->root : "-",
		.cause = wait_cause_name(g->cause),
		.where = g->user ? view_where(a, v->waits, g->user, WHERE_USER) :
				   view_where(a, v->waits, g->kernel, WHERE_USER),
		.waker = waker_text(a, v->waits, g->chain),
		.stack = stack_text(a, v->waits, g),
		.waited_ns = g->total_ns, .busy_ns = busy_ns,
		.sleeping_ns = g->sleep_ns, .runnable_ns = g->wait_ns,
		.preempted_ns = g->preempted_ns, .throttled_ns = g->throttled_ns,
		.max_ns = g->max_ns, .count = g->count, .threads = g->threads,
		.share_ratio = g->is_idle ? ratio_of(g->total_ns, v->total_ns) :
					    ratio_of(g->total_ns, v->busy_ns),
		.is_idle = g->is_idle,
		.still_blocked = g->flags & WAIT_OPEN,
	});
}

static void show_threads(struct out *out, const struct view *v)
{
	const struct waits *w = v->waits;
	struct thread_row *rows = mem_alloc((w->thread_count + 1) * sizeof(*rows));

	for (size_t i = 0; i < w->row_count; i++) {
		const struct wait_row *r = &w->rows[i];
		struct thread_row *to = &rows[r->thread];

		if (!view_wants(w, r))
			continue;
		to->count += r->count;
		to->sleeping_ns += r->sleep_ns;
		*(!r->state && !(r->flags & WAIT_NEW) ? &to->preempted_ns : &to->runnable_ns) +=
			r->wait_ns;
		to->throttled_ns += r->throttled_ns;
	}
	for (size_t i = 1; i < w->thread_count; i++) {
		const struct wait_thread *t = &w->threads[i];
		struct thread_row *to = &rows[i];

		if (!to->count)
			continue;
		to->waited_ns = to->sleeping_ns + to->runnable_ns + to->preempted_ns;
		to->tgid = t->tgid;
		to->tid = t->tid;
		to->host_tgid = t->host_tgid;
		to->host_tid = t->host_tid;
		to->comm = t->comm;
		to->cgroup = t->cgroup;
		out_row(out, &thread_table, to);
	}
	free(rows);
}

void tables_show(struct out *out, const struct view *v)
{
	show_causes(out, v);
	for (size_t i = 0; i < v->count; i++)
		if (v->groups[i].total_ns)
			show_group(out, v, &v->groups[i]);
	if (window.by == BY_TID || out_format(out) != OUT_PEOPLE)
		show_threads(out, v);
	locks_show(out, v->waits);
}
