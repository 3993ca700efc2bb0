/*
 * A network device's queues as its driver has them: rings, channels, interrupt coalescing and the
 * table that spreads flows over queues (RSS). By netlink (Documentation/networking/
 * ethtool-netlink.rst, Linux 5.6 on), else, and the table always, by ioctl
 * (include/uapi/linux/ethtool.h). Asked of the network namespace the program is in. What a driver
 * has not is NA_U64.
 */
#ifndef KERNEL_ETHTOOL_QUEUES_H
#define KERNEL_ETHTOOL_QUEUES_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

struct nic_rings {                 /* descriptors per queue */
	uint64_t rx, rx_max, tx, tx_max;
};
struct nic_channels {              /* combined: a queue both ways on one interrupt */
	uint64_t rx, rx_max, tx, tx_max, other, other_max, combined, combined_max;
};
struct nic_coalesce {
	uint64_t rx_us, rx_frames, tx_us, tx_frames, adaptive_rx;
};
struct nic_rss {
	uint64_t entries, queues;      /* of the table; different queues in it */
};

/* All of one: 0, or -errno with fail text (EOPNOTSUPP: the driver has no such thing). */
int ethtool_read_rings(const char *device, struct nic_rings *r);
int ethtool_read_channels(const char *device, struct nic_channels *c);
int ethtool_read_coalesce(const char *device, struct nic_coalesce *c);
int ethtool_read_rss(const char *device, struct nic_rss *r);

/* ---- parsers: of the attributes behind an answer's genlmsghdr, and of "NAME VALUE" lines ---- */

enum ethtool_what { ETHTOOL_RINGS, ETHTOOL_CHANNELS, ETHTOOL_COALESCE, ETHTOOL_WHATS };
/* values: the struct of that kind as an array. A maximum of 0 means that there is no such thing. */
void ethtool_parse_attrs(enum ethtool_what what, struct text attrs, uint64_t *values);
int ethtool_parse_lines(enum ethtool_what what, struct text t, uint64_t *values);
#define ETHTOOL_VALUES_MAX 8

/* A table of 32-bit queue numbers. -EINVAL without fail text: empty, or cut. */
int ethtool_parse_rss(struct text table, struct nic_rss *r);

#endif
