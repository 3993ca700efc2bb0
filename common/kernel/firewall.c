#include "common/kernel/firewall.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fail.h"
#include "common/base/hash.h"
#include "common/kernel/firewall_impl.h"

#define ARP_HOOKS HOOK_BIT(HOOK_PREROUTING)    /* NF_ARP_IN and _OUT are no path of packets here */

struct firewall_key {
	uint64_t key;
	size_t at;
};

const char *firewall_hook_name(enum firewall_hook h)
{
	static const char *const names[FIREWALL_HOOKS] = {
		"prerouting", "input", "forward", "output", "postrouting", "ingress", "egress",
	};

	return (unsigned)h < FIREWALL_HOOKS ? names[h] : "?";
}

/* ---- a rule held against a socket ---- */

static bool has_prefix(const uint8_t address[16], const uint8_t prefix[16], unsigned bits)
{
	if (memcmp(address, prefix, bits / 8))
		return false;
	const unsigned rest = bits % 8;

	return !rest || !((address[bits / 8] ^ prefix[bits / 8]) >> (8 - rest));
}

static bool is_within(uint16_t port, const uint16_t ports[2])
{
	return !ports[1] || (port >= ports[0] && port <= ports[1]);
}

bool firewall_matches(const struct firewall_match *m, const struct firewall_tuple *t)
{
	if (!m->is_whole || !(m->src_bits || m->dst_bits || m->sport[1] || m->dport[1]))
		return false;
	return (!m->protocol || m->protocol == t->protocol) &&
		(!m->family || m->family == t->family) &&
		has_prefix(t->src, m->src, m->src_bits) &&
		has_prefix(t->dst, m->dst, m->dst_bits) &&
		is_within(t->sport, m->sport) && is_within(t->dport, m->dport);
}

/* ---- the list ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct firewall_key *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* Two rules alike differ by which of them comes first. */
void firewall_finish(struct arena *a, struct firewall *f)
{
	struct firewall_rule *rules = arena_alloc(a, (f->count + 1) * sizeof(*rules));

	if (f->count)
		memcpy(rules, f->rules, f->count * sizeof(*rules));
	free(f->rules);
	f->rules = rules;
	f->cap = f->count;
	f->keys = arena_alloc(a, (f->count + 1) * sizeof(*f->keys));
	for (size_t i = 0; i < f->count; i++)
		f->keys[i] = (struct firewall_key){ f->rules[i].key, i };
	qsort(f->keys, f->count, sizeof(*f->keys), compare_keys);
	for (size_t i = 1, n = 0; i < f->count; i++) {
		n = f->keys[i].key == f->keys[i - 1 - n].key ? n + 1 : 0;
		if (n)
			f->rules[f->keys[i].at].key += n;
	}
	for (size_t i = 0; i < f->count; i++)
		f->keys[i] = (struct firewall_key){ f->rules[i].key, i };
	qsort(f->keys, f->count, sizeof(*f->keys), compare_keys);
}

