/* What a network device's driver says of itself: ethtool ioctls, include/uapi/linux/ethtool.h. */
#ifndef KERNEL_ETHTOOL_H
#define KERNEL_ETHTOOL_H

#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* NULL where the driver says nothing. */
struct ethtool_driver {
	const char *driver, *version, *firmware, *bus;
};

/* 1 on, 0 off, -1 unknown. */
struct ethtool_offloads {
	int rx_checksum, tx_checksum, tso, gso, gro, lro;
};

struct ethtool_link {
	uint64_t bits_per_second;      /* NA_U64 unknown, or no link */
	int is_full_duplex;            /* -1 unknown */
};

/*
 * Asked of the network namespace the program is in, which no privilege is needed for. 0 or -errno
 * with fail text (ENODEV, EOPNOTSUPP). Strings live until the frame's end.
 */
int ethtool_read_driver(const char *device, struct ethtool_driver *d);
int ethtool_read_offloads(const char *device, struct ethtool_offloads *o);

int ethtool_read_link(const char *device, struct ethtool_link *l);

/* The replies as a save keeps them, "NAME VALUE" lines. -EINVAL: no known line. */
int ethtool_parse_driver(struct arena *arena, struct text t, struct ethtool_driver *d);
int ethtool_parse_offloads(struct text t, struct ethtool_offloads *o);
int ethtool_parse_link(struct text t, struct ethtool_link *l);

#endif
