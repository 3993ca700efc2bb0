/*
 * What cpuwait prints: rows of threads, processes, control groups and the host.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/cpuwait/cpuwait.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

struct thread_row {
	uint64_t tgid, tid, cpu;
	double user_ratio, system_ratio, wait_ratio, throttled_ratio, queue_ratio,
		throttled_low_ratio, throttled_high_ratio;
	bool is_estimated;
	double average_wait_ns;
	double voluntary_per_second, involuntary_per_second;
	uint64_t wait_ns, run_ns;
	const char *state, *comm, *cgroup, *nspid;
	uint64_t threads;              /* of a process row */
	struct thread *thread;
};

#define SHARED_COLUMNS(row) \
	COL(row, user_ratio, "%USR", ROLE_GAUGE, UNIT_RATIO, \
	    "time in user mode, of the interval"), \
		COL(row, system_ratio, "%SYS", ROLE_GAUGE, UNIT_RATIO, "time in the kernel"), \
		COL(row, wait_ratio, "%WAIT", ROLE_GAUGE, UNIT_RATIO, \
		    "runnable but not running: run-queue wait and throttling, pending wait " \
		    "included"), \
		COL_EST(row, throttled_ratio, is_estimated, "%THRTL", ROLE_GAUGE, UNIT_RATIO, \
			"the part of it that its control group or an ancestor was out of quota"), \
		COL_EST(row, queue_ratio, is_estimated, "%QUEUE", ROLE_GAUGE, UNIT_RATIO, \
			"the part of it that another task had the CPU"), \
		COL(row, throttled_low_ratio, NULL, ROLE_GAUGE, UNIT_RATIO, \
		    "least the throttled part can be"), \
		COL(row, throttled_high_ratio, NULL, ROLE_GAUGE, UNIT_RATIO, \
		    "most the throttled part can be"), \
		COL(row, average_wait_ns, "AVGWAIT", ROLE_GAUGE, UNIT_NS, \
		    "wait per time it was put on a CPU"), \
		COL(row, voluntary_per_second, "VCS/s", ROLE_GAUGE, UNIT_PER_SECOND, \
		    "switches because it blocked"), \
		COL(row, involuntary_per_second, "IVCS/s", ROLE_GAUGE, UNIT_PER_SECOND, \
		    "switches although it could have run on"), \
		COL(row, wait_ns, NULL, ROLE_COUNTER_DELTA, UNIT_NS, \
		    "the wait itself, in the interval"), \
		COL(row, run_ns, NULL, ROLE_COUNTER_DELTA, UNIT_NS, \
		    "time on a CPU, in the interval")

static const struct column thread_columns[] = {
	COL(struct thread_row, tgid, "TGID", ROLE_KEY, UNIT_ID, "process"),
	COL(struct thread_row, tid, "TID", ROLE_KEY, UNIT_ID, "thread"),
	COL_NAME_IF_ANY(struct thread_row, nspid, "NSPID", ROLE_TEXT, NAME_PLAIN,
			"its ids in inner pid namespaces, if any"),
	SHARED_COLUMNS(struct thread_row),
	COL(struct thread_row, cpu, "CPU", ROLE_TEXT, UNIT_ID, "CPU it last ran on"),
	COL(struct thread_row, state, NULL, ROLE_TEXT, UNIT_TEXT, "state as in /proc/PID/stat"),
	COL_NAME(struct thread_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND, "thread name"),
	COL_NAME(struct thread_row, cgroup, "CGROUP", ROLE_TEXT, NAME_CGROUP,
		 "its group in the cpu controller's hierarchy"),
};

static const struct column process_columns[] = {
	COL(struct thread_row, tgid, "TGID", ROLE_KEY, UNIT_ID, "process"),
	COL(struct thread_row, threads, "THREADS", ROLE_GAUGE, UNIT_COUNT,
	    "threads it has; all are summed"),
	COL_NAME_IF_ANY(struct thread_row, nspid, "NSPID", ROLE_TEXT, NAME_PLAIN,
			"its ids in inner pid namespaces, if any"),
	SHARED_COLUMNS(struct thread_row),
	COL_NAME(struct thread_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND,
		 "name of its first thread"),
	COL_NAME(struct thread_row, cgroup, "CGROUP", ROLE_TEXT, NAME_CGROUP,
		 "the first thread's group"),
};

