/* What conntrack-top prints: a row per namespace's table, and the busiest keys in them. */
#include <stdlib.h>
#include <string.h>

#include "applets/conntrack_top/conntrack_top.h"
#include "common/kernel/source.h"

struct space_row {
	const char *netns;
	uint64_t count, max, buckets;
	double fill_ratio, average_chain;
	double new_per_second, ended_per_second, growth_per_second;
	bool new_is_old;
	double drop_per_second, early_drop_per_second, insert_failed_per_second, invalid_per_second,
		search_restart_per_second, chain_too_long_per_second, clash_resolved_per_second;
	uint64_t full_in_ns, entry_bytes, memory_bytes, events_lost;
	bool entry_bytes_is_assumed;
	uint64_t flows, assured, unreplied, duplicates;
	bool has_flows;                /* a dump is never quite of one moment */
};

/* As COL, but people see it only if some row knows it. */
#define COL_IF_ANY(row, field, title_, role_, unit_, help_) { \
	.name = #field, .title = (title_), .help = (help_), .type = COLUMN_TYPE_OF(row, field), \
	.role = (role_), .unit = (unit_), .hide_if_empty = true, \
	.offset = offsetof(row, field) + COLUMN_CHECKED(row, field, unit_) }

static const struct column space_columns[] = {
	COL_NAME(struct space_row, netns, "NETNS", ROLE_KEY, NAME_PLAIN, "network namespace"),
	COL(struct space_row, count, "COUNT", ROLE_GAUGE, UNIT_COUNT,
	    "its entries, expired ones not yet reaped included"),
	COL(struct space_row, max, "MAX", ROLE_GAUGE, UNIT_COUNT,
	    "nf_conntrack_max: one number for the host, which each namespace's own count may "
	    "reach; written in the initial namespace only"),
	COL(struct space_row, fill_ratio, "FILL", ROLE_GAUGE, UNIT_RATIO, "count of max"),
	COL(struct space_row, buckets, "BUCKETS", ROLE_GAUGE, UNIT_COUNT,
	    "of the one hash table all namespaces share"),
	COL(struct space_row, average_chain, "CHAIN", ROLE_GAUGE, UNIT_COUNT,
	    "average chain by this namespace's entries: 2 x count / buckets"),
	COL_EST(struct space_row, new_per_second, new_is_old, "NEW/s", ROLE_GAUGE, UNIT_PER_SECOND,
		"flows that began (NEW events, lost ones counted); ~: of an earlier interval"),
	COL_IF_ANY(struct space_row, ended_per_second, "END/s", ROLE_GAUGE, UNIT_PER_SECOND,
		   "flows that ended; known only with net.netfilter.nf_conntrack_events=1"),
	COL(struct space_row, growth_per_second, "GROW/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "growth of the count"),
	COL(struct space_row, drop_per_second, "DROP/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets dropped: table full, or a clash that could not be resolved"),
	COL(struct space_row, early_drop_per_second, "EARLY/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "unassured entries evicted to make room"),
	COL(struct space_row, insert_failed_per_second, "FAIL/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "entries not added: two packets wanted the same tuple, or the chain was too long"),
	COL(struct space_row, invalid_per_second, "INV/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets of no flow; lost only where a rule drops them"),
	COL_IF_ANY(struct space_row, search_restart_per_second, "AGAIN/s", ROLE_GAUGE,
		   UNIT_PER_SECOND, "lookups begun again while the table was resized"),
	COL_IF_ANY(struct space_row, chain_too_long_per_second, "LONG/s", ROLE_GAUGE,
		   UNIT_PER_SECOND,
		   "entries not added because their chain was too long (Linux 5.15)"),
	COL_IF_ANY(struct space_row, clash_resolved_per_second, "CLASH/s", ROLE_GAUGE,
		   UNIT_PER_SECOND, "clashes that were resolved: nothing was lost (Linux 5.10)"),
	COL(struct space_row, full_in_ns, NULL, ROLE_GAUGE, UNIT_NS,
	    "time until count is max at the count's growth"),
	COL_EST(struct space_row, entry_bytes, entry_bytes_is_assumed, NULL, ROLE_GAUGE, UNIT_BYTES,
		"size of an entry: slabinfo's, else 256"),
	COL_EST(struct space_row, memory_bytes, entry_bytes_is_assumed, NULL, ROLE_GAUGE,
		UNIT_BYTES, "memory of its entries"),
	COL(struct space_row, events_lost, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "NEW events whose message had no room; counted in new_per_second"),
	COL_EST(struct space_row, flows, has_flows, NULL, ROLE_GAUGE, UNIT_COUNT,
		"flows the dump gave that match the filters (approximate)"),
	COL_EST(struct space_row, assured, has_flows, NULL, ROLE_GAUGE, UNIT_COUNT,
		"of them: assured"),
	COL_EST(struct space_row, unreplied, has_flows, NULL, ROLE_GAUGE, UNIT_COUNT,
		"of them: no packet came back"),
	COL(struct space_row, duplicates, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "left out: the dump gave them twice"),
};

struct flow_row {
	const char *netns, *src, *dst, *proto, *state, *nat;
	uint64_t sport, dport, zone, mark;
	uint64_t flows, flows_error, assured, unreplied;
	double share_ratio;
	uint64_t timeout_ns, bytes, packets;
	double new_per_second, growth_per_second;
	bool is_estimated, new_is_estimated;
	const struct topk_item *item;
};

#define KEY(field, title_, unit_, help_) \
	COL_IF_ANY(struct flow_row, field, title_, ROLE_KEY, unit_, help_)

static const struct column flow_columns[] = {
	COL_NAME_IF_ANY(struct flow_row, netns, "NETNS", ROLE_KEY, NAME_PLAIN, "network namespace"),
	COL_NAME_IF_ANY(struct flow_row, src, "SRC", ROLE_KEY, NAME_ADDRESS,
			"source of the original direction"),
	KEY(sport, "SPORT", UNIT_ID, "its port; ICMP: the id"),
	COL_NAME_IF_ANY(struct flow_row, dst, "DST", ROLE_KEY, NAME_ADDRESS,
			"destination of the original direction, before DNAT"),
	KEY(proto, "PROTO", UNIT_TEXT, "protocol"),
	KEY(dport, "DPORT", UNIT_ID, "destination port; ICMP: type x 256 + code"),
	KEY(state, "STATE", UNIT_TEXT,
	    "TCP's state; of other protocols UNREPLIED, REPLIED or ASSURED"),
	KEY(zone, "ZONE", UNIT_ID, "conntrack zone"),
	KEY(mark, "MARK", UNIT_ID, "connection mark"),
	KEY(nat, "NAT", UNIT_TEXT, "snat and the address put in, dnat and the destination put in"),
	COL_EST(struct flow_row, flows, is_estimated, "FLOWS", ROLE_GAUGE, UNIT_COUNT,
		"flows of this key"),
	COL(struct flow_row, flows_error, "ERROR", ROLE_GAUGE, UNIT_COUNT,
	    "at most this many of them are not: there were more keys than are counted"),
	COL_EST(struct flow_row, share_ratio, is_estimated, "SHARE", ROLE_GAUGE, UNIT_RATIO,
		"of all flows dumped that match the filters"),
	COL_EST(struct flow_row, assured, is_estimated, "ASSURED", ROLE_GAUGE, UNIT_COUNT,
		"flows that are not evicted early (~: at least)"),
	COL_EST(struct flow_row, unreplied, is_estimated, "UNREPL", ROLE_GAUGE, UNIT_COUNT,
		"flows in which no packet came back (~: at least)"),
	COL_EST(struct flow_row, timeout_ns, is_estimated, "TIMEOUT", ROLE_GAUGE, UNIT_NS,
		"mean time left before they expire"),
	COL_IF_ANY(struct flow_row, bytes, "BYTES", ROLE_GAUGE, UNIT_BYTES,
		   "both directions, of the flows that are there now; with nf_conntrack_acct"),
	COL_IF_ANY(struct flow_row, packets, "PACKETS", ROLE_GAUGE, UNIT_COUNT,
		   "both directions; with nf_conntrack_acct"),
	{ .name = "new_per_second", .title = "NEW/s",
	  .help = "flows of this key that began (~: scaled up from the events that were kept)",
	  .type = TYPE_F64, .role = ROLE_GAUGE, .unit = UNIT_PER_SECOND, .hide_if_empty = true,
	  .estimated = offsetof(struct flow_row, new_is_estimated),
	  .offset = offsetof(struct flow_row, new_per_second) },
	COL(struct flow_row, growth_per_second, "GROW/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "growth of FLOWS since the dump before; known where ERROR is 0"),
};

static void complete_flow(void *row);

const struct table space_table = { .name = "conntrack",
				   .help = "the table as a network namespace sees it",
				   TABLE(struct space_row, space_columns) };
const struct table flow_table = { .name = "flows",
				  .help = "the flows that share a key (--by)",
				  TABLE(struct flow_row, flow_columns),
				  .top = true,
				  .complete = complete_flow };

/* ---- tables ---- */

double space_fill(const struct space *s)
{
	return ratio_of(s->now.count, s->now.max);
}

double space_growth(const struct space *s)
{
	if (!s->has_before || !top.interval_ns || s->now.count == NA_U64 ||
	    s->before.count == NA_U64)
		return NA_F64;
	return ((double)s->now.count - (double)s->before.count) * 1e9 / (double)top.interval_ns;
}

double space_chain(const struct space *s)
{
	return 2 * ratio_of(s->now.count, s->now.buckets);
}

uint64_t space_full_in_ns(const struct space *s)
{
	double growth = space_growth(s);

	if (!(growth > 0) || s->now.max == NA_U64)
		return NA_U64;
	if (s->now.count >= s->now.max)
		return 0;
	double seconds = (double)(s->now.max - s->now.count) / growth;

	return seconds < 1e9 ? (uint64_t)(seconds * 1e9) : NA_U64;
}

static double moved(const struct space *s, uint64_t now, uint64_t before)
{
	return s->has_before ? rate_of(conntrack_moved(now, before), top.interval_ns) : NA_F64;
}

void show_space(struct out *out, const struct space *s)
{
	const struct conntrack *now = &s->now, *was = &s->before;
	uint64_t bytes = conntrack_entry_bytes();
	struct space_row row = {
		.netns = s->name,
		.count = now->count,
		.max = now->max,
		.buckets = now->buckets,
		.fill_ratio = space_fill(s),
		.average_chain = space_chain(s),
		.new_per_second = s->begun_per_second,
		.new_is_old = s->begun_is_old,
		.ended_per_second = s->ended_per_second,
		.growth_per_second = space_growth(s),
		.drop_per_second = moved(s, now->drop, was->drop),
		.early_drop_per_second = moved(s, now->early_drop, was->early_drop),
		.insert_failed_per_second = moved(s, now->insert_failed, was->insert_failed),
		.invalid_per_second = moved(s, now->invalid, was->invalid),
		.search_restart_per_second = moved(s, now->search_restart, was->search_restart),
		.chain_too_long_per_second = moved(s, now->chain_too_long, was->chain_too_long),
		.clash_resolved_per_second = moved(s, now->clash_resolved, was->clash_resolved),
		.full_in_ns = space_full_in_ns(s),
		.entry_bytes = bytes == NA_U64 ? ENTRY_BYTES_ASSUMED : bytes,
		.entry_bytes_is_assumed = bytes == NA_U64,
		.events_lost = s->is_listening ? s->begun_lost : NA_U64,
		.flows = NA_U64, .assured = NA_U64, .unreplied = NA_U64, .duplicates = NA_U64,
	};

	row.memory_bytes = now->count == NA_U64 ? NA_U64 : now->count * row.entry_bytes;
	if (s->has_dump) {
		row.has_flows = true;
		row.flows = s->dump.flows;
		row.assured = s->assured;
		row.unreplied = s->unreplied;
		row.duplicates = s->dump.duplicates;
	}
	out_row(out, &space_table, &row);
}

/* ---- flows ---- */

static const char *const order_names[] = { "flows", "unreplied", "growth", "new", "bytes" };

const char *order_name(enum order order)
{
	return order_names[order];
}

static double growth_of(const struct topk_item *item)
{
	uint64_t elapsed_ns = delta_u64(src_frame()->monotonic_ns, top.before_ns);

	if (item->error || top.before_by != top.by || !elapsed_ns || elapsed_ns == NA_U64)
		return NA_F64;
	const struct topk_item *was = topk_find(top.before, &item->key);

	/* one that was not there had no flows only if all keys were counted */
	if (was ? was->error > 0 : !top.before->is_exact)
		return NA_F64;
	return ((double)item->count - (was ? (double)was->count : 0)) * 1e9 / (double)elapsed_ns;
}

static double begun_of(const struct topk_item *item, bool *is_estimated)
{
	const struct topk_item *begun = topk_find(&top.begun, &item->key);
	double kept = (double)top.begun.total, all = (double)top.begun_all;

	if (top.begun_all == NA_U64 || !top.interval_ns)
		return NA_F64;
	if (!begun)
		return top.begun.is_exact && kept >= all ? 0 : NA_F64;
	*is_estimated = kept < all || begun->error;
	return (double)begun->count * (all / kept) * 1e9 / (double)top.interval_ns;
}

static struct flow_row row_of(const struct topk_item *item)
{
	uint64_t timeouts = item->sums[SUM_TIMEOUTS];
	struct flow_row row = {
		.item = item,
		.flows = item->count,
		.flows_error = item->error,
		.share_ratio = ratio_of(item->count, top.now->total),
		.assured = item->sums[SUM_ASSURED],
		.unreplied = item->sums[SUM_UNREPLIED],
		.timeout_ns = timeouts ? item->sums[SUM_TIMEOUT_S] * 1000000000 / timeouts : NA_U64,
		.bytes = item->sums[SUM_BYTES],
		.packets = item->sums[SUM_PACKETS],
		.growth_per_second = growth_of(item),
		.is_estimated = item->error > 0,
		.sport = NA_U64, .dport = NA_U64, .zone = NA_U64, .mark = NA_U64,
	};

	row.new_per_second = begun_of(item, &row.new_is_estimated);
	return row;
}

/* Only rows that are printed need texts. */
static void complete_flow(void *p)
{
	struct flow_row *row = p;
	struct key_parts k = key_parts(src_arena(), &row->item->key, top.by);

	row->netns = k.netns;
	row->src = k.src;
	row->dst = k.dst;
	row->proto = k.protocol;
	row->state = k.state;
	row->nat = k.nat;
	row->sport = k.sport;
	row->dport = k.dport;
	row->zone = k.zone;
	row->mark = k.mark;
}

struct ranked {
	double value;
	const struct topk_item *item;
};

static double value_of(const struct topk_item *item, enum order order)
{
	bool unused;
	double value = NA_F64;

	switch (order) {
	case ORDER_FLOWS:
	case ORDERS:
		return (double)item->count;
	case ORDER_UNREPLIED:
		return (double)item->sums[SUM_UNREPLIED];
	case ORDER_GROWTH:
		value = growth_of(item);
		break;
	case ORDER_BEGUN:
		value = begun_of(item, &unused);
		break;
	case ORDER_BYTES:
		if (item->sums[SUM_BYTES] != NA_U64)
			value = (double)item->sums[SUM_BYTES];
		break;
	}
	return is_na_f64(value) ? -HUGE_VAL : value;
}

/* Most first; among equals more flows, then by key, so that the same flows give the same text. */
static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->item->count != y->item->count)
		return x->item->count < y->item->count ? 1 : -1;
	return memcmp(&x->item->key, &y->item->key, sizeof(x->item->key));
}

void show_flows(struct out *out, enum order order)
{
	const size_t count = top.now->count;
	const uint64_t wanted = out_rows_wanted(out, &flow_table);
	struct ranked *list = mem_alloc((count + 1) * sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = (struct ranked){ value_of(&top.now->items[i], order),
					   &top.now->items[i] };
	qsort(list, count, sizeof(*list), by_value);
	for (size_t i = 0; i < count && i < wanted; i++) {
		struct flow_row row = row_of(list[i].item);

		out_row(out, &flow_table, &row);
	}
	free(list);
}
