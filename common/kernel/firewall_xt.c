/* Matches of xtables, written as iptables-save does: the same in legacy iptables and nftables. */
#include <linux/netfilter/xt_multiport.h>
#include <linux/netfilter/xt_statistic.h>
#include <linux/netfilter/xt_tcpudp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/kernel/firewall_impl.h"

#define PROBABILITY_ONE 2147483648.0   /* xt_statistic: of 31 bits */
/* xt_conntrack_mtinfo2 and 3: net/netfilter/xt_conntrack.c */
#define CONNTRACK_FLAGS_AT 146
#define CONNTRACK_INVERT_AT 148
#define CONNTRACK_STATES_AT 150
#define CONNTRACK_STATE 1

static uint64_t half(struct text info, size_t at)
{
	return at + 2 <= info.len ? netlink_u16((struct text){ info.data + at, 2 }) : NA_U64;
}

static void put_states(struct buf *text, const char *option, bool is_inverse, uint64_t states)
{
	/* XT_CONNTRACK_STATE_BIT: 1 << (ctinfo % 3 + 1), then INVALID 1, SNAT, DNAT, UNTRACKED */
	static const char *const names[] = { "INVALID", "ESTABLISHED", "RELATED", "NEW", NULL, NULL,
		"SNAT", "DNAT", "UNTRACKED" };
	struct buf list = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i] && states & 1u << i)
			buf_printf(&list, "%s%s", list.len ? "," : "", names[i]);
	firewall_word(text, "%s%s %s", is_inverse ? "! " : "", option, list.len ? list.data : "?");
	buf_free(&list);
}

static void put_ports(struct buf *text, const char *option, bool is_inverse, const uint16_t p[2])
{
	if (!is_inverse && p[0] == 0 && p[1] == 65535)
		return;
	if (p[0] == p[1])
		firewall_word(text, "%s%s %u", is_inverse ? "! " : "", option, p[0]);
	else
		firewall_word(text, "%s%s %u:%u", is_inverse ? "! " : "", option, p[0], p[1]);
}

/* Ports for a socket to be held against; false: it takes more than that. */
static bool take_ports(uint16_t to[2], bool is_inverse, const uint16_t p[2])
{
	if (!is_inverse && p[0] == 0 && p[1] == 65535)
		return true;
	to[0] = p[0], to[1] = p[1];
	return !is_inverse && p[1];
}

static bool add_tcp(struct text info, struct firewall_verdict *v, struct buf *text)
{
	struct xt_tcp t;

	if (info.len < sizeof(t))
		return false;
	memcpy(&t, info.data, sizeof(t));
	put_ports(text, "--sport", t.invflags & XT_TCP_INV_SRCPT, t.spts);
	put_ports(text, "--dport", t.invflags & XT_TCP_INV_DSTPT, t.dpts);
	if (t.flg_mask == 0x17 && t.flg_cmp == 2 && !(t.invflags & XT_TCP_INV_FLAGS))
		firewall_word(text, "--syn");
	else if (t.flg_mask)
		firewall_word(text, "%s--tcp-flags 0x%02x 0x%02x",
			      t.invflags & XT_TCP_INV_FLAGS ? "! " : "", t.flg_mask, t.flg_cmp);
	bool is_plain = take_ports(v->match.sport, t.invflags & XT_TCP_INV_SRCPT, t.spts);

	is_plain &= take_ports(v->match.dport, t.invflags & XT_TCP_INV_DSTPT, t.dpts);
	return is_plain && !t.flg_mask && !t.option;
}

static bool add_udp(struct text info, struct firewall_verdict *v, struct buf *text)
{
	struct xt_udp u;

	if (info.len < sizeof(u))
		return false;
	memcpy(&u, info.data, sizeof(u));
	put_ports(text, "--sport", u.invflags & XT_UDP_INV_SRCPT, u.spts);
	put_ports(text, "--dport", u.invflags & XT_UDP_INV_DSTPT, u.dpts);
	const bool is_plain = take_ports(v->match.sport, u.invflags & XT_UDP_INV_SRCPT, u.spts);

	return take_ports(v->match.dport, u.invflags & XT_UDP_INV_DSTPT, u.dpts) && is_plain;
}

static void add_multiport(struct text info, struct buf *text)
{
	struct xt_multiport_v1 p;
	struct buf list = { 0 };

	firewall_word(text, "-m multiport");
	if (info.len < sizeof(p))
		return;
	memcpy(&p, info.data, sizeof(p));
	for (unsigned i = 0; i < p.count && i < XT_MULTI_PORTS; i++)
		buf_printf(&list, "%s%u", i ? p.pflags[i - 1] ? ":" : "," : "", p.ports[i]);
	firewall_word(text, "%s--%s %s", p.invert ? "! " : "",
		      p.flags == XT_MULTIPORT_SOURCE ? "sports" :
		      p.flags == XT_MULTIPORT_DESTINATION ? "dports" : "ports",
		      list.len ? list.data : "?");
	buf_free(&list);
}

static void add_statistic(struct text info, struct firewall_verdict *v, struct buf *text)
{
	struct xt_statistic_info s;

	v->is_random = true;
	firewall_word(text, "-m statistic");
	if (info.len < offsetof(struct xt_statistic_info, master))
		return;
	memcpy(&s, info.data, offsetof(struct xt_statistic_info, master));
	if (s.mode == XT_STATISTIC_MODE_RANDOM)
		firewall_word(text, "--mode random %s--probability %.4g",
			      s.flags & XT_STATISTIC_INVERT ? "! " : "",
			      s.u.random.probability / PROBABILITY_ONE);
	else
		firewall_word(text, "--mode nth %s--every %u --packet %u",
			      s.flags & XT_STATISTIC_INVERT ? "! " : "",
			      s.u.nth.every + 1, s.u.nth.packet);
}

static void add_conntrack(uint64_t revision, struct text info, struct buf *text)
{
	const uint64_t flags = half(info, CONNTRACK_FLAGS_AT);
	const uint64_t states = half(info, CONNTRACK_STATES_AT);

	firewall_word(text, "-m conntrack");
	if (revision >= 2 && revision <= 3 && states != NA_U64 && flags & CONNTRACK_STATE)
		put_states(text, "--ctstate",
			   half(info, CONNTRACK_INVERT_AT) & CONNTRACK_STATE, states);
}

void firewall_add_xt_match(struct text name, uint64_t revision, struct text info,
			   struct firewall_verdict *v, struct buf *text)
{
	bool is_for_socket = false;

	if (text_is(name, "tcp"))
		is_for_socket = add_tcp(info, v, text);
	else if (text_is(name, "udp"))
		is_for_socket = add_udp(info, v, text);
	else if (text_is(name, "multiport") && revision == 1)
		add_multiport(info, text);
	else if (text_is(name, "statistic"))
		add_statistic(info, v, text);
	else if (text_is(name, "conntrack"))
		add_conntrack(revision, info, text);
	else if (text_is(name, "state") && info.len >= 4)
		put_states(text, "-m state --state", false,
			   netlink_u32((struct text){ info.data, 4 }));
	else if (text_is(name, "comment"))
		firewall_quoted(text, "-m comment --comment", netlink_string(info));
	else
		firewall_word(text, "-m %.*s", (int)(name.len < 64 ? name.len : 64), name.data);
	is_for_socket |= text_is(name, "comment");
	v->is_quota |= text_is(name, "quota") || text_is(name, "quota2");
	v->is_limit |= text_is(name, "limit") || text_is(name, "hashlimit");
	v->match.is_whole &= is_for_socket;
}
