#include "common/kernel/nftrule.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "common/kernel/conntrack.h"
#include "common/kernel/module.h"
#include "common/kernel/netlink.h"

#define STATE_INVALID 1u               /* NF_CT_STATE_INVALID_BIT, nf_conntrack_common.h */
#define REGISTER_BYTES 64              /* 16 of 32 bits, which 4 of 128 bits overlap */
/* xt_conntrack_mtinfo2 and 3 (include/uapi/linux/netfilter/xt_conntrack.h), xt_state_info */
#define XT_CONNTRACK_FLAGS_AT 146
#define XT_CONNTRACK_INVERT_AT 148
#define XT_CONNTRACK_STATES_AT 150
#define XT_CONNTRACK_STATE_FLAG 1
#define XT_STATE_INVALID 1

/* The kernel's machine, as far as a rule puts constants into its registers. */
struct machine {
	struct nft_rule *rule;
	uint8_t registers[REGISTER_BYTES];
	uint64_t state_register;       /* has the conntrack state; NA_U64: none */
	bool is_masked;                /* there: ANDed with invalid alone */
	bool is_invalid;               /* only invalid packets come this far */
	uint64_t counted;              /* by a counter behind that */
};

uint64_t nft_number(struct text attrs, uint16_t type)
{
	struct text data;

	return netlink_find(attrs, type, &data) ? netlink_be32(data) : NA_U64;
}

static uint8_t *register_at(struct machine *m, uint64_t n, size_t len)
{
	size_t at = n >= NFT_REG_1 && n <= NFT_REG_4 ? (n - NFT_REG_1) * 16 :
		n >= NFT_REG32_00 && n <= NFT_REG32_15 ? (n - NFT_REG32_00) * 4 : REGISTER_BYTES;

	return at + len <= REGISTER_BYTES ? m->registers + at : NULL;
}

bool nft_find_value(struct text attrs, uint16_t type, struct text *value)
{
	struct text data;

	return netlink_find(attrs, type, &data) && netlink_find(data, NFTA_DATA_VALUE, value);
}

static bool is_state_value(struct text value, uint32_t want)
{
	uint32_t n;

	if (value.len != sizeof(n))
		return false;
	memcpy(&n, value.data, sizeof(n));
	return n == want;
}

static void run_ct(struct machine *m, struct text attrs)
{
	bool is_state = nft_number(attrs, NFTA_CT_KEY) == NFT_CT_STATE;

	m->state_register = is_state ? nft_number(attrs, NFTA_CT_DREG) : NA_U64;
	m->is_masked = false;
}

static void run_bitwise(struct machine *m, struct text attrs)
{
	struct text mask, flip;

	if (nft_number(attrs, NFTA_BITWISE_SREG) != m->state_register)
		return;
	m->is_masked = nft_find_value(attrs, NFTA_BITWISE_MASK, &mask) &&
		is_state_value(mask, STATE_INVALID) &&
		nft_find_value(attrs, NFTA_BITWISE_XOR, &flip) && is_state_value(flip, 0);
	m->state_register = nft_number(attrs, NFTA_BITWISE_DREG);
}

static void run_cmp(struct machine *m, struct text attrs)
{
	struct text value;

	if (nft_number(attrs, NFTA_CMP_SREG) != m->state_register || m->state_register == NA_U64 ||
	    !nft_find_value(attrs, NFTA_CMP_DATA, &value))
		return;
	uint64_t op = nft_number(attrs, NFTA_CMP_OP);

	m->is_invalid |= m->is_masked && op == NFT_CMP_NEQ && is_state_value(value, 0);
	m->is_invalid |= !m->is_masked && op == NFT_CMP_EQ && is_state_value(value, STATE_INVALID);
	m->state_register = NA_U64;
}

static uint16_t half(struct text info, size_t at)
{
	uint16_t n;

	memcpy(&n, info.data + at, sizeof(n));
	return n;
}

static void run_match(struct machine *m, struct text attrs)
{
	struct text name, info;
	uint64_t revision = nft_number(attrs, NFTA_MATCH_REV);

	if (!netlink_find(attrs, NFTA_MATCH_NAME, &name) ||
	    !netlink_find(attrs, NFTA_MATCH_INFO, &info))
		return;
	name = netlink_string(name);
	if (text_is(name, "state") && info.len >= 4)
		m->is_invalid |= is_state_value((struct text){ info.data, 4 }, XT_STATE_INVALID);
	if (text_is(name, "conntrack") && revision >= 2 && revision <= 3 &&
	    info.len >= XT_CONNTRACK_STATES_AT + 2)
		m->is_invalid |= (half(info, XT_CONNTRACK_FLAGS_AT) & XT_CONNTRACK_STATE_FLAG) &&
			!(half(info, XT_CONNTRACK_INVERT_AT) & XT_CONNTRACK_STATE_FLAG) &&
			half(info, XT_CONNTRACK_STATES_AT) == XT_STATE_INVALID;
}

