/* The USE table's network: devices, the packet path behind them, connection tracking. */
#include "applets/triage/use_look.h"

#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/kernel/netdev.h"
#include "common/kernel/source.h"

#define DEVICES_SHOWN 32
#define BITS_PER_BYTE 8

/* ---- reading ---- */

static void read_devices(struct out *out, struct use_look *now)
{
	struct use_net *n = &now->net;
	struct text t;

	n->device_count = 0;
	if (src_read("proc/net/dev", &t) < 0)
		out_missing(out, "%s", fail_text());
	else if (netcount_parse_devices(&now->arena, t, &n->devices, &n->device_count) < 0)
		out_missing(out, "/proc/%s", fail_text());
}

static uint64_t sum_families(uint64_t v4, uint64_t v6)
{
	return v4 == NA_U64 ? NA_U64 : use_sum(v4, use_known(v6));
}

static void read_snmp(struct out *out, struct use_net *n)
{
	struct text t, v6 = { "", 0 };

	if (src_read("proc/net/snmp", &t) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	/* not there without IPv6 */
	if (src_read("proc/net/snmp6", &v6) < 0)
		v6 = (struct text){ "", 0 };
	n->tcp.accepted = netcount_find(t, "Tcp", "PassiveOpens");
	n->tcp.in = netcount_find(t, "Tcp", "InSegs");
	n->tcp.out = netcount_find(t, "Tcp", "OutSegs");
	n->tcp.sent_again = netcount_find(t, "Tcp", "RetransSegs");
	n->udp.in =
		sum_families(netcount_find(t, "Udp", "InDatagrams"),
			     netcount_find(v6, NULL, "Udp6InDatagrams"));
	n->udp.errors =
		sum_families(netcount_find(t, "Udp", "InErrors"),
			     netcount_find(v6, NULL, "Udp6InErrors"));
	n->udp.full = use_sum(sum_families(netcount_find(t, "Udp", "RcvbufErrors"),
					   netcount_find(v6, NULL, "Udp6RcvbufErrors")),
			      sum_families(netcount_find(t, "Udp", "SndbufErrors"),
					   netcount_find(v6, NULL, "Udp6SndbufErrors")));
	if (n->tcp.in == NA_U64)
		out_missing(out, "/proc/net/snmp: no Tcp InSegs");
}

static void read_netstat(struct out *out, struct use_net *n)
{
	struct text t;

	if (src_read("proc/net/netstat", &t) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	n->tcp.overflows = netcount_find(t, "TcpExt", "ListenOverflows");
	n->tcp.listen_drops = netcount_find(t, "TcpExt", "ListenDrops");
	n->tcp.timeouts = netcount_find(t, "TcpExt", "TCPTimeouts");
	n->tcp.prunes = netcount_find(t, "TcpExt", "PruneCalled");
	n->tcp.pruned = netcount_find(t, "TcpExt", "RcvPruned");
	n->tcp.backlog_drops = netcount_find(t, "TcpExt", "TCPBacklogDrop");
	n->tcp.queue_drops = netcount_find(t, "TcpExt", "TCPRcvQDrop");
	n->tcp.time_wait_overflows = netcount_find(t, "TcpExt", "TCPTimeWaitOverflow");
	n->tcp.aborted = netcount_find(t, "TcpExt", "TCPAbortOnMemory");
	n->tcp.pressures = netcount_find(t, "TcpExt", "TCPMemoryPressures");
	if (n->tcp.overflows == NA_U64)
		out_missing(out, "/proc/net/netstat: no TcpExt ListenOverflows");
}

void use_read_net(struct out *out, struct use_look *now)
{
	struct use_net *n = &now->net;

	*n = (struct use_net){
		.tcp =
			{ NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64,
				NA_U64, NA_U64,
			 NA_U64, NA_U64, NA_U64 },
		.udp = { NA_U64, NA_U64, NA_U64 },
		.sockets =
			{ NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64,
				NA_U64 },
		.ports = { NA_U64, NA_U64, NA_U64, NA_U64 },
		.conntrack = { true, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 },
	};
	read_devices(out, now);
	read_snmp(out, n);
	read_netstat(out, n);
	n->has_softnet = softnet_read(&n->softnet) >= 0;
	if (!n->has_softnet)
		out_missing(out, "%s", fail_text());
	if (sockstat_read(&n->sockets) < 0)
		out_missing(out, "%s", fail_text());
	if (ports_read(&n->ports) < 0)
		out_missing(out, "%s", fail_text());
	if (conntrack_read(&n->conntrack) < 0)
		out_missing(out, "%s", fail_text());
}

/* ---- devices ---- */

static const char *link_text(struct out *out, uint64_t bits_per_second)
{
	double megabits = (double)bits_per_second / 1e6;

	if (bits_per_second == NA_U64)
		return "";
	return megabits < 1000 ? arena_printf(out_arena(out), " of %.0fMbit", megabits) :
		arena_printf(out_arena(out), " of %.*fGbit", bits_per_second % 1000000000 ? 1 : 0,
			     megabits / 1000);
}

static struct use_row device_row(struct out *out, const struct net_device *now,
				 const struct net_device *before,
				 uint64_t link)
{
	struct use_row row = use_row("network", now->name);
	double rx = use_rate(now->rx_bytes, before->rx_bytes),
		tx = use_rate(now->tx_bytes, before->tx_bytes);
	uint64_t drops = use_moved(use_sum(now->rx_dropped, now->tx_dropped),
				   use_sum(before->rx_dropped, before->tx_dropped));
	uint64_t overruns =
		use_moved(use_sum(now->rx_fifo, now->tx_fifo),
			  use_sum(before->rx_fifo, before->tx_fifo));

	if (link != NA_U64)
		row.utilization_ratio = (rx > tx ? rx : tx) * BITS_PER_BYTE / (double)link;
	if (!is_na_f64(rx) || !is_na_f64(tx))
		row.utilization =
			arena_printf(out_arena(out), "in %s out %s%s", use_flow_text(out, rx),
					       use_flow_text(out, tx), link_text(out, link));
	use_set_saturation(&row, rate_of(use_sum(drops, overruns), src_frame()->elapsed_ns),
			   "packets_per_second",
			   arena_printf(out_arena(out), "%s dropped, %s overruns",
					use_count_text(out, drops),
					use_count_text(out, overruns)));
	use_set_errors(out, &row, use_moved(use_sum(now->rx_errors, now->tx_errors),
					    use_sum(before->rx_errors, before->tx_errors)),
						"errors");
	return row;
}

/*
 * Something was lost there in the interval: a reason to show a device that otherwise repeats what
 * another carried.
 */
static bool has_losses(const struct use_row *row)
{
	return row->saturation_value > 0 || (row->errors_count != NA_U64 && row->errors_count > 0);
}

static void show_devices(struct out *out, const struct use_net *before, const struct use_net *now)
{
	const struct net_device unknown =
		{ NULL, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64,
		NA_U64, NA_U64 };
	struct use_row *rows = arena_alloc(out_arena(out), now->device_count * sizeof(*rows));
	bool *is_hardware = arena_alloc(src_arena(), now->device_count * sizeof(*is_hardware)),
		has_hardware = false;
	struct hash by_name = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < before->device_count; i++)
		*hash_name(&by_name, before->devices[i].name) = &before->devices[i];
	for (size_t i = 0; i < now->device_count; i++) {
		is_hardware[i] = netdev_is_hardware(now->devices[i].name);
		has_hardware |= is_hardware[i];
	}
	for (size_t i = 0; i < now->device_count; i++) {
		const struct net_device *d = &now->devices[i],
			*was = hash_find_name(&by_name, d->name);
		bool is_main = has_hardware ? is_hardware[i] : strcmp(d->name, "lo") != 0;

		rows[count] = device_row(out, d, was ? was : &unknown,
					 is_hardware[i] ? netdev_read_speed(d->name) : NA_U64);
		if (is_main || has_losses(&rows[count]))
			count++;
	}
	hash_free(&by_name);
	use_add_some(out, rows, count, DEVICES_SHOWN);
}

/* ---- behind them ---- */

static void show_softnet(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row row = use_row("softnet", "host");
	struct softnet_delta d = { NA_U64, NA_U64, NA_U64 };
	const uint64_t elapsed_ns = src_frame()->elapsed_ns;
	struct arena *arena = out_arena(out);

	if (now->has_softnet && before->has_softnet && elapsed_ns)
		softnet_subtract(&before->softnet, &now->softnet, &d);
	if (d.processed != NA_U64)
		row.utilization =
			arena_printf(arena, "%s packets",
				     human_rate(arena, rate_of(d.processed, elapsed_ns)));
	double squeezed = rate_of(d.squeezed, elapsed_ns);

	use_set_saturation(&row, squeezed, "polls_per_second",
			   arena_printf(arena, "%s squeezed", human_rate(arena, squeezed)));
	use_set_errors(out, &row, d.dropped, "dropped");
	use_add(out, &row);
}

static void show_conntrack(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row row = use_row("conntrack", "table");
	const struct conntrack *c = &now->conntrack, *was = &before->conntrack;
	struct arena *arena = out_arena(out);

	if (!c->is_in_use) {
		row.utilization = "not in use";
		use_add(out, &row);
		return;
	}
	uint64_t dropped = use_moved(c->drop, was->drop),
		failed = use_moved(c->insert_failed, was->insert_failed);
	double evicted = use_rate(c->early_drop, was->early_drop);

	use_set_used(out, &row, c->count, c->max, "");
	use_set_saturation(&row, evicted, "evictions_per_second",
			   arena_printf(arena, "%s evicted early", human_rate(arena, evicted)));
	row.errors_count = use_sum(dropped, failed);
	if (row.errors_count != NA_U64)
		row.errors =
			arena_printf(arena, "%s dropped, %s failed", use_count_text(out, dropped),
					  use_count_text(out, failed));
	use_add(out, &row);
}

void use_show_net(struct out *out, const struct use_look *before, const struct use_look *now)
{
	show_devices(out, &before->net, &now->net);
	show_softnet(out, &before->net, &now->net);
	show_conntrack(out, &before->net, &now->net);
}
