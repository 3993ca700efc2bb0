/* Folded text: "a;b;c 12", also with two weights, CRLF, fractions, comments. */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/stacktext_impl.h"

/* Where the frames of the line before ended, and their nodes: neighbours share most of them. */
struct folded_reader {
	struct text before;
	size_t *ends;
	struct text *names;            /* of those that are not shared */
	uint32_t *nodes;
	size_t depth, cap;
};

static size_t common_prefix(struct text a, struct text b)
{
	const size_t least = a.len < b.len ? a.len : b.len;
	size_t i = 0;

	for (; i + 8 <= least; i += 8) {
		uint64_t x, y;

		memcpy(&x, a.data + i, 8);
		memcpy(&y, b.data + i, 8);
		if (x != y)
			break;
	}
	while (i < least && a.data[i] == b.data[i])
		i++;
	return i;
}

/* "12" or "12.5", nothing else. */
static bool parse_weight(struct text t, uint64_t *whole, double *part)
{
	const char *point = memchr(t.data, '.', t.len);
	double value;

	*part = 0;
	if (!point)
		return scan_all_u64(t, whole);
	struct text digits = { t.data, (size_t)(point - t.data) };

	if (!scan_all_u64(digits, whole) || !scan_all_decimal(t, &value))
		return false;
	struct text fraction = { point, t.len - digits.len };
	struct scan s = scan_of(fraction);
	double unit = 0.1;

	scan_literal(&s, ".");
	for (; s.at < s.end; s.at++, unit /= 10)
		*part += (*s.at - '0') * unit;
	return true;
}

/* The last word, taken off. */
static bool take_weight(struct text *t, uint64_t *whole, double *part)
{
	while (t->len && (t->data[t->len - 1] == ' ' || t->data[t->len - 1] == '\t' ||
			  t->data[t->len - 1] == '\r'))
		t->len--;
	size_t from = t->len;

	while (from && t->data[from - 1] != ' ' && t->data[from - 1] != '\t')
		from--;
	if (!from || !parse_weight((struct text){ t->data + from, t->len - from }, whole, part))
		return false;
	t->len = from - 1;
	while (t->len && t->data[t->len - 1] == ' ')
		t->len--;
	return true;
}

/* The next frame of a stack from `from` on, and where it ends. Nothing is [unknown], not "". */
static struct text next_frame(struct text stack, size_t from, size_t *end)
{
	const char *semicolon = memchr(stack.data + from, ';', stack.len - from);

	*end = semicolon ? (size_t)(semicolon - stack.data) : stack.len;
	if (*end == from)
		return TEXT("[unknown]");
	return (struct text){ stack.data + from, *end - from };
}

/* Room for a frame more, in all columns alike. */
static void frames_reserve(struct folded_reader *p)
{
	size_t cap = p->cap, same = p->cap;

	p->ends = mem_grow(p->ends, &cap, p->cap + 1, sizeof(*p->ends));
	p->names = mem_grow(p->names, &same, p->cap + 1, sizeof(*p->names));
	same = p->cap;
	p->nodes = mem_grow(p->nodes, &same, p->cap + 1, sizeof(*p->nodes));
	p->cap = cap;
}

static uint32_t find_node(struct stack_reader *r, struct text stack)
{
	struct folded_reader *p = r->own;
	const size_t shared = common_prefix(stack, p->before);
	size_t depth = 0, from = 0, end;
	uint32_t node = FOLD_ROOT;

	/* a frame is shared if what ends it is, too */
	while (depth < p->depth && p->ends[depth] < shared) {
		node = p->nodes[depth];
		from = p->ends[depth++] + 1;
	}
	const size_t first = depth;

	for (; from <= stack.len; from = end + 1) {
		const struct text name = next_frame(stack, from, &end);

		if (depth == p->cap)
			frames_reserve(p);
		p->names[depth] = name;
		p->ends[depth++] = end;
	}
	p->depth = depth;
	fold_names(r->fold, p->names + first, depth - first, p->nodes + first);
	for (depth = first; depth < p->depth; depth++)
		node = p->nodes[depth] = fold_child_of(r->fold, node, p->nodes[depth]);
	p->before = stack;
	return node;
}

