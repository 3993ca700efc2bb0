/* Neighbours: packets that could not be sent for want of an entry, or of an answer. */
#include <linux/neighbour.h>

#include "applets/netpath/counters.h"
#include "common/kernel/flow.h"
#include "common/kernel/neighbour.h"
#include "common/report/redact.h"

#define SHOWN_MAX 4                    /* addresses named in a row */
#define MANY_ENTRIES 20000             /* more are not listed: it takes milliseconds */

struct tables {
	struct neighbour_table *list;
	size_t count;
};

struct unresolved {
	struct neighbour list[SHOWN_MAX];
	size_t count;
};

static int read_host(struct out *out, struct look *look)
{
	struct tables *t = arena_alloc(&look->arena, sizeof(*t));

	if (neighbour_tables_read(&look->arena, &t->list, &t->count) < 0)
		out_missing(out, "%s", fail_text());
	look->host[LAYER_NEIGHBOUR] = t;
	return 0;
}

static int read(struct out *out, struct look *look, struct space *s)
{
	const struct tables *t = look->host[LAYER_NEIGHBOUR];
	struct unresolved *u = arena_alloc(&look->arena, sizeof(*u));

	/* there is no asking for those of one state alone */
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i].entries != NA_U64 && t->list[i].entries > MANY_ENTRIES)
			return 0;
	if (neighbours_unresolved(u->list, SHOWN_MAX, &u->count) < 0) {
		out_missing(out, "%s", fail_text());
		return 0;
	}
	s->data[LAYER_NEIGHBOUR] = u;
	return 0;
}

static const struct neighbour_table *find_table(const struct look *look, const char *name)
{
	const struct tables *t = look->host[LAYER_NEIGHBOUR];

	for (size_t i = 0; t && i < t->count; i++)
		if (!strcmp(t->list[i].name, name))
			return &t->list[i];
	return NULL;
}

static void compare_table(struct walk *w, const struct neighbour_table *t)
{
	const struct neighbour_table *was = find_table(w->before, t->name);
	struct arena *a = w->arena;

	path_add_block(w, LAYER_NEIGHBOUR, DIR_TX, NO_SPACE, t->name)->note =
		arena_printf(a, "%s of %s entries, of all namespaces",
			     human_count_u64(a, t->entries), human_count_u64(a, t->limit));
	const char *proof = arena_printf(a, "ip -s ntable show name %s", t->name);

	path_add_meter(w, METER_NEIGHBOUR, "table_fulls",
		       path_moved(t->fulls, was ? &was->fulls : NULL, false), t->fulls,
		       proof)->detail = t;
	path_add_meter(w, METER_NO_LOSS, "res_failed",
		       path_moved(t->failed, was ? &was->failed : NULL, false), t->failed, proof);
	if (t->unresolved_discards == NA_U64)
		return;
	path_add_meter(w, METER_NEIGHBOUR, "unresolved_discards",
		       path_moved(t->unresolved_discards, was ? &was->unresolved_discards : NULL,
				  false),
		       t->unresolved_discards,
		       arena_printf(a, "cat /proc/net/stat/%s", t->name))->detail = t;
}

static void compare_host(struct out *out, struct walk *w)
{
	const struct tables *t = w->now->host[LAYER_NEIGHBOUR];

	(void)out;
	for (size_t i = 0; t && i < t->count; i++)
		compare_table(w, &t->list[i]);
}

static const char *unresolved_text(struct arena *a, const struct space *s,
				   const struct unresolved *u)
{
	const char *text = NULL;

	for (size_t i = 0; i < u->count && i < SHOWN_MAX; i++) {
		const struct neighbour *n = &u->list[i];
		const struct link *l = netpath_link(s, n->ifindex);
		const char *address = flow_address_text(a, n->family, n->address);

		text = arena_printf(a, "%s%s%s%s%s", text ? text : "", text ? ", " : "",
				    redact_name(a, NAME_ADDRESS, address), l ? " dev " : "",
				    l ? l->name : "");
	}
	return arena_printf(a, "%s%s", text, u->count > SHOWN_MAX ? " ..." : "");
}

/* Packets lost to an address that does not answer have no counter in a namespace. */
static void compare(struct out *out, struct walk *w, size_t space, const struct space *was,
		    bool is_new)
{
	const struct space *s = &w->now->spaces[space];
	const struct unresolved *u = s->data[LAYER_NEIGHBOUR];
	const struct unresolved *before = was ? was->data[LAYER_NEIGHBOUR] : NULL;
	bool is_waiting = u && before && u->count > before->count;

	(void)out, (void)is_new;
	if (!u || !u->count)
		return;
	struct block *b = path_add_block(w, LAYER_NEIGHBOUR, DIR_TX, space, "unresolved");

	for (size_t i = 0; i < u->count && i < SHOWN_MAX; i++)
		is_waiting |= (u->list[i].state & NUD_INCOMPLETE) != 0;
	b->is_unknown = is_waiting;
	b->note = arena_printf(w->arena, "%s address%s without an answer: %s",
			       human_count_u64(w->arena, u->count), u->count == 1 ? "" : "es",
			       unresolved_text(w->arena, s, u));
}

static void report(struct out *out, struct walk *w)
{
	size_t at = 0;

	for (struct meter *m; (m = path_next(w, LAYER_NEIGHBOUR, &at)); ) {
		const struct neighbour_table *t = m->detail;

		if (m->kind != METER_NEIGHBOUR || !path_is_over(w, m, EVENTS_MIN, SHARE_MIN))
			continue;
		struct finding *f =
			netpath_finding(out, w, "netpath.neighbour", STATE_NOW, m, NULL);
		const bool is_full = !strcmp(m->name, "table_fulls");

		finding_text(f, "counter", NAME_PLAIN, m->name);
		finding_u64(f, "entries", t->entries);
		finding_u64(f, "entries_max", t->limit);
		finding_line(f, is_full ? "%s: no entry could be made, the table has %s of %s" :
			     "%s: their addresses did not answer, and the queue of packets that "
			     "wait for it was full; the table has %s of %s",
			     netpath_lost_text(f->arena, w, m),
			     human_count_u64(f->arena, t->entries),
			     human_count_u64(f->arena, t->limit));
		finding_next(f, is_full ? "ip neigh show" :
			     "ip neigh show nud incomplete nud failed");
		netpath_finish(out, w, m, f);
	}
}

const struct layer layer_neighbour = {
	.name = "neighbour",
	.read_host = read_host,
	.read = read,
	.compare_host = compare_host,
	.compare = compare,
	.report = report,
};
