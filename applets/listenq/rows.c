/* What listenq prints: a row for each listener, one for each group and each namespace. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "applets/listenq/listenq.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

struct queue_row {
	const char *netns, *protocol, *local, *member, *by, *owner, *cause;
	uint64_t queue, max, limit, dropped, drops, syn_queue, syn_limit, somaxconn, members;
	uint64_t gave_up, polls, cookie, inode, interface;
	double drops_per_second, accepts_per_second;
	bool is_max_estimated;
};

static const struct column queue_columns[] = {
	COL_NAME(struct queue_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER,
		 "network namespace: its name, else its container or pod, else its inode"),
	COL(struct queue_row, protocol, NULL, ROLE_KEY, UNIT_TEXT, "tcp, mptcp or unix"),
	COL_NAME(struct queue_row, local, "LOCAL", ROLE_KEY, NAME_ADDRESS,
		 "address and port it listens on"),
	COL_NAME_IF_ANY(struct queue_row, member, "MEMBER", ROLE_KEY, NAME_PLAIN,
			"which of the sockets that share it by SO_REUSEPORT; all: their sum"),
	COL(struct queue_row, queue, "Q", ROLE_GAUGE, UNIT_COUNT,
	    "connections that wait to be accepted, now"),
	COL_EST(struct queue_row, max, is_max_estimated, "MAX", ROLE_GAUGE, UNIT_COUNT,
		"the most in any poll of the interval (~: seen now alone); of a group, of one "
		"member"),
	COL(struct queue_row, limit, "LIMIT", ROLE_GAUGE, UNIT_COUNT,
	    "what listen(2) left of its backlog: min(backlog, somaxconn of then); limit + 1 fit"),
	COL(struct queue_row, drops_per_second, "DROPS/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets dropped by this very socket: SYNs and their retries, not clients, whatever "
	    "the reason"),
	COL(struct queue_row, dropped, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "the same, in the interval"),
	COL(struct queue_row, drops, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "the same, since it was opened"),
	COL(struct queue_row, syn_queue, "SYN-Q", ROLE_GAUGE, UNIT_COUNT,
	    "half-open connections to its address and port; of a group, of all members"),
	COL(struct queue_row, syn_limit, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "how many fit of peers not seen before, by limit, tcp_syncookies and "
	    "tcp_max_syn_backlog; kernels differ by one"),
	COL(struct queue_row, somaxconn, "SOMAXCONN", ROLE_GAUGE, UNIT_COUNT,
	    "net.core.somaxconn of its namespace, now"),
	COL(struct queue_row, by, "BY", ROLE_TEXT, UNIT_TEXT,
	    "what set the limit: < the application, or an older cap; = either; > it predates the "
	    "present somaxconn"),
	COL(struct queue_row, accepts_per_second, "ACCEPTS/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "connections accepted; without --exact known only where it is the only TCP listener"),
	COL(struct queue_row, gave_up, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "clients that closed before they were accepted, and had sent something"),
	COL_NAME(struct queue_row, owner, "OWNER", ROLE_TEXT, NAME_PLAIN,
		 "first process that has it open, and how many more"),
	COL_NAME_IF_ANY(struct queue_row, cause, "CAUSE", ROLE_TEXT, NAME_PLAIN,
			"unknown: it dropped, and nothing says why"),
	COL(struct queue_row, interface, NULL, ROLE_KEY, UNIT_ID,
	    "index of the interface it is bound to"),
	COL(struct queue_row, members, NULL, ROLE_GAUGE, UNIT_COUNT, "sockets of its group"),
	COL(struct queue_row, polls, NULL, ROLE_GAUGE, UNIT_COUNT, "polls it was seen in"),
	COL(struct queue_row, cookie, NULL, ROLE_TEXT, UNIT_ID, "socket cookie"),
	COL(struct queue_row, inode, NULL, ROLE_TEXT, UNIT_ID, "inode, as in /proc/PID/fd"),
};

struct space_row {
	const char *netns;
	double overflows_per_second, other_drops_per_second, syn_full_per_second,
		syn_full_cookies_per_second, cookies_per_second, cookies_received_per_second,
		cookies_failed_per_second, backlog_drops_per_second, opens_per_second;
	uint64_t listen_overflows, listen_drops, syncookies, abort_on_overflow, max_syn_backlog,
		syn_limit, somaxconn, listeners;
};

static const struct column space_columns[] = {
	COL_NAME(struct space_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER, "network namespace"),
	COL(struct space_row, overflows_per_second, "OVERFLOWS/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "ListenOverflows: an accept queue was full"),
	COL(struct space_row, other_drops_per_second, "OTHER/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "ListenDrops that are no overflows: full SYN queues, and what has no counter"),
	COL(struct space_row, syn_full_per_second, "SYNFULL/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "TCPReqQFullDrop: a SYN queue was full, and the SYN was dropped"),
	COL(struct space_row, syn_full_cookies_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "TCPReqQFullDoCookies: it was full and a cookie was sent; with tcp_syncookies=2 it "
	    "moves with empty queues"),
	COL(struct space_row, cookies_per_second, "COOKIES/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "SyncookiesSent"),
	COL(struct space_row, cookies_received_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "SyncookiesRecv: clients that came back with a good one"),
	COL(struct space_row, cookies_failed_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "SyncookiesFailed"),
	COL(struct space_row, backlog_drops_per_second, NULL, ROLE_GAUGE, UNIT_PER_SECOND,
	    "TCPBacklogDrop: segments for a connection whose socket was in use and whose backlog "
	    "was full; not the accept queue"),
	COL(struct space_row, opens_per_second, "OPENS/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "PassiveOpens: connections that got as far as an accept queue"),
	COL(struct space_row, syncookies, "COOKIES", ROLE_GAUGE, UNIT_COUNT,
	    "tcp_syncookies: 0 off, 1 when a SYN queue is full, 2 always"),
	COL(struct space_row, abort_on_overflow, "ABORT", ROLE_GAUGE, UNIT_COUNT,
	    "tcp_abort_on_overflow: 1 tells the client"),
	COL(struct space_row, max_syn_backlog, "MAXSYN", ROLE_GAUGE, UNIT_COUNT,
	    "tcp_max_syn_backlog"),
	COL(struct space_row, syn_limit, "SYNLIMIT", ROLE_GAUGE, UNIT_COUNT,
	    "half-open connections of peers not seen before that any listener can have: three "
	    "quarters of it; unknown (no such limit) with cookies"),
	COL(struct space_row, somaxconn, NULL, ROLE_GAUGE, UNIT_COUNT, "net.core.somaxconn"),
	COL(struct space_row, listeners, "LISTENERS", ROLE_GAUGE, UNIT_COUNT,
	    "TCP and MPTCP sockets that listen"),
	COL(struct space_row, listen_overflows, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "ListenOverflows since the namespace was made"),
	COL(struct space_row, listen_drops, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "ListenDrops since the namespace was made"),
};

struct host_row {
	const char *host;
	uint64_t netns_count, listeners, polls, poll_ns, interval_ns;
};

static const struct column host_columns[] = {
	COL_NAME(struct host_row, host, NULL, ROLE_KEY, NAME_HOST, "host name"),
	COL(struct host_row, netns_count, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "network namespaces looked at"),
	COL(struct host_row, listeners, NULL, ROLE_GAUGE, UNIT_COUNT, "sockets that listen"),
	COL(struct host_row, polls, NULL, ROLE_GAUGE, UNIT_COUNT, "polls in the interval"),
	COL(struct host_row, poll_ns, NULL, ROLE_GAUGE, UNIT_NS, "CPU time of one, on average"),
	COL(struct host_row, interval_ns, NULL, ROLE_GAUGE, UNIT_NS, "measured interval"),
};

static void complete_queue(void *row);

static const struct table queue_table = {
	.name = "listeners",
	.help = "a listening socket; sockets that share an address by SO_REUSEPORT stand below a "
		"line of their sums",
	TABLE(struct queue_row, queue_columns),
	.top = true,
	.complete = complete_queue,
};
static const struct table space_table = { .name = "namespaces",
					  .help = "a network namespace: its counters and settings",
					  TABLE(struct space_row, space_columns),
					  .sort = "-overflows_per_second",
					  .top = true };
static const struct table host_table = { .name = "host",
					 .help = "what was looked at",
					 TABLE(struct host_row, host_columns) };
const struct table *const listenq_tables[] = { &queue_table, &space_table, &host_table, NULL };

/* Finding the owners costs more than all the rest. */
static bool has_owners;

