/* Connection tracking: packets it dropped, as conntrack-top tells them. */
#include "applets/netpath/counters.h"
#include "common/kernel/conntrack.h"

#define FULL_SHARE 0.999

struct detail {
	const struct conntrack *now;
	bool is_clash;
};

static int read(struct out *out, struct look *look, struct space *s)
{
	struct conntrack *c = arena_alloc(&look->arena, sizeof(*c));

	conntrack_forget(c);
	if (conntrack_read(c) < 0)
		out_note(out, "%s", fail_text());
	s->data[LAYER_CONNTRACK] = c;
	return 0;
}

static uint64_t moved(uint64_t now, const uint64_t *was, bool is_new)
{
	return was ? conntrack_moved(now, *was) : is_new ? now : NA_U64;
}

/* A clash that was not resolved is in drop as well as in insert_failed; it is told as that. */
static void compare(struct out *out, struct walk *w, size_t space, const struct space *was,
		    bool is_new)
{
	const struct conntrack *c = w->now->spaces[space].data[LAYER_CONNTRACK];
	const struct conntrack *b = was ? was->data[LAYER_CONNTRACK] : NULL;
	const char *proof = "cat /proc/net/stat/nf_conntrack";

	(void)out;
	if (!c || !c->is_in_use)
		return;
	const uint64_t failed = moved(c->insert_failed, b ? &b->insert_failed : NULL, is_new);
	uint64_t drop = moved(c->drop, b ? &b->drop : NULL, is_new);
	struct detail *full = arena_alloc(w->arena, 2 * sizeof(*full)), *clash = full + 1;

	*full = (struct detail){ .now = c };
	*clash = (struct detail){ .now = c, .is_clash = true };
	if (drop != NA_U64 && failed != NA_U64)
		drop = drop > failed ? drop - failed : 0;
	path_add_block(w, LAYER_CONNTRACK, DIR_NONE, space, "conntrack")->note =
		arena_printf(w->arena, "%s of %s entries", human_count_u64(w->arena, c->count),
			     human_count_u64(w->arena, c->max));
	path_add_meter(w, METER_CONNTRACK, "drop", drop, c->drop, proof)->detail = full;
	path_add_meter(w, METER_CONNTRACK, "insert_failed", failed, c->insert_failed, proof)
		->detail = clash;
	path_add_meter(w, METER_NO_LOSS, "early_drop",
		       moved(c->early_drop, b ? &b->early_drop : NULL, is_new), c->early_drop,
		       proof);
	path_add_meter(w, METER_NO_LOSS, "invalid",
		       moved(c->invalid, b ? &b->invalid : NULL, is_new), c->invalid, proof);
}

/* In triage and compare conntrack-top tells the same, with what fills the table. */
static void report(struct out *out, struct walk *w)
{
	size_t at = 0;

	if (!out_wants_rows(out))
		return;
	for (struct meter *m; (m = path_next(w, LAYER_CONNTRACK, &at)); ) {
		const struct detail *d = m->detail;

		if (!d || !path_is_over(w, m, EVENTS_MIN, SHARE_MIN) ||
		    (!d->is_clash && !(ratio_of(d->now->count, d->now->max) >= FULL_SHARE)))
			continue;
		struct finding *f =
			netpath_finding(out, w, "netpath.conntrack", STATE_NOW, m, NULL);

		finding_text(f, "counter", NAME_PLAIN, m->name);
		finding_u64(f, "count", d->now->count);
		finding_u64(f, "max", d->now->max);
		finding_line(f, d->is_clash ? "%s: their flow could not be added, another has its "
			     "addresses and ports already; the table has %s of %s" :
			     "%s: the table is full, %s of %s", netpath_lost_text(f->arena, w, m),
			     human_count_u64(f->arena, d->now->count),
			     human_count_u64(f->arena, d->now->max));
		finding_next(f, "perfbox conntrack-top%s 5",
			     netpath_option_of(f->arena, w, w->blocks[m->block].space));
		netpath_finish(out, w, m, f);
	}
}

const struct layer layer_conntrack = {
	.name = "conntrack",
	.read = read,
	.compare = compare,
	.report = report,
};
