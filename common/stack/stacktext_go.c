/*
 * Go's profiles as text:
 * `go tool pprof -traces` (stacks between lines of dashes, leaf first, the value in front),
 * /debug/pprof/NAME?debug=1 ("12 @ 0x45 0x46" and a "#" line per frame; heaps "1: 2 [3: 4] @"),
 * /debug/pprof/goroutine?debug=2 and what a program prints when it panics ("goroutine 1 [run]:").
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/stacktext_impl.h"

static const struct stack_task nobody = { { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 } };

static const struct unit {
	const char *name, *base;
	double factor;
} units[] = {
	{ "ns", "ns", 1 }, { "us", "ns", 1e3 }, { "\xc2\xb5s", "ns", 1e3 }, { "ms", "ns", 1e6 },
	{ "s", "ns", 1e9 }, { "mins", "ns", 60e9 }, { "hrs", "ns", 3600e9 },
	{ "days", "ns", 86400e9 },
	{ "B", "bytes", 1 }, { "kB", "bytes", 1024 }, { "MB", "bytes", 1048576 },
	{ "GB", "bytes", 1073741824 }, { "TB", "bytes", 1099511627776 }, { "", NULL, 1 },
};

/* "10ms", "1.50MB", "3" */
static bool parse_value(struct text t, uint64_t *value, const char **base)
{
	struct scan s = scan_of(t);
	double number;

	if (!t.len || t.data[0] == ' ' || !scan_decimal(&s, &number))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (text_is(scan_rest(&s), units[i].name)) {
			*value = stack_scaled(number, units[i].factor);
			*base = units[i].base;
			return true;
		}
	return false;
}

/* Folds the stack at hand with its weight. */
static void finish(struct stack_reader *r, uint64_t weight, const char *unit)
{
	if (r->count && stack_count_event(r, TEXT(""), true)) {
		if (unit)
			stack_event(r, TEXT(""))->unit = unit;
		if (stack_filter_wants(r->filter, NA_F64, NA_U64))
			stack_emit(r, &nobody, r->options.weighs_samples ? 1 : weight);
	}
	r->count = 0;
}

/* "name (inline)" */
static void push_traced(struct stack_reader *r, struct text t)
{
	const struct text none = { "", 0 };
	static const char mark[] = " (inline)";
	const size_t n = sizeof(mark) - 1;
	struct frame_source f = { .symbol = t, .object = none, .line = none };

	if (t.len > n && !memcmp(t.data + t.len - n, mark, n)) {
		f.is_inlined = true;
		f.symbol.len -= n;
	}
	stack_push(r, &f);
}

/* ---- -traces ---- */

struct traces_reader {
	bool is_begun;                 /* the first line of dashes was there */
	bool has_value;
	uint64_t value;
	const char *unit;
};

static bool is_dashes(struct text t)
{
	return text_starts(t, "-----------+---");
}

static unsigned traces_look(struct text line)
{
	return is_dashes(line) ? STACK_CERTAIN : 0;
}

static void traces_line(struct stack_reader *r, struct text line)
{
	struct traces_reader *p = r->own;
	struct text t = stack_trimmed(line), rest = t, word = stack_take_word(&rest);

	if (is_dashes(t)) {
		finish(r, p->value, p->unit);
		p->is_begun = true;
		p->has_value = false;
		return;
	}
	if (!p->is_begun || !t.len)
		return;
	if (p->has_value) {
		push_traced(r, t);
	} else if (rest.len && parse_value(word, &p->value, &p->unit)) {
		p->has_value = true;
		push_traced(r, rest);
	} else if (!stack_ends_with(word, ':')) {
		stack_skip_line(r, "no value in front of the stack"); /* "label:  x" is no loss */
	}
}

static void traces_end(struct stack_reader *r)
{
	const struct traces_reader *p = r->own;

	finish(r, p->value, p->unit);
}

const struct stack_format stack_format_go_traces = {
	.name = "go tool pprof -traces",
	.own_size = sizeof(struct traces_reader),
	.look = traces_look,
	.line = traces_line,
	.end = traces_end,
};

/* ---- debug=1 and debug=2 ---- */

struct debug_reader {
	bool is_goroutine;             /* debug=2: names and places in turn */
	uint64_t weight;
	const char *unit;
	struct buf symbol;             /* debug=2: waits for the place behind it */
	bool has_symbol;
};

