/* What is wrong by the ledger alone, by the thresholds of the man page: one process at a time. */
#include <stdlib.h>

#include "applets/offcpu/ledger.h"
#include "common/base/na.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"
#include "common/kernel/cgroup.h"
#include "common/report/redact.h"

#define WAIT_SHARE 0.10                /* of the process's time that is not idle ... */
#define WAIT_LEAST 0.10                /* ... and of one thread's whole interval */
#define LOCK_SHARE 0.10
#define OTHERS_SHOWN 3
#define LOCK_WAITER 0.01               /* of the interval: then it is one of those that wait */

struct worst {
	const struct account *thread;
	uint64_t ns, threads;
};

/* The thread with most of this part, and how many have a share of the interval worth telling. */
static struct worst find_worst(const struct accounts *threads, uint64_t tgid,
			       uint64_t (*part)(const struct account *), uint64_t interval_ns)
{
	struct worst w = { 0 };

	for (size_t i = 0; i < threads->count; i++) {
		const struct account *t = &threads->items[i];
		const uint64_t ns = part(t);

		if (t->tgid != tgid || ns == NA_U64)
			continue;
		w.threads += (double)ns >= LOCK_WAITER * (double)interval_ns;
		if (!w.thread || ns > w.ns) {
			w.thread = t;
			w.ns = ns;
		}
	}
	return w;
}

static uint64_t queue_of(const struct account *a)
{
	return a->queued_ns;
}

static uint64_t throttle_of(const struct account *a)
{
	return a->ns[LEDGER_THROTTLED];
}

static uint64_t lock_of(const struct account *a)
{
	return a->ns[LEDGER_LOCK];
}

static const char *shown_comm(struct arena *a, const char *comm)
{
	return out_escape(a, redact_name(a, NAME_COMMAND, comm));
}

static const char *process_cgroup(uint64_t tgid)
{
	struct cgroup_layout layout;
	struct text text, path;

	if (cgroup_find(src_arena(), &layout) < 0 ||
	    src_readf(&text, "proc/%llu/cgroup", (unsigned long long)tgid) < 0 ||
	    !task_parse_cgroup(text, layout.cpu.version == 1 ? "cpu" : "", &path))
		return NULL;
	return arena_text(src_arena(), path);
}

static struct finding *start(struct out *out, const struct account *p, const char *id,
			     uint64_t ns, uint64_t interval_ns)
{
	struct arena *a = out_arena(out);
	const uint64_t active = account_active_ns(p);
	struct finding *f = finding_start(a, offcpu_findings, id, STATE_NOW,
		arena_printf(a, "%s/%llu", shown_comm(a, p->comm), (unsigned long long)p->tgid));

	f->lost = ratio_of(ns, interval_ns);
	finding_u64(f, "pid", p->tgid);
	finding_u64(f, "waited_ns", ns);
	finding_u64(f, "active_ns", active);
	finding_f64(f, "share_ratio", ratio_of(ns, active));
	finding_u64(f, "interval_ns", interval_ns);
	finding_u64(f, "threads", p->threads);
	return f;
}

static void tell_worst(struct arena *a, struct finding *f, const struct worst *w)
{
	if (w->thread && w->thread->tid != NA_U64)
		finding_line(f, "worst  %s tid %llu: %s of %s; ran %s",
			     shown_comm(a, w->thread->comm), (unsigned long long)w->thread->tid,
			     human_ns(a, (double)w->ns), human_ns(a, (double)w->thread->wall_ns),
			     human_ns(a, (double)w->thread->ns[LEDGER_RUN]));
}

/* A part of time that any process may lose, told of the one that loses most. */
struct kind {
	const char *id, *covered_by;
	uint64_t (*part)(const struct account *);
};

static const struct kind queueing = {
	"offcpu.queueing", "cpuwait.cpu-saturated cpuwait.pinned cpuwait.steal", queue_of,
};
static const struct kind throttled = { "offcpu.throttled", "cpuwait.throttled", throttle_of };

static bool is_worth(uint64_t ns, const struct account *p, uint64_t interval_ns)
{
	const uint64_t active = account_active_ns(p);

	return ns != NA_U64 && active != NA_U64 && (double)ns >= WAIT_SHARE * (double)active &&
	       (double)ns >= WAIT_LEAST * (double)interval_ns;
}

static bool is_ours(const struct account *p)
{
	return !p->is_kernel && p->tgid != NA_U64 && p->tgid != src_pid();
}

/* "also   ld/12: 1.2s, cc1/14: 0.4s; 3 more" */
static void tell_others(struct out *out, struct finding *f, const struct kind *kind,
			const struct account *const *hit, size_t count)
{
	struct arena *a = out_arena(out);
	const char *text = NULL;

	for (size_t i = 1; i < count && i <= OTHERS_SHOWN; i++)
		text = arena_printf(a, "%s%s%s/%llu: %s", text ? text : "", text ? ", " : "",
				    shown_comm(a, hit[i]->comm),
				    (unsigned long long)hit[i]->tgid,
				    human_ns(a, (double)kind->part(hit[i])));
	if (count > 1 + OTHERS_SHOWN)
		text = arena_printf(a, "%s; %zu more", text, count - 1 - OTHERS_SHOWN);
	if (text)
		finding_line(f, "also   %s", text);
}

