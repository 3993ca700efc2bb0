#include "common/stack/flamegraph.h"

#include <errno.h>

#include "common/base/fail.h"
#include "tests/unit/picture.h"

/* ---- what a picture is made of ---- */

static void test_flame_graph(void)
{
	struct fold *f = FOLD(small);
	struct text t = draw(f, (struct flamegraph){ 0 });

	CHECK_STR(frames_of(t),
		  "<svg class=\"frames\" x=\"0.8%\" y=\"97\" width=\"98.4%\" height=\"64\">\n"
		  "<g class=\"boxes\">\n"
		  "<rect class=\"c2\" x=\"0%\" y=\"48\" width=\"100%\" height=\"15\">"
		  "<title>all (10 samples, 100.00%)</title></rect>\n"
		  "<rect class=\"c8\" x=\"0%\" y=\"32\" width=\"80%\" height=\"15\">"
		  "<title>a (8 samples, 80.00%)</title></rect>\n"
		  "<rect class=\"c2\" x=\"0%\" y=\"16\" width=\"10%\" height=\"15\">"
		  "<title>aa (1 samples, 10.00%)</title></rect>\n"
		  "<rect class=\"c8\" x=\"10%\" y=\"16\" width=\"70%\" height=\"15\">"
		  "<title>b (7 samples, 70.00%)</title></rect>\n"
		  "<rect class=\"c4\" x=\"10%\" y=\"0\" width=\"50%\" height=\"15\">"
		  "<title>c (5 samples, 50.00%)</title></rect>\n"
		  "<rect class=\"c4\" x=\"80%\" y=\"32\" width=\"20%\" height=\"15\">"
		  "<title>d (2 samples, 20.00%)</title></rect>\n"
		  "</g>\n<g class=\"labels\">\n"
		  "<text x=\"0%\" y=\"59\" dx=\"3\">all</text>\n"
		  "<text x=\"0%\" y=\"43\" dx=\"3\">a</text>\n"
		  "<text x=\"0%\" y=\"27\" dx=\"3\">aa</text>\n"
		  "<text x=\"10%\" y=\"27\" dx=\"3\">b</text>\n"
		  "<text x=\"10%\" y=\"11\" dx=\"3\">c</text>\n"
		  "<text x=\"80%\" y=\"43\" dx=\"3\">d</text>\n"
		  "</g>\n</svg>");
	CHECK(result.total[0] == 10 && result.frames == 6 && result.depth == 4);
	CHECK(!result.dropped && !result.too_deep && !result.gone && result.min_width == 0);
	check_facts(t, "10 samples");
	CHECK(has(t, " width=\"100%\" height=\"171\">"));
	fold_free(f);
}

/* All but style and script, which draw() has looked at. */
static void test_icicle(void)
{
	struct fold *f = FOLD(small);
	struct text t = draw(f, (struct flamegraph){
		.title = "a & b", .subtitle = "<i>\x01\xff", .unit = "\"ms\"", .width = 600,
		.is_icicle = true, .palette = FLAMEGRAPH_KINDS });

	CHECK_STR(part_of(t, "<?xml", "<style>"),
		  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flamegraph\" "
		  "version=\"1.1\" width=\"600\" height=\"211\">\n"
		  "<title>a &amp; b</title>\n<style>");
	CHECK_STR(part_of(t, "</style>", "<script>"), "</style>\n"
		  "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
		  "<text class=\"title\" x=\"50%\" y=\"24\">a &amp; b</text>\n"
		  "<text class=\"subtitle\" x=\"50%\" y=\"44\">&lt;i&gt;\\x01\xef\xbf\xbd</text>\n"
		  "<text class=\"facts\" x=\"50%\" y=\"63\">10 &quot;ms&quot;</text>\n"
		  "<svg class=\"legend\" x=\"0.8%\" y=\"71\" height=\"16\">\n"
		  "<rect class=\"c7\" x=\"0\" y=\"2\" width=\"12\" height=\"12\"/>"
		  "<text x=\"16\" y=\"12\">kernel</text>\n"
		  "<rect class=\"c87\" x=\"83\" y=\"2\" width=\"12\" height=\"12\"/>"
		  "<text x=\"99\" y=\"12\">user</text>\n"
		  "</svg>\n<g class=\"bar\" data-y=\"91\"></g>\n"
		  "<svg class=\"frames icicle\" x=\"0.8%\" y=\"137\" width=\"98.4%\" "
		  "height=\"64\">\n"
		  "<g class=\"boxes\">\n"
		  "<rect class=\"c82\" x=\"0%\" y=\"0\" width=\"100%\" height=\"15\">"
		  "<title>all (10 &quot;ms&quot;, 100.00%)</title></rect>\n"
		  "<rect class=\"c88\" x=\"0%\" y=\"16\" width=\"80%\" height=\"15\">"
		  "<title>a (8 &quot;ms&quot;, 80.00%)</title></rect>\n"
		  "<rect class=\"c82\" x=\"0%\" y=\"32\" width=\"10%\" height=\"15\">"
		  "<title>aa (1 &quot;ms&quot;, 10.00%)</title></rect>\n"
		  "<rect class=\"c88\" x=\"10%\" y=\"32\" width=\"70%\" height=\"15\">"
		  "<title>b (7 &quot;ms&quot;, 70.00%)</title></rect>\n"
		  "<rect class=\"c84\" x=\"10%\" y=\"48\" width=\"50%\" height=\"15\">"
		  "<title>c (5 &quot;ms&quot;, 50.00%)</title></rect>\n"
		  "<rect class=\"c4\" x=\"80%\" y=\"16\" width=\"20%\" height=\"15\">"
		  "<title>d (2 &quot;ms&quot;, 20.00%)</title></rect>\n"
		  "</g>\n<g class=\"labels\">\n"
		  "<text x=\"0%\" y=\"11\" dx=\"3\">all</text>\n"
		  "<text x=\"0%\" y=\"27\" dx=\"3\">a</text>\n"
		  "<text x=\"0%\" y=\"43\" dx=\"3\">aa</text>\n"
		  "<text x=\"10%\" y=\"43\" dx=\"3\">b</text>\n"
		  "<text x=\"10%\" y=\"59\" dx=\"3\">c</text>\n"
		  "<text x=\"80%\" y=\"27\" dx=\"3\">d</text>\n"
		  "</g>\n</svg>\n<script>");
	fold_free(f);
}

