/*
 * cpuwait --hist: how long threads wait for a CPU, one wait at a time: a histogram and its
 * percentiles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/cpuwait/cpuwait.h"
#include "common/base/mem.h"
#include "common/kernel/runqhist.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define NAMES_EVERY_NS 100000000ull    /* -C: how often new names are judged */
#define BAR_WIDTH 32
#define SHORTEST_LOG2 10               /* all below 1,024 ns are one line */

struct wait_row {
	uint64_t tgid, tid, cpu;
	const char *comm, *cgroup;
	uint64_t waits, woken, preempted, wait_ns, woken_ns, preempted_ns;
	double mean_ns, p50_ns, p90_ns, p99_ns, p999_ns;
	uint64_t max_ns, pending, oldest_ns;
};

#define WAIT_COLUMNS \
	COL(struct wait_row, waits, "WAITS", ROLE_COUNTER_DELTA, UNIT_COUNT, \
	    "waits for a CPU that ended in the interval"), \
		COL(struct wait_row, woken, "WOKEN", ROLE_COUNTER_DELTA, UNIT_COUNT, \
		    "of them, those that began with a wakeup"), \
		COL(struct wait_row, preempted, "PREEMPTED", ROLE_COUNTER_DELTA, UNIT_COUNT, \
		    "those that began as it lost the CPU, although it could have run on"), \
		COL(struct wait_row, mean_ns, "MEAN", ROLE_GAUGE, UNIT_NS, "average wait"), \
		COL(struct wait_row, p50_ns, "P50", ROLE_GAUGE, UNIT_NS, \
		    "half of the waits are at most this long (an eighth off at most)"), \
		COL(struct wait_row, p90_ns, "P90", ROLE_GAUGE, UNIT_NS, "90 % are"), \
		COL(struct wait_row, p99_ns, "P99", ROLE_GAUGE, UNIT_NS, "99 % are"), \
		COL(struct wait_row, p999_ns, "P99.9", ROLE_GAUGE, UNIT_NS, "99.9 % are"), \
		COL(struct wait_row, max_ns, "MAX", ROLE_GAUGE, UNIT_NS, "the longest"), \
		COL(struct wait_row, wait_ns, NULL, ROLE_COUNTER_DELTA, UNIT_NS, \
		    "their sum; a wait is whole in the interval it ends in"), \
		COL(struct wait_row, woken_ns, NULL, ROLE_COUNTER_DELTA, UNIT_NS, \
		    "of that, after a wakeup"), \
		COL(struct wait_row, preempted_ns, NULL, ROLE_COUNTER_DELTA, UNIT_NS, \
		    "of that, after losing the CPU"), \
		COL(struct wait_row, pending, "WAITING", ROLE_GAUGE, UNIT_COUNT, \
		    "threads that wait at the interval's end: not in the histogram yet"), \
		COL(struct wait_row, oldest_ns, "OLDEST", ROLE_GAUGE, UNIT_NS, \
		    "how long the longest of them has waited")

static const struct column all_columns[] = { WAIT_COLUMNS };
static const struct column cpu_columns[] = {
	COL(struct wait_row, cpu, "CPU", ROLE_KEY, UNIT_ID, "where they got it"),
	WAIT_COLUMNS,
};
static const struct column process_columns[] = {
	COL(struct wait_row, tgid, "TGID", ROLE_KEY, UNIT_ID, "process"),
	WAIT_COLUMNS,
	COL_NAME(struct wait_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND,
		 "name of its first thread"),
};
static const struct column thread_columns[] = {
	COL(struct wait_row, tgid, "TGID", ROLE_KEY, UNIT_ID, "process"),
	COL(struct wait_row, tid, "TID", ROLE_KEY, UNIT_ID, "thread"),
	WAIT_COLUMNS,
	COL_NAME(struct wait_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND, "thread name"),
};
static const struct column cgroup_columns[] = {
	WAIT_COLUMNS,
	COL_NAME(struct wait_row, cgroup, "CGROUP", ROLE_KEY, NAME_CGROUP,
		 "path as in /proc/PID/cgroup; - a group that is gone"),
};

