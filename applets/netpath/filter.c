/* Packet filters: what their rules and policies drop, and which of it nobody can have wanted. */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "applets/netpath/tcp.h"
#include "common/kernel/firewall.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define RULES_SHOWN 100                /* those that dropped most; the rest is one row */
#define IN_HOOKS (HOOK_BIT(HOOK_PREROUTING) | HOOK_BIT(HOOK_INPUT) | HOOK_BIT(HOOK_FORWARD) | \
		  HOOK_BIT(HOOK_INGRESS))

/* Why a rule's drops are a loss; else they are what it is there for. */
enum reason { REASON_NONE, REASON_RANDOM, REASON_QUOTA, REASON_OUTPUT, REASON_SOCKET };

struct detail {
	const struct firewall_rule *rule;
	enum reason reason;
	const struct tcp_socket *socket;       /* of REASON_SOCKET */
};

struct moved {
	const struct firewall_rule *rule;
	uint64_t count;
};

static int read(struct out *out, struct look *look, struct space *s)
{
	struct firewall *f = arena_alloc(&look->arena, sizeof(*f));
	const struct firewall *before = NULL;

	for (size_t i = 0; i < netpath.now->space_count; i++)
		if (netpath.now->spaces[i].ns.inode == s->ns.inode)
			before = netpath.now->spaces[i].data[LAYER_FILTER];
	firewall_read(&look->arena, before, src_frame()->is_only, f);
	if (f->lacks)
		out_note(out, "packet filters are not looked at: %s", f->lacks);
	s->data[LAYER_FILTER] = f;
	return 0;
}

/* ---- which drops are a loss ---- */

/* The socket's packets as they pass here: as it sends them, or as they come to it. */
static struct firewall_tuple tuple_of(const struct tcp_socket *s, bool is_sending)
{
	const struct sock_end *from = is_sending ? &s->local : &s->remote;
	const struct sock_end *to = is_sending ? &s->remote : &s->local;
	struct firewall_tuple t = { .family = s->family, .protocol = IPPROTO_TCP,
				    .sport = from->port, .dport = to->port };

	memcpy(t.src, from->address, sizeof(t.src));
	memcpy(t.dst, to->address, sizeof(t.dst));
	return t;
}

static bool is_hit(const struct firewall_match *m, const struct tcp_socket *s)
{
	const struct firewall_tuple sent = tuple_of(s, true), received = tuple_of(s, false);

	/* an open one that waits for an answer it does not get */
	return (s->state == SOCK_ESTABLISHED || s->state == SOCK_FIN_WAIT1 ||
		s->state == SOCK_CLOSE_WAIT) && is_some(s->info.retransmits) &&
		(firewall_matches(m, &sent) || firewall_matches(m, &received));
}

/* In any namespace: the filter may stand between two others. */
static const struct tcp_socket *find_hit(const struct walk *w, const struct firewall_match *m)
{
	for (size_t i = 0; m->is_whole && i < w->now->space_count; i++) {
		const struct tcp *t = tcp_of(&w->now->spaces[i]);

		for (size_t k = 0; t && k < t->count; k++)
			if (is_hit(m, &t->sockets[k]))
				return &t->sockets[k];
	}
	return NULL;
}

static enum reason reason_of(const struct walk *w, const struct firewall_rule *r,
			     const struct tcp_socket **socket)
{
	if (r->is_policy)
		return REASON_NONE;
	if (r->verdict.is_random)
		return REASON_RANDOM;
	if (r->verdict.is_quota)
		return REASON_QUOTA;
	*socket = find_hit(w, &r->verdict.match);
	if (*socket)
		return REASON_SOCKET;
	/* a reject is told to the program, a limit is a measure, invalid packets are conntrack's */
	return r->hooks == HOOK_BIT(HOOK_OUTPUT) && !r->verdict.is_reject &&
		!r->verdict.is_limit && !r->is_invalid_only ? REASON_OUTPUT : REASON_NONE;
}

/* ---- comparing ---- */