const struct firewall_rule *firewall_find(const struct firewall *f, uint64_t key)
{
	size_t low = 0, high = f->keys ? f->count : 0;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (f->keys[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return f->keys && low < f->count && f->keys[low].key == key ? &f->rules[f->keys[low].at] :
		NULL;
}

bool firewall_wants_text(const struct firewall *before, bool wants_all,
			 const struct firewall_rule *rule)
{
	if (!before)
		return wants_all;
	const struct firewall_rule *was = firewall_find(before, rule->key);

	return !was || was->verdict.packets != rule->verdict.packets;
}

struct firewall_rule *firewall_add(struct firewall *f, const struct firewall_rule *rule)
{
	f->rules = mem_grow(f->rules, &f->cap, f->count + 1, sizeof(*f->rules));
	f->rules[f->count] = *rule;
	return &f->rules[f->count++];
}

/* ---- which hooks reach a chain ---- */

void firewall_graph_jump(struct firewall_graph *g, uint32_t from, uint32_t to)
{
	g->jumps = mem_grow(g->jumps, &g->jump_cap, g->jump_count + 1, sizeof(*g->jumps));
	g->jumps[g->jump_count++] = (struct firewall_jump){ from, to };
}

/* Chains are at most 16 deep (NFT_JUMP_STACK_SIZE), and a cycle is refused. */
void firewall_graph_spread(struct firewall_graph *g)
{
	bool has_moved = true;

	for (int i = 0; i < 64 && has_moved; i++) {
		has_moved = false;
		for (size_t j = 0; j < g->jump_count; j++) {
			const unsigned from = g->chains[g->jumps[j].from].hooks;
			unsigned *to = &g->chains[g->jumps[j].to].hooks;

			has_moved |= (*to | from) != *to;
			*to |= from;
		}
	}
}

void firewall_graph_free(struct firewall_graph *g)
{
	free(g->chains);
	free(g->jumps);
	*g = (struct firewall_graph){ 0 };
}

/* ---- nftables ---- */

struct reading {
	struct arena *arena;
	const struct firewall *before;
	bool wants_all;
	struct firewall *f;
	struct firewall_graph graph;
	struct hash chains;            /* by chain_key: its index + 1 */
	struct hash counters;          /* named ones, by key: packets + 1 */
	const char *table, *chain;     /* the last ones, which the next rule mostly shares */
	struct buf text;
	size_t first;                  /* of f's rules, the first of nftables */
	bool needs_counters;
	uint32_t *maps;                /* chains with a rule that goes where a map says */
	size_t map_count, map_cap;
};

static uint64_t table_key(uint8_t family, struct text table)
{
	return hash_keyed(family, table.data, table.len);
}

static uint64_t chain_key(uint8_t family, struct text table, struct text chain)
{
	return hash_keyed(table_key(family, table), chain.data, chain.len);
}

static unsigned hooks_of(uint8_t family, uint64_t number)
{
	if (family == NFPROTO_NETDEV)
		return number ? HOOK_BIT(HOOK_EGRESS) : HOOK_BIT(HOOK_INGRESS);
	if (family == NFPROTO_ARP)
		return ARP_HOOKS;
	return number < HOOK_EGRESS ? HOOK_BIT(number) : 0;
}

static uint32_t find_chain(struct reading *r, uint8_t family, struct text table,
			   struct text name)
{
	struct firewall_graph *g = &r->graph;
	const uint64_t in = table_key(family, table);
	void **at = hash_number(&r->chains, hash_keyed(in, name.data, name.len));

	if (!*at) {
		g->chains = mem_grow(g->chains, &g->cap, g->count + 1, sizeof(*g->chains));
		g->chains[g->count] = (struct firewall_chain){ .table = in };
		*at = (void *)(uintptr_t)++g->count;
	}
	return (uint32_t)((uintptr_t)*at - 1);
}

static const char *intern(struct reading *r, const char **last, struct text name)
{
	if (!*last || !text_is(name, *last))
		*last = arena_text(r->arena, name);
	return *last;
}

static void add_policy(struct reading *r, const struct firewall_rule *rule)
{
	struct firewall_rule *new = firewall_add(r->f, rule);

	if (firewall_wants_text(r->before, r->wants_all, rule))
		new->text = "policy drop";
}

static void take_chain(const struct netlink_message *m, void *arg)
{
	struct reading *r = arg;
	struct text attrs = netlink_behind(m->body, sizeof(struct nfgenmsg));
	struct text table, name, hook, data;
	struct firewall_verdict v = { .is_drop = true, .packets = NA_U64, .bytes = NA_U64,
		.counter = TEXT("") };

	if (m->type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN) ||
	    m->body.len < sizeof(struct nfgenmsg) ||
	    !netlink_find(attrs, NFTA_CHAIN_TABLE, &table) ||
	    !netlink_find(attrs, NFTA_CHAIN_NAME, &name))
		return;
	const uint8_t family = (uint8_t)m->body.data[0];

	table = netlink_string(table);
	name = netlink_string(name);
	const uint32_t at = find_chain(r, family, table, name);

	r->f->has_nft = true;
	if (!netlink_find(attrs, NFTA_CHAIN_HOOK, &hook))
		return;
	r->graph.chains[at].is_base = true;
	r->graph.chains[at].hooks = hooks_of(family, nft_number(hook, NFTA_HOOK_HOOKNUM));
	if (nft_number(attrs, NFTA_CHAIN_POLICY) != NF_DROP)
		return;
	if (netlink_find(attrs, NFTA_CHAIN_COUNTERS, &data)) {
		struct text packets = TEXT(""), bytes = TEXT("");

		netlink_find(data, NFTA_COUNTER_PACKETS, &packets);
		netlink_find(data, NFTA_COUNTER_BYTES, &bytes);
		v.packets = netlink_be64(packets);
		v.bytes = netlink_be64(bytes);
	}
	add_policy(r, &(struct firewall_rule){
		.nfproto = family, .family = nft_family_name(family),
		.table = intern(r, &r->table, table), .chain = intern(r, &r->chain, name),
		.is_policy = true, .verdict = v, .key = chain_key(family, table, name),
		.chain_index = at });
}

/* Where the rule may go on. */
static void follow(struct reading *r, const struct nft_rule_head *h, uint32_t chain)
{
	struct text list = h->expressions, name, attrs, data, verdict, to;

	while (nft_next_expression(&list, &name, &attrs))
		if (text_is(name, "immediate") && netlink_find(attrs, NFTA_IMMEDIATE_DATA, &data) &&
		    netlink_find(data, NFTA_DATA_VERDICT, &verdict) &&
		    netlink_find(verdict, NFTA_VERDICT_CHAIN, &to))
			firewall_graph_jump(&r->graph, chain,
					    find_chain(r, h->family, h->table,
						       netlink_string(to)));
}

static void note_map(struct reading *r, uint32_t chain)
{
	r->f->by_map++;
	r->maps = mem_grow(r->maps, &r->map_cap, r->map_count + 1, sizeof(*r->maps));
	r->maps[r->map_count++] = chain;
}

static void take_rule(const struct netlink_message *m, void *arg)
{
	struct reading *r = arg;
	struct nft_rule_head h;
	struct nft_rule meaning;
	struct firewall_verdict v;

	if (m->type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE) ||
	    nft_rule_parse_head(m->body, &h) < 0)
		return;
	const uint32_t chain = find_chain(r, h.family, h.table, h.chain);

	r->f->seen++;
	firewall_understand_nft(&h, &v, NULL);
	if (v.is_by_map)
		note_map(r, chain);
	if (!v.is_drop) {
		follow(r, &h, chain);
		return;
	}
	struct firewall_rule rule = {
		.nfproto = h.family, .family = nft_family_name(h.family),
		.table = intern(r, &r->table, h.table),
		.chain = intern(r, &r->chain, h.chain), .handle = h.handle, .verdict = v,
		.key = hash_keyed(chain_key(h.family, h.table, h.chain), &h.handle,
				  sizeof(h.handle)),
		.chain_index = chain,
	};

	rule.is_invalid_only = nft_rule_understand(&h, &meaning) == 0 &&
		meaning.invalid_dropped != NA_U64;
	/* filled in by take_counter */
	rule.verdict.counter = v.counter.len ? (struct text){
		arena_text(r->arena, v.counter), v.counter.len } : TEXT("");
	r->needs_counters |= v.counter.len > 0;
	if (v.counter.len || firewall_wants_text(r->before, r->wants_all, &rule)) {
		buf_reset(&r->text);
		firewall_understand_nft(&h, &v, &r->text);
		rule.text = arena_text(r->arena, buf_text(&r->text));
	}
	firewall_add(r->f, &rule);
}

