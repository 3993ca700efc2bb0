/*
 * Packets as the CPUs take them off the devices: each one's backlog, and how much of it their
 * softirqs fill. Counted for the whole host, in whatever namespace they are read.
 */
#include <string.h>

#include "applets/netpath/netpath.h"
#include "applets/netpath/rows.h"
#include "common/kernel/cpustat.h"
#include "common/kernel/netcount.h"
#include "common/kernel/softnet.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define LOAD_MIN 0.30                  /* of one CPU: softirq-load */
#define LOAD_PACKETS_MIN 1000.0        /* per second: less is not the network's doing */

struct host {
	struct softnet_cpu *cpus;
	size_t count;
	struct cpu_times *times;       /* beside cpus */
	uint64_t syns;                 /* of the own namespace: accepted, refused or answered by
	                                  cookie; NA_U64 */
};

/* One CPU between two looks. */
struct moved {
	uint64_t cpu, processed, dropped, squeezed, steered, flow_limited, backlog;
	double softirq_ratio;
	uint64_t softirq_ns;
};

struct moved_all {
	struct moved *cpus;
	size_t count;
};

struct cpu_row {
	uint64_t cpu, processed, dropped, squeezed, backlog, flow_limited;
	double processed_per_second, dropped_per_second, squeezed_per_second, steered_per_second,
		softirq_ratio;
	uint64_t packet_ns;
};

