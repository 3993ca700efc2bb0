/*
 * One look: each network namespace's counters and settings, its listeners, and, where it matters,
 * the connections that are half open or were given up before anybody accepted them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "applets/listenq/listenq.h"
#include "common/base/scan.h"
#include "common/kernel/netcount.h"
#include "common/kernel/sockstat.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

/* Up to this many TCP sockets of a single namespace the kernel walks them in a fraction of a ms. */
#define FEW_SOCKETS 5000

static const char *const counter_names[COUNTERS] = {
	[LISTEN_OVERFLOWS] = "ListenOverflows",    [LISTEN_DROPS] = "ListenDrops",
	[SYN_FULL_DROPS] = "TCPReqQFullDrop",      [SYN_FULL_COOKIES] = "TCPReqQFullDoCookies",
	[COOKIES_SENT] = "SyncookiesSent",         [COOKIES_RECEIVED] = "SyncookiesRecv",
	[COOKIES_FAILED] = "SyncookiesFailed",     [BACKLOG_DROPS] = "TCPBacklogDrop",
	[PASSIVE_OPENS] = NULL,
};

static const char *const setting_names[SETTINGS] = {
	[SOMAXCONN_NOW] = "net/core/somaxconn",
	[SYNCOOKIES] = "net/ipv4/tcp_syncookies",
	[ABORT_ON_OVERFLOW] = "net/ipv4/tcp_abort_on_overflow",
	[MAX_SYN_BACKLOG] = "net/ipv4/tcp_max_syn_backlog",
};

/* What a dump's callback works on. */
struct reading {
	struct look *look;
	size_t space;
};

uint64_t listener_key(uint64_t netns, uint64_t cookie)
{
	const uint64_t pair[] = { netns, cookie };

	return hash_bytes(pair, sizeof(pair));
}

struct listener *listener_find(const struct look *look, uint64_t netns, uint64_t cookie)
{
	uintptr_t at = (uintptr_t)hash_find_number(&look->by_cookie, listener_key(netns, cookie));

	return at ? &look->listeners[at - 1] : NULL;
}

static const struct space *find_space(const struct look *look, uint64_t inode)
{
	for (size_t i = 0; i < look->space_count; i++)
		if (look->spaces[i].ns.inode == inode)
			return &look->spaces[i];
	return NULL;
}

/* ---- reading ---- */

static void read_counters(struct out *out, struct space *s)
{
	struct text netstat, snmp;

	if (src_read("proc/net/netstat", &netstat) < 0) {
		out_missing(out, "%s", fail_text());
		netstat = TEXT("");
	}
	for (int i = 0; i < COUNTERS; i++)
		s->counters[i] = counter_names[i] ?
			netcount_find(netstat, "TcpExt", counter_names[i]) : NA_U64;
	if (src_read("proc/net/snmp", &snmp) >= 0)
		s->counters[PASSIVE_OPENS] = netcount_find(snmp, "Tcp", "PassiveOpens");
}

/* NA_U64 has all bits set. */
static void forget(struct space *s)
{
	memset(s->counters, 0xff, sizeof(s->counters));
	memset(s->settings, 0xff, sizeof(s->settings));
}

static void read_settings(struct space *s, bool is_shown)
{
	for (int i = 0; i < SETTINGS; i++)
		s->settings[i] = is_shown ? sysctl_number(setting_names[i], 0) : NA_U64;
}

static struct listener *add_listener(struct look *look, size_t space)
{
	look->listeners = mem_grow(look->listeners, &look->cap, look->count + 1,
				   sizeof(*look->listeners));
	struct listener *l = &look->listeners[look->count++];

	*l = (struct listener){ .space = space, .dropped = NA_U64 };
	return l;
}

static void add_tcp(const struct sock *sock, void *arg)
{
	struct reading *r = arg;
	struct listener *l;

	if (sock->state != SOCK_LISTEN)
		return;
	l = add_listener(r->look, r->space);
	l->sock = *sock;
	l->sock.info = TEXT("");
	/* MPTCP's own half, which has the same inode and queue but no drops, isn't asked */
	l->protocol = sock->is_subflow ? "mptcp" : "tcp";
	l->local = sock_local_text(&r->look->arena, sock);
	if (sock->cookie == NA_U64)
		l->sock.cookie = sock->inode;  /* it was read from proc/net/tcp */
	r->look->spaces[r->space].listeners++;
	r->look->spaces[r->space].has_mptcp |= sock->is_subflow;
}

