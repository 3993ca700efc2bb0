/* What is shown: interfaces, queues, CPUs and settings. */
#include <string.h>

#include "applets/irqbind/irqbind.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

struct nic_row {
	const char *interface, *bond, *driver, *firmware, *rx_ring, *tx_ring, *channels, *rss,
		*coalesce, *offloads, *local_cpus, *irq_cpus;
	uint64_t node, rx_queues, tx_queues, irqs, rx_ring_size, rx_ring_max, tx_ring_size,
		tx_ring_max, lost;
	double packets_per_second;
};

static const struct column nic_columns[] = {
	COL(struct nic_row, interface, "INTERFACE", ROLE_KEY, UNIT_TEXT, "name"),
	COL(struct nic_row, bond, NULL, ROLE_TEXT, UNIT_TEXT, "the bond it was asked for through"),
	COL(struct nic_row, driver, "DRIVER", ROLE_TEXT, UNIT_TEXT, "driver"),
	COL(struct nic_row, firmware, NULL, ROLE_TEXT, UNIT_TEXT, "firmware version"),
	COL(struct nic_row, node, "NODE", ROLE_TEXT, UNIT_ID,
	    "NUMA node of the device; -: one node, or none is told"),
	COL(struct nic_row, rx_queues, "RXQ", ROLE_GAUGE, UNIT_COUNT, "receive queues"),
	COL(struct nic_row, tx_queues, "TXQ", ROLE_GAUGE, UNIT_COUNT, "transmit queues"),
	COL(struct nic_row, irqs, "IRQS", ROLE_GAUGE, UNIT_COUNT, "interrupts it uses"),
	COL(struct nic_row, irq_cpus, "ON CPUS", ROLE_TEXT, UNIT_TEXT,
	    "CPUs its queues' interrupts go to"),
	COL(struct nic_row, local_cpus, NULL, ROLE_TEXT, UNIT_TEXT, "CPUs of its node"),
	COL(struct nic_row, packets_per_second, "PKT/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets received"),
	COL(struct nic_row, lost, "LOST", ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "packets its rings had no room for (missed, fifo)"),
	COL(struct nic_row, rx_ring, "RX-RING", ROLE_TEXT, UNIT_TEXT,
	    "descriptors of a receive queue, of at most"),
	COL(struct nic_row, tx_ring, "TX-RING", ROLE_TEXT, UNIT_TEXT,
	    "descriptors of a transmit queue, of at most"),
	COL(struct nic_row, rx_ring_size, NULL, ROLE_GAUGE, UNIT_COUNT, "RX-RING, now"),
	COL(struct nic_row, rx_ring_max, NULL, ROLE_GAUGE, UNIT_COUNT, "RX-RING, at most"),
	COL(struct nic_row, tx_ring_size, NULL, ROLE_GAUGE, UNIT_COUNT, "TX-RING, now"),
	COL(struct nic_row, tx_ring_max, NULL, ROLE_GAUGE, UNIT_COUNT, "TX-RING, at most"),
	COL(struct nic_row, channels, "CHANNELS", ROLE_TEXT, UNIT_TEXT,
	    "channels (queues with an interrupt) of at most, by kind"),
	COL(struct nic_row, rss, "RSS", ROLE_TEXT, UNIT_TEXT,
	    "entries of the table that spreads flows, and the queues in it"),
	COL(struct nic_row, coalesce, NULL, ROLE_TEXT, UNIT_TEXT, "interrupt coalescing"),
	COL(struct nic_row, offloads, NULL, ROLE_TEXT, UNIT_TEXT, "offloads that are on"),
};

struct queue_row {
	const char *interface, *queue, *name, *asked, *effective, *hint, *managed,
		*interrupts_by_cpu;
	uint64_t irq, node, busiest_cpu;
	double interrupts_per_second, busiest_ratio;
};

