/*
 * triage: what is wrong here? Runs every applet's look over one shared interval and ranks what they
 * find. It has no diagnosis of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/parts.h"
#include "applets/triage/use.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/cpustat.h"
#include "common/kernel/kmsg.h"
#include "common/kernel/load.h"
#include "common/kernel/netcount.h"
#include "common/kernel/netns.h"
#include "common/kernel/psi.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define UNTIL_KEEPS_FRAMES 3
#define LOG_MAX_AGE_NS (24 * 3600 * 1000000000ull)

struct host_row {
	const char *host, *kernel, *cgroup_mode;
	uint64_t uptime_ns, interval_ns, uid, netns_count, online_count;
	double busy_ratio, packets_per_second, accepts_per_second, switches_per_second,
		memory_pressure_ratio, io_pressure_ratio;
	uint64_t blocked;
};

static const struct column host_columns[] = {
	COL_NAME(struct host_row, host, NULL, ROLE_KEY, NAME_HOST, "host name"),
	COL(struct host_row, kernel, NULL, ROLE_TEXT, UNIT_TEXT, "kernel release"),
	COL(struct host_row, cgroup_mode, NULL, ROLE_TEXT, UNIT_TEXT,
	    "control groups: v1, v2, hybrid or none"),
	COL(struct host_row, uptime_ns, NULL, ROLE_GAUGE, UNIT_NS, "time since boot"),
	COL(struct host_row, interval_ns, NULL, ROLE_GAUGE, UNIT_NS, "measured interval"),
	COL(struct host_row, uid, NULL, ROLE_TEXT, UNIT_ID, "effective user it ran as"),
	COL(struct host_row, netns_count, NULL, ROLE_GAUGE, UNIT_COUNT, "network namespaces seen"),
	COL(struct host_row, online_count, NULL, ROLE_GAUGE, UNIT_COUNT, "CPUs online"),
	COL(struct host_row, busy_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "CPU time not idle and not iowait"),
	COL(struct host_row, packets_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets received"),
	COL(struct host_row, accepts_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "TCP connections accepted"),
	COL(struct host_row, switches_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "context switches"),
	COL(struct host_row, memory_pressure_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "share of the interval some task waited for memory (PSI)"),
	COL(struct host_row, io_pressure_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "share of the interval some task waited for I/O (PSI)"),
	COL(struct host_row, blocked, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "tasks waiting for I/O in state D"),
};

static const struct table host_table = { .name = "host",
					 .help = "the host and its load",
					 TABLE(struct host_row, host_columns) };

/* What triage can look at once the applet for it is in the box. */
static const struct {
	const char *applet, *area;
} areas[] = {
	{ "oomcheck", "memory" },         { "cpuwait", "CPU" },
	{ "listenq", "accept queues" },   { "portrange", "ports" },
	{ "conntrack-top", "conntrack" }, { "netpath", "packet path" },
	{ "irqbind", "interrupts" },
};

/* Which applet reports a kind of kernel message; the others are triage's to show. A SYN flood's
 * is nobody's: it comes once for a port and is no trouble where cookies are sent. */
static const char *const log_owners[KMSG_KINDS] = {
	[KMSG_OOM] = "oomcheck",
	[KMSG_CONNTRACK_FULL] = "conntrack-top",
	[KMSG_NEIGHBOUR_FULL] = "netpath",
	[KMSG_NETDEV_WATCHDOG] = "netpath",
};

struct counters {
	struct load load;
	struct cpu_stat cpus;
	struct psi memory, io;
};

