/*
 * What is wrong, by the thresholds of the man page. A counter of the namespace alone never names a
 * listener: its own drops do.
 */
#include <string.h>

#include "applets/listenq/listenq.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define DROPS_MIN 3
#define NEAR_LIMIT_MIN 16
#define NEAR_POLLS_MIN 3
#define POOL_POLLS_MIN 10
#define GAVE_UP_MIN 3
#define STALL_POLLS_MIN 10
#define DESCRIPTORS_MAX 0.95

const struct finding_kind listenq_findings[] = {
	{ "listenq.accept-overflow", "now",
	  "a listener dropped >= 3 packets while ListenOverflows moved in its namespace, and its "
	  "queue was seen longer than its limit or no other listener there dropped any" },
	{ "listenq.syn-overflow", "now",
	  "a listener dropped SYNs, TCPReqQFullDrop moved, and it has as many half-open "
	  "connections as its limit" },
	{ "listenq.syn-limit", "now",
	  "without SYN cookies a listener dropped >= 3 packets, as many ListenDrops have no other "
	  "counter, and it has >= 3/4 of tcp_max_syn_backlog half-open connections" },
	{ "listenq.near-full", "risk",
	  "a queue with a limit >= 16 was >= 80 % full in 3 polls in a row" },
	{ "listenq.workers-busy", "now",
	  "of >= 2 processes that share a listener no worker was idle in accept or waited for "
	  "events in any of >= 10 polls, and somebody waited to be accepted in all of them" },
	{ "listenq.clients-gave-up", "now",
	  ">= 3 clients sent something, were not accepted, and have closed" },
	{ "listenq.reuseport-stall", "now",
	  "one socket of a SO_REUSEPORT group was >= 90 % full in 10 polls while the median of the "
	  "others was <= 10 %" },
	{ "listenq.final-ack", "now",
	  "with --exact: the kernel dropped the ACK that ends a handshake because the accept queue "
	  "was full (drop reason TCP_LISTEN_OVERFLOW)" },
	{ "listenq.owner-fd-limit", "risk",
	  "a process that has a listener where connections wait or are dropped uses >= 95 % of its "
	  "RLIMIT_NOFILE" },
	{ NULL, NULL, NULL },
};

static const char *finding_netns(struct arena *a, const struct space *s)
{
	return redact_name(a, NAME_CONTAINER, s->ns.name);
}

static const struct space *space_of(const struct listener *l)
{
	return &listenq.now->spaces[l->space];
}

static struct finding *begin(struct out *out, const char *id, enum finding_state state,
			     const struct listener *l)
{
	struct arena *a = out_arena(out);
	const char *local = redact_name(a, NAME_ADDRESS, l->local);
	const char *owner = queue_owner_text(a, l->sock.inode);
	struct finding *f = finding_start(a, listenq_findings, id, state,
					  owner ? arena_printf(a, "%s %s", local, owner) : local);

	f->netns = finding_netns(a, space_of(l));
	return f;
}

static uint64_t known(uint64_t n)
{
	return n == NA_U64 ? 0 : n;
}

static double drop_rate(uint64_t dropped)
{
	return rate_of(dropped, listenq.interval_ns);
}

/* ---- what stands in several of them ---- */

static void add_next(struct finding *f, const struct listener *l)
{
	const struct space *s = space_of(l);
	uint64_t pid = queue_owner_pid(l->sock.inode);
	/* what has no name of its own is found by a process in it */
	const char *where = s->ns.is_own ? "" :
		text_starts(text_of(s->ns.path), "run/netns/") || !s->ns.pid ?
			arena_printf(f->arena, " -N %s", out_shell_word(f->arena, f->netns)) :
			arena_printf(f->arena, " -N %u", s->ns.pid);

	if (pid == NA_U64)
		finding_next(f, "perfbox listenq%s 1", where);
	else
		finding_next(f, "perfbox listenq%s --pid %llu 1", where, (unsigned long long)pid);
}

