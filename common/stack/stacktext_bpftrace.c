/*
 * bpftrace's maps (src/output.cpp, src/bpftrace.cpp of bpftrace): the key in brackets, a value.
 *
 *     @[
 *         schedule+64            the kernel's stack or the user's, leaf first
 *         do_nanosleep+9
 *     ,                          keys are joined with ", "
 *         clock_nanosleep+22
 *     , sleep]: 12               keys that are no stack, before or behind stacks
 *
 * Such keys become frames at the root, in their order; stacks are joined in theirs. A value is a
 * count or a sum, or of stats() its total; hist() and lhist() are pictures of many values.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/stacktext_impl.h"

struct bpftrace_reader {
	bool is_in_map;
	struct buf keys;               /* scalar keys, each with a NUL behind it */
	uint64_t first_line;
};

static unsigned look(struct text line)
{
	struct text t = stack_trimmed(line), before, value;
	size_t name = 1;

	while (name < t.len && (t.data[name] == '_' || isalnum((unsigned char)t.data[name])))
		name++;
	if (name < t.len && t.data[0] == '@' && t.data[name] == '[')
		return STACK_CERTAIN;
	return stack_split(t, "]: ", &before, &value) && stack_is_number(value) ? 2 : 0;
}

/* "sym+12", "ffffffff81 sym+12 (object)", "0x7f12" */
static void push_frame(struct stack_reader *r, struct text t)
{
	struct frame_source f = { .symbol = t, .object = { "", 0 }, .line = { "", 0 } };
	struct text rest = t, word = stack_take_word(&rest);
	const size_t bracket = stack_last_bracket(rest);
	struct scan s = scan_of(word);

	if (rest.len && scan_hex(&s, &f.address) && s.at == s.end) {
		f.has_address = true;
		f.symbol = rest;
		if (bracket < rest.len && bracket && rest.data[bracket - 1] == ' ') {
			f.object = (struct text){ rest.data + bracket + 1, rest.len - bracket - 2 };
			f.symbol = stack_trimmed((struct text){ rest.data, bracket });
		}
	}
	f.symbol = frame_without_offset(f.symbol);
	size_t n = f.symbol.len;

	while (n && f.symbol.data[n - 1] >= '0' && f.symbol.data[n - 1] <= '9')
		n--;
	if (n > 1 && n < f.symbol.len && f.symbol.data[n - 1] == '+')
		f.symbol.len = n - 1;
	stack_push(r, &f);
}

/* "comm, 123": up to the next line. */
static void add_keys(struct stack_reader *r, struct text t)
{
	struct bpftrace_reader *p = r->own;
	struct text key, rest;

	while (stack_split(t, ", ", &key, &rest)) {
		if (key.len)
			buf_add(&p->keys, key.data, key.len), buf_add_char(&p->keys, '\0');
		t = rest;
	}
	if (stack_ends_with(t, ','))
		t.len--;
	t = stack_trimmed(t);
	if (t.len)
		buf_add(&p->keys, t.data, t.len), buf_add_char(&p->keys, '\0');
}

static void push_keys(struct stack_reader *r)
{
	struct bpftrace_reader *p = r->own;

	/* leaf first: the last key is nearest to the stacks */
	for (size_t end = p->keys.len; end;) {
		size_t from = end - 1;

		while (from && p->keys.data[from - 1])
			from--;
		/* a command's name in it is no list of arguments */
		const struct text key = { p->keys.data + from, end - 1 - from };
		const uint32_t name = fold_name(r->fold, key);

		r->names = mem_grow(r->names, &r->cap, r->count + 1, sizeof(*r->names));
		r->names[r->count++] = name;
		end = from;
	}
}

/* "12", "count 3, average 4, total 12" */
static bool parse_value(struct text t, uint64_t *value)
{
	struct text before, total;

	t = stack_trimmed(t);
	if (text_starts(t, "count ") && stack_split(t, ", total ", &before, &total))
		t = total;
	return scan_all_u64(t, value);
}

static void end_map(struct stack_reader *r, struct text value)
{
	struct bpftrace_reader *p = r->own;
	const struct stack_task nobody = { { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 } };
	uint64_t weight;

	p->is_in_map = false;
	if (!parse_value(value, &weight)) {
		stack_skip_line(r, stack_trimmed(value).len ?
				"the value is no count" : "a histogram is no count");
		r->count = 0;
		return;
	}
	push_keys(r);
	if (stack_count_event(r, TEXT(""), true) && stack_filter_wants(r->filter, NA_F64, NA_U64))
		stack_emit(r, &nobody, r->options.weighs_samples ? 1 : weight);
	r->count = 0;
}

/* A line inside brackets. True: the closing one is there. */
static bool take_inside(struct stack_reader *r, struct text line)
{
	const bool is_indented = line.len && (line.data[0] == ' ' || line.data[0] == '\t');
	const char *close = NULL;

	/* "]: 12" or "]:" in front of a histogram; a frame may have brackets of its own */
	if (!is_indented)
		for (size_t i = 0; i + 1 < line.len; i++)
			if (line.data[i] == ']' && line.data[i + 1] == ':')
				close = line.data + i;
	struct text inside = { line.data, close ? (size_t)(close - line.data) : line.len };

	if (is_indented) {
		push_frame(r, stack_trimmed(line));
		return false;
	}
	stack_take_prefix(&inside, ",");
	add_keys(r, stack_trimmed(inside));
	if (close)
		end_map(r, (struct text){ close + 2,
					  (size_t)(line.data + line.len - close - 2) });
	return close != NULL;
}

static bool is_histogram_row(struct text t)
{
	return t.len > 2 && (t.data[0] == '[' || t.data[0] == '(') && stack_ends_with(t, '|');
}

static void bpftrace_line(struct stack_reader *r, struct text line)
{
	struct bpftrace_reader *p = r->own;
	struct text t = stack_trimmed(line), name, inside;

	if (stack_ends_with(line, '\r'))
		line.len--;
	if (t.len && t.data[0] == '@' && stack_split(t, "[", &name, &inside)) {
		if (p->is_in_map)
			stack_skip_line_at(r, p->first_line, "a map without an end");
		p->is_in_map = true;
		p->first_line = r->line;
		r->count = 0;
		buf_reset(&p->keys);
		if (inside.len)
			take_inside(r, inside);
	} else if (!t.len) {
		/* an empty stack is an empty line */
	} else if (p->is_in_map && p->keys.len > STACK_LINE_MAX) {
		stack_skip_line_at(r, p->first_line, "a map's key of more than 16 MiB");
		p->is_in_map = false;
	} else if (p->is_in_map) {
		take_inside(r, line);
	} else if (is_histogram_row(t)) {
		stack_skip_line(r, "a histogram is no count");
	} else if (!text_starts(t, "Attaching ") && !text_starts(t, "Attached ")) {
		stack_skip_line(r, "no part of a map");
	}
}

static void end(struct stack_reader *r)
{
	struct bpftrace_reader *p = r->own;

	if (p->is_in_map)
		stack_skip_line_at(r, p->first_line, "a map without an end");
	p->is_in_map = false;
}

static void bpftrace_free(struct stack_reader *r)
{
	buf_free(&((struct bpftrace_reader *)r->own)->keys);
}

const struct stack_format stack_format_bpftrace = {
	.name = "bpftrace's maps",
	.own_size = sizeof(struct bpftrace_reader),
	.look = look,
	.line = bpftrace_line,
	.end = end,
	.free = bpftrace_free,
};
