/* How much work the host was doing: what makes two measurements comparable. */
#ifndef KERNEL_LOAD_H
#define KERNEL_LOAD_H

#include <stdint.h>

#include "common/base/na.h"

/* Counters since boot; NA_U64 where unreadable. Loopback and duplicates (veth, bridge members) are
 * not told apart: packets are those received by devices of this namespace that have a device/ link,
 * else by all but lo. */
struct load {
	uint64_t packets_in;           /* proc/net/dev */
	uint64_t accepts;              /* Tcp PassiveOpens, proc/net/snmp */
	uint64_t switches;             /* proc/stat ctxt */
	uint64_t busy_ticks, total_ticks;
};
void load_read(struct load *l);

struct load_rates {
	double packets_per_second, accepts_per_second, switches_per_second, busy_ratio;
};
void load_rates(const struct load *before, const struct load *now, uint64_t elapsed_ns,
		struct load_rates *r);

#endif