static bool has_use;
static const char *until;
static const struct opt options[] = {
	{ 0, "use", NULL, "utilization, saturation and errors of every resource, healthy ones too",
	  OPT_FLAG, &has_use, false, NULL },
	{ 0, "until", "STATE",
	  "repeat until a finding of that state appears; with --save only the frames around it are "
	  "kept",
	  OPT_TEXT, &until, false, "now|risk" },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static struct parts parts;
static struct counters counters[2];
static unsigned looks_done;
static bool is_found;                  /* what --until waits for was there in the frame before */

static int start(int argc, char **argv)
{
	looks_done = 0;
	is_found = false;
	if (argc > 1)
		return fail(EINVAL, "unexpected word '%s'", argv[1]);
	if (until) {
		if (!shared.has_count)
			shared.count = NA_U64;
		shared.keep_frames = UNTIL_KEEPS_FRAMES;
	}
	return parts_start(&parts, NULL, NULL);
}

static void read_counters(struct out *out, struct counters *c)
{
	load_read(&c->load);
	if (cpustat_read(&c->cpus) < 0)
		out_missing(out, "%s", fail_text());
	c->memory = c->io = (struct psi){ NA_U64, NA_U64 };
	psi_read("proc/pressure/memory", &c->memory);
	psi_read("proc/pressure/io", &c->io);
}

static uint64_t uptime_ns(void)
{
	struct text t;
	double seconds;

	if (src_read("proc/uptime", &t) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	return scan_decimal(&s, &seconds) ? (uint64_t)(seconds * 1e9) : NA_U64;
}

static const char *who(struct arena *a, uint64_t uid)
{
	if (uid == NA_U64)
		return "user -";
	return uid == 0 ? "root" : arena_printf(a, "uid %llu", (unsigned long long)uid);
}

static void fill_host(struct host_row *row, const struct counters *now,
		      const struct counters *before)
{
	struct load_rates rates;
	struct cgroup_layout layout;
	struct netns_count netns = { 0, false };
	uint64_t interval_ns = src_frame()->elapsed_ns;

	load_rates(&before->load, &now->load, interval_ns, &rates);
	if (cgroup_find(src_arena(), &layout) < 0)
		layout.mode = CGROUP_NONE;
	*row = (struct host_row){
		.host = src_uname()->host,
		.kernel = src_uname()->release,
		.cgroup_mode = cgroup_mode_name(layout.mode),
		.uptime_ns = uptime_ns(),
		.interval_ns = interval_ns,
		.uid = src_uid(),
		.netns_count = netns_count(&netns) < 0 || !netns.seen ? NA_U64 : netns.seen,
		.online_count = now->cpus.online ? now->cpus.online : NA_U64,
		.busy_ratio = rates.busy_ratio,
		.packets_per_second = rates.packets_per_second,
		.accepts_per_second = rates.accepts_per_second,
		.switches_per_second = rates.switches_per_second,
		.memory_pressure_ratio = ratio_of(
			delta_u64(now->memory.some_ns, before->memory.some_ns), interval_ns),
		.io_pressure_ratio =
			ratio_of(delta_u64(now->io.some_ns, before->io.some_ns), interval_ns),
		.blocked = now->cpus.blocked,
	};
}

static void show_host(struct out *out, const struct host_row *row)
{
	struct arena *a = out_arena(out);
	const char *time = out_time(a, src_frame()->realtime_ns);
	const char *clock = strlen(time) > 19 ? arena_printf(a, "%.8sZ", time + 11) : "-";

	out_row(out, &host_table, row);
	out_host(out, "perfbox triage  %s  %s  cgroup %s  up %s  %s  %.1f s  %s, %s netns",
		 row->host ? redact_name(a, NAME_HOST, row->host) : "-",
		 row->kernel ? row->kernel : "-", row->cgroup_mode,
		 row->uptime_ns == NA_U64 ? "-" : human_ns(a, (double)row->uptime_ns), clock,
		 (double)row->interval_ns / 1e9, who(a, row->uid),
		 human_count_u64(a, row->netns_count));
}

/* "a, b, c" */
static const char *add_word(struct arena *a, const char *list, const char *word)
{
	return list ? arena_printf(a, "%s, %s", list, word) : word;
}

/* A replayed run of less than the host says nothing of the rest; NULL: it is of all. */
static const char *narrowed_run(struct arena *a)
{
	struct text manifest, narrowed, applet = { "", 0 };

	if (src_is_live() || src_saved_record("manifest", &manifest) < 0 ||
	    !scan_find_key(manifest, "narrowed", &narrowed))
		return NULL;
	scan_find_key(manifest, "applet", &applet);
	const char *words = redact_name(a, NAME_CONTAINER, arena_text(a, narrowed));

	return arena_printf(a, "all but what this run was saved with: %.*s %s", (int)applet.len,
			    applet.data, words);
}

static bool found_any(const struct part *part)
{
	struct finding **list;

	return out_findings(part->out, &list) > 0;
}

static void show_areas(struct out *out, const struct host_row *row)
{
	struct arena *a = out_arena(out);
	const char *clean = NULL, *not_seen = narrowed_run(a);
	bool is_narrowed = not_seen;

	for (size_t i = 0; i < parts.count; i++) {
		const struct part *part = &parts.items[i];

		if (part->refused || out_is_incomplete(part->out))
			not_seen = add_word(a, not_seen,
					    arena_printf(a, "%s (%s)",
							 part->applet->area ? part->applet->area
									    : part->applet->name,
							 part->refused ? part->refused
								       : "in part, see stderr"));
		else if (part->applet->area && !found_any(part) && !is_narrowed)
			clean = add_word(a, clean, part->applet->area);
		if (part->applet->sees_not)
			not_seen = add_word(a, not_seen, part->applet->sees_not);
		if (!part->refused && out_unseen_text(part->out))
			not_seen = add_word(a, not_seen,
					    arena_printf(a, "%s %s", part->applet->area,
							 out_unseen_text(part->out)));
	}
	for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++)
		if (!applet_find(areas[i].applet))
			not_seen = add_word(a, not_seen, areas[i].area);
	if (is_narrowed)
		out_mark_incomplete(out);
	if (clean)
		out_line(out, "clean", "%s", clean);
	out_line(out, "load", "packets in %s, accepts %s, switches %s, CPU %s busy",
		 human_rate(a, row->packets_per_second), human_rate(a, row->accepts_per_second),
		 human_rate(a, row->switches_per_second), human_ratio(a, row->busy_ratio));
	out_line(out, "not seen", "%s%sdisk: io pressure %s, %s task%s in D; memory pressure %s%s",
		 not_seen ? not_seen : "", not_seen ? "; " : "",
		 human_ratio(a, row->io_pressure_ratio), human_count_u64(a, row->blocked),
		 row->blocked == 1 ? "" : "s", human_ratio(a, row->memory_pressure_ratio),
		 has_use ? "" : " (counters: --use)");
}

struct log_kind {
	unsigned count;
	uint64_t last_ns;
};

/* Dated trouble in the kernel log that no applet of this box reports. */
static void show_log(struct out *out)
{
	struct arena *a = out_arena(out);
	struct log_kind kinds[KMSG_KINDS] = { 0 };
	struct kmsg_reader reader;
	struct kmsg_record record;
	struct text content;
	const char *line = NULL;

	if (kmsg_read(&content) < 0) {
		out_note(out, "kernel log: %s", fail_text());
		return;
	}
	kmsg_start(&reader, src_arena(), content);
	while (kmsg_next(&reader, &record) > 0) {
		const char *owner = log_owners[record.kind];
		uint64_t age_ns = delta_u64(src_frame()->realtime_ns, record.realtime_ns);

		if (record.kind == KMSG_OTHER || (owner && applet_find(owner)) ||
		    age_ns > LOG_MAX_AGE_NS)
			continue;
		kinds[record.kind].count++;
		kinds[record.kind].last_ns = record.realtime_ns;
	}
	for (int k = 0; k < KMSG_KINDS; k++)
		if (kinds[k].count)
			line = add_word(a, line,
					arena_printf(a, "%s: %u (last %.8sZ)",
						     kmsg_kind_name((enum kmsg_kind)k),
						     kinds[k].count,
						     out_time(a, kinds[k].last_ns) + 11));
	if (line)
		out_line(out, "kernel log", "%s", line);
}

static unsigned take_findings(struct out *out, unsigned counts[])
{
	unsigned states = 0;

	for (size_t i = 0; i < parts.count; i++) {
		struct finding **list;
		const char *const *histories;
		size_t n = out_findings(parts.items[i].out, &list);

		for (size_t k = 0; k < n; k++) {
			out_finding(out, list[k]);
			counts[list[k]->state]++;
			states |= 1u << list[k]->state;
		}
		n = out_histories(parts.items[i].out, &histories);
		for (size_t k = 0; k < n; k++)
			out_history(out, "%s", histories[k]);
		if (parts.items[i].refused)
			out_missing(out, "%s: %s", parts.items[i].applet->name,
				    parts.items[i].refused);
		else if (out_is_incomplete(parts.items[i].out))
			out_mark_incomplete(out);
	}
	return states;
}

static void show_kernel_history(struct out *out)
{
	static const char *const names[] = { "ListenOverflows", "ListenDrops" };
	struct text netstat;

	if (applet_find("listenq") || src_read("proc/net/netstat", &netstat) < 0)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t n = netcount_find(netstat, "TcpExt", names[i]);

		if (n && n != NA_U64)
			out_history(out, "%s %s since boot", names[i],
				    human_count(out_arena(out), (double)n));
	}
}

