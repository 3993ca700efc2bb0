/*
 * oomcheck: why did it die, who is next, and does the process know its limit?
 */
#include <errno.h>
#include <string.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/cpustat.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

struct state oomcheck;

static const struct opt options[] = {
	{ 'p', "pid", "PID", "only these processes and the groups they are in (comma list)",
	  OPT_NUMBERS, &oomcheck.selection.pids, false, NULL },
	{ 'G', "cgroup", "PATH", "only this control group, those below and those above it",
	  OPT_TEXT, &oomcheck.selection.cgroup, false, NULL },
	{ 0, "environ", NULL,
	  "also read processes' environments (JAVA_TOOL_OPTIONS, GOMEMLIMIT, NODE_OPTIONS ...)",
	  OPT_FLAG, &oomcheck.selection.reads_environment, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static unsigned looks_done;

static int start(int argc, char **argv)
{
	looks_done = 0;
	if (argc > 1)
		return fail(EINVAL, "unexpected word '%s'", argv[1]);
	if (oomcheck.selection.cgroup && !*oomcheck.selection.cgroup)
		return fail(EINVAL, "-G: the path of a control group is missing");
	for (size_t i = 0; i < oomcheck.selection.pids.count; i++)
		if (!oomcheck.selection.pids.items[i])
			return fail(EINVAL, "0 is the id of no process");
	return 0;
}

static void ignore_cpu(unsigned cpu, void *arg)
{
	(void)cpu, (void)arg;
}

static void read_online(void)
{
	struct text t;

	oomcheck.online_cpus = 0;
	if (src_read("sys/devices/system/cpu/online", &t) < 0)
		return;
	int count = scan_cpu_list(t, CPU_MAX, ignore_cpu, NULL);

	oomcheck.online_cpus = count > 0 ? (unsigned)count : 0;
}

/* Says, once each, what this look could not see. */
static void report_missing(struct out *out)
{
	struct arena *a = out_arena(out);
	struct memgroup *const *list;
	size_t count = memgroups_all(&list);
	const struct cgroup_layout *l = &oomcheck.layout;

	for (size_t i = 0; i < count; i++)
		if (list[i]->memory.trouble)
			out_missing(out, "/%s/%s", memgroup_folder_text(a, list[i]),
				    list[i]->memory.trouble);
	if (!l->memory.version)
		out_note(out, "no memory controller is mounted here: limits of control groups are "
			      "unknown");
	else if (l->has_namespace && l->memory.version == 2)
		out_note(out, "control groups above this namespace can't be seen: a lower limit of "
			      "theirs would not show");
	if (host_now()->is_faked)
		out_note(out, "/proc/meminfo is made up by lxcfs: memory and swap are this "
			      "container's share, not the host's");
}

static int look(struct out *out)
{
	oomcheck.interval_ns = src_frame()->elapsed_ns;
	cgroup_find(src_arena(), &oomcheck.layout);
	read_online();
	host_look(out);
	memgroups_look(out);
	int err = looks_done ? 0 : memgroups_check_asked();

	if (err < 0)
		return err;
	report_missing(out);
	err = kills_look(out);
	if (err >= 0)
		err = gone_look(out);
	if (err >= 0)
		err = processes_look(out);
	if (err < 0)
		return err;
	if (!looks_done++ && !src_frame()->is_only)
		return 0;
	host_show(out);
	memgroups_show(out);
	if (!src_frame()->is_only && !oomcheck.interval_ns)
		out_missing(out, "a frame without a clock, or one that stood still: rates are "
				 "unknown");
	else if (!src_frame()->is_only)
		oomcheck_findings_report(out);
	return 0;
}

static void stop(void)
{
	processes_stop();
	gone_stop();
	findings_kills_stop();
	kills_stop();
	memgroups_stop();
	host_stop();
}

/* ---- a log from a file, and nothing else ---- */

static int start_log(int argc, char **argv)
{
	if (argc < 2 || !*argv[1])
		return fail(EINVAL,
			    "--log: the name of a file is missing, or - for standard input");
	if (argc > 2)
		return fail(EINVAL, "unexpected word '%s'", argv[2]);
	oomcheck.selection.log = argv[1];
	return 0;
}

static int run_log(struct out *out)
{
	int err = kills_look(out);

	return err < 0 ? err : 0;
}

static void stop_log(void)
{
	kills_stop();
}

static const char *narrowed(struct arena *a)
{
	const struct selection *s = &oomcheck.selection;
	struct buf words = { 0 };

	for (size_t i = 0; i < s->pids.count; i++)
		buf_printf(&words, "%s%llu", i ? "," : "-p ", (unsigned long long)s->pids.items[i]);
	if (s->cgroup)
		buf_printf(&words, "%s-G %s", words.len ? " " : "", s->cgroup);
	const char *text = words.len ? arena_text(a, buf_text(&words)) : NULL;

	buf_free(&words);
	return text;
}

static const struct table *const tables[] = { &group_table, &processes_table, &kills_table,
					      &victims_table, &host_table, &node_table, NULL };
static const struct mode mode = {
	.operands = "[interval [count]]",
	.opts = options,
	.tables = tables,
	.narrowed = narrowed,
	.in_triage = true,
	.takes_interval = true,
	.start = start,
	.look = look,
	.stop = stop,
};

static const struct table *const log_tables[] = { &kills_table, &victims_table, NULL };
static const struct mode log_mode = {
	.option = "--log",
	.operands = "FILE|-",
	.summary = "kills in a kernel log from a file or standard input: dmesg, dmesg -T, "
		   "journalctl -k, syslog or raw kmsg",
	.tables = log_tables,
	.start = start_log,
	.run = run_log,
	.stop = stop_log,
};

static const struct mode *const modes[] = { &mode, &log_mode, NULL };

const struct applet applet_oomcheck = {
	.name = "oomcheck",
	.summary = "why did it die, who is next, and does the process know its limit",
	.area = "memory",
	.modes = modes,
	.findings = oomcheck_findings,
};
