/* One look at one network namespace: its settings and counters, and its sockets summed up. */
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "applets/portrange/portrange.h"
#include "common/base/hash.h"
#include "common/kernel/boundports.h"
#include "common/kernel/netcount.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"
#include "common/report/redact.h"

#define MS 1000000ull
#define SECOND 1000000000ull
#define REUSE_DELAY_NS SECOND          /* before tcp_tw_reuse_delay: a second, ktime_get_seconds */
#define TCP_WORTH_A_DUMP 0.25          /* no finding about TCP has a smaller share of the range */
#define UDP_WORTH_A_DUMP 0.50

/* Asking for sockets that are bound and not connected walks all of them by port: twice the cost of
 * the dump itself. It is worth it where that is little, where there may be many, or where a
 * destination is short of ports. */
#define BOUND_IS_CHEAP 8192            /* sockets */
#define BOUND_MAY_MATTER 0.01          /* of the usable ports */
#define FILL_MATTERS 0.50

/* Of the namespace being looked at. All but the first hold usable ports alone. */
static struct port_set reserved, listening, bound, whole;
static struct port_set tcp_used, udp_used, unconnected;

static struct out *to;                 /* where a listener's row goes while sockets stream by */

/* ---- settings and counters ---- */

static uint64_t setting(const char *name, uint64_t unit)
{
	uint64_t n = sysctl_number(name, 0);

	return n == NA_U64 ? n : n * unit;
}

/* As it may be printed. */
static const char *space_name(const struct space *s)
{
	return redact_name(src_arena(), NAME_CONTAINER, s->ns->name);
}

static void read_range(struct out *out, struct space *s)
{
	s->has_ports = ports_read(&s->ports) >= 0 && ports_read_reserved(&reserved) >= 0;
	if (!s->has_ports)
		out_missing(out, "%s: %s", space_name(s), fail_text());
}

static void read_settings(struct space *s)
{
	s->reuse = setting("net/ipv4/tcp_tw_reuse", 1);
	s->reuse_delay_ns = setting("net/ipv4/tcp_tw_reuse_delay", MS);
	if (s->reuse_delay_ns == NA_U64)
		s->reuse_delay_ns = REUSE_DELAY_NS;
	s->timestamps = setting("net/ipv4/tcp_timestamps", 1);
	s->fin_timeout_ns = setting("net/ipv4/tcp_fin_timeout", SECOND);
}

static void read_counters(struct out *out, struct space *s)
{
	struct text t;

	s->overflows_before = s->overflows;
	s->recycled_before = s->recycled;
	s->overflows = s->recycled = NA_U64;
	if (src_read("proc/net/netstat", &t) < 0) {
		out_missing(out, "%s: %s", space_name(s), fail_text());
	} else {
		s->overflows = netcount_find(t, "TcpExt", "TCPTimeWaitOverflow");
		s->recycled = netcount_find(t, "TcpExt", "TWRecycled");
	}
	s->time_wait_max = setting("net/ipv4/tcp_max_tw_buckets", 1);
	memset(&s->sockets, 0xff, sizeof(s->sockets));
	if (sockstat_read(&s->sockets) < 0)
		out_missing(out, "%s: %s", space_name(s), fail_text());
}

/* ---- TCP ---- */

static bool is_usable(const struct space *s, uint16_t port)
{
	return port >= s->ports.low && port <= s->ports.high && !port_set_has(&reserved, port);
}

/* Listeners, and sockets that are bound and not connected: no connect() is given their port. */
static void on_idle(const struct sock *sock, void *arg)
{
	struct space *s = arg;

	s->states[sock->state]++;
	if (!is_usable(s, sock->local.port))
		return;
	port_set_add(&tcp_used, sock->local.port);
	port_set_add(sock->state == SOCK_LISTEN ? &listening : &bound, sock->local.port);
	if (sock->state == SOCK_LISTEN)
		portrange_show_listener(to, s, sock);
}

static void count_time_wait(struct tuple *t, const struct space *s, const struct sock *sock,
			    bool is_on_whole)
{
	uint64_t age_ns = sock->expires_ns < TIME_WAIT_NS ? TIME_WAIT_NS - sock->expires_ns : 0;

	t->time_wait++;
	t->fresh_time_wait += age_ns <= portrange.interval_ns;
	t->reusable += !is_on_whole && age_ns >= s->reuse_delay_ns && tuple_is_reused(&t->key, s);
}