static const struct column queue_columns[] = {
	COL(struct queue_row, interface, "INTERFACE", ROLE_KEY, UNIT_TEXT, "name"),
	COL(struct queue_row, queue, "QUEUE", ROLE_KEY, UNIT_TEXT,
	    "rx-N, tx-N, N for both ways; -: no queue's (link state, admin)"),
	COL(struct queue_row, irq, "IRQ", ROLE_KEY, UNIT_ID, "interrupt number"),
	COL(struct queue_row, name, "NAME", ROLE_TEXT, UNIT_TEXT, "its name"),
	COL(struct queue_row, asked, "ASKED", ROLE_TEXT, UNIT_TEXT,
	    "CPUs it may go to (smp_affinity)"),
	COL(struct queue_row, effective, "EFFECT", ROLE_TEXT, UNIT_TEXT,
	    "CPUs it goes to (effective_affinity)"),
	COL(struct queue_row, hint, NULL, ROLE_TEXT, UNIT_TEXT,
	    "CPUs the driver would like (affinity_hint)"),
	COL(struct queue_row, managed, NULL, ROLE_TEXT, UNIT_TEXT,
	    "yes: the kernel alone places it (Linux 6.10 on tells)"),
	COL(struct queue_row, node, NULL, ROLE_TEXT, UNIT_ID, "NUMA node of the busiest CPU"),
	COL(struct queue_row, interrupts_per_second, "IRQ/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "interrupts that came; not a measure of load: polling masks them"),
	COL(struct queue_row, busiest_cpu, "CPU", ROLE_TEXT, UNIT_ID, "where most of them came in"),
	COL(struct queue_row, busiest_ratio, "SHARE", ROLE_GAUGE, UNIT_RATIO, "and how many"),
	COL(struct queue_row, interrupts_by_cpu, NULL, ROLE_TEXT, UNIT_TEXT,
	    "interrupts that came, CPU:COUNT"),
};

struct steer_row {
	const char *interface, *queue, *rps_cpus, *xps_cpus;
	uint64_t rps_flows;
};

static const struct column steer_columns[] = {
	COL(struct steer_row, interface, "INTERFACE", ROLE_KEY, UNIT_TEXT, "name"),
	COL(struct steer_row, queue, "QUEUE", ROLE_KEY, UNIT_TEXT, "rx-N or tx-N"),
	COL(struct steer_row, rps_cpus, "RPS CPUS", ROLE_TEXT, UNIT_TEXT,
	    "CPUs that packets of a receive queue go on to; none: RPS is off"),
	COL(struct steer_row, rps_flows, "FLOWS", ROLE_GAUGE, UNIT_COUNT,
	    "flows remembered for a receive queue (RFS)"),
	COL(struct steer_row, xps_cpus, "XPS CPUS", ROLE_TEXT, UNIT_TEXT,
	    "CPUs that send on a transmit queue"),
};

struct cpu_row {
	uint64_t cpu, node, core, cache, dropped, backlog, queues;
	const char *kind;
	double packets_per_second, packets_ratio, net_rx_per_second, net_tx_per_second,
		squeezes_per_second, steered_per_second, softirq_ratio, irq_ratio, idle_ratio;
};

static const struct column cpu_columns[] = {
	COL(struct cpu_row, cpu, "CPU", ROLE_KEY, UNIT_ID, "number"),
	COL(struct cpu_row, node, "NODE", ROLE_TEXT, UNIT_ID, "NUMA node"),
	COL(struct cpu_row, core, "CORE", ROLE_TEXT, UNIT_ID,
	    "lowest CPU of its core: another number than its own is a second hyperthread"),
	COL(struct cpu_row, cache, NULL, ROLE_TEXT, UNIT_ID,
	    "lowest CPU that shares its last cache"),
	COL(struct cpu_row, kind, "KIND", ROLE_TEXT, UNIT_TEXT,
	    "isolated, nohz_full; -: an ordinary one"),
	COL(struct cpu_row, queues, "QUEUES", ROLE_GAUGE, UNIT_COUNT,
	    "interrupts of the interfaces shown that go to it"),
	COL(struct cpu_row, packets_per_second, "PKT/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets it handled (softnet processed): the load"),
	COL(struct cpu_row, packets_ratio, "SHARE", ROLE_GAUGE, UNIT_RATIO,
	    "of the host's packets"),
	COL(struct cpu_row, softirq_ratio, "SOFTIRQ", ROLE_GAUGE, UNIT_RATIO, "time in softirq"),
	COL(struct cpu_row, irq_ratio, NULL, ROLE_GAUGE, UNIT_RATIO,
	    "time in hard interrupts, where the kernel accounts it"),
	COL(struct cpu_row, idle_ratio, "IDLE", ROLE_GAUGE, UNIT_RATIO, "time idle"),
	COL(struct cpu_row, net_rx_per_second, "NET_RX/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "receive softirqs"),
	COL(struct cpu_row, net_tx_per_second, "NET_TX/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "transmit softirqs"),
	COL(struct cpu_row, squeezes_per_second, "SQUEEZE", ROLE_GAUGE, UNIT_PER_SECOND,
	    "polls that ended with work left (netdev_budget)"),
	COL(struct cpu_row, steered_per_second, "RPS/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets taken over from other CPUs (RPS)"),
	COL(struct cpu_row, dropped, "DROPS", ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "packets its backlog had no room for (netdev_max_backlog)"),
	COL(struct cpu_row, backlog, NULL, ROLE_GAUGE, UNIT_COUNT, "packets in its backlog now"),
};

struct setting_row {
	const char *name, *value, *scope;
};

static const struct column setting_columns[] = {
	COL(struct setting_row, name, "SETTING", ROLE_KEY, UNIT_TEXT, "sysctl"),
	COL(struct setting_row, value, "VALUE", ROLE_TEXT, UNIT_TEXT, "as it stands"),
	COL(struct setting_row, scope, "SCOPE", ROLE_TEXT, UNIT_TEXT,
	    "host: one for all, only in the initial network namespace; namespace: each its own"),
};

static const struct table nic_table = { .name = "interfaces",
					.help = "a network interface",
					TABLE(struct nic_row, nic_columns) };
static const struct table queue_table = { .name = "queues",
					  .help = "an interrupt of an interface",
					  TABLE(struct queue_row, queue_columns),
					  .top = true };
static const struct table steer_table = { .name = "steering",
					  .help = "a queue that packets can be steered by",
					  TABLE(struct steer_row, steer_columns),
					  .top = true };
static const struct table cpu_table = { .name = "cpus",
					.help = "a CPU online",
					TABLE(struct cpu_row, cpu_columns),
					.sort = "-packets_per_second",
					.top = true };
static const struct table setting_table = { .name = "settings",
					    .help = "a setting that bounds it",
					    TABLE(struct setting_row, setting_columns) };
const struct table *const irqbind_show_tables[] = { &queue_table, &nic_table, &irqbind_heat_table,
						    &cpu_table, &steer_table, &setting_table,
						    NULL };

/* ---- interfaces ---- */

static const char *of_max(struct arena *a, uint64_t now, uint64_t max)
{
	if (now == NA_U64)
		return NULL;
	return arena_printf(a, "%llu/%llu", (unsigned long long)now, (unsigned long long)max);
}

static const char *join(struct arena *a, const char *list, const char *word)
{
	return list ? arena_printf(a, "%s %s", list, word) : word;
}

static const char *channels_text(struct arena *a, const char *nic)
{
	struct nic_channels c;
	const char *text = NULL;

	if (ethtool_read_channels(nic, &c) < 0)
		return NULL;
	const struct {
		const char *name;
		uint64_t now, max;
	} kinds[] = { { "combined", c.combined, c.combined_max }, { "rx", c.rx, c.rx_max },
		      { "tx", c.tx, c.tx_max }, { "other", c.other, c.other_max } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].now != NA_U64)
			text = join(a, text, arena_printf(a, "%s %s", kinds[i].name,
							  of_max(a, kinds[i].now, kinds[i].max)));
	return text;
}

static const char *coalesce_text(struct arena *a, const char *nic)
{
	struct nic_coalesce c;
	const char *text = NULL;

	if (ethtool_read_coalesce(nic, &c) < 0)
		return NULL;
	if (c.rx_us != NA_U64)
		text = join(a, text, arena_printf(a, "rx %llu us", (unsigned long long)c.rx_us));
	if (c.rx_frames != NA_U64)
		text = join(a, text, arena_printf(a, "rx %llu packets",
						  (unsigned long long)c.rx_frames));
	if (c.tx_us != NA_U64)
		text = join(a, text, arena_printf(a, "tx %llu us", (unsigned long long)c.tx_us));
	return c.adaptive_rx == 1 ? join(a, text, "adaptive") : text;
}

static const char *offloads_text(struct arena *a, const char *nic)
{
	struct ethtool_offloads o;
	const char *text = NULL;

	if (ethtool_read_offloads(nic, &o) < 0)
		return NULL;
	const struct {
		const char *name;
		int state;
	} all[] = { { "gro", o.gro }, { "gso", o.gso }, { "tso", o.tso }, { "lro", o.lro } };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].state == 1)
			text = join(a, text, all[i].name);
	return text ? text : "none";
}

