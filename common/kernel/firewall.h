/*
 * What a namespace's packet filters drop: rules of nftables that drop or reject, policies of its
 * chains, and those of legacy iptables, each with its counter where it has one.
 *
 * nftables: nftrule.h, NFT_MSG_GETCHAIN, and NFT_MSG_GETOBJ where a rule counts in a named object.
 * Elements of sets and maps are never read, so a verdict that stands in a map has no rule of its
 * own here. Legacy iptables: IPT_SO_GET_INFO, IPT_SO_GET_ENTRIES (net/ipv4/netfilter/ip_tables.c,
 * net/ipv6/netfilter/ip6_tables.c) of tables that are in use by now alone
 * (proc/net/ip_tables_names): asking for another makes it, and its hooks.
 */
#ifndef KERNEL_FIREWALL_H
#define KERNEL_FIREWALL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"
#include "common/kernel/nftrule.h"

/* The kernel's numbers (enum nf_inet_hooks), and two that only devices have. */
enum firewall_hook {
	HOOK_PREROUTING, HOOK_INPUT, HOOK_FORWARD, HOOK_OUTPUT, HOOK_POSTROUTING, HOOK_INGRESS,
	HOOK_EGRESS, FIREWALL_HOOKS
};
#define HOOK_BIT(h) (1u << (h))
const char *firewall_hook_name(enum firewall_hook h);

/* The conditions of a rule that can be held against a socket. */
struct firewall_match {
	bool is_whole;                 /* it has no others (but for the interface) */
	uint8_t protocol;              /* 0: any */
	uint8_t family;                /* of the addresses; 0: there are none */
	uint8_t src_bits, dst_bits;    /* 0: any */
	uint8_t src[16], dst[16];      /* network order */
	uint16_t sport[2], dport[2];   /* first, last; last 0: any */
};

struct firewall_tuple {
	uint8_t family, protocol;
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
};
/* Is it whole, with more than a protocol to tell by, and does all of it fit? */
bool firewall_matches(const struct firewall_match *m, const struct firewall_tuple *t);

/* What a rule does. */
struct firewall_verdict {
	bool is_drop;                  /* or a reject, */
	bool is_reject;
	bool is_random;                /* of those it fits only some, by chance or by turns; */
	bool is_quota;                 /* until or from a number of bytes; */
	bool is_limit;                 /* over a rate */
	bool is_by_map;                /* what becomes of a packet stands in a map */
	/* Counted behind all conditions, by it alone; NA_U64: it has no counter there. */
	uint64_t packets, bytes;
	struct text counter;           /* or in that named object; empty */
	struct firewall_match match;
};

struct firewall_rule {
	uint8_t nfproto;               /* NFPROTO_IPV4 ... */
	const char *family;            /* "inet", "ip", "ip6" ... */
	const char *table, *chain;
	uint64_t handle;               /* legacy: its number in its chain, from 1; policy: 0 */
	bool is_legacy, is_policy;
	/* only packets that connection tracking finds invalid (conntrack-top.invalid) */
	bool is_invalid_only;
	struct firewall_verdict verdict;       /* .counter is empty */
	/* HOOK_BIT()s of the base chains it is reached from; a jump by a map may go anywhere */
	unsigned hooks;
	const char *text;              /* as far as understood; NULL: not asked for */
	uint64_t key;                  /* of this one, in every look */
	uint32_t chain_index;
};

struct firewall {
	struct firewall_rule *rules;   /* that drop, in the order they stand in */
	size_t count, cap;
	uint64_t seen;                 /* all rules, policies aside */
	uint64_t uncounted;            /* of `rules` without a counter */
	uint64_t by_map;               /* rules whose verdict is in a map: they may drop as well */
	bool has_nft, has_legacy;      /* there are chains */
	bool is_partial;               /* disturbed to the end */
	const char *lacks;             /* NULL, or what could not be read and why */
	struct firewall_key *keys;     /* for firewall_find */
};

/*
 * Of the network namespace the program is in, in a. Texts are made of rules whose counter moved
 * since `before`, or that are not in it; without `before` of none, unless wants_all. What can't be
 * read is in ->lacks: never an error.
 */
void firewall_read(struct arena *a, const struct firewall *before, bool wants_all,
		   struct firewall *f);
const struct firewall_rule *firewall_find(const struct firewall *f, uint64_t key);     /* NULL */

/* ---- one rule: for tests and the fuzz targets ---- */

/* text: gets what nft would print, as far as it is understood; NULL. */
void firewall_understand_nft(const struct nft_rule_head *head, struct firewall_verdict *v,
			     struct buf *text);
/* The reply is a struct ipt_getinfo (ip6t_getinfo) and the entries; what it has is added to a
 * zeroed f. -EINVAL without fail text: garbled, and f has the rules before that. */
int firewall_parse_legacy(struct arena *a, struct text reply, bool is_ipv6,
			  const struct firewall *before, bool wants_all, struct firewall *f);

#endif
