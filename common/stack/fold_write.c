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

static uint32_t node_at(const uint32_t *nodes, uint32_t i)
{
	return nodes ? nodes[i] : i + 1;
}

/* From the number of nodes that have a name to where the first of them stands among all. */
static void names_to_places(const struct fold *f, uint32_t *places, uint32_t names)
{
	struct ranked *ranked = mem_alloc((names + 1ull) * sizeof(*ranked));
	uint32_t used = 0, place = 0;

	for (uint32_t i = 0; i <= names; i++)
		if (places[i])
			ranked[used++] = (struct ranked){ fold_name_text(f, i), i };
	qsort(ranked, used, sizeof(*ranked), by_bytes);
	for (uint32_t i = 0; i < used; i++) {
		const uint32_t count = places[ranked[i].name];

		places[ranked[i].name] = place;
		place += count;
	}
	free(ranked);
}

/*
 * Names are sorted once; then nodes are dealt out by the place of their name (a counting sort) and
 * hung in front of their parent's list, the last first. No list is ever sorted.
 */
void fold_order_of(const struct fold *f, const uint32_t *nodes, uint32_t count,
		   struct fold_order *o)
{
	uint32_t names = 0;

	for (uint32_t i = 0; i < count; i++)
		if (fold_name_of(f, node_at(nodes, i)) > names)
			names = fold_name_of(f, node_at(nodes, i));
	uint32_t *places = mem_alloc((names + 1ull) * sizeof(*places));
	uint32_t *sorted = mem_alloc((count + 1ull) * sizeof(*sorted));

	for (uint32_t i = 0; i < count; i++)
		places[fold_name_of(f, node_at(nodes, i))]++;
	names_to_places(f, places, names);
	for (uint32_t i = 0; i < count; i++)
		sorted[places[fold_name_of(f, node_at(nodes, i))]++] = node_at(nodes, i);

	const size_t all = fold_count(f);

	*o = (struct fold_order){ mem_alloc(all * sizeof(*o->first)),
				  mem_alloc(all * sizeof(*o->next)) };
	for (uint32_t i = count; i-- > 0;) {
		const uint32_t node = sorted[i], parent = fold_parent(f, node);

		o->next[node] = o->first[parent];
		o->first[parent] = node;
	}
	free(places);
	free(sorted);
}

void fold_order_make(const struct fold *f, struct fold_order *o)
{
	fold_order_of(f, NULL, fold_count(f) - 1, o);
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
		return fail_errno(errno ? errno : EIO, "writing folded stacks");
	buf_reset(out);
	return 0;
}

/* What a walk carries: the path so far, and where it was before each frame. */
struct path {
	struct buf text;
	size_t *lengths;
	size_t depth, cap;
};

/* Readers of folded text pass over lines that start with # or //. */
static bool looks_like_comment(struct text name)
{
	return text_starts(name, "#") || text_starts(name, "//");
}

static void path_push(struct path *p, struct text name)
{
	p->lengths = mem_grow(p->lengths, &p->cap, p->depth + 1, sizeof(*p->lengths));
	p->lengths[p->depth++] = p->text.len;
	if (p->depth > 1) {
		buf_add_char(&p->text, ';');
	} else if (looks_like_comment(name)) {
		buf_printf(&p->text, "\\x%02x", name.data[0]);
		name = (struct text){ name.data + 1, name.len - 1 };
	}
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
