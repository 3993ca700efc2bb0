/*
 * Filters at a device's edge: what police and drop actions took, and what is left of the edge's own
 * count, which is programs' (bpf) doing and their choice.
 */
#include <string.h>

#include "applets/netpath/queues.h"

void tc_read(struct out *out, struct look *look, struct queues *q, const struct qdisc *d)
{
	if (tc_actions_read(&look->arena, d->ifindex, TC_EDGE_INGRESS, &q->actions) < 0)
		out_missing(out, "%s", fail_text());
	if (!strcmp(d->kind, "clsact") &&
	    tc_actions_read(&look->arena, d->ifindex, TC_EDGE_EGRESS, &q->actions) < 0)
		out_missing(out, "%s", fail_text());
}

static const struct tc_action *same(const struct queues *was, const struct tc_action *a)
{
	for (size_t i = 0; was && i < was->actions.count; i++) {
		const struct tc_action *b = &was->actions.items[i];

		if (b->ifindex == a->ifindex && b->is_egress == a->is_egress &&
		    b->preference == a->preference && b->handle == a->handle &&
		    b->order == a->order && !strcmp(b->filter, a->filter))
			return b;
	}
	return NULL;
}

static uint64_t moved(uint64_t now, const uint64_t *was, bool is_made)
{
	return was ? qdisc_moved(now, *was) : is_made ? now : NA_U64;
}

static const char *action_text(struct arena *a, const struct link *l, const struct tc_action *t)
{
	return arena_printf(a, "%s %s pref %u %s %s%s", l->name, t->is_egress ? "egress" :
			    "ingress", t->preference, t->filter, t->is_random ? "random " : "",
			    t->kind);
}

static uint64_t add_actions(struct walk *w, size_t space, const struct queues *was,
			    const struct queues *q, const struct link *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < q->actions.count; i++) {
		const struct tc_action *a = &q->actions.items[i], *b = same(was, a);

		if (a->ifindex != l->index || !a->kind)
			continue;
		const uint64_t drops = moved(a->drops, b ? &b->drops : NULL, was);
		const uint64_t packets = moved(a->packets, b ? &b->packets : NULL, was);
		struct block *block = path_add_block(w, LAYER_TC, a->is_egress ? DIR_TX : DIR_RX,
						     space, action_text(w->arena, l, a));

		block->ifindex = l->index;
		block->packets_in = packets;
		block->packets_out = delta_u64(packets, drops);
		path_add_meter(w, METER_TC, "dropped", drops, a->drops,
			       arena_printf(w->arena, "tc -s filter show dev %s %s", l->name,
					    a->is_egress ? "egress" : "ingress"))->detail = a;
		sum += drops == NA_U64 ? 0 : drops;
	}
	return sum;
}

void tc_compare(struct walk *w, size_t space, const struct queues *was, const struct queues *q,
		const struct link *l)
{
	const uint64_t by_actions = add_actions(w, space, was, q, l);

	for (size_t i = 0; i < q->list.count; i++) {
		const struct qdisc *d = &q->list.items[i], *b = queues_same(was, d, i);

		if (d->ifindex != l->index || d->parent != QDISC_INGRESS)
			continue;
		const uint64_t drops = moved(d->drops, b ? &b->drops : NULL, was);
		const bool is_both = !strcmp(d->kind, "clsact");
		struct block *block =
			path_add_block(w, LAYER_TC, is_both ? DIR_NONE : DIR_RX, space,
				       arena_printf(w->arena, "%s %s", l->name, d->kind));

		block->ifindex = l->index;
		block->packets_out = moved(d->packets, b ? &b->packets : NULL, was);
		block->note = "what programs (bpf) drop here is their choice";
		path_add_meter(w, METER_TC, "dropped", drops == NA_U64 ? NA_U64 :
			       drops > by_actions ? drops - by_actions : 0, d->drops,
			       arena_printf(w->arena, "tc -s qdisc show dev %s", l->name))
			->is_wanted = true;
	}
}

/* ---- findings ---- */

static const char *cause_text(struct arena *a, const struct walk *w, const struct meter *m)
{
	const struct tc_action *t = m->detail;
	const struct link *to = netpath_link(&w->now->spaces[w->blocks[m->block].space],
					     t->to_ifindex);

	if (t->is_redirect)
		return arena_printf(a, "they could not be redirected to %s%s",
				    to ? to->name : "a device that has gone",
				    to && !(to->is_up && to->has_carrier) ? ", which is down" : "");
	if (!strcmp(t->kind, "police"))
		return "over the rate this filter polices";
	return t->is_random ? "a filter's action drops some at random" :
		"a filter's action drops what it matches";
}

static void report(struct out *out, struct walk *w)
{
	const struct meter *m;
	size_t at = 0;

	while ((m = path_next(w, LAYER_TC, &at))) {
		const struct tc_action *a = m->detail;

		if (m->is_wanted || !path_is_over(w, m, EVENTS_MIN, SHARE_MIN))
			continue;
		struct finding *f = netpath_finding(out, w, "netpath.tc", STATE_NOW, m, NULL);

		finding_text(f, "action", NAME_PLAIN, a->kind);
		finding_text(f, "filter", NAME_PLAIN, a->filter);
		finding_u64(f, "preference", a->preference);
		finding_line(f, "%s: %s", netpath_lost_text(f->arena, w, m),
			     cause_text(f->arena, w, m));
		finding_next(f, "perfbox netpath%s -i %s 1",
			     netpath_option_of(f->arena, w, w->blocks[m->block].space),
			     out_shell_word(f->arena, netpath_link(
				     &w->now->spaces[w->blocks[m->block].space],
				     a->ifindex)->name));
		netpath_finish(out, w, m, f);
	}
}

const struct layer layer_tc = {
	.name = "tc",
	.report = report,
};
