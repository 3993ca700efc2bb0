/* When conntrack-top says that something is wrong: the man page lists the same conditions. */
#include <string.h>

#include "applets/conntrack_top/conntrack_top.h"
#include "common/kernel/netcount.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define FULL_SLACK 1000                /* full: within max / 1000 of it */
#define EARLY_DROP_MIN 10
#define NEAR_FULL_MIN 0.90
#define GROWING_MIN 0.75
#define HOUR_NS 3600000000000ull
#define FLOOD_FILL_MIN 0.50
#define FLOOD_UNREPLIED_MIN 0.50
#define FLOOD_KEY_MIN 0.50
#define CLASH_MIN 10
#define CLASH_SHARE_MIN 0.001
#define CHAIN_MIN 8
#define INVALID_PER_SECOND_MIN 100
#define INVALID_SHARE_MIN 0.01
#define SNAT_PORTS_MIN 10              /* a rule with fewer means to use them all */
#define SNAT_RISK_MIN 0.85
#define SNAT_NOW_MIN 0.99

const struct finding_kind conntrack_findings[] = {
	{ "conntrack-top.full", "now",
	  "drop moved more than insert_failed while count was at max (less 0.1 %)" },
	{ "conntrack-top.early-drop", "now", "early_drop moved by >= 10" },
	{ "conntrack-top.near-full", "risk",
	  "count >= 90 % of max; or >= 75 % and at most an hour to max at the count's growth; "
	  "not when one of the two above says more" },
	{ "conntrack-top.unassured-flood", "risk",
	  "count >= 50 % of max, >= 50 % of the flows dumped are unreplied, and one source or one "
	  "destination has >= 50 % of those (needs the dump, without filters)" },
	{ "conntrack-top.clash", "now",
	  "insert_failed, without chains too long and not more than drop, moved by >= 10 and "
	  ">= 0.1 % of the new flows (where these aren't counted: of all packets)" },
	{ "conntrack-top.invalid", "now",
	  "invalid moved by >= 100/s and >= 1 % of all packets, and the counter of an nftables "
	  "rule that drops invalid packets alone moved" },
	{ "conntrack-top.long-chains", "now, risk",
	  "chaintoolong moved; average chain (2 x count / buckets) >= 8" },
	{ "portrange.snat", "now, risk",
	  "one SNAT address has >= 85 % of its ports in use to one destination (64,512, unless "
	  "nftables rules agree on another range, of 10 or more); now: >= 99 % and insert_failed "
	  "moved (needs the dump, without filters)" },
	{ NULL, NULL, NULL },
};

static uint64_t moved(const struct space *s, uint64_t now, uint64_t before)
{
	return s->has_before ? conntrack_moved(now, before) : NA_U64;
}

/* Unknown is none. */
static uint64_t moved_surely(const struct space *s, uint64_t now, uint64_t before)
{
	uint64_t n = moved(s, now, before);

	return n == NA_U64 ? 0 : n;
}

static uint64_t drops(const struct space *s)
{
	return moved_surely(s, s->now.drop, s->before.drop);
}

static uint64_t failures(const struct space *s)
{
	return moved_surely(s, s->now.insert_failed, s->before.insert_failed);
}

static struct finding *start(struct out *out, const struct space *s, const char *id,
			     enum finding_state state, const char *subject)
{
	struct finding *f = finding_start(out_arena(out), conntrack_findings, id, state, subject);

	f->netns = arena_strdup(out_arena(out), s->name);
	finding_u64(f, "count", s->now.count);
	finding_u64(f, "max", s->now.max);
	return f;
}

static const char *netns_word(struct arena *a, const struct space *s)
{
	return strcmp(s->name, "host") ? arena_printf(a, " -N %s", out_shell_word(a, s->name)) :
		"";
}

/* ---- what is needed ---- */

/* Seconds an entry lives: by Little's law from the count, and what those dumped have left; false:
 * neither is known. */
static bool lifetimes(const struct space *s, double *low, double *high)
{
	double by_rate = s->begun_per_second >= 1 ? (double)s->now.count / s->begun_per_second :
		NA_F64;
	double left = s->has_dump && s->timeouts ? (double)s->timeout_s / (double)s->timeouts :
		NA_F64;

	*low = isnan(left) || by_rate < left ? by_rate : left;
	*high = isnan(left) || by_rate > left ? by_rate : left;
	return !isnan(*low);
}

static double rounded(double x)
{
	return (double)(uint64_t)(x + 0.5);
}

