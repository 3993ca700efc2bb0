/* One rule of nftables: its verdict, what it counted, and its text. */
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/kernel/firewall_impl.h"

#define SLOTS 16                       /* registers of 32 bits; the four of 128 lie over them */
#define NO_SLOT SLOTS

/* What a register holds: a field of the packet, as far as it is known. */
struct cell {
	struct field field;
	struct text mask;              /* ANDed with; empty: not */
	struct text modulus;           /* of a numgen; empty */
};

struct machine {
	struct firewall_verdict *v;
	struct buf *text;              /* NULL: none is made */
	struct cell cells[SLOTS];
	unsigned nfproto, l4;          /* known by now; 0: not */
	/* A condition that nft leaves out when the next says it as well: "meta l4proto udp". */
	struct cell waiting;
	struct text waiting_value;
	bool has_other;                /* conditions no socket can be held against */
};

void firewall_word(struct buf *to, const char *format, ...)
{
	char word[512];
	va_list ap;

	if (!to)
		return;
	va_start(ap, format);
	int n = vsnprintf(word, sizeof(word), format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (to->len)
		buf_add_char(to, ' ');
	buf_add(to, word, (size_t)n < sizeof(word) ? (size_t)n : sizeof(word) - 1);
}

void firewall_quoted(struct buf *to, const char *before, struct text name)
{
	firewall_word(to, "%s \"%.*s\"", before, (int)(name.len < 256 ? name.len : 256), name.data);
}

static unsigned slot_of(uint64_t n)
{
	return n >= NFT_REG_1 && n <= NFT_REG_4 ? (unsigned)(n - NFT_REG_1) * 4 :
		n >= NFT_REG32_00 && n <= NFT_REG32_15 ? (unsigned)(n - NFT_REG32_00) : NO_SLOT;
}

static struct cell cell_of(const struct machine *m, struct text attrs, uint16_t type)
{
	const unsigned at = slot_of(nft_number(attrs, type));

	return at < SLOTS ? m->cells[at] : (struct cell){ 0 };
}

/* One of 128 bits takes four; what they held is gone. */
static void set_cell(struct machine *m, struct text attrs, uint16_t type, struct cell c)
{
	const uint64_t n = nft_number(attrs, type);
	const unsigned at = slot_of(n);

	if (at >= SLOTS)
		return;
	m->cells[at] = c;
	for (unsigned i = 1; n <= NFT_REG_4 && i < 4; i++)
		m->cells[at + i] = (struct cell){ 0 };
}

/* ---- text ---- */

static void put_field(struct machine *m, const struct cell *c)
{
	char room[24];

	if (!c->field.name)
		firewall_word(m->text, "(?)");
	else if (c->field.is_transport)
		firewall_word(m->text, "%s %s", m->l4 == IPPROTO_ICMPV6 ? "icmpv6" :
			      m->l4 ? firewall_protocol(m->l4, room) : "th", c->field.name);
	else if (c->modulus.len)
		firewall_word(m->text, "%s mod %llu", c->field.name,
			      (unsigned long long)netlink_be32(c->modulus));
	else
		firewall_word(m->text, "%s", c->field.name);
}

static void put_value(struct machine *m, const struct field *f, struct text value)
{
	static const struct field hex = { .format = FORMAT_HEX };

	if (m->text) {
		buf_add_char(m->text, ' ');
		firewall_put_value(m->text, f->name ? f : &hex, value);
	}
}

static void flush_waiting(struct machine *m)
{
	if (m->waiting.field.name && m->text) {
		put_field(m, &m->waiting);
		put_value(m, &m->waiting.field, m->waiting_value);
	}
	m->waiting = (struct cell){ 0 };
}

/* Does the field say by its name what waits? */
static bool is_told_by(const struct field *f, const struct field *waiting)
{
	if (waiting->use == USE_L4PROTO)
		return f->is_transport;
	return (waiting->use == USE_NFPROTO || waiting->use == USE_ETHERTYPE) && f->name &&
		text_starts(text_of(f->name), "ip");
}

static void begin_condition(struct machine *m, const struct cell *c)
{
	if (c && is_told_by(&c->field, &m->waiting.field))
		m->waiting = (struct cell){ 0 };
	flush_waiting(m);
	/* a counter before it counted packets that it may let pass */
	m->v->packets = m->v->bytes = NA_U64;
	m->v->counter = TEXT("");
}

/* ---- what a condition means for a socket ---- */

static bool take_address(struct firewall_match *match, uint8_t *to, uint8_t *bits,
			 const struct cell *c, struct text value)
{
	const uint8_t family = c->field.format == FORMAT_IPV4 ? AF_INET : AF_INET6;
	unsigned n = (unsigned)value.len * 8;

	if (!value.len || value.len > c->field.len || (match->family && match->family != family) ||
	    (c->mask.len && c->mask.len != value.len))
		return false;
	for (size_t i = 0; i < c->mask.len && n == value.len * 8; i++) {
		const unsigned byte = (unsigned char)c->mask.data[i];

		if (byte != 0xff)
			n = (unsigned)i * 8 + (byte ? 8 - (unsigned)__builtin_ctz(byte) : 0);
	}
	memcpy(to, value.data, value.len);
	match->family = family;
	*bits = (uint8_t)n;
	return n;
}

static bool take_port(uint16_t ports[2], struct text from, struct text to)
{
	const uint64_t first = netlink_be16(from), last = netlink_be16(to);

	if (first == NA_U64 || last == NA_U64 || ports[1])
		return false;
	ports[0] = (uint16_t)first, ports[1] = (uint16_t)last;
	return ports[1];
}

/* Equal to a value, or between two. */
static bool take_for_socket(struct machine *m, const struct cell *c, struct text from,
			    struct text to, bool is_range)
{
	struct firewall_match *match = &m->v->match;

	switch (c->field.use) {
	case USE_INTERFACE:
	case USE_NFPROTO:
	case USE_ETHERTYPE:
		return true;
	case USE_L4PROTO:
		match->protocol = is_range ? 0 : (uint8_t)m->l4;
		return !is_range;
	case USE_SPORT:
		return !c->mask.len && take_port(match->sport, from, to);
	case USE_DPORT:
		return !c->mask.len && take_port(match->dport, from, to);
	case USE_SRC:
		return !is_range && !match->src_bits &&
			take_address(match, match->src, &match->src_bits, c, from);
	case USE_DST:
		return !is_range && !match->dst_bits &&
			take_address(match, match->dst, &match->dst_bits, c, from);
	case USE_NONE:
	case USE_NUMGEN:
		break;
	}
	return false;
}

/* ---- conditions ---- */

static void learn_protocol(struct machine *m, const struct field *f, struct text value)
{
	if (f->use == USE_L4PROTO && value.len == 1)
		m->l4 = (unsigned char)value.data[0];
	if (f->use == USE_NFPROTO && value.len == 1)
		m->nfproto = (unsigned char)value.data[0];
	if (f->use == USE_ETHERTYPE)
		m->nfproto = netlink_be16(value) == 0x0800 ? NFPROTO_IPV4 :
			netlink_be16(value) == 0x86dd ? NFPROTO_IPV6 : 0;
}

/* Bits of a mask from the left, when there are no others: a prefix. */
static bool is_prefix(struct text mask, unsigned *bits)
{
	size_t i = 0;

	*bits = 0;
	for (; i < mask.len && (unsigned char)mask.data[i] == 0xff; i++)
		*bits += 8;
	if (i < mask.len) {
		const unsigned inverse = 0xffu & ~(unsigned)(unsigned char)mask.data[i++];

		if (inverse & (inverse + 1))
			return false;
		*bits += inverse ? (unsigned)__builtin_clz(inverse) - 24 : 8;
	}
	for (; i < mask.len; i++)
		if (mask.data[i])
			return false;
	return true;
}

static bool is_zero(struct text value)
{
	for (size_t i = 0; i < value.len; i++)
		if (value.data[i])
			return false;
	return true;
}

static void put_cmp(struct machine *m, const struct cell *c, uint64_t op, struct text value)
{
	static const char *const ops[] = { "", " !=", " <", " <=", " >", " >=" };
	const bool is_address = c->field.use == USE_SRC || c->field.use == USE_DST;
	const bool is_set = c->field.format == FORMAT_CT_STATE ||
		c->field.format == FORMAT_TCP_FLAGS;
	unsigned bits;

	if (!m->text)
		return;
	put_field(m, c);
	/* "ct state & (invalid|new) != 0" is written "ct state invalid,new" */
	if (c->mask.len && is_set && op == NFT_CMP_NEQ && is_zero(value)) {
		put_value(m, &c->field, c->mask);
		return;
	}
	if (c->mask.len && !(is_address && is_prefix(c->mask, &bits))) {
		buf_add_text(m->text, " &");
		put_value(m, &c->field, c->mask);
		buf_add_text(m->text, op == NFT_CMP_EQ ? " ==" : "");
	}
	buf_add_text(m->text, op < sizeof(ops) / sizeof(*ops) ? ops[op] : " ?");
	put_value(m, &c->field, value);
	if (c->mask.len && is_address && is_prefix(c->mask, &bits))
		buf_printf(m->text, "/%u", bits);
}

static void run_cmp(struct machine *m, struct text attrs)
{
	const struct cell c = cell_of(m, attrs, NFTA_CMP_SREG);
	const uint64_t op = nft_number(attrs, NFTA_CMP_OP);
	struct text value;

	if (!nft_find_value(attrs, NFTA_CMP_DATA, &value)) {
		m->has_other = true;
		return;
	}
	begin_condition(m, &c);
	if (op == NFT_CMP_EQ && !c.mask.len)
		learn_protocol(m, &c.field, value);
	m->has_other |= op != NFT_CMP_EQ || !take_for_socket(m, &c, value, value, false);
	m->v->is_random |= c.field.use == USE_NUMGEN;
	if (op == NFT_CMP_EQ && !c.mask.len &&
	    (c.field.use == USE_L4PROTO || c.field.use == USE_NFPROTO ||
	     c.field.use == USE_ETHERTYPE)) {
		m->waiting = c;
		m->waiting_value = value;
		return;
	}
	put_cmp(m, &c, op, value);
}

static void run_range(struct machine *m, struct text attrs)
{
	const struct cell c = cell_of(m, attrs, NFTA_RANGE_SREG);
	const bool is_inverse = nft_number(attrs, NFTA_RANGE_OP) != NFT_RANGE_EQ;
	struct text from, to;

	if (!nft_find_value(attrs, NFTA_RANGE_FROM_DATA, &from) ||
	    !nft_find_value(attrs, NFTA_RANGE_TO_DATA, &to)) {
		m->has_other = true;
		return;
	}
	begin_condition(m, &c);
	m->has_other |= is_inverse || !take_for_socket(m, &c, from, to, true);
	m->v->is_random |= c.field.use == USE_NUMGEN;
	if (!m->text)
		return;
	put_field(m, &c);
	buf_add_text(m->text, is_inverse ? " !=" : "");
	put_value(m, &c.field, from);
	buf_add_char(m->text, '-');
	firewall_put_value(m->text, &c.field, to);
}

static void run_lookup(struct machine *m, struct text attrs)
{
	const struct cell c = cell_of(m, attrs, NFTA_LOOKUP_SREG);
	const uint64_t to = nft_number(attrs, NFTA_LOOKUP_DREG);
	const uint64_t flags = nft_number(attrs, NFTA_LOOKUP_FLAGS);
	struct text set;

	begin_condition(m, &c);
	m->has_other = true;
	if (!netlink_find(attrs, NFTA_LOOKUP_SET, &set))
		set = TEXT("?");
	set = netlink_string(set);
	put_field(m, &c);
	firewall_word(m->text, "%s%s@%.*s",
		      flags != NA_U64 && flags & NFT_LOOKUP_F_INV ? "!= " : "",
		      to == NFT_REG_VERDICT ? "vmap " : to == NA_U64 ? "" : "map ",
		      (int)(set.len < 256 ? set.len : 256), set.data);
	m->v->is_by_map |= to == NFT_REG_VERDICT;
	set_cell(m, attrs, NFTA_LOOKUP_DREG, (struct cell){ 0 });
}

static void run_limit(struct machine *m, struct text attrs)
{
	const uint64_t flags = nft_number(attrs, NFTA_LIMIT_FLAGS);
	const bool is_over = flags != NA_U64 && flags & NFT_LIMIT_F_INV;
	struct text rate = TEXT(""), unit = TEXT("");

	begin_condition(m, NULL);
	m->has_other = m->v->is_limit = true;
	netlink_find(attrs, NFTA_LIMIT_RATE, &rate);
	netlink_find(attrs, NFTA_LIMIT_UNIT, &unit);
	const uint64_t n = netlink_be64(rate), s = netlink_be64(unit);

	firewall_word(m->text, "limit rate%s %llu%s/%s", is_over ? " over" : "",
		      (unsigned long long)n,
		      nft_number(attrs, NFTA_LIMIT_TYPE) == NFT_LIMIT_PKT_BYTES ? " bytes" : "",
		      s == 1 ? "second" : s == 60 ? "minute" : s == 3600 ? "hour" :
		      s == 86400 ? "day" : s == 604800 ? "week" : "?");
}

static void run_quota(struct machine *m, struct text attrs)
{
	const uint64_t flags = nft_number(attrs, NFTA_QUOTA_FLAGS);
	struct text bytes = TEXT("");

	begin_condition(m, NULL);
	m->has_other = m->v->is_quota = true;
	netlink_find(attrs, NFTA_QUOTA_BYTES, &bytes);
	firewall_word(m->text, "quota%s %llu bytes",
		      flags != NA_U64 && flags & NFT_QUOTA_F_INV ? " over" : "",
		      (unsigned long long)netlink_be64(bytes));
}

static void run_match(struct machine *m, struct text attrs)
{
	struct text name, info;

	begin_condition(m, NULL);
	m->v->match.is_whole = true;
	if (netlink_find(attrs, NFTA_MATCH_NAME, &name) &&
	    netlink_find(attrs, NFTA_MATCH_INFO, &info))
		firewall_add_xt_match(netlink_string(name), nft_number(attrs, NFTA_MATCH_REV), info,
				      m->v, m->text);
	else
		m->v->match.is_whole = false;
	m->has_other |= !m->v->match.is_whole;
}

/* ---- what fills a register ---- */

static void run_payload(struct machine *m, struct text attrs)
{
	struct cell c = { 0 };
	uint64_t base = nft_number(attrs, NFTA_PAYLOAD_BASE);
	uint64_t offset = nft_number(attrs, NFTA_PAYLOAD_OFFSET);
	uint64_t len = nft_number(attrs, NFTA_PAYLOAD_LEN);

	/* writing into the packet: not of interest */
	if (nft_number(attrs, NFTA_PAYLOAD_DREG) == NA_U64)
		return;
	c.field = firewall_payload_field(base, offset, len, m->nfproto, m->l4);
	set_cell(m, attrs, NFTA_PAYLOAD_DREG, c);
}

static void run_numgen(struct machine *m, struct text attrs)
{
	const bool is_random = nft_number(attrs, NFTA_NG_TYPE) == NFT_NG_RANDOM;
	struct cell c = { .field = { is_random ? "numgen random" : "numgen inc", false, FORMAT_HOST,
				     USE_NUMGEN, 4, false } };

	/* put_field tells it */
	if (!netlink_find(attrs, NFTA_NG_MODULUS, &c.modulus))
		c.modulus = TEXT("");
	set_cell(m, attrs, NFTA_NG_DREG, c);
}

static void run_bitwise(struct machine *m, struct text attrs)
{
	struct cell c = cell_of(m, attrs, NFTA_BITWISE_SREG);
	struct text flip;

	if (c.mask.len || !nft_find_value(attrs, NFTA_BITWISE_MASK, &c.mask) ||
	    !nft_find_value(attrs, NFTA_BITWISE_XOR, &flip) || !is_zero(flip))
		c = (struct cell){ 0 };
	set_cell(m, attrs, NFTA_BITWISE_DREG, c);
}

static void run_byteorder(struct machine *m, struct text attrs)
{
	struct cell c = cell_of(m, attrs, NFTA_BYTEORDER_SREG);

	c.field.is_turned = !c.field.is_turned;
	set_cell(m, attrs, NFTA_BYTEORDER_DREG, c);
}

/* ---- what does something ---- */

static void run_counter(struct machine *m, struct text attrs)
{
	struct text packets = TEXT(""), bytes = TEXT("");

	netlink_find(attrs, NFTA_COUNTER_PACKETS, &packets);
	netlink_find(attrs, NFTA_COUNTER_BYTES, &bytes);
	m->v->packets = netlink_be64(packets);
	m->v->bytes = netlink_be64(bytes);
	flush_waiting(m);
	firewall_word(m->text, "counter");
}

/* counter name "x": nobody else must count there, which can't be told here. */
static void run_objref(struct machine *m, struct text attrs)
{
	struct text name;

	flush_waiting(m);
	if (nft_number(attrs, NFTA_OBJREF_IMM_TYPE) != NFT_OBJECT_COUNTER ||
	    !netlink_find(attrs, NFTA_OBJREF_IMM_NAME, &name)) {
		/* a quota or limit with a name, or one out of a map */
		begin_condition(m, NULL);
		m->v->is_quota |= nft_number(attrs, NFTA_OBJREF_IMM_TYPE) == NFT_OBJECT_QUOTA;
		m->v->is_limit |= nft_number(attrs, NFTA_OBJREF_IMM_TYPE) == NFT_OBJECT_LIMIT;
		m->has_other = true;
		firewall_word(m->text, "(object)");
		return;
	}
	m->v->counter = netlink_string(name);
	firewall_quoted(m->text, "counter name", m->v->counter);
}

static void run_immediate(struct machine *m, struct text attrs)
{
	struct text data, verdict, chain;

	if (!netlink_find(attrs, NFTA_IMMEDIATE_DATA, &data) ||
	    !netlink_find(data, NFTA_DATA_VERDICT, &verdict)) {
		set_cell(m, attrs, NFTA_IMMEDIATE_DREG, (struct cell){ 0 });
		return;
	}
	const int32_t code = (int32_t)nft_number(verdict, NFTA_VERDICT_CODE);

	flush_waiting(m);
	m->v->is_drop |= code == NF_DROP;
	if (!netlink_find(verdict, NFTA_VERDICT_CHAIN, &chain))
		chain = TEXT("?");
	chain = netlink_string(chain);
	if (code == NFT_JUMP || code == NFT_GOTO)
		firewall_word(m->text, "%s %.*s", code == NFT_JUMP ? "jump" : "goto",
			      (int)(chain.len < 256 ? chain.len : 256), chain.data);
	else
		firewall_word(m->text, "%s", code == NF_DROP ? "drop" :
			      code == NF_ACCEPT ? "accept" : code == NFT_RETURN ? "return" :
			      code == NFT_CONTINUE ? "continue" : "?");
}

static void run_reject(struct machine *m)
{
	flush_waiting(m);
	m->v->is_drop = m->v->is_reject = true;
	firewall_word(m->text, "reject");
}

static void run_target(struct machine *m, struct text attrs)
{
	struct text name;

	flush_waiting(m);
	if (!netlink_find(attrs, NFTA_TARGET_NAME, &name))
		return;
	name = netlink_string(name);
	m->v->is_reject = text_is(name, "REJECT");
	m->v->is_drop |= m->v->is_reject || text_is(name, "DROP");
	firewall_word(m->text, "-j %.*s", (int)(name.len < 64 ? name.len : 64), name.data);
}

static void run_other(struct machine *m, struct text name)
{
	const bool is_act = text_is(name, "log") || text_is(name, "notrack") ||
		text_is(name, "last") || text_is(name, "dup") || text_is(name, "nat") ||
		text_is(name, "masq") || text_is(name, "redir") || text_is(name, "hash") ||
		text_is(name, "fib") || text_is(name, "rt") || text_is(name, "socket") ||
		text_is(name, "exthdr") || text_is(name, "osf") || text_is(name, "xfrm") ||
		text_is(name, "tunnel");

	/* those that fill a register are told where it is compared; dynset, connlimit, tproxy,
	   synproxy and what is newer may end the rule here */
	if (!is_act)
		begin_condition(m, NULL);
	m->has_other |= !is_act;
	flush_waiting(m);
	firewall_word(m->text, "%.*s", (int)(name.len < 64 ? name.len : 64), name.data);
}

static void run(struct machine *m, struct text name, struct text attrs)
{
	if (text_is(name, "payload"))
		run_payload(m, attrs);
	else if (text_is(name, "meta"))
		set_cell(m, attrs, NFTA_META_DREG, (struct cell){
			.field = firewall_meta_field(nft_number(attrs, NFTA_META_KEY)) });
	else if (text_is(name, "ct"))
		set_cell(m, attrs, NFTA_CT_DREG, (struct cell){
			.field = firewall_ct_field(nft_number(attrs, NFTA_CT_KEY)) });
	else if (text_is(name, "cmp"))
		run_cmp(m, attrs);
	else if (text_is(name, "range"))
		run_range(m, attrs);
	else if (text_is(name, "lookup"))
		run_lookup(m, attrs);
	else if (text_is(name, "limit"))
		run_limit(m, attrs);
	else if (text_is(name, "quota"))
		run_quota(m, attrs);
	else if (text_is(name, "match"))
		run_match(m, attrs);
	else if (text_is(name, "numgen"))
		run_numgen(m, attrs);
	else if (text_is(name, "bitwise"))
		run_bitwise(m, attrs);
	else if (text_is(name, "byteorder"))
		run_byteorder(m, attrs);
	else if (text_is(name, "counter"))
		run_counter(m, attrs);
	else if (text_is(name, "objref"))
		run_objref(m, attrs);
	else if (text_is(name, "immediate"))
		run_immediate(m, attrs);
	else if (text_is(name, "reject"))
		run_reject(m);
	else if (text_is(name, "target"))
		run_target(m, attrs);
	else
		run_other(m, name);
}

void firewall_understand_nft(const struct nft_rule_head *head, struct firewall_verdict *v,
			     struct buf *text)
{
	struct machine m = { .v = v, .text = text };
	struct text list = head->expressions, name, attrs;

	*v = (struct firewall_verdict){ .packets = NA_U64, .bytes = NA_U64, .counter = TEXT("") };
	if (head->family == NFPROTO_IPV4 || head->family == NFPROTO_IPV6)
		m.nfproto = head->family;
	while (nft_next_expression(&list, &name, &attrs))
		run(&m, name, attrs);
	flush_waiting(&m);
	v->match.is_whole = !m.has_other && !list.len;
	if (head->comment.len)
		firewall_quoted(text, "comment", head->comment);
}
