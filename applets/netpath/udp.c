/* UDP: datagrams that found a socket's buffer full, or nobody. */
#include <netinet/in.h>

#include "applets/netpath/rows.h"
#include "applets/netpath/tcp.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define FILL_SHOWN 0.5                 /* of a socket's buffer */

struct udp_socket {
	uint64_t cookie, inode, drops, rmem_bytes, rcvbuf_bytes;
	uint8_t family;
	struct sock_end local, remote;
	uint64_t lost;                 /* in the interval; compare */
	uint64_t rmem_before_bytes;    /* NA_U64 unknown */
};

struct udp {
	struct udp_socket *sockets;
	size_t count, cap;
	bool is_read;
};

struct reading {
	struct look *look;
	struct udp *udp;
};

/* ---- reading ---- */

static void take(const struct sock *sock, void *arg)
{
	struct reading *r = arg;
	struct udp *u = r->udp;

	if (!is_some(sock->drops) &&
	    !(ratio_of(sock->rmem_bytes, sock->rcvbuf_bytes) >= FILL_SHOWN))
		return;
	if (u->count == u->cap) {
		const size_t cap = u->cap ? u->cap * 2 : 8;
		struct udp_socket *more = arena_alloc(&r->look->arena, cap * sizeof(*more));

		if (u->count)
			memcpy(more, u->sockets, u->count * sizeof(*more));
		u->sockets = more;
		u->cap = cap;
	}
	u->sockets[u->count++] = (struct udp_socket){
		.cookie = sock->cookie, .inode = sock->inode, .drops = sock->drops,
		.rmem_bytes = sock->rmem_bytes, .rcvbuf_bytes = sock->rcvbuf_bytes,
		.family = sock->family, .local = sock->local, .remote = sock->remote };
}

static int read(struct out *out, struct look *look, struct space *s)
{
	struct reading r = { look, arena_alloc(&look->arena, sizeof(*r.udp)) };
	const struct sockdiag_query q = { .protocol = IPPROTO_UDP, .ipv4 = true, .ipv6 = true,
		.memory = true, .states = ~0u };
	struct sockdiag_result result = { 0 };

	s->data[LAYER_UDP] = r.udp;
	/* without udp_diag drops are in proc/net/udp, buffers are not */
	if (sockdiag_each(&q, take, &r, &result) < 0)
		out_note(out, "%s", fail_text());
	else
		r.udp->is_read = true;
	return 0;
}

/* ---- comparing ---- */

struct detail {
	const struct udp_socket *socket;       /* NULL: it is gone, or can't be told */
};

static const struct udp_socket *find(const struct udp *u, uint64_t cookie)
{
	for (size_t i = 0; u && i < u->count; i++)
		if (u->sockets[i].cookie == cookie)
			return &u->sockets[i];
	return NULL;
}

/* One the look before did not list had lost nothing by then. */
static void compare_sockets(struct udp *now, const struct udp *was)
{
	for (size_t i = 0; i < now->count; i++) {
		struct udp_socket *s = &now->sockets[i];
		const struct udp_socket *before = s->cookie == NA_U64 ? NULL : find(was, s->cookie);

		s->rmem_before_bytes = before ? before->rmem_bytes : NA_U64;
		s->lost = !was || !was->is_read ? NA_U64 : !before ? or_zero(s->drops) :
			or_zero(delta_u64(s->drops, or_zero(before->drops)));
	}
}

static struct udp_socket *most_lost(struct udp *u)
{
	struct udp_socket *most = NULL;

	for (size_t i = 0; u && i < u->count; i++)
		if (is_some(u->sockets[i].lost) && (!most || u->sockets[i].lost > most->lost))
			most = &u->sockets[i];
	return most;
}

static const char *socket_text(struct arena *a, uint8_t family, const struct sock_end *end)
{
	return redact_name(a, NAME_ADDRESS, sock_end_text(a, family, end));
}

/* A socket's drops can be of other kinds (a filter of its own, a checksum): together no more than
 * the protocol counted as "buffer full". */