/* "3 to 5", or "3" where both read the same */
static const char *span(struct arena *a, const char *low, const char *high)
{
	return strcmp(low, high) ? arena_printf(a, "%s to %s", low, high) : low;
}

static void add_need(struct arena *a, struct finding *f, const struct space *s, double lost)
{
	uint64_t known = conntrack_entry_bytes(), bytes = known;
	double low, high, rate = s->begun_per_second + lost;

	if (bytes == NA_U64)
		bytes = ENTRY_BYTES_ASSUMED;
	const char *each = arena_printf(a, "%s%s", known == NA_U64 ? "an assumed " : "",
					human_count_u64(a, bytes));

	if (s->now.count == NA_U64 || !(rate >= 1) || !lifetimes(s, &low, &high)) {
		finding_line(f, "needs  more than %s entries; the rate of new flows is not known",
			     human_count_u64(a, s->now.max));
		return;
	}
	const double held = (double)s->now.count;
	double need_low = rate * low, need_high = rate * high;
	const char *rates = lost > 0 ? arena_printf(a, "(%s new + %s lost)",
						    human_rate(a, s->begun_per_second),
						    human_rate(a, lost)) :
		arena_printf(a, "%s new", human_rate(a, rate));
	const char *sum = arena_printf(
		a, "%s x %s s = %s entries", rates,
		span(a, human_count(a, rounded(low)), human_count(a, rounded(high))),
		span(a, human_count(a, rounded(need_low)), human_count(a, rounded(need_high))));

	/* what is there now is needed, whatever the rates say */
	finding_line(f, "needs  %s%s", sum,
		     need_low < held ? arena_printf(a, "; not less than the %s of now",
						    human_count_u64(a, s->now.count)) : "");
	if (need_low < held)
		need_low = held;
	if (need_high < need_low)
		need_high = need_low;
	finding_f64(f, "new_per_second", s->begun_per_second);
	finding_f64(f, "need_low", need_low);
	finding_f64(f, "need_high", need_high);
	finding_u64(f, "entry_bytes", bytes);
	finding_line(f, "memory %s at %s bytes each%s",
		     span(a, human_bytes(a, need_low * (double)bytes),
			  human_bytes(a, need_high * (double)bytes)), each,
		     lost > 0 ? "; what was lost may have been retries" : "");
}

static void add_where(struct finding *f)
{
	finding_line(f, "max    one number for the host, set in the initial namespace; each "
		     "namespace has its own count");
}

/* ---- full ---- */

static bool is_at_max(const struct space *s)
{
	return s->now.count != NA_U64 && s->now.max != NA_U64 &&
		s->now.count + s->now.max / FULL_SLACK >= s->now.max;
}

static bool is_full(const struct space *s)
{
	return drops(s) > failures(s) && is_at_max(s);
}

static void report_full(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	uint64_t dropped = drops(s), failed = failures(s);

	if (!is_full(s))
		return;
	struct finding *f = start(out, s, "conntrack-top.full", STATE_NOW, "nf_conntrack");
	double lost = rate_of(dropped - failed, top.interval_ns);

	f->lost = lost;
	finding_u64(f, "drop", dropped);
	finding_u64(f, "insert_failed", failed);
	finding_u64(f, "interval_ns", top.interval_ns);
	finding_line(f, "%s of %s entries; %s packets dropped (%s): nothing could be evicted",
		     human_count_u64(a, s->now.count), human_count_u64(a, s->now.max),
		     human_count_u64(a, dropped - failed), human_rate(a, lost));
	if (s->has_dump && s->dump.flows)
		finding_line(f, "holds  %s assured, %s unreplied of ~%s flows",
			     human_count_u64(a, s->assured), human_count_u64(a, s->unreplied),
			     human_count_u64(a, s->dump.flows));
	add_need(a, f, s, lost);
	add_where(f);
	finding_proof(f, "drop +%s in /proc/net/stat/nf_conntrack; "
		      "/proc/sys/net/netfilter/nf_conntrack_count and _max",
		      human_count_u64(a, dropped));
	finding_next(f, "perfbox conntrack-top%s --by src,dst,dport", netns_word(a, s));
	out_finding(out, f);
}

static bool has_early_drops(const struct space *s)
{
	return moved_surely(s, s->now.early_drop, s->before.early_drop) >= EARLY_DROP_MIN;
}

