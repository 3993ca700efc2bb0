/* The USE table's transport: TCP's queues, tables and memory, UDP's buffers, local ports. */
#include "applets/triage/use_look.h"

#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

static void set_flow(struct out *out, struct use_row *row, double per_second, const char *what)
{
	if (!is_na_f64(per_second))
		row->utilization =
			arena_printf(out_arena(out), "%s %s",
				     human_rate(out_arena(out), per_second), what);
}

static void set_waiting(struct out *out, struct use_row *row, double per_second, const char *unit,
			const char *what)
{
	use_set_saturation(row, per_second, unit,
			   arena_printf(out_arena(out), "%s %s",
					human_rate(out_arena(out), per_second), what));
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

static void show_receive(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row row = use_row("tcp", "receive");
	/* TCPRcvQDrop came with Linux 5.10 */
	uint64_t lost =
		use_sum(use_sum(now->tcp.pruned, now->tcp.backlog_drops),
			use_known(now->tcp.queue_drops));
	uint64_t was = use_sum(use_sum(before->tcp.pruned, before->tcp.backlog_drops),
			       use_known(before->tcp.queue_drops));

	set_flow(out, &row, use_rate(now->tcp.in, before->tcp.in), "segments in");
	set_waiting(out, &row, use_rate(now->tcp.prunes, before->tcp.prunes), "prunes_per_second",
		    "pruned");
	use_set_errors(out, &row, use_moved(lost, was), "dropped");
	use_add(out, &row);
}

static void show_send(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row row = use_row("tcp", "sending");
	uint64_t sent = use_moved(now->tcp.out, before->tcp.out);
	uint64_t again = use_moved(now->tcp.sent_again, before->tcp.sent_again);
	double ratio = ratio_of(again, sent);
	const char *text = sent == 0 ?
		arena_printf(out_arena(out), "%s sent again", use_count_text(out, again)) :
		arena_printf(out_arena(out), "%s sent again", human_ratio(out_arena(out), ratio));

	set_flow(out, &row, use_rate(now->tcp.out, before->tcp.out), "segments out");
	/* nothing sent: no ratio, but what was sent again is known all the same */
	if (sent == 0 && again != NA_U64)
		row.saturation = text;
	use_set_saturation(&row, ratio, "retransmitted_ratio", text);
	use_set_errors(out, &row, use_moved(now->tcp.timeouts, before->tcp.timeouts), "timeouts");
	use_add(out, &row);
}

static void show_tables(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row waiting = use_row("tcp", "TIME-WAIT"), orphans = use_row("tcp", "orphans");

	use_set_used(out, &waiting, now->sockets.tcp_time_wait,
		     sysctl_number("net/ipv4/tcp_max_tw_buckets", 0), "");
	use_set_errors(out, &waiting,
		       use_moved(now->tcp.time_wait_overflows, before->tcp.time_wait_overflows),
		       "overflows");
	use_add(out, &waiting);
	use_set_used(out, &orphans, now->sockets.tcp_orphans_host,
		     sysctl_number("net/ipv4/tcp_max_orphans", 0), "");
	use_set_errors(out, &orphans, use_moved(now->tcp.aborted, before->tcp.aborted), "aborted");
	use_add(out, &orphans);
}

static void set_memory(struct out *out, struct use_row *row, uint64_t pages, uint64_t limit_pages)
{
	const double page_size = (double)src_page_size();
	struct arena *arena = out_arena(out);

	row->utilization_ratio = ratio_of(pages, limit_pages);
	if (pages == NA_U64)
		return;
	row->utilization = human_bytes(arena, (double)pages * page_size);
	if (limit_pages != NA_U64)
		row->utilization = arena_printf(arena, "%s of %s", row->utilization,
						human_bytes(arena,
							    (double)limit_pages * page_size));
}

static void show_memory(struct out *out, const struct use_net *before, const struct use_net *now)
{
	struct use_row tcp = use_row("tcp", "memory"), udp = use_row("udp", "memory");

	set_memory(out, &tcp, now->sockets.tcp_memory_pages_host,
		   sysctl_number("net/ipv4/tcp_mem", 2));
	set_waiting(out, &tcp, use_rate(now->tcp.pressures, before->tcp.pressures),
		    "pressures_per_second",
		    "under pressure");
	use_add(out, &tcp);
	set_memory(out, &udp, now->sockets.udp_memory_pages_host,
		   sysctl_number("net/ipv4/udp_mem", 2));
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
 * At most so many of the ports that are handed out are taken: listeners and accepted connections
 * count here
 * too, though they hold none of them, and one port serves many destinations. No counter says what
 * is wanted.
 */
static void show_ports(struct out *out, const struct use_net *now)
{
	struct use_row row = use_row("ports", "ephemeral");
	uint64_t most =
		use_sum(use_sum(now->sockets.tcp, now->sockets.tcp6), now->sockets.tcp_time_wait);

	row.utilization_ratio = ratio_of(most, now->ports.count);
	row.is_estimated = true;
	if (most != NA_U64)
		row.utilization =
			arena_printf(out_arena(out), "at most %s of %s", use_count_text(out, most),
					       use_count_text(out, now->ports.count));
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
