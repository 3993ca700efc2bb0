/* Reading one input, whatever it is. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/na.h"
#include "common/stack/stackinput.h"

/* One line about all events, if there are several or the one asked for is not there. */
static void tell_events(struct out *out, const char *name, const char *wanted,
			const struct stack_result *r)
{
	struct arena *a = out_arena(out);
	struct buf list = { 0 };
	bool has_folded = false;

	for (size_t i = 0; i < r->event_count; i++) {
		const struct stack_event *e = &r->events[i];

		has_folded |= e->is_folded;
		buf_printf(&list, "%s%s %s%s", i ? ", " : "", *e->name ? e->name : "(no name)",
			   human_count(a, (double)e->samples), e->is_folded ? " (folded)" : "");
	}
	if (r->event_count && !has_folded)
		out_missing(out, "%s: no samples of %s; it has samples of %s", name, wanted,
			    list.data);
	else if (r->event_count > 1)
		out_note(out, "%s: several events, samples of each: %s; another one: --event NAME",
			 name, list.data);
	buf_free(&list);
}

/* What the weights are: the same for all inputs, or it is said. */
static void take_unit(struct out *out, struct profile *p, const char *name, const char *event,
		      const char *unit)
{
	const bool is_first = !p->samples;

	if (is_first) {
		p->event = event && *event ? arena_strdup(&p->arena, event) : NULL;
		p->unit = unit ? arena_strdup(&p->arena, unit) : NULL;
		return;
	}
	const char *had = p->unit ? p->unit : "samples", *has = unit ? unit : "samples";

	if (strcmp(had, has) != 0)
		out_missing(out, "%s: its weights are %s, those before are %s: they do not add up",
			    name, has, had);
}

static void tell_result(struct out *out, struct profile *p, const char *name, const char *wanted,
			const struct stack_result *r)
{
	struct arena *a = out_arena(out);

	if (r->skipped_lines)
		out_missing(out, "%s: skipped %s line%s, the first is line %llu: %s", name,
			    human_count(a, (double)r->skipped_lines),
			    r->skipped_lines == 1 ? "" : "s",
			    (unsigned long long)r->first_skipped_line, r->first_skipped_why);
	if (r->failure)
		out_missing(out, "%s: %s", name, r->failure);
	tell_events(out, name, wanted, r);
	for (size_t i = 0; i < r->event_count; i++) {
		const struct stack_event *e = &r->events[i];

		if (!e->is_folded)
			continue;
		take_unit(out, p, name, e->name, e->unit && !asked.weighs_samples ? e->unit :
			  unit_of_event(a, e->name, e->has_period));
		break;
	}
	if (!r->event_count)
		out_missing(out, "%s: no stacks in it", name);
	p->samples += r->samples;
}

/* Text that is nothing we know. */
static void tell_unknown(struct out *out, const char *name, struct text start)
{
	uint64_t line = 1;
	const char *what = stack_unknown_is(start, &line);

	if (!start.len)
		out_missing(out, "%s: empty", name);
	else if (what)
		out_missing(out, "%s: this looks like %s (line %llu)", name, what,
			    (unsigned long long)line);
	else
		out_missing(out, "%s: this looks like nothing known (line %llu)", name,
			    (unsigned long long)line);
}

static int read_text(struct out *out, struct profile *p, const char *name, struct stack_input *in,
		     struct text start, unsigned side)
{
	const enum stack_kind kind = stack_kind_of(start);
	const struct stack_options options = {
		.frame = asked.frame,
		.filter = p->filter,
		.weighs_samples = asked.weighs_samples,
		/* a second input adds to what the first one gave */
		.event = typed.event ? typed.event : p->event,
		.side = side,
	};

	if (kind == STACK_UNKNOWN) {
		tell_unknown(out, name, start);
		return 0;
	}
	if (shared.verbose)
		out_note(out, "%s: %s", name, stack_kind_name(kind));
	struct stack_reader *r = stack_reader_new(kind, p->fold, &options);

	if (stack_input_feed(in, r) < 0)
		out_missing(out, "%s: %s", name, fail_text());
	tell_result(out, p, name, options.event, stack_reader_end(r));
	stack_reader_free(r);
	return 0;
}

static int read_fd(struct out *out, struct profile *p, const char *name, int fd, unsigned side)
{
	struct stack_input *in = stack_input_new(fd);
	struct text start;
	int err = stack_input_start(in, &start);

	if (err < 0)
		out_missing(out, "%s: %s", name, fail_text());
	else
		err = read_text(out, p, name, in, start, side);
	stack_input_free(in);
	return err < 0 && err != -EINVAL ? 0 : err;
}

int input_read(struct out *out, struct profile *p, const char *path, unsigned side)
{
	const bool is_stdin = !strcmp(path, "-");
	const char *name = is_stdin ? "standard input" : path;
	const int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(errno, "%s", path);
	const int err = read_fd(out, p, name, fd, side);

	if (!is_stdin)
		close(fd);
	return err;
}
