/* The devices as rows, and the drivers' own counters that moved. */
#include <string.h>

#include "applets/netpath/devices.h"
#include "applets/netpath/rows.h"

struct device_row {
	const char *netns, *device, *kind, *peer, *master, *xdp, *duplex, *qdisc, *carrier;
	uint64_t mtu_bytes, peer_mtu_bytes, rx_ring, rx_ring_max, tx_ring, tx_ring_max,
		carrier_changes, queue_length, rx_queues, tx_queues, xdp_program;
	uint64_t rx_packets, rx_dropped, rx_missed, rx_errors, rx_nohandler, tx_packets, tx_dropped,
		tx_errors;
	double speed_bits_per_second, rx_per_second, tx_per_second;
};

static const struct column device_columns[] = {
	COL_NAME(struct device_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER, "network namespace"),
	COL(struct device_row, device, "DEVICE", ROLE_KEY, UNIT_TEXT, "name"),
	COL(struct device_row, kind, "KIND", ROLE_TEXT, UNIT_TEXT, "veth, bridge, tun ...; -: hardware"),
	COL(struct device_row, carrier, "LINK", ROLE_TEXT, UNIT_TEXT,
	    "up; no carrier; down: not brought up"),
	COL(struct device_row, speed_bits_per_second, "BIT/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "of the link; virtio and veth have none"),
	COL(struct device_row, duplex, NULL, ROLE_TEXT, UNIT_TEXT, "full or half"),
	COL(struct device_row, mtu_bytes, "MTU", ROLE_GAUGE, UNIT_COUNT, "largest packet"),
	COL_NAME_IF_ANY(struct device_row, peer, "PEER", ROLE_TEXT, NAME_PLAIN,
			"the other end of a veth"),
	COL(struct device_row, peer_mtu_bytes, "PEERMTU", ROLE_GAUGE, UNIT_COUNT, "its MTU"),
	COL_NAME_IF_ANY(struct device_row, master, "MASTER", ROLE_TEXT, NAME_PLAIN,
			"bridge or bond it is a member of"),
	COL(struct device_row, rx_per_second, "RX/s", ROLE_GAUGE, UNIT_PER_SECOND, "packets in"),
	COL(struct device_row, tx_per_second, "TX/s", ROLE_GAUGE, UNIT_PER_SECOND, "packets out"),
	COL(struct device_row, rx_ring, "RXRING", ROLE_GAUGE, UNIT_COUNT,
	    "receive descriptors of a queue"),
	COL(struct device_row, rx_ring_max, NULL, ROLE_GAUGE, UNIT_COUNT, "at most"),
	COL(struct device_row, tx_ring, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "transmit descriptors of a queue"),
	COL(struct device_row, tx_ring_max, NULL, ROLE_GAUGE, UNIT_COUNT, "at most"),
	COL(struct device_row, rx_queues, NULL, ROLE_GAUGE, UNIT_COUNT, "receive queues"),
	COL(struct device_row, tx_queues, NULL, ROLE_GAUGE, UNIT_COUNT, "transmit queues"),
	COL(struct device_row, queue_length, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "txqueuelen: packets a pfifo, or a tap's ring, has room for"),
	COL(struct device_row, qdisc, "QDISC", ROLE_TEXT, UNIT_TEXT, "of its root"),
	COL_NAME_IF_ANY(struct device_row, xdp, "XDP", ROLE_TEXT, NAME_PLAIN,
			"how a program is attached: driver, generic, hardware, several"),
	COL(struct device_row, xdp_program, NULL, ROLE_TEXT, UNIT_ID, "its id"),
	COL(struct device_row, carrier_changes, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "times the carrier came or went"),
	COL(struct device_row, rx_packets, NULL, ROLE_COUNTER, UNIT_COUNT, "received"),
	COL(struct device_row, rx_dropped, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "by the host, also what no protocol took"),
	COL(struct device_row, rx_missed, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "by the device, whose ring was full"),
	COL(struct device_row, rx_errors, NULL, ROLE_COUNTER, UNIT_COUNT, "damaged, and more"),
	COL(struct device_row, rx_nohandler, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "nobody wanted them on an inactive member of a bond: no loss"),
	COL(struct device_row, tx_packets, NULL, ROLE_COUNTER, UNIT_COUNT, "sent"),
	COL(struct device_row, tx_dropped, NULL, ROLE_COUNTER, UNIT_COUNT, "not sent"),
	COL(struct device_row, tx_errors, NULL, ROLE_COUNTER, UNIT_COUNT, "not sent, by an error"),
};

struct driver_row {
	const char *netns, *device, *name, *class;
	uint64_t value, moved;
	double per_second;
};

static const struct column driver_columns[] = {
	COL_NAME(struct driver_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER, "network namespace"),
	COL(struct driver_row, device, "DEVICE", ROLE_KEY, UNIT_TEXT, "name"),
	COL(struct driver_row, name, "DRIVER COUNTER", ROLE_KEY, UNIT_TEXT,
	    "as the driver calls it (ethtool -S)"),
	COL(struct driver_row, class, "CLASS", ROLE_TEXT, UNIT_TEXT,
	    "what its name says it is: rx ring, tx ring, link error, xdp drop, xdp error, cloud "
	    "limit"),
	COL(struct driver_row, per_second, "MOVED/s", ROLE_GAUGE, UNIT_PER_SECOND, "its rate"),
	COL(struct driver_row, moved, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT, "in the interval"),
	COL(struct driver_row, value, "TOTAL", ROLE_COUNTER, UNIT_COUNT, "since the driver began"),
};

const struct table netpath_device_table = { .name = "devices",
					    .help = "a network device",
					    TABLE(struct device_row, device_columns),
					    .top = true };
const struct table netpath_driver_table = { .name = "drivers",
					    .help = "a driver's counter of something lost",
					    TABLE(struct driver_row, driver_columns),
					    .sort = "-moved",
					    .top = true };

static const char *xdp_text(enum link_xdp xdp)
{
	static const char *const texts[] = {
		[LINK_XDP_NONE] = NULL,             [LINK_XDP_DRIVER] = "driver",
		[LINK_XDP_GENERIC] = "generic",     [LINK_XDP_HARDWARE] = "hardware",
		[LINK_XDP_SEVERAL] = "several",
	};

	return texts[xdp];
}

static double rate_since(const struct walk *w, uint64_t now, const uint64_t *was)
{
	return was ? rate_of(delta_u64(now, *was), w->interval_ns) : NA_F64;
}

static void add_driver(struct device_row *row, const struct driver *d)
{
	row->rx_ring = d->rings.rx;
	row->rx_ring_max = d->rings.rx_max;
	row->tx_ring = d->rings.tx;
	row->tx_ring_max = d->rings.tx_max;
	row->duplex = d->is_full_duplex < 0 ? NULL : d->is_full_duplex ? "full" : "half";
	if (d->speed_bits != NA_U64)
		row->speed_bits_per_second = (double)d->speed_bits;
}

static void show_device(struct out *out, const struct walk *w, const struct space *s,
			const struct link *l, const struct link *was)
{
	const struct devices *devices = s->data[LAYER_LINK];
	const struct driver *d = devices_driver(devices, l->index);
	size_t space;
	const struct link *peer = netpath_peer(w->now, s, l, &space);
	const struct link *master = l->master ? netpath_link(s, l->master) : NULL;
	struct device_row row = {
		.netns = s->ns.name,
		.device = l->name,
		.kind = l->kind ? l->kind : l->is_loopback ? "loopback" : NULL,
		.carrier = !l->is_up ? "down" : l->has_carrier ? "up" : "no carrier",
		.speed_bits_per_second = NA_F64,
		.mtu_bytes = l->mtu,
		.peer = peer ? peer->name : NULL,
		.peer_mtu_bytes = peer ? peer->mtu : NA_U64,
		.master = master ? master->name : NULL,
		.rx_per_second = rate_since(w, l->stats.rx_packets,
					    was ? &was->stats.rx_packets : NULL),
		.tx_per_second = rate_since(w, l->stats.tx_packets,
					    was ? &was->stats.tx_packets : NULL),
		.rx_ring = NA_U64, .rx_ring_max = NA_U64, .tx_ring = NA_U64, .tx_ring_max = NA_U64,
		.rx_queues = l->rx_queues,
		.tx_queues = l->tx_queues,
		.queue_length = l->queue_length,
		.qdisc = l->qdisc,
		.xdp = xdp_text(l->xdp),
		.xdp_program = l->xdp_program,
		.carrier_changes = l->carrier_changes,
		.rx_packets = l->stats.rx_packets,
		.rx_dropped = l->stats.rx_dropped,
		.rx_missed = l->stats.rx_missed_errors,
		.rx_errors = l->stats.rx_errors,
		.rx_nohandler = l->stats.rx_nohandler,
		.tx_packets = l->stats.tx_packets,
		.tx_dropped = l->stats.tx_dropped,
		.tx_errors = l->stats.tx_errors,
	};

	if (d)
		add_driver(&row, d);
	out_row(out, &netpath_device_table, &row);
}

/* Those of a class that lost something, some time. */
static void show_stats(struct out *out, const struct walk *w, const struct space *s,
		       const struct link *l, const struct driver *d, const struct driver *was)
{
	for (size_t i = 0; d && i < d->stat_count; i++) {
		const struct ethtool_stat *e = &d->stats[i];
		const char *family = NULL;

		if (e->class == ETHTOOL_OTHER || !e->value)
			continue;
		uint64_t moved = was ? ethtool_class_moved(e, 1, was->stats, was->stat_count,
							   e->class, &family) : NA_U64;
		const struct driver_row row = {
			.netns = s->ns.name,
			.device = l->name,
			.name = e->name,
			.class = ethtool_class_name(e->class),
			.value = e->value,
			.moved = moved,
			.per_second = rate_of(moved, w->interval_ns),
		};

		out_row(out, &netpath_driver_table, &row);
	}
}

void devices_show(struct out *out, struct walk *w)
{
	for (size_t i = 0; i < w->now->space_count; i++) {
		const struct space *s = &w->now->spaces[i], *b = netpath_space_before(w, s);
		const struct devices *d = s->data[LAYER_LINK];
		const struct devices *was = b ? b->data[LAYER_LINK] : NULL;

		for (size_t k = 0; d && k < d->count; k++) {
			const struct link *l = &d->links[k], *before = devices_same(was, l);

			if (!netpath_wants(s, l))
				continue;
			show_device(out, w, s, l, before);
			show_stats(out, w, s, l, devices_driver(d, l->index),
				   before ? devices_driver(was, l->index) : NULL);
		}
	}
}
