/* Rules of legacy iptables and ip6tables. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/kernel/firewall_impl.h"
#include "common/kernel/source.h"

#define ENTRIES_MAX (16u << 20)
#define ATTEMPTS 4                     /* the table may change between the two calls */
#define ADDRESS_MAX 16

/* What differs between the two families; the rest is x_tables' own. */
static const struct layout {
	const char *family, *names;
	int level, domain;
	int get_info, get_entries;
	size_t entry, target_offset, next_offset, counters;
	size_t src, dst, src_mask, dst_mask, address, in, out, protocol, flags, inverse;
	uint8_t inverse_src, inverse_dst, inverse_protocol, inverse_in, inverse_out, sock_family;
	uint8_t protocol_flag;         /* of flags: protocol is looked at; 0: unless it is 0 */
} layouts[2] = {
	{ "ip", "proc/net/ip_tables_names", IPPROTO_IP, AF_INET, IPT_SO_GET_INFO,
	  IPT_SO_GET_ENTRIES, sizeof(struct ipt_entry), offsetof(struct ipt_entry, target_offset),
	  offsetof(struct ipt_entry, next_offset), offsetof(struct ipt_entry, counters),
	  offsetof(struct ipt_ip, src), offsetof(struct ipt_ip, dst),
	  offsetof(struct ipt_ip, smsk), offsetof(struct ipt_ip, dmsk), 4,
	  offsetof(struct ipt_ip, iniface), offsetof(struct ipt_ip, outiface),
	  offsetof(struct ipt_ip, proto), offsetof(struct ipt_ip, flags),
	  offsetof(struct ipt_ip, invflags), IPT_INV_SRCIP, IPT_INV_DSTIP, IPT_INV_PROTO,
	  IPT_INV_VIA_IN, IPT_INV_VIA_OUT, AF_INET, 0 },
	{ "ip6", "proc/net/ip6_tables_names", IPPROTO_IPV6, AF_INET6, IP6T_SO_GET_INFO,
	  IP6T_SO_GET_ENTRIES, sizeof(struct ip6t_entry),
	  offsetof(struct ip6t_entry, target_offset), offsetof(struct ip6t_entry, next_offset),
	  offsetof(struct ip6t_entry, counters), offsetof(struct ip6t_ip6, src),
	  offsetof(struct ip6t_ip6, dst), offsetof(struct ip6t_ip6, smsk),
	  offsetof(struct ip6t_ip6, dmsk), 16, offsetof(struct ip6t_ip6, iniface),
	  offsetof(struct ip6t_ip6, outiface), offsetof(struct ip6t_ip6, proto),
	  offsetof(struct ip6t_ip6, flags), offsetof(struct ip6t_ip6, invflags), IP6T_INV_SRCIP,
	  IP6T_INV_DSTIP, IP6T_INV_PROTO, IP6T_INV_VIA_IN, IP6T_INV_VIA_OUT, AF_INET6,
	  IP6T_F_PROTO },
};

/* struct ipt_getinfo and ip6t_getinfo are alike. */
_Static_assert(sizeof(struct ipt_getinfo) == sizeof(struct ip6t_getinfo), "one info");

struct table {
	const struct layout *l;
	struct arena *arena;
	struct ipt_getinfo info;
	const char *name;
	struct text entries;
	const struct firewall *before;
	bool wants_all;
	struct firewall *f;
	struct firewall_graph graph;
	size_t *chain_at;              /* where each chain's first entry is */
	size_t chain_cap;
};

struct entry {
	const char *at;
	size_t offset, target, len;
	struct text target_name;
	int32_t verdict;               /* of a standard one */
};

static uint16_t half(const char *at)
{
	uint16_t n;

	memcpy(&n, at, sizeof(n));
	return n;
}

/* xt_entry_match and xt_entry_target begin alike: size, name[29], revision. */
static bool read_part(const char *at, size_t room, uint16_t *size, struct text *name)
{
	if (room < sizeof(struct xt_entry_match))
		return false;
	*size = half(at);
	*name = netlink_string((struct text){ at + 2, XT_EXTENSION_MAXNAMELEN });
	return *size >= sizeof(struct xt_entry_match) && *size <= room;
}

static int read_entry(const struct table *t, size_t offset, struct entry *e)
{
	uint16_t size;

	if (t->entries.len - offset < t->l->entry)
		return -EINVAL;
	*e = (struct entry){ .at = t->entries.data + offset, .offset = offset };
	e->target = half(e->at + t->l->target_offset);
	e->len = half(e->at + t->l->next_offset);
	if (e->len > t->entries.len - offset || e->target < t->l->entry || e->target >= e->len ||
	    !read_part(e->at + e->target, e->len - e->target, &size, &e->target_name))
		return -EINVAL;
	if (!e->target_name.len) {
		if (size < sizeof(struct xt_entry_target) + sizeof(e->verdict))
			return -EINVAL;
		memcpy(&e->verdict, e->at + e->target + sizeof(struct xt_entry_target),
		       sizeof(e->verdict));
	}
	return 0;
}

