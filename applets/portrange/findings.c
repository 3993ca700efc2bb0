/*
 * What is wrong with the ports. No counter of the kernel moves when they run out, so all of it is
 * worked out from the sockets; when each fires is in the man page.
 */
#include <netinet/in.h>
#include <string.h>

#include "applets/portrange/portrange.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define SOON_NEED_MIN 0.90             /* of the usable ports */
#define SOON_FILL_MIN 0.50
#define TIME_WAIT_MIN 0.70
#define BOUND_MIN 0.25
#define UNCONNECTED_MIN 0.50
#define SEARCH_COSTS_FROM 0.70         /* fill from which connect()'s search is worth a look */

const struct finding_kind portrange_findings[] = {
	{ "portrange.exhausted", "now",
	  "no usable port is left for connections from one address to one address and port, after "
	  "the reuse rules: connect() fails (TCP); or none for any new socket (UDP)" },
	{ "portrange.soon", "risk",
	  "connections in use + rate x hold time (60 s, or tcp_tw_reuse_delay where ports are "
	  "reused) come to >= 90 % of the usable ports, of which >= 50 % are taken already" },
	{ "portrange.time-wait", "risk",
	  "TIME_WAIT holds >= 70 % of the usable ports for one source and destination, and none of "
	  "it may be reused" },
	{ "portrange.tw-overflow", "now",
	  "TCPTimeWaitOverflow moved: connections were closed without TIME_WAIT because "
	  "tcp_max_tw_buckets was reached" },
	{ "portrange.bind-before-connect", "risk",
	  "with --exact: sockets bound before they connected hold >= 25 % of the usable ports "
	  "whatever the destination" },
	{ "portrange.udp-unconnected", "risk",
	  "UDP sockets that are not connected hold >= 50 % of the usable ports, and more than at "
	  "the look before" },
	{ NULL, NULL, NULL },
};

static unsigned long long number(uint64_t n)
{
	return n;
}

/* The namespace's file, for a shell. */
static const char *file_word(struct arena *a, const struct netns *ns)
{
	return out_shell_word(a, arena_printf(a, "/%s", ns->path));
}

/* "ss" as it must be called to see that namespace. */
static const char *ss_in(struct arena *a, const struct space *s)
{
	if (s->ns->is_own)
		return "ss";
	return s->ns->path && !redact_is_on() ?
		arena_printf(a, "nsenter --net=%s ss", file_word(a, s->ns)) :
		"ss (in that namespace)";
}

/* How to ask for that namespace alone. */
static const char *own_option(struct arena *a, const struct space *s)
{
	const struct netns *ns = s->ns;

	if (ns->is_own)
		return "";
	if (ns->path && !strncmp(ns->path, "run/netns/", 10))
		return arena_printf(a, " -N %s", out_shell_word(a, redact_name(a, NAME_CONTAINER,
									       ns->name)));
	if (ns->pid)
		return arena_printf(a, " -N %u", ns->pid);
	return ns->path && !redact_is_on() ? arena_printf(a, " -N %s", file_word(a, ns)) :
		" -N all";
}

static struct finding *start(struct out *out, const char *id, enum finding_state state,
			     const struct space *s, const char *subject)
{
	struct arena *a = out_arena(out);
	struct finding *f = finding_start(a, portrange_findings, id, state, subject);

	f->netns = redact_name(a, NAME_CONTAINER, s->ns->name);
	return f;
}

/* ---- one source and destination ---- */

static bool is_of_tuple(const struct sock *s, const void *arg)
{
	const struct tuple *t = arg;
	const struct space *space = &portrange.spaces[t->key.space];
	struct tuple_key key;

	tuple_key_of(s, t->key.space, &key);
	return !memcmp(&key, &t->key, sizeof(key)) && s->local.port >= space->ports.low &&
		s->local.port <= space->ports.high;
}

static const char *hold_text(struct arena *a, const struct outlook *o)
{
	return o->is_reused ? human_ns(a, (double)o->hold_ns) : "60 s";
}

static const char *reuse_text(struct arena *a, const struct space *s, const struct outlook *o)
{
	if (o->is_reused)
		return arena_printf(a, "reused after %s: tcp_tw_reuse is %llu",
				    hold_text(a, o), number(s->reuse));
	if (s->timestamps == 0)
		return "held for 60 s: without tcp_timestamps none is reused";
	return arena_printf(a, "held for 60 s: tcp_tw_reuse is %llu%s", number(s->reuse),
			    s->reuse == 2 ? ", loopback only" : "");
}

