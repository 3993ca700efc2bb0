/* Differences, hot/cold and what colours mean. */
#include "tests/unit/picture.h"

/* ---- two sides ---- */

static const struct line changed[] = {
	{ "app;main;parse", 200, 260 }, { "app;main;eval;call", 200, 120 },
	{ "app;main;eval;old", 30, 0 }, { "app;main;gc;mark", 40, 90 },
	{ "app;main;gc;sweep", 0, 55 }, { "idle", 300, 300 },
};
enum { SAME = 0, GREW = 1, SHRANK = 10, NEW = 19, GONE = 20 };

static void test_difference(void)
{
	struct fold *f = FOLD(changed);
	struct text t = draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_DIFFERENCE });

	check_facts(t, "before 770 samples, after 825 samples; "
		    "1 frame only before: no width here");
	check_frame(t, "all", "after 825 samples, 100.00%; before 770, 100.00%; +0.00% of all, "
		    "+0.00% of its own");
	check_frame(t, "gc", "after 145 samples, 17.58%; before 40, 5.19%; +12.38% of all, "
		    "+238.33% of its own");
	/* as many as before, but of more */
	check_frame(t, "idle", "after 300 samples, 36.36%; before 300, 38.96%; -2.60% of all, "
		    "-6.67% of its own");
	check_frame(t, "sweep", "after 55 samples, 6.67%; before 0, 0.00%; new");
	CHECK(!has(t, "<title>old"));
	CHECK(result.gone == 1 && result.total[0] == 770 && result.total[1] == 825);
	/* eval fell by 15.32 points, the most; main grew though it has no weight of its own */
	CHECK(GROUP(t, "eval") == SHRANK + 8 && GROUP(t, "gc") == GREW + 8);
	CHECK(GROUP(t, "all") == SAME && GROUP(t, "sweep") == NEW);
	CHECK(GROUP(t, "main") >= GREW && GROUP(t, "main") < SHRANK);
	CHECK(GROUP(t, "idle") > SHRANK && GROUP(t, "idle") < SHRANK + 8);
	CHECK(has(t, ">new</text>") && !has(t, ">gone</text>"));

	t = draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_DIFFERENCE, .is_negated = true });
	check_facts(t, "before 770 samples, after 825 samples; 1 frame only after: no width here");
	check_frame(t, "old", "after 0 samples, 0.00%; before 30, 3.90%; gone");
	CHECK(has(t, "width=\"3.896104%\"") && GROUP(t, "old") == GONE);
	CHECK(GROUP(t, "gc") == GREW + 8 && !has(t, "<title>sweep"));
	CHECK(has(t, ">gone</text>") && !has(t, ">new</text>"));
	fold_free(f);
}

/* Twice the samples of everything is no change. */
static void test_longer_run(void)
{
	static const struct line longer[] = { { "a;b", 10, 20 }, { "a;c", 7, 14 }, { "d", 1, 2 } };
	struct fold *f = FOLD(longer);
	struct text t = draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_DIFFERENCE });

	CHECK(GROUP(t, "a") == SAME && GROUP(t, "b") == SAME && GROUP(t, "d") == SAME);
	check_frame(t, "b", "after 20 samples, 55.56%; before 10, 55.56%; +0.00% of all, "
		    "+0.00% of its own");
	CHECK(has(t, ">larger share</text>") && has(t, ">smaller share</text>"));
	fold_free(f);
}

/* Out of next to nothing, and out of nothing at all. */
static void test_large_change(void)
{
	static const struct line lines[] = { { "a", 1, 1000 }, { "b", 999999, 0 } };
	struct fold *f = FOLD(lines);
	struct text t = draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_DIFFERENCE });

	check_frame(t, "a", "after 1,000 samples, 100.00%; before 1, 0.00%; +100.00% of all, "
		    "+1000000% and more of its own");
	fold_free(f);
	f = FOLD(small);
	t = draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_DIFFERENCE });
	CHECK(has(t, "There is no weight to draw.") && result.gone == 5);
	check_facts(t, "before 10 samples, after 0 samples; 5 frames only before: no width here");
	t = draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_DIFFERENCE, .is_negated = true });
	check_frame(t, "b", "after 0 samples, 0.00%; before 7, 70.00%; gone");
	fold_free(f);
}

static void test_hot_cold(void)
{
	static const struct line lines[] = {
		{ "a;run", 60, 0 }, { "a;wait", 0, 20 }, { "b", 10, 10 },
	};
	struct fold *f = FOLD(lines);
	struct text t = draw(f, (struct flamegraph){ .sides = FLAMEGRAPH_HOT_COLD, .unit = "ms" });

	check_facts(t, "on the CPU 70 ms, off the CPU 30 ms");
	check_frame(t, "a", "80 ms, 80.00%; on the CPU 60, off 20");
	check_frame(t, "wait", "20 ms, 20.00%; on the CPU 0, off 20");
	CHECK(GROUP(t, "run") == 0 && GROUP(t, "wait") == 8 && GROUP(t, "b") == 4);
	CHECK(GROUP(t, "a") == 2);
	CHECK(has(t, ">on the CPU</text>") && has(t, ">off the CPU</text>"));
	fold_free(f);
}