/* ---- conditions ---- */

static unsigned count_bits(const char *mask, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += (unsigned)__builtin_popcount((unsigned char)mask[i]);
	return n;
}

static void add_address(const struct table *t, const struct entry *e, size_t address, size_t mask,
			bool is_inverse, const char *option, uint8_t *to, uint8_t *bits,
			struct firewall_verdict *v, struct buf *text)
{
	const unsigned n = count_bits(e->at + mask, t->l->address);
	char name[INET6_ADDRSTRLEN];

	if (!n)
		return;
	if (inet_ntop(t->l->domain, e->at + address, name, sizeof(name)))
		firewall_word(text, "%s%s %s/%u", is_inverse ? "! " : "", option, name, n);
	memcpy(to, e->at + address, t->l->address);
	*bits = (uint8_t)n;
	v->match.family = t->l->sock_family;
	v->match.is_whole &= !is_inverse;
}

static void add_interface(const char *at, bool is_inverse, const char *option, struct buf *text)
{
	const size_t n = strnlen(at, IFNAMSIZ);

	if (n)
		firewall_word(text, "%s%s %.*s", is_inverse ? "! " : "", option, (int)n, at);
}

static void add_head(const struct table *t, const struct entry *e, struct firewall_verdict *v,
		     struct buf *text)
{
	const struct layout *l = t->l;
	const uint8_t inverse = (uint8_t)e->at[l->inverse];
	const uint16_t protocol = half(e->at + l->protocol);
	char room[24];

	add_address(t, e, l->src, l->src_mask, inverse & l->inverse_src, "-s", v->match.src,
		    &v->match.src_bits, v, text);
	add_address(t, e, l->dst, l->dst_mask, inverse & l->inverse_dst, "-d", v->match.dst,
		    &v->match.dst_bits, v, text);
	add_interface(e->at + l->in, inverse & l->inverse_in, "-i", text);
	add_interface(e->at + l->out, inverse & l->inverse_out, "-o", text);
	if (!(l->protocol_flag ? (uint8_t)e->at[l->flags] & l->protocol_flag : protocol))
		return;
	firewall_word(text, "%s-p %s", inverse & l->inverse_protocol ? "! " : "",
		      firewall_protocol(protocol, room));
	v->match.protocol = (uint8_t)protocol;
	v->match.is_whole &= !(inverse & l->inverse_protocol);
}

static bool is_invalid_only(struct text name, uint8_t revision, struct text info)
{
	if (text_is(name, "state") && info.len >= 4)
		return netlink_u32((struct text){ info.data, 4 }) == 1;
	if (!text_is(name, "conntrack") || revision < 2 || info.len < 152)
		return false;
	/* as in firewall_xt.c */
	return (half(info.data + 146) & 1) && !(half(info.data + 148) & 1) &&
		half(info.data + 150) == 1;
}

static int add_matches(const struct table *t, const struct entry *e, struct firewall_rule *rule,
		       struct buf *text)
{
	struct text name;
	uint16_t size;

	for (size_t at = t->l->entry; at < e->target; at += size) {
		if (!read_part(e->at + at, e->target - at, &size, &name))
			return -EINVAL;
		const uint8_t revision = (uint8_t)e->at[at + 2 + XT_EXTENSION_MAXNAMELEN];
		const struct text info = { e->at + at + sizeof(struct xt_entry_match),
			size - sizeof(struct xt_entry_match) };

		firewall_add_xt_match(name, revision, info, &rule->verdict, text);
		rule->is_invalid_only |= is_invalid_only(name, revision, info);
	}
	return 0;
}

/* ---- an entry ---- */

static void count(const struct table *t, const struct entry *e, struct firewall_verdict *v)
{
	struct xt_counters c;

	memcpy(&c, e->at + t->l->counters, sizeof(c));
	v->packets = c.pcnt;
	v->bytes = c.bcnt;
}

/* The same rule is the same in every look, wherever in its chain it stands: what it holds, without
 * where jumps go and without its counters. */