static void show_nic(struct out *out, const struct nic *n)
{
	struct arena *a = out_arena(out);
	struct nic_rings rings = { NA_U64, NA_U64, NA_U64, NA_U64 };
	struct cpumask cpus, local;
	struct nic_rss rss;

	nic_irq_cpus(n, &cpus);
	cputopo_node_cpus(&irqbind.topo, n->node, &local);
	ethtool_read_rings(n->name, &rings);
	struct nic_row row = {
		.interface = n->name,
		.bond = n->bond,
		.driver = n->driver,
		.firmware = n->firmware,
		.node = n->node,
		.rx_queues = n->rx_queues,
		.tx_queues = n->tx_queues,
		.irqs = n->irq_count,
		.irq_cpus = cpumask_is_empty(&cpus) ? NULL : cpumask_list_text(a, &cpus),
		.local_cpus = cpumask_is_empty(&local) ? NULL : cpumask_list_text(a, &local),
		.packets_per_second = nic_packet_rate(n),
		.lost = nic_lost(n),
		.rx_ring = of_max(a, rings.rx, rings.rx_max),
		.tx_ring = of_max(a, rings.tx, rings.tx_max),
		.rx_ring_size = rings.rx,
		.rx_ring_max = rings.rx_max,
		.tx_ring_size = rings.tx,
		.tx_ring_max = rings.tx_max,
		.channels = channels_text(a, n->name),
		.coalesce = coalesce_text(a, n->name),
		.offloads = offloads_text(a, n->name),
	};

	if (ethtool_read_rss(n->name, &rss) >= 0)
		row.rss = arena_printf(a, "%llu/%llu", (unsigned long long)rss.entries,
				       (unsigned long long)rss.queues);
	out_row(out, &nic_table, &row);
}