/* ---- colours ---- */

static void test_kinds(void)
{
	static const struct line lines[] = {
		{ "write_[k]", 1, 0 }, { "lambda_[j]", 1, 0 }, { "tiny_[i]", 1, 0 },
		{ "java/util/Map.get", 1, 0 }, { "Lorg/x/Y", 1, 0 }, { "com.z.Main.run", 1, 0 },
		{ "std::sort", 1, 0 }, { "main", 1, 0 }, { "[libx.so]", 1, 0 },
		{ "javascript", 1, 0 }, { "net/http.Get", 1, 0 }, { "odd_[z]", 1, 0 },
	};
	static const struct { const char *title; unsigned group; } wanted[] = {
		{ "write (", 0 }, { "lambda (", 1 }, { "tiny (", 2 }, { "java/util", 3 },
		{ "Lorg/x", 3 }, { "com.z", 3 }, { "std::sort", 4 }, { "main", 5 }, { "[libx", 6 },
		{ "javascript", 5 }, { "net/http", 5 }, { "odd_[z] (", 5 },
	};
	struct fold *f = FOLD(lines);
	struct text t = draw(f, (struct flamegraph){ .palette = FLAMEGRAPH_KINDS });

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!CHECK(GROUP(t, wanted[i].title) == wanted[i].group))
			printf("%s is %u\n", wanted[i].title, GROUP(t, wanted[i].title));
	fold_free(f);

	/* only what is there is explained; the root is of no kind */
	static const struct line kernel[] = { { "idle_[k]", 1, 0 } };

	f = FOLD(kernel);
	t = draw(f, (struct flamegraph){ .palette = FLAMEGRAPH_KINDS });
	CHECK(has(t, ">kernel</text>") && !has(t, ">user</text>") && !has(t, ">JIT</text>"));
	fold_free(f);
}

static void test_chain(void)
{
	static const struct line lines[] = { { "app;read;--;irq_[w]", 1, 0 } };
	struct fold *f = FOLD(lines);
	struct text t = draw(f, (struct flamegraph){ .palette = FLAMEGRAPH_CHAIN });

	CHECK(GROUP(t, "app") == 0 && GROUP(t, "irq (") == 1 && GROUP(t, "-- (") == 2);
	CHECK(has(t, ">waker</text>") && has(t, ">blocked</text>"));
	fold_free(f);
}

/* The same name has the same colour whatever else is there, and what a palette is called for. */
static void test_palettes(void)
{
	static const struct line other[] = { { "x;y;b", 900, 0 }, { "z;c", 1, 0 } };
	static const struct { enum flamegraph_palette palette; unsigned strongest; } wanted[] = {
		{ FLAMEGRAPH_ON_CPU, 16 }, { FLAMEGRAPH_OFF_CPU, 0 }, { FLAMEGRAPH_MEMORY, 8 },
	};
	struct fold *f = FOLD(small), *g = FOLD(other);
	const unsigned b = colour_of(draw(f, (struct flamegraph){ 0 }), "b"),
		       c = colour_of(draw(f, (struct flamegraph){ 0 }), "c");

	CHECK(b != c && b < FLAMEGRAPH_SHADES);
	CHECK(colour_of(draw(g, (struct flamegraph){ .is_icicle = true }), "b") == b);
	CHECK(colour_of(draw(g, (struct flamegraph){ 0 }), "c") == c);
	for (size_t i = 0; i < 3; i++) {
		struct text t = draw(f, (struct flamegraph){ .palette = wanted[i].palette });
		struct scan s = scan_of(text_of(part_of(t, ".flamegraph .c8{fill:#", "}")));
		struct text before;
		uint64_t rgb;

		CHECK(scan_until(&s, '#', &before) && scan_hex(&s, &rgb));
		for (unsigned shift = 0; shift <= 16; shift += 8)
			CHECK((rgb >> shift & 0xff) <= (rgb >> wanted[i].strongest & 0xff));
		CHECK(count_of(t, ".flamegraph .c8{fill:#") == 2);      /* by day, by night */
	}
	fold_free(f);
	fold_free(g);
}

int main(void)
{
	test_difference();
	test_longer_run();
	test_large_change();
	test_hot_cold();
	test_kinds();
	test_chain();
	test_palettes();
	free(svg);
	return check_done("flamegraph_colour");
}
