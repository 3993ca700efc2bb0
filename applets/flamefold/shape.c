/*
 * What a profile looks like, in a few lines: a plateau (one function runs), a tower (one call path,
 * many small functions in it) or neither; and what looks closer at what the kernel does there.
 */
#include <stdlib.h>
#include <string.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/na.h"

#define PLATEAU 0.25                   /* of all weight in one function itself */
#define TOWER 0.60                     /* through one frame that is no root ... */
#define TOWER_LEAF 0.10                /* ... where no function has more than that itself */
#define HINTED 0.05                    /* of all weight through a function with a hint */
#define UNNAMED 0.10                   /* flamefold.no-symbols */
#define TRUNCATED 0.10                 /* flamefold.truncated-stacks */
#define LOST 0.01                      /* flamefold.lost-samples */
#define CALLERS 3
#define HINTS 3

struct view {
	struct out *out;
	struct arena *arena;
	const struct profile *profile;
	struct function_sums *sums;
	uint32_t names;
	uint64_t total;
};

static const char *name_text(const struct view *v, uint32_t name)
{
	struct buf b = { 0 };

	fold_escape(&b, fold_name_text(v->profile->fold, name));
	const char *text = arena_text(v->arena, buf_text(&b));

	buf_free(&b);
	return text;
}

static double share(const struct view *v, uint64_t weight)
{
	return ratio_of(weight, v->total);
}

/* The name with the most of it; 0: there is none. */
static uint32_t widest(const struct view *v)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < v->names; i++)
		if (v->sums[i].self[0] > (best ? v->sums[best].self[0] : 0))
			best = i;
	return best;
}

static const char *callers_of(const struct view *v, uint32_t leaf)
{
	const struct fold *f = v->profile->fold;
	uint64_t *by = mem_alloc((v->names + 1) * sizeof(*by));
	struct buf text = { 0 };

	for (uint32_t i = 1; i < fold_count(f); i++)
		if (fold_name_of(f, i) == leaf && fold_parent(f, i) != FOLD_ROOT)
			by[fold_name_of(f, fold_parent(f, i))] += fold_weight(f, i, 0);
	for (unsigned n = 0; n < CALLERS; n++) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < v->names; i++)
			if (by[i] > by[most])
				most = i;
		if (!most)
			break;
		buf_printf(&text, "%s%s %s", n ? ", " : "", name_text(v, most),
			   human_ratio(v->arena, ratio_of(by[most], v->sums[leaf].self[0])));
		by[most] = 0;
	}
	const char *made = text.len ? arena_text(v->arena, buf_text(&text)) : NULL;

	buf_free(&text);
	free(by);
	return made;
}

/*
 * The frame farthest from the root that most of the weight goes through, root frames aside; 0:
 * there is none.
 */
static uint32_t tower(const struct view *v, uint64_t *weight)
{
	const struct fold *f = v->profile->fold;
	const uint32_t count = fold_count(f);
	uint64_t *sum = mem_alloc(count * sizeof(*sum));
	uint32_t found = 0;

	for (uint32_t i = count - 1; i > 0; i--) {
		sum[i] += fold_weight(f, i, 0);
		sum[fold_parent(f, i)] += sum[i];
	}
	for (uint32_t i = 1; i < count; i++)
		if (fold_parent(f, i) != FOLD_ROOT && fold_parent(f, i) == found &&
		    share(v, sum[i]) >= TOWER)
			found = i;
		else if (!found && fold_parent(f, i) != FOLD_ROOT && share(v, sum[i]) >= TOWER)
			found = i;
	*weight = found ? sum[found] : 0;
	free(sum);
	return found;
}

static void tell_form(const struct view *v, uint32_t leaf)
{
	const double top = share(v, v->sums[leaf].self[0]);
	uint64_t through;
	const uint32_t node = tower(v, &through);

	if (top >= PLATEAU)
		out_note(v->out, "a plateau: %s itself takes %s", name_text(v, leaf),
			 human_ratio(v->arena, top));
	else if (node && top < TOWER_LEAF)
		out_note(v->out, "a tower: %s goes through %s, no function takes more than %s "
			 "itself", human_ratio(v->arena, share(v, through)),
			 name_text(v, fold_name_of(v->profile->fold, node)),
			 human_ratio(v->arena, top));
	else
		out_note(v->out, "neither plateau nor tower: the widest function takes %s itself",
			 human_ratio(v->arena, top));
}