struct group_row {
	const char *cgroup, *names, *limited_by, *container_id, *pod_uid;
	double quota_cpus, effective_cpus, used_cpus, lost_cpus, pressure_ratio;
	uint64_t periods, throttled_periods, throttled_ns, burst_ns, threads, total_throttled_ns,
		total_throttled_periods;
	struct group *group;
};

static const struct column group_columns[] = {
	COL_NAME(struct group_row, cgroup, "CGROUP", ROLE_KEY, NAME_CGROUP,
		 "path as in /proc/PID/cgroup"),
	COL_NAME_IF_ANY(struct group_row, names, "NAMES", ROLE_TEXT, NAME_CONTAINER,
			"container and pod, as far as path and host tell"),
	COL(struct group_row, quota_cpus, "QUOTA", ROLE_GAUGE, UNIT_CPUS, "its own quota"),
	COL(struct group_row, effective_cpus, "EFF", ROLE_GAUGE, UNIT_CPUS,
	    "least quota over itself and its ancestors"),
	COL_NAME(struct group_row, limited_by, NULL, ROLE_TEXT, NAME_CGROUP,
		 "the group whose quota that is"),
	COL(struct group_row, used_cpus, "USED", ROLE_GAUGE, UNIT_CPUS, "CPU time used per second"),
	COL(struct group_row, periods, "PERIODS", ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "enforcement periods in the interval"),
	COL(struct group_row, throttled_periods, "THROTTLED", ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "periods in which it ran out of quota"),
	COL(struct group_row, lost_cpus, "LOST/s", ROLE_GAUGE, UNIT_CPUS,
	    "throttled time per second, summed over CPUs"),
	COL(struct group_row, throttled_ns, NULL, ROLE_COUNTER_DELTA, UNIT_NS,
	    "throttled time in the interval, summed over CPUs"),
	COL(struct group_row, burst_ns, "BURST", ROLE_GAUGE, UNIT_NS,
	    "unused quota it may save up"),
	COL(struct group_row, pressure_ratio, "PSI", ROLE_GAUGE, UNIT_RATIO,
	    "share of the interval some task of it waited for a CPU (v2)"),
	COL(struct group_row, threads, "THREADS", ROLE_GAUGE, UNIT_COUNT,
	    "threads in it and below"),
	COL(struct group_row, total_throttled_periods, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "throttled periods since it was made"),
	COL(struct group_row, total_throttled_ns, NULL, ROLE_COUNTER, UNIT_NS,
	    "throttled time since it was made"),
	COL_NAME(struct group_row, container_id, NULL, ROLE_TEXT, NAME_CONTAINER,
		 "container id in the path"),
	COL_NAME(struct group_row, pod_uid, NULL, ROLE_TEXT, NAME_CONTAINER, "pod uid in the path"),
};

struct host_row {
	const char *host;
	uint64_t online_count, allowed_count, running, blocked;
	double usable_cpus, quota_cpus, user_ratio, system_ratio, iowait_ratio, irq_ratio,
		softirq_ratio, steal_ratio, idle_ratio;
	double switches_per_second, pressure_ratio;
	uint64_t interval_ns;
	const char *blocked_where;
};

