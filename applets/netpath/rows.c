/* What the walk prints: the path with the losing layers marked, the verdict, and the blocks. */
#include "applets/netpath/rows.h"

#include <string.h>

#include "applets/netpath/netpath.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

struct block_row {
	const char *netns, *layer, *direction, *subject, *state, *evidence, *echoes, *note;
	uint64_t drops, packets_in, packets_out;
	double in_per_second, out_per_second, drops_per_second, drop_ratio;
};

static const struct column block_columns[] = {
	COL_NAME_IF_ANY(struct block_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER,
			"network namespace; -: the host's"),
	COL(struct block_row, layer, "LAYER", ROLE_KEY, UNIT_TEXT, "bottom up: link, ring, xdp ..."),
	COL(struct block_row, direction, "DIR", ROLE_KEY, UNIT_TEXT, "rx, tx; -: both"),
	COL(struct block_row, subject, "WHERE", ROLE_KEY, UNIT_TEXT,
	    "device, queue, rule, CPU or protocol"),
	COL(struct block_row, in_per_second, "IN/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets that came to it"),
	COL(struct block_row, out_per_second, "OUT/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets it passed on"),
	COL(struct block_row, drops_per_second, "LOST/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets lost here, what other layers lost and this one counts again left out"),
	COL(struct block_row, drop_ratio, "SHARE%", ROLE_GAUGE, UNIT_RATIO, "of what came"),
	COL(struct block_row, state, "STATE", ROLE_TEXT, UNIT_TEXT,
	    "ok; now: it loses; past: it did, since its counters began; unknown: what it loses "
	    "has no counter, or one that also counts what is no loss"),
	COL_NAME_IF_ANY(struct block_row, evidence, "COUNTERS", ROLE_TEXT, NAME_PLAIN,
			"those that moved, as the kernel counted"),
	COL(struct block_row, echoes, NULL, ROLE_TEXT, UNIT_TEXT,
	    "where the same packets were counted again"),
	COL(struct block_row, note, NULL, ROLE_TEXT, UNIT_TEXT, "what else to know"),
	COL(struct block_row, drops, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "packets lost in the interval"),
	COL(struct block_row, packets_in, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "packets that came in the interval"),
	COL(struct block_row, packets_out, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "packets passed on in the interval"),
};

struct host_row {
	const char *host;
	uint64_t netns_count, devices, blocks, losing, interval_ns;
};

static const struct column host_columns[] = {
	COL_NAME(struct host_row, host, NULL, ROLE_KEY, NAME_HOST, "host name"),
	COL(struct host_row, netns_count, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "network namespaces looked at"),
	COL(struct host_row, devices, NULL, ROLE_GAUGE, UNIT_COUNT, "devices looked at"),
	COL(struct host_row, blocks, NULL, ROLE_GAUGE, UNIT_COUNT, "rows of the path"),
	COL(struct host_row, losing, NULL, ROLE_GAUGE, UNIT_COUNT, "of them, those that lose now"),
	COL(struct host_row, interval_ns, NULL, ROLE_GAUGE, UNIT_NS, "measured interval"),
};

static const struct table block_table = { .name = "path",
					  .help = "a place packets pass, in one direction",
					  TABLE(struct block_row, block_columns),
					  .top = true };
static const struct table host_table = { .name = "host",
					 .help = "what was looked at",
					 TABLE(struct host_row, host_columns) };
const struct table *const netpath_walk_tables[] = { &block_table, &netpath_device_table,
						    &netpath_queue_table, &netpath_cpu_table,
						    &netpath_driver_table, &netpath_socket_table,
						    &host_table, NULL };

static const char *state_text(enum block_state s)
{
	static const char *const texts[] = { [BLOCK_OK] = "ok", [BLOCK_PAST] = "past",
					     [BLOCK_UNKNOWN] = "unknown", [BLOCK_NOW] = "now" };

	return texts[s];
}