static void tell_queueing(struct out *out, struct finding *f, const struct account *p)
{
	struct arena *a = out_arena(out);

	finding_u64(f, "woken_ns", p->ns[LEDGER_WOKEN]);
	finding_u64(f, "preempted_ns", p->ns[LEDGER_PREEMPTED]);
	finding_line(f, "could have run for %s and had no CPU: %s of its time that is not idle; "
		     "after wakeups %s, preempted %s",
		     human_ns(a, (double)queue_of(p)),
		     human_ratio(a, ratio_of(queue_of(p), account_active_ns(p))),
		     human_ns(a, (double)p->ns[LEDGER_WOKEN]),
		     human_ns(a, (double)p->ns[LEDGER_PREEMPTED]));
	finding_proof(f, "second number of /proc/%llu/task/*/schedstat",
		      (unsigned long long)p->tgid);
	finding_next(f, "perfbox cpuwait -p %llu 1", (unsigned long long)p->tgid);
}

static void tell_throttled(struct out *out, struct finding *f, const struct account *p)
{
	struct arena *a = out_arena(out);
	const char *group = process_cgroup(p->tgid);

	if (group)
		finding_text(f, "cgroup", NAME_CGROUP, group);
	finding_line(f, "could have run for %s and its control group was out of CPU quota: %s of "
		     "its time that is not idle", human_ns(a, (double)throttle_of(p)),
		     human_ratio(a, ratio_of(throttle_of(p), account_active_ns(p))));
	finding_proof(f, "throttled time in cpu.stat of %s or a group above it",
		      group ? redact_name(a, NAME_CGROUP, group) : "its control group");
	finding_next(f, "perfbox cpuwait --exact -p %llu 1", (unsigned long long)p->tgid);
}

static void find_lost(struct out *out, const struct accounts *threads,
		      const struct accounts *processes, const struct kind *kind,
		      uint64_t interval_ns)
{
	const struct account **hit =
		arena_alloc(out_arena(out), (processes->count + 1) * sizeof(struct account *));
	size_t count = 0;

	for (size_t i = 0; i < processes->count; i++) {
		const struct account *p = &processes->items[i];
		size_t at;

		if (!is_ours(p) || !is_worth(kind->part(p), p, interval_ns))
			continue;
		/* most first */
		for (at = count++; at && kind->part(hit[at - 1]) < kind->part(p); at--)
			hit[at] = hit[at - 1];
		hit[at] = p;
	}
	if (!count)
		return;
	const struct worst w = find_worst(threads, hit[0]->tgid, kind->part, interval_ns);
	struct finding *f = start(out, hit[0], kind->id, kind->part(hit[0]), interval_ns);

	f->covered_by = kind->covered_by;
	finding_u64(f, "processes", count);
	if (kind == &queueing)
		tell_queueing(out, f, hit[0]);
	else
		tell_throttled(out, f, hit[0]);
	tell_worst(out_arena(out), f, &w);
	tell_others(out, f, kind, hit, count);
	out_finding(out, f);
}

/* More than a whole interval of one thread: then two waited at once. Which lock, stacks tell. */
static void find_lock(struct out *out, const struct accounts *threads, const struct account *p,
		      uint64_t interval_ns)
{
	struct arena *a = out_arena(out);
	const uint64_t ns = lock_of(p);
	const struct worst w = find_worst(threads, p->tgid, lock_of, interval_ns);

	if (w.threads < 2)
		return;
	struct finding *f = start(out, p, "offcpu.lock", ns, interval_ns);

	finding_u64(f, "waiters", w.threads);
	finding_line(f, "%s threads waited %s for locks, %.2g at once on average: %s of its time "
		     "that is not idle", human_count_u64(a, w.threads), human_ns(a, (double)ns),
		     ratio_of(ns, interval_ns),
		     human_ratio(a, ratio_of(ns, account_active_ns(p))));
	tell_worst(a, f, &w);
	finding_proof(f, "202 ... 0x2 (futex, a mutex somebody waits for) in "
		      "/proc/%llu/task/*/syscall", (unsigned long long)p->tgid);
	finding_next(f, "perfbox offcpu -p %llu --locks --wakers --waker-depth 4 10",
		     (unsigned long long)p->tgid);
	out_finding(out, f);
}

void ledger_findings(struct out *out, const struct accounts *threads)
{
	const uint64_t interval_ns = src_frame()->elapsed_ns;
	struct accounts processes = { 0 };

	if (!interval_ns)
		return;
	accounts_by_process(threads, &processes);
	find_lost(out, threads, &processes, &queueing, interval_ns);
	find_lost(out, threads, &processes, &throttled, interval_ns);
	for (size_t i = 0; i < processes.count; i++) {
		const struct account *p = &processes.items[i];

		if (is_ours(p) && is_worth(lock_of(p), p, interval_ns) && lock_of(p) > interval_ns)
			find_lock(out, threads, p, interval_ns);
	}
	accounts_free(&processes);
}
