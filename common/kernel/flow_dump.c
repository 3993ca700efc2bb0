#include "common/kernel/flow_dump.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/conntrack.h"
#include "common/kernel/module.h"
#include "common/kernel/source.h"

/* Bits of CTA_FILTER_ORIG_FLAGS: net/netfilter/nf_internals.h. */
#define HAS_SRC 1u
#define HAS_DST 2u
#define HAS_PROTOCOL 8u
#define HAS_SPORT 16u
#define HAS_DPORT 32u

struct walk {
	const struct flow_filter *filter;
	const struct flow_reader *reader;
	struct flow_dump *dump;
	struct flow_recent *recent;
};

bool flow_is_repeated(struct flow_recent *recent, const struct flow *f)
{
	const uint64_t print = flow_fingerprint(f);
	uint64_t *set = recent->sets[print % FLOW_RECENT_SETS];

	for (size_t i = 0; i < FLOW_RECENT_WAYS; i++)
		if (set[i] == print)
			return true;
	memmove(set + 1, set, (FLOW_RECENT_WAYS - 1) * sizeof(*set));
	set[0] = print;
	return false;
}

static void take(struct walk *w, const struct flow *f)
{
	if (w->filter && !flow_matches(w->filter, f))
		return;
	if (flow_is_repeated(w->recent, f)) {
		w->dump->duplicates++;
		return;
	}
	w->dump->flows++;
	w->reader->each(f, w->reader->arg);
}

/* ---- ctnetlink ---- */

static bool is_one_address(const struct flow_net *net)
{
	return net->is_set && net->bits == (net->family == AF_INET ? 32 : 128);
}

static uint8_t family_of(const struct flow_filter *filter)
{
	if (filter->src.is_set)
		return filter->src.family;
	return filter->dst.is_set ? filter->dst.family : AF_UNSPEC;
}

static void add_be16(struct buf *body, uint16_t type, uint16_t value)
{
	value = htons(value);
	netlink_add(body, type, &value, sizeof(value));
}

static void add_be32(struct buf *body, uint16_t type, uint32_t value)
{
	value = htonl(value);
	netlink_add(body, type, &value, sizeof(value));
}

static void add_address(struct buf *body, uint16_t v4_type, const struct flow_net *net)
{
	/* SRC, DST, then the same for IPv6 */
	uint16_t type = net->family == AF_INET ? v4_type : (uint16_t)(v4_type + 2);

	if (is_one_address(net))
		netlink_add(body, type, net->address, net->bits / 8);
}

static uint32_t tuple_bits(const struct flow_filter *f)
{
	uint32_t bits = 0;

	bits |= is_one_address(&f->src) ? HAS_SRC : 0;
	bits |= is_one_address(&f->dst) ? HAS_DST : 0;
	if (!f->has_protocol)
		return bits;
	bits |= HAS_PROTOCOL;
	/* ports of protocols that have none are EINVAL */
	if (f->protocol == IPPROTO_TCP || f->protocol == IPPROTO_UDP)
		bits |= (f->has_sport ? HAS_SPORT : 0) | (f->has_dport ? HAS_DPORT : 0);
	return bits;
}

static void add_tuple(struct buf *body, const struct flow_filter *f, uint32_t bits)
{
	size_t tuple = netlink_add_nest(body, CTA_TUPLE_ORIG);

	if (bits & (HAS_SRC | HAS_DST)) {
		size_t ip = netlink_add_nest(body, CTA_TUPLE_IP);

		add_address(body, CTA_IP_V4_SRC, &f->src);
		add_address(body, CTA_IP_V4_DST, &f->dst);
		netlink_end_nest(body, ip);
	}
	if (bits & HAS_PROTOCOL) {
		size_t protocol = netlink_add_nest(body, CTA_TUPLE_PROTO);

		netlink_add(body, CTA_PROTO_NUM, &f->protocol, 1);
		if (bits & HAS_SPORT)
			add_be16(body, CTA_PROTO_SRC_PORT, f->sport);
		if (bits & HAS_DPORT)
			add_be16(body, CTA_PROTO_DST_PORT, f->dport);
		netlink_end_nest(body, protocol);
	}
	netlink_end_nest(body, tuple);
}

