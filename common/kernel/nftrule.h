/*
 * What nftables rules have to do with connection tracking: which drop invalid packets and how many,
 * and which ports SNAT may use (NFT_MSG_GETRULE, net/netfilter/nf_tables_api.c,
 * include/uapi/linux/netfilter/nf_tables.h). Sets and maps are never read; a rule that decides by
 * one is no answer here. Of iptables-nft the matches "conntrack" and "state" are understood, its
 * targets are not; legacy iptables is not asked.
 */
#ifndef KERNEL_NFTRULE_H
#define KERNEL_NFTRULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

struct nft_rule {
	uint8_t family;                /* NFPROTO_IPV4 (2), _IPV6 (10), _INET (1) ... */
	struct text table, chain;
	uint64_t handle;
	/* packets counted behind the matches, if it drops (or rejects) packets whose only required
	   conntrack state is invalid; NA_U64: it does not, or does not count */
	uint64_t invalid_dropped;
	bool is_snat;                  /* snat or masquerade */
	bool has_address;              /* snat to one address or a range of them */
	uint8_t address_family;        /* AF_INET, AF_INET6 */
	uint8_t address_min[16], address_max[16];
	uint16_t port_min, port_max;   /* 0: no range of its own */
};

/* What follows the nlmsghdr: struct nfgenmsg and attributes. -EINVAL without fail text: cut. */
int nft_rule_parse(struct text body, struct nft_rule *rule);

/*
 * All rules of the namespace the program is in; rule lives until each returns. restart: what came
 * before is void. 0, also if nf_tables is not there and asking could load it (nothing comes then),
 * or -errno with fail text.
 */
int nft_rules_each(void (*each)(const struct nft_rule *rule, void *arg), void (*restart)(void *arg),
		   void *arg);

#endif