/* "12 @ 0x1 0x2", "1: 2 [3: 4] @ 0x1", "180001216 83 @ 0x1" */
static bool parse_count(struct text t, uint64_t *weight, const char **unit)
{
	struct text before, rest;
	uint64_t number;

	if (!stack_split(t, " @", &before, &rest))
		return false;
	rest = stack_trimmed(rest);
	if (rest.len && !text_starts(rest, "0x"))
		return false;
	struct scan s = scan_of(before);

	if (!scan_u64(&s, &number))
		return false;
	*weight = number;
	*unit = NULL;
	if (scan_literal(&s, ":")) {
		*unit = "bytes";
		return scan_u64(&s, weight) && scan_literal(&s, " [");
	}
	return s.at == s.end || (scan_u64(&s, &number) && s.at == s.end);
}

/* "goroutine 18 [chan receive, 3 minutes]:" */
static bool is_goroutine(struct text t)
{
	return stack_take_prefix(&t, "goroutine ") && t.len && t.data[0] >= '0' &&
	       t.data[0] <= '9' && memmem(t.data, t.len, " [", 2) && stack_ends_with(t, ':');
}

static unsigned debug_look(struct text line)
{
	uint64_t weight;
	const char *unit;

	if (is_goroutine(line) || parse_count(line, &weight, &unit))
		return 6;
	return text_starts(line, "#\t0x") ? 4 : 0;
}

/* "#\t0x45dfa1\tmain.run+0x12\t/src/run.go:12" */
static void push_debug(struct stack_reader *r, struct text t)
{
	const struct text none = { "", 0 };
	struct frame_source f = { .symbol = none, .object = none, .line = none };
	struct scan s;

	stack_take_prefix(&t, "#");
	struct text word = stack_take_word(&t);

	s = scan_of(word);
	if (scan_literal(&s, "0x") && scan_hex(&s, &f.address))
		f.has_address = true;
	f.symbol = frame_without_offset(stack_take_word(&t));
	f.line = stack_base_name(t);
	if (f.has_address)
		stack_push(r, &f);
}

static void push_symbol(struct stack_reader *r, struct text place)
{
	struct debug_reader *p = r->own;
	const struct text none = { "", 0 };
	struct frame_source f = { .symbol = buf_text(&p->symbol), .object = none, .line = none };

	if (!p->has_symbol)
		return;
	p->has_symbol = false;
	place = stack_base_name(place);
	f.line = stack_take_word(&place);
	stack_push(r, &f);
}

/* debug=2: "main.run(0x1, {0x2, 0x3})", "created by main.run in goroutine 1", "\t/src/run.go:12" */
static void take_goroutine_line(struct stack_reader *r, struct text line)
{
	struct debug_reader *p = r->own;
	struct text t = stack_trimmed(line), name, rest;
	const struct text none = { "", 0 };

	if (line.data[0] == '\t' || line.data[0] == ' ') {
		push_symbol(r, t);
		return;
	}
	push_symbol(r, none);
	if (text_starts(t, "...") || text_starts(t, "exit status"))
		return;
	if (stack_take_prefix(&t, "created by ") && stack_split(t, " in goroutine ", &name, &rest))
		t = name;
	/* the values of its arguments are never part of the name */
	const size_t bracket = stack_last_bracket(t);

	if (bracket && bracket < t.len)
		t.len = bracket;
	buf_reset(&p->symbol);
	buf_add(&p->symbol, t.data, t.len);
	p->has_symbol = true;
}

static void debug_finish(struct stack_reader *r)
{
	struct debug_reader *p = r->own;

	push_symbol(r, (struct text){ "", 0 });
	finish(r, p->weight, p->unit);
	p->is_goroutine = false;
	p->weight = 0;
}

static void debug_line(struct stack_reader *r, struct text line)
{
	struct debug_reader *p = r->own;
	const struct text t = stack_trimmed(line);
	uint64_t weight;
	const char *unit;

	if (!t.len) {
		debug_finish(r);
	} else if (is_goroutine(t)) {
		debug_finish(r);
		p->is_goroutine = true;
		p->weight = 1;
	} else if (p->is_goroutine) {
		take_goroutine_line(r, line);
	} else if (parse_count(t, &weight, &unit)) {
		debug_finish(r);
		p->weight = weight;
		p->unit = unit;
	} else if (text_starts(line, "#\t")) {
		push_debug(r, t);
	} else if (t.data[0] != '#' && !memmem(t.data, t.len, "profile:", 8) &&
		   !text_starts(t, "---") && !memchr(t.data, '=', t.len)) {
		stack_skip_line(r, "no part of a stack");
	}
}

static void debug_free(struct stack_reader *r)
{
	buf_free(&((struct debug_reader *)r->own)->symbol);
}

const struct stack_format stack_format_go_debug = {
	.name = "a Go program's stacks (debug=1, debug=2, a panic)",
	.own_size = sizeof(struct debug_reader),
	.look = debug_look,
	.line = debug_line,
	.end = debug_finish,
	.free = debug_free,
};