static const char *direction_text(enum direction d)
{
	return d == DIR_RX ? "rx" : d == DIR_TX ? "tx" : NULL;
}

static bool has_some(uint64_t n)
{
	return n && n != NA_U64;
}

/* "rx_dropped +12, rx_errors +3": as counted, echoes or not. */
static const char *evidence_of(struct arena *a, const struct walk *w, size_t block)
{
	const char *text = NULL;

	for (size_t i = 0; i < w->meter_count; i++) {
		const struct meter *m = &w->meters[i];

		if (m->block == block && has_some(m->count))
			text = arena_printf(a, "%s%s%s +%s", text ? text : "", text ? ", " : "",
					    m->name, human_count_u64(a, m->count));
	}
	return text;
}

static const char *echoes_of(struct arena *a, const struct walk *w, size_t block)
{
	const char *text = NULL;

	for (size_t i = 0; i < w->meter_count; i++) {
		const struct meter *m = &w->meters[i];

		for (size_t k = 0; m->block == block && k < m->echo_count; k++) {
			const struct meter *e = &w->meters[m->echoes[k].meter];

			text = arena_printf(a, "%s%s%s %s +%s", text ? text : "", text ? ", " : "",
					    w->blocks[e->block].subject, e->name,
					    human_count_u64(a, m->echoes[k].count));
		}
	}
	return text;
}

/* ---- the picture ---- */

/* The order packets pass in: up, and down. */
static const enum layer_id up[] = { LAYER_LINK, LAYER_RING, LAYER_XDP, LAYER_SOFTNET, LAYER_TC,
				    LAYER_CONNTRACK, LAYER_FILTER, LAYER_IP, LAYER_TCP, LAYER_UDP,
				    LAYER_SOCKET };
static const enum layer_id down[] = { LAYER_SOCKET, LAYER_UDP, LAYER_TCP, LAYER_IP,
				      LAYER_CONNTRACK, LAYER_FILTER, LAYER_NEIGHBOUR, LAYER_TC,
				      LAYER_QDISC, LAYER_RING, LAYER_LINK };
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct passed {
	bool is_there, is_unknown;
	uint64_t drops;
};

static struct passed sum_layer(const struct walk *w, enum layer_id layer, enum direction d)
{
	struct passed p = { 0 };

	for (size_t i = 0; i < w->block_count; i++) {
		const struct block *b = &w->blocks[i];

		if (b->layer != layer || (b->direction != d && b->direction != DIR_NONE))
			continue;
		p.is_there = true;
		p.is_unknown |= b->state == BLOCK_UNKNOWN;
		p.drops += b->drops == NA_U64 ? 0 : b->drops;
	}
	return p;
}

/* "wire > link > ring > softnet [!12,345] > tc > filter > ip > udp > app" */
static const char *picture(struct arena *a, const struct walk *w, enum direction d)
{
	const enum layer_id *order = d == DIR_RX ? up : down;
	const size_t count = d == DIR_RX ? COUNT(up) : COUNT(down);
	const char *text = d == DIR_RX ? "wire" : "app";

	for (size_t i = 0; i < count; i++) {
		const struct passed p = sum_layer(w, order[i], d);

		if (!p.is_there)
			continue;
		/* side by side */
		const bool is_beside = i && order[i] + order[i - 1] == LAYER_TCP + LAYER_UDP;

		text = arena_printf(a, "%s %s %s%s", text, is_beside ? "|" : ">",
				    layer_name(order[i]),
				    p.drops ? arena_printf(a, " [!%s lost]",
							   human_count_u64(a, p.drops)) :
				    p.is_unknown ? " [?]" : "");
	}
	return arena_printf(a, "%s > %s", text, d == DIR_RX ? "app" : "wire");
}

