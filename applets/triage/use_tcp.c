/* The USE table's transport: TCP's queues, tables and memory, UDP's buffers, local ports. */
#include "applets/triage/use_look.h"

#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

/* The host's settings: a network namespace of its own does not show them all, which is no error. */
static uint64_t setting(struct out *out, const char *name, unsigned index)
{
	if (!src_exists(arena_printf(src_arena(), "proc/sys/%s", name)))
		return NA_U64;
	uint64_t n = sysctl_number(name, index);

	if (n == NA_U64)
		out_missing(out, "%s", fail_text());
	return n;
}

static void set_flow(struct out *out, struct use_row *row, double per_second, const char *what)
{
	if (!is_na_f64(per_second))
		row->utilization = use_text(out, "%s %s", use_rate_text(out, per_second), what);
}

static void set_waiting(struct out *out, struct use_row *row, double per_second, const char *unit,
			const char *what)
{
	use_set_saturation(row, per_second, unit,
			   use_text(out, "%s %s", use_rate_text(out, per_second), what));
}

static void show_accept(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row row = use_row("tcp", "accept");

	set_flow(out, &row, use_rate(now->tcp.accepted, before->tcp.accepted), "accepted");
	set_waiting(out, &row, use_rate(now->tcp.overflows, before->tcp.overflows),
		    "overflows_per_second", "overflows");
	use_set_errors(out, &row, use_moved(now->tcp.listen_drops, before->tcp.listen_drops),
		       "dropped");
	use_add(out, &row);
}

/* Segments thrown away because a receiver's queue was full; older kernels have no TCPRcvQDrop. */
static uint64_t receive_drops(const struct use_net *n)
{
	return use_sum(use_sum(n->tcp.pruned, n->tcp.backlog_drops), use_known(n->tcp.queue_drops));
}

static void show_receive(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row row = use_row("tcp", "receive");

	set_flow(out, &row, use_rate(now->tcp.in, before->tcp.in), "segments in");
	set_waiting(out, &row, use_rate(now->tcp.prunes, before->tcp.prunes), "prunes_per_second",
		    "pruned");
	use_set_errors(out, &row, use_moved(receive_drops(now), receive_drops(before)), "dropped");
	use_add(out, &row);
}

static void show_send(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row row = use_row("tcp", "send");
	uint64_t sent = use_moved(now->tcp.out, before->tcp.out);
	uint64_t again = use_moved(now->tcp.sent_again, before->tcp.sent_again);
	double ratio = ratio_of(again, sent);

	set_flow(out, &row, use_rate(now->tcp.out, before->tcp.out), "segments out");
	use_set_saturation(&row, ratio, "retransmitted_ratio",
			   use_text(out, "%s sent again", use_ratio_text(out, ratio)));
	/* nothing new was sent: there is no ratio, but what was sent again is known all the same */
	if (sent == 0 && again != NA_U64)
		row.saturation = use_text(out, "%s sent again", use_count_text(out, again));
	use_set_errors(out, &row, use_moved(now->tcp.timeouts, before->tcp.timeouts), "timeouts");
	use_add(out, &row);
}

static void show_tables(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row waiting = use_row("tcp", "TIME-WAIT"), orphans = use_row("tcp", "orphans");

	use_set_used(out, &waiting, now->sockets.tcp_time_wait,
		     setting(out, "net/ipv4/tcp_max_tw_buckets", 0));
	use_set_errors(out, &waiting,
		       use_moved(now->tcp.time_wait_overflows, before->tcp.time_wait_overflows),
		       "overflows");
	use_add(out, &waiting);
	use_set_used(out, &orphans, now->sockets.tcp_orphans_host,
		     setting(out, "net/ipv4/tcp_max_orphans", 0));
	use_set_errors(out, &orphans, use_moved(now->tcp.aborted, before->tcp.aborted), "aborted");
	use_add(out, &orphans);
}

static uint64_t bytes_of(uint64_t pages)
{
	uint64_t bytes;

	return pages == NA_U64 || __builtin_mul_overflow(pages, src_page_size(), &bytes) ? NA_U64 :
		bytes;
}

static void show_memory(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row tcp = use_row("tcp", "memory"), udp = use_row("udp", "memory");

	use_set_used_bytes(out, &tcp, bytes_of(now->sockets.tcp_memory_pages_host),
			   bytes_of(setting(out, "net/ipv4/tcp_mem", 2)));
	set_waiting(out, &tcp, use_rate(now->tcp.pressures, before->tcp.pressures),
		    "pressures_per_second", "under pressure");
	use_add(out, &tcp);
	use_set_used_bytes(out, &udp, bytes_of(now->sockets.udp_memory_pages_host),
			   bytes_of(setting(out, "net/ipv4/udp_mem", 2)));
	use_add(out, &udp);
}

static void show_udp(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row row = use_row("udp", "buffers");

	set_flow(out, &row, use_rate(now->udp.in, before->udp.in), "datagrams in");
	set_waiting(out, &row, use_rate(now->udp.full, before->udp.full), "datagrams_per_second",
		    "too many");
	use_set_errors(out, &row, use_moved(now->udp.errors, before->udp.errors), "errors");
	use_add(out, &row);
}

/*
 * No counter says how many ports of the range are taken. Every TCP socket of the namespace is an
 * upper bound: listeners and accepted connections are among them, and one port serves many
 * destinations.
 */
static void show_ports(struct out *out, const struct use_net *now)
{
	struct use_row row = use_row("ports", "ephemeral");
	uint64_t most = use_sum(use_sum(now->sockets.tcp, now->sockets.tcp6),
				now->sockets.tcp_time_wait);

	use_set_used(out, &row, most, now->ports.count);
	row.is_estimated = true;
	if (row.utilization)
		row.utilization = use_text(out, "at most %s", row.utilization);
	use_add(out, &row);
}

void use_show_tcp(struct out *out, const struct use_look *before, const struct use_look *now)
{
	show_accept(out, &before->net, &now->net);
	show_receive(out, &before->net, &now->net);
	show_send(out, &before->net, &now->net);
	show_tables(out, &before->net, &now->net);
	show_memory(out, &before->net, &now->net);
	show_udp(out, &before->net, &now->net);
	show_ports(out, &now->net);
}
