/* Between the files of firewall.h. */
#ifndef KERNEL_FIREWALL_IMPL_H
#define KERNEL_FIREWALL_IMPL_H

#include "common/kernel/firewall.h"

/* Words with a blank between two; to NULL: nothing is written. */
void firewall_word(struct buf *to, const char *format, ...) PRINTF_LIKE(2, 3);
/* A name as it came, in quotes. */
void firewall_quoted(struct buf *to, const char *before, struct text name);

/*
 * A match of xtables (include/uapi/linux/netfilter/xt_*.h), of legacy iptables or in a rule of
 * nftables: to text as iptables-save has it, and what it means for v.
 */
void firewall_add_xt_match(struct text name, uint64_t revision, struct text info,
			   struct firewall_verdict *v, struct buf *text);
/* "udp", or the number, in room. */
const char *firewall_protocol(uint64_t protocol, char room[24]);

/* A rule that drops, to the list, which is in memory of its own until firewall_finish. */
struct firewall_rule *firewall_add(struct firewall *f, const struct firewall_rule *rule);
void firewall_finish(struct arena *a, struct firewall *f);     /* rules in a, and found by key */
/* Is its text wanted? */
bool firewall_wants_text(const struct firewall *before, bool wants_all,
			 const struct firewall_rule *rule);

/* Chains while they are read: which hooks reach them. */
struct firewall_chain {
	unsigned hooks;
	bool is_base;                  /* nobody jumps there */
	uint64_t table;                /* key of its table */
};
struct firewall_jump {
	uint32_t from, to;
};
struct firewall_graph {
	struct firewall_chain *chains;
	size_t count, cap;
	struct firewall_jump *jumps;
	size_t jump_count, jump_cap;
};
void firewall_graph_jump(struct firewall_graph *g, uint32_t from, uint32_t to);
void firewall_graph_spread(struct firewall_graph *g);  /* hooks along the jumps */
void firewall_graph_free(struct firewall_graph *g);

/* The tables in use, of one family: reads them all. */
void firewall_read_legacy(struct arena *a, const struct firewall *before, bool wants_all,
			  struct firewall *f);

/* ---- values (firewall_field.c) ---- */

enum field_format {
	FORMAT_HEX, FORMAT_BE, FORMAT_HOST, FORMAT_IPV4, FORMAT_IPV6, FORMAT_NAME, FORMAT_PROTOCOL,
	FORMAT_CT_STATE, FORMAT_TCP_FLAGS, FORMAT_MARK, FORMAT_ETHERTYPE, FORMAT_MAC,
	FORMAT_NFPROTO,
};
enum field_use {
	USE_NONE, USE_L4PROTO, USE_NFPROTO, USE_ETHERTYPE, USE_SRC, USE_DST, USE_SPORT, USE_DPORT,
	USE_NUMGEN, USE_INTERFACE,
};
/* What a register holds. */
struct field {
	const char *name;              /* "ip saddr", "dport"; NULL: nothing known */
	bool is_transport;             /* the protocol's name stands before it */
	enum field_format format;
	enum field_use use;
	uint8_t len;                   /* bytes of a whole one; fewer: a prefix */
	bool is_turned;                /* host order made network order */
};
/* base: enum nft_payload_bases; nfproto: NFPROTO_IPV4, _IPV6 or 0; l4: IPPROTO_ or 0. name NULL:
 * not known. */
struct field firewall_payload_field(uint64_t base, uint64_t offset, uint64_t len, unsigned nfproto,
				    unsigned l4);
struct field firewall_meta_field(uint64_t key);
struct field firewall_ct_field(uint64_t key);
void firewall_put_value(struct buf *to, const struct field *f, struct text value);

#endif