static void tell_hints(const struct view *v)
{
	const char *told[HINTS] = { NULL }, *event = v->profile->event;
	uint64_t limit = UINT64_MAX;

	/* where faults are counted page faults are no news */
	if (event && strncmp(event, "cpu-clock", 9) != 0 && strncmp(event, "cycles", 6) != 0)
		return;

	for (unsigned n = 0; n < HINTS;) {
		uint32_t most = 0;
		uint64_t best = 0;

		for (uint32_t i = 1; i < v->names; i++)
			if (v->sums[i].total[0] > best && v->sums[i].total[0] < limit &&
			    hint_of(fold_name_text(v->profile->fold, i))) {
				most = i;
				best = v->sums[i].total[0];
			}
		if (!most || share(v, best) < HINTED)
			return;
		limit = best;
		const struct hint *h = hint_of(fold_name_text(v->profile->fold, most));
		bool is_told = false;

		for (unsigned i = 0; i < n; i++)
			is_told |= !strcmp(told[i], h->means);
		if (is_told)
			continue;
		told[n++] = h->means;
		out_note(v->out, "%s in %s (%s): look with %s",
			 human_ratio(v->arena, share(v, best)), h->function, h->means, h->next);
	}
}

static bool view_open(struct view *v, struct out *out, const struct profile *p)
{
	uint64_t total[2];

	profile_totals(p, total);
	*v = (struct view){ out, out_arena(out), p, NULL, 0, total[0] };
	v->sums = functions_sum(p->fold, &v->names);
	return total[0] > 0;
}

void shape_tell(struct out *out, const struct profile *p)
{
	struct view v;

	if (view_open(&v, out, p)) {
		const uint32_t leaf = widest(&v);
		const char *callers = callers_of(&v, leaf);

		out_note(out, "%s samples%s%s, %s different stacks",
			 human_count(v.arena, (double)p->samples), p->event ? " of " : "",
			 p->event ? p->event : "",
			 human_count(v.arena, fold_stacks(p->fold)));
		out_note(out, "widest leaf: %s %s%s%s", name_text(&v, leaf),
			 human_ratio(v.arena, share(&v, v.sums[leaf].self[0])),
			 callers ? ", called by " : "", callers ? callers : "");
		tell_form(&v, leaf);
		tell_hints(&v);
	}
	free(v.sums);
}

/* "[unknown]", "[libfoo.so+0x12]": known by its object at best. */
static bool is_unnamed(struct text name)
{
	return name.len > 2 && name.data[0] == '[' && name.data[name.len - 1] == ']' &&
	       !text_is(name, "[no stack]");
}

static void find_unnamed(struct out *out, const struct profile *p)
{
	const struct fold *f = p->fold;
	uint64_t total = 0, unnamed = 0;

	for (uint32_t i = 1; i < fold_count(f); i++) {
		const uint64_t weight = fold_weight(f, i, 0);

		total += weight;
		if (weight && is_unnamed(fold_text(f, i)))
			unnamed += weight;
	}
	const double ratio = ratio_of(unnamed, total);

	if (!(ratio >= UNNAMED))
		return;
	struct finding *n = note_start(out, "flamefold.no-symbols", "leaves");

	finding_f64(n, "unnamed_ratio", ratio);
	finding_line(n, "%s of the weight ends in frames without a name",
		     human_ratio(out_arena(out), ratio));
	finding_next(n, "the objects in brackets need symbols (a debug package, --symfs, "
			"--buildids, --kallsyms) where they were recorded or are read");
	note_tell(out, n);
}

void shape_find(struct out *out, const struct profile *p)
{
	struct arena *a = out_arena(out);
	struct finding *n;

	find_unnamed(out, p);
	if (p->samples && ratio_of(p->truncated, p->samples) >= TRUNCATED) {
		n = note_start(out, "flamefold.truncated-stacks", "stacks");
		finding_u64(n, "truncated", p->truncated);
		finding_u64(n, "samples", p->samples);
		finding_line(n, "%s of the stacks lack their callers",
			     human_ratio(a, ratio_of(p->truncated, p->samples)));
		finding_next(n, "sysctl kernel.perf_event_max_stack, or a larger stack dump");
		note_tell(out, n);
	}
	if (p->lost && ratio_of(p->lost, p->lost + p->taken) >= LOST) {
		n = note_start(out, "flamefold.lost-samples", "samples");
		finding_u64(n, "lost", p->lost);
		finding_u64(n, "taken", p->taken);
		finding_line(n, "%s of the samples were lost",
			     human_ratio(a, ratio_of(p->lost, p->lost + p->taken)));
		finding_next(n, "a lower -F, or fewer targets");
		note_tell(out, n);
	}
}
