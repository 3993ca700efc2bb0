/*
 * Local ports the kernel hands out: net/ipv4/ip_local_port_range, ip_local_reserved_ports
 * (Documentation/networking/ip-sysctl.rst).
 */
#ifndef KERNEL_PORTS_H
#define KERNEL_PORTS_H

#include <stdbool.h>
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

/* Any of the 65,536 ports, a bit each. */
struct port_set {
	uint64_t words[65536 / 64];
};

static inline bool port_set_has(const struct port_set *s, uint16_t port)
{
	return s->words[port / 64] >> port % 64 & 1;
}

static inline void port_set_add(struct port_set *s, uint16_t port)
{
	s->words[port / 64] |= 1ull << port % 64;
}

void port_set_join(struct port_set *s, const struct port_set *more);
void port_set_take(struct port_set *s, const struct port_set *less);
/* Those of low to high that are in it. */
uint64_t port_set_count(const struct port_set *s, uint64_t low, uint64_t high);

/* The list again, as a set: it is emptied first. -EINVAL with fail text: it may hold some. */
int ports_parse_set(struct text list, struct port_set *s);
/* ip_local_reserved_ports; none where there is no such file. 0 or -errno with fail text. */
int ports_read_reserved(struct port_set *s);

#endif