static void add_limit(struct finding *f, const struct listener *l)
{
	struct arena *a = f->arena;
	uint64_t limit = l->sock.send_queue, somaxconn = space_of(l)->settings[SOMAXCONN_NOW];

	finding_u64(f, "somaxconn", somaxconn);
	if (limit == NA_U64 || somaxconn == NA_U64)
		return;
	finding_line(f, "limit  %s: %s", human_count_u64(a, limit),
		     limit < somaxconn ?
			arena_printf(a, "the application's, or an older cap (somaxconn is %s now)",
				     human_count_u64(a, somaxconn)) :
		     limit > somaxconn ?
			arena_printf(a, "it predates the present somaxconn of %s",
				     human_count_u64(a, somaxconn)) :
			"the application's or somaxconn, which are the same");
}

/* "5 workers ran 3 %, wanted a CPU 60 %" over the time they were looked at */
static void add_time(struct finding *f, const struct pool *p)
{
	struct arena *a = f->arena;

	finding_f64(f, "workers_run_ratio", ratio_of(p->ran_ns, p->span_ns));
	finding_f64(f, "workers_wait_ratio", ratio_of(p->queued_ns, p->span_ns));
	finding_f64(f, "throttled_ratio", ratio_of(p->throttled_ns, p->span_ns));
	if (p->ran_ns == NA_U64 || p->queued_ns == NA_U64 || !p->span_ns || p->span_ns == NA_U64)
		return;
	const char *throttled = known(p->throttled_ns) ?
		arena_printf(a, "; their control group was throttled %s of the time: "
			     "perfbox cpuwait",
			     human_ratio(a, ratio_of(p->throttled_ns, p->span_ns))) : "";

	finding_line(f, "CPU    ran %s, wanted one and had none %s of the time, all together%s",
		     human_ratio(a, ratio_of(p->ran_ns, p->span_ns)),
		     human_ratio(a, ratio_of(p->queued_ns, p->span_ns)), throttled);
}

static void add_owner(struct finding *f, const struct listener *l)
{
	struct arena *a = f->arena;
	const char *threads = queue_owner_threads_text(a, l->sock.inode);
	uint64_t used, limit, pid = queue_owner_descriptors(l->sock.inode, &used, &limit);

	if (threads)
		finding_line(f, "owner  %s%s", threads,
			     pid == NA_U64 ? "" :
			     arena_printf(a, "; %s of %s descriptors", human_count_u64(a, used),
					  human_count_u64(a, limit)));
}

static void add_pool(struct finding *f, const struct listener *l)
{
	struct arena *a = f->arena;
	struct pool p;

	if (!pool_sum(listenq.now, l, &p))
		return;
	finding_u64(f, "workers", p.workers);
	finding_u64(f, "workers_in_accept", p.idle);
	finding_line(f, "polls  %zu process%s in %s: %zu seen in accept, %zu waiting for events, "
		     "%zu always busy or asleep elsewhere", p.workers, p.workers == 1 ? "" : "es",
		     human_count_u64(a, p.polls), p.idle, p.events, p.workers - p.idle - p.events);
	add_time(f, &p);
}

/* ceil(3), which would need another library for this alone. */
static double round_up(double x)
{
	double whole = (double)(int64_t)x;

	return whole < x ? whole + 1 : whole;
}

/* Every worker is busy all the time, so the time each holds a connection is workers / accepted. */
static void add_workers_needed(struct finding *f, const struct pool *p, double accepted, double low,
			       double high)
{
	double hold_s = (double)p->workers / accepted;

	finding_f64(f, "hold_ns", hold_s * 1e9);
	finding_f64(f, "need_low_workers", low * hold_s);
	finding_f64(f, "need_high_workers", high * hold_s);
	finding_line(f,
		     "needs  %.0f to %.0f workers: %.1f/s arrived, %.1f/s with what was dropped "
		     "(retries too), x %s held (%zu busy / %.1f accepted/s)",
		     round_up(low * hold_s), round_up(high * hold_s), low, high,
		     human_ns(f->arena, hold_s * 1e9), p->workers, accepted);
}

