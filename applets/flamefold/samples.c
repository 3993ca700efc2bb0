/* Records of a recording, or of live rings, on their way into a profile. */
#include <stdlib.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/mem.h"
#include "common/stack/perffold.h"
#include "common/stack/symbols.h"

#define REMARKS 3                      /* about symbols that are shown without -v */

struct samples {
	struct profile *profile;
	struct samples_source from;
	struct symbols *symbols;
	struct perffold *fold;
};

struct samples *samples_open(struct profile *p, const struct samples_source *from)
{
	struct samples *s = mem_alloc(sizeof(*s));

	s->profile = p;
	s->from = *from;
	s->symbols = symbols_new(&(struct symbols_options){
		.symfs = typed.symfs,
		.kallsyms = typed.kallsyms,
		.vmlinux = typed.vmlinux,
		.buildids = typed.buildids,
		.is_this_boot = !from->recording,
		.asks_kernel = !from->recording,
		.inlines = typed.inlined,
	});
	const struct perffold_options options = {
		.stack = {
			.frame = asked.frame,
			.filter = p->filter,
			.weighs_samples = asked.weighs_samples,
			.event = from->event,
			.side = from->side,
		},
		.symbols = s->symbols,
		.inlines = typed.inlined,
		.is_live = !from->recording,
	};

	s->fold = from->recording ? perffold_recording(from->recording, p->fold, &options) :
				    perffold_new(p->fold, &options);
	return s;
}

struct perffold *samples_fold(struct samples *s)
{
	return s->fold;
}

void samples_look_up(struct samples *s)
{
	symbols_forget_jit(s->symbols);
	perffold_flush(s->fold);
}

static void tell_number(struct out *out, const char *name, uint64_t n, const char *what)
{
	if (n)
		out_missing(out, "%s: %s %s", name, human_count(out_arena(out), (double)n), what);
}

static void tell_lost(struct out *out, const char *name, const struct perffold_result *r)
{
	const struct process_counts *c = r->counts;

	if (r->damaged)
		out_missing(out, "%s: %s damaged samples: %s", name,
			    human_count(out_arena(out), (double)r->damaged), r->damage);
	tell_number(out, name, r->without_event, "samples of events that nobody described");
	tell_number(out, name, c->lost, "records lost: the kernel had no room for them");
	tell_number(out, name, c->lost_samples, "samples lost");
	tell_number(out, name, c->damaged, "damaged records");
	tell_number(out, name, c->map_timeouts, "processes whose maps were not read to their end");
	tell_number(out, name, c->over_limit, "maps or threads beyond what is kept");
	tell_number(out, name, r->without_user_part, "stacks whose user part never came");
	if (c->throttled)
		out_note(out, "%s: sampling was throttled %s times "
			 "(kernel.perf_event_max_sample_rate)", name,
			 human_count(out_arena(out), (double)c->throttled));
}

static void tell_unwound(struct out *out, const struct samples *s, const struct perffold_result *r)
{
	for (unsigned end = 0; end < UNWIND_ENDS; end++) {
		if (end == UNWIND_WHOLE || !r->unwound[end])
			continue;
		out_note(out, "%s: %s stacks end early: %s", s->from.name,
			 human_count(out_arena(out), (double)r->unwound[end]),
			 unwind_end_text(end));
		s->profile->truncated += r->unwound[end];
	}
}

static void tell_events(struct out *out, const struct samples *s, const struct perffold_result *r)
{
	struct event_count *events = mem_alloc((r->event_count + 1) * sizeof(*events));

	for (size_t i = 0; i < r->event_count; i++) {
		const struct perffold_event *e = &r->events[i];

		events[i] = (struct event_count){ e->name, e->samples, e->is_folded };
		s->profile->taken += e->samples;
		if (e->is_folded)
			profile_take_unit(out, s->profile, s->from.name, e->name,
					  unit_of_event(out_arena(out), e->name, e->has_period));
	}
	events_tell(out, s->from.name, s->from.event, events, r->event_count);
	free(events);
}

static void tell_symbols(struct out *out, const struct samples *s)
{
	const char *const *lines;
	const size_t count = symbols_remarks(s->symbols, &lines);

	for (size_t i = 0; i < count && (i < REMARKS || shared.verbose); i++)
		out_note(out, "%s", lines[i]);
	if (count > REMARKS && !shared.verbose)
		out_note(out, "%zu more remarks about symbols (-v)", count - REMARKS);
}

const struct perffold_result *samples_end(struct out *out, struct samples *s)
{
	/* what JITs made meanwhile */
	if (!s->from.recording)
		symbols_forget_jit(s->symbols);
	const struct perffold_result *r = perffold_end(s->fold);

	tell_events(out, s, r);
	tell_lost(out, s->from.name, r);
	tell_unwound(out, s, r);
	tell_symbols(out, s);
	s->profile->samples += r->samples;
	s->profile->truncated += r->truncated;
	s->profile->lost += r->counts->lost + r->counts->lost_samples;
	return r;
}

void samples_free(struct samples *s)
{
	if (!s)
		return;
	perffold_free(s->fold);
	symbols_free(s->symbols);
	free(s);
}