/* The outermost frame is the root frame that makers of folded text put there. */
static uint32_t place_filtered(struct stack_reader *r, struct text stack, bool *is_cut)
{
	r->count = 0;
	for (size_t from = 0, end; from <= stack.len; from = end + 1) {
		const uint32_t name = fold_name(r->fold, next_frame(stack, from, &end));

		r->names = mem_grow(r->names, &r->cap, r->count + 1, sizeof(*r->names));
		r->names[r->count++] = name;
	}
	const size_t count = r->count;

	r->count = 0;
	return stack_filter_place(r->filter, r->names[0], r->names + 1, count - 1, false, is_cut);
}

static bool is_comment(struct text line)
{
	return !line.len || line.data[0] == '#' || text_starts(line, "//") ||
	       (line.len == 1 && line.data[0] == '\r');
}

static void add_weight(struct stack_reader *r, uint32_t node, unsigned side, uint64_t whole,
		       double part)
{
	fold_add(r->fold, node, side, whole);
	if (part > 0)
		fold_add_part(r->fold, node, side, part);
}

static void take_line(struct stack_reader *r, struct text line, bool has_two)
{
	uint64_t whole[2] = { 0 };
	double part[2] = { 0 };
	bool is_cut = false;

	if (is_comment(line))
		return;
	struct text stack = line;

	for (unsigned i = has_two ? 2 : 1; i-- > 0;)
		if (!take_weight(&stack, &whole[i], &part[i]) || !stack.len) {
			stack_skip_line(r, "no number behind the stack");
			return;
		}
	if (!stack_count_event(r, TEXT(""), true) || !stack_filter_wants(r->filter, NA_F64, NA_U64))
		return;
	const uint32_t node = stack_filter_asks_frames(r->filter) ?
		place_filtered(r, stack, &is_cut) : find_node(r, stack);

	if (!stack_filter_count(r->filter, node, is_cut))
		return;
	if (r->options.weighs_samples)
		whole[0] = 1, part[0] = 0;
	add_weight(r, node, has_two ? 0 : r->options.side, whole[0], part[0]);
	if (has_two)
		add_weight(r, node, 1, whole[1], part[1]);
	r->result.samples++;
}

static void folded_line(struct stack_reader *r, struct text line)
{
	take_line(r, line, false);
}

static void folded_two_line(struct stack_reader *r, struct text line)
{
	take_line(r, line, true);
}

static unsigned look(struct text line, unsigned numbers)
{
	uint64_t whole;
	double part;

	for (; numbers; numbers--)
		if (!take_weight(&line, &whole, &part) || !line.len)
			return 0;
	if (line.data[0] == ' ' || line.data[0] == '\t' || line.data[0] == '#')
		return 0;
	return memchr(line.data, ';', line.len) ? 3 : 1;
}

static unsigned look_one(struct text line)
{
	return look(line, 1);
}

static unsigned look_two(struct text line)
{
	return look(line, 2);
}

static void folded_piece(struct stack_reader *r)
{
	struct folded_reader *p = r->own;

	p->before = (struct text){ "", 0 };
	p->depth = 0;
}

static void folded_free(struct stack_reader *r)
{
	struct folded_reader *p = r->own;

	free(p->ends);
	free(p->names);
	free(p->nodes);
}

const struct stack_format stack_format_folded = {
	.name = "folded stacks",
	.own_size = sizeof(struct folded_reader),
	.look = look_one,
	.line = folded_line,
	.free = folded_free,
	.piece = folded_piece,
};

const struct stack_format stack_format_folded_two = {
	.name = "a difference of folded stacks",
	.own_size = sizeof(struct folded_reader),
	.look = look_two,
	.line = folded_two_line,
	.free = folded_free,
	.piece = folded_piece,
};
