/*
 * Files with a line of names and below it a line of hexadecimal counters for each CPU:
 * /proc/net/stat/rt_cache, nf_conntrack, arp_cache, ndisc_cache (net/ipv4/route.c,
 * net/netfilter/nf_conntrack_standalone.c, net/core/neighbour.c).
 */
#ifndef KERNEL_PERCPU_H
#define KERNEL_PERCPU_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/* The sum of one column over all lines; NA_U64 if it is not there, or a line is cut or lacks it. */
uint64_t percpu_sum(struct text t, const char *name);

#endif