/* Arrival rate x hold time, as far as it can be known. */
static void add_need(struct finding *f, const struct listener *l)
{
	const struct place *place = listener_place(listenq.now, l);
	double arrived = place_arrival_rate(listenq.now, place);
	double accepted = place_accept_rate(listenq.now, place);
	double dropped = place->dropped == NA_U64 ? 0 : drop_rate(place->dropped);
	struct pool p;

	finding_f64(f, "arrivals_per_second", arrived);
	finding_f64(f, "accepts_per_second", accepted);
	if (isnan(arrived) || isnan(accepted)) {
		finding_line(f,
			     "needs  arrivals/s x the time a worker holds one, in workers; which "
			     "of this namespace's %s listeners accepted how many --exact tells",
			     human_count_u64(f->arena, space_of(l)->listeners));
		return;
	}
	if (accepted <= 0) {
		finding_line(f,
			     "needs  somebody who accepts: nothing was accepted in %.1f s, and a "
			     "longer queue only fills later",
			     (double)listenq.interval_ns / 1e9);
		return;
	}
	if (pool_sum(listenq.now, l, &p) && !p.idle && !p.events && p.polls) {
		add_workers_needed(f, &p, accepted, arrived, arrived + dropped);
		return;
	}
	finding_line(f, "needs  %.1f to %.1f accepts/s, retries counted in the latter; there are "
		     "%.1f", arrived, arrived + dropped, accepted);
}

/* ---- each of them ---- */

static bool is_overflow(const struct listener *l)
{
	const struct space *s = space_of(l);

	return known(l->dropped) >= DROPS_MIN && known(s->moved[LISTEN_OVERFLOWS]) &&
		(listener_was_over(l) || s->droppers == 1);
}

static void report_overflow(struct out *out, const struct listener *l)
{
	struct arena *a = out_arena(out);
	const struct space *s = space_of(l);
	struct finding *f = begin(out, "listenq.accept-overflow", STATE_NOW, l);
	uint64_t limit = l->sock.send_queue;

	f->lost = drop_rate(l->dropped);
	finding_u64(f, "drops", l->dropped);
	finding_f64(f, "drops_per_second", f->lost);
	finding_u64(f, "queue", l->sock.receive_queue);
	finding_u64(f, "max_queue", listener_max(l));
	finding_u64(f, "limit", limit);
	finding_u64(f, "listen_overflows", s->moved[LISTEN_OVERFLOWS]);
	finding_u64(f, "polls_over_limit", l->polled.polls ? l->polled.over : NA_U64);
	finding_u64(f, "interval_ns", listenq.interval_ns);
	finding_line(f, "%s dropped (%s; SYNs and their retries, last ACKs twice): %s wait to be "
		     "accepted, %s fit; ListenOverflows +%s",
		     human_count_u64(a, l->dropped), human_rate(a, f->lost),
		     human_count_u64(a, l->sock.receive_queue),
		     limit == NA_U64 ? "-" : human_count_u64(a, limit + 1),
		     human_count_u64(a, s->moved[LISTEN_OVERFLOWS]));
	if (s->settings[ABORT_ON_OVERFLOW] == 0)
		finding_line(f, "clients are not told: they wait and try again after 1, 3, 7 s");
	add_limit(f, l);
	add_owner(f, l);
	add_pool(f, l);
	add_need(f, l);
	finding_proof(f, "ss -ltnm%s: %s of %s in the queue, d%llu behind skmem; nstat: "
		      "TcpExtListenOverflows +%s", s->ns.is_own ? "" : " there",
		      human_count_u64(a, l->sock.receive_queue), human_count_u64(a, limit),
		      (unsigned long long)l->sock.drops,
		      human_count_u64(a, s->moved[LISTEN_OVERFLOWS]));
	add_next(f, l);
	out_finding(out, f);
}

static uint64_t unexplained_drops(const struct space *s)
{
	return delta_u64(delta_u64(s->moved[LISTEN_DROPS], known(s->moved[LISTEN_OVERFLOWS])),
			 known(s->moved[SYN_FULL_DROPS]));
}