static const char *rule_name(struct arena *a, const struct firewall_rule *r)
{
	return r->is_policy ?
		arena_printf(a, "%s %s %s policy", r->family, r->table, r->chain) :
		arena_printf(a, "%s %s %s %s %llu", r->family, r->table, r->chain,
			     r->is_legacy ? "rule" : "handle", (unsigned long long)r->handle);
}

static const char *proof_of(struct arena *a, const struct firewall_rule *r)
{
	if (!r->is_legacy)
		return arena_printf(a, "nft -a list chain %s %s %s", r->family,
				    out_shell_word(a, r->table), out_shell_word(a, r->chain));
	return arena_printf(a, "%s-legacy -t %s -nvxL %s --line-numbers",
			    !strcmp(r->family, "ip6") ? "ip6tables" : "iptables", r->table,
			    out_shell_word(a, r->chain));
}

static int compare_moved(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;

	return x->count != y->count ? (x->count > y->count ? -1 : 1) :
		(x->rule > y->rule) - (x->rule < y->rule);
}

static uint64_t packets_of(const struct walk *w, size_t space, const struct space *was, bool is_new,
			   bool is_in)
{
	const struct space *s = &w->now->spaces[space];
	const enum counter v4 = is_in ? IpInReceives : IpOutRequests;
	const enum counter v6 = is_in ? Ip6InReceives : Ip6OutRequests;

	return add_known(counter_moved(s, was, is_new, v4), counter_moved(s, was, is_new, v6));
}

static void add_rule(struct walk *w, size_t space, const struct moved *m, uint64_t in, uint64_t out)
{
	struct arena *a = w->arena;
	struct detail *d = arena_alloc(a, sizeof(*d));
	const bool is_in = m->rule->hooks & IN_HOOKS;
	struct block *b = path_add_block(w, LAYER_FILTER, is_in ? DIR_RX : DIR_TX, space,
					 rule_name(a, m->rule));

	b->packets_in = is_in ? in : out;
	b->note = redact_is_on() ? NULL : arena_strdup(a, m->rule->text);
	d->rule = m->rule;
	d->reason = reason_of(w, m->rule, &d->socket);
	struct meter *meter = path_add_meter(w, METER_FILTER, "packets", m->count,
					     m->rule->verdict.packets, proof_of(a, m->rule));

	meter->detail = d;
	meter->is_wanted = d->reason == REASON_NONE;
}

static void add_rest(struct walk *w, size_t space, const struct moved *list, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += list[i].count;
	if (!count)
		return;
	path_add_block(w, LAYER_FILTER, DIR_RX, space,
		       arena_printf(w->arena, "%zu other rules", count));
	path_add_meter(w, METER_FILTER, "packets", sum, NA_U64, "nft list ruleset")->is_wanted =
		true;
}

/* Rules that drop and don't count, and verdicts that stand in a map. */
static void add_unseen(struct walk *w, size_t space, const struct firewall *f)
{
	struct arena *a = w->arena;

	if (!f->uncounted && !f->by_map)
		return;
	struct block *b = path_add_block(w, LAYER_FILTER, DIR_NONE, space, "not counted");

	b->is_unknown = true;
	b->note = arena_printf(a, "%s of %s rules and policies that drop have no counter, %s "
			       "rules decide by a map: cannot be seen",
			       human_count_u64(a, f->uncounted), human_count_u64(a, f->count),
			       human_count_u64(a, f->by_map));
}

