/* ctnetlink's message of a flow. Numbers are in network order, attributes in no promised order. */
#include "common/kernel/flow.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <stddef.h>
#include <string.h>

#include "common/kernel/netlink.h"

static bool take_u32(struct text t, uint32_t *value)
{
	const uint64_t n = netlink_be32(t);

	*value = (uint32_t)n;
	return n != NA_U64;
}

static bool take_u16(struct text t, uint16_t *value)
{
	const uint64_t n = netlink_be16(t);

	*value = (uint16_t)n;
	return n != NA_U64;
}

static bool parse_addresses(struct text t, struct flow_tuple *tuple)
{
	struct netlink_attr a;

	while (netlink_next(&t, &a)) {
		bool is_source = a.type == CTA_IP_V4_SRC || a.type == CTA_IP_V6_SRC;
		size_t len = a.type == CTA_IP_V4_SRC || a.type == CTA_IP_V4_DST ? 4 : 16;

		if (a.type < CTA_IP_V4_SRC || a.type > CTA_IP_V6_DST)
			continue;
		if (a.data.len != len)
			return false;
		memcpy(is_source ? tuple->src : tuple->dst, a.data.data, len);
	}
	return !t.len;         /* else cut */
}

static bool parse_ports(struct text t, struct flow_tuple *tuple, uint8_t *protocol)
{
	struct netlink_attr a;

	while (netlink_next(&t, &a)) {
		if (!a.data.len)
			return false;
		uint8_t byte = (uint8_t)a.data.data[0];

		switch (a.type) {
		case CTA_PROTO_NUM:
			*protocol = byte;
			break;
		case CTA_PROTO_SRC_PORT:
		case CTA_PROTO_ICMP_ID:
		case CTA_PROTO_ICMPV6_ID:
			if (!take_u16(a.data, &tuple->sport))
				return false;
			break;
		case CTA_PROTO_DST_PORT:
			if (!take_u16(a.data, &tuple->dport))
				return false;
			break;
		case CTA_PROTO_ICMP_TYPE:
		case CTA_PROTO_ICMPV6_TYPE:
			tuple->dport = (uint16_t)(byte << 8 | (tuple->dport & 0xff));
			break;
		case CTA_PROTO_ICMP_CODE:
		case CTA_PROTO_ICMPV6_CODE:
			tuple->dport = (uint16_t)((tuple->dport & 0xff00) | byte);
			break;
		}
	}
	return !t.len;         /* else cut */
}

static bool parse_tuple(struct text t, struct flow_tuple *tuple, uint8_t *protocol)
{
	struct netlink_attr a;

	while (netlink_next(&t, &a)) {
		if (a.type == CTA_TUPLE_IP && !parse_addresses(a.data, tuple))
			return false;
		if (a.type == CTA_TUPLE_PROTO && !parse_ports(a.data, tuple, protocol))
			return false;
	}
	return !t.len;         /* else cut */
}

/* CTA_PROTOINFO { CTA_PROTOINFO_TCP { CTA_PROTOINFO_TCP_STATE } } */
static bool parse_state(struct text t, struct flow *f)
{
	struct netlink_attr a;

	while (netlink_next(&t, &a)) {
		struct netlink_attr inner;

		if (a.type != CTA_PROTOINFO_TCP)
			continue;
		while (netlink_next(&a.data, &inner))
			if (inner.type == CTA_PROTOINFO_TCP_STATE &&
			    netlink_u8(inner.data) <= FLOW_SYN_SENT2) {
				f->has_tcp_state = true;
				f->tcp_state = (uint8_t)inner.data.data[0];
			}
		if (a.data.len)
			return false;
	}
	return !t.len;         /* else cut */
}

static bool parse_counters(struct text t, struct flow *f)
{
	struct netlink_attr a;

	while (netlink_next(&t, &a)) {
		uint64_t *to = a.type == CTA_COUNTERS_PACKETS ? &f->packets :
			a.type == CTA_COUNTERS_BYTES ? &f->bytes : NULL;

		if (!to)
			continue;
		const uint64_t n = netlink_be64(a.data);

		if (n == NA_U64)
			return false;
		*to = (*to == NA_U64 ? 0 : *to) + n;
	}
	return !t.len;         /* else cut */
}

static bool parse_attribute(const struct netlink_attr *a, struct flow *f)
{
	uint32_t seconds;
	uint8_t ignored;

	switch (a->type) {
	case CTA_TUPLE_ORIG:
		return parse_tuple(a->data, &f->original, &f->protocol);
	case CTA_TUPLE_REPLY:
		return parse_tuple(a->data, &f->reply, &ignored);
	case CTA_STATUS:
		return take_u32(a->data, &f->status);
	case CTA_PROTOINFO:
		return parse_state(a->data, f);
	case CTA_TIMEOUT:
		if (!take_u32(a->data, &seconds))
			return false;
		f->timeout_s = seconds;
		return true;
	case CTA_MARK:
		return take_u32(a->data, &f->mark);
	case CTA_COUNTERS_ORIG:
	case CTA_COUNTERS_REPLY:
		return parse_counters(a->data, f);
	case CTA_ID:
		f->has_id = take_u32(a->data, &f->id);
		return f->has_id;
	case CTA_ZONE:
		return take_u16(a->data, &f->zone);
	}
	return true;
}

int flow_parse_message(struct text payload, struct flow *f)
{
	struct flow new = { .timeout_s = NA_U64, .packets = NA_U64, .bytes = NA_U64 };
	struct netlink_attr a;
	bool has_original = false;

	if (payload.len < sizeof(struct nfgenmsg))
		return -EINVAL;
	new.family = (uint8_t)payload.data[offsetof(struct nfgenmsg, nfgen_family)];
	payload.data += sizeof(struct nfgenmsg);
	payload.len -= sizeof(struct nfgenmsg);
	while (netlink_next(&payload, &a)) {
		if (!parse_attribute(&a, &new))
			return -EINVAL;
		has_original |= a.type == CTA_TUPLE_ORIG;
	}
	if (payload.len || !has_original)
		return -EINVAL;
	*f = new;
	return 0;
}