static void add_unix(const struct unix_sock *sock, void *arg)
{
	struct reading *r = arg;
	struct listener *l;

	if (sock->state != SOCK_LISTEN)
		return;
	l = add_listener(r->look, r->space);
	l->sock = (struct sock){
		.state = sock->state, .cookie = sock->cookie, .inode = sock->inode,
		.receive_queue = sock->receive_queue,
		.send_queue = sock->send_queue, .drops = NA_U64,
	};
	l->protocol = "unix";
	if (sock->cookie == NA_U64)
		l->sock.cookie = sock->inode;
	l->local = sock->name ? arena_strdup(&r->look->arena, sock->name) : "(unnamed)";
	r->look->spaces[r->space].unix_listeners++;
}

static void add_connection(const struct sock *sock, void *arg)
{
	struct reading *r = arg;
	struct look *look = r->look;
	bool is_half_open =
		sock->state == SOCK_SYN_RECV || sock->state == SOCK_NEW_SYN_RECV;

	/* not accepted: no inode yet; the client's FIN counts as one byte */
	if (!is_half_open && (sock->state != SOCK_CLOSE_WAIT || sock->inode ||
			      sock->receive_queue <= 1))
		return;
	look->connections = mem_grow(look->connections, &look->connection_cap,
				     look->connection_count + 1, sizeof(*look->connections));
	look->connections[look->connection_count++] = (struct connection){
		.space = r->space, .family = sock->family, .is_half_open = is_half_open,
		.local = sock->local,
	};
}

static void check_result(struct out *out, struct space *s, int err,
			 const struct sockdiag_result *result)
{
	if (err < 0)
		out_missing(out, "%s", fail_text());
	if (err < 0 || result->is_partial)
		s->is_partial = true;
	if (err < 0 || result->lacks)
		s->has_diag = false;
	if (err >= 0 && result->lacks)
		out_missing(out, "%s", result->lacks);
	if (err >= 0 && result->is_partial)
		out_missing(out, "sockets changed faster than they could be listed: some may be "
				 "left out");
}

static void read_listeners(struct out *out, struct reading *r)
{
	struct space *s = &r->look->spaces[r->space];
	struct sockdiag_query q = { .protocol = IPPROTO_TCP, .ipv4 = true, .ipv6 = true,
				    .states = SOCK_BIT(SOCK_LISTEN), .memory = true,
				    .info = true };    /* tells MPTCP */
	struct sockdiag_result result = { 0 };

	s->first = r->look->count;
	s->has_diag = true;
	if (listenq.tcp)
		check_result(out, s, sockdiag_each(&q, add_tcp, r, &result), &result);
	if (listenq.unix_domain)
		check_result(out, s,
			     sockdiag_each_unix(SOCK_BIT(SOCK_LISTEN), add_unix, r, &result),
			     &result);
}

static bool has_few_sockets(void)
{
	struct sockstat n;

	if (sockstat_read(&n) < 0)
		return false;
	uint64_t all = sum_u64(sum_u64(n.tcp, n.tcp6), n.tcp_time_wait);

	return all != NA_U64 && all <= FEW_SOCKETS;
}

/* Listing connections makes the kernel walk all of them. */
static bool needs_connections(const struct look *look, const struct space *s,
			      const struct space *before)
{
	static const enum counter telling[] = { LISTEN_DROPS, SYN_FULL_DROPS, SYN_FULL_COOKIES,
						COOKIES_SENT };

	if (!listenq.tcp || !s->listeners)
		return false;
	for (size_t i = s->first; i < look->count; i++)
		if (look->listeners[i].sock.family && look->listeners[i].sock.receive_queue)
			return true;
	for (size_t i = 0; before && i < sizeof(telling) / sizeof(telling[0]); i++) {
		uint64_t moved = delta_u64(s->counters[telling[i]], before->counters[telling[i]]);

		if (moved && moved != NA_U64)
			return true;
	}
	return look->is_single && has_few_sockets();
}

