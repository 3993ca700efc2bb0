/* Memory by key: /proc/meminfo (fs/proc/meminfo.c), /proc/vmstat (mm/vmstat.c) and those of a NUMA
 * node, sys/devices/system/node/nodeN/meminfo and numastat (drivers/base/node.c). */
#ifndef KERNEL_MEMINFO_H
#define KERNEL_MEMINFO_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/* "MemTotal: 24683620 kB" in bytes. NA_U64 if it is not there, cut, or has another unit. */
uint64_t meminfo_bytes(struct text t, const char *key);

/* The same of a node's file: "Node 0 MemTotal:       24683620 kB". */
uint64_t node_meminfo_bytes(struct text t, const char *key);

/* "pswpin 12", and numastat's lines: NA_U64 if the key is not there or its line is cut. */
uint64_t vmstat_count(struct text t, const char *key);

/*
 * The sum of key and of "key_*": counters that some kernels split by zone (allocstall,
 * allocstall_normal ...). NA_U64 if there is none, or if one of them makes no sense.
 */
uint64_t vmstat_sum(struct text t, const char *key);

#endif