static void add_sockets(struct walk *w, size_t space, struct udp *u, uint64_t in, uint64_t full)
{
	const char *proof = "ss -uanm (d: drops; r, rb: the buffer)";

	for (struct udp_socket *s; full && (s = most_lost(u)); ) {
		struct detail *d = arena_alloc(w->arena, sizeof(*d));
		const uint64_t n = s->lost < full ? s->lost : full;

		d->socket = s;
		path_add_block(w, LAYER_UDP, DIR_RX, space,
			       socket_text(w->arena, s->family, &s->local))->packets_in = in;
		path_add_meter(w, METER_UDP_RX, "drops", n, s->drops, proof)->detail = d;
		full -= n;
		s->lost = n == s->lost ? NA_U64 : s->lost - n;
		if (!full)
			break;
	}
	if (!full)
		return;
	path_add_block(w, LAYER_UDP, DIR_RX, space, "closed sockets")->packets_in = in;
	path_add_meter(w, METER_UDP_RX, "UdpRcvbufErrors", full, NA_U64, "cat /proc/net/snmp")
		->detail = arena_alloc(w->arena, sizeof(struct detail));
}

struct pair {
	enum counter v4, v6;
};

static uint64_t moved(const struct walk *w, size_t space, const struct space *was, bool is_new,
		      struct pair p)
{
	const struct space *s = &w->now->spaces[space];

	return add_known(counter_moved(s, was, is_new, p.v4), counter_moved(s, was, is_new, p.v6));
}

static void compare(struct out *out, struct walk *w, size_t space, const struct space *was,
		    bool is_new)
{
	static const struct pair in = { UdpInDatagrams, Udp6InDatagrams };
	static const struct pair errors = { UdpInErrors, Udp6InErrors };
	static const struct pair no_ports = { UdpNoPorts, Udp6NoPorts };
	static const struct pair full = { UdpRcvbufErrors, Udp6RcvbufErrors };
	static const struct pair sent = { UdpOutDatagrams, Udp6OutDatagrams };
	static const enum counter losing[] = { UdpMemErrors, Udp6MemErrors };
	static const enum counter not_losing[] = { UdpNoPorts, Udp6NoPorts, UdpInCsumErrors,
		Udp6InCsumErrors };
	static const enum counter unsent[] = { UdpSndbufErrors, Udp6SndbufErrors };
	const struct space *s = &w->now->spaces[space];
	struct udp *u = s->data[LAYER_UDP];

	(void)out;
	if (!counters_of(s) || counters_of(s)->n[UdpInDatagrams] == NA_U64)
		return;
	const uint64_t came = add_known(moved(w, space, was, is_new, in),
					add_known(moved(w, space, was, is_new, errors),
						  moved(w, space, was, is_new, no_ports)));

	path_add_block(w, LAYER_UDP, DIR_RX, space, "UDP")->packets_in = came;
	for (size_t i = 0; i < 2; i++)
		counter_meter(w, s, was, is_new, losing[i], METER_UDP_RX);
	for (size_t i = 0; i < 4; i++)
		counter_meter(w, s, was, is_new, not_losing[i], METER_NO_LOSS);
	path_add_block(w, LAYER_UDP, DIR_TX, space, "UDP")->packets_in =
		moved(w, space, was, is_new, sent);
	for (size_t i = 0; i < 2; i++)
		counter_meter(w, s, was, is_new, unsent[i], METER_UDP_SNDBUF);
	if (u)
		compare_sockets(u, was ? was->data[LAYER_UDP] : NULL);
	const uint64_t lost = moved(w, space, was, is_new, full);

	if (is_some(lost))
		add_sockets(w, space, u, came, lost);
}

/* ---- reporting ---- */

