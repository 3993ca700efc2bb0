/*
 * cpuwait: who is waiting for a CPU, and is it quota throttling or a busy run queue?
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/cpuwait/cpuwait.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/throttle.h"
#include "common/report/redact.h"

#define BLOCKED_PLACES_MAX 32
#define BLOCKED_PLACES_SHOWN 3

struct state cpuwait;

static const char *by;
static bool is_exact;

static const struct opt options[] = {
	{ 'p', "pid", "PID", "only these processes, all threads (comma list)", OPT_NUMBERS,
	  &cpuwait.selection.pids, false, NULL },
	{ 0, "tid", "TID", "only these threads", OPT_NUMBERS, &cpuwait.selection.tids, false,
	  NULL },
	{ 'G', "cgroup", "PATH", "only threads in this control group and below", OPT_TEXT,
	  &cpuwait.selection.cgroup, false, NULL },
	{ 'C', "comm", "RE", "only threads whose name matches (extended regular expression)",
	  OPT_TEXT, &cpuwait.selection.comm, false, NULL },
	{ 0, "by", "KEY", "one row per thread or per process, all its threads summed (thread)",
	  OPT_TEXT, &by, false, "thread|process" },
	{ 0, "exact", NULL, "measure throttling per thread with BPF instead of bounding it",
	  OPT_FLAG, &is_exact, false, NULL },
	{ 'a', "all", NULL, "idle threads too", OPT_FLAG, &cpuwait.selection.has_idle, false,
	  NULL },
	{ 't', NULL, NULL, "threads: the default, accepted out of habit", OPT_NOTHING, NULL, false,
	  NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static struct look looks[2];
static unsigned looks_done;

bool selection_is_all(const struct selection *s)
{
	return !s->pids.count && !s->tids.count && !s->cgroup && !s->comm;
}

static bool has_zero(const struct opt_numbers *numbers)
{
	for (size_t i = 0; i < numbers->count; i++)
		if (!numbers->items[i])
			return true;
	return false;
}

int selection_start(int argc, char **argv)
{
	if (argc > 1)
		return fail(EINVAL, "unexpected word '%s'", argv[1]);
	if (cpuwait.selection.comm &&
	    regcomp(&cpuwait.selection.comm_pattern, cpuwait.selection.comm,
		    REG_EXTENDED | REG_NOSUB) != 0) {
		const char *pattern = cpuwait.selection.comm;

		cpuwait.selection.comm = NULL;
		return fail(EINVAL, "-C: '%s' is not a regular expression", pattern);
	}
	if (cpuwait.selection.cgroup && !*cpuwait.selection.cgroup)
		return fail(EINVAL, "-G: the path of a control group is missing");
	if (has_zero(&cpuwait.selection.pids) || has_zero(&cpuwait.selection.tids))
		return fail(EINVAL, "0 is the id of no process or thread");
	return 0;
}

static int start(int argc, char **argv)
{
	int err = selection_start(argc, argv);

	cpuwait.now = &looks[0];
	cpuwait.before = &looks[1];
	looks_done = 0;
	cpuwait.is_by_process = by && !strcmp(by, "process");
	if (err < 0 || !is_exact || !src_is_live())
		return err;
	err = throttle_open();
	/* a kernel that can't is not a mistake of who typed */
	return err == -EINVAL ? -ENOTSUP : err;
}

/* Shares by CPU, for who is pinned where. */
static void measure_cpus(struct host *h, const struct look *now, const struct look *before)
{
	unsigned count = now->cpus.cpu_count;

	h->cpu_busy = arena_alloc(src_arena(), (count + 1) * sizeof(double));
	h->cpu_idle = arena_alloc(src_arena(), (count + 1) * sizeof(double));
	h->cpu_isolated = arena_alloc(src_arena(), count + 1);
	for (unsigned cpu = 0; cpu < count; cpu++) {
		struct cpu_shares s = { .busy = NA_F64, .idle = NA_F64, .iowait = NA_F64 };

		if (cpu < before->cpus.cpu_count && now->cpus.cpus[cpu].is_online &&
		    before->cpus.cpus[cpu].is_online)
			cpustat_shares(&before->cpus.cpus[cpu], &now->cpus.cpus[cpu], &s);
		h->cpu_busy[cpu] = s.busy;
		h->cpu_idle[cpu] = s.idle + s.iowait;
	}
}

static void mark_isolated(unsigned cpu, void *arg)
{
	struct host *h = arg;

	if (cpu < cpuwait.now->cpus.cpu_count)
		h->cpu_isolated[cpu] = true;
}

