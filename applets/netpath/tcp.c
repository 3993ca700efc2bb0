/* TCP: what it dropped on arrival, and what it had to send again. */
#include <stdlib.h>

#include "applets/netpath/tcp_layer.h"
#include "common/kernel/sockowner.h"

#define RETRANS_MIN 50
#define RETRANS_SHARE_MIN 0.02
#define LISTEN_MIN 3
#define PEERS_SHOWN 3

struct detail {
	const struct space *s, *was;
	bool is_new, is_listen;
	uint64_t sent_again, duplicates, probes;
};

static uint64_t moved(const struct detail *d, enum counter c)
{
	return counter_moved(d->s, d->was, d->is_new, c);
}

/* Lost on arrival. */
static const enum counter dropping[] = {
	TcpExtTCPBacklogDrop, TcpExtTCPRcvQDrop, TcpExtRcvPruned, TcpExtOfoPruned, TcpExtTCPOFODrop,
	TcpExtPFMemallocDrop, TcpExtTCPMinTTLDrop, TcpExtTCPZeroWindowDrop,
};
/* What tells why, and is no packet lost here. */
static const enum counter telling_in[] = {
	TcpAttemptFails, TcpEstabResets, TcpExtEmbryonicRsts, TcpExtPruneCalled,
	TcpExtTCPRcvCollapsed, TcpExtTCPMemoryPressures, TcpExtTCPToZeroWindowAdv,
	TcpExtTCPWantZeroWindowAdv, TcpExtTCPAbortOnData, TcpExtTCPAbortOnClose,
	TcpExtTCPAbortOnMemory, TcpExtTCPAbortOnLinger, TcpExtTCPAbortFailed,
};
static const enum counter telling_out[] = {
	TcpExtTCPTimeouts, TcpExtTCPLossProbes, TcpExtTCPSynRetrans, TcpExtTCPFastRetrans,
	TcpExtTCPSlowStartRetrans, TcpExtTCPLostRetransmit, TcpExtTCPRetransFail,
	TcpExtTCPSpuriousRTOs, TcpExtTCPDSACKRecvSegs, TcpExtTCPAbortOnTimeout, TcpOutRsts,
};
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void add_all(struct walk *w, const struct detail *d, const enum counter *list, size_t count,
		    enum meter_kind kind)
{
	for (size_t i = 0; i < count; i++)
		counter_meter(w, d->s, d->was, d->is_new, list[i], kind);
}

static void compare_in(struct walk *w, size_t space, struct detail *d)
{
	path_add_block(w, LAYER_TCP, DIR_RX, space, "TCP")->packets_in = moved(d, TcpInSegs);
	struct meter *m = counter_meter(w, d->s, d->was, d->is_new, TcpInErrs, METER_TCP_RX);
	const uint64_t checksums = moved(d, TcpInCsumErrors);

	/* they are counted in both, and told by the IP layer */
	if (m && m->count != NA_U64 && checksums != NA_U64)
		m->count = m->own = m->count > checksums ? m->count - checksums : 0;
	m = counter_meter(w, d->s, d->was, d->is_new, TcpExtListenDrops, METER_LISTEN);
	if (m) {
		struct detail *listen = arena_alloc(w->arena, sizeof(*listen));

		*listen = *d;
		listen->is_listen = true;
		m->detail = listen;
	}
	add_all(w, d, dropping, COUNT(dropping), METER_TCP_RX);
	add_all(w, d, telling_in, COUNT(telling_in), METER_NO_LOSS);
}

/* Less what the peer says it had twice, and the probes at the tail that TCP sends on suspicion. */
static void compare_out(struct walk *w, size_t space, struct detail *d)
{
	const struct counters *c = counters_of(d->s);
	uint64_t n = d->sent_again = moved(d, TcpRetransSegs);

	d->duplicates = moved(d, c->n[TcpExtTCPDSACKRecvSegs] != NA_U64 ? TcpExtTCPDSACKRecvSegs :
			      TcpExtTCPDSACKRecv);
	d->probes = moved(d, TcpExtTCPLossProbes);
	path_add_block(w, LAYER_TCP, DIR_TX, space, "TCP")->packets_in = moved(d, TcpOutSegs);
	if (n != NA_U64) {
		const uint64_t needless = or_zero(d->duplicates) + or_zero(d->probes);

		n = n > needless ? n - needless : 0;
	}
	path_add_meter(w, METER_TCP_RETRANS, "TcpRetransSegs", n, c->n[TcpRetransSegs],
		       "cat /proc/net/snmp")->detail = d;
	add_all(w, d, telling_out, COUNT(telling_out), METER_NO_LOSS);
}

