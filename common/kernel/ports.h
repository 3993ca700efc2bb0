/*
 * Local ports the kernel hands out: net/ipv4/ip_local_port_range, ip_local_reserved_ports
 * (Documentation/networking/ip-sysctl.rst).
 */
#ifndef KERNEL_PORTS_H
#define KERNEL_PORTS_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/* Of this network namespace. */
struct ports {
	uint64_t low, high;            /* both are in the range */
	uint64_t reserved;             /* ports of the range that are never handed out */
	uint64_t count;                /* those left */
};

/* "32768\t60999\n": sets low, high, count; or -EINVAL */
int ports_parse_range(struct text t, struct ports *p);
/* a list "8080,9000-9010\n", maybe empty: takes them off; or -EINVAL */
int ports_parse_reserved(struct text t, struct ports *p);
int ports_read(struct ports *p);                               /* 0 or -errno with fail text */

#endif