static const struct column cpu_columns[] = {
	COL(struct cpu_row, cpu, "CPU", ROLE_KEY, UNIT_ID, "its number"),
	COL(struct cpu_row, processed_per_second, "PACKETS/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets it took off devices and its backlog"),
	COL(struct cpu_row, dropped_per_second, "DROPPED/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets its backlog (netdev_max_backlog) had no room for, or the flow limit refused"),
	COL(struct cpu_row, squeezed_per_second, "SQUEEZED/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "polls that ended with work left (netdev_budget, netdev_budget_usecs): not a loss"),
	COL(struct cpu_row, steered_per_second, "STEERED/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "interrupts from other CPUs that handed it packets (RPS)"),
	COL(struct cpu_row, backlog, "BACKLOG", ROLE_GAUGE, UNIT_COUNT,
	    "packets that wait, now (5.10 and later)"),
	COL(struct cpu_row, softirq_ratio, "SOFTIRQ%", ROLE_GAUGE, UNIT_RATIO,
	    "of its time, in softirqs of any kind"),
	COL(struct cpu_row, packet_ns, "PER-PACKET", ROLE_GAUGE, UNIT_NS,
	    "that time by its packets"),
	COL(struct cpu_row, flow_limited, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "of the dropped, those the flow limit refused"),
	COL(struct cpu_row, processed, NULL, ROLE_COUNTER, UNIT_COUNT, "packets since boot"),
	COL(struct cpu_row, dropped, NULL, ROLE_COUNTER, UNIT_COUNT, "dropped since boot"),
	COL(struct cpu_row, squeezed, NULL, ROLE_COUNTER, UNIT_COUNT, "squeezed since boot"),
};

const struct table netpath_cpu_table = { .name = "cpus",
					 .help = "a CPU's part in receiving, of all namespaces",
					 TABLE(struct cpu_row, cpu_columns),
					 .top = true };

/* ---- reading ---- */

static uint64_t read_syns(void)
{
	struct text snmp, netstat;

	if (src_read("proc/net/snmp", &snmp) < 0 || src_read("proc/net/netstat", &netstat) < 0)
		return NA_U64;
	return sum_u64(netcount_find(snmp, "Tcp", "PassiveOpens"),
		       sum_u64(netcount_find(netstat, "TcpExt", "ListenDrops"),
			       netcount_find(netstat, "TcpExt", "SyncookiesSent")));
}

static void read_times(struct out *out, struct look *look, struct host *h)
{
	struct cpu_stat stat = { 0 };

	h->times = arena_alloc(&look->arena, (h->count + 1) * sizeof(*h->times));
	if (cpustat_read(&stat) < 0)
		out_missing(out, "%s", fail_text());
	for (size_t i = 0; i < h->count; i++) {
		if (h->cpus[i].cpu < stat.cpu_count)
			h->times[i] = stat.cpus[h->cpus[i].cpu];
		else
			memset(&h->times[i], 0xff, sizeof(h->times[i]));
	}
	cpustat_free(&stat);
}

static int read_host(struct out *out, struct look *look)
{
	struct host *h = arena_alloc(&look->arena, sizeof(*h));
	struct text t;

	if (src_read("proc/net/softnet_stat", &t) < 0 ||
	    softnet_parse_cpus(&look->arena, t, &h->cpus, &h->count) < 0) {
		out_missing(out, "%s", fail_text());
		return 0;
	}
	/* before 5.10 there is no number, and the lines are those online */
	for (size_t i = 0; i < h->count; i++)
		if (h->cpus[i].cpu == NA_U64)
			h->cpus[i].cpu = i;
	read_times(out, look, h);
	h->syns = read_syns();
	look->host[LAYER_SOFTNET] = h;
	return 0;
}

/* ---- comparing ---- */

static uint64_t wrapped(uint64_t now, uint64_t was)
{
	if (now == NA_U64 || was == NA_U64)
		return NA_U64;
	uint32_t moved = (uint32_t)now - (uint32_t)was;

	return moved > UINT32_MAX / 2 ? NA_U64 : moved;
}

static size_t find_cpu(const struct host *h, uint64_t cpu)
{
	for (size_t i = 0; h && i < h->count; i++)
		if (h->cpus[i].cpu == cpu)
			return i;
	return SIZE_MAX;
}

static void compare_cpu(const struct walk *w, const struct host *h, size_t i,
			const struct host *was, struct moved *m)
{
	const struct softnet_cpu *c = &h->cpus[i];
	const size_t at = find_cpu(was, c->cpu);
	struct cpu_shares shares;

	memset(m, 0xff, sizeof(*m));
	m->cpu = c->cpu;
	m->backlog = c->backlog;
	m->softirq_ratio = NA_F64;
	if (at == SIZE_MAX)
		return;
	const struct softnet_cpu *b = &was->cpus[at];

	m->processed = wrapped(c->processed, b->processed);
	m->dropped = wrapped(c->dropped, b->dropped);
	m->squeezed = wrapped(c->squeezed, b->squeezed);
	m->steered = wrapped(c->steered, b->steered);
	m->flow_limited = wrapped(c->flow_limited, b->flow_limited);
	cpustat_shares(&was->times[at], &h->times[i], &shares);
	m->softirq_ratio = shares.softirq;
	if (!is_na_f64(shares.softirq))
		m->softirq_ns = (uint64_t)(shares.softirq * (double)w->interval_ns);
}

static uint64_t add_known(uint64_t sum, uint64_t n)
{
	return n == NA_U64 ? sum : (sum == NA_U64 ? 0 : sum) + n;
}

/* "CPU 1", "CPUs 0, 3", "5 CPUs": those that lost some, or all. */
static const char *cpus_text(struct arena *a, const struct moved_all *all)
{
	const char *text = NULL;
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct moved *m = &all->cpus[i];

		if (!m->dropped || m->dropped == NA_U64)
			continue;
		count++;
		text = arena_printf(a, "%s%s%llu", text ? text : "", text ? ", " : "",
				    (unsigned long long)m->cpu);
	}
	if (!count)
		return "all CPUs";
	return count > 4 ? arena_printf(a, "%zu CPUs", count) :
		arena_printf(a, "CPU%s %s", count > 1 ? "s" : "", text);
}

static void compare_host(struct out *out, struct walk *w)
{
	const struct host *h = w->now->host[LAYER_SOFTNET];
	const struct host *was = w->before->space_count ? w->before->host[LAYER_SOFTNET] : NULL;
	uint64_t processed = NA_U64, dropped = NA_U64, total = 0;

	(void)out;
	if (!h)
		return;
	struct moved_all *all = arena_alloc(w->arena, sizeof(*all));

	*all = (struct moved_all){ arena_alloc(w->arena, (h->count + 1) * sizeof(*all->cpus)),
				   h->count };
	for (size_t i = 0; i < h->count; i++) {
		compare_cpu(w, h, i, was, &all->cpus[i]);
		processed = add_known(processed, all->cpus[i].processed);
		dropped = add_known(dropped, all->cpus[i].dropped);
		total += h->cpus[i].dropped;
	}
	struct block *b = path_add_block(w, LAYER_SOFTNET, DIR_RX, NO_SPACE,
					 cpus_text(w->arena, all));

	b->packets_out = processed;
	b->packets_in = sum_u64(processed, dropped);
	path_add_meter(w, METER_SOFTNET, "dropped", dropped, total,
		       "column 2 of /proc/net/softnet_stat")->detail = all;
}

/* ---- findings ---- */

static void report_drops(struct out *out, struct walk *w, const struct meter *m)
{
	const struct moved_all *all = m->detail;
	const struct moved *worst = NULL;

	for (size_t i = 0; i < all->count; i++)
		if (all->cpus[i].dropped != NA_U64 &&
		    (!worst || all->cpus[i].dropped > worst->dropped))
			worst = &all->cpus[i];
	if (!worst || !path_is_over(w, m, EVENTS_MIN, SHARE_MIN))
		return;
	struct finding *f = netpath_finding(out, w, "netpath.softnet", STATE_NOW, m, NULL);
	const uint64_t backlog = sysctl_number("net/core/netdev_max_backlog", 0);

	finding_u64(f, "cpu", worst->cpu);
	finding_u64(f, "cpu_dropped", worst->dropped);
	finding_u64(f, "cpu_processed", worst->processed);
	finding_u64(f, "cpu_squeezed", worst->squeezed);
	finding_u64(f, "cpu_flow_limited", worst->flow_limited);
	finding_f64(f, "cpu_softirq_ratio", worst->softirq_ratio);
	finding_u64(f, "max_backlog", backlog);
	finding_line(f, "%s: a CPU's backlog was full (%s packets fit)",
		     netpath_lost_text(f->arena, w, m), human_count_u64(f->arena, backlog));
	finding_line(f, "CPU    %llu lost %s and took %s; %s of its time in softirqs%s",
		     (unsigned long long)worst->cpu, human_count_u64(f->arena, worst->dropped),
		     human_count_u64(f->arena, worst->processed),
		     human_ratio(f->arena, worst->softirq_ratio),
		     worst->flow_limited && worst->flow_limited != NA_U64 ?
			arena_printf(f->arena, "; the flow limit refused %s of them",
				     human_count_u64(f->arena, worst->flow_limited)) : "");
	finding_line(f, "counted for the whole host: the devices among the echoes tell whose");
	finding_next(f, "perfbox irqbind 1");
	netpath_finish(out, w, m, f);
}

static void report_load(struct out *out, const struct walk *w, const struct moved *m)
{
	const double rate = rate_of(m->processed, w->interval_ns);
	const struct host *h = w->now->host[LAYER_SOFTNET], *was = w->before->host[LAYER_SOFTNET];

	if (is_na_f64(m->softirq_ratio) || m->softirq_ratio < LOAD_MIN || is_na_f64(rate) ||
	    rate < LOAD_PACKETS_MIN || (m->dropped && m->dropped != NA_U64))
		return;
	struct arena *a = out_arena(out);
	struct finding *f =
		finding_start(a, netpath_findings, "netpath.softirq-load", STATE_RISK,
			      arena_printf(a, "CPU %llu", (unsigned long long)m->cpu));
	const uint64_t packet_ns = m->processed ? m->softirq_ns / m->processed : NA_U64;
	const double syns = rate_of(delta_u64(h->syns, was->syns), w->interval_ns);

	f->lost = m->softirq_ratio;
	finding_f64(f, "softirq_ratio", m->softirq_ratio);
	finding_f64(f, "packets_per_second", rate);
	finding_u64(f, "packet_ns", packet_ns);
	finding_f64(f, "syns_per_second", syns);
	finding_u64(f, "squeezed", m->squeezed);
	finding_u64(f, "interval_ns", w->interval_ns);
	finding_line(f, "%s of its time in softirqs: %s packets, %s each; %s SYNs in this "
		     "namespace", human_ratio(a, m->softirq_ratio), human_rate(a, rate),
		     human_ns(a, (double)packet_ns), human_rate(a, syns));
	finding_proof(f, "softirq of cpu%llu in /proc/stat; column 1 of /proc/net/softnet_stat "
		      "+%s", (unsigned long long)m->cpu, human_count_u64(a, m->processed));
	finding_next(f, "perfbox flamefold --record -C ksoftirqd 5");
	out_finding(out, f);
}

static void report(struct out *out, struct walk *w)
{
	const struct meter *m;
	size_t at = 0;

	while ((m = path_next(w, LAYER_SOFTNET, &at))) {
		const struct moved_all *all = m->detail;

		report_drops(out, w, m);
		for (size_t i = 0; i < all->count; i++)
			report_load(out, w, &all->cpus[i]);
	}
}

static void show(struct out *out, struct walk *w)
{
	const struct host *h = w->now->host[LAYER_SOFTNET];
	const struct meter *m;
	size_t at = 0;

	while ((m = path_next(w, LAYER_SOFTNET, &at))) {
		const struct moved_all *all = m->detail;

		for (size_t i = 0; i < all->count; i++) {
			const struct moved *c = &all->cpus[i];
			const struct cpu_row row = {
				.cpu = c->cpu,
				.processed = h->cpus[i].processed,
				.dropped = h->cpus[i].dropped,
				.squeezed = h->cpus[i].squeezed,
				.backlog = c->backlog,
				.flow_limited = c->flow_limited,
				.processed_per_second = rate_of(c->processed, w->interval_ns),
				.dropped_per_second = rate_of(c->dropped, w->interval_ns),
				.squeezed_per_second = rate_of(c->squeezed, w->interval_ns),
				.steered_per_second = rate_of(c->steered, w->interval_ns),
				.softirq_ratio = c->softirq_ratio,
				.packet_ns = c->processed && c->processed != NA_U64 &&
						c->softirq_ns != NA_U64 ?
					c->softirq_ns / c->processed : NA_U64,
			};

			out_row(out, &netpath_cpu_table, &row);
		}
	}
}

const struct layer layer_softnet = {
	.name = "softnet",
	.read_host = read_host,
	.compare_host = compare_host,
	.report = report,
	.show = show,
};
