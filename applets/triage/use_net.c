/* The USE table's network devices, the packet path behind them, and connection tracking. */
#include "applets/triage/use_look.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/kernel/netdev.h"
#include "common/kernel/source.h"

#define DEVICES_SHOWN 32
#define BITS_PER_BYTE 8
#define BITS_PER_MEGABIT 1e6

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
	else
		use_check_whole(out, "proc/net/dev");
}

/* IPv4's counter and IPv6's; v6 NULL: there is no IPv6. */
static uint64_t both_families(struct text v4, const struct text *v6, const char *name)
{
	uint64_t n = netcount_find(v4, "Udp", name);

	if (!v6)
		return n;
	return use_sum(n, netcount_find(*v6, NULL, arena_printf(src_arena(), "Udp6%s", name)));
}

static void read_udp(struct out *out, struct use_net *n, struct text v4)
{
	struct text text6;
	const struct text *v6 = src_read("proc/net/snmp6", &text6) < 0 ? NULL : &text6;

	n->udp.in = both_families(v4, v6, "InDatagrams");
	n->udp.errors = both_families(v4, v6, "InErrors");
	n->udp.full = use_sum(both_families(v4, v6, "RcvbufErrors"),
			      both_families(v4, v6, "SndbufErrors"));
	if (v6 && netcount_find(*v6, NULL, "Udp6InDatagrams") == NA_U64)
		out_missing(out, "/proc/net/snmp6: no Udp6InDatagrams");
}