static void complete_queue(void *data)
{
	struct queue_row *row = data;

	if (has_owners && row->inode != NA_U64)
		row->owner = queue_owner_text(src_arena(), row->inode);
}

static bool is_shown(const struct listener *l)
{
	uint8_t family = l->sock.family;

	if ((listenq.ipv4 || listenq.ipv6) && family &&
	    !(family == AF_INET ? listenq.ipv4 : listenq.ipv6))
		return false;
	return listener_is_asked(l);
}

static const char *limit_by(uint64_t limit, uint64_t somaxconn)
{
	if (somaxconn == NA_U64 || limit == NA_U64)
		return NULL;
	return limit < somaxconn ? "<" : limit > somaxconn ? ">" : "=";
}

static struct queue_row listener_row(const struct look *look, const struct listener *l)
{
	const struct space *s = &look->spaces[l->space];
	const struct place *p = listener_place(look, l);

	return (struct queue_row){
		.netns = s->ns.name,
		.protocol = l->protocol,
		.local = l->local,
		.queue = l->sock.receive_queue,
		.max = listener_max(l),
		.is_max_estimated = !l->polled.polls,
		.limit = l->sock.send_queue,
		.dropped = l->dropped,
		.drops = l->sock.drops,
		.drops_per_second = rate_of(l->dropped, listenq.interval_ns),
		.syn_queue = p->count > 1 ? NA_U64 : p->syn_received,
		.syn_limit = listener_syn_limit(s, l),
		.somaxconn = s->settings[SOMAXCONN_NOW],
		.by = limit_by(l->sock.send_queue, s->settings[SOMAXCONN_NOW]),
		.accepts_per_second = p->count > 1 ? NA_F64 : place_accept_rate(look, p),
		.gave_up = p->count > 1 ? NA_U64 : p->gave_up,
		.cause = l->is_cause_unknown ? "unknown" : NULL,
		.interface = l->sock.interface ? l->sock.interface : NA_U64,
		.members = p->count,
		.polls = l->polled.polls,
		.cookie = l->sock.cookie,
		.inode = l->sock.inode ? l->sock.inode : NA_U64,
	};
}