/* ---- queues ---- */

static const char *by_cpu(struct arena *a, uint32_t irq)
{
	struct buf b = { 0 };

	for (unsigned cpu = 0; cpu < irqbind.topo.limit; cpu++) {
		const uint64_t n = irq_delta(irq, cpu);

		if (n && n != NA_U64)
			buf_printf(&b, "%s%u:%llu", b.len ? " " : "", cpu, (unsigned long long)n);
	}
	const char *text = b.len ? arena_text(a, buf_text(&b)) : NULL;

	buf_free(&b);
	return text;
}

static void show_queue(struct out *out, const struct nic *n, const struct nic_irq *q)
{
	struct arena *a = out_arena(out);
	unsigned busiest;
	const uint64_t all = irq_delta_all(q->irq.number, &busiest);
	const bool has_busiest = busiest != CPUMASK_END;
	struct queue_row row = {
		.interface = n->name,
		.queue = irq_role_text(a, &q->role),
		.irq = q->irq.number,
		.name = q->name,
		.asked = q->is_known ? cpumask_list_text(a, &q->irq.asked) : NULL,
		.effective = q->is_known && q->irq.has_effective
			? cpumask_list_text(a, &q->irq.effective) : NULL,
		.hint = q->is_known ? q->irq.hint : NULL,
		.managed = q->is_known && q->irq.managed == IRQ_MANAGED ? "yes" : NULL,
		.node = has_busiest ? irqbind.topo.places[busiest].node : NA_U64,
		.busiest_cpu = has_busiest ? busiest : NA_U64,
		.interrupts_per_second = rate_of(all, irqbind.interval_ns),
		.busiest_ratio = has_busiest ? ratio_of(irq_delta(q->irq.number, busiest), all)
					     : NA_F64,
		.interrupts_by_cpu = by_cpu(a, q->irq.number),
	};

	out_row(out, &queue_table, &row);
}

