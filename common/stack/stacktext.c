#include "common/stack/stacktext.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/stack/stacktext_impl.h"

static const struct stack_format *const formats[STACK_KINDS] = {
	[STACK_FOLDED] = &stack_format_folded,
	[STACK_FOLDED_TWO] = &stack_format_folded_two,
	[STACK_PERF_SCRIPT] = &stack_format_perf_script,
};

const char *stack_kind_name(enum stack_kind k)
{
	return formats[k] ? formats[k]->name : "nothing known";
}

struct stack_reader *stack_reader_new(enum stack_kind kind, struct fold *f,
				      const struct stack_options *o)
{
	struct stack_reader *r = mem_alloc(sizeof(*r));

	r->kind = kind;
	r->fold = f;
	r->options = *o;
	r->own = mem_alloc(formats[kind]->own_size);
	if (formats[kind]->begin)
		formats[kind]->begin(r);
	return r;
}

void stack_reader_feed(struct stack_reader *r, struct text lines)
{
	const struct stack_format *format = formats[r->kind];
	const char *at = lines.data, *end = lines.data + lines.len;

	if (format->piece)
		format->piece(r);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct text line = { at, (size_t)((newline ? newline : end) - at) };

		r->line++;
		format->line(r, line, newline != NULL);
		at = newline ? newline + 1 : end;
	}
}

const struct stack_result *stack_reader_end(struct stack_reader *r)
{
	if (formats[r->kind]->end)
		formats[r->kind]->end(r);
	return &r->result;
}

void stack_reader_free(struct stack_reader *r)
{
	if (!r)
		return;
	if (formats[r->kind]->free)
		formats[r->kind]->free(r);
	arena_free(&r->arena);
	free(r->own);
	free(r);
}

void stack_skip_line(struct stack_reader *r, const char *why)
{
	if (!r->result.skipped_lines++) {
		r->result.first_skipped_line = r->line;
		r->result.first_skipped_why = why;
	}
}

static struct stack_event *find_event(struct stack_reader *r, struct text name)
{
	struct stack_result *res = &r->result;

	for (size_t i = 0; i < res->event_count; i++)
		if (text_is(name, res->events[i].name))
			return &res->events[i];
	if (res->event_count == STACK_EVENTS_MAX)
		return NULL;
	struct stack_event *e = &res->events[res->event_count++];

	*e = (struct stack_event){ .name = arena_text(&r->arena, name) };
	e->is_folded = r->options.event ? text_is(name, r->options.event) : res->event_count == 1;
	return e;
}

bool stack_count_event(struct stack_reader *r, struct text event, bool has_period)
{
	struct stack_event *e = find_event(r, event);

	if (!e) {
		stack_skip_line(r, "more different events than can be told apart");
		return false;
	}
	e->samples++;
	e->has_period |= has_period;
	return e->is_folded;
}

void stack_fold(struct stack_reader *r, struct text root, const uint32_t *names, size_t count,
		bool is_leaf_first, uint64_t weight)
{
	uint32_t node = root.len ? fold_child(r->fold, FOLD_ROOT, root) : FOLD_ROOT;
	size_t kept = count;

	if (r->options.max_depth && count > r->options.max_depth) {
		kept = r->options.max_depth;
		r->result.cut_stacks++;
	}
	for (size_t i = 0; i < kept; i++)
		node = fold_child_of(r->fold, node, names[is_leaf_first ? count - 1 - i : i]);
	if (node == FOLD_ROOT)
		node = fold_child(r->fold, FOLD_ROOT, TEXT("[no stack]"));
	if (node == FOLD_FULL) {
		r->result.lost_stacks++;
		return;
	}
	fold_add(r->fold, node, r->options.side, weight);
	r->result.samples++;
}

struct text stack_root(const struct stack_options *o, struct buf *to, struct text comm,
		       struct text pid, struct text tid, struct text cpu)
{
	buf_reset(to);
	if (o->by == ROOT_NONE)
		return (struct text){ "", 0 };
	if (o->by == ROOT_CPU) {
		buf_printf(to, "cpu_%.*s", cpu.len ? (int)cpu.len : 1, cpu.len ? cpu.data : "?");
		return buf_text(to);
	}
	buf_add(to, comm.data, comm.len);
	for (size_t i = 0; i < to->len; i++)
		if (to->data[i] == ' ')
			to->data[i] = '_';
	if (o->by == ROOT_PID || o->by == ROOT_TID)
		buf_printf(to, "-%.*s", pid.len ? (int)pid.len : 1, pid.len ? pid.data : "?");
	if (o->by == ROOT_TID)
		buf_printf(to, "/%.*s", tid.len ? (int)tid.len : 1, tid.len ? tid.data : "?");
	return to->len ? buf_text(to) : TEXT("?");
}

/* ---- what kind it is ---- */

#define LINES_LOOKED_AT 400

/* "frames 12" with at least one byte in front; how many numbers end the line. */
static unsigned trailing_numbers(struct text line)
{
	unsigned n = 0;

	while (line.len && (line.data[line.len - 1] == '\r' || line.data[line.len - 1] == ' '))
		line.len--;
	for (;;) {
		size_t from = line.len;

		while (from && ((line.data[from - 1] >= '0' && line.data[from - 1] <= '9') ||
				line.data[from - 1] == '.'))
			from--;
		if (from == line.len || from < 2 || line.data[from - 1] != ' ')
			return n;
		n++;
		line.len = from - 1;
	}
}

enum stack_kind stack_kind_of(struct text start)
{
	const char *at = start.data, *end = start.data + start.len;
	unsigned lines = 0, one = 0, two = 0, frames = 0, headers = 0;

	while (at < end && lines < LINES_LOOKED_AT) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct text line = { at, (size_t)((newline ? newline : end) - at) };

		at = newline ? newline + 1 : end;
		if (!line.len || line.data[0] == '#' || (lines && !newline))
			continue;
		lines++;
		unsigned numbers = trailing_numbers(line);

		one += numbers >= 1;
		two += numbers >= 2;
		stack_perf_script_look(line, &frames, &headers);
	}
	if (frames && frames + headers > one)
		return STACK_PERF_SCRIPT;
	if (headers && headers >= one)
		return STACK_PERF_SCRIPT;
	if (one * 2 >= lines && one)
		return two == one ? STACK_FOLDED_TWO : STACK_FOLDED;
	return STACK_UNKNOWN;
}
