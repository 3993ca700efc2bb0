/*
 * What portrange prints: rows of destinations, ranges, listeners in the range, totals.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "applets/portrange/portrange.h"
#include "common/base/hash.h"
#include "common/kernel/source.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/sysctl.h"
#include "common/report/redact.h"

struct tuple_row {
	const char *netns, *source, *destination;
	uint64_t tuples;               /* of a --by dst row */
	uint64_t established, time_wait, closing, syn_sent, reusable, held, usable, free;
	double fill_ratio, connects_per_second, need_ports, left_ns;
	const struct tuple *tuple;
};

static const struct column tuple_columns[] = {
	COL_NAME(struct tuple_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER, "network namespace"),
	COL_NAME(struct tuple_row, source, "SOURCE", ROLE_KEY, NAME_ADDRESS,
		 "own address; * where --by dst sums over several"),
	COL_NAME(struct tuple_row, destination, "DESTINATION", ROLE_KEY, NAME_ADDRESS,
		 "address and port connected to"),
	COL(struct tuple_row, tuples, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "pairs of own address and destination that are summed (--by dst)"),
	COL(struct tuple_row, established, "ESTAB", ROLE_GAUGE, UNIT_COUNT,
	    "its ports with an established connection"),
	COL(struct tuple_row, time_wait, "TIMEWAIT", ROLE_GAUGE, UNIT_COUNT,
	    "its ports in TIME_WAIT: held 60 s after this side closed first"),
	COL(struct tuple_row, closing, "CLOSING", ROLE_GAUGE, UNIT_COUNT,
	    "its ports with a connection that is half closed (FIN_WAIT, CLOSE_WAIT, LAST_ACK ...)"),
	COL(struct tuple_row, syn_sent, "SYNSENT", ROLE_GAUGE, UNIT_COUNT,
	    "its ports with a connection that was not answered yet"),
	COL(struct tuple_row, reusable, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "of TIMEWAIT, those a connect() to it may take now (tcp_tw_reuse)"),
	COL(struct tuple_row, held, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "all of its ports without the reusable ones"),
	COL(struct tuple_row, usable, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "ports of the range that are not reserved"),
	COL(struct tuple_row, free, "FREE", ROLE_GAUGE, UNIT_COUNT,
	    "usable ports a connect() to it could still get; of --by dst the least"),
	COL(struct tuple_row, fill_ratio, "FILL%", ROLE_GAUGE, UNIT_RATIO,
	    "share of the usable ports it can't get any more; of --by dst the most"),
	COL(struct tuple_row, connects_per_second, "CONN/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "sockets that were not there at the look before, closed ones in TIME_WAIT included"),
	COL(struct tuple_row, need_ports, "NEEDS", ROLE_GAUGE, UNIT_COUNT,
	    "ports it takes at that rate: those in use and what closed connections hold"),
	COL(struct tuple_row, left_ns, "LEFT", ROLE_GAUGE, UNIT_NS,
	    "time until none is free, as its ports grew in the interval; -: not at this rate"),
};

struct range_row {
	const char *netns, *protocol, *range;
	uint64_t low, high, reserved, usable, used, even_used, odd_used, listening, bound,
		unconnected;
	double used_ratio;
	bool is_exact;
};

static const struct column range_columns[] = {
	COL_NAME(struct range_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER, "network namespace"),
	COL(struct range_row, protocol, "PROTO", ROLE_KEY, UNIT_TEXT, "tcp or udp"),
	COL(struct range_row, range, "RANGE", ROLE_TEXT, UNIT_TEXT,
	    "ip_local_port_range of the namespace"),
	COL(struct range_row, low, NULL, ROLE_GAUGE, UNIT_COUNT, "its first port"),
	COL(struct range_row, high, NULL, ROLE_GAUGE, UNIT_COUNT, "its last port"),
	COL(struct range_row, reserved, "RESERVED", ROLE_GAUGE, UNIT_COUNT,
	    "ports of it in ip_local_reserved_ports"),
	COL(struct range_row, usable, "USABLE", ROLE_GAUGE, UNIT_COUNT, "the others"),
	COL(struct range_row, used, "USED", ROLE_GAUGE, UNIT_COUNT,
	    "usable ports with any socket, whatever its destination"),
	COL(struct range_row, used_ratio, "USED%", ROLE_GAUGE, UNIT_RATIO,
	    "share of them; TCP's may be 100 with every destination far from it"),
	COL(struct range_row, even_used, "EVEN", ROLE_GAUGE, UNIT_COUNT,
	    "of USED, as even or odd as the first: those connect() tries first"),
	COL(struct range_row, odd_used, "ODD", ROLE_GAUGE, UNIT_COUNT,
	    "of USED, the others: bind() to port 0 tries them first"),
	COL(struct range_row, listening, "LISTEN", ROLE_GAUGE, UNIT_COUNT,
	    "usable ports somebody listens on: no connect() gets them"),
	COL(struct range_row, bound, "BOUND", ROLE_GAUGE, UNIT_COUNT,
	    "usable ports that are bound without a listener, and so held whatever the "
	    "destination; without --exact those not connected yet; -: not asked, too dear"),
	COL(struct range_row, unconnected, "UNCONN", ROLE_GAUGE, UNIT_COUNT,
	    "UDP: usable ports of sockets that are not connected"),
	COL(struct range_row, is_exact, NULL, ROLE_GAUGE, UNIT_YES,
	    "BOUND is all of them (--exact)"),
};

struct listener_row {
	const char *netns, *local, *owner;
	uint64_t inode;
};

static const struct column listener_columns[] = {
	COL_NAME(struct listener_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER,
		 "network namespace"),
	COL_NAME(struct listener_row, local, "LISTENS INSIDE", ROLE_KEY, NAME_ADDRESS,
		 "address and port it listens on"),
	COL_NAME(struct listener_row, owner, "OWNER", ROLE_TEXT, NAME_COMMAND,
		 "a process that has it"),
};

struct total_row {
	const char *netns;
	uint64_t established, syn_sent, syn_received, fin_wait1, fin_wait2, time_wait, close_wait,
		last_ack, closing, listening, bound, tcp, time_wait_sockets, udp;
	uint64_t time_wait_max, overflows, reuse, reuse_delay_ns, timestamps, fin_timeout_ns;
	double recycled_per_second;
};

#define STATE_COLUMN(field, title, name) \
	COL(struct total_row, field, title, ROLE_GAUGE, UNIT_COUNT, "TCP sockets in " name)

static const struct column total_columns[] = {
	COL_NAME(struct total_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER, "network namespace"),
	STATE_COLUMN(established, "ESTAB", "ESTABLISHED"),
	STATE_COLUMN(syn_sent, "SYNSENT", "SYN_SENT"),
	STATE_COLUMN(syn_received, "SYNRECV", "SYN_RECV"),
	STATE_COLUMN(fin_wait1, "FINW1", "FIN_WAIT1"),
	STATE_COLUMN(fin_wait2, "FINW2", "FIN_WAIT2"),
	STATE_COLUMN(time_wait, "TIMEWAIT", "TIME_WAIT"),
	STATE_COLUMN(close_wait, "CLOSEWAIT", "CLOSE_WAIT"),
	STATE_COLUMN(last_ack, "LASTACK", "LAST_ACK"),
	STATE_COLUMN(closing, "CLOSING", "CLOSING"),
	STATE_COLUMN(listening, "LISTEN", "LISTEN"),
	COL(struct total_row, bound, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "TCP sockets bound and not connected (Linux 6.8 and later tell)"),
	COL(struct total_row, tcp, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "TCP sockets in use, IPv4 and IPv6 (sockstat)"),
	COL(struct total_row, time_wait_sockets, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "TIME_WAIT as the limit counts it, FIN_WAIT2 nobody has open included (sockstat)"),
	COL(struct total_row, time_wait_max, "TWMAX", ROLE_GAUGE, UNIT_COUNT,
	    "tcp_max_tw_buckets of the namespace"),
	COL(struct total_row, overflows, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "connections closed without TIME_WAIT because of it (TCPTimeWaitOverflow)"),
	COL(struct total_row, recycled_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "ports in TIME_WAIT that a connect() took (TWRecycled)"),
	COL(struct total_row, reuse, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "tcp_tw_reuse of the namespace: 0 off, 1 on, 2 loopback only"),
	COL(struct total_row, reuse_delay_ns, NULL, ROLE_GAUGE, UNIT_NS,
	    "tcp_tw_reuse_delay of the namespace; 1 s where there is no such setting"),
	COL(struct total_row, timestamps, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "tcp_timestamps of the namespace; 0: nothing is reused"),
	COL(struct total_row, fin_timeout_ns, NULL, ROLE_GAUGE, UNIT_NS,
	    "tcp_fin_timeout of the namespace: FIN_WAIT2's, not TIME_WAIT's length"),
	COL(struct total_row, udp, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "UDP sockets in use, IPv4 and IPv6 (sockstat)"),
};

struct host_row {
	const char *host;
	uint64_t orphans, orphans_max, tcp_allocated, tcp_memory_pages, tcp_memory_low_pages,
		tcp_memory_pressure_pages, tcp_memory_max_pages, interval_ns;
};

static const struct column host_columns[] = {
	COL_NAME(struct host_row, host, NULL, ROLE_KEY, NAME_HOST, "host name"),
	COL(struct host_row, orphans, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "TCP sockets nobody has open that are not done yet, host-wide"),
	COL(struct host_row, orphans_max, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "tcp_max_orphans, host-wide"),
	COL(struct host_row, tcp_allocated, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "TCP sockets there are, host-wide"),
	COL(struct host_row, tcp_memory_pages, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "pages TCP's buffers take, host-wide"),
	COL(struct host_row, tcp_memory_low_pages, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "tcp_mem: below this nothing is held back"),
	COL(struct host_row, tcp_memory_pressure_pages, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "tcp_mem: from here buffers stop growing"),
	COL(struct host_row, tcp_memory_max_pages, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "tcp_mem: none is given beyond this"),
	COL(struct host_row, interval_ns, NULL, ROLE_GAUGE, UNIT_NS, "measured interval"),
};

static void complete_tuple(void *row);
static void complete_listener(void *row);

static const struct table tuple_table = { .name = "destinations",
					  .help = "connections from one own address to one address "
						  "and port, whose own port is usable",
					  TABLE(struct tuple_row, tuple_columns),
					  .sort = "-fill_ratio",
					  .top = true,
					  .complete = complete_tuple };
static const struct table range_table = { .name = "ranges",
					  .help = "the ports of a namespace and protocol",
					  TABLE(struct range_row, range_columns) };
static const struct table listener_table = { .name = "listeners",
					     .help = "a TCP listener inside the range, its port "
						     "not reserved",
					     TABLE(struct listener_row, listener_columns),
					     .sort = "local",
					     .top = true,
					     .complete = complete_listener };
static const struct table total_table = { .name = "totals",
					  .help = "TCP and UDP of a namespace",
					  TABLE(struct total_row, total_columns) };
static const struct table host_table = { .name = "host",
					 .help = "the host",
					 TABLE(struct host_row, host_columns) };
const struct table *const portrange_tables[] = { &tuple_table, &range_table, &listener_table,
						 &total_table, &host_table, NULL };

/* ---- destinations ---- */

static const char *address_text(struct arena *a, uint8_t family, const uint8_t *address)
{
	char text[INET6_ADDRSTRLEN];

	return inet_ntop(family, address, text, sizeof(text)) ? arena_strdup(a, text) : "-";
}

const char *tuple_source(struct arena *a, const struct tuple_key *key)
{
	return address_text(a, key->family, key->source);
}

const char *tuple_address(struct arena *a, const struct tuple_key *key)
{
	return address_text(a, key->family, key->destination);
}

const char *tuple_destination(struct arena *a, const struct tuple_key *key)
{
	const char *address = tuple_address(a, key);

	return arena_printf(a, key->family == AF_INET ? "%s:%u" : "[%s]:%u", address, key->port);
}

static void complete_tuple(void *data)
{
	struct tuple_row *row = data;

	if (!row->tuple)
		return;
	row->source = tuple_source(portrange.arena, &row->tuple->key);
	row->destination = tuple_destination(portrange.arena, &row->tuple->key);
}

/* Neither one that is gone has, nor one of a namespace that is. */
static bool tuple_has_row(const struct tuple *t)
{
	return portrange.spaces[t->key.space].ns && tuple_is_there(t);
}

static void fill_tuple(struct tuple_row *row, const struct tuple *t)
{
	struct outlook o;

	tuple_outlook(t, &o);
	*row = (struct tuple_row){
		.netns = portrange.spaces[t->key.space].ns->name,
		.tuples = 1,
		.established = t->established,
		.time_wait = t->time_wait,
		.closing = t->closing,
		.syn_sent = t->syn_sent,
		.reusable = t->reusable,
		.held = o.held,
		.usable = o.usable,
		.free = o.free,
		.fill_ratio = o.fill_ratio,
		.connects_per_second = o.connects_per_second,
		.need_ports = o.need_ports,
		.left_ns = o.left_ns,
		.tuple = t,
	};
}

static void add_to(struct tuple_row *sum, const struct tuple_row *row)
{
	sum->tuples += row->tuples;
	sum->established += row->established;
	sum->time_wait += row->time_wait;
	sum->closing += row->closing;
	sum->syn_sent += row->syn_sent;
	sum->reusable += row->reusable;
	sum->held += row->held;
	sum->connects_per_second += row->connects_per_second;
	sum->need_ports = NA_F64;      /* of several: each has the whole range */
	if (row->fill_ratio > sum->fill_ratio) {
		sum->fill_ratio = row->fill_ratio;
		sum->free = row->free;
	}
	if (isnan(sum->left_ns) || row->left_ns < sum->left_ns)
		sum->left_ns = row->left_ns;
}

/* A row per address that is connected to, whatever the port and the own address. */
static void show_by_destination(struct out *out)
{
	struct hash by_name = { 0 };
	struct tuple_row *rows =
		arena_alloc(portrange.arena, (portrange.tuple_count + 1) * sizeof(*rows));
	size_t count = 0;

	for (size_t i = 0; i < portrange.tuple_count; i++) {
		const struct tuple *t = &portrange.tuples[i];
		struct tuple_row row;

		if (!tuple_has_row(t))
			continue;
		fill_tuple(&row, t);
		row.tuple = NULL;
		row.source = "*";
		row.destination = tuple_address(portrange.arena, &t->key);
		void **place = hash_name(&by_name, arena_printf(portrange.arena, "%u %s",
								t->key.space, row.destination));

		if (*place) {
			add_to(*place, &row);
			continue;
		}
		*place = &rows[count];
		rows[count++] = row;
	}
	for (size_t i = 0; i < count; i++)
		out_row(out, &tuple_table, &rows[i]);
	hash_free(&by_name);
}

static void show_tuples(struct out *out)
{
	for (size_t i = 0; i < portrange.tuple_count; i++) {
		const struct tuple *t = &portrange.tuples[i];
		struct tuple_row row;

		if (!tuple_has_row(t))
			continue;
		fill_tuple(&row, t);
		out_row(out, &tuple_table, &row);
	}
}

/* ---- the others ---- */

static void show_ranges(struct out *out, const struct space *s)
{
	struct range_row row = {
		.netns = s->ns->name,
		.protocol = "tcp",
		.range = arena_printf(portrange.arena, "%llu-%llu",
				      (unsigned long long)s->ports.low,
				      (unsigned long long)s->ports.high),
		.low = s->ports.low,
		.high = s->ports.high,
		.reserved = s->ports.reserved,
		.usable = s->ports.count,
		.used = s->tcp_ports,
		.even_used = s->even_ports,
		.odd_used = s->tcp_ports - s->even_ports,
		.listening = s->listening_ports,
		.bound = s->has_bound || s->is_exact ? s->bound_ports : NA_U64,
		.unconnected = NA_U64,
		.used_ratio = ratio_of(s->tcp_ports, s->ports.count),
		.is_exact = s->is_exact,
	};

	if (s->has_tcp)
		out_row(out, &range_table, &row);
	row.protocol = "udp";
	row.used = s->udp_ports;
	row.even_used = s->udp_even_ports;
	row.odd_used = s->udp_ports - s->udp_even_ports;
	row.listening = row.bound = NA_U64;
	row.unconnected = s->unconnected_ports;
	row.used_ratio = ratio_of(s->udp_ports, s->ports.count);
	row.is_exact = false;
	if (s->has_udp)
		out_row(out, &range_table, &row);
}

static void complete_listener(void *data)
{
	struct listener_row *row = data;
	size_t count = 0;

	if (!row->inode || sockowner_load() < 0)
		return;
	const struct sock_owner *owners = sockowner_find(row->inode, &count);

	if (!count)
		return;
	const char *comm = sockowner_comm(owners[0].pid);

	row->owner = arena_printf(portrange.arena, "%s/%u", comm ? comm : "-", owners[0].pid);
}

void portrange_show_listener(struct out *out, const struct space *space, const struct sock *s)
{
	struct listener_row row = {
		.netns = space->ns->name,
		.local = sock_local_text(out_arena(out), s),
		.inode = s->inode,
	};

	out_row(out, &listener_table, &row);
}

static uint64_t of_state(const struct space *s, enum sock_state state)
{
	return s->has_tcp ? s->states[state] : NA_U64;
}

static void show_totals(struct out *out, const struct space *s)
{
	struct total_row row = {
		.netns = s->ns->name,
		.established = of_state(s, SOCK_ESTABLISHED),
		.syn_sent = of_state(s, SOCK_SYN_SENT),
		.syn_received = of_state(s, SOCK_SYN_RECV),
		.fin_wait1 = of_state(s, SOCK_FIN_WAIT1),
		.fin_wait2 = of_state(s, SOCK_FIN_WAIT2),
		.time_wait = of_state(s, SOCK_TIME_WAIT),
		.close_wait = of_state(s, SOCK_CLOSE_WAIT),
		.last_ack = of_state(s, SOCK_LAST_ACK),
		.closing = of_state(s, SOCK_CLOSING),
		.listening = of_state(s, SOCK_LISTEN),
		.bound = s->has_bound ? s->states[SOCK_BOUND_INACTIVE] : NA_U64,
		.tcp = sum_u64(s->sockets.tcp, s->sockets.tcp6),
		.time_wait_sockets = s->sockets.tcp_time_wait,
		.udp = sum_u64(s->sockets.udp, s->sockets.udp6),
		.time_wait_max = s->time_wait_max,
		.overflows = delta_u64(s->overflows, s->overflows_before),
		.reuse = s->reuse,
		.reuse_delay_ns = s->reuse_delay_ns,
		.timestamps = s->timestamps,
		.fin_timeout_ns = s->fin_timeout_ns,
		.recycled_per_second = rate_of(delta_u64(s->recycled, s->recycled_before),
					       portrange.interval_ns),
	};

	out_row(out, &total_table, &row);
}

void portrange_show_rows(struct out *out)
{
	if (portrange.by && !strcmp(portrange.by, "dst"))
		show_by_destination(out);
	else
		show_tuples(out);
	for (size_t i = 0; i < portrange.space_count; i++) {
		const struct space *s = &portrange.spaces[i];

		if (!s->ns)
			continue;
		show_ranges(out, s);
		show_totals(out, s);
	}
}

void portrange_show_host(struct out *out)
{
	struct arena *a = out_arena(out);
	struct sockstat sockets;
	uint64_t established = 0, time_wait = 0;

	memset(&sockets, 0xff, sizeof(sockets));
	sockstat_read(&sockets);
	struct host_row row = {
		.host = src_uname()->host,
		.orphans = sockets.tcp_orphans_host,
		.orphans_max = sysctl_number("net/ipv4/tcp_max_orphans", 0),
		.tcp_allocated = sockets.tcp_allocated_host,
		.tcp_memory_pages = sockets.tcp_memory_pages_host,
		.tcp_memory_low_pages = sysctl_number("net/ipv4/tcp_mem", 0),
		.tcp_memory_pressure_pages = sysctl_number("net/ipv4/tcp_mem", 1),
		.tcp_memory_max_pages = sysctl_number("net/ipv4/tcp_mem", 2),
		.interval_ns = portrange.interval_ns,
	};

	for (size_t i = 0; i < portrange.space_count; i++) {
		const struct space *s = &portrange.spaces[i];

		if (s->ns) {
			established = sum_u64(established, of_state(s, SOCK_ESTABLISHED));
			time_wait = sum_u64(time_wait, s->sockets.tcp_time_wait);
		}
	}
	out_row(out, &host_table, &row);
	out_host(out, "perfbox portrange  %s  %.1f s  TCP %s established, %s TIME_WAIT",
		 row.host ? redact_name(a, NAME_HOST, row.host) : "-",
		 (double)portrange.interval_ns / 1e9, human_count_u64(a, established),
		 human_count_u64(a, time_wait));
	out_host(out, "host-wide  orphans %s of %s; TCP buffers %s pages of %s/%s/%s (tcp_mem)",
		 human_count_u64(a, row.orphans), human_count_u64(a, row.orphans_max),
		 human_count_u64(a, row.tcp_memory_pages),
		 human_count_u64(a, row.tcp_memory_low_pages),
		 human_count_u64(a, row.tcp_memory_pressure_pages),
		 human_count_u64(a, row.tcp_memory_max_pages));
}
