/*
 * A driver's own counters: what "ethtool -S" prints (ETHTOOL_GSTRINGS and ETHTOOL_GSTATS,
 * include/uapi/linux/ethtool.h). No two drivers agree on names, so a counter's class is told by
 * pattern, and its name is kept as it is.
 */
#ifndef KERNEL_ETHTOOL_STATS_H
#define KERNEL_ETHTOOL_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

enum ethtool_class {
	ETHTOOL_OTHER,
	ETHTOOL_RING_RX,               /* no room, no buffer, dropped by the driver or the card */
	ETHTOOL_RING_TX,
	ETHTOOL_LINK_ERROR,            /* damaged frames */
	ETHTOOL_XDP_DROP,              /* a program said so */
	ETHTOOL_XDP_ERROR,             /* exceptions, failed XDP_TX and redirects */
	ETHTOOL_CLOUD,                 /* over an allowance of the instance (ENA) */
	ETHTOOL_CLASSES
};
const char *ethtool_class_name(enum ethtool_class c);  /* "rx ring" ...; OTHER: "other" */

struct ethtool_stat {
	const char *name;              /* as the driver has it; may hold any byte but newline */
	const char *family;            /* the same without its queue's number: "rx_queue_N_drops" */
	uint64_t value;
	enum ethtool_class class;
};

enum ethtool_class ethtool_classify(const char *name);

/* All of a device; in arena. 0 or -errno with fail text (EOPNOTSUPP: the driver has none). */
int ethtool_read_stats(struct arena *arena, const char *device, struct ethtool_stat **stats,
		       size_t *count);
/* The reply as a save keeps it, "VALUE NAME" lines. -EINVAL with fail text. */
int ethtool_parse_stats(struct arena *arena, struct text t, struct ethtool_stat **stats,
			size_t *count);

/*
 * What a class lost between two readings: per family (a counter of each queue, a total) the sum of
 * what moved, and of all families the largest, for a driver often has the same packets in several.
 * *family is that one's name. NA_U64: the class has no counter, or none is comparable.
 */
uint64_t ethtool_class_moved(const struct ethtool_stat *now, size_t count,
			     const struct ethtool_stat *before, size_t before_count,
			     enum ethtool_class class, const char **family);

#endif