static void run_counter(struct machine *m, struct text attrs)
{
	struct text packets;

	if (m->is_invalid && netlink_find(attrs, NFTA_COUNTER_PACKETS, &packets))
		m->counted = netlink_be64(packets);
}

static void drop(struct machine *m)
{
	if (m->is_invalid)
		m->rule->invalid_dropped = m->counted;
}

static void run_immediate(struct machine *m, struct text attrs)
{
	struct text data, verdict, value;
	uint64_t to = nft_number(attrs, NFTA_IMMEDIATE_DREG);

	if (!netlink_find(attrs, NFTA_IMMEDIATE_DATA, &data))
		return;
	if (netlink_find(data, NFTA_DATA_VERDICT, &verdict)) {
		if (nft_number(verdict, NFTA_VERDICT_CODE) == NF_DROP)
			drop(m);
		return;
	}
	if (!netlink_find(data, NFTA_DATA_VALUE, &value))
		return;
	uint8_t *at = register_at(m, to, value.len);

	if (at)
		memcpy(at, value.data, value.len);
}

static bool take_port(struct machine *m, struct text attrs, uint16_t type, uint16_t *port)
{
	uint64_t from = nft_number(attrs, type);
	const uint8_t *at = from == NA_U64 ? NULL : register_at(m, from, 2);

	if (at)
		*port = (uint16_t)(at[0] << 8 | at[1]);
	return at;
}

static bool take_address(struct machine *m, struct text attrs, uint16_t type, size_t len,
			 uint8_t address[16])
{
	uint64_t from = nft_number(attrs, type);
	const uint8_t *at = from == NA_U64 ? NULL : register_at(m, from, len);

	if (at)
		memcpy(address, at, len);
	return at;
}

static void take_ports(struct machine *m, struct text attrs, uint16_t min, uint16_t max)
{
	struct nft_rule *r = m->rule;

	r->is_snat = true;
	if (take_port(m, attrs, min, &r->port_min) && !take_port(m, attrs, max, &r->port_max))
		r->port_max = r->port_min;
}

static void run_nat(struct machine *m, struct text attrs)
{
	struct nft_rule *r = m->rule;
	uint64_t family = nft_number(attrs, NFTA_NAT_FAMILY);
	size_t len = family == AF_INET ? 4 : 16;

	if (nft_number(attrs, NFTA_NAT_TYPE) != NFT_NAT_SNAT ||
	    (family != AF_INET && family != AF_INET6))
		return;
	take_ports(m, attrs, NFTA_NAT_REG_PROTO_MIN, NFTA_NAT_REG_PROTO_MAX);
	r->address_family = (uint8_t)family;
	r->has_address = take_address(m, attrs, NFTA_NAT_REG_ADDR_MIN, len, r->address_min);
	if (r->has_address &&
	    !take_address(m, attrs, NFTA_NAT_REG_ADDR_MAX, len, r->address_max))
		memcpy(r->address_max, r->address_min, len);
}

static void run_target(struct machine *m, struct text attrs)
{
	struct text name;

	if (netlink_find(attrs, NFTA_TARGET_NAME, &name) && text_is(netlink_string(name), "REJECT"))
		drop(m);
}

static void run(struct machine *m, struct text name, struct text attrs)
{
	if (text_is(name, "ct"))
		run_ct(m, attrs);
	else if (text_is(name, "bitwise"))
		run_bitwise(m, attrs);
	else if (text_is(name, "cmp"))
		run_cmp(m, attrs);
	else if (text_is(name, "match"))
		run_match(m, attrs);
	else if (text_is(name, "counter"))
		run_counter(m, attrs);
	else if (text_is(name, "immediate"))
		run_immediate(m, attrs);
	else if (text_is(name, "reject"))
		drop(m);
	else if (text_is(name, "target"))
		run_target(m, attrs);
	else if (text_is(name, "nat"))
		run_nat(m, attrs);
	else if (text_is(name, "masq"))
		take_ports(m, attrs, NFTA_MASQ_REG_PROTO_MIN, NFTA_MASQ_REG_PROTO_MAX);
	else
		m->state_register = NA_U64;     /* it may have written there */
}

bool nft_next_expression(struct text *list, struct text *name, struct text *attrs)
{
	struct text rest = *list;
	struct netlink_attr element;

	if (!netlink_next(&rest, &element) || !netlink_find(element.data, NFTA_EXPR_NAME, name))
		return false;
	*name = netlink_string(*name);
	if (!netlink_find(element.data, NFTA_EXPR_DATA, attrs))
		*attrs = TEXT("");
	*list = rest;
	return true;
}