static void report_early_drop(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	uint64_t evicted = moved_surely(s, s->now.early_drop, s->before.early_drop);

	if (!has_early_drops(s))
		return;
	struct finding *f = start(out, s, "conntrack-top.early-drop", STATE_NOW, "nf_conntrack");

	f->lost = rate_of(evicted, top.interval_ns);
	finding_u64(f, "early_drop", evicted);
	finding_u64(f, "interval_ns", top.interval_ns);
	finding_line(f, "%s unassured flows thrown out to make room (%s); count %s of %s",
		     human_count_u64(a, evicted), human_rate(a, f->lost),
		     human_count_u64(a, s->now.count), human_count_u64(a, s->now.max));
	add_need(a, f, s, 0);
	add_where(f);
	finding_proof(f, "early_drop +%s in /proc/net/stat/nf_conntrack",
		      human_count_u64(a, evicted));
	finding_next(f, "perfbox conntrack-top%s -u UNREPLIED", netns_word(a, s));
	out_finding(out, f);
}

static void report_near_full(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	double fill = space_fill(s), growth = space_growth(s);
	uint64_t left_ns = space_full_in_ns(s);

	if (is_full(s) || has_early_drops(s))
		return;
	if (!(fill >= NEAR_FULL_MIN) &&
	    !(fill >= GROWING_MIN && left_ns != NA_U64 && left_ns <= HOUR_NS))
		return;
	struct finding *f = start(out, s, "conntrack-top.near-full", STATE_RISK, "nf_conntrack");

	finding_f64(f, "fill_ratio", fill);
	finding_f64(f, "growth_per_second", growth);
	finding_u64(f, "full_in_ns", left_ns);
	finding_line(f, "%s of %s entries (%s)%s", human_count_u64(a, s->now.count),
		     human_count_u64(a, s->now.max), human_ratio(a, fill),
		     left_ns == NA_U64
			     ? ""
			     : arena_printf(a, "; full in %s at %s", human_ns(a, (double)left_ns),
					    human_rate(a, growth)));
	finding_line(f, "expired entries count until reaped; from 95 %% on the kernel evicts "
		     "unassured ones unseen");
	add_need(a, f, s, 0);
	add_where(f);
	finding_proof(f, "/proc/sys/net/netfilter/nf_conntrack_count and _max");
	finding_next(f, "perfbox conntrack-top%s --by src", netns_word(a, s));
	out_finding(out, f);
}

/* ---- chains and clashes ---- */

static uint64_t chain_failures(const struct space *s)
{
	return moved_surely(s, s->now.chain_too_long, s->before.chain_too_long);
}

static void report_long_chains(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	uint64_t failed = chain_failures(s);
	double chain = space_chain(s);

	if (!failed && !(chain >= CHAIN_MIN))
		return;
	struct finding *f = start(out, s, "conntrack-top.long-chains",
				  failed ? STATE_NOW : STATE_RISK, "nf_conntrack");

	f->lost = failed ? rate_of(failed, top.interval_ns) : 0;
	finding_u64(f, "chain_too_long", failed);
	finding_u64(f, "buckets", s->now.buckets);
	finding_f64(f, "average_chain", chain);
	if (failed)
		finding_line(f, "%s flows not added: their hash chain was too long",
			     human_count_u64(a, failed));
	finding_line(f, "average chain 2 x %s / %s buckets = %.1f by this namespace's entries",
		     human_count_u64(a, s->now.count), human_count_u64(a, s->now.buckets), chain);
	if (chain >= CHAIN_MIN)
		finding_line(f, "needs  %s buckets of 8 bytes for chains of 2 "
			     "(nf_conntrack_buckets)", human_count_u64(a, s->now.count));
	finding_proof(f, "chainlength in /proc/net/stat/nf_conntrack; nf_conntrack_count and "
		      "_buckets in /proc/sys/net/netfilter");
	out_finding(out, f);
}

/* Packets of all kinds, read at both ends; each new flow has at least one. */
static uint64_t packets_now(void)
{
	struct text t;
	uint64_t v4, v6 = 0;

	if (src_read("proc/net/snmp", &t) < 0)
		return NA_U64;
	v4 = sum_u64(netcount_find(t, "Ip", "InReceives"), netcount_find(t, "Ip", "OutRequests"));
	if (src_read("proc/net/snmp6", &t) >= 0)
		v6 = sum_u64(netcount_find(t, NULL, "Ip6InReceives"),
			     netcount_find(t, NULL, "Ip6OutRequests"));
	return sum_u64(v4, v6);
}

void space_read_packets(struct space *s)
{
	s->packets_before = s->packets;
	s->packets = packets_now();
}