/* Who it is, from its beginning until it leaves TIME_WAIT. */
static uint64_t identity(const struct tuple_key *key, const struct sock *sock)
{
	if (sock->cookie != NA_U64)
		return sock->cookie;
	return hash_keyed(sock->local.port, key, sizeof(*key));
}

static void count_in(struct tuple *t, const struct space *s, const struct sock *sock)
{
	bool is_on_whole = port_set_has(&whole, sock->local.port);

	t->on_whole += is_on_whole;
	t->fresh += tuples_is_fresh(t->key.space, identity(&t->key, sock));
	switch (sock->state) {
	case SOCK_TIME_WAIT:
		count_time_wait(t, s, sock, is_on_whole);
		break;
	case SOCK_ESTABLISHED:
		t->established++;
		break;
	case SOCK_SYN_SENT:
		t->syn_sent++;
		break;
	default:
		t->closing++;
	}
}

static void on_tcp(const struct sock *sock, void *arg)
{
	struct space *s = arg;
	struct tuple_key key;

	s->states[sock->state]++;
	if (sock->state == SOCK_SYN_RECV || !is_usable(s, sock->local.port))
		return;
	port_set_add(&tcp_used, sock->local.port);
	/* where somebody listens this is the server's end */
	if (port_set_has(&listening, sock->local.port))
		return;
	tuple_key_of(sock, (uint32_t)(s - portrange.spaces), &key);
	if (!portrange_passes(&key))
		return;
	struct tuple *t = tuples_find(&key);

	if (t)
		count_in(t, s, sock);
}

static int dump(struct out *out, const struct space *s, uint8_t protocol, unsigned states,
		void (*each)(const struct sock *sock, void *arg))
{
	struct sockdiag_query q = { .protocol = protocol, .ipv4 = true, .ipv6 = true,
				    .states = states };
	struct sockdiag_result result = { 0 };
	int err = sockdiag_each(&q, each, (void *)s, &result);

	if (err < 0)
		out_missing(out, "%s: %s", space_name(s), fail_text());
	else if (result.lacks)
		out_note(out, "%s: %s", space_name(s), result.lacks);
	if (err >= 0 && result.is_partial)
		out_missing(out, "%s: some sockets are missing: they changed while they were read",
			    space_name(s));
	return err;
}

static void add_bound_exactly(struct out *out, struct space *s)
{
	struct port_set all;

	if (boundports_read(&all) < 0) {
		out_missing(out, "%s: %s", space_name(s), fail_text());
		return;
	}
	s->bound = arena_alloc(src_arena(), sizeof(*s->bound));
	s->is_exact = true;
	for (uint64_t port = s->ports.low; port <= s->ports.high; port++)
		if (port_set_has(&all, (uint16_t)port) && is_usable(s, (uint16_t)port) &&
		    !port_set_has(&listening, (uint16_t)port))
			port_set_add(&bound, (uint16_t)port);
}

static uint64_t count(const struct space *s, const struct port_set *set)
{
	return port_set_count(set, s->ports.low, s->ports.high);
}

/* Those an even number above the first: connect() tries these first, bind() the others. */
static uint64_t count_even(const struct space *s, const struct port_set *set)
{
	uint64_t n = 0;

	for (uint64_t port = s->ports.low; port <= s->ports.high; port += 2)
		n += port_set_has(set, (uint16_t)port);
	return n;
}

/* Whether that share of the range may be in use; unknown counts as yes. */
static bool may_fill(const struct space *s, uint64_t sockets, double share)
{
	return sockets == NA_U64 || (double)sockets >= share * (double)s->ports.count;
}

static uint64_t tcp_sockets(const struct space *s)
{
	return sum_u64(sum_u64(s->sockets.tcp, s->sockets.tcp6), s->sockets.tcp_time_wait);
}

static double fullest(const struct space *s)
{
	uint32_t space = (uint32_t)(s - portrange.spaces);
	double most = 0;

	for (size_t i = 0; i < portrange.tuple_count; i++)
		if (portrange.tuples[i].key.space == space) {
			struct outlook o;

			tuple_outlook(&portrange.tuples[i], &o);
			most = o.fill_ratio > most ? o.fill_ratio : most;
		}
	return most;
}