static void test_empty(void)
{
	struct fold *f = fold_new();
	struct text t = draw(f, (struct flamegraph){ 0 });

	CHECK(has(t, "There is no weight to draw.") && !has(t, "class=\"boxes\""));
	check_facts(t, "0 samples");
	CHECK(result.frames == 1 && result.total[0] == 0);
	draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_DIFFERENCE });
	draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_HOT_COLD, .min_width = 3 });
	/* a stack of which nothing but the root is left */
	fold_add(f, FOLD_ROOT, 0, 3);
	check_frame(draw(f, (struct flamegraph){ 0 }), "all", "3 samples, 100.00%");
	fold_free(f);
}

/* ---- names of anybody's making ---- */

static void test_hostile_names(void)
{
	static const struct line lines[] = {
		{ "</title><script>alert(1)</script>", 50, 0 }, { "]]>", 50, 0 },
		{ "&amp 'q' \"d\"", 50, 0 }, { "\x1b[31m\t\n\x7f", 50, 0 },
		{ "\xff\xc0\x80\xed\xa0\x80", 50, 0 }, { "\xef\xbf\xbe\xf4\x90\x80\x80", 50, 0 },
		{ "\xe6\x97\xa5\xe6\x9c\xac", 50, 0 }, { "\xe6\x97", 50, 0 },
		{ "f (1 x, 2%)", 50, 0 },
	};
	struct fold *f = FOLD(lines);

	fold_add(f, fold_child(f, FOLD_ROOT, TEXT("")), 0, 50);
	struct text t = draw(f, (struct flamegraph){ .title = "]]><script>", .subtitle = "</svg>",
						     .unit = "</title>" });
#define WEIGHT "50 &lt;/title&gt;, 10.00%"
	check_frame(t, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;", WEIGHT);
	check_frame(t, "]]&gt;", WEIGHT);
	check_frame(t, "&amp;amp &apos;q&apos; &quot;d&quot;", WEIGHT);
	check_frame(t, "\\x1b[31m\\x09\\x0a\\x7f", WEIGHT);
#define BAD "\xef\xbf\xbd"
	check_frame(t, BAD BAD BAD BAD BAD BAD, WEIGHT);
	check_frame(t, BAD BAD BAD BAD BAD, WEIGHT);
	check_frame(t, "\xe6\x97\xa5\xe6\x9c\xac", WEIGHT);
	check_frame(t, BAD BAD, WEIGHT);
	check_frame(t, "f (1 x, 2%)", WEIGHT);
	check_frame(t, "", WEIGHT);
	CHECK(count_of(t, "<script>") == 1 && count_of(t, "</svg>") == 2);
	fold_free(f);
}

static void test_each_byte(void)
{
	struct fold *f = fold_new();

	for (unsigned i = 0; i < 256; i++) {
		const char name[] = { 'x', (char)i, 'y' };

		fold_add(f, fold_child(f, FOLD_ROOT, (struct text){ name, 3 }), 0, 1);
	}
	struct text t = draw(f, (struct flamegraph){ 0 });

	CHECK(result.frames == 257 && count_of(t, "<title>x\\x") == 33);
	CHECK(count_of(t, "<title>x" BAD "y (") == 128);
	fold_free(f);
}

/* Cut where a character ends, before it is escaped: no half of an entity is left. */
static void test_long_names(void)
{
	char name[FOLD_FRAME_MAX];
	struct fold *f = fold_new();

	memset(name, '<', sizeof(name));
	fold_add(f, fold_child(f, FOLD_ROOT, (struct text){ name, sizeof(name) }), 0, 2);
	memcpy(name + FLAMEGRAPH_NAME_MAX - 2, "\xe6\x97\xa5", 3);
	fold_add(f, fold_child(f, FOLD_ROOT, (struct text){ name, FLAMEGRAPH_NAME_MAX + 1 }), 0,
		 2);
	memset(name, 'm', sizeof(name));
	fold_add(f, fold_child(f, FOLD_ROOT, (struct text){ name, FLAMEGRAPH_NAME_MAX }), 0, 1);
	struct text t = draw(f, (struct flamegraph){ .min_width = -1 });

	CHECK(has(t, "&lt;.. (2 samples") && !has(t, BAD));
	CHECK(has(t, "mm (1 samples"));
	/* 1200 pixels' fifth less the margins has room for 31 characters, two of them dots */
	CHECK(has(t, "\" dx=\"3\">mmmmmmmmmmmmmmmmmmmmmmmmmmmmm..</text>"));
	/* what is not written takes no room from others */
	for (char c = 'A'; c < 'A' + 40; c++) {
		memset(name, c, sizeof(name));
		fold_add(f, fold_child(f, FOLD_ROOT, (struct text){ name, sizeof(name) }), 0, 1);
	}
	draw(f, (struct flamegraph){ 0 });
	CHECK(result.frames == 4 + 40 && result.dropped == 0);
	fold_free(f);
}

/* Cells, not bytes: a tenth of the width has room for 15. */
static void test_labels(void)
{
#define SUN "\xe6\x97\xa5"
	static const struct line lines[] = {
		{ SUN SUN SUN SUN SUN SUN SUN SUN, 1, 0 },
		{ "\x1b\x1b\x1b\x1b", 1, 0 }, { "\xc3\xa9\xc3\xa9\xc3\xa9 and 11 more", 1, 0 },
		{ "rest", 7, 0 },
	};
	struct fold *f = FOLD(lines);
	struct text t = draw(f, (struct flamegraph){ 0 });

	CHECK(has(t, ">" SUN SUN SUN SUN SUN SUN "..<"));
	CHECK(has(t, ">\\x1b\\x1b\\x1b..<") && has(t, ">\xc3\xa9\xc3\xa9\xc3\xa9 and 11 more<"));
	fold_free(f);
}

/* Frames meet exactly, however their shares are rounded. */
static void test_places(void)
{
	static const struct line lines[] = { { "a", 1, 0 }, { "b", 1, 0 }, { "c", 1, 0 } };
	struct fold *f = FOLD(lines);
	struct text t = draw(f, (struct flamegraph){ 0 });

	CHECK(has(t, "x=\"0%\" y=\"0\" width=\"33.333333%\""));
	CHECK(has(t, "x=\"33.333333%\" y=\"0\" width=\"33.333334%\""));
	CHECK(has(t, "x=\"66.666667%\" y=\"0\" width=\"33.333333%\""));
	fold_free(f);
}

/* ---- bounds ---- */

static void test_min_width(void)
{
	static const struct line lines[] = {
		{ "a", 997, 0 }, { "b;x", 1, 0 }, { "b;y", 1, 0 },
		{ "c", 1, 0 },
	};
	struct fold *f = FOLD(lines);
	struct text t = draw(f, (struct flamegraph){ .min_width = 1.3 });

	CHECK(has(t, "<title>b (2 samples, 0.20%)"));
	CHECK(!has(t, "<title>c") && !has(t, "<title>x"));
	CHECK(result.frames == 3 && result.dropped == 3 && result.min_width == 2.4);
	check_facts(t, "1,000 samples; not drawn: 3 frames below 2.4 px (2 samples)");
	draw(f, (struct flamegraph){ .min_width = 1.2 });
	CHECK(result.frames == 6 && result.dropped == 0);
	draw(f, (struct flamegraph){ .min_width = 1e300 });
	CHECK(result.frames == 1 && result.dropped == 5);
	draw(f, (struct flamegraph){ .min_width = -1 });
	CHECK(result.frames == 6 && result.dropped == 0 && result.min_width == 0);
	fold_free(f);
}

static void test_size(void)
{
	struct fold *f = fold_new();
	char name[64];

	for (unsigned i = 0; i < 200000; i++) {
		const uint32_t parent = i < 1000 ? FOLD_ROOT : 1 + i % 1000;
		const int len = snprintf(name, sizeof(name), "function_%u_with_a_long_name", i);

		fold_add(f, fold_child(f, parent, (struct text){ name, (size_t)len }), 0,
			 1 + i % 977);
	}
	draw(f, (struct flamegraph){ 0 });
	CHECK(svg_len < 3000000 && svg_len > 1500000);
	CHECK(result.frames + result.dropped == 200001 && result.min_width > 0);
	for (uint32_t i = 1; i < fold_count(f); i++)
		fold_add(f, i, 1, 1 + i % 331);
	draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_DIFFERENCE });
	CHECK(svg_len < 3000000 && svg_len > 1500000);
	draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_HOT_COLD });
	CHECK(svg_len < 3000000 && svg_len > 1500000);
	draw(f, (struct flamegraph){ .min_width = -1 });
	CHECK(result.frames == 200001 && svg_len > 20000000);
	fold_free(f);

	/* too many of the least weight there is */
	f = fold_new();
	for (unsigned i = 0; i < 50000; i++) {
		const int len = snprintf(name, sizeof(name), "function_%u", i);

		fold_add(f, fold_child(f, FOLD_ROOT, (struct text){ name, (size_t)len }), 0,
			 1 + i / 49998);
	}
	draw(f, (struct flamegraph){ 0 });
	CHECK(result.frames == 3 && result.dropped == 49998);
	fold_free(f);
}