static void report_clash(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	uint64_t failed = failures(s), chains = chain_failures(s), lost = drops(s);
	bool has_begun = s->is_listening && !s->begun_is_old && !is_na_f64(s->begun_per_second);
	uint64_t packets = s->has_before ? delta_u64(s->packets, s->packets_before) : NA_U64;
	double all = has_begun ? s->begun_per_second * (double)top.interval_ns / 1e9 :
		packets == NA_U64 ? NA_F64 : (double)packets;

	failed = failed > chains ? failed - chains : 0;
	lost = lost < failed ? lost : failed;
	if (lost < CLASH_MIN || !((double)lost >= CLASH_SHARE_MIN * all))
		return;
	struct finding *f = start(out, s, "conntrack-top.clash", STATE_NOW, "nf_conntrack");

	f->lost = rate_of(lost, top.interval_ns);
	finding_u64(f, "insert_failed", failures(s));
	finding_u64(f, "drop", drops(s));
	finding_f64(f, has_begun ? "new" : "packets", all);
	finding_u64(f, "interval_ns", top.interval_ns);
	finding_line(f, "%s packets dropped (%s): another flow had their tuple; %s %s meanwhile",
		     human_count_u64(a, lost), human_rate(a, f->lost), human_count(a, all),
		     has_begun ? "flows began" : "packets went");
	finding_line(f,
		     "not full: %s of %s; SNAT without a free port, or two packets of a socket "
		     "at once (DNS)",
		     human_count_u64(a, s->now.count), human_count_u64(a, s->now.max));
	finding_proof(f, "insert_failed +%s, drop +%s in /proc/net/stat/nf_conntrack",
		      human_count_u64(a, failures(s)), human_count_u64(a, drops(s)));
	finding_next(f, "perfbox conntrack-top%s --by nat,dst,dport -u SRC_NAT", netns_word(a, s));
	out_finding(out, f);
}

/* By counting rules, in the interval; before the first invalid packet they had counted none. */
static uint64_t invalid_dropped(const struct space *s)
{
	uint64_t before = s->rules_before.is_known ? s->rules_before.invalid_dropped : NA_U64;

	if (s->has_before && s->before.invalid == 0)
		before = 0;
	if (!s->rules.is_known || before == NA_U64 || s->rules.invalid_dropped < before)
		return 0;
	return s->rules.invalid_dropped - before;
}

static void report_invalid(struct out *out, const struct space *s)
{
	struct arena *a = out_arena(out);
	uint64_t invalid = moved_surely(s, s->now.invalid, s->before.invalid);
	uint64_t packets = s->has_before ? delta_u64(s->packets, s->packets_before) : NA_U64;
	uint64_t dropped = invalid_dropped(s);

	if (!dropped || !(rate_of(invalid, top.interval_ns) >= INVALID_PER_SECOND_MIN) ||
	    !(ratio_of(invalid, packets) >= INVALID_SHARE_MIN))
		return;
	struct finding *f = start(out, s, "conntrack-top.invalid", STATE_NOW, "nf_conntrack");

	f->lost = rate_of(dropped, top.interval_ns);
	finding_u64(f, "invalid", invalid);
	finding_u64(f, "dropped", dropped);
	finding_u64(f, "packets", packets);
	finding_u64(f, "interval_ns", top.interval_ns);
	finding_line(f, "%s packets belonged to no flow (%s, %s of all); a rule dropped %s",
		     human_count_u64(a, invalid), human_rate(a, rate_of(invalid, top.interval_ns)),
		     human_ratio(a, ratio_of(invalid, packets)), human_count_u64(a, dropped));
	finding_line(f, "they come late (after the flow's end), out of window, or one way only "
		     "(asymmetric routes)");
	finding_proof(f, "invalid +%s in /proc/net/stat/nf_conntrack; nft -a list ruleset: %s%s",
		      human_count_u64(a, invalid), s->rules.invalid_rule,
		      s->rules.invalid_rules > 1 ? " and others" : "");
	out_finding(out, f);
}

/* ---- what only a dump shows ---- */

static const struct topk_item *largest(const struct topk *t)
{
	const struct topk_item *most = NULL;

	for (size_t i = 0; i < t->count; i++)
		if (!most || t->items[i].count - t->items[i].error > most->count - most->error)
			most = &t->items[i];
	return most;
}

static const char *end_text(struct arena *a, const char *address, uint64_t port,
			    const char *protocol)
{
	address = redact_name(a, NAME_ADDRESS, address);
	return arena_printf(a, strchr(address, ':') ? "[%s]:%llu/%s" : "%s:%llu/%s", address,
			    (unsigned long long)port, protocol);
}