/* The SYN queue's two limits. NULL: neither. */
static const char *syn_trouble(const struct place *p, const struct space *s)
{
	uint64_t max = s->settings[MAX_SYN_BACKLOG];

	if (p->syn_received == NA_U64 || !known(p->dropped))
		return NULL;
	if (known(s->moved[SYN_FULL_DROPS]) && p->limit != NA_U64 && p->syn_received >= p->limit)
		return "listenq.syn-overflow";
	if (s->settings[SYNCOOKIES] == 0 && p->dropped >= DROPS_MIN &&
	    known(unexplained_drops(s)) >= DROPS_MIN && max != NA_U64 &&
	    p->syn_received >= max - max / 4)
		return "listenq.syn-limit";
	return NULL;
}

static void report_syn(struct out *out, const struct place *p, const char *id)
{
	struct arena *a = out_arena(out);
	const struct listener *l = &listenq.now->listeners[p->first];
	const struct space *s = space_of(l);
	struct finding *f = begin(out, id, STATE_NOW, l);
	bool is_own_limit = !strcmp(id, "listenq.syn-overflow");

	f->lost = drop_rate(p->dropped);
	finding_u64(f, "drops", p->dropped);
	finding_u64(f, "half_open", p->syn_received);
	finding_u64(f, "limit", p->limit);
	finding_u64(f, "tcp_max_syn_backlog", s->settings[MAX_SYN_BACKLOG]);
	finding_u64(f, "tcp_syncookies", s->settings[SYNCOOKIES]);
	finding_u64(f, "syn_queue_full_drops", s->moved[SYN_FULL_DROPS]);
	finding_u64(f, "unexplained_listen_drops", unexplained_drops(s));
	finding_u64(f, "interval_ns", listenq.interval_ns);
	if (is_own_limit)
		finding_line(f, "%s SYNs dropped (%s): %s half-open connections, its limit is %s; "
			     "TCPReqQFullDrop +%s",
			     human_count_u64(a, p->dropped), human_rate(a, f->lost),
			     human_count_u64(a, p->syn_received), human_count_u64(a, p->limit),
			     human_count_u64(a, s->moved[SYN_FULL_DROPS]));
	else
		finding_line(f, "%s SYNs dropped (%s): %s half-open connections, three quarters of "
			     "tcp_max_syn_backlog %s, which is all that peers not seen before may "
			     "have without SYN cookies; no counter of its own",
			     human_count_u64(a, p->dropped), human_rate(a, f->lost),
			     human_count_u64(a, p->syn_received),
			     human_count_u64(a, s->settings[MAX_SYN_BACKLOG]));
	finding_line(f,
		     "needs  to hold arrivals/s x round trip of clients that answer; clients "
		     "that never answer fill any length: tcp_syncookies is %s here",
		     human_count_u64(a, s->settings[SYNCOOKIES]));
	finding_proof(f, "ss -tn state syn-recv: %s to this port; nstat: TcpExtListenDrops +%s",
		      human_count_u64(a, p->syn_received),
		      human_count_u64(a, s->moved[LISTEN_DROPS]));
	add_next(f, l);
	out_finding(out, f);
}

static void report_near_full(struct out *out, const struct listener *l)
{
	struct arena *a = out_arena(out);
	uint64_t limit = l->sock.send_queue;

	if (limit == NA_U64 || limit < NEAR_LIMIT_MIN || l->polled.near_run < NEAR_POLLS_MIN)
		return;
	struct finding *f = begin(out, "listenq.near-full", STATE_RISK, l);

	finding_u64(f, "queue", l->sock.receive_queue);
	finding_u64(f, "max_queue", listener_max(l));
	finding_u64(f, "limit", limit);
	finding_u64(f, "polls_in_a_row", l->polled.near_run);
	finding_u64(f, "polls", l->polled.polls);
	finding_line(f,
		     "up to %s of %s waited to be accepted, %s or more in %s polls in a row of %s",
		     human_count_u64(a, listener_max(l)), human_count_u64(a, limit),
		     human_ratio(a, NEARLY_FULL), human_count_u64(a, l->polled.near_run),
		     human_count_u64(a, l->polled.polls));
	add_limit(f, l);
	add_owner(f, l);
	add_need(f, l);
	finding_proof(f, "ss -l%s: %s of %s now", l->sock.family ? "tn" : "x",
		      human_count_u64(a, l->sock.receive_queue), human_count_u64(a, limit));
	add_next(f, l);
	out_finding(out, f);
}