static const struct column host_columns[] = {
	COL_NAME(struct host_row, host, NULL, ROLE_KEY, NAME_HOST, "host name"),
	COL(struct host_row, online_count, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "CPUs online: what a program thinks it can use"),
	COL(struct host_row, allowed_count, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "CPUs that affinity and cpuset leave"),
	COL(struct host_row, quota_cpus, NULL, ROLE_GAUGE, UNIT_CPUS,
	    "effective quota where perfbox runs"),
	COL(struct host_row, usable_cpus, NULL, ROLE_GAUGE, UNIT_CPUS,
	    "the least of these: what it can use"),
	COL(struct host_row, user_ratio, NULL, ROLE_GAUGE, UNIT_RATIO, "user mode, nice included"),
	COL(struct host_row, system_ratio, NULL, ROLE_GAUGE, UNIT_RATIO, "kernel"),
	COL(struct host_row, iowait_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "idle with I/O outstanding"),
	COL(struct host_row, irq_ratio, NULL, ROLE_GAUGE, UNIT_RATIO, "hard interrupts"),
	COL(struct host_row, softirq_ratio, NULL, ROLE_GAUGE, UNIT_RATIO, "soft interrupts"),
	COL(struct host_row, steal_ratio, NULL, ROLE_GAUGE, UNIT_RATIO, "taken by the hypervisor"),
	COL(struct host_row, idle_ratio, NULL, ROLE_GAUGE, UNIT_RATIO, "idle"),
	COL(struct host_row, running, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "threads running or queued, throttled ones left out"),
	COL(struct host_row, blocked, NULL, ROLE_GAUGE, UNIT_COUNT, "threads in state D"),
	COL(struct host_row, blocked_where, NULL, ROLE_TEXT, UNIT_TEXT,
	    "kernel functions they wait in"),
	COL(struct host_row, switches_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "context switches"),
	COL(struct host_row, pressure_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "share of the interval some task waited for a CPU (PSI)"),
	COL(struct host_row, interval_ns, NULL, ROLE_GAUGE, UNIT_NS, "measured interval"),
};

static void complete_thread(void *row);
static void complete_process(void *row);
static void complete_group(void *row);

static const struct table thread_table = { .name = "threads",
					   .help = "a thread that ran or waited in the interval "
						   "(-a: every thread)",
					   TABLE(struct thread_row, thread_columns),
					   .sort = "-wait_ratio",
					   .top = true,
					   .complete = complete_thread };
static const struct table process_table = { .name = "processes",
					    .help = "with --by process: all threads of a process "
						    "summed",
					    TABLE(struct thread_row, process_columns),
					    .sort = "-wait_ratio",
					    .top = true,
					    .complete = complete_process };
static const struct table group_table = { .name = "cgroups",
					  .help = "a control group with a CPU quota, or that was "
						  "ever throttled",
					  TABLE(struct group_row, group_columns),
					  .sort = "-lost_cpus",
					  .top = true,
					  .complete = complete_group };
static const struct table host_table = { .name = "host",
					 .help = "the host",
					 TABLE(struct host_row, host_columns) };
const struct table *const cpuwait_tables[] = { &thread_table, &process_table, &group_table,
					       &host_table, NULL };

static double interval_share(uint64_t ns)
{
	return ratio_of(ns, cpuwait.host.interval_ns);
}

static double float_share(double ns)
{
	return cpuwait.host.interval_ns ? ns / (double)cpuwait.host.interval_ns : NA_F64;
}

/* The group's path in the cpu controller's hierarchy, or in the unified one where there is no such
 * controller. */
static const char *thread_cgroup(const struct thread *t)
{
	struct text text, path;

	if (t->group >= 0)
		return cpuwait.now->groups.items[t->group].path;
	if (src_readf(&text, "proc/%u/task/%u/cgroup", t->tgid, t->tid) < 0 ||
	    !task_parse_cgroup(text, cpuwait.layout.cpu.version == 1 ? "cpu" : "", &path))
		return NULL;
	return arena_text(src_arena(), path);
}

/* "4711 12": what its pid is in the namespaces below ours; NULL if it has only one. */
static const char *inner_pids(uint32_t tgid, uint32_t tid)
{
	struct task_status status;
	struct text text, word;

	if (src_readf(&text, "proc/%u/task/%u/status", tgid, tid) < 0 ||
	    task_parse_status(text, &status) < 0)
		return NULL;
	struct scan s = scan_of(status.nspid);

	if (!scan_word(&s, &word))
		return NULL;
	scan_blanks(&s);
	struct text rest = scan_rest(&s);
	char *copy = rest.len ? arena_text(src_arena(), rest) : NULL;

	for (char *p = copy; p && *p; p++)
		if (*p == '\t')
			*p = ' ';
	return copy;
}

