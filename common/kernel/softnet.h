/* Packets as the CPUs take them off the devices: /proc/net/softnet_stat (net/core/net-procfs.c). */
#ifndef KERNEL_SOFTNET_H
#define KERNEL_SOFTNET_H

#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* Summed over CPUs, of all network namespaces; modulo 2^32, as the kernel counts in 32 bits. */
struct softnet {
	uint32_t processed;            /* packets */
	uint32_t dropped;              /* packets: a CPU's backlog was full (netdev_max_backlog) */
	/* times a poll ended with work left: netdev_budget or its time was used up */
	uint32_t squeezed;
	unsigned cpus;                 /* lines: CPUs online */
};

/* Hexadecimal columns, a line per CPU. -EINVAL: a line that makes no sense or is cut, or none. */
int softnet_parse(struct text t, struct softnet *s);
int softnet_read(struct softnet *s);           /* 0 or -errno with fail text */

/* What was counted between two looks, right across a wrap; NA_U64 if a CPU came or went. */
struct softnet_delta {
	uint64_t processed, dropped, squeezed;
};
void softnet_subtract(const struct softnet *before, const struct softnet *now,
		      struct softnet_delta *delta);

/* One CPU's line. What an old kernel has no column for is NA_U64. */
struct softnet_cpu {
	uint32_t processed, dropped, squeezed;
	uint64_t steered;              /* packets taken over from other CPUs (RPS) */
	uint64_t flow_limited;         /* packets dropped by the flow limit */
	uint64_t backlog;              /* packets waiting now (5.10 on) */
	uint64_t cpu;                  /* its number (5.10 on); else the lines are those online */
};
/* Into arena; -EINVAL as softnet_parse. */
int softnet_parse_cpus(struct arena *arena, struct text t, struct softnet_cpu **list,
		       size_t *count);

#endif
