/*
 * Neighbours (ARP, IPv6 neighbour discovery): the tables, which all network namespaces share
 * (RTM_GETNEIGHTBL), and the addresses of this namespace that do not answer (RTM_GETNEIGH;
 * net/core/neighbour.c, include/uapi/linux/neighbour.h). No privilege is needed.
 */
#ifndef KERNEL_NEIGHBOUR_H
#define KERNEL_NEIGHBOUR_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* Of the whole host, since boot; NA_U64 unknown. */
struct neighbour_table {
	uint8_t family;                /* AF_INET, AF_INET6 */
	const char *name;              /* "arp_cache", "ndisc_cache" */
	uint64_t entries;
	uint64_t limit;                /* gc_thresh3 */
	uint64_t failed;               /* addresses that did not answer */
	uint64_t fulls;                /* an entry could not be made: its packet was lost */
	/* packets for which no room was while the address was asked for: proc/net/stat/NAME, which
	 * only the initial namespace has */
	uint64_t unresolved_discards;
};

/* In arena; 0 or -errno with fail text. */
int neighbour_tables_read(struct arena *arena, struct neighbour_table **tables, size_t *count);
/* What follows the nlmsghdr of RTM_NEWNEIGHTBL. -EINVAL without fail text: cut, or a device's
 * settings alone. */
int neighbour_table_parse(struct arena *arena, struct text body, struct neighbour_table *t);

struct neighbour {
	uint8_t family;
	uint8_t address[16];           /* network order */
	uint32_t ifindex;
	uint16_t state;                /* NUD_ */
};

/* Those that are being asked for in vain (NUD_INCOMPLETE) or gave no answer (NUD_FAILED) of the
 * namespace the program is in: up to `room` of them, *count all. 0 or -errno with fail text. */
int neighbours_unresolved(struct neighbour *list, size_t room, size_t *count);
int neighbour_parse(struct text body, struct neighbour *n);    /* as above, RTM_NEWNEIGH */

#endif
