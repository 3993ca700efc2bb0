/* Counters of one network namespace: /proc/net/snmp, netstat, dev, snmp6, by name however many. */
#ifndef KERNEL_NETCOUNT_H
#define KERNEL_NETCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* "Tcp:" header and value line pairs (net/ipv4/proc.c): the value of NAME under GROUP ("TcpExt",
 * "ListenOverflows"). GROUP NULL: the "NAME VALUE" lines of snmp6 (net/ipv6/proc.c). NA_U64 if
 * absent, negative or cut. */
uint64_t netcount_find(struct text t, const char *group, const char *name);

struct net_device {
	const char *name;
	uint64_t rx_bytes, rx_packets, rx_errors, rx_dropped, rx_fifo;
	uint64_t tx_bytes, tx_packets, tx_errors, tx_dropped, tx_fifo;
};
/* /proc/net/dev (net/core/net-procfs.c); devices live in arena. A column not there is NA_U64. */
int netcount_parse_devices(struct arena *arena, struct text t, struct net_device **devices,
			   size_t *count);

#endif