static void show_group(struct out *out, const struct look *look, const struct place *p)
{
	struct queue_row row = listener_row(look, &look->listeners[p->first]);

	row.member = "all";
	row.queue = p->queue;
	row.max = p->max;
	row.limit = p->limit;
	row.dropped = p->dropped;
	row.drops = p->drops;
	row.drops_per_second = rate_of(p->dropped, listenq.interval_ns);
	row.syn_queue = p->syn_received;
	row.gave_up = p->gave_up;
	row.accepts_per_second = place_accept_rate(look, p);
	row.syn_limit = NA_U64;
	row.by = row.cause = NULL;
	row.cookie = row.inode = NA_U64;
	out_row(out, &queue_table, &row);
}

static void show_place(struct out *out, const struct look *look, const struct place *p)
{
	bool is_group = p->count > 1 && is_shown(&look->listeners[p->first]);

	if (is_group)
		show_group(out, look, p);
	for (size_t i = 0; i < p->count; i++) {
		const struct listener *l = &look->listeners[p->first + i];
		struct queue_row row = listener_row(look, l);

		if (!is_shown(l))
			continue;
		if (p->count > 1)
			row.member = arena_printf(out_arena(out), "%zu", i + 1);
		out_row(out, &queue_table, &row);
	}
}

static uint64_t known(uint64_t n)
{
	return n == NA_U64 ? 0 : n;
}

