#include "common/kernel/flow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "common/base/fail.h"
#include "common/base/scan.h"

static const char *const state_names[FLOW_STATES] = {
	[FLOW_NONE] = "NONE",
	[FLOW_SYN_SENT] = "SYN_SENT",
	[FLOW_SYN_RECV] = "SYN_RECV",
	[FLOW_ESTABLISHED] = "ESTABLISHED",
	[FLOW_FIN_WAIT] = "FIN_WAIT",
	[FLOW_CLOSE_WAIT] = "CLOSE_WAIT",
	[FLOW_LAST_ACK] = "LAST_ACK",
	[FLOW_TIME_WAIT] = "TIME_WAIT",
	[FLOW_CLOSE] = "CLOSE",
	[FLOW_SYN_SENT2] = "SYN_SENT2",
	[FLOW_IS_UNREPLIED] = "UNREPLIED",
	[FLOW_IS_REPLIED] = "REPLIED",
	[FLOW_IS_ASSURED] = "ASSURED",
};

static const struct {
	const char *name;
	uint8_t number;
} protocols[] = {
	{ "tcp", IPPROTO_TCP },   { "udp", IPPROTO_UDP },         { "icmp", IPPROTO_ICMP },
	{ "icmpv6", IPPROTO_ICMPV6 }, { "sctp", IPPROTO_SCTP },   { "dccp", IPPROTO_DCCP },
	{ "gre", IPPROTO_GRE },   { "udplite", IPPROTO_UDPLITE }, { "esp", IPPROTO_ESP },
	{ "ah", IPPROTO_AH },     { "igmp", IPPROTO_IGMP },       { "ipip", IPPROTO_IPIP },
	{ "ipv6", IPPROTO_IPV6 }, { "vrrp", 112 },                { "ospf", 89 },
};

enum flow_state flow_state(const struct flow *f)
{
	if (f->has_tcp_state)
		return (enum flow_state)f->tcp_state;
	if (f->status & FLOW_ASSURED)
		return FLOW_IS_ASSURED;
	return f->status & FLOW_SEEN_REPLY ? FLOW_IS_REPLIED : FLOW_IS_UNREPLIED;
}

const char *flow_state_name(enum flow_state s)
{
	return s < FLOW_STATES ? state_names[s] : "?";
}

int flow_state_find(const char *name, enum flow_state *s)
{
	for (int i = 0; i < FLOW_STATES; i++)
		if (!strcasecmp(name, state_names[i])) {
			*s = (enum flow_state)i;
			return 0;
		}
	return fail(EINVAL, "'%s' is not a state (ESTABLISHED, TIME_WAIT, UNREPLIED ...)", name);
}

const char *flow_protocol_name(struct arena *a, uint8_t protocol)
{
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (protocols[i].number == protocol)
			return protocols[i].name;
	return arena_printf(a, "%u", protocol);
}

int flow_protocol_find(const char *name, uint8_t *protocol)
{
	uint64_t number;

	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (!strcasecmp(name, protocols[i].name)) {
			*protocol = protocols[i].number;
			return 0;
		}
	if (!scan_all_u64(text_of(name), &number) || number > UINT8_MAX)
		return fail(EINVAL, "'%s' is not a protocol (tcp, udp, icmp ... or its number)",
			    name);
	*protocol = (uint8_t)number;
	return 0;
}

const char *flow_address_text(struct arena *a, uint8_t family, const uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];

	if (!inet_ntop(family, address, text, sizeof(text)))
		return "?";
	return arena_strdup(a, text);
}

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

uint64_t flow_fingerprint(const struct flow *f)
{
	const struct flow_tuple *t = &f->original;
	uint64_t words[4];
	uint64_t h = mix(0x9e3779b97f4a7c15ull, (uint64_t)f->id << 32 | f->zone);

	memcpy(words, t->src, sizeof(t->src));
	memcpy(words + 2, t->dst, sizeof(t->dst));
	for (int i = 0; i < 4; i++)
		h = mix(h, words[i]);
	return mix(h, (uint64_t)t->sport << 32 | (uint64_t)t->dport << 16 |
			      (uint64_t)f->protocol << 8 | f->family);
}

static bool net_has(const struct flow_net *net, uint8_t family, const uint8_t address[16])
{
	size_t whole = net->bits / 8;
	unsigned rest = net->bits % 8;

	if (!net->is_set)
		return true;
	if (family != net->family || memcmp(address, net->address, whole) != 0)
		return false;
	return !rest || !((address[whole] ^ net->address[whole]) >> (8 - rest));
}

bool flow_matches(const struct flow_filter *filter, const struct flow *f)
{
	const struct flow_tuple *t = &f->original;

	return net_has(&filter->src, f->family, t->src) &&
		net_has(&filter->dst, f->family, t->dst) &&
		(!filter->has_protocol || f->protocol == filter->protocol) &&
		(!filter->has_sport || t->sport == filter->sport) &&
		(!filter->has_dport || t->dport == filter->dport) &&
		(!filter->has_state || flow_state(f) == filter->state) &&
		(!filter->has_zone || f->zone == filter->zone) &&
		(!filter->has_mark || (f->mark & filter->mark_mask) == filter->mark) &&
		(f->status & filter->status_mask) == filter->status;
}

int flow_net_parse(const char *what, const char *text, struct flow_net *net)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	struct flow_net new = { .is_set = true, .family = strchr(text, ':') ? AF_INET6 : AF_INET };
	char address[INET6_ADDRSTRLEN];
	uint64_t bits = new.family == AF_INET ? 32 : 128;
	const uint64_t most = bits;

	if (len >= sizeof(address))
		return fail(EINVAL, "%s: '%s' is not an address", what, text);
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(new.family, address, new.address) != 1)
		return fail(EINVAL, "%s: '%s' is not an address", what, text);
	if (slash && (!scan_all_u64(text_of(slash + 1), &bits) || bits > most))
		return fail(EINVAL, "%s: '%s' has no length of 0 to %u bits", what, text,
			    (unsigned)most);
	new.bits = (uint8_t)bits;
	*net = new;
	return 0;
}