static void compare(struct out *out, struct walk *w, size_t space, const struct space *was,
		    bool is_new)
{
	struct detail *d = arena_alloc(w->arena, sizeof(*d));

	(void)out;
	*d = (struct detail){ .s = &w->now->spaces[space], .was = was, .is_new = is_new };
	if (!counters_of(d->s) || counters_of(d->s)->n[TcpInSegs] == NA_U64)
		return;
	if (d->s->data[LAYER_TCP])
		tcp_compare_sockets(d->s->data[LAYER_TCP], was ? tcp_of(was) : NULL);
	compare_in(w, space, d);
	compare_out(w, space, d);
}

/* ---- retransmits ---- */

struct peer {
	const struct tcp_socket *s;    /* the one of its sockets that sent most again */
	uint64_t again, sockets;
	bool is_since_made;
};

/* By peer, then those that sent most again. */
static int compare_remotes(const void *a, const void *b)
{
	const struct tcp_socket *x = *(const struct tcp_socket *const *)a;
	const struct tcp_socket *y = *(const struct tcp_socket *const *)b;
	int order = memcmp(x->remote.address, y->remote.address, sizeof(x->remote.address));

	if (!order)
		order = (x->remote.port > y->remote.port) - (x->remote.port < y->remote.port);
	return order ? order : (x->again < y->again) - (x->again > y->again);
}

static bool is_same_peer(const struct tcp_socket *a, const struct tcp_socket *b)
{
	return a->remote.port == b->remote.port &&
		!memcmp(a->remote.address, b->remote.address, sizeof(a->remote.address));
}

static void add_peer(struct peer *peers, size_t room, size_t *count, const struct peer *p)
{
	size_t at = *count;

	for (; at && peers[at - 1].again < p->again; at--)
		if (at < room)
			peers[at] = peers[at - 1];
	if (at < room) {
		peers[at] = *p;
		*count += *count < room;
	}
}

/* Up to `room` peers, the worst first. */
static size_t worst_peers(struct arena *a, const struct tcp *t, struct peer *peers, size_t room)
{
	size_t n = 0, count = 0;

	if (!t || !t->count)
		return 0;
	const struct tcp_socket **list = arena_alloc(a, t->count * sizeof(*list));

	for (size_t i = 0; i < t->count; i++)
		if (t->sockets[i].again)
			list[n++] = &t->sockets[i];
	qsort(list, n, sizeof(*list), compare_remotes);
	for (size_t i = 0, k; i < n; i = k) {
		struct peer p = { .s = list[i] };

		for (k = i; k < n && is_same_peer(list[i], list[k]); k++) {
			p.again += list[k]->again;
			p.sockets++;
			p.is_since_made |= list[k]->is_since_made;
		}
		add_peer(peers, room, &count, &p);
	}
	return count;
}

static const char *peers_text(struct arena *a, const struct peer *peers, size_t count)
{
	const char *text = NULL;

	for (size_t i = 0; i < count; i++)
		text = arena_printf(a, "%s%s%s %s%s (%llu socket%s)", text ? text : "",
				    text ? ", " : "",
				    tcp_end_text(a, peers[i].s, &peers[i].s->remote),
				    human_count_u64(a, peers[i].again),
				    peers[i].is_since_made ? " in all" : "",
				    (unsigned long long)peers[i].sockets,
				    peers[i].sockets == 1 ? "" : "s");
	return text;
}

static void add_kinds(struct finding *f, const struct detail *d)
{
	static const enum counter all[] = { TcpExtTCPSynRetrans, TcpExtTCPTimeouts,
		TcpExtTCPFastRetrans, TcpExtTCPSlowStartRetrans };
	static const char *const names[] = { "SYN", "timeouts", "fast", "slow start" };
	uint64_t n[COUNT(all)];
	const char *text;

	for (size_t i = 0; i < COUNT(all); i++)
		n[i] = moved(d, all[i]);
	finding_u64(f, "syn_retransmits", n[0]);
	finding_u64(f, "timeouts", n[1]);
	text = counters_text(f->arena, names, n, COUNT(all));
	finding_line(f, "of %s sent again the peers had %s already, and %s were probes of the "
			"tail%s%s",
		     human_count_u64(f->arena, d->sent_again),
		     human_count_u64(f->arena, or_zero(d->duplicates)),
		     human_count_u64(f->arena, or_zero(d->probes)),
		     text ? "; by kind: " : "", text ? text : "");
}