static uint64_t key_of(const struct table *t, const struct entry *e, const char *chain)
{
	uint64_t key = hash_bytes(t->l->family, strlen(t->l->family));

	key = hash_keyed(key, t->name, strlen(t->name));
	key = hash_keyed(key, chain, strlen(chain));
	key = hash_keyed(key, e->at, t->l->target_offset);
	return hash_keyed(key, e->at + t->l->entry, e->len - t->l->entry);
}

static void put_target(const struct entry *e, struct firewall_rule *rule, struct buf *text)
{
	rule->verdict.is_reject = text_is(e->target_name, "REJECT");
	rule->verdict.is_drop = rule->verdict.is_reject ||
		(!e->target_name.len && e->verdict == -NF_DROP - 1);
	firewall_word(text, "-j %.*s", (int)e->target_name.len,
		      rule->verdict.is_drop && !rule->verdict.is_reject ? "DROP" :
		      e->target_name.data);
}

static int take_rule(struct table *t, const struct entry *e, uint32_t chain, const char *chain_name,
		     uint64_t number, bool is_policy)
{
	struct firewall_rule rule = {
		.family = t->l->family, .table = t->name, .chain = chain_name,
		.handle = is_policy ? 0 : number, .is_legacy = true, .is_policy = is_policy,
		.verdict = { .match.is_whole = !is_policy, .counter = TEXT("") },
		.chain_index = chain,
	};
	struct buf text = { 0 };

	count(t, e, &rule.verdict);
	put_target(e, &rule, NULL);
	if (!rule.verdict.is_drop)
		return 0;
	rule.key = key_of(t, e, chain_name);
	const bool wants = firewall_wants_text(t->before, t->wants_all, &rule);

	add_head(t, e, &rule.verdict, wants ? &text : NULL);
	int err = add_matches(t, e, &rule, wants ? &text : NULL);

	if (wants && is_policy)
		firewall_word(&text, "policy DROP");
	else if (wants && rule.verdict.is_reject)
		firewall_word(&text, "-j REJECT");
	else if (wants)
		firewall_word(&text, "-j DROP");
	if (wants)
		rule.text = arena_text(t->arena, buf_text(&text));
	buf_free(&text);
	if (!err)
		firewall_add(t->f, &rule);
	return err;
}

/* ---- a table ---- */

static const char *const hook_chains[NF_INET_NUMHOOKS] = { "PREROUTING", "INPUT", "FORWARD",
	"OUTPUT", "POSTROUTING" };

/* The hook whose chain begins there, or whose policy it is; NF_INET_NUMHOOKS: none. */
static unsigned hook_at(const struct table *t, const unsigned int offsets[NF_INET_NUMHOOKS],
			size_t offset)
{
	unsigned i = 0;

	while (i < NF_INET_NUMHOOKS &&
	       (!(t->info.valid_hooks & 1u << i) || offsets[i] != offset))
		i++;
	return i;
}

static uint32_t begin_chain(struct table *t, size_t first, unsigned hook)
{
	struct firewall_graph *g = &t->graph;

	g->chains = mem_grow(g->chains, &g->cap, g->count + 1, sizeof(*g->chains));
	t->chain_at = mem_grow(t->chain_at, &t->chain_cap, g->count + 1, sizeof(*t->chain_at));
	t->chain_at[g->count] = first;
	g->chains[g->count].hooks = hook < NF_INET_NUMHOOKS ? HOOK_BIT(hook) : 0;
	return (uint32_t)g->count++;
}

/* A user's chain begins behind an entry whose target ERROR has its name. */
static const char *chain_name(const struct table *t, const struct entry *e)
{
	const size_t at = e->target + sizeof(struct xt_entry_target);

	return arena_text(t->arena, netlink_string((struct text){
		e->at + at, e->len - at < XT_FUNCTION_MAXNAMELEN ? e->len - at :
		XT_FUNCTION_MAXNAMELEN }));
}

/* Twice: chains have their places, then jumps can be followed to them. */
static int walk_entries(struct table *t, bool is_for_jumps)
{
	uint32_t chain = 0, next = 0;
	const char *name = "?";
	uint64_t number = 0;
	struct entry e;

	for (size_t at = 0; at < t->entries.len; at += e.len) {
		const unsigned hook = hook_at(t, t->info.hook_entry, at);

		if (read_entry(t, at, &e) < 0)
			return -EINVAL;
		const bool is_head = text_is(e.target_name, "ERROR");

		if (hook < NF_INET_NUMHOOKS || is_head) {
			chain = is_for_jumps ? next++ :
				begin_chain(t, is_head ? at + e.len : at, hook);
			number = 0;
			name = is_head ? chain_name(t, &e) : hook_chains[hook];
		}
		if (is_head || (!next && is_for_jumps) || !t->graph.count)
			continue;
		number++;
		if (!is_for_jumps) {
			const bool is_policy =
				hook_at(t, t->info.underflow, at) < NF_INET_NUMHOOKS;
			int err = take_rule(t, &e, chain, name, number, is_policy);

			t->f->seen += !is_policy;
			if (err < 0)
				return err;
			continue;
		}
		for (size_t i = 0; !e.target_name.len && e.verdict >= 0 && i < t->graph.count; i++)
			if (t->chain_at[i] == (size_t)e.verdict)
				firewall_graph_jump(&t->graph, chain, (uint32_t)i);
	}
	return 0;
}

