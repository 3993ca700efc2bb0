#include "common/stack/stacktext.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/stack/json.h"
#include "common/stack/stacktext_impl.h"

static const struct stack_format *const formats[STACK_KINDS] = {
	[STACK_FOLDED] = &stack_format_folded,
	[STACK_FOLDED_TWO] = &stack_format_folded_two,
	[STACK_PERF_SCRIPT] = &stack_format_perf_script,
	[STACK_BPFTRACE] = &stack_format_bpftrace,
	[STACK_BLOCKS] = &stack_format_blocks,
	[STACK_DEBUGGER] = &stack_format_debugger,
	[STACK_PROC] = &stack_format_proc,
	[STACK_JSTACK] = &stack_format_jstack,
	[STACK_GO_RAW] = &stack_format_go_raw,
	[STACK_GO_TRACES] = &stack_format_go_traces,
	[STACK_GO_DEBUG] = &stack_format_go_debug,
	[STACK_SPEEDSCOPE] = &stack_format_speedscope,
	[STACK_PPROF] = &stack_format_pprof,
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
	if (!o->filter)
		stack_filter_new(&(struct stack_filter_options){ 0 }, f, &r->own_filter);
	r->filter = o->filter ? o->filter : r->own_filter;
	r->own = mem_alloc(formats[kind]->own_size);
	if (formats[kind]->begin)
		formats[kind]->begin(r);
	return r;
}

bool stack_reader_takes_bytes(const struct stack_reader *r)
{
	return formats[r->kind]->whole != NULL;
}

static void keep(struct stack_reader *r, struct text piece)
{
	if (r->whole.len + piece.len > STACK_WHOLE_MAX)
		stack_fail(r, "more than %u MiB of %s", STACK_WHOLE_MAX >> 20,
			   stack_kind_name(r->kind));
	else
		buf_add(&r->whole, piece.data, piece.len);
}

void stack_reader_feed(struct stack_reader *r, struct text lines)
{
	const struct stack_format *format = formats[r->kind];
	const char *at = lines.data, *end = lines.data + lines.len;

	if (r->result.failure)
		return;
	if (format->whole) {
		keep(r, lines);
		return;
	}
	if (format->piece)
		format->piece(r);
	while (at < end) {
		if (format->lines) {
			const size_t taken =
				format->lines(r, (struct text){ at, (size_t)(end - at) });

			at += taken;
			if (taken)
				continue;
		}
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		r->line++;
		format->line(r, (struct text){ at, (size_t)((newline ? newline : end) - at) });
		at = newline ? newline + 1 : end;
	}
}

void stack_reader_skip_line(struct stack_reader *r)
{
	r->line++;
	stack_skip_line(r, "longer than 16 MiB");
}

const struct stack_result *stack_reader_end(struct stack_reader *r)
{
	const struct stack_format *format = formats[r->kind];

	if (format->whole && !r->result.failure)
		format->whole(r, buf_text(&r->whole));
	else if (format->end)
		format->end(r);
	return &r->result;
}

void stack_reader_free(struct stack_reader *r)
{
	if (!r)
		return;
	if (formats[r->kind]->free)
		formats[r->kind]->free(r);
	stack_filter_free(r->own_filter);
	arena_free(&r->arena);
	buf_free(&r->whole);
	free(r->names);
	free(r->own);
	free(r);
}

/* ---- what readers share ---- */

void stack_skip_line_at(struct stack_reader *r, uint64_t line, const char *why)
{
	if (!r->result.skipped_lines++ || line < r->result.first_skipped_line) {
		r->result.first_skipped_line = line;
		r->result.first_skipped_why = why;
	}
}

void stack_skip_line(struct stack_reader *r, const char *why)
{
	stack_skip_line_at(r, r->line, why);
}

void stack_fail(struct stack_reader *r, const char *format, ...)
{
	char why[256];
	va_list args;

	if (r->result.failure)
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	r->result.failure = arena_strdup(&r->arena, why);
}

struct stack_event *stack_event(struct stack_reader *r, struct text name)
{
	struct stack_result *res = &r->result;

	/* names are kept as strings: one that holds a NUL ends there */
	if (name.len)
		name.len = strnlen(name.data, name.len);
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
	struct stack_event *e = stack_event(r, event);