static void test_depth(void)
{
	struct fold *f = fold_new();
	uint32_t node = FOLD_ROOT;

	for (unsigned i = 0; i < FLAMEGRAPH_DEPTH_MAX + 500; i++)
		node = fold_child(f, node, TEXT("recurse"));
	fold_add(f, node, 0, 7);
	fold_add(f, fold_child(f, FOLD_ROOT, TEXT("shallow")), 0, 1);
	struct text t = draw(f, (struct flamegraph){ 0 });

	CHECK(result.frames == FLAMEGRAPH_DEPTH_MAX + 2 && result.too_deep == 500);
	CHECK(result.depth == FLAMEGRAPH_DEPTH_MAX + 1);
	check_facts(t, "8 samples; not drawn: 500 frames more than 2000 deep");
	check_frame(t, "shallow", "1 samples, 12.50%");
	/* what is never drawn takes no room from what is */
	for (unsigned i = 0; i < 100000; i++)
		node = fold_child(f, node, TEXT("recurse"));
	fold_add(f, node, 0, 7);
	draw(f, (struct flamegraph){ 0 });
	CHECK(result.frames == FLAMEGRAPH_DEPTH_MAX + 2 && result.too_deep == 100500);
	fold_free(f);
}

static void test_weights(void)
{
	static const struct line lines[] = {
		{ "a;b", UINT64_MAX, 0 }, { "a;c", UINT64_MAX, 0 }, { "d", 5, 0 },
	};
	struct fold *f = FOLD(lines);
	struct text t = draw(f, (struct flamegraph){ .min_width = -1 });

	CHECK(result.total[0] == UINT64_MAX);
	check_frame(t, "a", "18,446,744,073,709,551,615 samples, 100.00%");
	check_frame(t, "d", "5 samples, 0.00%");
	CHECK(!has(t, "width=\"-") && !has(t, "width=\"1844"));
	fold_free(f);

	f = fold_new();
	fold_add_part(f, fold_child(f, FOLD_ROOT, TEXT("half")), 0, 0.5);
	fold_add_part(f, fold_child(f, FOLD_ROOT, TEXT("quarter")), 0, 0.25);
	t = draw(f, (struct flamegraph){ 0 });
	check_frame(t, "half", "1 samples, 100.00%");
	fold_free(f);
}

static void test_full_disk(void)
{
	struct fold *f = FOLD(small);
	FILE *full = fopen("/dev/full", "w");

	if (full) {
		CHECK(flamegraph_write(f, &(struct flamegraph){ 0 }, full) == -ENOSPC);
		CHECK(strstr(fail_text(), "flame graph"));
		fclose(full);
	} else {
		check_skip("full disk", "no /dev/full");
	}
	fold_free(f);
}

int main(void)
{
	test_flame_graph();
	test_icicle();
	test_empty();
	test_hostile_names();
	test_each_byte();
	test_long_names();
	test_labels();
	test_places();
	test_min_width();
	test_size();
	test_depth();
	test_weights();
	test_full_disk();
	free(svg);
	return check_done("flamegraph");
}