static void report_retransmits(struct out *out, const struct walk *w, const struct meter *m)
{
	const struct detail *d = m->detail;
	struct peer peers[PEERS_SHOWN] = { { 0 } };

	if (!path_is_over(w, m, RETRANS_MIN, RETRANS_SHARE_MIN))
		return;
	struct arena *a = out_arena(out);
	const size_t count = worst_peers(a, tcp_of(d->s), peers, PEERS_SHOWN);
	const char *subject = count ? tcp_end_text(a, peers[0].s, &peers[0].s->remote) : NULL;
	struct finding *f =
		netpath_finding(out, w, "netpath.tcp-retrans", STATE_NOW, m, subject);

	/* a retransmit that arrives costs a round trip, not a packet */
	f->lost *= 0.2;
	finding_u64(f, "sent_again", d->sent_again);
	finding_u64(f, "duplicates", d->duplicates);
	finding_u64(f, "loss_probes", d->probes);
	finding_line(f, "%s segments sent again (%s, %s of those sent), and no layer that was "
			"looked at lost them", human_count_u64(a, m->own),
		     human_rate(a, rate_of(m->own, w->interval_ns)),
		     human_ratio(a, path_share(w, m)));
	add_kinds(f, d);
	if (count) {
		const struct tcpinfo *i = &peers[0].s->info;

		finding_u64(f, "peer_sent_again", peers[0].again);
		finding_u64(f, "rtt_ns", i->rtt_ns);
		finding_u64(f, "cwnd", i->cwnd);
		finding_line(f, "peers: %s", peers_text(a, peers, count));
	} else {
		finding_line(f, "the sockets are gone, or too many to be looked at");
	}
	finding_next(f, "perfbox netpath%s --retrans 5",
		     netpath_option_of(a, w, w->blocks[m->block].space));
	netpath_finish(out, w, m, f);
}

/* ---- listeners ---- */

/* The one whose drops moved most. */
static const struct sock *worst_listener(const struct detail *d, uint64_t *most)
{
	const struct tcp *now = tcp_of(d->s), *was = d->was ? tcp_of(d->was) : NULL;
	const struct sock *found = NULL;

	*most = 0;
	for (size_t i = 0; now && i < now->listener_count; i++) {
		const struct sock *l = &now->listeners[i];
		uint64_t before = 0;

		for (size_t k = 0; was && k < was->listener_count; k++)
			if (was->listeners[k].cookie == l->cookie)
				before = was->listeners[k].drops;
		if (l->drops - before > *most) {
			*most = l->drops - before;
			found = l;
		}
	}
	return found;
}

/* In triage and compare listenq tells the same, and why. */
static void report_listen(struct out *out, const struct walk *w, const struct meter *m)
{
	const struct detail *d = m->detail;
	const uint64_t overflows = moved(d, TcpExtListenOverflows);
	uint64_t most;

	if (!out_wants_rows(out) || !path_is_over(w, m, LISTEN_MIN, 0) || !is_some(overflows))
		return;
	struct arena *a = out_arena(out);
	const struct sock *l = worst_listener(d, &most);
	const struct tcp_socket as = { .family = l ? l->family : 0 };
	struct finding *f = netpath_finding(out, w, "netpath.listen", STATE_NOW, m,
			l ? arena_printf(a, "%s%s", tcp_end_text(a, &as, &l->local),
					 tcp_owner_text(a, l->inode)) : NULL);

	finding_u64(f, "listen_overflows", overflows);
	finding_u64(f, "socket_drops", l ? most : NA_U64);
	finding_line(f, "%s SYNs dropped: a queue of connections to be accepted was full %s times",
		     human_count_u64(a, m->own), human_count_u64(a, overflows));
	finding_next(f, "perfbox listenq%s 5",
		     netpath_option_of(a, w, w->blocks[m->block].space));
	netpath_finish(out, w, m, f);
}

static void report(struct out *out, struct walk *w)
{
	size_t at = 0;

	for (struct meter *m; (m = path_next(w, LAYER_TCP, &at)); ) {
		const struct detail *d = m->detail;

		if (!d || !is_some(m->own))
			continue;
		if (d->is_listen)
			report_listen(out, w, m);
		else
			report_retransmits(out, w, m);
	}
}

static void stop(void)
{
	sockowner_close();
}

const struct layer layer_tcp = {
	.name = "tcp",
	.read = tcp_read_sockets,
	.compare = compare,
	.report = report,
	.stop = stop,
};
