/*
 * The devices: what came in and went out, what the wire damaged, what a ring had no room for, what
 * XDP's own errors cost. Layers link, ring and xdp.
 */
#include <string.h>

#include "applets/netpath/devices.h"

/* One device in two looks. */
struct pair {
	struct walk *w;
	size_t space, peer_space;
	const struct link *now, *was;  /* was NULL: not there */
	const struct driver *driver, *driver_was;      /* NULL: not asked */
	const struct link *peer;
	bool is_new;                   /* its counters began at 0 since */
	const char *proof;
};

static bool is_kind(const struct link *l, const char *kind)
{
	return l->kind && !strcmp(l->kind, kind);
}

/* Its counters are its members' sums. */
static bool is_sum(const struct link *l)
{
	return is_kind(l, "bond") || is_kind(l, "team");
}

static uint64_t value_at(const struct link *l, size_t offset)
{
	uint64_t n;

	memcpy(&n, (const char *)&l->stats + offset, sizeof(n));
	return n;
}

static uint64_t moved_at(const struct pair *p, size_t offset)
{
	uint64_t before = p->was ? value_at(p->was, offset) : 0;

	return path_moved(value_at(p->now, offset), p->was ? &before : NULL, p->is_new);
}
#define MOVED(p, field) moved_at(p, offsetof(struct link_stats, field))

static uint64_t known(uint64_t n)
{
	return n == NA_U64 ? 0 : n;
}

static uint64_t more_of(uint64_t a, uint64_t b)
{
	return known(a) > known(b) || b == NA_U64 ? a : b;
}

static struct block *add_block(const struct pair *p, enum layer_id layer, enum direction d)
{
	struct block *b = path_add_block(p->w, layer, d, p->space, p->now->name);

	b->ifindex = p->now->index;
	b->master_ifindex = p->now->master;
	b->peer_space = p->peer_space;
	b->peer_ifindex = p->peer && p->peer_space != NO_SPACE ? p->peer->index : 0;
	return b;
}

static struct meter *add(const struct pair *p, enum meter_kind kind, const char *name,
			 uint64_t count, uint64_t total)
{
	struct meter *m = path_add_meter(p->w, kind, name, count, total, p->proof);

	m->detail = p->now;
	return m;
}

/* What the driver's own names say of a class, and the name; NA_U64. */
static uint64_t driver_moved(const struct pair *p, enum ethtool_class class, const char **name)
{
	if (!p->driver || !p->driver_was)
		return NA_U64;
	return ethtool_class_moved(p->driver->stats, p->driver->stat_count, p->driver_was->stats,
				   p->driver_was->stat_count, class, name);
}

/* ---- link ---- */

/* rx_errors has those the ring lost as well, in most drivers. */
static uint64_t damaged(const struct pair *p)
{
	uint64_t parts = known(MOVED(p, rx_crc_errors)) + known(MOVED(p, rx_frame_errors)) +
		known(MOVED(p, rx_length_errors));
	uint64_t ring = known(MOVED(p, rx_fifo_errors)) + known(MOVED(p, rx_missed_errors)) +
		known(MOVED(p, rx_over_errors));
	uint64_t errors = MOVED(p, rx_errors);

	if (errors == NA_U64)
		return NA_U64;
	errors = errors > ring ? errors - ring : 0;
	return errors > parts ? errors : parts;
}

static void add_link(const struct pair *p)
{
	const struct link_stats *s = &p->now->stats;
	const uint64_t before = p->was ? p->was->carrier_changes : 0;
	const uint64_t rx = MOVED(p, rx_packets), tx = MOVED(p, tx_packets);
	struct block *b = add_block(p, LAYER_LINK, DIR_RX);

	b->packets_out = rx;
	b->packets_in = sum_u64(rx, known(MOVED(p, rx_dropped)) + known(damaged(p)));
	add(p, METER_LINK_ERROR, "rx_errors", damaged(p), s->rx_errors);
	add(p, METER_DEVICE_RX, "rx_dropped", MOVED(p, rx_dropped), s->rx_dropped)->needs_echo =
		true;
	add(p, METER_NO_LOSS, "rx_nohandler", MOVED(p, rx_nohandler), s->rx_nohandler);
	/* one that somebody takes down or brings up is no news */
	if (p->was && p->was->is_up && p->now->is_up)
		add(p, METER_NO_LOSS, "carrier_changes",
		    path_moved(p->now->carrier_changes, &before, false), NA_U64);
	b = add_block(p, LAYER_LINK, DIR_TX);
	b->packets_out = tx;
	b->packets_in = sum_u64(tx, known(MOVED(p, tx_errors)));
	add(p, METER_LINK_ERROR, "tx_errors", MOVED(p, tx_errors), s->tx_errors);
	if (p->now->kind && !is_kind(p->now, "veth") && !is_kind(p->now, "tun")) {
		b->packets_in = sum_u64(b->packets_in, known(MOVED(p, tx_dropped)));
		add(p, METER_DEVICE_TX, "tx_dropped", MOVED(p, tx_dropped), s->tx_dropped);
	}
}

