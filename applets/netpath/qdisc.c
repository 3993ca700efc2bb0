/*
 * Queueing disciplines: who of a tree dropped, its parents, which count it again, left out. Layers
 * qdisc, and tc for ingress and clsact (tc.c).
 */
#include "applets/netpath/queues.h"

#include <string.h>

#include "applets/netpath/rows.h"

/* An AQM drops to be noticed: that is how it works. */
#define AQM_SHARE_MIN 0.02
#define AQM_RATE_MIN 50.0

struct queue_row {
	const char *netns, *device, *kind, *handle, *parent;
	uint64_t packets, drops, overlimits, requeues, backlog_bytes, length, lost;
	double packets_per_second, drops_per_second, lost_per_second, overlimits_per_second;
};

static const struct column queue_columns[] = {
	COL_NAME(struct queue_row, netns, "NETNS", ROLE_KEY, NAME_CONTAINER, "network namespace"),
	COL(struct queue_row, device, "DEVICE", ROLE_KEY, UNIT_TEXT, "name"),
	COL(struct queue_row, kind, "QDISC", ROLE_KEY, UNIT_TEXT, "kind, of a class \"htb class\""),
	COL(struct queue_row, handle, "HANDLE", ROLE_KEY, UNIT_TEXT, "as tc prints it"),
	COL(struct queue_row, parent, "PARENT", ROLE_KEY, UNIT_TEXT, "root, or the class it is in"),
	COL(struct queue_row, packets_per_second, "SENT/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "packets passed on"),
	COL(struct queue_row, drops_per_second, "DROPS/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "as it counts: those of what is below it as well"),
	COL(struct queue_row, lost_per_second, "OWN/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "less what is below it"),
	COL(struct queue_row, overlimits_per_second, "OVER/s", ROLE_GAUGE, UNIT_PER_SECOND,
	    "times it had to wait for its rate: not a loss"),
	COL(struct queue_row, length, "QLEN", ROLE_GAUGE, UNIT_COUNT, "packets that wait, now"),
	COL(struct queue_row, backlog_bytes, "BACKLOG", ROLE_GAUGE, UNIT_BYTES, "the same in bytes"),
	COL(struct queue_row, lost, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT, "own, in the interval"),
	COL(struct queue_row, packets, NULL, ROLE_COUNTER, UNIT_COUNT, "sent since it was made"),
	COL(struct queue_row, drops, NULL, ROLE_COUNTER, UNIT_COUNT, "drops since it was made"),
	COL(struct queue_row, overlimits, NULL, ROLE_COUNTER, UNIT_COUNT, "since it was made"),
	COL(struct queue_row, requeues, NULL, ROLE_COUNTER, UNIT_COUNT,
	    "the device was busy: since it was made"),
};

const struct table netpath_queue_table = { .name = "qdiscs",
					   .help = "a queueing discipline, or a class",
					   TABLE(struct queue_row, queue_columns),
					   .sort = "-lost",
					   .top = true };

/* ---- reading ---- */

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

/* Those whose classes may queue on their own, in what the kernel does not list. */
static bool has_classes(const struct qdisc *q)
{
	static const char *const kinds[] = { "htb", "hfsc", "drr", "qfq", "cbq", "ets", NULL };

	return is_one_of(q->kind, kinds);
}

static int read_queues(struct out *out, struct look *look, struct space *s)
{
	struct queues *q = arena_alloc(&look->arena, sizeof(*q));

	if (qdiscs_read(&look->arena, &q->list) < 0) {
		out_missing(out, "%s", fail_text());
		return 0;
	}
	const size_t qdiscs = q->list.count;

	for (size_t i = 0; i < qdiscs; i++) {
		const struct qdisc *d = &q->list.items[i];
		const struct link *l = netpath_link(s, d->ifindex);
		bool is_first = true;

		for (size_t k = 0; k < i; k++)
			is_first &= q->list.items[k].ifindex != d->ifindex ||
				!has_classes(&q->list.items[k]);
		if (!l || !netpath_wants(s, l))
			continue;
		if (d->parent == QDISC_INGRESS)
			tc_read(out, look, q, d);
		else if (has_classes(d) && is_first &&
			 qdiscs_read_classes(&look->arena, d->ifindex, &q->list) < 0)
			out_missing(out, "%s", fail_text());
	}
	s->data[LAYER_QDISC] = q;
	return 0;
}

/* ---- comparing ---- */

/* One of the tree between two looks. */
struct node {
	const struct qdisc *q;
	uint64_t packets, drops, lost; /* moved; lost: less those below */
	bool has_below;
};

static bool is_same(const struct qdisc *a, const struct qdisc *b)
{
	return a->ifindex == b->ifindex && a->handle == b->handle && a->parent == b->parent &&
		a->is_class == b->is_class && !strcmp(a->kind, b->kind);
}

const struct qdisc *queues_same(const struct queues *was, const struct qdisc *q, size_t at)
{
	if (!was)
		return NULL;
	if (at < was->list.count && is_same(&was->list.items[at], q))
		return &was->list.items[at];
	for (size_t i = 0; i < was->list.count; i++)
		if (is_same(&was->list.items[i], q))
			return &was->list.items[i];
	return NULL;
}

/* Directly below: a qdisc in one of q's classes; of a class, the one that is its leaf; and a class
 * without a listed qdisc in it, below the qdisc it belongs to. */
static bool is_below(const struct qdisc *q, const struct qdisc *other)
{
	if (q->ifindex != other->ifindex || q == other || other->parent == QDISC_ROOT)
		return false;
	if (q->is_class)
		return !other->is_class && other->parent == q->handle;
	/* the kernel's own mq has no handle, its children are at ":1", ":2" and have none either */
	return !other->is_class && q->handle >> 16 == other->parent >> 16 &&
		(q->handle || q->parent == QDISC_ROOT);
}

static bool is_own_class(const struct qdisc *q, const struct qdisc *other)
{
	return !q->is_class && other->is_class && q->ifindex == other->ifindex &&
		q->handle >> 16 == other->handle >> 16;
}

/* Of a device that has no queue, or was not brought up. */
static bool is_queue(const struct qdisc *q)
{
	return strcmp(q->kind, "noqueue") != 0 && strcmp(q->kind, "noop") != 0;
}

static uint64_t known(uint64_t n)
{
	return n == NA_U64 ? 0 : n;
}

static void set_below(struct node *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			nodes[i].has_below |= is_below(nodes[i].q, nodes[k].q) ||
				is_own_class(nodes[i].q, nodes[k].q);
}

/* What its parent counts again. */
static void set_lost(struct node *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t below = 0;

		for (size_t k = 0; k < count; k++) {
			const bool is_leaf_class = nodes[k].q->is_class && !nodes[k].has_below;

			if (is_below(nodes[i].q, nodes[k].q) ||
			    (is_leaf_class && is_own_class(nodes[i].q, nodes[k].q)))
				below += known(nodes[k].drops);
		}
		nodes[i].lost = nodes[i].drops;
		if (nodes[i].q->is_class && nodes[i].has_below)
			nodes[i].lost = nodes[i].drops == NA_U64 ? NA_U64 : 0;
		else if (nodes[i].drops != NA_U64)
			nodes[i].lost = nodes[i].drops > below ? nodes[i].drops - below : 0;
	}
}

static const char *subject_of(struct arena *a, const struct link *l, const struct qdisc *q)
{
	return arena_printf(a, "%s %s%s %s", l->name, q->kind, q->is_class ? " class" : "",
			    qdisc_handle_text(a, q->handle));
}

static void add_node(struct walk *w, size_t space, const struct link *l, const struct node *n)
{
	const struct qdisc *q = n->q;

	/* those above a queue only when they lost something themselves */
	if (n->has_below && !known(n->lost))
		return;
	if (!is_queue(q))
		return;
	struct block *b = path_add_block(w, LAYER_QDISC, DIR_TX, space,
					 subject_of(w->arena, l, q));

	b->ifindex = l->index;
	b->packets_out = n->packets;
	b->packets_in = sum_u64(n->packets, n->lost);
	path_add_meter(w, METER_QDISC, "dropped", n->lost, n->has_below ? NA_U64 : q->drops,
		       arena_printf(w->arena, "tc -s %s show dev %s",
				    q->is_class ? "class" : "qdisc", l->name))->detail = q;
}

static struct node *make_nodes(struct walk *w, const struct queues *q, const struct queues *was,
			       bool is_new)
{
	struct node *nodes = arena_alloc(w->arena, (q->list.count + 1) * sizeof(*nodes));

	for (size_t i = 0; i < q->list.count; i++) {
		const struct qdisc *d = &q->list.items[i], *b = queues_same(was, d, i);
		/* one that was not there began at 0 */
		const bool is_made = is_new || was;

		nodes[i] = (struct node){
			.q = d,
			.packets = b ? qdisc_moved(d->packets, b->packets) :
				is_made ? d->packets : NA_U64,
			.drops = b ? qdisc_moved(d->drops, b->drops) :
				is_made ? d->drops : NA_U64,
		};
	}
	return nodes;
}

/* Grouped by device: each tree alone, or a host of a thousand devices takes its square. */
static void compare(struct out *out, struct walk *w, size_t space, const struct space *was,
		    bool is_new)
{
	const struct space *s = &w->now->spaces[space];
	struct queues *q = s->data[LAYER_QDISC];
	const struct queues *before = was ? was->data[LAYER_QDISC] : NULL;

	(void)out;
	if (!q)
		return;
	struct node *nodes = make_nodes(w, q, before, is_new);
	struct node *tree = arena_alloc(w->arena, (q->list.count + 1) * sizeof(*tree));
	const struct link *links;
	const size_t devices = netpath_links(s, &links);

	for (size_t d = 0; d < devices; d++) {
		size_t count = 0;

		if (!netpath_wants(s, &links[d]))
			continue;
		for (size_t i = 0; i < q->list.count; i++)
			if (nodes[i].q->ifindex == links[d].index &&
			    nodes[i].q->parent != QDISC_INGRESS)
				tree[count++] = nodes[i];
		set_below(tree, count);
		set_lost(tree, count);
		for (size_t i = 0; i < count; i++)
			add_node(w, space, &links[d], &tree[i]);
		tc_compare(w, space, before, q, &links[d]);
	}
}

/* ---- findings ---- */

static bool is_aqm(const struct qdisc *q)
{
	static const char *const kinds[] = { "fq_codel", "codel", "cake", "red", "gred", "pie",
					     "fq_pie", "sfb", "choke", "dualpi2", NULL };

	return is_one_of(q->kind, kinds);
}

static void report(struct out *out, struct walk *w)
{
	const struct meter *m;
	size_t at = 0;

	while ((m = path_next(w, LAYER_QDISC, &at))) {
		const struct qdisc *q = m->detail;
		const double share = is_aqm(q) ? AQM_SHARE_MIN : SHARE_MIN;

		if (!path_is_over(w, m, EVENTS_MIN, share) ||
		    (is_aqm(q) && rate_of(m->own, w->interval_ns) < AQM_RATE_MIN))
			continue;
		struct finding *f =
			netpath_finding(out, w, "netpath.qdisc", STATE_NOW, m, NULL);

		finding_text(f, "kind", NAME_PLAIN, q->kind);
		finding_text(f, "handle", NAME_PLAIN, qdisc_handle_text(f->arena, q->handle));
		finding_u64(f, "queue", q->length);
		finding_u64(f, "backlog_bytes", q->backlog_bytes);
		finding_line(f, "%s: %s", netpath_lost_text(f->arena, w, m),
			     is_aqm(q) ? "to keep the queue short; now" :
			     "its queue was full, or it drops on purpose");
		finding_line(f, "queue  %s packets, %s wait now",
			     human_count_u64(f->arena, q->length),
			     human_bytes_u64(f->arena, q->backlog_bytes));
		finding_line(f, "a local sender of UDP is told nothing, unless it asks (IP_RECVERR)");
		finding_next(f, "perfbox netpath%s --table qdiscs 1",
			     netpath_option_of(f->arena, w, w->blocks[m->block].space));
		netpath_finish(out, w, m, f);
	}
}

/* ---- rows ---- */

static void show_space(struct out *out, const struct walk *w, const struct space *s,
		       const struct space *was)
{
	const struct queues *q = s->data[LAYER_QDISC];
	const struct queues *before = was ? was->data[LAYER_QDISC] : NULL;

	for (size_t i = 0; q && i < q->list.count; i++) {
		const struct qdisc *d = &q->list.items[i], *b = queues_same(before, d, i);
		const struct link *l = netpath_link(s, d->ifindex);
		uint64_t lost = NA_U64;

		if (!l || !netpath_wants(s, l) || !is_queue(d))
			continue;
		for (size_t m = 0; m < w->meter_count; m++)
			if (w->meters[m].detail == d)
				lost = w->meters[m].own;
		const struct queue_row row = {
			.netns = s->ns.name,
			.device = l->name,
			.kind = d->is_class ? arena_printf(w->arena, "%s class", d->kind) : d->kind,
			.handle = qdisc_handle_text(w->arena, d->handle),
			.parent = qdisc_handle_text(w->arena, d->parent),
			.packets = d->packets,
			.drops = d->drops,
			.overlimits = d->overlimits,
			.requeues = d->requeues,
			.length = d->length,
			.backlog_bytes = d->backlog_bytes,
			.lost = lost,
			.packets_per_second = b ? rate_of(qdisc_moved(d->packets, b->packets),
							  w->interval_ns) : NA_F64,
			.drops_per_second = b ? rate_of(qdisc_moved(d->drops, b->drops),
							w->interval_ns) : NA_F64,
			.lost_per_second = rate_of(lost, w->interval_ns),
			.overlimits_per_second = b ? rate_of(qdisc_moved(d->overlimits,
									 b->overlimits),
							     w->interval_ns) : NA_F64,
		};

		out_row(out, &netpath_queue_table, &row);
	}
}

static void show(struct out *out, struct walk *w)
{
	for (size_t i = 0; i < w->now->space_count; i++)
		show_space(out, w, &w->now->spaces[i],
			   netpath_space_before(w, &w->now->spaces[i]));
}

const struct layer layer_qdisc = {
	.name = "qdisc",
	.reads_followed = true,
	.read = read_queues,
	.compare = compare,
	.report = report,
	.show = show,
};