static int look(struct out *out)
{
	struct counters *now = &counters[looks_done & 1], *before = &counters[~looks_done & 1];
	unsigned by_state[STATE_NOTE + 1] = { 0 };
	struct host_row row;

	read_counters(out, now);
	parts_look(&parts);
	if (has_use)
		use_look(out);
	if (!looks_done++ && !src_frame()->is_only)
		return 0;
	if (is_found)
		return LOOK_LAST | LOOK_SILENT;
	unsigned states = take_findings(out, by_state);

	fill_host(&row, now, before);
	show_host(out, &row);
	show_areas(out, &row);
	show_log(out);
	show_kernel_history(out);
	int status = out_status(out);

	out_line(out, NULL, "%u now, %u risk, %u past; exit %d", by_state[STATE_NOW],
		 by_state[STATE_RISK], by_state[STATE_PAST], status);
	if (!until)
		return 0;
	is_found = states & (!strcmp(until, "now") ? 1u << STATE_NOW : 1u << STATE_RISK);
	if (!is_found)
		return LOOK_SILENT;
	return src_is_saving() ? 0 : LOOK_LAST;
}

static uint64_t poll_parts(void)
{
	return parts_poll(&parts);
}

static void stop(void)
{
	parts_stop(&parts);
	use_stop();
	for (size_t i = 0; i < 2; i++) {
		cpustat_free(&counters[i].cpus);
		counters[i] = (struct counters){ 0 };
	}
}

static const struct table *const tables[] = { &host_table, &use_table, NULL };
static const struct mode mode = {
	.operands = "[interval [count]]",
	.opts = options,
	.tables = tables,
	.takes_interval = true,
	.once = true,
	.interval_ns = 5000000000ull,
	.start = start,
	.look = look,
	.poll = poll_parts,
	.stop = stop,
};
static const struct mode *const modes[] = { &mode, NULL };

const struct applet applet_triage = {
	.name = "triage",
	.summary = "what is wrong here: every look over one interval, the findings ranked",
	.modes = modes,
};
