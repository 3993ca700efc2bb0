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
	uint32_t *nodes;
	size_t depth, ends_cap, nodes_cap;
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

static uint32_t find_node(struct stack_reader *r, struct text stack)
{
	struct folded_reader *p = r->own;
	const size_t shared = common_prefix(stack, p->before);
	size_t depth = 0, from = 0;
	uint32_t node = FOLD_ROOT;

	/* a frame is shared if what ends it is, too */
	while (depth < p->depth && p->ends[depth] < shared) {
		node = p->nodes[depth];
		from = p->ends[depth++] + 1;
	}
	while (from <= stack.len) {
		const char *semicolon = memchr(stack.data + from, ';', stack.len - from);
		const size_t end = semicolon ? (size_t)(semicolon - stack.data) : stack.len;

		if (r->options.max_depth && depth >= r->options.max_depth) {
			r->result.cut_stacks++;
			break;
		}
		node = fold_child(r->fold, node, (struct text){ stack.data + from, end - from });
		p->ends = mem_grow(p->ends, &p->ends_cap, depth + 1, sizeof(*p->ends));
		p->nodes = mem_grow(p->nodes, &p->nodes_cap, depth + 1, sizeof(*p->nodes));
		p->ends[depth] = end;
		p->nodes[depth++] = node;
		from = end + 1;
	}
	p->depth = depth;
	p->before = stack;
	return node;
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

	if (is_comment(line))
		return;
	struct text stack = line;
	const unsigned last = has_two ? 1 : 0;

	for (unsigned i = last + 1; i-- > 0;)
		if (!take_weight(&stack, &whole[i], &part[i])) {
			stack_skip_line(r, "no number behind the stack");
			return;
		}
	if (!stack_count_event(r, TEXT(""), true))
		return;
	uint32_t node = stack.len ? find_node(r, stack) : FOLD_FULL;

	if (node == FOLD_FULL) {
		r->result.lost_stacks++;
		return;
	}
	add_weight(r, node, has_two ? 0 : r->options.side, whole[0], part[0]);
	if (has_two)
		add_weight(r, node, 1, whole[1], part[1]);
	r->result.samples++;
}

static void folded_line(struct stack_reader *r, struct text line, bool is_whole)
{
	(void)is_whole;
	take_line(r, line, false);
}

static void folded_two_line(struct stack_reader *r, struct text line, bool is_whole)
{
	(void)is_whole;
	take_line(r, line, true);
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
	free(p->nodes);
}

const struct stack_format stack_format_folded = {
	.name = "folded stacks",
	.own_size = sizeof(struct folded_reader),
	.line = folded_line,
	.free = folded_free,
	.piece = folded_piece,
};

const struct stack_format stack_format_folded_two = {
	.name = "a difference of folded stacks",
	.own_size = sizeof(struct folded_reader),
	.line = folded_two_line,
	.free = folded_free,
	.piece = folded_piece,
};