static void add_usable(unsigned cpu, void *arg)
{
	struct host *h = arg;

	h->allowed++;
	h->usable_idle += cpu < cpuwait.now->cpus.cpu_count ? h->cpu_idle[cpu] : NA_F64;
}

/* What this program, and so its neighbours in the same container, can use of what is online. */
static void measure_usable(struct host *h, const struct look *now)
{
	const char *list;
	struct text isolated;

	h->usable_cpus = h->online ? h->online : NA_F64;
	h->quota_cpus = NA_F64;
	h->usable_idle = 0;
	h->allowed = 0;
	if (src_read("sys/devices/system/cpu/isolated", &isolated) >= 0)
		scan_cpu_list(isolated, CPU_MAX, mark_isolated, h);
	if (src_affinity(0, &list) >= 0)
		scan_cpu_list(text_of(list), CPU_MAX, add_usable, h);
	h->usable_idle =
		h->allowed ? h->usable_idle / h->allowed : h->shares.idle + h->shares.iowait;
	if (h->allowed)
		h->usable_cpus = h->allowed;
	const struct group *own =
		cpuwait.layout.cpu.own ? groups_find(&now->groups, cpuwait.layout.cpu.own) : NULL;

	if (own)
		h->quota_cpus = own->effective_cpus;
	if (h->quota_cpus < h->usable_cpus || isnan(h->usable_cpus))
		h->usable_cpus = h->quota_cpus;
}

struct blocked_place {
	const char *name;
	unsigned count;
};

static int by_count(const void *a, const void *b)
{
	const struct blocked_place *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

/* Where threads in state D wait, by wchan; few, so each is asked. */
static void measure_blocked(struct host *h, const struct look *now)
{
	struct blocked_place places[BLOCKED_PLACES_MAX];
	size_t count = 0;

	h->blocked = 0;
	h->blocked_where = NULL;
	for (size_t i = 0; i < now->threads.count; i++) {
		const struct thread *t = &now->threads.items[i];
		struct text wchan;
		size_t k = 0;

		if (t->state != 'D')
			continue;
		h->blocked++;
		if (src_readf(&wchan, "proc/%u/task/%u/wchan", t->tgid, t->tid) < 0 || !wchan.len ||
		    text_is(wchan, "0"))
			continue;
		const char *name = arena_text(src_arena(), wchan);

		while (k < count && strcmp(places[k].name, name) != 0)
			k++;
		if (k == BLOCKED_PLACES_MAX)
			continue;
		if (k == count)
			places[count++] = (struct blocked_place){ name, 0 };
		places[k].count++;
	}
	qsort(places, count, sizeof(places[0]), by_count);
	for (size_t k = 0; k < count && k < BLOCKED_PLACES_SHOWN; k++)
		h->blocked_where = arena_printf(src_arena(), "%s%s%u %s", k ? h->blocked_where : "",
						k ? ", " : "", places[k].count, places[k].name);
}

static void measure_host(struct host *h, const struct look *now, const struct look *before)
{
	h->interval_ns = src_frame()->elapsed_ns;
	h->online = now->cpus.online;
	cpustat_shares(&before->cpus.all, &now->cpus.all, &h->shares);
	h->steal_of_demand = h->shares.steal / (h->shares.busy > 0 ? h->shares.busy : 1);
	measure_cpus(h, now, before);
	measure_usable(h, now);
	measure_blocked(h, now);
	h->pressure_ratio = ratio_of(delta_u64(now->pressure.some_ns, before->pressure.some_ns),
				     h->interval_ns);
	h->switches_per_second =
		rate_of(delta_u64(now->cpus.context_switches, before->cpus.context_switches),
			h->interval_ns);
	h->running = now->cpus.running;
}

/* The group -G means: a path as in /proc/PID/cgroup, or the folder itself as a shell completes it.
 */
static const struct group *asked_group(const struct groups *groups)
{
	struct arena *a = src_arena();
	char *path = arena_strdup(a, cpuwait.selection.cgroup);
	size_t len = strlen(path),
	       mount = cpuwait.layout.cpu.mount ? strlen(cpuwait.layout.cpu.mount) : 0;

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	if (mount && path[0] == '/' && !strncmp(path + 1, cpuwait.layout.cpu.mount, mount) &&
	    strchr("/", path[mount + 1]))
		return groups_find(groups,
				   cgroup_path(a, &cpuwait.layout.cpu,
					       path + mount + 1 + (path[mount + 1] == '/')));
	return groups_find(groups, path[0] == '/' ? path : arena_printf(a, "/%s", path));
}

/* With -G: the threads to look at are those of the group and below. */
static void collect_group_tids(struct threads *threads, const struct groups *groups)
{
	const struct group *asked = asked_group(groups);
	const uint32_t *tids;
	size_t count;

	threads->group_tid_count = 0;
	cpuwait.selected_group = asked ? asked - groups->items : -1;
	for (size_t i = 0; asked && i < groups->count; i++) {
		if (!group_is_within(groups, i, (size_t)(asked - groups->items)) ||
		    cgroup_read_threads(&cpuwait.layout.cpu, groups->items[i].folder, &tids,
					&count) < 0)
			continue;
		threads->group_tids = mem_grow(threads->group_tids, &threads->group_tid_cap,
					       threads->group_tid_count + count, sizeof(*tids));
		for (size_t k = 0; k < count; k++)
			if (tids[k])
				threads->group_tids[threads->group_tid_count++] = tids[k];
	}
}

static void report_group_files(struct out *out, const struct groups *groups)
{
	struct arena *a = out_arena(out);

	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = &groups->items[i];
		const char *shown = redact_name(a, NAME_CGROUP, group->path);
		const char *folder = cgroup_folder(a, &cpuwait.layout.cpu, shown);

		if (group->cpu.trouble)
			out_missing(out, "/%s/%s", folder ? folder : group->folder,
				    group->cpu.trouble);
	}
}