/* ---- ring ---- */

static void add_clouds(const struct pair *p)
{
	for (size_t i = 0; p->driver && p->driver_was && i < p->driver->stat_count; i++) {
		const struct ethtool_stat *e = &p->driver->stats[i];
		const char *family = NULL;

		if (e->class != ETHTOOL_CLOUD)
			continue;
		/* each is a limit of its own */
		uint64_t moved = ethtool_class_moved(e, 1, p->driver_was->stats,
						     p->driver_was->stat_count, ETHTOOL_CLOUD,
						     &family);

		add(p, METER_CLOUD, e->name, moved, e->value)->proof =
			arena_printf(p->w->arena, "ethtool -S %s", p->now->name);
	}
}

static void add_ring_meter(const struct pair *p, enum meter_kind kind, enum ethtool_class class,
			   const char *name, uint64_t count, uint64_t total)
{
	const char *family = NULL;
	const uint64_t driver = driver_moved(p, class, &family);
	const bool is_driver = known(driver) > known(count);
	struct meter *m = add(p, kind, is_driver ? family : name, more_of(count, driver), total);

	if (is_driver)
		m->proof = arena_printf(p->w->arena, "ethtool -S %s", p->now->name);
}

static void add_ring_rx(const struct pair *p)
{
	const struct link_stats *s = &p->now->stats;
	uint64_t missed = MOVED(p, rx_missed_errors), fifo = MOVED(p, rx_fifo_errors),
		 over = MOVED(p, rx_over_errors);
	const bool is_missed = known(missed) >= known(fifo) && known(missed) >= known(over);
	const bool is_fifo = !is_missed && known(fifo) >= known(over);
	uint64_t count = is_missed ? missed : is_fifo ? fifo : over;
	struct block *b = add_block(p, LAYER_RING, DIR_RX);

	b->packets_out = MOVED(p, rx_packets);
	add_ring_meter(p, METER_RING_RX, ETHTOOL_RING_RX,
		       is_missed ? "rx_missed_errors" :
		       is_fifo ? "rx_fifo_errors" : "rx_over_errors", count,
		       is_missed ? s->rx_missed_errors : is_fifo ? s->rx_fifo_errors :
		       s->rx_over_errors);
	add_clouds(p);
}

static void add_ring_tx(const struct pair *p)
{
	const struct link_stats *s = &p->now->stats;
	struct block *b = add_block(p, LAYER_RING, DIR_TX);

	b->packets_out = MOVED(p, tx_packets);
	b->packets_in = sum_u64(b->packets_out, known(MOVED(p, tx_dropped)));
	if (is_kind(p->now, "tun")) {
		add(p, METER_RING_TX, "tx_dropped", MOVED(p, tx_dropped), s->tx_dropped);
		return;
	}
	if (!p->now->kind)
		add_ring_meter(p, METER_RING_TX, ETHTOOL_RING_TX, "tx_fifo_errors",
			       MOVED(p, tx_fifo_errors), s->tx_fifo_errors);
	add(p, METER_DEVICE_TX, "tx_dropped", MOVED(p, tx_dropped), s->tx_dropped);
}

static void add_ring(const struct pair *p)
{
	if (p->now->is_loopback)
		return;
	if (!p->now->kind)
		add_ring_rx(p);
	if (!p->now->kind || is_kind(p->now, "veth") || is_kind(p->now, "tun"))
		add_ring_tx(p);
}

/* ---- xdp ---- */

static void add_xdp(const struct pair *p)
{
	const char *error = NULL, *drop = NULL;
	const uint64_t errors = driver_moved(p, ETHTOOL_XDP_ERROR, &error);
	const uint64_t drops = driver_moved(p, ETHTOOL_XDP_DROP, &drop);

	if (p->now->xdp == LINK_XDP_NONE && !known(errors) && !known(drops))
		return;
	const char *proof = arena_printf(p->w->arena, "ethtool -S %s", p->now->name);
	struct block *b = add_block(p, LAYER_XDP, DIR_RX);

	b->packets_out = MOVED(p, rx_packets);
	if (p->now->xdp == LINK_XDP_GENERIC) {
		b->is_unknown = true;
		b->note = "generic XDP: what it drops no counter has";
		return;
	}
	if (error)
		add(p, METER_XDP, error, errors, NA_U64)->proof = proof;
	if (drop) {
		struct meter *m = add(p, METER_NO_LOSS, drop, drops, NA_U64);

		m->is_wanted = true;
		m->proof = proof;
	} else if (p->now->xdp != LINK_XDP_NONE) {
		b->is_unknown = true;
		b->note = "XDP: this driver does not count what a program drops";
	}
}

