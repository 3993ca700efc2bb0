/* What rows are by: names, packing into a key of fixed size, and back. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "applets/conntrack_top/conntrack_top.h"
#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/report/redact.h"

static const struct {
	const char *name;
	unsigned bit;
} parts[] = {
	{ "netns", BY_NETNS }, { "src", BY_SRC },     { "sport", BY_SPORT },
	{ "dst", BY_DST },     { "proto", BY_PROTOCOL }, { "dport", BY_DPORT },
	{ "state", BY_STATE }, { "zone", BY_ZONE },   { "mark", BY_MARK },
	{ "nat", BY_NAT },
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static const unsigned cycle[] = { BY_SRC, BY_DST, BY_DPORT, BY_SRC | BY_DST | BY_DPORT, BY_PROTOCOL,
				  BY_STATE, BY_ZONE, BY_MARK, BY_NETNS, BY_NAT };
#define CYCLE (sizeof(cycle) / sizeof(cycle[0]))

/* A port or a state means little without its protocol. */
#define NEEDS_PROTOCOL (BY_PROTOCOL | BY_SPORT | BY_DPORT | BY_STATE)
#define NEEDS_FAMILY (BY_SRC | BY_DST)

int by_parse(const char *text, unsigned *by)
{
	struct scan s = scan_of(text_of(text));
	unsigned bits = 0;

	while (s.at < s.end || !bits) {
		struct text word;
		size_t i = 0;

		if (!scan_until(&s, ',', &word)) {
			word = scan_rest(&s);
			s.at = s.end;
		}
		while (i < PARTS && !text_is(word, parts[i].name))
			i++;
		if (i == PARTS)
			return fail(EINVAL, "--by: '%.*s' is not one of netns, src, sport, dst, "
				    "dport, proto, state, zone, mark, nat", (int)word.len,
				    word.data);
		bits |= parts[i].bit;
	}
	*by = bits;
	return 0;
}

const char *by_text(struct arena *a, unsigned by)
{
	const char *list = NULL;

	for (size_t i = 0; i < PARTS; i++)
		if (by & parts[i].bit)
			list = list ? arena_printf(a, "%s,%s", list, parts[i].name) :
				parts[i].name;
	return list ? list : "";
}

unsigned by_next(unsigned by)
{
	for (size_t i = 0; i < CYCLE; i++)
		if (cycle[i] == by)
			return cycle[(i + 1) % CYCLE];
	return cycle[0];
}

/*
 * words[0]  space 16, family 8, protocol 8, sport 16, dport 16
 * words[1]  zone 16, state 8, NAT 8, mark 32
 * words[2] and [3] source, [4] and [5] destination, [6] and [7] the address NAT put in, [8] its
 *           port
 */
static uint64_t pack(uint64_t a16, uint64_t b8, uint64_t c8, uint64_t d32)
{
	return a16 << 48 | b8 << 40 | c8 << 32 | d32;
}

static void pack_nat(struct topk_key *k, const struct flow *f)
{
	const struct flow_tuple *r = &f->reply;

	if (f->status & FLOW_SRC_NAT) {
		memcpy(&k->words[6], r->dst, sizeof(r->dst));
	} else if (f->status & FLOW_DST_NAT) {
		memcpy(&k->words[6], r->src, sizeof(r->src));
		k->words[8] = r->sport;
	}
}

struct topk_key key_of(const struct flow *f, unsigned by, unsigned space)
{
	const struct flow_tuple *t = &f->original;
	struct topk_key k = { 0 };
	uint32_t nat = f->status & (FLOW_SRC_NAT | FLOW_DST_NAT);

	bool has_family = by & NEEDS_FAMILY || (by & BY_NAT && nat);

	k.words[0] = pack(by & BY_NETNS ? space : 0, has_family ? f->family : 0,
			  by & NEEDS_PROTOCOL ? f->protocol : 0,
			  (by & BY_SPORT ? (uint32_t)t->sport << 16 : 0) |
				  (by & BY_DPORT ? t->dport : 0));
	k.words[1] = pack(by & BY_ZONE ? f->zone : 0, by & BY_STATE ? flow_state(f) : 0,
			  by & BY_NAT ? nat : 0, by & BY_MARK ? f->mark : 0);
	if (by & BY_SRC)
		memcpy(&k.words[2], t->src, sizeof(t->src));
	if (by & BY_DST)
		memcpy(&k.words[4], t->dst, sizeof(t->dst));
	if (by & BY_NAT)
		pack_nat(&k, f);
	return k;
}

struct topk_key key_of_target(const struct flow *f)
{
	return key_of(f, BY_DST | BY_DPORT, 0);
}

/* As the SNAT address sends and the destination sees it: what must be unique is the port. */
struct topk_key key_of_snat(const struct flow *f)
{
	const struct flow_tuple *r = &f->reply;
	struct topk_key k = { 0 };

	k.words[0] = pack(0, f->family, f->protocol, r->sport);
	k.words[1] = pack(f->zone, 0, 0, 0);
	memcpy(&k.words[2], r->dst, sizeof(r->dst));
	memcpy(&k.words[4], r->src, sizeof(r->src));
	return k;
}

static const char *address_at(struct arena *a, const struct topk_key *k, size_t word)
{
	uint8_t address[16];

	memcpy(address, &k->words[word], sizeof(address));
	return flow_address_text(a, (uint8_t)(k->words[0] >> 40), address);
}

static const char *nat_text(struct arena *a, const struct topk_key *k)
{
	unsigned bits = (uint8_t)(k->words[1] >> 32);

	if (!bits)
		return "none";
	/* the whole text goes out as it is: the address in it is made unknowable here */
	const char *address = redact_name(a, NAME_ADDRESS, address_at(a, k, 6));

	if (bits & FLOW_SRC_NAT)
		return arena_printf(a, "%s %s", bits & FLOW_DST_NAT ? "snat+dnat" : "snat",
				    address);
	return arena_printf(a, strchr(address, ':') ? "dnat [%s]:%u" : "dnat %s:%u", address,
			    (unsigned)k->words[8]);
}

struct key_parts key_parts(struct arena *a, const struct topk_key *k, unsigned by)
{
	uint64_t low = k->words[0], high = k->words[1];
	struct key_parts p = { .sport = NA_U64, .dport = NA_U64, .zone = NA_U64, .mark = NA_U64 };

	if (by & BY_NETNS && low >> 48 < top.space_count)
		p.netns = top.spaces[low >> 48].name;
	if (by & BY_SRC)
		p.src = address_at(a, k, 2);
	if (by & BY_DST)
		p.dst = address_at(a, k, 4);
	if (by & NEEDS_PROTOCOL)
		p.protocol = flow_protocol_name(a, (uint8_t)(low >> 32));
	if (by & BY_SPORT)
		p.sport = (uint16_t)(low >> 16);
	if (by & BY_DPORT)
		p.dport = (uint16_t)low;
	if (by & BY_STATE)
		p.state = flow_state_name((enum flow_state)(uint8_t)(high >> 40));
	if (by & BY_ZONE)
		p.zone = high >> 48;
	if (by & BY_MARK)
		p.mark = (uint32_t)high;
	if (by & BY_NAT)
		p.nat = nat_text(a, k);
	return p;
}