static void add_tuple_evidence(struct finding *f, const struct tuple *t, const struct outlook *o)
{
	const struct space *s = &portrange.spaces[t->key.space];

	finding_u64(f, "usable", o->usable);
	finding_u64(f, "free", o->free);
	finding_f64(f, "fill_ratio", o->fill_ratio);
	finding_u64(f, "established", t->established);
	finding_u64(f, "time_wait", t->time_wait);
	finding_u64(f, "closing", t->closing);
	finding_u64(f, "syn_sent", t->syn_sent);
	finding_u64(f, "reusable", t->reusable);
	finding_u64(f, "held_whatever_destination", s->whole_ports);
	finding_f64(f, "connects_per_second", o->connects_per_second);
	finding_u64(f, "hold_ns", o->hold_ns);
	finding_f64(f, "need_ports", o->need_ports);
	finding_f64(f, "left_ns", o->left_ns);
	finding_u64(f, "interval_ns", portrange.interval_ns);
}

static void add_state_line(struct arena *a, struct finding *f, const struct tuple *t,
			   const struct outlook *o, const char *consequence)
{
	const struct space *s = &portrange.spaces[t->key.space];

	finding_line(f, "%s of %s usable ports taken (%s)%s",
		     human_count(a, (double)(o->usable - o->free)),
		     human_count(a, (double)o->usable), human_ratio(a, o->fill_ratio), consequence);
	finding_line(f, "ports  %u established, %u TIME_WAIT, %u closing, %u unanswered%s",
		     t->established, t->time_wait, t->closing, t->syn_sent,
		     s->whole_ports ? arena_printf(a, "; %llu held whatever the destination",
						   number(s->whole_ports)) : "");
	if (t->time_wait)
		finding_line(f, "TIME_WAIT is %s", reuse_text(a, s, o));
}

static void add_holders(struct arena *a, struct finding *f, const struct tuple *t)
{
	const char *holders = portrange_holders(a, &portrange.spaces[t->key.space], IPPROTO_TCP,
					   is_of_tuple, t);

	if (!holders)
		return;
	finding_text(f, "holders", NAME_PLAIN, holders);
	finding_line(f, "owners %s", holders);
}

static void add_need(struct arena *a, struct finding *f, const struct outlook *o)
{
	if (!(o->need_ports > 0))
		return;
	finding_line(f, "needs  %s%s in use + %s closed here x %s = %s ports",
		     o->free ? "" : "at least ", human_count(a, (double)o->active),
		     human_rate(a, o->holds_per_second), hold_text(a, o),
		     human_count(a, o->need_ports));
}

static void add_search(struct finding *f, const struct outlook *o)
{
	if (o->fill_ratio >= SEARCH_COSTS_FROM)
		finding_line(f, "search connect() tries port after port; in perfbox flamefold: "
				"inet_hash_connect, __inet_check_established");
}

static struct finding *start_tuple(struct out *out, const char *id, enum finding_state state,
				   const struct tuple *t)
{
	struct arena *a = out_arena(out);
	const char *from = redact_name(a, NAME_ADDRESS, tuple_source(a, &t->key));
	const char *to = redact_name(a, NAME_ADDRESS, tuple_destination(a, &t->key));

	return start(out, id, state, &portrange.spaces[t->key.space],
		     arena_printf(a, "%s -> %s", from, to));
}

static void finish_tuple(struct out *out, struct finding *f, const struct tuple *t)
{
	struct arena *a = out_arena(out);
	const struct space *s = &portrange.spaces[t->key.space];
	const char *address = redact_name(a, NAME_ADDRESS, tuple_address(a, &t->key));

	finding_proof(f,
		      "%s -Htan src %s dst %s; ip_local_port_range, ip_local_reserved_ports",
		      ss_in(a, s), redact_name(a, NAME_ADDRESS, tuple_source(a, &t->key)),
		      redact_name(a, NAME_ADDRESS, tuple_destination(a, &t->key)));
	finding_next(f, "perfbox portrange%s -d %s --dport %u 1", own_option(a, s), address,
		     t->key.port);
	out_finding(out, f);
}