static void complete_thread(void *data)
{
	struct thread_row *row = data;
	struct thread *t = row->thread;

	threads_read_switches(t);
	row->voluntary_per_second =
		rate_of(delta_u64(t->voluntary, t->voluntary_before), cpuwait.host.interval_ns);
	row->involuntary_per_second =
		rate_of(delta_u64(t->involuntary, t->involuntary_before), cpuwait.host.interval_ns);
	row->cgroup = thread_cgroup(t);
	row->nspid = inner_pids(t->tgid, t->tid);
}

static void complete_process(void *data)
{
	struct thread_row *row = data;

	row->cgroup = thread_cgroup(row->thread);
	row->nspid = inner_pids(row->thread->tgid, row->thread->tid);
}

static void complete_group(void *data)
{
	struct group_row *row = data;
	struct cgroup_names names = { 0 };

	cgroup_name(src_arena(), row->cgroup, &names);
	cgroup_name_from_logs(src_arena(), &names);
	row->names = cgroup_names_text(src_arena(), &names);
	row->container_id = names.container_id;
	row->pod_uid = names.pod_uid;
}

static void fill_split(struct thread_row *row, const struct thread *t)
{
	row->throttled_low_ratio = interval_share(t->throttled_low_ns);
	row->throttled_high_ratio = interval_share(t->throttled_high_ns);
	if (t->waited_ns == NA_U64 || !thread_split_is_known(t, cpuwait.host.interval_ns))
		return;
	double throttled = ((double)t->throttled_low_ns + (double)t->throttled_high_ns) / 2;
	double queued = (double)t->waited_ns - throttled;

	row->throttled_ratio = float_share(throttled);
	row->queue_ratio = float_share(queued > 0 ? queued : 0);
	row->is_estimated = t->throttled_low_ns != t->throttled_high_ns;
}

static struct thread_row thread_row(struct thread *t, struct arena *a)
{
	struct thread_row row = {
		.tgid = t->tgid,
		.tid = t->tid,
		.cpu = t->cpu == CPU_UNKNOWN ? NA_U64 : t->cpu,
		.thread = t,
		.threads = 1,
		.user_ratio = float_share(t->user_ns),
		.system_ratio = float_share(t->system_ns),
		.wait_ratio = interval_share(t->waited_ns),
		.throttled_ratio = NA_F64,
		.queue_ratio = NA_F64,
		.average_wait_ns = ratio_of(t->raw_waited_ns, t->ran_times),
		.voluntary_per_second = NA_F64,
		.involuntary_per_second = NA_F64,
		.wait_ns = t->waited_ns,
		.run_ns = t->ran_ns,
		.state = arena_copy(a, &t->state, 1),
		.comm = arena_copy(a, t->comm, t->comm_len),
	};

	if (t->voluntary != NA_U64) {
		row.voluntary_per_second = rate_of(delta_u64(t->voluntary, t->voluntary_before),
						   cpuwait.host.interval_ns);
		row.involuntary_per_second = rate_of(
			delta_u64(t->involuntary, t->involuntary_before), cpuwait.host.interval_ns);
	}
	fill_split(&row, t);
	return row;
}

static bool is_shown(const struct thread *t)
{
	const struct selection *asked = &cpuwait.selection;

	if (!t->is_selected)
		return false;
	if (asked->has_idle || asked->pids.count || asked->tids.count)
		return true;
	if (t->is_new)
		return false;
	if (t->waited_ns != NA_U64)
		return t->waited_ns || t->ran_ns;
	/* unknown is not idle, but where no thread's wait is known, what it did otherwise decides
	 */
	uint64_t switches = delta_u64(t->involuntary, t->involuntary_before);

	return cpuwait.now->threads.has_schedstat || t->user_ns + t->system_ns > 0 ||
	       (switches && switches != NA_U64);
}

