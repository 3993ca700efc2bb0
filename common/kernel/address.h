/* Which addresses the network namespace the program is in has (RTM_GETADDR; net/ipv4/devinet.c,
 * net/ipv6/addrconf.c, include/uapi/linux/if_addr.h). No privilege is needed. */
#ifndef KERNEL_ADDRESS_H
#define KERNEL_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"

struct address {
	uint8_t family;                /* AF_INET, AF_INET6 */
	uint8_t bits;                  /* of its prefix */
	uint32_t ifindex;
	uint8_t address[16];           /* network order; IPv4 in the first four, the rest 0 */
};

/* What follows the nlmsghdr of RTM_NEWADDR. -EINVAL without fail text: cut. */
int address_parse(struct text body, struct address *a);
/* One to be reached by from elsewhere: not loopback, link-local, or IPv6 of the site's own
 * (fc00::/7). */
bool address_is_global(const struct address *a);
/* 0 or -errno with fail text. restart: what came before is void. */
int addresses_each(void (*each)(const struct address *a, void *arg), void (*restart)(void *arg),
		   void *arg);

#endif