static void report_flood_of(struct out *out, const struct space *s, const struct topk_item *item,
			    bool is_source)
{
	struct arena *a = out_arena(out);
	uint64_t sure = item->count - item->error;
	struct key_parts k = key_parts(a, &item->key, is_source ? BY_SRC : BY_DST | BY_DPORT);
	const char *who = is_source ? redact_name(a, NAME_ADDRESS, k.src) :
		end_text(a, k.dst, k.dport, k.protocol);
	struct finding *f = start(out, s, "conntrack-top.unassured-flood", STATE_RISK,
				  arena_printf(a, is_source ? "from %s" : "to %s", who));

	finding_u64(f, "flows", s->dump.flows);
	finding_u64(f, "unreplied", s->unreplied);
	finding_u64(f, "of_subject", sure);
	finding_line(f, "%s of %s unreplied flows are %s %s; the table is %s full",
		     human_count_u64(a, sure), human_count_u64(a, s->unreplied),
		     is_source ? "from" : "to", who, human_ratio(a, space_fill(s)));
	finding_line(f, "they are evicted first when it is full (early_drop)");
	finding_proof(f, is_source ? "conntrack -L -s %s, lines with [UNREPLIED]" :
		      "conntrack -L -d %s, lines with [UNREPLIED]",
		      redact_name(a, NAME_ADDRESS, is_source ? k.src : k.dst));
	finding_next(f, "perfbox conntrack-top%s -u UNREPLIED --by %s", netns_word(a, s),
		     is_source ? "dst,dport" : "src");
	out_finding(out, f);
}

bool may_be_flooded(const struct space *s)
{
	return space_fill(s) >= FLOOD_FILL_MIN && !top.has_filter;
}

static void report_flood(struct out *out, const struct space *s)
{
	double share = ratio_of(s->unreplied, s->dump.flows);
	const struct topk_item *source = largest(&top.flood_sources);
	const struct topk_item *target = largest(&top.flood_targets);
	double least = FLOOD_KEY_MIN * (double)s->unreplied;

	if (!s->may_be_flooded || !(share >= FLOOD_UNREPLIED_MIN))
		return;
	/* both: the source says more about whom to ask */
	if (source && (double)(source->count - source->error) >= least)
		report_flood_of(out, s, source, true);
	else if (target && (double)(target->count - target->error) >= least)
		report_flood_of(out, s, target, false);
}

static void report_snat(struct out *out, const struct space *s, const struct topk_item *item)
{
	struct arena *a = out_arena(out);
	uint64_t used = item->count - item->error;
	uint16_t first, last;
	unsigned ports = snat_ports(s, &item->key, &first, &last);
	double share = (double)used / ports;
	bool is_now = share >= SNAT_NOW_MIN && failures(s);
	struct key_parts k = key_parts(a, &item->key, BY_SRC | BY_DST | BY_DPORT);

	if (share < SNAT_RISK_MIN || ports < SNAT_PORTS_MIN)
		return;
	const char *address = redact_name(a, NAME_ADDRESS, k.src);
	const char *to = end_text(a, k.dst, k.dport, k.protocol);
	struct finding *f = start(out, s, "portrange.snat", is_now ? STATE_NOW : STATE_RISK,
				  arena_printf(a, "%s to %s", address, to));

	f->lost = is_now ? rate_of(failures(s), top.interval_ns) : 0;
	finding_u64(f, "ports_used", used);
	finding_u64(f, "ports_usable", ports);
	finding_u64(f, "insert_failed", failures(s));
	finding_line(f, "%s of %s ports of SNAT address %s in use to %s", human_count_u64(a, used),
		     human_count_u64(a, ports), address, to);
	finding_line(f, "ports  %u to %u, as far as nftables rules say", first, last);
	finding_line(f, "needs  %.1f SNAT addresses at this load for half of the ports free",
		     2 * share);
	finding_proof(f, "conntrack -L -d %s --src-nat, lines with dport=%u in the reply",
		      redact_name(a, NAME_ADDRESS, k.dst), (unsigned)k.dport);
	finding_next(f, "perfbox conntrack-top%s -u SRC_NAT --by nat,dst,dport", netns_word(a, s));
	out_finding(out, f);
}

void report_space(struct out *out, const struct space *s)
{
	report_full(out, s);
	report_early_drop(out, s);
	report_near_full(out, s);
	report_clash(out, s);
	report_invalid(out, s);
	report_long_chains(out, s);
	if (!s->has_dump || top.has_filter)
		return;
	report_flood(out, s);
	for (size_t i = 0; i < top.nat.count; i++)
		report_snat(out, s, &top.nat.items[i]);
}