	if (!e) {
		stack_skip_line(r, "more different events than can be told apart");
		return false;
	}
	e->samples++;
	e->has_period |= has_period;
	return e->is_folded;
}

bool stack_is_full(struct stack_reader *r)
{
	if (r->count < STACK_FRAMES_MAX) {
		r->is_deep = false;
		return false;
	}
	if (!r->is_deep) {
		r->is_deep = true;
		r->result.deep_stacks++;
		r->names = mem_grow(r->names, &r->cap, r->count + 1, sizeof(*r->names));
		r->names[r->count++] = fold_name(r->fold, TEXT("[deeper]"));
	}
	return true;
}

void stack_push(struct stack_reader *r, const struct frame_source *frame)
{
	uint32_t names[FRAME_NAMES_MAX];

	if (stack_is_full(r))
		return;
	size_t n = frame_names(r->fold, &r->options.frame, frame, names);

	r->names = mem_grow(r->names, &r->cap, r->count + n, sizeof(*r->names));
	while (n)
		r->names[r->count++] = names[--n];
}

void stack_push_symbol(struct stack_reader *r, struct text symbol)
{
	const struct text none = { "", 0 };

	stack_push(r, &(struct frame_source){ .symbol = symbol, .object = none, .line = none });
}

void stack_emit(struct stack_reader *r, const struct stack_task *t, uint64_t weight)
{
	bool is_cut;
	const uint32_t node = stack_filter_place(r->filter, stack_filter_root(r->filter, t),
						 r->names, r->count, true, &is_cut);

	if (stack_filter_count(r->filter, node, is_cut)) {
		fold_add(r->fold, node, r->options.side, weight);
		r->result.samples++;
	}
	r->count = 0;
}

/* ---- text ---- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct text stack_trimmed(struct text t)
{
	while (t.len && is_space(t.data[0]))
		t.data++, t.len--;
	while (t.len && is_space(t.data[t.len - 1]))
		t.len--;
	return t;
}

bool stack_is_number(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.data[i] < '0' || t.data[i] > '9')
			return false;
	return t.len > 0;
}

struct text stack_take_word(struct text *t)
{
	*t = stack_trimmed(*t);
	struct text word = { t->data, 0 };

	while (word.len < t->len && !is_space(t->data[word.len]))
		word.len++;
	*t = stack_trimmed((struct text){ t->data + word.len, t->len - word.len });
	return word;
}

bool stack_take_prefix(struct text *t, const char *prefix)
{
	if (!text_starts(*t, prefix))
		return false;
	*t = (struct text){ t->data + strlen(prefix), t->len - strlen(prefix) };
	return true;
}

bool stack_split(struct text t, const char *word, struct text *before, struct text *rest)
{
	const char *at = t.len ? memmem(t.data, t.len, word, strlen(word)) : NULL;

	if (!at)
		return false;
	*before = (struct text){ t.data, (size_t)(at - t.data) };
	*rest = (struct text){ at + strlen(word), t.len - before->len - strlen(word) };
	return true;
}

struct text stack_base_name(struct text path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (!slash)
		return path;
	return (struct text){ slash + 1, (size_t)(path.data + path.len - slash - 1) };
}

size_t stack_last_bracket(struct text t)
{
	size_t depth = 0;

	if (!stack_ends_with(t, ')'))
		return t.len;
	for (size_t i = t.len; i-- > 0;) {
		if (t.data[i] == ')')
			depth++;
		else if (t.data[i] == '(' && --depth == 0)
			return i;
	}
	return t.len;
}

uint64_t stack_scaled(double value, double unit)
{
	const double all = round(value * unit);

	if (!(all > 0))
		return 0;
	return all >= 0x1p64 ? UINT64_MAX : (uint64_t)all;
}

/* ---- what kind it is ---- */

#define LINES_LOOKED_AT 400

