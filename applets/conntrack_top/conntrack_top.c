/*
 * conntrack-top: how full is the connection tracking table, who fills it, and what is lost to it?
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "applets/conntrack_top/conntrack_top.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/kmsg.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"
#include "common/report/screen.h"

#define INTERVAL_NS 2000000000ull
#define WAIT_SLICE_NS 250000000ull
#define LOG_MAX_AGE_NS (24 * 3600 * 1000000000ull)

struct top top = { .by = BY_SRC };

static struct {
	const char *src, *dst, *protocol, *state, *status, *mark, *netns, *by;
	uint64_t sport, dport, zone;
	bool is_batch, has_no_events;
} asked = { .sport = NA_U64, .dport = NA_U64, .zone = NA_U64 };

static const struct opt options[] = {
	{ 's', "src", "ADDR", "only flows from this source (ADDR or ADDR/BITS)", OPT_TEXT,
	  &asked.src, false, NULL },
	{ 'd', "dst", "ADDR", "only flows to this destination, as before DNAT", OPT_TEXT,
	  &asked.dst, false, NULL },
	{ 'p', "proto", "PROTO", "only this protocol (tcp, udp, icmp ... or its number)", OPT_TEXT,
	  &asked.protocol, false, NULL },
	{ 0, "sport", "PORT", "only flows from this source port", OPT_NUMBER, &asked.sport, false,
	  NULL },
	{ 0, "dport", "PORT", "only flows to this destination port", OPT_NUMBER, &asked.dport,
	  false, NULL },
	{ 0, "state", "STATE",
	  "only flows in this state (TCP: ESTABLISHED, TIME_WAIT ...; others: UNREPLIED, REPLIED, "
	  "ASSURED); findings are chosen so with --statistics only",
	  OPT_TEXT, &asked.state, false, NULL },
	{ 'u', "status", "STATUS", "only flows with this status, whatever their protocol", OPT_TEXT,
	  &asked.status, false, "ASSURED|SEEN_REPLY|UNREPLIED|SRC_NAT|DST_NAT|OFFLOAD" },
	{ 'z', "zone", "ZONE", "only flows of this conntrack zone", OPT_NUMBER, &asked.zone, false,
	  NULL },
	{ 'w', NULL, "ZONE", "the same, as conntrack(8) has it", OPT_NUMBER, &asked.zone, true,
	  NULL },
	{ 'm', "mark", "MARK", "only flows with this mark (MARK or MARK/MASK, decimal or 0x)",
	  OPT_TEXT, &asked.mark, false, NULL },
	{ 'N', "netns", "NETNS", "this network namespace: all, a name, a path or a PID (own)",
	  OPT_TEXT, &asked.netns, false, NULL },
	{ 0, "by", "KEYS",
	  "a row per src, dst, sport, dport, proto, state, zone, mark, netns, nat, or per several "
	  "of them (src)",
	  OPT_TEXT, &asked.by, false, NULL },
	{ 'b', "batch", NULL, "no screen on a terminal: one report after the other", OPT_FLAG,
	  &asked.is_batch, false, NULL },
	{ 0, "no-events", NULL, "do not listen to flows that begin: no NEW/s, no work per flow",
	  OPT_FLAG, &asked.has_no_events, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static struct topk topks[2];
static enum order order;
static bool is_paused, is_frame_wanted;

/* ---- what was asked ---- */

static int parse_hex_or_decimal(struct text t, uint64_t *value)
{
	struct scan s = scan_of(t);
	bool is_hex = scan_literal(&s, "0x");

	return (is_hex ? scan_hex(&s, value) : scan_u64(&s, value)) && s.at == s.end &&
		*value <= UINT32_MAX ? 0 : -EINVAL;
}

static int parse_mark(const char *text, struct flow_filter *f)
{
	const char *slash = strchr(text, '/');
	uint64_t mark, mask = UINT32_MAX;
	struct text first = { text, slash ? (size_t)(slash - text) : strlen(text) };

	if (parse_hex_or_decimal(first, &mark) < 0 ||
	    (slash && parse_hex_or_decimal(text_of(slash + 1), &mask) < 0))
		return fail(EINVAL, "-m: '%s' is not a mark or MARK/MASK", text);
	f->has_mark = true;
	f->mark = (uint32_t)(mark & mask);
	f->mark_mask = (uint32_t)mask;
	return 0;
}