static void read_snmp(struct out *out, struct use_net *n)
{
	struct text t;

	if (src_read("proc/net/snmp", &t) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	use_check_whole(out, "proc/net/snmp");
	n->tcp.accepted = netcount_find(t, "Tcp", "PassiveOpens");
	n->tcp.in = netcount_find(t, "Tcp", "InSegs");
	n->tcp.out = netcount_find(t, "Tcp", "OutSegs");
	n->tcp.sent_again = netcount_find(t, "Tcp", "RetransSegs");
	read_udp(out, n, t);
	if (n->tcp.in == NA_U64)
		out_missing(out, "/proc/net/snmp: no Tcp InSegs");
}

static void read_netstat(struct out *out, struct use_net *n)
{
	const struct {
		const char *name;
		uint64_t *value;
	} counters[] = {
		{ "ListenOverflows", &n->tcp.overflows }, { "ListenDrops", &n->tcp.listen_drops },
		{ "TCPTimeouts", &n->tcp.timeouts }, { "PruneCalled", &n->tcp.prunes },
		{ "RcvPruned", &n->tcp.pruned }, { "TCPBacklogDrop", &n->tcp.backlog_drops },
		{ "TCPRcvQDrop", &n->tcp.queue_drops }, { "TCPAbortOnMemory", &n->tcp.aborted },
		{ "TCPTimeWaitOverflow", &n->tcp.time_wait_overflows },
		{ "TCPMemoryPressures", &n->tcp.pressures },
	};
	struct text t;

	if (src_read("proc/net/netstat", &t) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	use_check_whole(out, "proc/net/netstat");
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		*counters[i].value = netcount_find(t, "TcpExt", counters[i].name);
	if (n->tcp.overflows == NA_U64)
		out_missing(out, "/proc/net/netstat: no TcpExt ListenOverflows");
}

void use_read_net(struct out *out, struct use_look *now)
{
	struct use_net *n = &now->net;

	use_forget(&n->tcp, sizeof(n->tcp));
	use_forget(&n->udp, sizeof(n->udp));
	use_forget(&n->sockets, sizeof(n->sockets));
	use_forget(&n->ports, sizeof(n->ports));
	conntrack_forget(&n->conntrack);
	read_devices(out, now);
	read_snmp(out, n);
	read_netstat(out, n);
	n->has_softnet = softnet_read(&n->softnet) >= 0;
	if (!n->has_softnet)
		out_missing(out, "%s", fail_text());
	if (sockstat_read(&n->sockets) < 0)
		out_missing(out, "%s", fail_text());
	else
		use_check_whole(out, "proc/net/sockstat");
	if (ports_read(&n->ports) < 0)
		out_missing(out, "%s", fail_text());
	if (conntrack_read(&n->conntrack) < 0)
		out_missing(out, "%s", fail_text());
}

/* ---- devices ---- */

static const char *link_text(struct out *out, uint64_t bits_per_second)
{
	double megabits = (double)bits_per_second / BITS_PER_MEGABIT;

	if (bits_per_second == NA_U64)
		return "";
	if (megabits < 1000)
		return use_text(out, " of %.0fMbit", megabits);
	return use_text(out, " of %.*fGbit", bits_per_second % 1000000000 ? 1 : 0, megabits / 1000);
}

static uint64_t moved_both(uint64_t now, uint64_t now2, uint64_t before, uint64_t before2)
{
	return use_moved(use_sum(now, now2), use_sum(before, before2));
}

static struct use_row device_row(struct out *out, const struct net_device *now,
				 const struct net_device *was, uint64_t link)
{
	struct use_row row = use_row("network", now->name);
	double rx = use_rate(now->rx_bytes, was->rx_bytes);
	double tx = use_rate(now->tx_bytes, was->tx_bytes);
	uint64_t drops = moved_both(now->rx_dropped, now->tx_dropped, was->rx_dropped,
				    was->tx_dropped);
	uint64_t overruns = moved_both(now->rx_fifo, now->tx_fifo, was->rx_fifo, was->tx_fifo);
	uint64_t errors = moved_both(now->rx_errors, now->tx_errors, was->rx_errors,
				     was->tx_errors);
	double lost = rate_of(use_sum(drops, overruns), src_frame()->elapsed_ns);

	if (link != NA_U64)
		row.utilization_ratio = (rx > tx ? rx : tx) * BITS_PER_BYTE / (double)link;
	if (!is_na_f64(rx) || !is_na_f64(tx))
		row.utilization = use_text(out, "in %s out %s%s", use_flow_text(out, rx),
					   use_flow_text(out, tx), link_text(out, link));
	use_set_saturation(&row, lost, "packets_per_second",
			   use_text(out, "%s dropped, %s overruns", use_count_text(out, drops),
				    use_count_text(out, overruns)));
	use_set_errors(out, &row, errors, "errors");
	return row;
}

/* A reason to show a device that otherwise repeats what another one carried. */
static bool has_losses(const struct use_row *row)
{
	return row->saturation_value > 0 || (row->errors_count > 0 && row->errors_count != NA_U64);
}

/* Those with hardware behind them, all but lo where there is none (containers), and the lossy. */
static void show_devices(struct out *out, const struct use_net *before, const struct use_net *now)
{
	const size_t most = now->device_count;
	struct use_row *rows = arena_alloc(out_arena(out), most * sizeof(*rows));
	bool *is_hardware = arena_alloc(src_arena(), most * sizeof(*is_hardware));
	bool has_hardware = false;
	struct net_device unknown;
	struct hash by_name = { 0 };
	size_t count = 0;

	use_forget(&unknown, sizeof(unknown));
	for (size_t i = 0; i < before->device_count; i++)
		*hash_name(&by_name, before->devices[i].name) = &before->devices[i];
	for (size_t i = 0; i < most; i++) {
		is_hardware[i] = netdev_is_hardware(now->devices[i].name);
		has_hardware |= is_hardware[i];
	}
	for (size_t i = 0; i < most; i++) {
		const struct net_device *d = &now->devices[i];
		const struct net_device *was = hash_find_name(&by_name, d->name);
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

	if (now->has_softnet && before->has_softnet && elapsed_ns)
		softnet_subtract(&before->softnet, &now->softnet, &d);
	double packets = rate_of(d.processed, elapsed_ns);
	double squeezed = rate_of(d.squeezed, elapsed_ns);

	if (!is_na_f64(packets))
		row.utilization = use_text(out, "%s packets", use_rate_text(out, packets));
	use_set_saturation(&row, squeezed, "polls_per_second",
			   use_text(out, "%s squeezed", use_rate_text(out, squeezed)));
	use_set_errors(out, &row, d.dropped, "dropped");
	use_add(out, &row);
}

static void show_conntrack(struct out *out, const struct conntrack *before,
			   const struct conntrack *now)
{
	struct use_row row = use_row("conntrack", "table");
	uint64_t dropped = use_moved(now->drop, before->drop);
	uint64_t failed = use_moved(now->insert_failed, before->insert_failed);
	double evicted = use_rate(now->early_drop, before->early_drop);

	use_set_used(out, &row, now->count, now->max);
	if (!now->is_in_use)
		row.utilization = "not in use";
	use_set_saturation(&row, evicted, "evictions_per_second",
			   use_text(out, "%s evicted early", use_rate_text(out, evicted)));
	row.errors_count = use_sum(dropped, failed);
	if (row.errors_count != NA_U64)
		row.errors = use_text(out, "%s dropped, %s failed", use_count_text(out, dropped),
				      use_count_text(out, failed));
	use_add(out, &row);
}

void use_show_net(struct out *out, const struct use_look *before, const struct use_look *now)
{
	show_devices(out, &before->net, &now->net);
	show_softnet(out, &before->net, &now->net);
	show_conntrack(out, &before->net.conntrack, &now->net.conntrack);
}