/* Each kind's points over the first lines; the last one may be cut by where `start` ends. */
static void count_points(struct text start, uint64_t points[STACK_KINDS])
{
	const char *at = start.data, *end = start.data + start.len;

	for (unsigned lines = 0; at < end && lines < LINES_LOOKED_AT;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct text line = { at, (size_t)((newline ? newline : end) - at) };

		at = newline ? newline + 1 : end;
		if (stack_ends_with(line, '\r'))
			line.len--;
		if (!stack_trimmed(line).len ||
		    (lines && !newline && start.len >= STACK_LOOK_BYTES))
			continue;
		lines += line.data[0] != '#';
		for (enum stack_kind k = 1; k < STACK_KINDS; k++)
			if (formats[k]->look)
				points[k] += formats[k]->look(line);
	}
}

/* What starts with something that no kind of stacks does. */
static const char *by_start(struct text t)
{
	static const struct {
		const char *start, *what;
	} known[] = {
		{ "PERFILE2", "a perf.data file" },
		{ "2ELIFREP", "a perf.data file of another byte order" },
		{ "PERFFILE", "a perf.data file of before 2010" },
		{ "\x7f" "ELF", "a program or library" },
		{ "FLR\0", "a Java flight recording" },
		{ "<?xml", "XML" },
		{ "<svg", "an SVG picture" },
		{ "<!DOCTYPE", "a web page" },
		{ "<html", "a web page" },
		{ "%!PS", "PostScript" },
		{ "%PDF", "a PDF" },
		{ "JAVA PROFILE", "a Java heap dump" },
	};
	struct json j = json_of(t);

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (text_starts(t, known[i].start))
			return known[i].what;
	json_enter(&j, '[');
	if (!json_enter(&j, '{') || (json_peek(&j) != '"' && json_peek(&j) != '}'))
		return NULL;
	if (memmem(t.data, t.len, "\"traceEvents\"", 13))
		return "a Chrome trace";
	return memmem(t.data, t.len, "\"timeDeltas\"", 12) ? "a CPU profile of V8" :
							      "JSON that is not speedscope's";
}

/* What is no stacks, by words in it. */
static const char *by_words(struct text t)
{
	static const struct {
		const char *words, *what;
	} known[] = {
		{ "# Overhead", "what perf report prints (perf script prints stacks)" },
		{ "Performance counter stats for", "what perf stat prints" },
		{ "|@", "a histogram of bpftrace's" },
		{ "|*", "a histogram of bcc's" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (memmem(t.data, t.len, known[i].words, strlen(known[i].words)))
			return known[i].what;
	return NULL;
}

/* Names may hold any byte, but where many are control bytes there are no lines of text. */
static bool is_binary(struct text t)
{
	size_t control = 0;

	for (size_t i = 0; i < t.len; i++) {
		const unsigned char c = (unsigned char)t.data[i];

		control += (c < ' ' && !is_space((char)c) && c != '\n') || c == 0x7f;
	}
	return control > t.len / 20;
}

/* Without empty lines in front; line: where that is, from 1. */
static struct text pass_empty(struct text t, uint64_t *line)
{
	*line = 1;
	for (; t.len && (t.data[0] == '\n' || is_space(t.data[0])); t.data++, t.len--)
		*line += t.data[0] == '\n';
	return t;
}

enum stack_kind stack_kind_of(struct text start)
{
	uint64_t points[STACK_KINDS] = { 0 }, line;
	enum stack_kind best = STACK_UNKNOWN;

	if (!start.len)
		return STACK_UNKNOWN;
	if (stack_is_pprof(start))
		return STACK_PPROF;
	if (stack_is_speedscope(start))
		return STACK_SPEEDSCOPE;
	if (by_start(pass_empty(start, &line)) || is_binary(start))
		return STACK_UNKNOWN;
	count_points(start, points);
	for (enum stack_kind k = 1; k < STACK_KINDS; k++)
		if (points[k] > points[best])
			best = k;
	/* each line of a difference looks like a stack with one number, too */
	if (best == STACK_FOLDED && points[STACK_FOLDED_TWO] >= points[STACK_FOLDED])
		best = STACK_FOLDED_TWO;
	return best;
}

const char *stack_unknown_is(struct text start, uint64_t *line)
{
	const struct text t = pass_empty(start, line);
	const char *what = t.len ? by_start(t) : NULL;

	return what || !t.len || is_binary(start) ? what : by_words(t);
}
