/* Which of TCP's sockets send again, and which listeners drop. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "applets/netpath/tcp.h"
#include "applets/netpath/tcp_layer.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/sockstat.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

/* The kernel walks up to so many, with what each has to tell, in about a millisecond. */
#define FEW_SOCKETS 1000
/* And more of them once so much was sent again as to be worth it. */
#define AGAIN_MIN 50

struct reading {
	struct look *look;
	struct tcp *tcp;
};

const struct tcp *tcp_of(const struct space *s)
{
	return s->data[LAYER_TCP];
}

static void *grow(struct arena *a, void *items, size_t *cap, size_t count, size_t size)
{
	if (count < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 8;
	void *new = arena_alloc(a, *cap * size);

	if (count)
		memcpy(new, items, count * size);
	return new;
}

static void take_socket(const struct sock *sock, void *arg)
{
	struct reading *r = arg;
	struct tcp *t = r->tcp;
	struct tcpinfo info;

	if (sock->is_mptcp && !sock->is_subflow)
		return;
	tcpinfo_parse(sock->info, &info);
	if (!is_some(info.total_retransmits) && !is_some(info.retransmits))
		return;
	t->sockets = grow(&r->look->arena, t->sockets, &t->cap, t->count, sizeof(*t->sockets));
	t->sockets[t->count++] = (struct tcp_socket){
		.cookie = sock->cookie, .inode = sock->inode, .family = sock->family,
		.state = sock->state, .local = sock->local, .remote = sock->remote, .info = info };
}

static void take_listener(const struct sock *sock, void *arg)
{
	struct reading *r = arg;
	struct tcp *t = r->tcp;

	if (sock->state != SOCK_LISTEN || !is_some(sock->drops))
		return;
	t->listeners = grow(&r->look->arena, t->listeners, &t->listener_cap, t->listener_count,
			    sizeof(*t->listeners));
	t->listeners[t->listener_count] = *sock;
	t->listeners[t->listener_count++].info = TEXT("");
}

static bool has_few_sockets(void)
{
	struct sockstat n;

	if (sockstat_read(&n) < 0)
		return false;
	const uint64_t all = sum_u64(n.tcp, n.tcp6);

	return all != NA_U64 && all <= FEW_SOCKETS;
}

/* The look before the one that is being taken. */
static const struct space *space_before(const struct space *s)
{
	const struct look *look = netpath.now;

	for (size_t i = 0; i < look->space_count; i++)
		if (look->spaces[i].ns.inode == s->ns.inode)
			return &look->spaces[i];
	return NULL;
}

/* Sent again since the look before; in the first, since the namespace was made. */
static bool has_sent_again(const struct space *s, uint64_t at_least)
{
	const struct counters *now = counters_of(s);
	const struct space *was = space_before(s);
	const struct counters *before = was ? counters_of(was) : NULL;
	const uint64_t n = now ? now->n[TcpRetransSegs] : NA_U64;

	return n != NA_U64 && (before ? delta_u64(n, before->n[TcpRetransSegs]) : n) != NA_U64 &&
		(before ? delta_u64(n, before->n[TcpRetransSegs]) : n) >= at_least;
}

int tcp_read_sockets(struct out *out, struct look *look, struct space *s)
{
	struct reading r = { look, arena_alloc(&look->arena, sizeof(*r.tcp)) };
	struct sockdiag_query q = {
		.protocol = IPPROTO_TCP, .ipv4 = true, .ipv6 = true, .info = true,
		.states = SOCK_BIT(SOCK_ESTABLISHED) | SOCK_BIT(SOCK_SYN_SENT) |
			  SOCK_BIT(SOCK_FIN_WAIT1) | SOCK_BIT(SOCK_CLOSE_WAIT) |
			  SOCK_BIT(SOCK_LAST_ACK) | SOCK_BIT(SOCK_CLOSING),
	};
	struct sockdiag_result result = { 0 };

	s->data[LAYER_TCP] = r.tcp;
	if (has_sent_again(s, 1) && (has_few_sockets() || has_sent_again(s, AGAIN_MIN))) {
		if (sockdiag_each(&q, take_socket, &r, &result) < 0)
			out_note(out, "%s", fail_text());
		else
			r.tcp->is_read = !result.lacks;
	}
	const struct counters *c = counters_of(s);

	if (!c || !is_some(c->n[TcpExtListenDrops]))
		return 0;
	q = (struct sockdiag_query){ .protocol = IPPROTO_TCP, .ipv4 = true, .ipv6 = true,
				     .memory = true, .states = SOCK_BIT(SOCK_LISTEN) };
	if (sockdiag_each(&q, take_listener, &r, &result) < 0)
		out_note(out, "%s", fail_text());
	return 0;
}

static const struct tcp_socket *find_socket(const struct tcp *t, uint64_t cookie)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->sockets[i].cookie == cookie)
			return &t->sockets[i];
	return NULL;
}

void tcp_compare_sockets(struct tcp *now, const struct tcp *was)
{
	for (size_t i = 0; i < now->count; i++) {
		struct tcp_socket *s = &now->sockets[i];
		const struct tcp_socket *before =
			was && s->cookie != NA_U64 ? find_socket(was, s->cookie) : NULL;
		const uint64_t n = or_zero(s->info.total_retransmits);

		/* of those it listed all that had sent again, so this one had not */
		s->is_since_made = !before && !(was && was->is_read);
		s->again = before ? or_zero(delta_u64(n, or_zero(before->info.total_retransmits))) :
			n;
	}
}

const char *tcp_end_text(struct arena *a, const struct tcp_socket *s, const struct sock_end *end)
{
	return redact_name(a, NAME_ADDRESS, sock_end_text(a, s->family, end));
}

const char *tcp_owner_text(struct arena *a, uint64_t inode)
{
	size_t count;
	const struct sock_owner *owner;
	const char *comm;

	if (!inode || inode == NA_U64 || sockowner_load() < 0)
		return "";
	owner = sockowner_find(inode, &count);
	if (!count)
		return "";
	comm = sockowner_comm(owner->pid);
	return arena_printf(a, " %s/%u", comm ? redact_name(a, NAME_COMMAND, comm) : "?",
			    owner->pid);
}