static void set_status(const char *name, struct flow_filter *f)
{
	static const struct {
		const char *name;
		uint32_t mask, status;
	} known[] = {
		{ "ASSURED", FLOW_ASSURED, FLOW_ASSURED },
		{ "SEEN_REPLY", FLOW_SEEN_REPLY, FLOW_SEEN_REPLY },
		{ "UNREPLIED", FLOW_SEEN_REPLY, 0 },
		{ "SRC_NAT", FLOW_SRC_NAT, FLOW_SRC_NAT },
		{ "DST_NAT", FLOW_DST_NAT, FLOW_DST_NAT },
		{ "OFFLOAD", FLOW_OFFLOAD, FLOW_OFFLOAD },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name)) {
			f->status_mask = known[i].mask;
			f->status = known[i].status;
		}
}

static int take_number(const char *what, uint64_t n, bool *has, uint16_t *to)
{
	if (n == NA_U64)
		return 0;
	if (n > UINT16_MAX)
		return fail(EINVAL, "%s: %llu is above 65535", what, (unsigned long long)n);
	*has = true;
	*to = (uint16_t)n;
	return 0;
}

static int parse_filter(struct flow_filter *f)
{
	int err = 0;

	*f = (struct flow_filter){ 0 };
	if (asked.src)
		err = flow_net_parse("-s", asked.src, &f->src);
	if (!err && asked.dst)
		err = flow_net_parse("-d", asked.dst, &f->dst);
	if (!err && asked.src && asked.dst && f->src.family != f->dst.family)
		err = fail(EINVAL, "-s and -d: one is IPv4, the other IPv6");
	if (!err && asked.protocol) {
		err = flow_protocol_find(asked.protocol, &f->protocol);
		f->has_protocol = true;
	}
	if (!err && asked.state) {
		err = flow_state_find(asked.state, &f->state);
		f->has_state = true;
	}
	if (!err && asked.mark)
		err = parse_mark(asked.mark, f);
	if (asked.status)
		set_status(asked.status, f);
	if (!err)
		err = take_number("--sport", asked.sport, &f->has_sport, &f->sport);
	if (!err)
		err = take_number("--dport", asked.dport, &f->has_dport, &f->dport);
	if (!err)
		err = take_number("-z", asked.zone, &f->has_zone, &f->zone);
	return err;
}

static bool has_filter(void)
{
	return asked.src || asked.dst || asked.protocol || asked.state || asked.status ||
		asked.mark || asked.sport != NA_U64 || asked.dport != NA_U64 ||
		asked.zone != NA_U64;
}

static void begin_run(void)
{
	top.looks = 0;
	order = ORDER_FLOWS;
	top.by = BY_SRC;
	is_paused = false;
	for (size_t i = 0; i < 2; i++)
		topk_start(&topks[i], KEYS_MAX);
	top.now = &topks[0];
	top.before = &topks[1];
	top.before_by = 0;
	topk_start(&top.begun, BEGUN_KEYS_MAX);
	topk_start(&top.flood_sources, FLOOD_KEYS_MAX);
	topk_start(&top.flood_targets, FLOOD_KEYS_MAX);
	topk_start(&top.nat, NAT_KEYS_MAX);
}

static int start(int argc, char **argv)
{
	int err = 0;

	begin_run();
	top.dumps = true;
	top.listens = !asked.has_no_events;
	if (argc > 1)
		return fail(EINVAL, "unexpected word '%s'", argv[1]);
	if (asked.by)
		err = by_parse(asked.by, &top.by);
	if (!err)
		err = parse_filter(&top.filter);
	top.has_filter = has_filter();
	return err;
}

static int start_statistics(int argc, char **argv)
{
	begin_run();
	top.dumps = top.listens = false;
	return argc > 1 ? fail(EINVAL, "unexpected word '%s'", argv[1]) : 0;
}

/* ---- a look ---- */

static void tell(struct out *out, const struct space *s)
{
	if (!s->now.is_in_use) {
		if (!shared.quiet && top.dumps)
			out_line(out, s->name, "not in use: the kernel tracks no flows here");
		return;
	}
	show_space(out, s);
	report_space(out, s);
}

