/* Stacks for a test, the flame graph of them, and questions about it. */
#ifndef TESTS_UNIT_PICTURE_H
#define TESTS_UNIT_PICTURE_H

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/stack/flamegraph.h"
#include "common/stack/flamegraph_impl.h"
#include "tests/unit/check.h"
#include "tests/unit/xml.h"

struct line {
	const char *stack;             /* frames parted by ; */
	uint64_t before, after;
};

static inline struct fold *fold_of(const struct line *lines, size_t count)
{
	struct fold *f = fold_new();

	for (size_t i = 0; i < count; i++) {
		struct scan s = scan_of(text_of(lines[i].stack));
		struct text frame;
		uint32_t node = FOLD_ROOT;

		while (scan_until(&s, ';', &frame))
			node = fold_child(f, node, frame);
		node = fold_child(f, node, scan_rest(&s));
		fold_add(f, node, 0, lines[i].before);
		if (lines[i].after)
			fold_add(f, node, 1, lines[i].after);
	}
	return f;
}
#define FOLD(lines) fold_of(lines, sizeof(lines) / sizeof((lines)[0]))

static char *svg;
static size_t svg_len;
static struct flamegraph_result result;

static inline bool is_rule(struct text line)
{
	struct scan s = scan_of(line);
	struct text digits;
	uint64_t colour;

	return scan_literal(&s, ".flamegraph .c") && scan_u64(&s, &colour) &&
	       scan_literal(&s, "{fill:#") && scan_until(&s, '}', &digits) && digits.len == 6 &&
	       s.at == s.end;
}

/* The style sheet is ours and rules for colours; the script is ours. */
static inline bool has_nothing_foreign(struct text all)
{
	struct scan s = scan_of(all);
	struct text line, css = flamegraph_css(), js = flamegraph_js();
	const char *style = memmem(all.data, all.len, "<style><![CDATA[\n", 17);
	const char *script = memmem(all.data, all.len, "<script><![CDATA[\n", 18);

	if (!style || !script || memcmp(style + 17, css.data, css.len) != 0 ||
	    memcmp(script + 18, js.data, js.len) != 0)
		return false;
	s.at = style + 17 + css.len;
	while (scan_line(&s, &line) && !text_is(line, "]]></style>"))
		if (!is_rule(line) && !text_is(line, "}") &&
		    !text_is(line, "@media (prefers-color-scheme:dark){"))
			return false;
	s.at = script + 18 + js.len;
	return scan_line(&s, &line) && text_is(line, "]]></script>") && scan_line(&s, &line) &&
	       text_is(line, "</svg>") && s.at == s.end;
}

/* The whole picture: well-formed, and with nothing of a name in style or script. */
static inline struct text draw(const struct fold *f, struct flamegraph g)
{
	free(svg);
	svg = NULL;
	FILE *to = open_memstream(&svg, &svg_len);

	g.result = &result;
	CHECK(to && flamegraph_write(f, &g, to) == 0 && fclose(to) == 0);
	const struct text all = { svg, svg_len };

	CHECK(xml_is_well_formed(all));
	CHECK(has_nothing_foreign(all));
	return all;
}

static inline size_t count_of(struct text t, const char *what)
{
	size_t count = 0;

	for (const char *at = t.data; (at = memmem(at, (size_t)(t.data + t.len - at), what,
						   strlen(what))); at += strlen(what))
		count++;
	return count;
}

static inline bool has(struct text t, const char *what)
{
	return count_of(t, what) > 0;
}

/* A NUL-terminated part, from the first `from` to behind the next `until`. */
static inline const char *part_of(struct text t, const char *from, const char *until)
{
	static char *parts[4];
	static unsigned next;
	char **part = &parts[next++ % 4];
	const char *start = memmem(t.data, t.len, from, strlen(from));
	const char *end = !start ? NULL : memmem(start, (size_t)(t.data + t.len - start), until,
						 strlen(until));

	free(*part);
	*part = end ? strndup(start, (size_t)(end - start) + strlen(until)) : NULL;
	return *part ? *part : "(none)";
}

static inline const char *frames_of(struct text t)
{
	return part_of(t, "<svg class=\"frames", "</svg>");
}

static inline const char *facts_of(struct text t)
{
	return part_of(t, "<text class=\"facts\"", "</text>");
}

static inline void check_facts(struct text t, const char *facts)
{
	struct buf b = { 0 };

	buf_printf(&b, ">%s</text>", facts);
	CHECK_STR(strchr(facts_of(t), '>'), b.data);
	buf_free(&b);
}

/* What a frame's title says behind its name. */
static inline void check_frame(struct text t, const char *name, const char *weight)
{
	struct buf b = { 0 };

	buf_printf(&b, "<title>%s (%s)</title>", name, weight);
	if (!check_that(has(t, b.data), b.data, __FILE__, __LINE__))
		printf("%s\n", frames_of(t));
	buf_free(&b);
}

/* The class of the first frame whose title starts like that. */
static inline unsigned colour_of(struct text t, const char *title)
{
	struct scan s = scan_of(t);
	struct text line;
	uint64_t colour;

	while (scan_line(&s, &line)) {
		struct scan l = scan_of(line);
		struct text skipped, attributes;

		if (scan_literal(&l, "<rect class=\"c") && scan_u64(&l, &colour) &&
		    scan_until(&l, '>', &attributes) && scan_until(&l, '>', &skipped) &&
		    text_starts(scan_rest(&l), title))
			return (unsigned)colour;
	}
	return 9999;
}

#define GROUP(t, title) (colour_of(t, title) / FLAMEGRAPH_SHADES)

static const struct line small[] = {
	{ "a;b;c", 5, 0 }, { "a;b", 2, 0 }, { "a;aa", 1, 0 }, { "d_[k]", 2, 0 },
};

#endif