/* Those in trouble first, then by namespace, port and address. */
static int by_trouble(const void *a, const void *b)
{
	const struct place *x = *(const struct place *const *)a;
	const struct place *y = *(const struct place *const *)b;
	double fill_x = (double)known(x->queue) / ((double)known(x->limit) + 1);
	double fill_y = (double)known(y->queue) / ((double)known(y->limit) + 1);

	if (known(x->dropped) != known(y->dropped))
		return known(x->dropped) < known(y->dropped) ? 1 : -1;
	if (fill_x > fill_y || fill_x < fill_y)
		return fill_x < fill_y ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

static double moved_rate(const struct space *s, enum counter which)
{
	return rate_of(s->moved[which], listenq.interval_ns);
}

static void show_space(struct out *out, const struct space *s)
{
	uint64_t max = s->settings[MAX_SYN_BACKLOG];
	struct space_row row = {
		.netns = s->ns.name,
		.overflows_per_second = moved_rate(s, LISTEN_OVERFLOWS),
		.other_drops_per_second =
			rate_of(delta_u64(s->moved[LISTEN_DROPS], s->moved[LISTEN_OVERFLOWS]),
				listenq.interval_ns),
		.syn_full_per_second = moved_rate(s, SYN_FULL_DROPS),
		.syn_full_cookies_per_second = moved_rate(s, SYN_FULL_COOKIES),
		.cookies_per_second = moved_rate(s, COOKIES_SENT),
		.cookies_received_per_second = moved_rate(s, COOKIES_RECEIVED),
		.cookies_failed_per_second = moved_rate(s, COOKIES_FAILED),
		.backlog_drops_per_second = moved_rate(s, BACKLOG_DROPS),
		.opens_per_second = moved_rate(s, PASSIVE_OPENS),
		.syncookies = s->settings[SYNCOOKIES],
		.abort_on_overflow = s->settings[ABORT_ON_OVERFLOW],
		.max_syn_backlog = max,
		.syn_limit = s->settings[SYNCOOKIES] || max == NA_U64 ? NA_U64 : max - max / 4,
		.somaxconn = s->settings[SOMAXCONN_NOW],
		.listeners = s->listeners,
		.listen_overflows = s->counters[LISTEN_OVERFLOWS],
		.listen_drops = s->counters[LISTEN_DROPS],
	};

	out_row(out, &space_table, &row);
}

static void show_host(struct out *out, const struct look *look)
{
	struct arena *a = out_arena(out);
	const struct acceptq *polls = &look->polls;
	struct host_row row = {
		.host = src_uname()->host,
		.netns_count = look->space_count,
		.listeners = look->count,
		.polls = polls->polls,
		.poll_ns = polls->polls ? polls->cost_ns / polls->polls : NA_U64,
		.interval_ns = listenq.interval_ns ? listenq.interval_ns : NA_U64,
	};

	out_row(out, &host_table, &row);
	out_host(out, "perfbox listenq  %s  %s listener%s in %s netns  %.1f s, %s polls",
		 row.host ? redact_name(a, NAME_HOST, row.host) : "-",
		 human_count(a, (double)look->count), look->count == 1 ? "" : "s",
		 human_count(a, (double)look->space_count), (double)listenq.interval_ns / 1e9,
		 human_count(a, (double)polls->polls));
	if (shared.verbose && polls->polls)
		out_line(out, "polls", "%s of %s each, %s of one CPU",
			 human_count(a, (double)polls->polls),
			 human_ns(a, (double)polls->cost_ns / (double)polls->polls),
			 human_ratio(a, ratio_of(polls->cost_ns, listenq.interval_ns)));
}

void listenq_show(struct out *out)
{
	const struct look *look = listenq.now;
	const struct place **order =
		arena_alloc(out_arena(out), (look->place_count + 1) * sizeof(*order));

	has_owners = out_shows(out, &queue_table, "owner");
	show_host(out, look);
	for (size_t i = 0; i < look->place_count; i++)
		order[i] = &look->places[i];
	qsort(order, look->place_count, sizeof(*order), by_trouble);
	for (size_t i = 0; i < look->place_count; i++)
		show_place(out, look, order[i]);
	for (size_t i = 0; i < look->space_count; i++)
		if (look->is_single || look->spaces[i].listeners || look->spaces[i].unix_listeners)
			show_space(out, &look->spaces[i]);
}