static void compare(struct out *out, struct walk *w, size_t space, const struct space *was,
		    bool is_new)
{
	const struct firewall *f = w->now->spaces[space].data[LAYER_FILTER];
	const struct firewall *before = was ? was->data[LAYER_FILTER] : NULL;
	size_t count = 0;

	(void)out;
	if (!f || !(f->has_nft || f->has_legacy))
		return;
	struct moved *list = arena_alloc(w->arena, (f->count + 1) * sizeof(*list));

	for (size_t i = 0; i < f->count; i++) {
		const struct firewall_rule *r = &f->rules[i];
		const struct firewall_rule *old = before ? firewall_find(before, r->key) : NULL;
		/* a rule that was not there before was made since, and began at 0, unless it was
		   given a number to begin with (nft can) */
		const uint64_t n = path_moved(r->verdict.packets,
					      old ? &old->verdict.packets : NULL, is_new || before);

		if (is_some(n))
			list[count++] = (struct moved){ r, n };
	}
	qsort(list, count, sizeof(*list), compare_moved);
	const uint64_t in = packets_of(w, space, was, is_new, true);
	const uint64_t sent = packets_of(w, space, was, is_new, false);

	path_add_block(w, LAYER_FILTER, DIR_RX, space,
		       f->has_nft && f->has_legacy ? "nftables and iptables" :
		       f->has_nft ? "nftables" : "iptables")->packets_in = in;
	w->blocks[w->block_count - 1].note =
		arena_printf(w->arena, "%s rules, %s of them and of policies drop%s",
			     human_count_u64(w->arena, f->seen),
			     human_count_u64(w->arena, f->count),
			     f->is_partial ? "; they changed while they were read" : "");
	for (size_t i = 0; i < count && i < RULES_SHOWN; i++)
		add_rule(w, space, &list[i], in, sent);
	if (count > RULES_SHOWN)
		add_rest(w, space, list + RULES_SHOWN, count - RULES_SHOWN);
	add_unseen(w, space, f);
}

/* ---- reporting ---- */

static const char *hooks_text(struct arena *a, unsigned hooks)
{
	const char *text = NULL;

	for (int h = 0; h < FIREWALL_HOOKS; h++)
		if (hooks & HOOK_BIT(h))
			text = arena_printf(a, "%s%s%s", text ? text : "", text ? ", " : "",
					    firewall_hook_name(h));
	return text ? text : "no hook";
}

static void report_rule(struct out *out, const struct walk *w, const struct meter *m)
{
	const struct detail *d = m->detail;
	const struct firewall_rule *r = d->rule;
	struct arena *a = out_arena(out);
	struct finding *f = netpath_finding(out, w, "netpath.filter", STATE_NOW, m, NULL);
	const char *hooks = hooks_text(a, r->hooks);

	finding_text(f, "family", NAME_PLAIN, r->family);
	finding_text(f, "table", NAME_PLAIN, r->table);
	finding_text(f, "chain", NAME_PLAIN, r->chain);
	finding_u64(f, "handle", r->handle);
	finding_text(f, "hook", NAME_PLAIN, hooks);
	finding_text(f, "rule", NAME_PLAIN, redact_is_on() ? NULL : r->text);
	switch (d->reason) {
	case REASON_RANDOM:
		finding_line(f, "%s by a rule that drops some of what it fits, whichever",
			     netpath_lost_text(a, w, m));
		break;
	case REASON_QUOTA:
		finding_line(f, "%s by a rule with a quota", netpath_lost_text(a, w, m));
		break;
	case REASON_OUTPUT:
		finding_line(f, "%s: this host's own, before they left it",
			     netpath_lost_text(a, w, m));
		break;
	case REASON_SOCKET:
		finding_text(f, "socket", NAME_PLAIN,
			     tcp_end_text(a, d->socket, &d->socket->local));
		finding_line(f, "%s; the open connection of %s to %s is of these, and at timeout "
				"%llu",
			     netpath_lost_text(a, w, m),
			     tcp_end_text(a, d->socket, &d->socket->local),
			     tcp_end_text(a, d->socket, &d->socket->remote),
			     (unsigned long long)d->socket->info.retransmits);
		break;
	case REASON_NONE:
		break;
	}
	if (r->text && !redact_is_on())
		finding_line(f, "rule (%s): %s", hooks, r->text);
	finding_next(f, "%s", netpath_command_in(a, w, w->blocks[m->block].space, m->proof));
	netpath_finish(out, w, m, f);
}

static void report(struct out *out, struct walk *w)
{
	size_t at = 0;

	for (struct meter *m; (m = path_next(w, LAYER_FILTER, &at)); )
		if (!m->is_wanted && path_is_over(w, m, EVENTS_MIN, SHARE_MIN))
			report_rule(out, w, m);
}

const struct layer layer_filter = {
	.name = "filter",
	.read = read,
	.compare = compare,
	.report = report,
};