struct bucket_row {
	uint64_t low_ns, high_ns, waits;
	double share_ratio, cumulative_ratio;
	const char *bar;
};

static const struct column bucket_columns[] = {
	COL(struct bucket_row, low_ns, "FROM", ROLE_KEY, UNIT_NS, "waits of at least this"),
	COL(struct bucket_row, high_ns, "BELOW", ROLE_TEXT, UNIT_NS, "and shorter than this"),
	COL(struct bucket_row, waits, "WAITS", ROLE_COUNTER_DELTA, UNIT_COUNT, "how many"),
	COL(struct bucket_row, share_ratio, "SHARE", ROLE_GAUGE, UNIT_RATIO, "of all waits"),
	COL(struct bucket_row, cumulative_ratio, "UP TO HERE", ROLE_GAUGE, UNIT_RATIO,
	    "share of all waits that are shorter than that"),
	COL(struct bucket_row, bar, "", ROLE_TEXT, UNIT_TEXT, "the same drawn"),
};

static const struct table all_table = { .name = "waits",
					.help = "all that was asked for together",
					TABLE(struct wait_row, all_columns) };
static const struct table cpu_table = { .name = "cpus",
					.help = "with --by cpu: a CPU",
					.sort = "cpu",
					TABLE(struct wait_row, cpu_columns) };
static const struct table process_table = { .name = "processes",
					    .help = "with --by process: all threads of a process",
					    .sort = "-wait_ns",
					    .top = true,
					    TABLE(struct wait_row, process_columns) };
static const struct table thread_table = { .name = "threads",
					   .help = "with --by thread: a thread",
					   .sort = "-wait_ns",
					   .top = true,
					   TABLE(struct wait_row, thread_columns) };
static const struct table cgroup_table = { .name = "cgroups",
					   .help = "with --by cgroup: a control group, those below "
						   "it left out",
					   .sort = "-wait_ns",
					   .top = true,
					   TABLE(struct wait_row, cgroup_columns) };
static const struct table bucket_table = { .name = "buckets",
					   .help = "waits of all, by length: a power of two",
					   TABLE(struct bucket_row, bucket_columns) };
static const struct table *const tables[] = { &all_table,    &cpu_table,    &process_table,
					      &thread_table, &cgroup_table, &bucket_table,
					      NULL };

static const char *by, *only;
static unsigned looks_done;

static const struct {
	const char *name;
	enum runqhist_by by;
	const struct table *table;
} kinds[] = {
	{ "cpu", RUNQHIST_CPU, &cpu_table },
	{ "process", RUNQHIST_PROCESS, &process_table },
	{ "thread", RUNQHIST_THREAD, &thread_table },
	{ "cgroup", RUNQHIST_CGROUP, &cgroup_table },
};