void flow_dump_body(const struct flow_filter *f, uint8_t family, struct buf *body)
{
	const uint32_t none = 0, bits = f ? tuple_bits(f) : 0;

	conntrack_begin_body(body, family);
	if (!f)
		return;
	if (bits) {
		add_tuple(body, f, bits);
		size_t nest = netlink_add_nest(body, CTA_FILTER);

		netlink_add(body, CTA_FILTER_ORIG_FLAGS, &bits, sizeof(bits));
		netlink_add(body, CTA_FILTER_REPLY_FLAGS, &none, sizeof(none));
		netlink_end_nest(body, nest);
	}
	if (f->has_mark) {
		add_be32(body, CTA_MARK, f->mark);
		add_be32(body, CTA_MARK_MASK, f->mark_mask);
	}
	if (f->status_mask) {
		add_be32(body, CTA_STATUS, f->status);
		add_be32(body, CTA_STATUS_MASK, f->status_mask);
	}
	if (f->has_zone)
		add_be16(body, CTA_ZONE, f->zone);
}

static void take_message(const struct netlink_message *m, void *arg)
{
	struct walk *w = arg;
	struct flow f;

	if (m->type != (NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW))
		return;
	if (flow_parse_message(m->body, &f) < 0) {
		w->dump->garbled++;
		return;
	}
	take(w, &f);
}

static void start_again(void *arg)
{
	struct walk *w = arg;

	*w->dump = (struct flow_dump){ 0 };
	memset(w->recent, 0, sizeof(*w->recent));
	w->reader->restart(w->reader->arg);
}

static const char *key_of(const struct buf *body)
{
	const char *key = "conntrack.dump";
	const size_t plain = sizeof(struct nfgenmsg);

	/* the filter is part of the question */
	for (size_t i = 1; i < body->len && body->len > plain; i++)
		key = arena_printf(src_arena(), "%s%s%02x", key, i == 1 ? "." : "",
				   (unsigned char)body->data[i]);
	return key;
}

static int ask(struct walk *w, const struct flow_filter *filter, uint8_t family, bool is_all)
{
	const struct netlink_reader reader = { take_message, is_all ? start_again : NULL, w };
	struct netlink_result result;
	struct buf body = { 0 };

	flow_dump_body(filter, family, &body);
	const struct netlink_request r = { .key = key_of(&body), .family = NETLINK_NETFILTER,
					   .type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET,
					   .body = buf_text(&body) };
	int err = netlink_dump(&r, &reader, &result);

	buf_free(&body);
	w->dump->is_partial |= err >= 0 && result.is_partial;
	return err;
}

/* Tuples are looked at in one family alone: without an address that makes two questions. */
static int ask_family(struct walk *w)
{
	const uint8_t family = w->filter ? family_of(w->filter) : AF_UNSPEC;

	if (!w->filter || family != AF_UNSPEC || !tuple_bits(w->filter))
		return ask(w, w->filter, family, true);
	int err = ask(w, w->filter, AF_INET, false);

	return err < 0 ? err : ask(w, w->filter, AF_INET6, false);
}

/* A kernel that does not know the filter is asked for all; so is a run saved without it. */
static int ask_filtered(struct walk *w)
{
	int err = ask_family(w);

	if (w->filter && (err == -EINVAL || err == -EOPNOTSUPP || err == -ENOENT)) {
		start_again(w);
		err = ask(w, NULL, AF_UNSPEC, true);
	}
	return err;
}

/* ---- /proc ---- */

static int read_lines(struct walk *w)
{
	struct text t, line;
	int err = src_read("proc/net/nf_conntrack", &t);

	if (err == -ENOENT)
		err = src_read("proc/net/ip_conntrack", &t);
	if (err < 0)
		return err;
	struct scan s = scan_of(t);

	while (scan_line(&s, &line)) {
		struct flow f;

		if (!line.len)
			continue;
		if (flow_parse_line(line, &f) < 0)
			w->dump->garbled++;
		else
			take(w, &f);
	}
	w->dump->is_from_proc = true;
	return 0;
}

int flow_dump(const struct flow_filter *filter, const struct flow_reader *reader,
	      struct flow_dump *dump)
{
	struct walk w = { filter, reader, dump, mem_alloc(sizeof(*w.recent)) };
	const char *refused;
	int err;

	*dump = (struct flow_dump){ 0 };
	if (module_would_load(CONNTRACK_MODULE)) {
		refused = "asking could make the kernel load " CONNTRACK_MODULE;
	} else {
		err = ask_filtered(&w);
		if (err >= 0) {
			free(w.recent);
			return 0;
		}
		refused = arena_strdup(src_arena(), fail_text());
		start_again(&w);
	}
	err = read_lines(&w);
	dump->refused = refused;
	free(w.recent);
	if (err == -ENOENT)
		return fail(ENOENT, "flows: %s; there is no /proc/net/nf_conntrack", refused);
	return err < 0 ? fail(-err, "flows need CAP_NET_ADMIN: %s; %s", refused,
			      arena_strdup(src_arena(), fail_text())) : 0;
}