/* NFTA_RULE_USERDATA holds pairs of type and length of one byte each (libnftnl's udata.h): a
 * comment is type 0. */
static struct text find_comment(struct text data)
{
	while (data.len >= 2) {
		const size_t len = (unsigned char)data.data[1];

		if (len > data.len - 2)
			break;
		if (data.data[0] == 0)
			return netlink_string((struct text){ data.data + 2, len });
		data = (struct text){ data.data + 2 + len, data.len - 2 - len };
	}
	return TEXT("");
}

int nft_rule_parse_head(struct text body, struct nft_rule_head *head)
{
	struct nft_rule_head new = { .expressions = TEXT(""), .comment = TEXT("") };
	struct text attrs = netlink_behind(body, sizeof(struct nfgenmsg));
	struct netlink_attr a;
	bool has_table = false, has_chain = false, has_handle = false;

	if (body.len < sizeof(struct nfgenmsg))
		return -EINVAL;
	new.family = (uint8_t)body.data[offsetof(struct nfgenmsg, nfgen_family)];
	while (netlink_next(&attrs, &a)) {
		if (a.type == NFTA_RULE_TABLE)
			new.table = netlink_string(a.data), has_table = true;
		else if (a.type == NFTA_RULE_CHAIN)
			new.chain = netlink_string(a.data), has_chain = true;
		else if (a.type == NFTA_RULE_HANDLE)
			new.handle = netlink_be64(a.data), has_handle = true;
		else if (a.type == NFTA_RULE_EXPRESSIONS)
			new.expressions = a.data;
		else if (a.type == NFTA_RULE_USERDATA)
			new.comment = find_comment(a.data);
	}
	if (!has_table || !has_chain || !has_handle)
		return -EINVAL;
	*head = new;
	return 0;
}

int nft_rule_understand(const struct nft_rule_head *head, struct nft_rule *rule)
{
	struct nft_rule new = {
		.family = head->family, .table = head->table, .chain = head->chain,
		.handle = head->handle, .invalid_dropped = NA_U64,
	};
	struct machine m = { .rule = &new, .state_register = NA_U64, .counted = NA_U64 };
	struct text list = head->expressions, name, attrs;

	while (nft_next_expression(&list, &name, &attrs))
		run(&m, name, attrs);
	if (list.len)
		return -EINVAL;
	*rule = new;
	return 0;
}

int nft_rule_parse(struct text body, struct nft_rule *rule)
{
	struct nft_rule_head head;
	int err = nft_rule_parse_head(body, &head);

	return err < 0 ? err : nft_rule_understand(&head, rule);
}

/* ---- all of them ---- */

struct walk {
	void (*each)(const struct nft_rule *rule, void *arg);
	void (*restart)(void *arg);
	void *arg;
};

static void take_message(const struct netlink_message *m, void *arg)
{
	const struct walk *w = arg;
	struct nft_rule rule;

	if (m->type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE) &&
	    nft_rule_parse(m->body, &rule) == 0)
		w->each(&rule, w->arg);
}

static void start_again(void *arg)
{
	const struct walk *w = arg;

	w->restart(w->arg);
}

bool nft_can_ask(void)
{
	return !module_would_load("nf_tables");
}

int nft_dump(const char *key, uint8_t message, const struct netlink_reader *reader,
	     struct netlink_result *result)
{
	struct buf body = { 0 };

	*result = (struct netlink_result){ 0 };
	if (!nft_can_ask())
		return 0;
	conntrack_begin_body(&body, AF_UNSPEC);
	const struct netlink_request r = { .key = key, .family = NETLINK_NETFILTER,
					   .type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message),
					   .body = buf_text(&body) };
	int err = netlink_dump(&r, reader, result);

	buf_free(&body);
	return err;
}

const char *nft_family_name(uint8_t family)
{
	switch (family) {
	case NFPROTO_INET: return "inet";
	case NFPROTO_IPV4: return "ip";
	case NFPROTO_ARP: return "arp";
	case NFPROTO_NETDEV: return "netdev";
	case NFPROTO_BRIDGE: return "bridge";
	case NFPROTO_IPV6: return "ip6";
	}
	return "?";
}

int nft_rules_each(void (*each)(const struct nft_rule *rule, void *arg), void (*restart)(void *arg),
		   void *arg)
{
	struct walk w = { each, restart, arg };
	const struct netlink_reader reader = { take_message, start_again, &w };
	struct netlink_result result;

	return nft_dump(NFT_RULES_KEY, NFT_MSG_GETRULE, &reader, &result);
}