/* ---- the far end of a veth that is in no namespace we look at ---- */

static void add_far(const struct pair *near, const struct devices *was)
{
	const struct link *before = was ? devices_elsewhere(was, near->now->index) : NULL;
	struct pair p = { .w = near->w, .space = near->space, .peer_space = near->space,
			  .now = near->peer, .peer = near->now };

	if (before && before->index == p.now->index && !strcmp(before->name, p.now->name))
		p.was = before;
	p.is_new = near->is_new;
	struct block *b = path_add_block(p.w, LAYER_LINK, DIR_RX, p.space,
					 arena_printf(p.w->arena, "%s@%s", p.now->name,
						      near->now->name));

	b->peer_space = near->space;
	b->peer_ifindex = near->now->index;
	b->packets_out = MOVED(&p, rx_packets);
	b->packets_in = sum_u64(b->packets_out, known(MOVED(&p, rx_dropped)));
	b->note = "the other end, in a namespace that is not looked at";
	p.proof = arena_printf(p.w->arena, "in its namespace: ip -s -s link show dev %s",
			       p.now->name);
	add(&p, METER_DEVICE_RX, "rx_dropped", MOVED(&p, rx_dropped), p.now->stats.rx_dropped)
		->needs_echo = true;
}

/* ---- all ---- */

const struct link *devices_same(const struct devices *was, const struct link *l)
{
	for (size_t i = 0; was && i < was->count; i++)
		if (was->links[i].index == l->index && !strcmp(was->links[i].name, l->name))
			return &was->links[i];
	return NULL;
}

static void compare_link(struct walk *w, size_t space, const struct devices *was, bool is_new,
			 const struct link *l)
{
	const struct space *s = &w->now->spaces[space];
	struct pair p = {
		.w = w, .space = space, .now = l, .was = devices_same(was, l),
		.driver = devices_driver(s->data[LAYER_LINK], l->index),
		.proof = arena_printf(w->arena, "ip -s -s link show dev %s", l->name),
	};

	p.driver_was = p.was ? devices_driver(was, l->index) : NULL;
	/* made since; a card of the host's may have been moved here, counters and all */
	p.is_new = !p.was && (is_new || (was && l->kind));
	p.peer = netpath_peer(w->now, s, l, &p.peer_space);
	add_link(&p);
	add_ring(&p);
	add_xdp(&p);
	if (p.peer && p.peer_space == NO_SPACE)
		add_far(&p, was);
}

static void compare(struct out *out, struct walk *w, size_t space, const struct space *was,
		    bool is_new)
{
	const struct space *s = &w->now->spaces[space];
	const struct devices *d = s->data[LAYER_LINK];

	(void)out;
	/* members before the bonds that sum them */
	for (int sums = 0; d && sums < 2; sums++)
		for (size_t i = 0; i < d->count; i++)
			if (is_sum(&d->links[i]) == (sums == 1) && netpath_wants(s, &d->links[i]))
				compare_link(w, space, was ? was->data[LAYER_LINK] : NULL, is_new,
					     &d->links[i]);
}

static void history(struct out *out, const struct space *s)
{
	const struct link *links;
	const size_t count = netpath_links(s, &links);
	struct arena *a = out_arena(out);

	for (size_t i = 0; i < count; i++) {
		const struct link_stats *n = &links[i].stats;
		const struct {
			const char *name;
			uint64_t value;
		} kept[] = { { "rx_errors", n->rx_errors }, { "tx_errors", n->tx_errors },
			     { "rx_missed_errors", n->rx_missed_errors },
			     { "tx_dropped", n->tx_dropped } };

		for (size_t k = 0; k < sizeof(kept) / sizeof(*kept); k++)
			if (known(kept[k].value) && netpath_wants(s, &links[i]))
				out_history(out, "%s of %s %s since it was made%s", kept[k].name,
					    links[i].name, human_count_u64(a, kept[k].value),
					    netpath_in_space(a, s));
	}
}

const struct layer layer_link = {
	.name = "link",
	.reads_followed = true,
	.read = devices_read,
	.compare = compare,
	.report = devices_report,
	.history = history,
	.show = devices_show,
};