/* In every poll and now. */
static bool always_waited(const struct listener *l)
{
	return l->polled.polls && l->polled.waiting == l->polled.polls &&
		known(l->sock.receive_queue);
}

/*
 * Not of a SO_REUSEPORT group: its members are often inherited by every worker, each of which
 * accepts on its own alone.
 */
static void report_workers(struct out *out, const struct listener *l)
{
	struct arena *a = out_arena(out);
	struct pool p;

	if (listener_place(listenq.now, l)->count > 1 || !always_waited(l) ||
	    !pool_sum(listenq.now, l, &p) || p.sharing < 2 || p.idle || p.events ||
	    p.polls < POOL_POLLS_MIN)
		return;
	struct finding *f = begin(out, "listenq.workers-busy", STATE_NOW, l);

	f->lost = (double)l->sock.receive_queue;       /* each waits all the time */
	finding_u64(f, "queue", l->sock.receive_queue);
	finding_u64(f, "limit", l->sock.send_queue);
	finding_u64(f, "processes", p.sharing);
	finding_u64(f, "polls", p.polls);
	finding_u64(f, "interval_ns", listenq.interval_ns);
	finding_line(f, "all %zu workers busy: none in accept in any of %s polls, %s wait to be "
		     "accepted", p.workers, human_count_u64(a, p.polls),
		     human_count_u64(a, l->sock.receive_queue));
	add_owner(f, l);
	finding_u64(f, "workers", p.workers);
	finding_u64(f, "workers_in_accept", p.idle);
	add_time(f, &p);
	add_need(f, l);
	finding_proof(f, "/proc/PID/syscall and wchan of the %zu processes that share it; ss -ltn: "
		      "%s in the queue", p.sharing, human_count_u64(a, l->sock.receive_queue));
	add_next(f, l);
	out_finding(out, f);
}

static void report_gave_up(struct out *out, const struct place *p)
{
	struct arena *a = out_arena(out);
	const struct listener *l = &listenq.now->listeners[p->first];

	if (known(p->gave_up) < GAVE_UP_MIN || known(p->queue) < p->gave_up)
		return;
	struct finding *f = begin(out, "listenq.clients-gave-up", STATE_NOW, l);

	f->lost = drop_rate(p->gave_up);
	finding_u64(f, "gave_up", p->gave_up);
	finding_u64(f, "queue", p->queue);
	finding_u64(f, "limit", p->limit);
	finding_line(f,
		     "%s of the %s that wait to be accepted sent a request and have closed since: "
		     "who accepts them works for nobody",
		     human_count_u64(a, p->gave_up), human_count_u64(a, p->queue));
	add_owner(f, l);
	finding_proof(f, "ss -tne state close-wait: %s to this port with ino:0 and Recv-Q above 1",
		      human_count_u64(a, p->gave_up));
	add_next(f, l);
	out_finding(out, f);
}

static bool is_stalled(const struct listener *l)
{
	return listener_place(listenq.now, l)->count > 1 && l->polled.stalled >= STALL_POLLS_MIN;
}

static void report_stall(struct out *out, const struct listener *l)
{
	struct arena *a = out_arena(out);
	const struct place *p = listener_place(listenq.now, l);
	struct finding *f = begin(out, "listenq.reuseport-stall", STATE_NOW, l);
	double drops = l->dropped == NA_U64 ? 0 : drop_rate(l->dropped);

	f->lost = drops + (double)known(l->sock.receive_queue);
	finding_u64(f, "member", (uint64_t)(l - &listenq.now->listeners[p->first]) + 1);
	finding_u64(f, "members", p->count);
	finding_u64(f, "queue", l->sock.receive_queue);
	finding_u64(f, "limit", l->sock.send_queue);
	finding_u64(f, "others_queue", delta_u64(p->queue, l->sock.receive_queue));
	finding_u64(f, "polls_stalled", l->polled.stalled);
	finding_u64(f, "drops", l->dropped);
	finding_line(f,
		     "%s of %s wait at this one of %zu sockets, %s at all others; so in %s of %s "
		     "polls. The kernel goes on sending it 1 in %zu clients",
		     human_count_u64(a, l->sock.receive_queue),
		     human_count_u64(a, l->sock.send_queue), p->count,
		     human_count_u64(a, delta_u64(p->queue, l->sock.receive_queue)),
		     human_count_u64(a, l->polled.stalled), human_count_u64(a, l->polled.polls),
		     p->count);
	add_owner(f, l);
	finding_proof(f, "ss -ltnp: Recv-Q of the %zu sockets on this address", p->count);
	add_next(f, l);
	out_finding(out, f);
}

