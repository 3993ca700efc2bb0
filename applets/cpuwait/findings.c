/*
 * What is wrong, by the thresholds of the man page; innocent neighbours are never named.
 */
#include <stdlib.h>

#include "applets/cpuwait/cpuwait.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define THROTTLED_PERIODS_MIN 5
#define THROTTLED_TIME_MIN 0.10        /* of the interval, summed over CPUs */
#define THROTTLED_SHARE_MIN 0.50       /* of the periods, unless ... */
#define THREAD_LOSS_MIN 0.10           /* ... a thread certainly lost this share of the interval */
#define SATURATED_IDLE_MAX 0.05
#define SATURATED_QUEUE_MIN 1.0        /* waiting threads per CPU */
#define PINNED_QUEUE_MIN 0.30
#define PINNED_BUSY_MIN 0.95
#define OTHER_IDLE_MIN 0.50
#define STEAL_OF_DEMAND_MIN 0.10
#define STEAL_CPUS_MIN 0.05
#define NAMED_MAX 3                    /* worst threads in a finding's text */

const struct finding_kind cpuwait_findings[] = {
	{ "cpuwait.throttled", "now",
	  "a control group ran out of quota in >= 5 periods, lost >= 10 % of the interval, and "
	  "either >= 50 % of its periods or >= 10 % of the interval for one of its threads" },
	{ "cpuwait.cpu-saturated", "now",
	  "the usable CPUs were < 5 % idle and threads of nice <= 0 queued, not "
	  "throttled, >= 1 per CPU" },
	{ "cpuwait.pinned", "now",
	  "a thread queued >= 30 % of the interval while all CPUs it may use were >= 95 % busy and "
	  "another was >= 50 % idle" },
	{ "cpuwait.steal", "now",
	  "the hypervisor took >= 10 % of the CPU time demanded and >= 5 % of a CPU" },
	{ NULL, NULL, NULL },
};

static const char *thread_name(struct arena *a, const struct thread *t)
{
	return arena_printf(a, "%s/%u tid %u",
			    redact_name(a, NAME_COMMAND, arena_copy(a, t->comm, t->comm_len)),
			    t->tgid, t->tid);
}

static double share(double ns, uint64_t interval_ns)
{
	return ns / (double)interval_ns;
}

/* "throttle ~87 %, queue ~8 %" or, where the bounds lie too far apart, both of them */
static const char *split_text(struct arena *a, const struct thread *t, uint64_t interval_ns)
{
	double low = (double)t->throttled_low_ns, high = (double)t->throttled_high_ns,
	       wait = (double)t->waited_ns;

	if (t->throttled_high_ns == NA_U64)
		return arena_printf(a, "wait %s", human_ratio(a, share(wait, interval_ns)));
	if (!thread_split_is_known(t, interval_ns))
		return arena_printf(a, "wait %s (throttle %s to %s)",
				    human_ratio(a, share(wait, interval_ns)),
				    human_ratio(a, share(low, interval_ns)),
				    human_ratio(a, share(high, interval_ns)));
	double throttled = (low + high) / 2;
	const char *about = low < high ? "~" : "";

	return arena_printf(
		a, "throttle %s%s, queue %s%s", about,
		human_ratio(a, share(throttled, interval_ns)), about,
		human_ratio(a, share(wait > throttled ? wait - throttled : 0, interval_ns)));
}

static void add_worst(struct arena *a, struct finding *f, const struct thread *t,
		      const struct host *host)
{
	finding_line(f, "worst  %s: run %s, %s; host %s idle", thread_name(a, t),
		     human_ratio(a, share((double)t->ran_ns, host->interval_ns)),
		     split_text(a, t, host->interval_ns),
		     human_ratio(a, host->shares.idle + host->shares.iowait));
}

static bool member_lost_enough(const struct look *now, size_t group, uint64_t interval_ns)
{
	for (size_t i = 0; i < now->threads.count; i++) {
		const struct thread *t = &now->threads.items[i];

		if (t->group >= 0 && t->throttled_low_ns != NA_U64 &&
		    share((double)t->throttled_low_ns, interval_ns) >= THREAD_LOSS_MIN &&
		    group_is_within(&now->groups, (size_t)t->group, group))
			return true;
	}
	return false;
}

