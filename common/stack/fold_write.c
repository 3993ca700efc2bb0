/* Folded stacks in the order of their names, and as text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/stack/fold.h"

#define WRITE_BYTES (256u << 10)       /* handed to stdio at a time */

/* ---- order ---- */

struct ranked {
	struct text text;
	uint32_t name;
};

static int by_bytes(const void *a, const void *b)
{
	const struct text x = ((const struct ranked *)a)->text;
	const struct text y = ((const struct ranked *)b)->text;
	const size_t least = x.len < y.len ? x.len : y.len;
	const int differs = memcmp(x.data, y.data, least);

	return differs ? differs : (x.len > y.len) - (x.len < y.len);
}

/*
 * Names are sorted once; then nodes are dealt into buckets by the rank of their name (a counting
 * sort) and hung in front of their parent's list, highest rank first. No list is ever sorted.
 */
void fold_order_make(const struct fold *f, struct fold_order *o)
{
	const uint32_t nodes = fold_count(f);
	uint32_t names = 0;

	for (uint32_t i = 1; i < nodes; i++)
		if (fold_name_of(f, i) > names)
			names = fold_name_of(f, i);
	struct ranked *ranked = mem_alloc((names + 1u) * sizeof(*ranked));
	uint32_t *bucket = mem_alloc((names + 2u) * sizeof(*bucket));
	uint32_t *rank = mem_alloc((names + 1u) * sizeof(*rank));
	uint32_t *sorted = mem_alloc(nodes * sizeof(*sorted));

	for (uint32_t i = 1; i <= names; i++)
		ranked[i] = (struct ranked){ fold_name_text(f, i), i };
	qsort(ranked + 1, names, sizeof(*ranked), by_bytes);
	for (uint32_t i = 1; i <= names; i++)
		rank[ranked[i].name] = i;
	for (uint32_t i = 1; i < nodes; i++)
		bucket[rank[fold_name_of(f, i)] + 1]++;
	for (uint32_t i = 1; i <= names + 1; i++)
		bucket[i] += bucket[i - 1];
	for (uint32_t i = 1; i < nodes; i++)
		sorted[bucket[rank[fold_name_of(f, i)]]++] = i;

	*o = (struct fold_order){ mem_alloc(nodes * sizeof(*o->first)),
				  mem_alloc(nodes * sizeof(*o->next)) };
	for (uint32_t i = nodes - 1; i-- > 0;) {
		const uint32_t node = sorted[i], parent = fold_parent(f, node);

		o->next[node] = o->first[parent];
		o->first[parent] = node;
	}
	free(ranked);
	free(bucket);
	free(rank);
	free(sorted);
}

void fold_order_free(struct fold_order *o)
{
	free(o->first);
	free(o->next);
	*o = (struct fold_order){ 0 };
}

/* ---- text ---- */

static bool needs_escape(unsigned char c)
{
	return c < ' ' || c == 0x7f || c == ';';
}

void fold_escape(struct buf *to, struct text name)
{
	size_t from = 0;

	for (size_t i = 0; i < name.len; i++) {
		const unsigned char c = (unsigned char)name.data[i];

		if (!needs_escape(c))
			continue;
		buf_add(to, name.data + from, i - from);
		if (c == ';')
			buf_add_char(to, ':');
		else
			buf_printf(to, "\\x%02x", c);
		from = i + 1;
	}
	buf_add(to, name.data + from, name.len - from);
}

static void add_number(struct buf *to, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	buf_add_char(to, ' ');
	buf_add(to, digits + at, sizeof(digits) - at);
}

static int flush(struct buf *out, FILE *to)
{
	if (out->len && fwrite(out->data, 1, out->len, to) != out->len)
		return fail(errno, "writing folded stacks: %s", strerror(errno));
	buf_reset(out);
	return 0;
}

/* What a walk carries: the path so far, and where it was before each frame. */
struct path {
	struct buf text;
	size_t *lengths;
	size_t depth, cap;
};

static void path_push(struct path *p, struct text name)
{
	p->lengths = mem_grow(p->lengths, &p->cap, p->depth + 1, sizeof(*p->lengths));
	p->lengths[p->depth++] = p->text.len;
	if (p->depth > 1)
		buf_add_char(&p->text, ';');
	fold_escape(&p->text, name);
}

static void path_pop(struct path *p)
{
	p->text.len = p->lengths[--p->depth];
}

int fold_write(const struct fold *f, bool two_sides, FILE *to)
{
	struct fold_order o;
	struct path p = { 0 };
	struct buf out = { 0 };
	int err = 0;

	fold_order_make(f, &o);
	for (uint32_t node = o.first[FOLD_ROOT]; node && err >= 0;) {
		const uint64_t a = fold_weight(f, node, 0), b = fold_weight(f, node, 1);

		path_push(&p, fold_text(f, node));
		if (a || (two_sides && b)) {
			buf_add(&out, p.text.data, p.text.len);
			add_number(&out, a);
			if (two_sides)
				add_number(&out, b);
			buf_add_char(&out, '\n');
		}
		if (out.len > WRITE_BYTES)
			err = flush(&out, to);
		if (o.first[node]) {
			node = o.first[node];
			continue;
		}
		while (node && !o.next[node]) {
			path_pop(&p);
			node = fold_parent(f, node);
		}
		if (node) {
			path_pop(&p);
			node = o.next[node];
		}
	}
	if (err >= 0)
		err = flush(&out, to);
	fold_order_free(&o);
	free(p.lengths);
	buf_free(&p.text);
	buf_free(&out);
	return err;
}