void show_threads(struct out *out)
{
	for (size_t i = 0; i < cpuwait.now->threads.count; i++) {
		struct thread *t = &cpuwait.now->threads.items[i];

		if (!is_shown(t))
			continue;
		struct thread_row row = thread_row(t, out_arena(out));

		out_row(out, &thread_table, &row);
	}
}

/* A sum is known only if all its parts are: NAN and NA_U64 carry on. */
static void add_thread_row(struct thread_row *sum, const struct thread_row *part)
{
	sum->user_ratio += part->user_ratio;
	sum->system_ratio += part->system_ratio;
	sum->wait_ratio += part->wait_ratio;
	sum->throttled_ratio += part->throttled_ratio;
	sum->queue_ratio += part->queue_ratio;
	sum->throttled_low_ratio += part->throttled_low_ratio;
	sum->throttled_high_ratio += part->throttled_high_ratio;
	sum->voluntary_per_second += part->voluntary_per_second;
	sum->involuntary_per_second += part->involuntary_per_second;
	sum->wait_ns = sum_u64(sum->wait_ns, part->wait_ns);
	sum->run_ns = sum_u64(sum->run_ns, part->run_ns);
	sum->is_estimated |= part->is_estimated;
}

/* Threads of one process stand side by side, its first one in front, except after -p, --tid or -G
 * made another order. */
void show_processes(struct out *out)
{
	struct hash by_tgid = { 0 };
	struct arena *a = out_arena(out);
	struct thread_row **rows = arena_alloc(a, (cpuwait.now->threads.count + 1) * sizeof(*rows));
	uint64_t *times = arena_alloc(a, (cpuwait.now->threads.count + 1) * sizeof(*times));
	size_t count = 0;

	for (size_t i = 0; i < cpuwait.now->threads.count; i++) {
		struct thread *t = &cpuwait.now->threads.items[i];
		void **at = hash_number(&by_tgid, t->tgid);

		if (!t->is_selected || (t->is_new && *at))
			continue;
		threads_read_switches(t);
		struct thread_row row = thread_row(t, a);

		if (!*at) {
			rows[count] = arena_alloc(a, sizeof(row));
			*rows[count] = row;
			*at = &rows[count++];
		} else {
			struct thread_row *sum = **(struct thread_row ***)at;

			/* the first thread may have exited: the kernel shows it in the root group
			 * then */
			if (strchr("ZX", sum->thread->state))
				sum->thread = t;
			add_thread_row(sum, &row);
			sum->threads++;
		}
		size_t at_index = (size_t)(*(struct thread_row ***)at - rows);

		times[at_index] += t->ran_times == NA_U64 ? 0 : t->ran_times;
	}
	for (size_t i = 0; i < count; i++) {
		rows[i]->average_wait_ns = times[i] ? ratio_of(rows[i]->wait_ns, times[i]) : NA_F64;
		if (cpuwait.selection.has_idle || rows[i]->wait_ns || rows[i]->run_ns)
			out_row(out, &process_table, rows[i]);
	}
	hash_free(&by_tgid);
}

/* With -p, --tid or -C: the groups these threads are in. With -G: the group, those in it, and those
 * it is in, whose quotas are its limits too. */
bool group_is_selected(size_t i)
{
	const struct groups *g = &cpuwait.now->groups;
	long asked = cpuwait.selected_group;

	if (selection_is_all(&cpuwait.selection))
		return true;
	if (!cpuwait.selection.cgroup)
		return g->items[i].has_selected;
	return asked >= 0 &&
	       (group_is_within(g, i, (size_t)asked) || group_is_within(g, (size_t)asked, i));
}