static bool is_bound_worth_it(const struct space *s)
{
	uint64_t sockets = tcp_sockets(s);
	uint64_t may_be = delta_u64(s->sockets.tcp_allocated_host,
				    sum_u64(s->sockets.tcp, s->sockets.tcp6));

	return may_be && (sockets < BOUND_IS_CHEAP || may_fill(s, may_be, BOUND_MAY_MATTER) ||
			  fullest(s) >= FILL_MATTERS);
}

static void read_tcp(struct out *out, struct space *s)
{
	bool may_fill_up = may_fill(s, tcp_sockets(s), TCP_WORTH_A_DUMP);

	if (!out_wants_rows(out) && !may_fill_up)
		return;
	read_settings(s);
	memset(&listening, 0, sizeof(listening));
	memset(&bound, 0, sizeof(bound));
	memset(&tcp_used, 0, sizeof(tcp_used));
	s->listening_ports = s->bound_ports = s->whole_ports = s->tcp_ports = s->even_ports = 0;
	s->has_tcp = !tcp_sockets(s);  /* then there is nothing to list */
	if (s->has_tcp)
		return;
	if (dump(out, s, IPPROTO_TCP, SOCK_BIT(SOCK_LISTEN), on_idle) < 0)
		return;
	if (portrange.is_exact && may_fill_up)
		add_bound_exactly(out, s);
	whole = listening;
	port_set_join(&whole, &bound);
	if (dump(out, s, IPPROTO_TCP, STATES_CONNECTED, on_tcp) < 0)
		return;
	if (is_bound_worth_it(s))
		s->has_bound = dump(out, s, IPPROTO_TCP, SOCK_BIT(SOCK_BOUND_INACTIVE),
				    on_idle) >= 0;
	port_set_take(&bound, &listening);
	port_set_join(&whole, &bound);
	if (s->is_exact)
		*s->bound = bound;
	s->has_tcp = true;
	s->listening_ports = count(s, &listening);
	s->bound_ports = count(s, &bound);
	s->whole_ports = count(s, &whole);
	s->tcp_ports = count(s, &tcp_used);
	s->even_ports = count_even(s, &tcp_used);
}

/* ---- UDP ---- */

/* Connected or not, no other socket is given its port: udp_lib_get_port, net/ipv4/udp.c. */
static void on_udp(const struct sock *sock, void *arg)
{
	const struct space *s = arg;

	if (!is_usable(s, sock->local.port) || sock->v6only == 1)
		return;
	port_set_add(&udp_used, sock->local.port);
	if (sock->state == SOCK_CLOSE)
		port_set_add(&unconnected, sock->local.port);
}

static void read_udp(struct out *out, struct space *s)
{
	uint64_t sockets = sum_u64(s->sockets.udp, s->sockets.udp6);

	if (!out_wants_rows(out) && !may_fill(s, sockets, UDP_WORTH_A_DUMP))
		return;
	memset(&udp_used, 0, sizeof(udp_used));
	memset(&unconnected, 0, sizeof(unconnected));
	s->udp_ports = s->udp_even_ports = s->unconnected_ports = 0;
	s->has_udp = !sockets;
	if (s->has_udp)
		return;
	if (dump(out, s, IPPROTO_UDP, STATES_UDP, on_udp) < 0)
		return;
	s->has_udp = true;
	s->udp_ports = count(s, &udp_used);
	s->udp_even_ports = count_even(s, &udp_used);
	s->unconnected_ports = count(s, &unconnected);
}

void portrange_read_space(struct out *out, struct space *s, bool tcp, bool udp)
{
	to = out;
	s->had_tcp = s->has_tcp;
	s->had_udp = s->has_udp;
	s->unconnected_before = s->unconnected_ports;
	s->has_tcp = s->has_udp = s->has_bound = s->is_exact = false;
	memset(s->states, 0, sizeof(s->states));
	s->reuse = s->reuse_delay_ns = s->timestamps = s->fin_timeout_ns = NA_U64;
	read_range(out, s);
	read_counters(out, s);
	if (!s->has_ports)
		return;
	if (tcp)
		read_tcp(out, s);
	if (udp)
		read_udp(out, s);
}