static void read_connections(struct out *out, struct reading *r)
{
	struct sockdiag_query q = {
		.protocol = IPPROTO_TCP, .ipv4 = true, .ipv6 = true,
		.states = SOCK_BIT(SOCK_SYN_RECV) | SOCK_BIT(SOCK_NEW_SYN_RECV) |
			  SOCK_BIT(SOCK_CLOSE_WAIT),
	};
	struct space *s = &r->look->spaces[r->space];
	struct sockdiag_result result = { 0 };
	int err = sockdiag_each(&q, add_connection, r, &result);

	s->has_connections = err >= 0;
	check_result(out, s, err, &result);
}

static void read_space(struct out *out, struct look *look, size_t i, const struct look *before)
{
	struct reading r = { look, i };
	struct space *s = &look->spaces[i];
	bool is_baseline = !before->space_count && !src_frame()->is_only;

	read_listeners(out, &r);
	/* without a listener nothing can be dropped by one */
	if (!s->listeners && !s->unix_listeners && (!look->is_single || s->is_partial)) {
		forget(s);
		return;
	}
	read_counters(out, s);
	read_settings(s, !is_baseline);
	if (!is_baseline && needs_connections(look, s, find_space(before, s->ns.inode)))
		read_connections(out, &r);
}

static void keep_namespace(struct look *look, struct space *s, const struct netns *ns)
{
	*s = (struct space){ .ns = *ns };
	s->ns.name = arena_strdup(&look->arena, ns->name);
	s->ns.path = arena_strdup(&look->arena, ns->path);
}

/* 1: read; 0: it has gone, or nobody asked for those that can't be entered. */
static int enter_and_read(struct out *out, struct look *look, const struct netns *ns,
			  const struct look *before)
{
	int err = netns_enter(ns);

	if (err == -ESRCH)
		return 0;
	if (err < 0) {
		if (listenq.netns) {
			out_missing(out, "%s", fail_text());
		} else {
			out_note(out, "other network namespaces are not looked at: %s",
				 fail_text());
			out_unseen(out, NETNS_UNSEEN);
		}
		return 0;
	}
	keep_namespace(look, &look->spaces[look->space_count], ns);
	read_space(out, look, look->space_count++, before);
	err = netns_leave();
	return err < 0 ? err : 1;
}

/* Where only findings are wanted all are looked at: those without a listener cost little. */
static int select_spaces(struct out *out, struct netns_list *list)
{
	int err = -ENOENT;

	if (!listenq.netns && !out_wants_rows(out))
		err = netns_select("all", list);
	if (err < 0)
		err = netns_select(listenq.netns, list);
	if (err >= 0 && !listenq.netns && !out_wants_rows(out) && !list->is_complete)
		out_unseen(out, NETNS_UNSEEN);
	if (err >= 0 && listenq.netns && !strcmp(listenq.netns, "all") && !list->is_complete)
		out_note(out, "other users' processes can't be looked at: some namespaces may be "
			      "left out");
	return err;
}

int spaces_read(struct out *out, struct look *look, const struct look *before)
{
	struct netns_list list;
	int err = select_spaces(out, &list);

	if (err < 0)
		return err;
	arena_reset(&look->arena);
	look->frame = src_frame()->index;
	look->space_count = look->count = look->connection_count = 0;
	look->is_single = list.count == 1;
	look->spaces = arena_alloc(&look->arena, (list.count + 1) * sizeof(*look->spaces));
	for (size_t i = 0; i < list.count && err >= 0; i++)
		err = enter_and_read(out, look, &list.items[i], before);
	return err < 0 ? err : 0;
}

/* ---- what moved ---- */

static void compare_space(struct space *s, const struct space *b, bool is_made_since)
{
	for (int i = 0; i < COUNTERS; i++)
		s->moved[i] = b ? delta_u64(s->counters[i], b->counters[i]) :
			is_made_since ? s->counters[i] : NA_U64;
}

/* A socket that was not there before is new only where all were seen then. */
static bool is_new(const struct space *s, const struct space *b, const struct look *before)
{
	return b ? !b->is_partial && b->has_diag == s->has_diag :
		before->space_count && netns_is_new(&s->ns, before->frame);
}

