/* Sockets in use: /proc/net/sockstat and sockstat6 (net/ipv4/proc.c, net/ipv6/proc.c). */
#ifndef KERNEL_SOCKSTAT_H
#define KERNEL_SOCKSTAT_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/*
 * Of this network namespace, except where it says "host": those are sums over all namespaces.
 * What is not there, or on a cut line, is NA_U64.
 */
struct sockstat {
	uint64_t used;                 /* sockets of any family */
	/* TCP sockets that are bound or connected; IPv4's and IPv6's */
	uint64_t tcp, tcp6;
	uint64_t tcp_time_wait;        /* both families, not part of the two above */
	uint64_t tcp_orphans_host;     /* closed by their program, not yet done */
	uint64_t tcp_allocated_host;
	uint64_t tcp_memory_pages_host;
	uint64_t udp, udp6;
	uint64_t udp_memory_pages_host;
};

/* -EINVAL: no known line. */
/* sets all but tcp6 and udp6, which become NA_U64 */
int sockstat_parse(struct text t, struct sockstat *s);
int sockstat_parse_v6(struct text t, struct sockstat *s);      /* sets only these two */

/*
 * proc/net/sockstat, and sockstat6: without that file there is no IPv6, and both are 0. 0 or -errno
 * with fail text; if only sockstat6 makes no sense the rest is set all the same.
 */
int sockstat_read(struct sockstat *s);

#endif
