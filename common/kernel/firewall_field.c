/* What nftables' expressions read from a packet, and how a value of it is written. */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <string.h>

#include "common/kernel/firewall_impl.h"
#include "common/kernel/flow.h"

#define IFNAME_BYTES 16

static const struct known {
	uint8_t base, nfproto, l4;     /* 0: any */
	uint8_t offset, len;
	struct field field;
} known[] = {
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV4, 0, 12, 4,
	  { "ip saddr", false, FORMAT_IPV4, USE_SRC, 4, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV4, 0, 16, 4,
	  { "ip daddr", false, FORMAT_IPV4, USE_DST, 4, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV4, 0, 9, 1,
	  { "ip protocol", false, FORMAT_PROTOCOL, USE_L4PROTO, 1, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV4, 0, 6, 2,
	  { "ip frag-off", false, FORMAT_HEX, USE_NONE, 2, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV4, 0, 2, 2,
	  { "ip length", false, FORMAT_BE, USE_NONE, 2, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV4, 0, 4, 2,
	  { "ip id", false, FORMAT_BE, USE_NONE, 2, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV4, 0, 8, 1,
	  { "ip ttl", false, FORMAT_BE, USE_NONE, 1, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV6, 0, 8, 16,
	  { "ip6 saddr", false, FORMAT_IPV6, USE_SRC, 16, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV6, 0, 24, 16,
	  { "ip6 daddr", false, FORMAT_IPV6, USE_DST, 16, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV6, 0, 6, 1,
	  { "ip6 nexthdr", false, FORMAT_PROTOCOL, USE_L4PROTO, 1, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV6, 0, 4, 2,
	  { "ip6 length", false, FORMAT_BE, USE_NONE, 2, false } },
	{ NFT_PAYLOAD_NETWORK_HEADER, NFPROTO_IPV6, 0, 7, 1,
	  { "ip6 hoplimit", false, FORMAT_BE, USE_NONE, 1, false } },
	{ NFT_PAYLOAD_TRANSPORT_HEADER, 0, IPPROTO_TCP, 13, 1,
	  { "flags", true, FORMAT_TCP_FLAGS, USE_NONE, 1, false } },
	{ NFT_PAYLOAD_TRANSPORT_HEADER, 0, IPPROTO_TCP, 14, 2,
	  { "window", true, FORMAT_BE, USE_NONE, 2, false } },
	{ NFT_PAYLOAD_TRANSPORT_HEADER, 0, IPPROTO_UDP, 4, 2,
	  { "length", true, FORMAT_BE, USE_NONE, 2, false } },
	{ NFT_PAYLOAD_TRANSPORT_HEADER, 0, IPPROTO_ICMP, 0, 1,
	  { "type", true, FORMAT_BE, USE_NONE, 1, false } },
	{ NFT_PAYLOAD_TRANSPORT_HEADER, 0, IPPROTO_ICMP, 1, 1,
	  { "code", true, FORMAT_BE, USE_NONE, 1, false } },
	{ NFT_PAYLOAD_TRANSPORT_HEADER, 0, IPPROTO_ICMPV6, 0, 1,
	  { "type", true, FORMAT_BE, USE_NONE, 1, false } },
	{ NFT_PAYLOAD_TRANSPORT_HEADER, 0, IPPROTO_ICMPV6, 1, 1,
	  { "code", true, FORMAT_BE, USE_NONE, 1, false } },
	{ NFT_PAYLOAD_LL_HEADER, 0, 0, 6, 6,
	  { "ether saddr", false, FORMAT_MAC, USE_NONE, 6, false } },
	{ NFT_PAYLOAD_LL_HEADER, 0, 0, 0, 6,
	  { "ether daddr", false, FORMAT_MAC, USE_NONE, 6, false } },
	{ NFT_PAYLOAD_LL_HEADER, 0, 0, 12, 2,
	  { "ether type", false, FORMAT_ETHERTYPE, USE_ETHERTYPE, 2, false } },
};

/* tcp, udp, sctp, dccp and udplite alike. */
static const struct field ports[2] = {
	{ "sport", true, FORMAT_BE, USE_SPORT, 2, false },
	{ "dport", true, FORMAT_BE, USE_DPORT, 2, false },
};

struct field firewall_payload_field(uint64_t base, uint64_t offset, uint64_t len, unsigned nfproto,
				    unsigned l4)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct known *k = &known[i];
		const bool is_address = k->field.use == USE_SRC || k->field.use == USE_DST;

		if (k->base != base || k->offset != offset ||
		    (k->nfproto && k->nfproto != nfproto) || (k->l4 && k->l4 != l4))
			continue;
		/* of a prefix of whole bytes only these are read */
		if (k->len == len || (is_address && len && len < k->len))
			return k->field;
	}
	if (base == NFT_PAYLOAD_TRANSPORT_HEADER && len == 2 && (offset == 0 || offset == 2) &&
	    l4 != IPPROTO_ICMP && l4 != IPPROTO_ICMPV6)
		return ports[offset / 2];
	return (struct field){ 0 };
}

static const struct named {
	unsigned key;
	struct field field;
} metas[] = {
	{ NFT_META_LEN, { "meta length", false, FORMAT_HOST, USE_NONE, 4, false } },
	{ NFT_META_PROTOCOL,
	  { "meta protocol", false, FORMAT_ETHERTYPE, USE_ETHERTYPE, 2, false } },
	{ NFT_META_MARK, { "meta mark", false, FORMAT_MARK, USE_NONE, 4, false } },
	{ NFT_META_IIF, { "iif", false, FORMAT_HOST, USE_INTERFACE, 4, false } },
	{ NFT_META_OIF, { "oif", false, FORMAT_HOST, USE_INTERFACE, 4, false } },
	{ NFT_META_IIFNAME,
	  { "iifname", false, FORMAT_NAME, USE_INTERFACE, IFNAME_BYTES, false } },
	{ NFT_META_OIFNAME,
	  { "oifname", false, FORMAT_NAME, USE_INTERFACE, IFNAME_BYTES, false } },
	{ NFT_META_SKUID, { "meta skuid", false, FORMAT_HOST, USE_NONE, 4, false } },
	{ NFT_META_SKGID, { "meta skgid", false, FORMAT_HOST, USE_NONE, 4, false } },
	{ NFT_META_NFPROTO, { "meta nfproto", false, FORMAT_NFPROTO, USE_NFPROTO, 1, false } },
	{ NFT_META_L4PROTO, { "meta l4proto", false, FORMAT_PROTOCOL, USE_L4PROTO, 1, false } },
	{ NFT_META_PKTTYPE, { "meta pkttype", false, FORMAT_BE, USE_NONE, 1, false } },
	{ NFT_META_CPU, { "meta cpu", false, FORMAT_HOST, USE_NONE, 4, false } },
	{ NFT_META_CGROUP, { "meta cgroup", false, FORMAT_HOST, USE_NONE, 4, false } },
}, cts[] = {
	{ NFT_CT_STATE, { "ct state", false, FORMAT_CT_STATE, USE_NONE, 4, false } },
	{ NFT_CT_DIRECTION, { "ct direction", false, FORMAT_BE, USE_NONE, 1, false } },
	{ NFT_CT_STATUS, { "ct status", false, FORMAT_MARK, USE_NONE, 4, false } },
	{ NFT_CT_MARK, { "ct mark", false, FORMAT_MARK, USE_NONE, 4, false } },
	{ NFT_CT_ZONE, { "ct zone", false, FORMAT_HOST, USE_NONE, 2, false } },
};

static struct field find_field(const struct named *list, size_t count, uint64_t key)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].key == key)
			return list[i].field;
	return (struct field){ 0 };
}

struct field firewall_meta_field(uint64_t key)
{
	return find_field(metas, sizeof(metas) / sizeof(*metas), key);
}

struct field firewall_ct_field(uint64_t key)
{
	return find_field(cts, sizeof(cts) / sizeof(*cts), key);
}

/* ---- values ---- */

static uint64_t big_endian(struct text v)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v.len && i < 8; i++)
		n = n << 8 | (unsigned char)v.data[i];
	return n;
}

static uint64_t host_order(struct text v)
{
	uint64_t n = 0;

	if (v.len == 1)
		return (unsigned char)v.data[0];
	if (v.len == 2)
		return netlink_u16(v);
	if (v.len == 4)
		return netlink_u32(v);
	return v.len == 8 ? (memcpy(&n, v.data, 8), n) : big_endian(v);
}

static void put_bits(struct buf *to, uint64_t n, const char *const *names, size_t count)
{
	bool is_first = true;

	for (size_t i = 0; i < count; i++)
		if (n & 1u << i) {
			buf_printf(to, "%s%s", is_first ? "" : ",", names[i]);
			is_first = false;
		}
	n >>= count;
	if (n || is_first)
		buf_printf(to, "%s0x%llx", is_first ? "" : ",", (unsigned long long)(n << count));
}

static void put_address(struct buf *to, int family, size_t size, struct text v)
{
	unsigned char address[16] = { 0 };
	char text[INET6_ADDRSTRLEN];

	memcpy(address, v.data, v.len < size ? v.len : size);
	if (inet_ntop(family, address, text, sizeof(text)))
		buf_add_text(to, text);
	if (v.len < size)
		buf_printf(to, "/%zu", v.len * 8);
}

static void put_hex(struct buf *to, struct text v)
{
	buf_add_text(to, "0x");
	for (size_t i = 0; i < v.len; i++)
		buf_printf(to, "%02x", (unsigned char)v.data[i]);
}

static void put_name(struct buf *to, struct text v)
{
	const size_t len = strnlen(v.data, v.len);

	buf_add_char(to, '"');
	buf_add(to, v.data, len);
	/* compared up to there: what begins so */
	if (len == v.len && v.len < IFNAME_BYTES)
		buf_add_char(to, '*');
	buf_add_char(to, '"');
}

const char *firewall_protocol(uint64_t protocol, char room[24])
{
	static const struct {
		uint8_t number;
		const char *name;
	} names[] = {
		{ IPPROTO_ICMP, "icmp" }, { IPPROTO_IGMP, "igmp" }, { IPPROTO_TCP, "tcp" },
		{ IPPROTO_UDP, "udp" }, { IPPROTO_GRE, "gre" }, { IPPROTO_ESP, "esp" },
		{ IPPROTO_AH, "ah" }, { IPPROTO_ICMPV6, "ipv6-icmp" }, { IPPROTO_SCTP, "sctp" },
		{ IPPROTO_UDPLITE, "udplite" }, { IPPROTO_DCCP, "dccp" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == protocol)
			return names[i].name;
	snprintf(room, 24, "%llu", (unsigned long long)protocol);
	return room;
}

static void put_ethertype(struct buf *to, uint64_t type)
{
	if (type == 0x0800)
		buf_add_text(to, "ip");
	else if (type == 0x86dd)
		buf_add_text(to, "ip6");
	else if (type == 0x0806)
		buf_add_text(to, "arp");
	else
		buf_printf(to, "0x%04llx", (unsigned long long)type);
}

void firewall_put_value(struct buf *to, const struct field *f, struct text v)
{
	static const char *const states[] = { "invalid", "established", "related", "new", NULL,
					      NULL, "untracked" };
	static const char *const flags[] = { "fin", "syn", "rst", "psh", "ack", "urg", "ecn",
					     "cwr" };
	char room[24];

	switch (f->format) {
	case FORMAT_HEX: put_hex(to, v); return;
	case FORMAT_IPV4: put_address(to, AF_INET, 4, v); return;
	case FORMAT_IPV6: put_address(to, AF_INET6, 16, v); return;
	case FORMAT_NAME: put_name(to, v); return;
	case FORMAT_PROTOCOL: buf_add_text(to, firewall_protocol(big_endian(v), room)); return;
	case FORMAT_ETHERTYPE: put_ethertype(to, big_endian(v)); return;
	case FORMAT_TCP_FLAGS: put_bits(to, big_endian(v), flags, 8); return;
	case FORMAT_MAC:
		for (size_t i = 0; i < v.len; i++)
			buf_printf(to, "%s%02x", i ? ":" : "", (unsigned char)v.data[i]);
		return;
	case FORMAT_CT_STATE: {
		const uint64_t n = host_order(v);

		/* 16 and 32 are no states */
		if (n & 0x30)
			buf_printf(to, "0x%llx", (unsigned long long)n);
		else
			put_bits(to, n, states, 7);
		return;
	}
	case FORMAT_NFPROTO:
		buf_add_text(to, big_endian(v) == NFPROTO_IPV4 ? "ipv4" : "ipv6");
		return;
	case FORMAT_MARK: buf_printf(to, "0x%08llx", (unsigned long long)host_order(v)); return;
	case FORMAT_HOST:
		buf_printf(to, "%llu", (unsigned long long)
			   (f->is_turned ? big_endian(v) : host_order(v)));
		return;
	case FORMAT_BE: buf_printf(to, "%llu", (unsigned long long)big_endian(v)); return;
	}
}
