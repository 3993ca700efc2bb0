/*
 * Network devices with their counters, of the network namespace the program is in: RTM_GETLINK
 * (net/core/rtnetlink.c, include/uapi/linux/if_link.h). No privilege is needed.
 */
#ifndef KERNEL_LINK_H
#define KERNEL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/*
 * struct rtnl_link_stats64 in its order: packets since the device was made (or reset by its
 * driver). One the kernel does not send is NA_U64. rx_dropped: by the host, also what no protocol
 * took, and by some drivers what the ring had no room for; rx_missed by the device.
 */
struct link_stats {
	uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes, rx_errors, tx_errors, rx_dropped,
		tx_dropped, multicast, collisions, rx_length_errors, rx_over_errors, rx_crc_errors,
		rx_frame_errors, rx_fifo_errors, rx_missed_errors, tx_aborted_errors,
		tx_carrier_errors, tx_fifo_errors, tx_heartbeat_errors, tx_window_errors,
		rx_compressed, tx_compressed, rx_nohandler;
};

enum link_xdp { LINK_XDP_NONE, LINK_XDP_DRIVER, LINK_XDP_GENERIC, LINK_XDP_HARDWARE,
		LINK_XDP_SEVERAL };

struct link {
	uint32_t index;
	uint32_t below;                /* IFLA_LINK: a veth's other end, a VLAN's device; 0: none,
					  or itself */
	uint64_t below_netns;          /* the id (RTM_GETNSID) in this namespace of the one that
					  device is in; NA_U64: here */
	uint32_t master;               /* bridge, bond, VRF; 0: none */
	const char *name;              /* never NULL */
	const char *kind;              /* "veth", "bridge", "bond", "tun"; NULL: hardware, lo */
	const char *qdisc;             /* of its root; NULL unknown */
	struct text address;           /* hardware address */
	uint64_t mtu, queue_length;
	uint64_t tx_queues, rx_queues;
	bool is_up, has_carrier, is_loopback;
	uint64_t carrier_changes;      /* ups and downs since it was made */
	uint64_t carrier_down;         /* downs alone (4.16 on) */
	enum link_xdp xdp;
	uint64_t xdp_program;          /* its id; NA_U64 */
	struct link_stats stats;
};

/* All, in the kernel's order; strings in arena. 0 or -errno with fail text. */
int links_read(struct arena *arena, struct link **links, size_t *count);

/*
 * One in the namespace which this one knows by id netns (4.20 on). The reply's `below` and `master`
 * are of that namespace. -errno with fail text: EPERM, EINVAL (older kernel), ENODEV.
 */
int link_read_elsewhere(struct arena *arena, uint64_t netns, uint32_t index, struct link *l);

/* What follows the nlmsghdr of RTM_NEWLINK. -EINVAL without fail text: cut, or without a name. */
int link_parse(struct arena *arena, struct text body, struct link *l);

#endif
