/* Folded stacks in the order of their names, and as text. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/stack/fold_impl.h"

#define WRITE_BYTES (256u << 10)       /* handed to stdio at a time */

/* ---- order ---- */

/* A name with its first eight bytes as a number of the same order: most need no more. */
struct ranked {
	uint64_t key;
	struct text text;
	uint32_t name;
};

static uint64_t first_bytes(struct text t)
{
	uint64_t key = 0;

	if (t.len)
		memcpy(&key, t.data, t.len < sizeof(key) ? t.len : sizeof(key));
	return be64toh(key);
}

static int by_bytes(const void *a, const void *b)
{
	const struct ranked *p = a, *q = b;
	const struct text x = p->text, y = q->text;

	if (p->key != q->key)
		return p->key < q->key ? -1 : 1;
	const size_t least = x.len < y.len ? x.len : y.len;
	const int differs = memcmp(x.data, y.data, least);

	return differs ? differs : (x.len > y.len) - (x.len < y.len);
}

/* From the number of nodes that have a name to where the first of them stands among all. */
static void names_to_places(const struct fold *f, uint32_t *places, uint32_t names)
{
	uint32_t used = 0, place = 0;

	for (uint32_t i = 0; i <= names; i++)
		used += places[i] != 0;
	struct ranked *ranked = mem_alloc((used + 1ull) * sizeof(*ranked));

	used = 0;
	for (uint32_t i = 0; i <= names; i++) {
		if (!places[i])
			continue;
		const struct text t = fold_bytes_of(f, i);

		ranked[used++] = (struct ranked){ first_bytes(t), t, i };
	}
	qsort(ranked, used, sizeof(*ranked), by_bytes);
	for (uint32_t i = 0; i < used; i++) {
		const uint32_t count = places[ranked[i].name];

		places[ranked[i].name] = place;
		place += count;
	}
	free(ranked);
}

/* Each of the nodes hung in front of its parent's list, the last first. */
static void hang(const struct fold *f, const uint32_t *nodes, uint32_t count, struct fold_order *o)
{
	for (uint32_t i = count; i-- > 0;) {
		const uint32_t node = nodes ? nodes[i] : i + 1, parent = f->nodes[node].parent;

		o->link[node].next = o->link[parent].first;
		o->link[parent].first = node;
	}
}

/* The nodes that have siblings, taken off their parents' lists. Most have none. */
static uint32_t *take_siblings(const struct fold *f, struct fold_order *o, uint32_t *count)
{
	uint32_t *list = NULL, n = 0;
	size_t cap = 0;

	for (uint32_t parent = 0; parent < f->count; parent++) {
		uint32_t node = o->link[parent].first;

		if (!node || !o->link[node].next)
			continue;
		for (o->link[parent].first = 0; node; node = o->link[node].next) {
			list = mem_grow(list, &cap, n + 1ull, sizeof(*list));
			list[n++] = node;
		}
	}
	*count = n;
	return list;
}

/*
 * Names are sorted once; then nodes are dealt out by the place of their name (a counting sort) and
 * hung in front of their parent's list, the last first. No list is ever sorted.
 */
static void order_siblings(const struct fold *f, struct fold_order *o)
{
	uint32_t names = 0, count;
	uint32_t *nodes = take_siblings(f, o, &count);

	for (uint32_t i = 0; i < count; i++)
		if (f->nodes[nodes[i]].name > names)
			names = f->nodes[nodes[i]].name;
	uint32_t *places = mem_alloc((names + 1ull) * sizeof(*places));
	uint32_t *sorted = mem_alloc((count + 1ull) * sizeof(*sorted));

	for (uint32_t i = 0; i < count; i++)
		places[f->nodes[nodes[i]].name]++;
	names_to_places(f, places, names);
	for (uint32_t i = 0; i < count; i++)
		sorted[places[f->nodes[nodes[i]].name]++] = nodes[i];
	hang(f, sorted, count, o);
	free(nodes);
	free(places);
	free(sorted);
}

void fold_order_of(const struct fold *f, const uint32_t *nodes, uint32_t count,
		   struct fold_order *o)
{
	o->link = mem_alloc(f->count * sizeof(*o->link));
	hang(f, nodes, count, o);
	order_siblings(f, o);
}

void fold_order_make(const struct fold *f, struct fold_order *o)
{
	fold_order_of(f, NULL, fold_count(f) - 1, o);
}

void fold_order_free(struct fold_order *o)
{
	free(o->link);
	o->link = NULL;
}

/* ---- text ---- */

static bool needs_escape(unsigned char c)
{
	return c < ' ' || c == 0x7f || c == ';';
}

/* Eight bytes at once: is one of them below a blank, DEL or a semicolon? May say so of more. */
static bool may_need_escape(uint64_t v)
{
	const uint64_t ones = ~0ull / 255, high = ones << 7;
	const uint64_t semicolon = v ^ ones * ';', del = v ^ ones * 0x7f;

	return ((v - ones * ' ') | (semicolon - ones) | (del - ones)) & ~v & high;
}

