/* Inside netpath's device layers: what a look keeps of the devices of a namespace. */
#ifndef APPLETS_NETPATH_DEVICES_H
#define APPLETS_NETPATH_DEVICES_H

#include "applets/netpath/netpath.h"
#include "common/kernel/ethtool_queues.h"
#include "common/kernel/ethtool_stats.h"

/* What the driver says; read of devices that have one worth asking. */
struct driver {
	bool is_read;
	struct nic_rings rings;        /* NA_U64: none */
	uint64_t speed_bits;           /* per second; NA_U64 */
	int is_full_duplex;            /* -1 unknown */
	struct ethtool_stat *stats;
	size_t stat_count;
};

struct devices {
	struct link *links;
	size_t count;
	struct link *elsewhere;        /* beside links: far ends of veths; index 0: unknown. NULL */
	struct driver *drivers;        /* beside links; NULL: none was read */
};

int devices_read(struct out *out, struct look *look, struct space *s);
const struct link *devices_elsewhere(const struct devices *d, uint32_t ifindex);
const struct driver *devices_driver(const struct devices *d, uint32_t ifindex);
/* Of the same index and name in an earlier look; NULL. */
const struct link *devices_same(const struct devices *was, const struct link *l);

/* device_report.c: findings of the link, ring and xdp layers */
void devices_report(struct out *out, struct walk *w);
/* device_rows.c */
void devices_show(struct out *out, struct walk *w);

#endif