static void report_exhausted(struct out *out, const struct tuple *t, const struct outlook *o)
{
	struct arena *a = out_arena(out);
	struct finding *f = start_tuple(out, "portrange.exhausted", STATE_NOW, t);

	f->lost = 1;
	add_tuple_evidence(f, t, o);
	add_state_line(a, f, t, o, ": connect() fails (EADDRNOTAVAIL)");
	add_need(a, f, o);
	add_holders(a, f, t);
	add_search(f, o);
	finish_tuple(out, f, t);
}

static void report_soon(struct out *out, const struct tuple *t, const struct outlook *o)
{
	struct arena *a = out_arena(out);
	struct finding *f = start_tuple(out, "portrange.soon", STATE_RISK, t);
	const char *when = isnan(o->left_ns) ? "" :
		arena_printf(a, ", full in %s at %+.1f/s", human_ns(a, o->left_ns),
			     o->growth_per_second);

	f->lost = o->fill_ratio;
	add_tuple_evidence(f, t, o);
	add_state_line(a, f, t, o, when);
	add_need(a, f, o);
	add_holders(a, f, t);
	add_search(f, o);
	finish_tuple(out, f, t);
}

static void report_time_wait(struct out *out, const struct tuple *t, const struct outlook *o)
{
	struct arena *a = out_arena(out);
	struct finding *f = start_tuple(out, "portrange.time-wait", STATE_RISK, t);

	f->lost = ratio_of(t->time_wait, o->usable);
	add_tuple_evidence(f, t, o);
	finding_line(f, "%u of %s usable ports (%s) in TIME_WAIT, closed first by this side",
		     t->time_wait, human_count(a, (double)o->usable), human_ratio(a, f->lost));
	finding_line(f, "TIME_WAIT is %s; tcp_fin_timeout does not change that",
		     reuse_text(a, &portrange.spaces[t->key.space], o));
	add_need(a, f, o);
	finish_tuple(out, f, t);
}

static void report_tuple(struct out *out, const struct tuple *t)
{
	struct outlook o;

	tuple_outlook(t, &o);
	if (!o.usable)
		return;
	if (!o.free)
		report_exhausted(out, t, &o);
	else if (o.fill_ratio >= SOON_FILL_MIN &&
		 o.need_ports >= SOON_NEED_MIN * (double)o.usable)
		report_soon(out, t, &o);
	if (!o.is_reused && t->time_wait >= TIME_WAIT_MIN * (double)o.usable)
		report_time_wait(out, t, &o);
}

/* ---- a namespace ---- */

static void report_overflow(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	uint64_t moved = delta_u64(s->overflows, s->overflows_before);

	if (moved == NA_U64 || !moved)
		return;
	struct finding *f = start(out, "portrange.tw-overflow", STATE_NOW, s, "TIME_WAIT");

	f->lost = 0.2 * rate_of(moved, portrange.interval_ns);
	finding_u64(f, "overflows", moved);
	finding_u64(f, "time_wait", s->sockets.tcp_time_wait);
	finding_u64(f, "time_wait_max", s->time_wait_max);
	finding_u64(f, "interval_ns", portrange.interval_ns);
	finding_line(f,
		     "%s connections closed without TIME_WAIT: %s are in it, tcp_max_tw_buckets %s",
		     human_count(a, (double)moved),
		     human_count(a, (double)s->sockets.tcp_time_wait),
		     human_count(a, (double)s->time_wait_max));
	finding_line(f, "that limit is the table's, servers' included: ports may be plenty");
	finding_proof(f,
		      "TCPTimeWaitOverflow +%llu in /proc/net/netstat; tw in /proc/net/sockstat; "
		      "tcp_max_tw_buckets",
		      number(moved));
	finding_next(f, "perfbox portrange%s --json --table totals 1 1", own_option(a, s));
	out_finding(out, f);
}

static const char *range_text(struct arena *a, const struct space *s, const char *protocol)
{
	return arena_printf(a, "%s %llu-%llu", protocol, number(s->ports.low),
			    number(s->ports.high));
}

static bool is_bound_holder(const struct sock *s, const void *arg)
{
	const struct space *space = arg;

	return port_set_has(space->bound, s->local.port);
}