static void report_socket(struct out *out, const struct walk *w, const struct meter *m,
			  const struct udp_socket *s)
{
	struct arena *a = out_arena(out);
	const struct block *b = &w->blocks[m->block];
	struct finding *f = netpath_finding(out, w, "netpath.udp-rcvbuf", STATE_NOW, m,
		s ? arena_printf(a, "%s%s", b->subject, tcp_owner_text(a, s->inode)) : NULL);

	finding_u64(f, "rmem_bytes", s ? s->rmem_bytes : NA_U64);
	finding_u64(f, "rcvbuf_bytes", s ? s->rcvbuf_bytes : NA_U64);
	finding_line(f, "%s: the socket's buffer was full", netpath_lost_text(a, w, m));
	if (s && s->rcvbuf_bytes != NA_U64) {
		const bool is_stuck = ratio_of(s->rmem_bytes, s->rcvbuf_bytes) >= 0.9 &&
			ratio_of(s->rmem_before_bytes, s->rcvbuf_bytes) >= 0.9;

		finding_line(f, "it holds %s of %s now%s", human_bytes_u64(a, s->rmem_bytes),
			     human_bytes_u64(a, s->rcvbuf_bytes),
			     is_stuck ? ", as at the start: its program does not read" : "");
	}
	finding_next(f, "%s", netpath_command_in(a, w, b->space, "ss -uanmp"));
	netpath_finish(out, w, m, f);
}

static void report(struct out *out, struct walk *w)
{
	size_t at = 0;

	for (struct meter *m; (m = path_next(w, LAYER_UDP, &at)); ) {
		const struct detail *d = m->detail;

		if (d && path_is_over(w, m, EVENTS_MIN, SHARE_MIN))
			report_socket(out, w, m, d->socket);
	}
}

/* ---- rows ---- */

struct socket_row {
	const char *netns, *local, *remote;
	uint64_t rmem_bytes, rcvbuf_bytes, drops;
	double fill_ratio;
};

static const struct column columns[] = {
	COL_NAME_IF_ANY(struct socket_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER,
			"network namespace"),
	COL_NAME(struct socket_row, local, "UDP SOCKET", ROLE_KEY, NAME_ADDRESS, "its address"),
	COL_NAME(struct socket_row, remote, "PEER", ROLE_KEY, NAME_ADDRESS,
		 "if it is connected"),
	COL(struct socket_row, rmem_bytes, "RMEM", ROLE_GAUGE, UNIT_BYTES,
	    "memory of what waits to be read, with what the kernel adds to each datagram"),
	COL(struct socket_row, rcvbuf_bytes, "RCVBUF", ROLE_GAUGE, UNIT_BYTES, "its limit"),
	COL(struct socket_row, fill_ratio, "FILL%", ROLE_GAUGE, UNIT_RATIO, "how full"),
	COL(struct socket_row, drops, "DROPS", ROLE_COUNTER, UNIT_COUNT,
	    "datagrams not taken since it was made"),
};

const struct table netpath_socket_table = {
	.name = "sockets",
	.help = "a UDP socket that dropped something, or whose buffer is half full",
	TABLE(struct socket_row, columns),
	.top = true,
};

static void show(struct out *out, struct walk *w)
{
	struct arena *a = out_arena(out);

	for (size_t i = 0; i < w->now->space_count; i++) {
		const struct space *s = &w->now->spaces[i];
		const struct udp *u = s->data[LAYER_UDP];

		for (size_t k = 0; u && k < u->count; k++) {
			const struct udp_socket *x = &u->sockets[k];
			const struct socket_row row = {
				.netns = s->ns.name,
				.local = sock_end_text(a, x->family, &x->local),
				.remote = x->remote.port ?
					sock_end_text(a, x->family, &x->remote) : NULL,
				.rmem_bytes = x->rmem_bytes, .rcvbuf_bytes = x->rcvbuf_bytes,
				.drops = x->drops,
				.fill_ratio = ratio_of(x->rmem_bytes, x->rcvbuf_bytes),
			};

			out_row(out, &netpath_socket_table, &row);
		}
	}
}

const struct layer layer_udp = {
	.name = "udp",
	.read = read,
	.compare = compare,
	.report = report,
	.show = show,
};