static void report_final_ack(struct out *out, const struct place *p)
{
	struct arena *a = out_arena(out);
	const struct listener *l = &listenq.now->listeners[p->first];

	if (!known(p->refused))
		return;
	struct finding *f = begin(out, "listenq.final-ack", STATE_NOW, l);

	f->lost = drop_rate(p->refused);
	finding_u64(f, "refused", p->refused);
	finding_u64(f, "arrived", p->arrived);
	finding_u64(f, "queue", p->queue);
	finding_u64(f, "limit", p->limit);
	finding_u64(f, "interval_ns", listenq.interval_ns);
	finding_line(f, "%s times (%s) the ACK that ends a handshake was dropped, the accept queue "
		     "being full: those clients believe they are connected",
		     human_count_u64(a, p->refused), human_rate(a, f->lost));
	add_owner(f, l);
	finding_proof(f, "drop reason TCP_LISTEN_OVERFLOW of tracepoint skb:kfree_skb");
	add_next(f, l);
	out_finding(out, f);
}

/* Only where it can hurt: somebody waited all the time, or was dropped. */
static void report_descriptors(struct out *out, const struct listener *l)
{
	struct arena *a = out_arena(out);
	uint64_t used, limit, pid;

	if (!always_waited(l) && !known(l->dropped))
		return;
	pid = queue_owner_descriptors(l->sock.inode, &used, &limit);
	if (pid == NA_U64 || ratio_of(used, limit) < DESCRIPTORS_MAX)
		return;
	struct finding *f = begin(out, "listenq.owner-fd-limit", STATE_RISK, l);

	finding_u64(f, "pid", pid);
	finding_u64(f, "descriptors", used);
	finding_u64(f, "descriptor_limit", limit);
	finding_u64(f, "queue", l->sock.receive_queue);
	finding_line(f,
		     "process %llu has %s of %s descriptors open: at the limit accept fails with "
		     "EMFILE, and the queue stays",
		     (unsigned long long)pid, human_count_u64(a, used), human_count_u64(a, limit));
	finding_proof(f, "/proc/%llu/fd; Max open files in /proc/%llu/limits",
		      (unsigned long long)pid, (unsigned long long)pid);
	add_next(f, l);
	out_finding(out, f);
}

static void report_place(struct out *out, const struct place *p)
{
	const struct listener *first = &listenq.now->listeners[p->first];
	const char *syn = listener_is_asked(first) ? syn_trouble(p, space_of(first)) : NULL;

	if (syn)
		report_syn(out, p, syn);
	if (listener_is_asked(first)) {
		report_gave_up(out, p);
		report_final_ack(out, p);
	}
	for (size_t i = p->first; i < p->first + p->count; i++) {
		struct listener *l = &listenq.now->listeners[i];

		if (!listener_is_asked(l))
			continue;
		if (is_overflow(l))
			report_overflow(out, l);
		else if (!is_stalled(l))
			report_near_full(out, l);
		if (is_stalled(l))
			report_stall(out, l);
		l->is_cause_unknown = known(l->dropped) >= DROPS_MIN && !is_overflow(l) && !syn;
		report_workers(out, l);
		report_descriptors(out, l);
	}
}

void listenq_report(struct out *out)
{
	if (!listenq.interval_ns)
		return;
	for (size_t i = 0; i < listenq.now->place_count; i++)
		report_place(out, &listenq.now->places[i]);
}