/* Says, once each, what this look could not see. */
static void report_missing(struct out *out, const struct look *now, int psi_error)
{
	const struct threads *t = &now->threads;

	if (t->garbled)
		out_missing(out, "%s", t->garbled_text);
	report_group_files(out, &now->groups);
	if (t->trouble)
		out_missing(out, "%s", t->trouble);
	if (!t->count)
		out_missing(out, "no thread could be read");
	if (t->unreadable)
		out_note(out, "some threads can't be read (hidepid, or another user's): they are "
			      "left out");
	if (!t->has_schedstat && t->count)
		out_missing(out,
			    "/proc/PID/schedstat %s: run-queue wait is unknown, switches and "
			    "pressure are what is left",
			    t->missing_schedstat
				    ? "does not exist (kernel without CONFIG_SCHED_INFO)"
				    : "is all zero (kernel.task_delayacct or CONFIG_SCHEDSTATS is "
				      "off)");
	else if (t->missing_schedstat)
		out_missing(out, "/proc/PID/task/%u/schedstat: missing", t->missing_schedstat);
	if (psi_error)
		out_note(out, "%s", fail_text());
	if (!cpuwait.layout.cpu.version)
		out_note(out,
			 "no cpu controller is mounted here: quotas and throttling are unknown");
	else if (cpuwait.layout.has_namespace && now->groups.count &&
		 now->groups.items[0].cpu.local_throttled_ns == NA_U64)
		out_note(out, "control groups above this namespace can't be seen: throttling by "
			      "their quotas counts as queue wait");
}

/* Whom -p and --tid ask for must be there at the start; that one goes away later is no error. */
static int check_asked(struct out *out, const struct threads *t)
{
	if (looks_done || (!t->missing_pid && !t->missing_tid))
		return 0;
	if (t->inner_of)
		fail(ESRCH, "%llu is a thread of process %llu: --tid %llu, or -p %llu",
		     (unsigned long long)t->missing_pid, (unsigned long long)t->inner_of,
		     (unsigned long long)t->missing_pid, (unsigned long long)t->inner_of);
	else
		fail(ESRCH, "no %s %llu", t->missing_pid ? "process" : "thread",
		     (unsigned long long)(t->missing_pid ? t->missing_pid : t->missing_tid));
	if (!t->count)
		return -ESRCH;
	out_missing(out, "%s", fail_text());
	return 0;
}

static int read_look(struct out *out, struct look *now, struct look *before)
{
	struct selection *s = &cpuwait.selection;
	int err = cpustat_read(&now->cpus);

	if (err < 0)
		out_missing(out, "%s", fail_text());
	now->pressure = (struct psi){ NA_U64, NA_U64 };
	cgroup_find(src_arena(), &cpuwait.layout);
	err = groups_read(&now->groups, &before->groups, &cpuwait.layout);
	if (err < 0)           /* the text names the group */
		out_missing(out, "%s", redact_is_on() ? arena_printf(out_arena(out),
			    "a control group: %s", strerror(-err)) : fail_text());
	if (s->cgroup)
		collect_group_tids(&now->threads, &now->groups);
	err = threads_collect(&now->threads, s);
	if (err >= 0)
		err = check_asked(out, &now->threads);
	if (err < 0)
		return err;
	if (!selection_is_all(s) && !s->cgroup)
		split_mark_selected(now, &cpuwait.layout);
	if (s->pids.count || s->tids.count)
		split_add_members(now, &cpuwait.layout);
	if (is_exact) {
		err = split_exact_read(now);
		if (err < 0)
			return err;
	}
	err = psi_read("proc/pressure/cpu", &now->pressure);
	report_missing(out, now, err);
	return 0;
}