void show_groups(struct out *out)
{
	unsigned once_throttled = 0;

	for (size_t i = 0; i < cpuwait.now->groups.count; i++) {
		struct group *g = &cpuwait.now->groups.items[i];

		if (!g->is_listed || !group_is_selected(i))
			continue;
		once_throttled +=
			g->cpu.throttled_periods != NA_U64 && g->cpu.throttled_periods > 0;
		struct group_row row = {
			.cgroup = g->path,
			.group = g,
			.quota_cpus = g->quota_cpus,
			.effective_cpus = g->effective_cpus,
			.limited_by = g->limited_by >= 0
					      ? cpuwait.now->groups.items[g->limited_by].path
					      : NULL,
			.used_cpus = interval_share(g->used_ns),
			.lost_cpus = interval_share(g->throttled_ns),
			.periods = g->periods,
			.throttled_periods = g->throttled_periods,
			.throttled_ns = g->throttled_ns,
			.burst_ns = g->cpu.burst_ns,
			.pressure_ratio = interval_share(g->pressure_ns),
			.threads = g->members,
			.total_throttled_ns = g->cpu.throttled_ns,
			.total_throttled_periods = g->cpu.throttled_periods,
		};

		out_row(out, &group_table, &row);
		if (shared.past && g->cpu.throttled_periods != NA_U64 && g->cpu.throttled_periods)
			out_history(out, "%s throttled in %llu periods",
				    redact_name(out_arena(out), NAME_CGROUP, g->path),
				    (unsigned long long)g->cpu.throttled_periods);
	}
	if (once_throttled && !shared.past)
		out_history(out, "%u cgroup%s once throttled", once_throttled,
			    once_throttled == 1 ? "" : "s");
}

/* "2 folio_wait_bit_common, 1 io_schedule" */
static const char *blocked_text(const struct host *host)
{
	return host->blocked_where ? arena_printf(src_arena(), " (%s)", host->blocked_where) : "";
}

void show_host(struct out *out)
{
	const struct host *h = &cpuwait.host;
	const struct cpu_shares *s = &h->shares;
	struct arena *a = out_arena(out);
	const char *name = src_uname()->host;
	struct host_row row = {
		.host = name,
		.online_count = h->online ? h->online : NA_U64,
		.allowed_count = h->allowed ? h->allowed : NA_U64,
		.usable_cpus = h->usable_cpus,
		.quota_cpus = h->quota_cpus,
		.user_ratio = s->user,
		.system_ratio = s->system,
		.iowait_ratio = s->iowait,
		.irq_ratio = s->irq,
		.softirq_ratio = s->softirq,
		.steal_ratio = s->steal,
		.idle_ratio = s->idle,
		.running = h->running,
		.blocked = h->blocked,
		.blocked_where = h->blocked_where,
		.switches_per_second = h->switches_per_second,
		.pressure_ratio = h->pressure_ratio,
		.interval_ns = h->interval_ns,
	};

	out_row(out, &host_table, &row);
	out_host(out, "cpuwait  %s  %s  usable %s of %s CPUs%s  cgroup %s",
		 redact_name(a, NAME_HOST, name ? name : "-"), human_ns(a, (double)h->interval_ns),
		 isnan(h->usable_cpus) ? "-" : arena_printf(a, "%.4g", h->usable_cpus),
		 h->online ? arena_printf(a, "%u", h->online) : "-",
		 isnan(h->quota_cpus) ? "" : arena_printf(a, " (quota %.4g)", h->quota_cpus),
		 cgroup_mode_name(cpuwait.layout.mode));
	out_host(out, "CPU  user %s  sys %s  iowait %s  irq %s  softirq %s  steal %s  idle %s",
		 human_ratio(a, s->user), human_ratio(a, s->system), human_ratio(a, s->iowait),
		 human_ratio(a, s->irq), human_ratio(a, s->softirq), human_ratio(a, s->steal),
		 human_ratio(a, s->idle));
	out_host(out,
		 "running %s  in D %llu%s  %s switches  cpu pressure %s  threads %zu, %u started, "
		 "%u exited",
		 human_count_u64(a, h->running),
		 (unsigned long long)h->blocked, blocked_text(h),
		 human_rate(a, h->switches_per_second), human_ratio(a, h->pressure_ratio),
		 cpuwait.now->threads.count, cpuwait.now->threads.started,
		 cpuwait.now->threads.exited);
}