int firewall_parse_legacy(struct arena *a, struct text reply, bool is_ipv6,
			  const struct firewall *before, bool wants_all, struct firewall *f)
{
	struct table t = { .l = &layouts[is_ipv6], .arena = a, .before = before,
		.wants_all = wants_all, .f = f };
	const size_t first = f->count;

	if (reply.len < sizeof(t.info))
		return -EINVAL;
	memcpy(&t.info, reply.data, sizeof(t.info));
	t.entries = (struct text){ reply.data + sizeof(t.info), reply.len - sizeof(t.info) };
	t.name = arena_text(a, netlink_string((struct text){ t.info.name, sizeof(t.info.name) }));
	int err = walk_entries(&t, false);

	if (!err)
		err = walk_entries(&t, true);
	firewall_graph_spread(&t.graph);
	for (size_t i = first; i < f->count; i++)
		f->rules[i].hooks = t.graph.chains[f->rules[i].chain_index].hooks;
	f->has_legacy |= t.graph.count > 0;
	firewall_graph_free(&t.graph);
	free(t.chain_at);
	return err;
}

/* ---- asking ---- */

struct question {
	const struct layout *l;
	struct text table;
};

static int ask_once(int fd, const struct question *q, struct buf *reply)
{
	struct ipt_getinfo info = { 0 };
	socklen_t len = sizeof(info);

	memcpy(info.name, q->table.data, q->table.len);
	if (getsockopt(fd, q->l->level, q->l->get_info, &info, &len) < 0)
		return -errno;
	if (info.size > ENTRIES_MAX)
		return -EFBIG;
	const size_t head = offsetof(struct ipt_get_entries, entrytable);
	struct ipt_get_entries *get = mem_alloc(head + info.size);
	int err = 0;

	memcpy(get->name, info.name, sizeof(get->name));
	get->size = info.size;
	len = (socklen_t)(head + info.size);
	if (getsockopt(fd, q->l->level, q->l->get_entries, get, &len) < 0)
		err = -errno;
	if (!err) {
		buf_add(reply, &info, sizeof(info));
		buf_add(reply, (const char *)get + head, info.size);
	}
	free(get);
	return err;
}

static int fetch(void *arg, struct buf *reply)
{
	const struct question *q = arg;
	int fd = socket(q->l->domain, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = -EAGAIN;

	if (fd < 0)
		return fail_errno(errno, "%s tables: socket", q->l->family);
	for (int i = 0; i < ATTEMPTS && err == -EAGAIN; i++)
		err = ask_once(fd, q, reply);
	close(fd);
	return err ? fail_errno(-err, "%stables table %.*s", q->l->family, (int)q->table.len,
				q->table.data) : 0;
}

static void read_table(struct arena *a, const struct layout *l, struct text name,
		       const struct firewall *before, bool wants_all, struct firewall *f)
{
	struct question q = { l, name };
	struct text reply;
	int err = src_call(arena_printf(src_arena(), "%stables %.*s", l->family, (int)name.len,
					name.data), fetch, &q, &reply);

	if (err < 0) {
		f->lacks = arena_strdup(a, fail_text());
		return;
	}
	if (firewall_parse_legacy(a, reply, l == &layouts[1], before, wants_all, f) < 0)
		f->lacks = arena_printf(a, "%stables table %.*s: garbled", l->family, (int)name.len,
					name.data);
}

void firewall_read_legacy(struct arena *a, const struct firewall *before, bool wants_all,
			  struct firewall *f)
{
	for (size_t i = 0; i < 2; i++) {
		struct text names, name;
		int err = src_read(layouts[i].names, &names);

		/* -EACCES without CAP_NET_ADMIN; -ENOENT without legacy iptables */
		if (err < 0 && err != -ENOENT)
			f->lacks = arena_strdup(a, fail_text());
		if (err < 0)
			continue;
		struct scan s = scan_of(names);

		while (scan_line(&s, &name))
			if (name.len && name.len < XT_TABLE_MAXNAMELEN)
				read_table(a, &layouts[i], name, before, wants_all, f);
	}
}