/* What the BPF engine had to repair or give up since it began. */
static void show_exactness(struct out *out)
{
	const struct throttle_counts *c = throttle_counts();

	out_line(out, "exact",
		 "waits that changed CPU %llu, group %llu; events repaired %llu, given up %llu, "
		 "unseen %llu",
		 (unsigned long long)c->migrated, (unsigned long long)c->regrouped,
		 (unsigned long long)c->repaired, (unsigned long long)c->dropped,
		 (unsigned long long)c->unseen);
}

static int look(struct out *out)
{
	struct look *now = cpuwait.before, *before = cpuwait.now;
	uint64_t interval_ns = src_frame()->elapsed_ns;

	cpuwait.now = now;
	cpuwait.before = before;
	int err = read_look(out, now, before);

	if (err < 0)
		return err;
	threads_move(now, before, interval_ns);
	split_find_members(now, before, &cpuwait.layout, interval_ns);
	if (looks_done++ || src_frame()->is_only) {
		measure_host(&cpuwait.host, now, before);
		split_threads(now, before, interval_ns);
		if (is_exact)
			split_exact(now, before);
		show_host(out);
		if (cpuwait.is_by_process)
			show_processes(out);
		else
			show_threads(out);
		show_groups(out);
		if (is_exact)
			show_exactness(out);
		if (!src_frame()->is_only && !interval_ns)
			out_missing(out, "a frame without a clock, or one that stood still: rates "
					 "are unknown");
		else if (!src_frame()->is_only)
			findings_report(out, now, &cpuwait.host, &cpuwait.layout,
					&cpuwait.selection);
	}
	bool is_over = !now->threads.count &&
		       (cpuwait.selection.pids.count || cpuwait.selection.tids.count);

	return is_over;
}

static void stop(void)
{
	if (is_exact)
		throttle_close();
	if (cpuwait.selection.comm)
		regfree(&cpuwait.selection.comm_pattern);
	for (size_t i = 0; i < 2; i++) {
		threads_free(&looks[i].threads);
		groups_free(&looks[i].groups);
		cpustat_free(&looks[i].cpus);
		looks[i] = (struct look){ 0 };
	}
}

/* "-p 1,2 -G /x": what of the host was looked at; NULL: all of it. */
const char *selection_narrowed(struct arena *a)
{
	const struct selection *asked = &cpuwait.selection;
	const char *text = NULL;

	for (size_t i = 0; i < asked->pids.count; i++)
		text = arena_printf(a, "%s%s%llu", text ? text : "", i ? "," : "-p ",
				    (unsigned long long)asked->pids.items[i]);
	for (size_t i = 0; i < asked->tids.count; i++)
		text = arena_printf(a, "%s%s%llu", text ? text : "",
				    i      ? ","
				    : text ? " --tid "
					   : "--tid ",
				    (unsigned long long)asked->tids.items[i]);
	if (asked->cgroup)
		text = arena_printf(a, "%s%s-G %s", text ? text : "", text ? " " : "",
				    asked->cgroup);
	if (asked->comm)
		text = arena_printf(a, "%s%s-C %s", text ? text : "", text ? " " : "", asked->comm);
	return text;
}

static const char *first_table(void)
{
	return by && !strcmp(by, "process") ? "processes" : "threads";
}

static const struct mode mode = {
	.first_table = first_table,
	.narrowed = selection_narrowed,
	.operands = "[interval [count]]",
	.opts = options,
	.tables = cpuwait_tables,
	.in_triage = true,
	.takes_interval = true,
	.start = start,
	.look = look,
	.stop = stop,
};
static const struct mode *const modes[] = { &mode, &cpuwait_hist_mode, NULL };

const struct applet applet_cpuwait = {
	.name = "cpuwait",
	.summary = "who waits for a CPU, and is it quota throttling or a busy run queue",
	.area = "CPU",
	.modes = modes,
	.findings = cpuwait_findings,
};
