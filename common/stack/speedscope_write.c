#include "common/stack/speedscope_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"

#define WRITE_BYTES (256u << 10)       /* handed to stdio at a time */

struct writer {
	FILE *to;
	struct buf out;
	uint32_t *path, *nodes;        /* a stack, root first; those with a weight, in order */
	size_t path_cap, count;
	int err;
};

static void flush(struct writer *w)
{
	errno = 0;
	if (!w->err && w->out.len && fwrite(w->out.data, 1, w->out.len, w->to) != w->out.len)
		w->err = fail_errno(errno ? errno : EIO, "writing the profile");
	buf_reset(&w->out);
}

static void add_string(struct buf *to, struct text t)
{
	uint32_t code;

	buf_add_char(to, '"');
	while (t.len) {
		const unsigned char c = (unsigned char)t.data[0];
		const size_t n = utf8_decode(t.data, t.len, &code);

		if (c == '"' || c == '\\')
			buf_printf(to, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			buf_printf(to, "\\u%04x", c);
		else if (!n)
			buf_add_text(to, "\xef\xbf\xbd");
		else
			buf_add(to, t.data, n);
		t.data += n ? n : 1;
		t.len -= n ? n : 1;
	}
	buf_add_char(to, '"');
}

static const char *long_unit(const char *unit)
{
	return !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "us") ? "microseconds" :
	       !strcmp(unit, "ms") ? "milliseconds" : !strcmp(unit, "s") ? "seconds" :
	       !strcmp(unit, "bytes") ? "bytes" : "none";
}

/* Nodes with a weight in the order of the tree. */
static void find_nodes(struct writer *w, const struct fold *f)
{
	struct fold_order o;

	fold_order_make(f, &o);
	w->nodes = mem_alloc(fold_count(f) * sizeof(*w->nodes));
	for (uint32_t node = o.link[FOLD_ROOT].first; node;) {
		if (fold_weight(f, node, 0))
			w->nodes[w->count++] = node;
		if (o.link[node].first) {
			node = o.link[node].first;
			continue;
		}
		while (node && !o.link[node].next)
			node = fold_parent(f, node);
		if (node)
			node = o.link[node].next;
	}
	fold_order_free(&o);
}

static void add_frames(struct writer *w, const struct fold *f)
{
	uint32_t names = 1;

	for (uint32_t i = 1; i < fold_count(f); i++)
		if (fold_name_of(f, i) >= names)
			names = fold_name_of(f, i) + 1;
	for (uint32_t i = 1; i < names; i++) {
		buf_add_text(&w->out, i > 1 ? ",\n{\"name\":" : "\n{\"name\":");
		add_string(&w->out, fold_name_text(f, i));
		buf_add_char(&w->out, '}');
		if (w->out.len > WRITE_BYTES)
			flush(w);
	}
}

/* Root first; a frame is its name's number less one. */
static void add_stack(struct writer *w, const struct fold *f, uint32_t node)
{
	size_t depth = 0;

	for (; node != FOLD_ROOT; node = fold_parent(f, node)) {
		w->path = mem_grow(w->path, &w->path_cap, depth + 1, sizeof(*w->path));
		w->path[depth++] = fold_name_of(f, node) - 1;
	}
	buf_add_char(&w->out, '[');
	while (depth--)
		buf_printf(&w->out, depth ? "%u," : "%u", w->path[depth]);
	buf_add_char(&w->out, ']');
	if (w->out.len > WRITE_BYTES)
		flush(w);
}

int speedscope_write(const struct fold *f, const struct profile_name *what, FILE *to)
{
	struct writer w = { .to = to };
	uint64_t total = 0;

	find_nodes(&w, f);
	buf_add_text(&w.out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			     "\n\"exporter\":");
	add_string(&w.out, text_of(what->program));
	buf_add_text(&w.out, ",\n\"shared\":{\"frames\":[");
	add_frames(&w, f);
	buf_add_text(&w.out, "]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":");
	add_string(&w.out, text_of(what->name ? what->name : "samples"));
	buf_printf(&w.out, ",\"unit\":\"%s\",\n\"samples\":[", long_unit(what->unit));
	for (size_t i = 0; i < w.count; i++) {
		if (i)
			buf_add_text(&w.out, ",\n");
		add_stack(&w, f, w.nodes[i]);
	}
	buf_add_text(&w.out, "],\n\"weights\":[");
	for (size_t i = 0; i < w.count; i++) {
		const uint64_t weight = fold_weight(f, w.nodes[i], 0);

		total += weight;
		buf_printf(&w.out, i ? ",%llu" : "%llu", (unsigned long long)weight);
		if (w.out.len > WRITE_BYTES)
			flush(&w);
	}
	buf_printf(&w.out, "],\n\"startValue\":0,\"endValue\":%llu}]}\n",
		   (unsigned long long)total);
	flush(&w);
	free(w.path);
	free(w.nodes);
	buf_free(&w.out);
	return w.err;
}
