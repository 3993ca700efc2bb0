/*
 * One tracked flow, as ctnetlink sends it (net/netfilter/nf_conntrack_netlink.c,
 * include/uapi/linux/netfilter/nfnetlink_conntrack.h) and as a line of /proc/net/nf_conntrack or of
 * the older ip_conntrack has it (net/netfilter/nf_conntrack_standalone.c); and which flows a person
 * asks for.
 */
#ifndef KERNEL_FLOW_H
#define KERNEL_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* Bits of status: include/uapi/linux/netfilter/nf_conntrack_common.h. */
enum {
	FLOW_SEEN_REPLY = 1 << 1,
	FLOW_ASSURED = 1 << 2,         /* not evicted early */
	FLOW_SRC_NAT = 1 << 4,
	FLOW_DST_NAT = 1 << 5,
	FLOW_OFFLOAD = 1 << 14,
};

/* TCP's are the kernel's (nf_conntrack_tcp.h); 9 was LISTEN before 2.6.35. */
enum flow_state {
	FLOW_NONE, FLOW_SYN_SENT, FLOW_SYN_RECV, FLOW_ESTABLISHED, FLOW_FIN_WAIT, FLOW_CLOSE_WAIT,
	FLOW_LAST_ACK, FLOW_TIME_WAIT, FLOW_CLOSE, FLOW_SYN_SENT2,
	/* of protocols without states; flow_state() says which */
	FLOW_IS_UNREPLIED, FLOW_IS_REPLIED, FLOW_IS_ASSURED, FLOW_STATES
};

struct flow_tuple {
	uint8_t src[16], dst[16];      /* network order; IPv4 in the first four, the rest 0 */
	uint16_t sport, dport;         /* host order, 0 where there are none; ICMP: its id, and
					  type << 8 | code */
};

struct flow {
	uint8_t family;                /* AF_INET, AF_INET6 */
	uint8_t protocol;              /* IPPROTO_* */
	bool has_tcp_state;
	uint8_t tcp_state;             /* enum flow_state, valid with has_tcp_state */
	bool has_id;
	uint32_t id;                   /* the kernel's hash of it: 32 bits, so two may share one */
	uint32_t status;               /* FLOW_ bits */
	uint32_t mark;
	uint16_t zone;
	uint64_t timeout_s;            /* until it expires; NA_U64 unknown (offloaded) */
	uint64_t packets, bytes;       /* both directions; NA_U64 without nf_conntrack_acct */
	struct flow_tuple original, reply;
};

/*
 * What follows the nlmsghdr: struct nfgenmsg and the attributes, in one pass. -EINVAL without fail
 * text (there may be many): cut short, or without an original tuple.
 */
int flow_parse_message(struct text payload, struct flow *f);

/*
 * "ipv4 2 tcp 6 431999 ESTABLISHED src=..." (nf_conntrack) or "tcp 6 431999 ESTABLISHED src=..."
 * (ip_conntrack: IPv4 alone, no zones), without the newline. -EINVAL without fail text.
 */
int flow_parse_line(struct text line, struct flow *f);

enum flow_state flow_state(const struct flow *f);
const char *flow_state_name(enum flow_state s);        /* as conntrack has it: "TIME_WAIT" */
int flow_state_find(const char *name, enum flow_state *s);     /* any case; -EINVAL with text */

/* "tcp", "udp", "icmpv6" ..., or the number. */
const char *flow_protocol_name(struct arena *a, uint8_t protocol);
int flow_protocol_find(const char *name, uint8_t *protocol);   /* -EINVAL with text */
const char *flow_address_text(struct arena *a, uint8_t family, const uint8_t address[16]);

/* Both ids and tuples: two dumped flows that share it are one. */
uint64_t flow_fingerprint(const struct flow *f);

/* Which flows: zeroed is all of them. */
struct flow_net {
	bool is_set;
	uint8_t family, bits;          /* length of the prefix */
	uint8_t address[16];
};
struct flow_filter {
	struct flow_net src, dst;      /* of the original direction */
	bool has_protocol, has_sport, has_dport, has_state, has_zone, has_mark;
	uint8_t protocol;
	uint16_t sport, dport, zone;
	enum flow_state state;
	uint32_t mark, mark_mask;
	uint32_t status, status_mask;  /* (flow's & status_mask) == status */
};
bool flow_matches(const struct flow_filter *filter, const struct flow *f);
int flow_net_parse(const char *what, const char *text, struct flow_net *net); /* ADDR[/BITS] */

#endif