static void show_queues(struct out *out)
{
	const struct look *l = look_now();

	for (size_t i = 0; i < l->nic_count; i++)
		for (size_t k = 0; k < l->nics[i].irq_count; k++)
			show_queue(out, &l->nics[i], &l->nics[i].irqs[k]);
}

/* ---- steering ---- */

static const char *mask_in(struct arena *a, const char *path)
{
	struct cpumask m;
	struct text t;

	if (src_read(path, &t) < 0 || cpumask_parse_hex(t, &m) < 0)
		return NULL;
	return cpumask_is_empty(&m) ? "none" : cpumask_list_text(a, &m);
}

static void show_steering(struct out *out, const struct nic *n)
{
	struct arena *a = out_arena(out);
	struct text t;

	for (unsigned q = 0; q < n->rx_queues; q++) {
		const char *folder = arena_printf(a, "sys/class/net/%s/queues/rx-%u", n->name, q);
		struct steer_row row = {
			.interface = n->name,
			.queue = arena_printf(a, "rx-%u", q),
			.rps_cpus = mask_in(a, arena_printf(a, "%s/rps_cpus", folder)),
			.rps_flows = NA_U64,
		};

		if (src_read(arena_printf(a, "%s/rps_flow_cnt", folder), &t) >= 0)
			scan_u64(&(struct scan){ t.data, t.data + t.len }, &row.rps_flows);
		out_row(out, &steer_table, &row);
	}
	for (unsigned q = 0; q < n->tx_queues; q++) {
		struct steer_row row = {
			.interface = n->name,
			.queue = arena_printf(a, "tx-%u", q),
			.rps_flows = NA_U64,
			.xps_cpus = mask_in(a, arena_printf(a, "sys/class/net/%s/queues/tx-%u/"
							       "xps_cpus", n->name, q)),
		};

		out_row(out, &steer_table, &row);
	}
}

/* ---- CPUs ---- */

static uint64_t queues_on(const struct look *l, unsigned cpu)
{
	uint64_t count = 0;

	for (size_t i = 0; i < l->nic_count; i++)
		for (size_t k = 0; k < l->nics[i].irq_count; k++) {
			const struct nic_irq *q = &l->nics[i].irqs[k];

			count += q->is_known && q->role.use != IRQ_OTHER &&
				cpumask_has(q->irq.has_effective ? &q->irq.effective
								 : &q->irq.asked, cpu);
		}
	return count;
}

/* Of 32 bits that wrap; all of it, but for the CPUs that came or went. */
static double rate_of_wrapping(uint64_t now, uint64_t before)
{
	if (now == NA_U64 || before == NA_U64)
		return NA_F64;
	const uint32_t delta = (uint32_t)now - (uint32_t)before;

	return delta > UINT32_MAX / 2 ? NA_F64 : rate_of(delta, irqbind.interval_ns);
}

static void show_cpu(struct out *out, unsigned cpu, double all)
{
	const struct look *l = look_now(), *before = look_before();
	const struct cpu_place *p = &irqbind.topo.places[cpu];
	const struct cpu_look *now = &l->cpus[cpu];
	const struct cpu_look *was = before ? &before->cpus[cpu] : NULL;
	const bool is_isolated = cpumask_has(&irqbind.topo.isolated, cpu);
	const bool is_nohz = cpumask_has(&irqbind.topo.nohz_full, cpu);
	struct cpu_shares s;

	cpu_shares_of(cpu, &s);
	struct cpu_row row = {
		.cpu = cpu,
		.node = p->node,
		.core = p->core,
		.cache = p->cache,
		.kind = is_isolated ? is_nohz ? "isolated,nohz_full" : "isolated" :
			is_nohz ? "nohz_full" : NULL,
		.queues = queues_on(l, cpu),
		.packets_per_second = cpu_processed_rate(cpu),
		.packets_ratio = all > 0 ? cpu_processed_rate(cpu) / all : NA_F64,
		.net_rx_per_second = was ? rate_of_wrapping(now->net_rx, was->net_rx) : NA_F64,
		.net_tx_per_second = was ? rate_of_wrapping(now->net_tx, was->net_tx) : NA_F64,
		.squeezes_per_second = cpu_squeeze_rate(cpu),
		.steered_per_second = was ? rate_of_wrapping(now->steered, was->steered) : NA_F64,
		.softirq_ratio = s.softirq,
		.irq_ratio = s.irq,
		.idle_ratio = s.idle,
		.dropped = cpu_dropped(cpu),
		.backlog = now->backlog,
	};

	out_row(out, &cpu_table, &row);
}

