/*
 * A line of /proc/net/nf_conntrack (ct_seq_show, net/netfilter/nf_conntrack_standalone.c), or of
 * the ip_conntrack before it, which had no name and number of the layer 3 protocol in front.
 */
#include "common/kernel/flow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/scan.h"

static bool parse_address(struct text t, uint8_t family, uint8_t address[16])
{
	char copy[INET6_ADDRSTRLEN];

	if (t.len >= sizeof(copy))
		return false;
	memcpy(copy, t.data, t.len);
	copy[t.len] = '\0';
	return inet_pton(family, copy, address) == 1;
}

/* Protocol names and numbers, and where there is one the timeout. */
static bool parse_head(struct scan *s, struct flow *f)
{
	struct text word;
	uint64_t number;

	f->family = AF_INET;
	if (!scan_word(s, &word))
		return false;
	if (text_is(word, "ipv4") || text_is(word, "ipv6") || text_is(word, "unknown")) {
		if (!scan_u64(s, &number) || (number != AF_INET && number != AF_INET6) ||
		    !scan_word(s, &word))
			return false;
		f->family = (uint8_t)number;
	}
	if (!scan_u64(s, &number) || number > UINT8_MAX)
		return false;
	f->protocol = (uint8_t)number;
	scan_u64(s, &f->timeout_s);    /* an offloaded flow has none */
	return true;
}

static bool take(struct text value, uint64_t most, uint64_t *n)
{
	return scan_all_u64(value, n) && *n <= most;
}

static void add(uint64_t *sum, uint64_t n)
{
	*sum = (*sum == NA_U64 ? 0 : *sum) + n;
}

/* KEY=VALUE; the second time the same key of a tuple comes it is the reply's. */
static bool parse_pair(struct text key, struct text value, struct flow *f,
		       struct flow_tuple **tuple, bool *has_source)
{
	uint64_t n;

	if (text_is(key, "src")) {
		if (*has_source)
			*tuple = &f->reply;
		*has_source = true;
		return parse_address(value, f->family, (*tuple)->src);
	}
	if (text_is(key, "dst"))
		return parse_address(value, f->family, (*tuple)->dst);
	if (text_is(key, "sport") || text_is(key, "id"))
		return take(value, UINT16_MAX, &n) && ((*tuple)->sport = (uint16_t)n, true);
	if (text_is(key, "dport"))
		return take(value, UINT16_MAX, &n) && ((*tuple)->dport = (uint16_t)n, true);
	if (text_is(key, "type"))
		return take(value, UINT8_MAX, &n) &&
			((*tuple)->dport = (uint16_t)(n << 8 | ((*tuple)->dport & 0xff)), true);
	if (text_is(key, "code"))
		return take(value, UINT8_MAX, &n) &&
			((*tuple)->dport = (uint16_t)(((*tuple)->dport & 0xff00) | n), true);
	if (text_is(key, "packets"))
		return take(value, UINT64_MAX - 1, &n) && (add(&f->packets, n), true);
	if (text_is(key, "bytes"))
		return take(value, UINT64_MAX - 1, &n) && (add(&f->bytes, n), true);
	if (text_is(key, "mark"))
		return take(value, UINT32_MAX, &n) && (f->mark = (uint32_t)n, true);
	if (text_is(key, "zone"))
		return take(value, UINT16_MAX, &n) && (f->zone = (uint16_t)n, true);
	return true;
}

static void parse_word(struct text word, struct flow *f, bool *is_unreplied)
{
	char name[16];
	enum flow_state state;

	if (text_is(word, "[UNREPLIED]"))
		*is_unreplied = true;
	if (text_is(word, "[ASSURED]"))
		f->status |= FLOW_ASSURED;
	if (text_is(word, "[OFFLOAD]") || text_is(word, "[HW_OFFLOAD]"))
		f->status |= FLOW_ASSURED | FLOW_OFFLOAD;
	if (f->protocol != IPPROTO_TCP || word.len >= sizeof(name))
		return;
	memcpy(name, word.data, word.len);
	name[word.len] = '\0';
	if (flow_state_find(name, &state) == 0 && state <= FLOW_SYN_SENT2) {
		f->has_tcp_state = true;
		f->tcp_state = (uint8_t)state;
	}
}

/* The line does not say which address NAT changed, but the reply shows it. */
static uint32_t nat_of(const struct flow *f)
{
	const struct flow_tuple *o = &f->original, *r = &f->reply;
	bool has_ports = f->protocol != IPPROTO_ICMP && f->protocol != IPPROTO_ICMPV6;
	uint32_t status = 0;

	if (memcmp(o->src, r->dst, sizeof(o->src)) != 0 || (has_ports && o->sport != r->dport))
		status |= FLOW_SRC_NAT;
	if (memcmp(o->dst, r->src, sizeof(o->dst)) != 0 || (has_ports && o->dport != r->sport))
		status |= FLOW_DST_NAT;
	return status;
}

int flow_parse_line(struct text line, struct flow *f)
{
	struct flow new = { .timeout_s = NA_U64, .packets = NA_U64, .bytes = NA_U64 };
	struct flow_tuple *tuple = &new.original;
	bool has_source = false, is_unreplied = false;
	struct scan s = scan_of(line);
	struct text word;

	if (!parse_head(&s, &new))
		return -EINVAL;
	while (scan_word(&s, &word)) {
		const char *equals = memchr(word.data, '=', word.len);

		if (!equals) {
			parse_word(word, &new, &is_unreplied);
			continue;
		}
		const struct text key = { word.data, (size_t)(equals - word.data) };
		const struct text value = { equals + 1, word.len - key.len - 1 };

		if (!parse_pair(key, value, &new, &tuple, &has_source))
			return -EINVAL;
	}
	if (tuple != &new.reply)
		return -EINVAL;
	if (!is_unreplied)
		new.status |= FLOW_SEEN_REPLY;
	new.status |= nat_of(&new);
	*f = new;
	return 0;
}