static void show_verdict(struct out *out, const struct walk *w)
{
	struct arena *a = out_arena(out);
	unsigned losing = 0;

	for (size_t i = 0; i < w->block_count; i++) {
		const struct block *b = &w->blocks[i];
		const char *direction = direction_text(b->direction);
		const char *space = netpath_space_name(a, w, b->space);

		if (b->state != BLOCK_NOW)
			continue;
		losing++;
		out_line(out, "verdict", "%s lost at %s%s%s, %s%s%s",
			 human_count_u64(a, b->drops), layer_name(b->layer), direction ? " " : "",
			 direction ? direction : "", out_escape(a, b->subject),
			 space ? " in " : "", space ? space : "");
	}
	if (!losing)
		out_line(out, "verdict", w->interval_ns ?
			 "no packet lost at any layer that counts" :
			 "one look alone: what was lost since boot, not what is");
}

/* ---- rows ---- */

static bool is_shown(const struct out *out, const struct block *b)
{
	return out_format(out) != OUT_PEOPLE || b->state == BLOCK_NOW ||
		b->state == BLOCK_UNKNOWN || has_some(b->packets_in) || has_some(b->packets_out);
}

static void show_block(struct out *out, const struct walk *w, size_t at)
{
	struct arena *a = out_arena(out);
	const struct block *b = &w->blocks[at];
	uint64_t of = b->packets_in != NA_U64 ? b->packets_in : sum_u64(b->packets_out, b->drops);
	const struct block_row row = {
		.netns = b->space == NO_SPACE ? NULL : w->now->spaces[b->space].ns.name,
		.layer = layer_name(b->layer),
		.direction = direction_text(b->direction),
		.subject = b->subject,
		.state = state_text(b->state),
		.evidence = evidence_of(a, w, at),
		.echoes = echoes_of(a, w, at),
		.note = b->note,
		.drops = b->drops,
		.packets_in = b->packets_in,
		.packets_out = b->packets_out,
		.in_per_second = rate_of(b->packets_in, w->interval_ns),
		.out_per_second = rate_of(b->packets_out, w->interval_ns),
		.drops_per_second = rate_of(b->drops, w->interval_ns),
		.drop_ratio = ratio_of(b->drops, of),
	};

	if (is_shown(out, b))
		out_row(out, &block_table, &row);
}

static void show_host(struct out *out, const struct walk *w)
{
	struct arena *a = out_arena(out);
	struct host_row row = {
		.host = src_uname()->host,
		.blocks = w->block_count,
		.interval_ns = w->interval_ns ? w->interval_ns : NA_U64,
	};

	for (size_t i = 0; i < w->now->space_count; i++) {
		const struct space *s = &w->now->spaces[i];
		const struct link *links;
		const size_t count = netpath_links(s, &links);

		row.netns_count += !s->is_followed;
		for (size_t k = 0; k < count; k++)
			row.devices += netpath_wants(s, &links[k]);
	}
	for (size_t i = 0; i < w->block_count; i++)
		row.losing += w->blocks[i].state == BLOCK_NOW;
	out_row(out, &host_table, &row);
	out_host(out, "perfbox netpath  %s  %s device%s in %s netns  %.1f s",
		 row.host ? redact_name(a, NAME_HOST, row.host) : "-",
		 human_count_u64(a, row.devices), row.devices == 1 ? "" : "s",
		 human_count_u64(a, row.netns_count), (double)w->interval_ns / 1e9);
	out_host(out, "in   %s", picture(a, w, DIR_RX));
	out_host(out, "out  %s", picture(a, w, DIR_TX));
}

void netpath_show(struct out *out, struct walk *w)
{
	show_host(out, w);
	for (size_t space = 0; space <= w->now->space_count; space++)
		for (int layer = 0; layer < LAYERS; layer++)
			for (size_t i = 0; i < w->block_count; i++) {
				const struct block *b = &w->blocks[i];
				const size_t at = b->space == NO_SPACE ? 0 : b->space + 1;

				if (at == space && (int)b->layer == layer)
					show_block(out, w, i);
			}
	for (size_t l = 0; l < LAYERS; l++)
		if (layers[l] && layers[l]->show)
			layers[l]->show(out, w);
	show_verdict(out, w);
}