static void tell_history(struct out *out, const struct space *s)
{
	const struct {
		const char *name;
		uint64_t now, before;
	} counters[] = {
		{ "drop", s->now.drop, s->before.drop },
		{ "early_drop", s->now.early_drop, s->before.early_drop },
		{ "insert_failed", s->now.insert_failed, s->before.insert_failed },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (s->now.is_in_use && counters[i].now && counters[i].now != NA_U64 &&
		    s->has_before && counters[i].now == counters[i].before)
			out_history(out, "conntrack %s %s since boot%s%s", counters[i].name,
				    human_count(out_arena(out), (double)counters[i].now),
				    strcmp(s->name, "host") ? " in netns " : "",
				    strcmp(s->name, "host") ? s->name : "");
}

/* Messages of the last day; the kernel writes only some of them. */
static void tell_log(struct out *out)
{
	struct kmsg_reader reader;
	struct kmsg_record record;
	struct text content;
	unsigned count = 0;
	uint64_t last_ns = NA_U64;

	if (kmsg_read(&content) < 0)
		return;
	kmsg_start(&reader, src_arena(), content);
	while (kmsg_next(&reader, &record) > 0) {
		uint64_t age_ns = delta_u64(src_frame()->realtime_ns, record.realtime_ns);

		if (record.kind != KMSG_CONNTRACK_FULL || age_ns > LOG_MAX_AGE_NS)
			continue;
		count++;
		last_ns = record.realtime_ns;
	}
	if (count)
		out_history(out, "conntrack table full in the kernel log: %u lines, last %.8sZ",
			    count, out_time(out_arena(out), last_ns) + 11);
}

static void set_footer(void)
{
	screen_footer(arena_printf(src_arena(), " q quit  b by: %s  s sort: %s  space %s",
				   by_text(src_arena(), top.by), order_name(order),
				   is_paused ? "PAUSED, go on" : "pause"));
}

static void tell_host(struct out *out)
{
	struct arena *a = out_arena(out);
	const char *name = src_uname()->host ? redact_name(a, NAME_HOST, src_uname()->host) : "-";
	const char *clock = out_time(a, src_frame()->realtime_ns);
	const char *flows = "no flows dumped";

	if (top.now->total)
		flows = arena_printf(a, "~%s flows by %s: %s keys%s",
				     human_count(a, (double)top.now->total), by_text(a, top.by),
				     human_count(a, (double)top.now->count),
				     top.now->is_exact ? "" :
				     arena_printf(a, ", too many: at most %s too high each",
						  human_count(a, (double)topk_error(top.now))));
	out_host(out, "conntrack-top  %s  %s  %.1f s%s%s", name,
		 strlen(clock) > 19 ? arena_printf(a, "%.8sZ", clock + 11) : "-",
		 (double)top.interval_ns / 1e9, top.dumps ? "  " : "", top.dumps ? flows : "");
}

/* Enters each namespace, and is back when it returns. */
static int look_at(struct out *out, const struct netns_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		int err = netns_enter(&list->items[i]);

		if (err == -ESRCH)
			continue;
		if (err < 0) {
			out_missing(out, "%s: %s", redact_name(src_arena(), NAME_CONTAINER,
							       list->items[i].name), fail_text());
			continue;
		}
		struct space *s = space_of(&list->items[i]);

		read_space(out, &list->items[i], s);
		tell(out, s);
		tell_history(out, s);
		err = netns_leave();
		if (err < 0)
			return err;
	}
	return 0;
}

/* Namespaces that went away take their sockets along. */
static void forget_gone(void)
{
	for (size_t i = 0; i < top.space_count; i++)
		if (top.spaces[i].frame != top.looks + 1 && top.spaces[i].is_listening) {
			flow_events_close(&top.spaces[i].events);
			top.spaces[i].is_listening = false;
		}
}

/* Triage asks for this namespace alone: the limit is the host's, counters are each one's. */
static void tell_unseen(struct out *out)
{
	struct netns_list all;

	if (!asked.netns && !out_wants_rows(out) && netns_select("all", &all) >= 0 &&
	    (all.count > 1 || !all.is_complete))
		out_unseen(out, NETNS_UNSEEN);
}

static int look(struct out *out)
{
	struct topk *before = top.before;
	struct netns_list list;
	int err = netns_select(asked.netns, &list);

	if (err < 0)
		return err;
	if (!list.is_complete && asked.netns && !strcmp(asked.netns, "all"))
		out_missing(out, "some processes can't be looked at: there may be more network "
				 "namespaces");
	tell_unseen(out);
	top.interval_ns = top.looks ? src_frame()->elapsed_ns : 0;
	top.before = top.now;
	top.now = before;
	topk_reset(top.now);
	topk_reset(&top.begun);
	top.begun_all = 0;
	top.has_lost_others = false;
	err = look_at(out, &list);
	if (err < 0)
		return err;
	if (top.has_lost_others)
		out_missing(out, "a dump was disturbed: only the last namespaces' flows are shown");
	forget_gone();
	if (top.looks <= 1)
		tell_log(out);
	tell_host(out);
	show_flows(out, order);
	/* what the next look compares with */
	top.before_by = top.now->total ? top.by : 0;
	top.before_ns = src_frame()->monotonic_ns;
	top.looks++;
	set_footer();
	is_frame_wanted = false;
	return 0;
}