static bool is_throttled(const struct look *now, size_t i, uint64_t interval_ns)
{
	const struct group *g = &now->groups.items[i];

	if (g->throttled_ns == NA_U64 || g->throttled_periods == NA_U64 || g->periods == NA_U64)
		return false;
	if (g->throttled_periods < THROTTLED_PERIODS_MIN ||
	    share((double)g->throttled_ns, interval_ns) < THROTTLED_TIME_MIN)
		return false;
	return (double)g->throttled_periods >= THROTTLED_SHARE_MIN * (double)g->periods ||
	       member_lost_enough(now, i, interval_ns);
}

static void add_need(struct finding *f, const struct group *g, double used, const struct host *host)
{
	double cpus = host->allowed ? host->allowed : host->online;
	double most = g->runnable && (double)g->runnable < cpus ? (double)g->runnable : cpus;

	finding_f64(f, "need_low_cpus", used);
	finding_f64(f, "need_high_cpus", most > used ? most : used);
	finding_line(f, "needs  between %.2f (used) and %.1f CPU (%s; %zu runnable)", used,
		     most > used ? most : used,
		     most < cpus ? "its runnable threads" : "all usable CPUs", g->runnable);
}

/* Throttled although it used less than it may on average: the demand comes in bursts, or an old
 * kernel has the bug. */
static void add_bursts(struct arena *a, struct finding *f, const struct group *g, double used)
{
	if (isnan(used) || isnan(g->quota_cpus) || used >= 0.9 * g->quota_cpus)
		return;
	double per_period = (double)g->throttled_ns / (double)g->throttled_periods;
	const char *burst =
		g->cpu.burst_ns == NA_U64 ? "not known here" : human_ns(a, (double)g->cpu.burst_ns);

	finding_line(f,
		     "bursts used %s of its quota on average: %s lost per throttled period; its "
		     "burst is %s",
		     human_ratio(a, used / g->quota_cpus), human_ns(a, per_period), burst);
	struct scan s = scan_of(text_of(src_uname()->release ? src_uname()->release : ""));
	uint64_t major, minor;

	if (scan_u64(&s, &major) && scan_literal(&s, ".") && scan_u64(&s, &minor) &&
	    ((major == 4 && minor >= 18) || (major == 5 && minor < 4)))
		finding_line(f, "kernel 4.18 to 5.3 throttles below the quota by a bug (slice "
				"expiration), unless patched");
}

static const char *cpus_text(struct arena *a, double cpus)
{
	return isnan(cpus) ? "-" : arena_printf(a, "%.2f", cpus);
}

static void report_throttled(struct out *out, const struct look *now, size_t i,
			     const struct host *host, const struct cgroup_layout *layout)
{
	struct arena *a = out_arena(out);
	const struct group *g = &now->groups.items[i];
	const char *path = redact_name(a, NAME_CGROUP, g->path);
	double used = g->used_ns == NA_U64 ? NA_F64 : share((double)g->used_ns, host->interval_ns);
	double lost = share((double)g->throttled_ns, host->interval_ns);
	struct finding *f =
		finding_start(a, cpuwait_findings, "cpuwait.throttled", STATE_NOW, path);
	struct cgroup_names names = { 0 };

	cgroup_name(a, g->path, &names);
	cgroup_name_from_logs(a, &names);
	f->names = redact_name(a, NAME_CONTAINER, cgroup_names_text(a, &names));
	f->lost = lost;
	finding_u64(f, "throttled_ns", g->throttled_ns);
	finding_u64(f, "throttled_periods", g->throttled_periods);
	finding_u64(f, "periods", g->periods);
	finding_f64(f, "quota_cpus", g->quota_cpus);
	finding_f64(f, "used_cpus", used);
	finding_u64(f, "threads", g->members);
	finding_u64(f, "interval_ns", host->interval_ns);
	finding_line(f,
		     "%.2f CPU-s/s lost, %llu of %llu periods; quota %s, used %s CPU, %zu thread%s",
		     lost, (unsigned long long)g->throttled_periods, (unsigned long long)g->periods,
		     cpus_text(a, g->quota_cpus), cpus_text(a, used), g->members,
		     g->members == 1 ? "" : "s");
	for (size_t w = 0; w < NAMED_MAX && g->worst[w]; w++)
		if (w == 0 ||
		    share((double)g->worst[w]->waited_ns, host->interval_ns) >= THREAD_LOSS_MIN)
			add_worst(a, f, g->worst[w], host);
	if (!isnan(used))
		add_need(f, g, used, host);
	add_bursts(a, f, g, used);
	const char *folder = cgroup_folder(a, &layout->cpu, path);

	if (layout->cpu.version == 2)
		finding_proof(f, "throttled_usec +%llu in /%s/cpu.stat",
			      (unsigned long long)g->throttled_ns / 1000,
			      folder ? folder : g->folder);
	else
		finding_proof(f, "throttled_time +%llu in /%s/cpu.stat",
			      (unsigned long long)g->throttled_ns, folder ? folder : g->folder);
	finding_next(f, "perfbox cpuwait -G %s 1", out_shell_word(a, path));
	out_finding(out, f);
}