/* How many bytes at the start are sure to stand as they are. */
static size_t plain_start(struct text t)
{
	uint64_t v;
	size_t i = 0;

	for (; i + sizeof(v) <= t.len; i += sizeof(v)) {
		memcpy(&v, t.data + i, sizeof(v));
		if (may_need_escape(v))
			break;
	}
	return i;
}

void fold_escape(struct buf *to, struct text name)
{
	size_t from = 0;

	for (size_t i = plain_start(name); i < name.len; i++) {
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

/* A walk in order, some nodes at a time. */
struct step {
	uint32_t node, depth;          /* the root's children are at 0 */
};

struct walk {
	const struct fold *fold;
	struct fold_order order;
	uint32_t node, depth;          /* where it goes on; FOLD_ROOT: it is through */
};

#define STEPS 1024u                    /* taken before they are written */
#define AHEAD 16u                      /* steps whose names are on their way from memory */

static size_t walk_on(struct walk *w, struct step *steps)
{
	const struct fold_order o = w->order;
	uint32_t node = w->node, depth = w->depth;
	size_t n = 0;

	while (node && n < STEPS) {
		/* by the time the walk comes back to it, it is near */
		__builtin_prefetch(&w->fold->nodes[o.link[node].next]);
		__builtin_prefetch(&o.link[o.link[node].next]);
		steps[n++] = (struct step){ node, depth };
		if (o.link[node].first) {
			node = o.link[node].first;
			depth++;
			continue;
		}
		for (; node && !o.link[node].next; depth--)
			node = w->fold->nodes[node].parent;
		node = o.link[node].next;
	}
	w->node = node;
	w->depth = depth;
	return n;
}

struct writer {
	const struct fold *fold;
	bool has_two;                  /* weights in a line */
	FILE *to;
	int err;
	struct buf out;
	struct buf path;               /* so far, and how long it was before each frame */
	size_t *lengths;
	size_t cap;
};

static void flush(struct writer *w)
{
	if (w->out.len && w->err >= 0 &&
	    fwrite(w->out.data, 1, w->out.len, w->to) != w->out.len)
		w->err = fail_errno(errno ? errno : EIO, "writing folded stacks");
	buf_reset(&w->out);
}

/* Readers of folded text pass over lines that start with # or //. */
static bool looks_like_comment(struct text name)
{
	return text_starts(name, "#") || text_starts(name, "//");
}

/* The path to a child of what is at depth - 1 on it. */
static void set_path(struct writer *w, uint32_t depth, struct text name)
{
	w->lengths = mem_grow(w->lengths, &w->cap, depth + 2u, sizeof(*w->lengths));
	w->path.len = w->lengths[depth];
	if (depth) {
		buf_add_char(&w->path, ';');
	} else if (looks_like_comment(name)) {
		buf_printf(&w->path, "\\x%02x", name.data[0]);
		name = (struct text){ name.data + 1, name.len - 1 };
	}
	fold_escape(&w->path, name);
	w->lengths[depth + 1] = w->path.len;
}

static void add_line(struct writer *w, uint32_t node)
{
	const uint64_t a = fold_weight(w->fold, node, 0);
	const uint64_t b = w->has_two ? fold_weight(w->fold, node, 1) : 0;

	if (!a && !b)
		return;
	buf_add(&w->out, w->path.data, w->path.len);
	add_number(&w->out, a);
	if (w->has_two)
		add_number(&w->out, b);
	buf_add_char(&w->out, '\n');
	if (w->out.len > WRITE_BYTES)
		flush(w);
}

/* What the steps will need, in two parts: a name's place, then its bytes. */
static void fetch(const struct fold *f, const struct step *steps, size_t i, size_t count)
{
	if (i + AHEAD < count)
		__builtin_prefetch(&f->names[f->nodes[steps[i + AHEAD].node].name]);
	if (i + AHEAD / 2 < count)
		__builtin_prefetch(fold_bytes_of(f, f->nodes[steps[i + AHEAD / 2].node].name)
					   .data);
}

static void take_steps(struct writer *w, const struct step *steps, size_t count)
{
	const struct fold *f = w->fold;

	for (size_t i = 0; i < count; i++) {
		const struct node *node = &f->nodes[steps[i].node];

		fetch(f, steps, i, count);
		set_path(w, steps[i].depth, fold_bytes_of(f, node->name));
		if (node->weight)
			add_line(w, steps[i].node);
	}
}

int fold_write(const struct fold *f, bool two_sides, FILE *to)
{
	struct writer w = { .fold = f, .has_two = two_sides, .to = to };
	struct walk walk = { .fold = f };
	struct step steps[STEPS];
	size_t n;

	fold_order_make(f, &walk.order);
	walk.node = walk.order.link[FOLD_ROOT].first;
	while (w.err >= 0 && (n = walk_on(&walk, steps)) > 0)
		take_steps(&w, steps, n);
	flush(&w);
	fold_order_free(&walk.order);
	free(w.lengths);
	buf_free(&w.path);
	buf_free(&w.out);
	return w.err;
}
