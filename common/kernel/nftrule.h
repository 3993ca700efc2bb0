/*
 * The rules of nftables (NFT_MSG_GETRULE, net/netfilter/nf_tables_api.c,
 * include/uapi/linux/netfilter/nf_tables.h), and what they have to do with connection tracking:
 * which drop invalid packets and how many, and which ports SNAT may use. What they drop else is in
 * firewall.h. Sets and maps are never read; a rule that decides by one is no answer here. Of
 * iptables-nft the matches "conntrack" and "state" are understood, and the target REJECT; legacy
 * iptables is not asked.
 */
#ifndef KERNEL_NFTRULE_H
#define KERNEL_NFTRULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"
#include "common/kernel/netlink.h"

/* A rule as it came: which one it is, and what it is made of, not yet understood. */
struct nft_rule_head {
	uint8_t family;                /* NFPROTO_IPV4 (2), _IPV6 (10), _INET (1) ... */
	struct text table, chain;
	uint64_t handle;
	struct text expressions;       /* NFTA_LIST_ELEM each */
	struct text comment;           /* empty: none */
};

/* What follows the nlmsghdr: struct nfgenmsg and attributes. -EINVAL without fail text: cut. */
int nft_rule_parse_head(struct text body, struct nft_rule_head *head);
/* The next expression, taken off; false at the end, and where it makes no sense: then not all of
 * *list is gone. */
bool nft_next_expression(struct text *list, struct text *name, struct text *attrs);

/*
 * A dump of nf_tables: NFT_MSG_GETRULE, _GETCHAIN, _GETOBJ ... of the namespace the program is in.
 * key names it. 0, also if nf_tables is not there and asking could load it (nothing comes then), or
 * -errno with fail text.
 */
int nft_dump(const char *key, uint8_t message, const struct netlink_reader *reader,
	     struct netlink_result *result);
#define NFT_RULES_KEY "nftables.rules"
/* Is it there, or can nothing be loaded by asking? */
bool nft_can_ask(void);
const char *nft_family_name(uint8_t family);   /* "inet"; "?" */

/* A number in network order among attributes; NA_U64 if it is not there. */
uint64_t nft_number(struct text attrs, uint16_t type);
/* A value inside NFTA_..._DATA: NFTA_DATA_VALUE. */
bool nft_find_value(struct text attrs, uint16_t type, struct text *value);

struct nft_rule {
	uint8_t family;
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

/* As nft_rule_parse_head. */
int nft_rule_parse(struct text body, struct nft_rule *rule);
/* What the expressions of that one come to. */
int nft_rule_understand(const struct nft_rule_head *head, struct nft_rule *rule);

/*
 * All rules of the namespace the program is in; rule lives until each returns. restart: what came
 * before is void. 0, also if nf_tables is not there and asking could load it (nothing comes then),
 * or -errno with fail text.
 */
int nft_rules_each(void (*each)(const struct nft_rule *rule, void *arg), void (*restart)(void *arg),
		   void *arg);

#endif