static const struct opt options[] = {
	{ 'p', "pid", "PID", "only these processes, all threads (comma list)", OPT_NUMBERS,
	  &cpuwait.selection.pids, false, NULL },
	{ 0, "tid", "TID", "only these threads", OPT_NUMBERS, &cpuwait.selection.tids, false,
	  NULL },
	{ 'G', "cgroup", "PATH", "only threads in this control group and below", OPT_TEXT,
	  &cpuwait.selection.cgroup, false, NULL },
	{ 'C', "comm", "RE", "only threads whose name matches (extended regular expression)",
	  OPT_TEXT, &cpuwait.selection.comm, false, NULL },
	{ 0, "by", "KEY", "a row of its own for each process, thread, cgroup or cpu", OPT_TEXT,
	  &by, false, "process|thread|cgroup|cpu" },
	{ 0, "only", "KIND", "only waits that began so: with a wakeup, or by losing the CPU",
	  OPT_TEXT, &only, false, "woken|preempted" },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

/* ---- control groups: the kernel counts by number ---- */

struct group_ids {
	const char **paths, **folders;
	uint64_t *ids;
	bool *is_asked;
	size_t count, cap;
};
static struct group_ids groups;        /* of this frame */

static char *asked_path(struct arena *a)
{
	char *path = arena_strdup(a, cpuwait.selection.cgroup);
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	return path;
}

/* As a path of /proc/PID/cgroup, with or without the first slash, or as the folder. */
static bool is_asked_group(const char *asked, const char *path, const char *folder)
{
	return !strcmp(asked, path) || (asked[0] != '/' && !strcmp(asked, path + 1)) ||
	       (asked[0] == '/' && !strcmp(asked + 1, folder));
}

static void add_group(const char *path, const char *folder, unsigned depth, long parent, void *arg)
{
	struct group_ids *g = arg;
	const size_t i = g->count++;

	(void)depth;
	if (i >= g->cap) {
		const size_t cap = g->cap ? 2 * g->cap : 64;
		const char **paths = arena_alloc(src_arena(), cap * sizeof(*paths)),
			   **folders = arena_alloc(src_arena(), cap * sizeof(*folders));
		uint64_t *ids = arena_alloc(src_arena(), cap * sizeof(*ids));
		bool *is_asked = arena_alloc(src_arena(), cap);

		for (size_t k = 0; k < i; k++) {
			paths[k] = g->paths[k];
			folders[k] = g->folders[k];
			ids[k] = g->ids[k];
			is_asked[k] = g->is_asked[k];
		}
		*g = (struct group_ids){ paths, folders, ids, is_asked, g->count, cap };
	}
	g->paths[i] = path;
	g->folders[i] = folder;
	g->ids[i] = cgroup_id(folder);
	g->is_asked[i] = cpuwait.selection.cgroup &&
			 ((parent >= 0 && g->is_asked[parent]) ||
			  is_asked_group(asked_path(src_arena()), path, folder));
}

static const struct cgroup_hierarchy *group_hierarchy(void)
{
	return cpuwait.layout.cpu.version ? &cpuwait.layout.cpu : &cpuwait.layout.unified;
}

static bool needs_groups(void)
{
	return cpuwait.selection.cgroup || (by && !strcmp(by, "cgroup"));
}

static int choose_groups(void)
{
	uint64_t *ids = arena_alloc(src_arena(), (groups.count + 1) * sizeof(*ids));
	size_t count = 0;

	for (size_t i = 0; i < groups.count; i++)
		if (groups.is_asked[i] && groups.ids[i] != NA_U64)
			ids[count++] = groups.ids[i];
	runqhist_choose_groups(ids, count);
	return count || looks_done ? 0
				   : fail(ENOENT, "no control group %s",
					  redact_name(src_arena(), NAME_CGROUP,
						      cpuwait.selection.cgroup));
}

static int read_groups(struct out *out)
{
	groups = (struct group_ids){ 0 };
	if (!needs_groups())
		return 0;
	if (!group_hierarchy()->version)
		return fail(ENOENT, "no control groups to tell apart are mounted here");
	if (cgroup_walk(group_hierarchy(), add_group, &groups) < 0 && !groups.count)
		return fail(ENOENT, "no control group can be read");
	if (!groups.count)
		out_missing(out, "no control group can be read");
	return cpuwait.selection.cgroup ? choose_groups() : 0;
}

static const char *group_path(uint64_t id)
{
	for (size_t i = 0; i < groups.count; i++)
		if (groups.ids[i] == id)
			return groups.paths[i];
	return NULL;
}

/* ---- the mode ---- */

static bool is_chosen_name(const char *comm)
{
	return regexec(&cpuwait.selection.comm_pattern, comm, 0, NULL, 0) == 0;
}

static const struct table *key_table(void)
{
	for (size_t i = 0; by && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(by, kinds[i].name))
			return kinds[i].table;
	return NULL;
}

static enum runqhist_by key_kind(void)
{
	for (size_t i = 0; by && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(by, kinds[i].name))
			return kinds[i].by;
	return RUNQHIST_ALL;
}

static struct runqhist_config asked_config(void)
{
	const struct selection *s = &cpuwait.selection;

	return (struct runqhist_config){
		.by = key_kind(),
		.has_woken = !only || !strcmp(only, "woken"),
		.has_preempted = !only || !strcmp(only, "preempted"),
		.is_unified = group_hierarchy()->version == 2,
		.pids = s->pids.items,
		.pid_count = s->pids.count,
		.tids = s->tids.items,
		.tid_count = s->tids.count,
		.has_groups = s->cgroup != NULL,
		.is_chosen = s->comm ? is_chosen_name : NULL,
	};

}

static int start(int argc, char **argv)
{
	int err = selection_start(argc, argv);

	looks_done = 0;
	if (err < 0 || !src_is_live())
		return err;
	cgroup_find(src_arena(), &cpuwait.layout);
	const struct runqhist_config config = asked_config();

	err = runqhist_open(&config);
	/* a kernel that can't is not a mistake of who typed */
	return err == -EINVAL ? -ENOTSUP : err;
}

static uint64_t poll_names(void)
{
	if (!cpuwait.selection.comm)
		return 0;
	runqhist_judge_names();
	return NAMES_EVERY_NS;
}

static double quantile(const struct runqhist_row *r, double share)
{
	const uint64_t ns = runqhist_quantile(r, share);

	return ns == NA_U64 ? NA_F64 : (double)ns;
}

static struct wait_row wait_row(const struct runqhist_row *r, struct arena *a)
{
	const uint64_t waits = r->count[RUNQHIST_WOKEN] + r->count[RUNQHIST_PREEMPTED],
		       wait_ns = r->sum_ns[RUNQHIST_WOKEN] + r->sum_ns[RUNQHIST_PREEMPTED];
	const enum runqhist_by kind = key_kind();

	return (struct wait_row){
		.tgid = r->tgid ? r->tgid : NA_U64,
		.tid = r->tid ? r->tid : NA_U64,
		.cpu = r->id,
		.comm = r->comm[0] ? arena_copy(a, r->comm, strnlen(r->comm, sizeof(r->comm)))
				   : NULL,
		.cgroup = kind == RUNQHIST_CGROUP ? group_path(r->id) : NULL,
		.waits = waits,
		.woken = r->count[RUNQHIST_WOKEN],
		.preempted = r->count[RUNQHIST_PREEMPTED],
		.wait_ns = wait_ns,
		.woken_ns = r->sum_ns[RUNQHIST_WOKEN],
		.preempted_ns = r->sum_ns[RUNQHIST_PREEMPTED],
		.mean_ns = ratio_of(wait_ns, waits),
		.p50_ns = quantile(r, 0.5),
		.p90_ns = quantile(r, 0.9),
		.p99_ns = quantile(r, 0.99),
		.p999_ns = quantile(r, 0.999),
		.max_ns = waits ? r->max_ns : NA_U64,
		.pending = r->pending,
		.oldest_ns = r->pending ? r->oldest_ns : NA_U64,
	};
}

static struct runqhist_row sum_rows(const struct runqhist_row *rows, size_t count)
{
	uint32_t *buckets = arena_alloc(src_arena(), RUNQHIST_BUCKETS * sizeof(*buckets));
	struct runqhist_row sum = { .buckets = buckets };

	for (size_t i = 0; i < count; i++) {
		const struct runqhist_row *r = &rows[i];

		for (size_t k = 0; k < RUNQHIST_KINDS; k++) {
			sum.count[k] += r->count[k];
			sum.sum_ns[k] += r->sum_ns[k];
		}
		for (unsigned b = 0; b < RUNQHIST_BUCKETS; b++)
			buckets[b] += r->buckets[b];
		sum.max_ns = r->max_ns > sum.max_ns ? r->max_ns : sum.max_ns;
		sum.pending += r->pending;
		sum.oldest_ns = r->oldest_ns > sum.oldest_ns ? r->oldest_ns : sum.oldest_ns;
	}
	return sum;
}

static const char *bar(struct arena *a, uint64_t n, uint64_t most)
{
	char *text = arena_alloc(a, BAR_WIDTH + 1);
	const size_t len = most ? (size_t)((double)n / (double)most * BAR_WIDTH + 0.5) : 0;

	memset(text, '#', len);
	return text;
}

/* From the first power of two with a wait in it to the last. */
static void show_buckets(struct out *out, const struct runqhist_row *all)
{
	uint64_t lines[64] = { 0 }, total = 0, most = 0, so_far = 0;
	unsigned first = 64, last = 0;

	for (unsigned i = 0; i < RUNQHIST_BUCKETS; i++) {
		unsigned line = SHORTEST_LOG2 - 1;

		while (line < 63 && runqhist_bucket_low(i) >> (line + 1))
			line++;
		lines[line] += all->buckets[i];
		total += all->buckets[i];
	}
	for (unsigned line = 0; line < 64; line++) {
		if (!lines[line])
			continue;
		first = first < line ? first : line;
		last = line;
		most = lines[line] > most ? lines[line] : most;
	}
	for (unsigned line = first; line <= last; line++) {
		so_far += lines[line];
		const struct bucket_row row = {
			.low_ns = line < SHORTEST_LOG2 ? 0 : 1ull << line,
			.high_ns = 1ull << (line + 1),
			.waits = lines[line],
			.share_ratio = ratio_of(lines[line], total),
			.cumulative_ratio = ratio_of(so_far, total),
			.bar = bar(out_arena(out), lines[line], most),
		};

		out_row(out, &bucket_table, &row);
	}
}

static void show_counted(struct out *out, const struct runqhist_counts *c)
{
	struct arena *a = out_arena(out);

	out_line(out, "counted", "%s; time out of quota is in it (cpuwait --exact tells it apart)",
		 !only ? "waits after a wakeup and after losing the CPU"
		 : !strcmp(only, "woken") ? "waits after a wakeup"
					  : "waits after losing the CPU");
	if (c->repaired)
		out_line(out, "repaired",
			 "%s waits whose begin was not reported: the scheduler's own count stands "
			 "in", human_count_u64(a, c->repaired));
	if (c->missed)
		out_line(out, "missed", "%s waits whose end was not reported",
			 human_count_u64(a, c->missed));
	if (c->dropped)
		out_missing(out, "%s waits are not counted: there was no room for whose they were",
			    human_count_u64(a, c->dropped));
	if (c->undecided)
		out_note(out, "%s waits are not counted: of threads with a new name, before -C was "
			      "asked about it", human_count_u64(a, c->undecided));
}

static void show(struct out *out, const struct runqhist_row *rows, size_t count)
{
	const struct runqhist_row all = sum_rows(rows, count);
	const struct wait_row sum = wait_row(&all, out_arena(out));
	struct arena *a = out_arena(out);
	const char *name = src_uname()->host;

	out_host(out, "cpuwait --hist  %s  %s", redact_name(a, NAME_HOST, name ? name : "-"),
		 human_ns(a, (double)src_frame()->elapsed_ns));
	out_row(out, &all_table, &sum);
	for (size_t i = 0; key_table() && i < count; i++) {
		const struct wait_row row = wait_row(&rows[i], a);

		out_row(out, key_table(), &row);
	}
	show_buckets(out, &all);
}

static int look(struct out *out)
{
	const struct runqhist_row *rows;
	const struct runqhist_counts *counts;
	size_t count;

	cgroup_find(src_arena(), &cpuwait.layout);
	int err = read_groups(out);

	if (err < 0)
		return err;
	runqhist_judge_names();
	const struct runqhist_config config = asked_config();

	err = runqhist_read(&config, &rows, &count, &counts);
	if (err < 0)
		return err;
	if (!looks_done++ && !src_frame()->is_only)
		return 0;
	show(out, rows, count);
	show_counted(out, counts);
	return 0;
}

static void stop(void)
{
	runqhist_close();
	if (cpuwait.selection.comm)
		regfree(&cpuwait.selection.comm_pattern);
}

static const char *first_table(void)
{
	return key_table() ? key_table()->name : "waits";
}

const struct mode cpuwait_hist_mode = {
	.option = "--hist",
	.operands = "[interval [count]]",
	.summary = "run queue latency: a histogram of single waits, and percentiles (BPF)",
	.opts = options,
	.tables = tables,
	.first_table = first_table,
	.narrowed = selection_narrowed,
	.takes_interval = true,
	.start = start,
	.look = look,
	.poll = poll_names,
	.stop = stop,
};