/* Queue wait that is certainly not throttling. */
static uint64_t queued_ns(const struct thread *t)
{
	if (t->waited_ns == NA_U64 || t->throttled_high_ns == NA_U64 ||
	    t->waited_ns < t->throttled_high_ns)
		return 0;
	return t->waited_ns - t->throttled_high_ns;
}

static int by_queue(const void *a, const void *b)
{
	const struct thread *x = *(const struct thread *const *)a;
	const struct thread *y = *(const struct thread *const *)b;

	if (queued_ns(x) != queued_ns(y))
		return queued_ns(x) < queued_ns(y) ? 1 : -1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void report_saturated(struct out *out, const struct look *now, const struct host *host)
{
	struct arena *a = out_arena(out);
	double idle = host->shares.idle + host->shares.iowait, queued = 0;
	unsigned cpus =
		host->allowed && host->allowed < host->online ? host->allowed : host->online;
	const struct thread **order =
		arena_alloc(a, (now->threads.count + 1) * sizeof(struct thread *));
	size_t count = 0;

	if (isnan(host->usable_idle) || !cpus || host->usable_idle >= SATURATED_IDLE_MAX)
		return;
	for (size_t i = 0; i < now->threads.count; i++) {
		const struct thread *t = &now->threads.items[i];

		if (t->nice > 0 || !queued_ns(t))
			continue;
		queued += share((double)queued_ns(t), host->interval_ns);
		order[count++] = t;
	}
	if (queued / cpus < SATURATED_QUEUE_MIN)
		return;
	struct finding *f =
		finding_start(a, cpuwait_findings, "cpuwait.cpu-saturated", STATE_NOW, "host");

	qsort(order, count, sizeof(*order), by_queue);
	f->lost = queued;
	finding_f64(f, "queued_threads", queued);
	finding_u64(f, "cpus", cpus);
	finding_f64(f, "idle_ratio", idle);
	finding_u64(f, "interval_ns", host->interval_ns);
	finding_line(f,
		     "%.1f threads waited for %u CPU%s at any time, none of it throttling; %s idle",
		     queued, cpus, cpus == 1 ? "" : "s", human_ratio(a, idle));
	for (size_t i = 0; i < count && i < NAMED_MAX; i++)
		add_worst(a, f, order[i], host);
	finding_line(f, "needs  %.1f CPU to run them all at once (%u + %.1f)", cpus + queued, cpus,
		     queued);
	finding_proof(f, "/proc/PID/task/TID/schedstat second field; /proc/stat cpu line");
	finding_next(f, "perfbox cpuwait --by process 1");
	out_finding(out, f);
}

struct pinning {
	const struct host *host;
	bool *is_allowed;
	unsigned cpu_count;
	bool has_spare_inside;         /* an allowed CPU that is not busy */
};

static void allow_cpu(unsigned cpu, void *arg)
{
	struct pinning *p = arg;

	if (cpu >= p->cpu_count)
		return;
	p->is_allowed[cpu] = true;
	if (!isnan(p->host->cpu_busy[cpu]) && p->host->cpu_busy[cpu] < PINNED_BUSY_MIN)
		p->has_spare_inside = true;
}

/* An idle CPU that is not in the list, all in it being busy; -1: none. */
static long spare_cpu(struct arena *a, const char *list, const struct look *now,
		      const struct host *host)
{
	struct pinning p = { host, arena_alloc(a, now->cpus.cpu_count + 1), now->cpus.cpu_count,
			     false };

	if (scan_cpu_list(text_of(list), CPU_MAX, allow_cpu, &p) <= 0 || p.has_spare_inside)
		return -1;
	for (unsigned cpu = 0; cpu < p.cpu_count; cpu++)
		if (!p.is_allowed[cpu] && host->cpu_idle[cpu] >= OTHER_IDLE_MIN &&
		    !host->cpu_isolated[cpu])
			return cpu;
	return -1;
}

static void report_pinned_group(struct out *out, const struct thread **threads, size_t count,
				const char *list, long spare, const struct host *host)
{
	struct arena *a = out_arena(out);
	double queued = 0;

	for (size_t i = 0; i < count; i++)
		queued += share((double)queued_ns(threads[i]), host->interval_ns);
	struct finding *f = finding_start(a, cpuwait_findings, "cpuwait.pinned", STATE_NOW,
					  thread_name(a, threads[0]));

	f->lost = queued;
	finding_text(f, "allowed_cpus", NAME_PLAIN, list);
	finding_f64(f, "queue_ratio", share((double)queued_ns(threads[0]), host->interval_ns));
	finding_u64(f, "threads", count);
	finding_u64(f, "idle_cpu", (uint64_t)spare);
	finding_f64(f, "idle_cpu_idle_ratio", host->cpu_idle[spare]);
	finding_u64(f, "interval_ns", host->interval_ns);
	finding_line(f, "%zu thread%s may use CPU %s only, which %s full; CPU %ld is %s idle",
		     count, count == 1 ? "" : "s", list, strpbrk(list, ",-") ? "are" : "is", spare,
		     human_ratio(a, host->cpu_idle[spare]));
	for (size_t i = 0; i < count && i < NAMED_MAX; i++)
		add_worst(a, f, threads[i], host);
	finding_proof(f, "Cpus_allowed_list in /proc/%u/task/%u/status; cpu lines of /proc/stat",
		      threads[0]->tgid, threads[0]->tid);
	finding_next(f, "perfbox cpuwait -p %u 1", threads[0]->tgid);
	out_finding(out, f);
}

/* One finding for all threads that share a set of CPUs; the one that queues most is its subject. */
static void report_pinned(struct out *out, const struct look *now, const struct host *host)
{
	struct arena *a = out_arena(out);
	size_t count = 0, size = now->threads.count + 1;
	const struct thread **order = arena_alloc(a, size * sizeof(*order));
	const struct thread **same = arena_alloc(a, size * sizeof(*same));
	const char **lists = arena_alloc(a, size * sizeof(*lists));

	for (size_t i = 0; i < now->threads.count; i++) {
		const struct thread *t = &now->threads.items[i];

		if (!t->is_kernel && t->is_selected &&
		    share((double)queued_ns(t), host->interval_ns) >= PINNED_QUEUE_MIN)
			order[count++] = t;
	}
	qsort(order, count, sizeof(*order), by_queue);
	for (size_t i = 0; i < count; i++)
		if (src_affinity(order[i]->tid, &lists[i]) < 0)
			lists[i] = NULL;
	for (size_t i = 0; i < count; i++) {
		const char *list = lists[i];
		size_t n = 0;

		/* each different list once: those that share it are taken off */
		for (size_t k = i; list && k < count; k++)
			if (lists[k] && !strcmp(list, lists[k])) {
				same[n++] = order[k];
				lists[k] = NULL;
			}
		long spare = list ? spare_cpu(a, list, now, host) : -1;

		if (spare >= 0)
			report_pinned_group(out, same, n, list, spare, host);
	}
}

static void report_steal(struct out *out, const struct host *host)
{
	struct arena *a = out_arena(out);
	double stolen_cpus = host->shares.steal * host->online;

	if (!(host->steal_of_demand >= STEAL_OF_DEMAND_MIN) || !(stolen_cpus >= STEAL_CPUS_MIN))
		return;
	struct finding *f = finding_start(a, cpuwait_findings, "cpuwait.steal", STATE_NOW, "host");

	f->lost = stolen_cpus;
	finding_f64(f, "steal_of_demand_ratio", host->steal_of_demand);
	finding_f64(f, "steal_cpus", stolen_cpus);
	finding_u64(f, "interval_ns", host->interval_ns);
	finding_line(f,
		     "the hypervisor ran something else for %s of the CPU time this machine asked "
		     "for (%.2f CPU)",
		     human_ratio(a, host->steal_of_demand), stolen_cpus);
	finding_proof(f, "eighth number (steal) of the cpu line in /proc/stat");
	out_finding(out, f);
}

void findings_report(struct out *out, const struct look *now, const struct host *host,
		     const struct cgroup_layout *layout, const struct selection *selection)
{
	bool is_all = selection_is_all(selection);

	for (size_t i = 0; i < now->groups.count; i++)
		if (is_throttled(now, i, host->interval_ns) &&
		    group_is_selected(i))
			report_throttled(out, now, i, host, layout);
	report_pinned(out, now, host);
	if (!is_all)
		return;
	report_saturated(out, now, host);
	report_steal(out, host);
}