static double show_cpus(struct out *out)
{
	double all = 0;

	CPUMASK_EACH(cpu, &irqbind.topo.online) {
		const double rate = cpu_processed_rate(cpu);

		all += isnan(rate) ? 0 : rate;
	}
	CPUMASK_EACH(cpu, &irqbind.topo.online)
		show_cpu(out, cpu, all);
	return look_before() ? all : NA_F64;
}

/* ---- the rest ---- */

static void show_settings(struct out *out)
{
	static const struct {
		const char *name, *scope;
	} settings[] = {
		{ "net.core.netdev_budget", "host" },
		{ "net.core.netdev_budget_usecs", "host" },
		{ "net.core.netdev_max_backlog", "host" },
		{ "net.core.dev_weight", "host" },
		{ "net.core.rps_sock_flow_entries", "host" },
		{ "net.core.flow_limit_cpu_bitmap", "host" },
		{ "net.core.flow_limit_table_len", "host" },
		{ "net.core.rmem_default", "host" },
		{ "net.core.rmem_max", "host" },
		{ "net.core.wmem_default", "host" },
		{ "net.core.wmem_max", "host" },
		{ "net.core.somaxconn", "namespace" },
		{ "net.ipv4.tcp_rmem", "namespace" },
		{ "net.ipv4.tcp_wmem", "namespace" },
		{ "net.ipv4.tcp_max_syn_backlog", "namespace" },
	};
	struct arena *a = out_arena(out);

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		char *path = arena_printf(a, "proc/sys/%s", settings[i].name);
		struct text t;

		for (char *c = path; *c; c++)
			if (*c == '.')
				*c = '/';
		if (src_read(path, &t) < 0)
			continue;
		while (t.len && t.data[t.len - 1] == '\n')
			t.len--;
		char *value = arena_text(a, t);

		for (char *c = value; *c; c++)
			if (*c == '\t')
				*c = ' ';
		const struct setting_row row = { settings[i].name, value, settings[i].scope };

		out_row(out, &setting_table, &row);
	}
}

static void show_host(struct out *out, double packets)
{
	struct arena *a = out_arena(out);
	const char *allowed = NULL;
	struct irqbalance b;

	src_affinity(0, &allowed);
	out_host(out, "perfbox irqbind  %s  %.1f s  CPUs %s online, %u node%s, isolated %s; ours "
		 "%s; packets %s",
		 src_uname()->host ? redact_name(a, NAME_HOST, src_uname()->host) : "-",
		 (double)irqbind.interval_ns / 1e9, cpumask_list_text(a, &irqbind.topo.online),
		 irqbind.topo.nodes, irqbind.topo.nodes == 1 ? "" : "s",
		 cpumask_is_empty(&irqbind.topo.isolated) ? "none"
		 : cpumask_list_text(a, &irqbind.topo.isolated), allowed ? allowed : "-",
		 human_rate(a, packets));
	irqbalance_find(a, true, &b);
	if (b.pid)
		out_host(out, "irqbalance runs (PID %u), told to leave: %s", b.pid,
			 b.bans ? b.bans : "nothing");
}

void show_rows(struct out *out)
{
	const struct look *l = look_now();

	for (size_t i = 0; i < l->nic_count; i++)
		show_nic(out, &l->nics[i]);
	show_queues(out);
	show_heat(out);
	const double packets = show_cpus(out);

	for (size_t i = 0; i < l->nic_count; i++)
		show_steering(out, &l->nics[i]);
	show_settings(out);
	show_host(out, packets);
}