void spaces_compare(struct look *now, const struct look *before)
{
	for (size_t i = 0; i < now->space_count; i++) {
		struct space *s = &now->spaces[i];

		compare_space(s, find_space(before, s->ns.inode),
			      before->space_count && netns_is_new(&s->ns, before->frame));
	}
	hash_reset(&now->by_cookie);
	for (size_t i = 0; i < now->count; i++) {
		struct listener *l = &now->listeners[i];
		struct space *s = &now->spaces[l->space];
		const struct listener *b = listener_find(before, s->ns.inode, l->sock.cookie);

		*hash_number(&now->by_cookie, listener_key(s->ns.inode, l->sock.cookie)) =
			(void *)(uintptr_t)(i + 1);
		l->is_new = !b && is_new(s, find_space(before, s->ns.inode), before);
		if (b || l->is_new)
			l->dropped = delta_u64(l->sock.drops, b ? b->sock.drops : 0);
		s->droppers += l->dropped && l->dropped != NA_U64;
	}
}

void spaces_free(struct look *look)
{
	free(look->listeners);
	free(look->connections);
	hash_free(&look->by_cookie);
	arena_free(&look->arena);
	*look = (struct look){ 0 };
}

/* ---- what follows from it ---- */

uint64_t listener_max(const struct listener *l)
{
	uint64_t now = l->sock.receive_queue;

	return l->polled.polls && (now == NA_U64 || l->polled.max > now) ? l->polled.max : now;
}

bool listener_was_over(const struct listener *l)
{
	uint64_t limit = l->sock.send_queue, max = listener_max(l);

	return limit != NA_U64 && max != NA_U64 && max > limit;
}

/* Were all members of a place there at the look before? */
static bool was_there(const struct look *look, const struct place *p)
{
	for (size_t i = p->first; i < p->first + p->count; i++)
		if (!listener_find(listenq.before, look->spaces[look->listeners[i].space].ns.inode,
				   look->listeners[i].sock.cookie))
			return false;
	return true;
}

/*
 * PassiveOpens counts the whole namespace's. It is one place's alone if there is and was no other;
 * and if it did not move, it is nobody's. MPTCP counts each path of a connection.
 */
double place_arrival_rate(const struct look *look, const struct place *p)
{
	const struct space *s = &look->spaces[look->listeners[p->first].space];
	const struct space *b = find_space(listenq.before, s->ns.inode);
	bool is_single = s->listeners == p->count && b && b->listeners == p->count;

	if (!look->listeners[p->first].sock.family || !b || s->is_partial || !was_there(look, p))
		return NA_F64;
	if (p->arrived != NA_U64 && !s->has_mptcp)
		return rate_of(p->arrived, listenq.interval_ns);
	if ((!is_single || s->has_mptcp) && s->moved[PASSIVE_OPENS])
		return NA_F64;
	return rate_of(s->moved[PASSIVE_OPENS], listenq.interval_ns);
}

/* What arrived and does not wait any more was accepted. */
double place_accept_rate(const struct look *look, const struct place *p)
{
	double arrived = place_arrival_rate(look, p);
	uint64_t before = 0;

	if (isnan(arrived) || p->queue == NA_U64)
		return NA_F64;
	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct listener *l = &look->listeners[i];

		before = sum_u64(before, listener_find(listenq.before,
						       look->spaces[l->space].ns.inode,
						       l->sock.cookie)->sock.receive_queue);
	}
	if (before == NA_U64)
		return NA_F64;
	double grown = (double)p->queue - (double)before;
	double accepted = arrived - grown * 1e9 / (double)listenq.interval_ns;

	return accepted > 0 ? accepted : 0;
}

/*
 * tcp_conn_request, net/ipv4/tcp_input.c: without cookies a peer never seen before is dropped when
 * less than a quarter of tcp_max_syn_backlog is left; the listener's own limit holds always.
 * Whether that one more than it fits differs between kernels.
 */
uint64_t listener_syn_limit(const struct space *s, const struct listener *l)
{
	uint64_t own = l->sock.send_queue + 1, max = s->settings[MAX_SYN_BACKLOG];

	if (s->settings[SYNCOOKIES] == NA_U64 || !l->sock.family ||
	    l->sock.send_queue == NA_U64)
		return NA_U64;
	if (s->settings[SYNCOOKIES])
		return own;
	if (max == NA_U64)
		return NA_U64;
	return max - max / 4 + 1 < own ? max - max / 4 + 1 : own;
}