/* ---- between looks ---- */

static int take_key(int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		return -1;
	case 'b':
		top.by = by_next(top.by);
		is_frame_wanted = true;
		break;
	case 's':
		order = (order + 1) % ORDERS;
		is_frame_wanted = true;
		break;
	case ' ':
		is_paused = !is_paused;
		is_frame_wanted = !is_paused;
		break;
	}
	return 0;
}

static void sleep_until(uint64_t due_ns)
{
	struct timespec now, t;

	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t slice_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec +
		WAIT_SLICE_NS;

	if (due_ns > slice_ns)
		due_ns = slice_ns;
	t = (struct timespec){ (time_t)(due_ns / 1000000000), (long)(due_ns % 1000000000) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int wait(uint64_t due_ns)
{
	int ended = 0;

	if (!screen_is_open()) {
		sleep_until(due_ns);
		return src_now_ns() >= due_ns;
	}
	ended = take_key(screen_wait(due_ns));
	if (ended)
		return ended;
	return is_frame_wanted || (!is_paused && src_now_ns() >= due_ns);
}

static bool wants_screen(void)
{
	return !asked.is_batch && shared.count == NA_U64;
}

static void stop(void)
{
	for (size_t i = 0; i < top.space_count; i++) {
		flow_events_close(&top.spaces[i].events);
		free(top.spaces[i].name);
	}
	free(top.spaces);
	for (size_t i = 0; i < 2; i++)
		topk_free(&topks[i]);
	topk_free(&top.begun);
	topk_free(&top.flood_sources);
	topk_free(&top.flood_targets);
	topk_free(&top.nat);
	top = (struct top){ .by = BY_SRC };
}

static const char *first_table(void)
{
	return flow_table.name;
}

/* Flows and namespaces that were left out. */
static const char *narrowed(struct arena *a)
{
	const struct {
		const char *option, *value;
	} given[] = {
		{ "-s", asked.src }, { "-d", asked.dst }, { "-p", asked.protocol },
		{ "--state", asked.state }, { "-u", asked.status }, { "-m", asked.mark },
		{ "-N", asked.netns && strcmp(asked.netns, "all") ? asked.netns : NULL },
	};
	const char *words = NULL;

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].value)
			words = arena_printf(a, "%s%s%s %s", words ? words : "", words ? " " : "",
					     given[i].option, given[i].value);
	if (!words && has_filter())
		words = "some ports or zones";
	return words;
}

static const struct table *const tables[] = { &space_table, &flow_table, NULL };
static const struct mode mode = {
	.operands = "[interval [count]]",
	.opts = options,
	.tables = tables,
	.first_table = first_table,
	.narrowed = narrowed,
	.takes_interval = true,
	.interval_ns = INTERVAL_NS,
	.start = start,
	.look = look,
	.wait = wait,
	.wants_screen = wants_screen,
	.stop = stop,
};

/* What triage runs: it never dumps (which reaps expired entries) and never listens. */
static const struct opt statistics_options[] = {
	{ 'N', "netns", "NETNS", "this network namespace: all, a name, a path or a PID (own)",
	  OPT_TEXT, &asked.netns, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};
static const struct table *const statistics_tables[] = { &space_table, NULL };
static const struct mode statistics_mode = {
	.option = "--statistics",
	.operands = "[interval [count]]",
	.summary = "counts alone: no dump, no events (what triage looks at)",
	.opts = statistics_options,
	.tables = statistics_tables,
	.in_triage = true,
	.takes_interval = true,
	.start = start_statistics,
	.look = look,
	.stop = stop,
};
static const struct mode *const modes[] = { &mode, &statistics_mode, NULL };

const struct applet applet_conntrack_top = {
	.name = "conntrack-top",
	.summary = "how full the connection tracking table is, and who fills it",
	.area = "conntrack",
	.modes = modes,
	.findings = conntrack_findings,
};