static void take_object(const struct netlink_message *m, void *arg)
{
	struct reading *r = arg;
	struct text attrs = netlink_behind(m->body, sizeof(struct nfgenmsg)), table, name, data, n;

	if (m->type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWOBJ) ||
	    m->body.len < sizeof(struct nfgenmsg) ||
	    nft_number(attrs, NFTA_OBJ_TYPE) != NFT_OBJECT_COUNTER ||
	    !netlink_find(attrs, NFTA_OBJ_TABLE, &table) ||
	    !netlink_find(attrs, NFTA_OBJ_NAME, &name) ||
	    !netlink_find(attrs, NFTA_OBJ_DATA, &data) ||
	    !netlink_find(data, NFTA_COUNTER_PACKETS, &n) || netlink_be64(n) == NA_U64)
		return;
	/* how many rules count there: two make it nobody's */
	if (nft_number(attrs, NFTA_OBJ_USE) != 1)
		return;
	*hash_number(&r->counters, chain_key((uint8_t)m->body.data[0], netlink_string(table),
					     netlink_string(name))) =
		(void *)(uintptr_t)(netlink_be64(n) + 1);
}

static void restart_chains(void *arg)
{
	struct reading *r = arg;

	hash_reset(&r->chains);
	firewall_graph_free(&r->graph);
	r->f->count = r->first;
}