static void report_bound(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	double share = ratio_of(s->bound_ports, s->ports.count);

	if (!s->is_exact || !(share >= BOUND_MIN))
		return;
	struct finding *f = start(out, "portrange.bind-before-connect", STATE_RISK, s,
				  range_text(a, s, "tcp"));

	f->lost = share;
	finding_u64(f, "bound", s->bound_ports);
	finding_u64(f, "usable", s->ports.count);
	finding_u64(f, "listening", s->listening_ports);
	finding_line(f,
		     "%s of %s usable ports (%s) held whatever the destination, by sockets bound "
		     "before they connected",
		     human_count(a, (double)s->bound_ports),
		     human_count(a, (double)s->ports.count), human_ratio(a, share));
	finding_line(f, "IP_BIND_ADDRESS_NO_PORT before bind() takes an address and no port");
	const char *holders = portrange_holders(a, s, IPPROTO_TCP, is_bound_holder, s);

	if (holders) {
		finding_text(f, "holders", NAME_PLAIN, holders);
		finding_line(f, "owners %s", holders);
	}
	finding_proof(f, "fastreuse of the sockets' icsk_bind_hash is not negative (BPF): "
			 "__inet_hash_connect passes such ports over");
	finding_next(f, "perfbox portrange%s --exact 1", own_option(a, s));
	out_finding(out, f);
}

static bool is_udp_holder(const struct sock *s, const void *arg)
{
	const struct space *space = arg;

	return s->local.port >= space->ports.low && s->local.port <= space->ports.high;
}

static void add_udp(struct out *out, struct finding *f, const struct space *s)
{
	struct arena *a = out_arena(out);
	const char *holders = portrange_holders(a, s, IPPROTO_UDP, is_udp_holder, s);

	finding_u64(f, "unconnected", s->unconnected_ports);
	finding_u64(f, "used", s->udp_ports);
	finding_u64(f, "usable", s->ports.count);
	finding_u64(f, "interval_ns", portrange.interval_ns);
	if (holders) {
		finding_text(f, "holders", NAME_PLAIN, holders);
		finding_line(f, "owners %s", holders);
	}
	finding_proof(f, "%s -Huan; ip_local_port_range, ip_local_reserved_ports", ss_in(a, s));
	finding_next(f, "perfbox portrange%s -u 1", own_option(a, s));
	out_finding(out, f);
}

static void report_udp(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	const char *subject = range_text(a, s, "udp"), *usable = human_count(a, s->ports.count);
	bool is_growing = s->had_udp && s->unconnected_ports > s->unconnected_before;

	if (!s->has_udp || !s->ports.count)
		return;
	if (s->udp_ports == s->ports.count) {
		struct finding *f = start(out, "portrange.exhausted", STATE_NOW, s, subject);

		f->lost = 1;
		finding_line(f,
			     "all %s usable ports taken, %s by unconnected sockets: a new one gets "
			     "none (EAGAIN, EADDRINUSE)",
			     usable, human_count(a, (double)s->unconnected_ports));
		add_udp(out, f, s);
	}
	if (!is_growing ||
	    ratio_of(s->unconnected_ports, s->ports.count) < UNCONNECTED_MIN)
		return;
	struct finding *f = start(out, "portrange.udp-unconnected", STATE_RISK, s, subject);
	uint64_t grown = s->unconnected_ports - s->unconnected_before;

	f->lost = ratio_of(s->unconnected_ports, s->ports.count);
	finding_u64(f, "grown", grown);
	finding_line(f,
		     "%s of %s usable ports (%s) held by unconnected sockets, %s more than %s ago",
		     human_count(a, (double)s->unconnected_ports), usable, human_ratio(a, f->lost),
		     human_count(a, (double)grown), human_ns(a, (double)portrange.interval_ns));
	add_udp(out, f, s);
}

void portrange_report(struct out *out)
{
	for (size_t i = 0; i < portrange.tuple_count; i++) {
		const struct tuple *t = &portrange.tuples[i];

		if (portrange.spaces[t->key.space].ns && tuple_is_there(t))
			report_tuple(out, t);
	}
	for (size_t i = 0; i < portrange.space_count && portrange_is_open(); i++) {
		const struct space *s = &portrange.spaces[i];

		if (!s->ns)
			continue;
		if (s->ns->is_own && s->overflows && s->overflows != NA_U64)
			out_history(out, "TCPTimeWaitOverflow %s since boot",
				    human_count(out_arena(out), (double)s->overflows));
		report_overflow(out, s);
		report_bound(out, s);
		report_udp(out, s);
	}
}
