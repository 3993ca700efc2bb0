/* What was folded so far, and what was left out of it. */
#include <string.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/na.h"

void profile_open(struct profile *p)
{
	*p = (struct profile){ .fold = fold_new() };
}

int profile_filter(struct profile *p)
{
	struct stack_filter *made;
	const int err = stack_filter_new(&asked.filter, p->fold, &made);

	if (err < 0)
		return err;
	stack_filter_free(p->filter);
	p->filter = made;
	return 0;
}

void profile_free(struct profile *p)
{
	stack_filter_free(p->filter);
	fold_free(p->fold);
	arena_free(&p->arena);
}

void profile_tell(struct out *out, const struct profile *p)
{
	const struct stack_filter_counts *c = stack_filter_counts(p->filter);
	struct arena *a = out_arena(out);

	if (c->without_time)
		out_missing(out, "--from, --to: %s samples do not say when they were: left out",
			    human_count(a, (double)c->without_time));
	if (c->without_cpu)
		out_missing(out, "--cpu: %s samples do not say where they were: left out",
			    human_count(a, (double)c->without_cpu));
	if (c->lost)
		out_missing(out, "%s samples lost: more different stacks than %u frames hold",
			    human_count(a, (double)c->lost), FOLD_NODES_MAX);
	if (c->cut)
		out_note(out, "--max-depth cut %s samples", human_count(a, (double)c->cut));
	if (c->excluded && shared.verbose)
		out_note(out, "%s samples left out as asked", human_count(a, (double)c->excluded));
}

static bool is_clock(const char *event)
{
	return !strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10);
}

/* perf calls an event "cycles:ppp" or "cycles:u"; a tracepoint's colon is part of its name. */
static size_t without_modifiers(const char *event)
{
	const char *colon = strrchr(event, ':');

	return colon && strspn(colon + 1, "ukhGHpPSDIWeb") == strlen(colon + 1) ?
		(size_t)(colon - event) : strlen(event);
}

const char *unit_of_event(struct arena *a, const char *event, bool has_period)
{
	if (asked.weighs_samples || !has_period || !event || !*event)
		return NULL;
	if (is_clock(event))
		return "ns";
	return arena_copy(a, event, without_modifiers(event));
}

void profile_take_unit(struct out *out, struct profile *p, const char *input, const char *event,
		       const char *unit)
{
	if (!p->samples) {
		p->event = event && *event ? arena_strdup(&p->arena, event) : NULL;
		p->unit = unit ? arena_strdup(&p->arena, unit) : NULL;
		return;
	}
	const char *had = p->unit ? p->unit : "samples", *has = unit ? unit : "samples";

	if (strcmp(had, has) != 0)
		out_missing(out, "%s: its weights are %s, those before are %s: they do not add up",
			    input, has, had);
}
