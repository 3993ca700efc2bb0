#include "common/kernel/plan.h"

#include <errno.h>

#include "common/base/scan.h"
#include "common/kernel/setting.h"
#include "common/kernel/source_impl.h"

#define COLUMNS_MAX 32

enum { PATH, OLD, NEW, NEEDED };
static const char *const names[NEEDED] = { "path", "old_value", "new_value" };

struct reader {
	struct arena *arena;
	unsigned line;
	unsigned at[NEEDED];           /* column of each */
};

void plan_add(struct arena *arena, struct plan *p, const struct plan_step *step)
{
	if (p->count == p->cap) {
		const size_t cap = p->cap ? 2 * p->cap : 32;
		struct plan_step *more = arena_alloc(arena, cap * sizeof(*more));

		if (p->count)
			memcpy(more, p->steps, p->count * sizeof(*more));
		p->steps = more;
		p->cap = cap;
	}
	p->steps[p->count++] = *step;
}

/* The fields of a line; how many, at most COLUMNS_MAX. */
static unsigned split(struct text line, struct text fields[COLUMNS_MAX])
{
	struct scan s = scan_of(line);
	unsigned n = 0;

	while (n < COLUMNS_MAX - 1 && scan_until(&s, '\t', &fields[n]))
		n++;
	fields[n++] = scan_rest(&s);
	return n;
}

static int take_header(struct reader *r, struct text line)
{
	struct text fields[COLUMNS_MAX];
	const unsigned n = split(line, fields);

	for (unsigned i = 0; i < NEEDED; i++) {
		unsigned k = 0;

		while (k < n && !text_is(fields[k], names[i]))
			k++;
		if (k == n)
			return fail(EINVAL, "plan line 1: no column %s: not what irqbind --plan "
					    "--tsv prints", names[i]);
		r->at[i] = k;
	}
	return 0;
}

static int take_step(struct reader *r, struct text line, struct plan_step *step)
{
	struct text fields[COLUMNS_MAX];
	const char **values[NEEDED] = { &step->path, &step->old, &step->new };
	const unsigned n = split(line, fields);

	*step = (struct plan_step){ 0 };
	for (unsigned i = 0; i < NEEDED; i++)
		if (r->at[i] >= n || !src_unescape(fields[r->at[i]], r->arena, values[i]))
			return fail(EINVAL, "plan line %u: no %s", r->line, names[i]);
	while (*step->path == '/')
		step->path++;
	const enum setting_kind kind = setting_kind_of(step->path);

	if (kind == SETTING_NONE)
		return fail(EINVAL, "plan line %u: '%s' is no setting that irqbind writes", r->line,
			    step->path);
	if (!setting_is_valid(kind, step->new))
		return fail(EINVAL, "plan line %u: '%s' is no value for /%s", r->line, step->new,
			    step->path);
	return 0;
}

int plan_parse(struct arena *arena, struct text t, struct plan *p)
{
	struct reader r = { .arena = arena };
	struct scan lines = scan_of(t);
	struct plan new = { 0 };
	struct plan_step step;
	struct text line;
	int err = 0;

	while (err >= 0 && scan_until(&lines, '\n', &line)) {
		r.line++;
		err = r.line == 1 ? take_header(&r, line) : take_step(&r, line, &step);
		if (err >= 0 && r.line > 1)
			plan_add(arena, &new, &step);
		if (new.count > PLAN_STEPS_MAX)
			return fail(EINVAL, "plan: more than %u steps", PLAN_STEPS_MAX);
	}
	if (err < 0)
		return err;
	if (!r.line || lines.at != lines.end)
		return fail(EINVAL, "plan line %u: cut", r.line + 1);
	*p = new;
	return 0;
}