static void restart_rules(void *arg)
{
	struct reading *r = arg;

	/* policies came with the chains */
	while (r->f->count > r->first && !r->f->rules[r->f->count - 1].is_policy)
		r->f->count--;
	r->graph.jump_count = r->map_count = 0;
	r->f->seen = r->f->by_map = 0;
	r->needs_counters = false;
}

static void restart_counters(void *arg)
{
	hash_reset(&((struct reading *)arg)->counters);
}

static int dump(struct reading *r, const char *key, uint8_t message,
		void (*each)(const struct netlink_message *m, void *arg),
		void (*restart)(void *arg))
{
	const struct netlink_reader reader = { each, restart, r };
	struct netlink_result result;
	int err = nft_dump(key, message, &reader, &result);

	if (err < 0)
		r->f->lacks = arena_strdup(r->arena, fail_text());
	else
		r->f->is_partial |= result.is_partial;
	return err;
}

static void set_counters(struct reading *r)
{
	for (size_t i = r->first; i < r->f->count; i++) {
		struct firewall_rule *rule = &r->f->rules[i];
		struct firewall_verdict *v = &rule->verdict;

		if (!v->counter.len)
			continue;
		const uintptr_t n = (uintptr_t)hash_find_number(&r->counters,
			chain_key(rule->nfproto, text_of(rule->table), v->counter));

		v->packets = n ? n - 1 : NA_U64;
		v->counter = TEXT("");
	}
}

/* Where a map decides, any chain of that table that is no base chain may come next. */
static bool follow_maps(struct reading *r)
{
	struct firewall_graph *g = &r->graph;
	struct hash tables = { 0 };
	bool has_moved = false;

	for (size_t i = 0; i < r->map_count; i++) {
		const struct firewall_chain *c = &g->chains[r->maps[i]];
		void **hooks = hash_number(&tables, c->table);

		*hooks = (void *)((uintptr_t)*hooks | c->hooks);
	}
	for (size_t i = 0; r->map_count && i < g->count; i++) {
		struct firewall_chain *c = &g->chains[i];
		const unsigned more = (unsigned)(uintptr_t)hash_find_number(&tables, c->table);

		if (c->is_base || (c->hooks | more) == c->hooks)
			continue;
		c->hooks |= more;
		has_moved = true;
	}
	hash_free(&tables);
	return has_moved;
}

static void read_nft(struct reading *r)
{
	r->first = r->f->count;
	/* no chains: no rules either */
	if (dump(r, "nftables.chains", NFT_MSG_GETCHAIN, take_chain, restart_chains) < 0 ||
	    !r->f->has_nft)
		return;
	if (dump(r, NFT_RULES_KEY, NFT_MSG_GETRULE, take_rule, restart_rules) < 0)
		return;
	if (r->needs_counters)
		dump(r, "nftables.objects", NFT_MSG_GETOBJ, take_object, restart_counters);
	set_counters(r);
	do
		firewall_graph_spread(&r->graph);
	while (follow_maps(r));
	for (size_t i = r->first; i < r->f->count; i++)
		r->f->rules[i].hooks = r->graph.chains[r->f->rules[i].chain_index].hooks;
}

void firewall_read(struct arena *a, const struct firewall *before, bool wants_all,
		   struct firewall *f)
{
	struct reading r = { .arena = a, .before = before, .wants_all = wants_all, .f = f };

	*f = (struct firewall){ 0 };
	read_nft(&r);
	firewall_read_legacy(a, before, wants_all, f);
	for (size_t i = 0; i < f->count; i++)
		f->uncounted += f->rules[i].verdict.packets == NA_U64;
	firewall_finish(a, f);
	firewall_graph_free(&r.graph);
	hash_free(&r.chains);
	hash_free(&r.counters);
	buf_free(&r.text);
	free(r.maps);
}
