#include "common/stack/stacktext.h"

#include "common/base/na.h"
#include "tests/unit/stacks.h"

#define FRAMES "\t      11d2 mid+0x32 (/bin/t)\n\t      120d rec(int)+0x1e (/bin/t)\n" \
	"\tffffffff81000130 entry+0x76 ([kernel.kallsyms])\n"

static void test_perf(void)
{
	check_kind(STACK_PERF_SCRIPT,
		   TEXT("# ========\n# captured on: today\n"
			"we ird:1 (x) 7 12 [001] 1.5:  100 cycles: \n" FRAMES "\n"
			"we ird:1 (x) 7 12 [000] 1.6:  30 cycles: \n" FRAMES "\n"
			"swapper     0 [000] 1.7:  7 cycles: \n"
			"\tffffffff8104f596 native_safe_halt ([kernel.kallsyms])\n"),
		   "swapper;native_safe_halt 7\nwe_ird:1_(x)_7;entry;rec;mid 130\n");
	CHECK(result.samples == 3 && result.skipped_lines == 0 && result.event_count == 1);
	CHECK(result.events[0].has_period && result.events[0].is_folded);
	CHECK_STR(result.events[0].name, "cycles");

	/* samples without callchain: one frame on the line itself, or none */
	check_kind(STACK_PERF_SCRIPT,
		   TEXT("  true 5 1.5:  10 cpu-clock:  ffff12 f+0x1 ([kernel.kallsyms])\n"
			"  true 5 1.6:  10 cpu-clock:  ffff13 f+0x2 ([kernel.kallsyms])\n"
			"  true 5 1.7:  10 cpu-clock: \n"),
		   "true 10\ntrue;f 20\n");
}

/* A stack that comes again is known as a whole: it must count as if it were read. */
static void test_repeated(void)
{
#define SAMPLE(comm, event) comm " 1/2 [001] 1.5:  10 " event ": \n" FRAMES "\n"
	const struct text t = TEXT(SAMPLE("a", "x") SAMPLE("a", "x") SAMPLE("b", "x")
				   SAMPLE("a", "y") SAMPLE("b", "x") SAMPLE("a", "x"));

	check_kind(STACK_PERF_SCRIPT, t, "a;entry;rec;mid 30\nb;entry;rec;mid 20\n");
	CHECK(result.samples == 5 && result.event_count == 2 && result.events[1].samples == 1);
	stack_options.event = "y";
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "a;entry;rec;mid 10\n");
	CHECK(result.samples == 1 && result.events[0].samples == 5);
	stack_options.event = "z";
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "");
	no_options();
	stack_options.weighs_samples = true;
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "a;entry;rec;mid 3\nb;entry;rec;mid 2\n");
	no_options();
	filter_options.by = ROOT_TID;
	filter_options.max_depth = 2;
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "a-1/2;entry;rec 30\nb-1/2;entry;rec 20\n");
	CHECK(counts.cut == 5);
	filter_options.by = ROOT_CPU;
	filter_options.exclude = "^mid$";
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "");
	CHECK(counts.excluded == 5 && result.samples == 0);
	no_options();
	CHECK_STR(fold_as(STACK_PERF_SCRIPT,
			  TEXT("x 1 1.5: PERF_RECORD_LOST lost 3\n"
			  	"x 1 1.5: PERF_RECORD_LOST lost 4\n"
			       "a 1 1.5: cpu-clock: \n" FRAMES)), "a;entry;rec;mid 1\n");
	CHECK(result.lost_samples == 7 && result.samples == 1 && !result.events[0].unit);
	/* a NUL in the name of an event is no new event each time */
	CHECK_STR(fold_as(STACK_PERF_SCRIPT,
			  TEXT("a 1 1.5: x\0y: \n\t 12 f\n\na 1 1.5: x\0y: \n\t 12 f\n\n")),
		  "a;f 2\n");
	CHECK(result.event_count == 1);
	/* lines that are no frames make a sample of nothing that has no time */
	CHECK_STR(fold_as(STACK_PERF_SCRIPT,
			  TEXT("1.5:\n\t nothing at all here\n\n1.6: x:  12 f (/x)\n"
			       "\t nothing at all here\n\n1.7: x:\n\t nothing at all here\n\n")),
		  "[no stack] 1\n");
	CHECK(result.samples == 1 && result.events[1].samples == 2);
	stack_options.event = "x";
	CHECK_STR(fold_as(STACK_PERF_SCRIPT,
			  TEXT("1.6: x:  12 f (/x)\n\t nothing at all here\n\n1.7: x:\n"
			       "\t nothing at all here\n\n")), "[no stack] 1\nf 1\n");
	no_options();
	/* the same frames, another order or end */
	check_kind(STACK_PERF_SCRIPT,
		   TEXT("a 1 1.5: x: \n\t 1234567812 f (/x)\n\t 1234567813 g (/x)\n\n"
			"a 1 1.5: x: \n\t 1234567813 g (/x)\n\t 1234567812 f (/x)\n\n"
			"a 1 1.5: x: \n\t 1234567812 f (/x)\n\n"
			"a 1 1.5: x: \n\t 1234567812 f (/x)\n\t 1234567813 g (/x)"),
		   "a;f 1\na;f;g 1\na;g;f 2\n");
}

/* All selections of fields that perf script -F has, of one sample. */
static void test_fields(void)
{
#define STACK "\n\t      118911 find\n\t      118912 main\n\n"
	static const struct {
		struct text line;
		const char *folded, *event;
	} c[] = {
		{ TEXT("as 25 [000] cpu-clock: " STACK), "as;main;find 1\n", "cpu-clock" },
		{ TEXT("as [000] " STACK), "as;main;find 1\n", "" },
		{ TEXT("25853/25853 " STACK), "main;find 1\n", "" },
		{ TEXT("25853  3441.340527: " STACK), "main;find 1\n", "" },
		{ TEXT("as  3441.340527: " STACK), "as;main;find 1\n", "" },
		{ TEXT("[000] " STACK), "main;find 1\n", "" },
		{ TEXT(" 3441.340527: cpu-clock: " STACK), "main;find 1\n", "cpu-clock" },
		{ TEXT("cpu-clock: " STACK), "main;find 1\n", "cpu-clock" },
		{ TEXT("as 25853    2004008 " STACK), "as;main;find 2004008\n", "" },
		{ TEXT("as 25853    2004008 cpu-clock: " STACK), "as;main;find 2004008\n",
			"cpu-clock" },
		{ TEXT("as 25853  3441.3:    2004008 " STACK), "as;main;find 2004008\n", "" },
		{ TEXT("as 25853 [000] U      3441.3:  8 cpu-clock:       " STACK),
		  "as;main;find 8\n", "cpu-clock" },
		{ TEXT("as " STACK), "as;main;find 1\n", "" },
		{ TEXT("we ird:1 (x) 7 " STACK), "we_ird:1_(x)_7;main;find 1\n", "" },
		{ TEXT(STACK), "main;find 1\n", "" },
		{ TEXT("dd 1 3.5: sched:sched_switch: prev_comm=t ==> next_comm=x "
			"next_pid=1" STACK),
		  "dd;main;find 1\n", "sched:sched_switch" },
		{ TEXT("swapper     0 [000]     0.0: PERF_RECORD_MMAP -1/0: [0x12(0x1) @ 0]: x y\n"
		       "x 1 2.5: PERF_RECORD_COMM exec: as:1/1\nas 1 3.5: a: " STACK),
		  "as;main;find 1\n", "a" },
		{ TEXT("java 19983 cycles:\n118911 find ([kernel.kallsyms])\n118912 main (x)\n"),
		  "java;main;find 1\n", "cycles" },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		CHECK(stack_kind_of(c[i].line) == STACK_PERF_SCRIPT);
		CHECK_STR(fold_as(STACK_PERF_SCRIPT, c[i].line), c[i].folded);
		CHECK(result.samples == 1 && result.event_count == 1 && !result.skipped_lines);
		CHECK_STR(result.events[0].name, c[i].event);
		/* twice: the second is known; cut anywhere it's at most one */
		struct text whole = c[i].line;
		char *twice = malloc(2 * whole.len + 1);

		memcpy(twice, whole.data, whole.len);
		twice[whole.len] = '\n';
		memcpy(twice + whole.len + 1, whole.data, whole.len);
		fold_as(STACK_PERF_SCRIPT, (struct text){ twice, 2 * whole.len + 1 });
		CHECK(result.samples == 2 && result.events[0].samples == 2);
		free(twice);
		EACH_CUT(n, whole) {
			fold_as(STACK_PERF_SCRIPT, cut(whole, n));
			CHECK(result.samples <= 1);
		}
	}
}

/* What other programs wrote into the same file costs its own line and nothing else. */
static void test_noise(void)
{
	CHECK_STR(fold_as(STACK_PERF_SCRIPT,
			  TEXT("Warning:\nProcessed 3 events and lost 1 chunks!\n"
			       "a 1 1.5: x: \n\t      11d2 mid+0x32 (/bin/t)\n"
			       "addr2line: something odd\n"
			       " instruction trace error type 1\n"
			       "\t      120d main+0x1e (/bin/t)\n\n"
			       "Check IO/CPU overload!\n\n"
			       "a 1 1.5: x: \n\t      11d2 mid+0x32 (/bin/t)\n\n")),
		  "a;main;mid 1\na;mid 1\n");
	CHECK(result.samples == 2 && result.skipped_lines == 4 && result.first_skipped_line == 1);
	CHECK(result.event_count == 1 && result.lost_samples == 0);
	CHECK_STR(result.first_skipped_why, "neither a sample nor a frame");
}

/* The same where no line has a time. */
static void test_noise_bare(void)
{
	CHECK_STR(fold_as(STACK_PERF_SCRIPT,
			  TEXT("a 11111 x: \n\t      11d2 mid+0x32 (/bin/t)\n"
			       "Check IO/CPU overload!\nWarning:\n"
			       "\t      120d main+0x1e (/bin/t)\n\n"
			       "b 22222 x: \n\t      11d2 mid+0x32 (/bin/t)\n"
			       "z 33333 x: \n\t      11d2 mid+0x32 (/bin/t)\n")),
		  "a;main;mid 1\nb;mid 1\nz;mid 1\n");
	CHECK(result.samples == 3 && result.skipped_lines == 2 && result.first_skipped_line == 3);
}

static void test_places(void)
{
	const struct text t = TEXT("a 1 1.5: x: \n\t      11d2 inl+0x32 (inlined)\n  t.c:8\n"
				   "\t      11d2 mid+0x32 (/bin/t)\n  t.c:10\n"
				   "\t      120d main+0x1e (/bin/t)\n  ??:0\n\n");

	check_kind(STACK_PERF_SCRIPT, t, "a;main;mid;inl 1\n");
	stack_options.frame.source_lines = true;
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "a;main;mid:t.c:10;inl:t.c:8 1\n");
	no_options();
	stack_options.frame.inlined_lines = stack_options.frame.inlined = true;
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "a;main;mid;inl:t.c:8_[i] 1\n");
	no_options();
}

static void test_filters(void)
{
	const struct text t = TEXT(
		"a 1/2 [000] 1.5: x: /cg/one\n\t      11d2 mid (/bin/t)\n"
		"\t      120d main (/bin/t)\n\n"
		"b 1/3 [001] 2.5: x: \n\t      11d2 mid (/bin/t)\n\t      120d main (/bin/t)\n"
		" /cg/two\n\n"
		"a 1/2 3.5: x: \n\t      11d3 top (/bin/t)\n\t      120d main (/bin/t)\n\n");

	filter_options = (struct stack_filter_options){ .has_from = true, .from = 2.5 };
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "a;main;top 1\nb;main;mid 1\n");
	CHECK(counts.excluded == 1 && result.events[0].samples == 3);
	filter_options = (struct stack_filter_options){ .has_to = true, .to = 2 };
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "a;main;mid 1\n");
	filter_options = (struct stack_filter_options){ .cpus = "0,4-7" };
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "a;main;mid 1\n");
	CHECK(counts.excluded == 1 && counts.without_cpu == 1);
	filter_options = (struct stack_filter_options){ .by = ROOT_CGROUP };
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "/cg/one;main;mid 1\n/cg/two;main;mid 1\n"
		  "?;main;top 1\n");
	filter_options = (struct stack_filter_options){ .by = ROOT_CPU };
	CHECK_STR(fold_as(STACK_PERF_SCRIPT, t), "cpu_000;main;mid 1\ncpu_001;main;mid 1\n"
		  "cpu_?;main;top 1\n");
	no_options();
}

static void test_folded(void)
{
	const struct text t = TEXT("# comment\r\n// another\na;b;c 2\r\na;b 1.25\na;b 1.25\n\n"
				   "a;b;c  3\na;;c 1\nx 18446744073709551615\nx 7\n");

	check_kind(STACK_FOLDED, t, "a;[unknown];c 1\na;b 3\na;b;c 5\nx 18446744073709551615\n");
	CHECK(result.samples == 7 && !result.skipped_lines);
	CHECK_STR(fold_as(STACK_FOLDED, TEXT("invalid line\na;b -1\na;b 1e3\n 5\n5\na;b 1 \n"
		"c;;; 2")),
		  "a;b 1\nc;[unknown];[unknown];[unknown] 2\n");
	CHECK(result.skipped_lines == 5 && result.first_skipped_line == 1);
	CHECK_STR(result.first_skipped_why, "no number behind the stack");

	filter_options.max_depth = 1;
	filter_options.include = "b";
	CHECK_STR(fold_as(STACK_FOLDED, t), "a;b 8\n");
	CHECK(counts.excluded == 3 && counts.cut == 2);
	no_options();
	filter_options.has_from = true;
	CHECK_STR(fold_as(STACK_FOLDED, t), "");
	CHECK(counts.without_time == 7);
	no_options();

	check_kind(STACK_FOLDED_TWO, TEXT("a;b 1 2\na;c 0 3\na;b 1 1\n"), "a;b 2 3\na;c 0 3\n");
	CHECK(stack_kind_of(TEXT("a;b 1 2\na;c 0 3\na;b 1\n")) == STACK_FOLDED);
}

static void check_unknown(struct text t, uint64_t at, const char *is)
{
	uint64_t line;

	CHECK(stack_kind_of(t) == STACK_UNKNOWN);
	const char *what = stack_unknown_is(t, &line);

	CHECK_STR(what, is);
	CHECK(line == at);
}

static void test_unknown(void)
{
	check_unknown(TEXT(""), 1, NULL);
	check_unknown(TEXT("\n\nonly some words\nand more\n"), 3, NULL);
	check_unknown(TEXT("PERFILE2\0\0"), 1, "a perf.data file");
	check_unknown(TEXT("<?xml version=\"1.0\"?>\n<svg a;b 12\n"), 1, "XML");
	check_unknown(TEXT("\n{\"traceEvents\": []}"), 2, "a Chrome trace");
	check_unknown(TEXT("[{\"name\": 1}]"), 1, "JSON that is not speedscope's");
	/* words in what is no text say nothing */
	check_unknown(TEXT("\x01\x02\x03 |@ \x04\n @x9\x05[\n"), 1, NULL);
	check_unknown(TEXT("mail@example.org [x]\n"), 1, NULL);
	check_unknown(TEXT("{\"nodes\": [], \"timeDeltas\": []}"), 1, "a CPU profile of V8");
	check_unknown(TEXT("@h:\n[1, 2)    3 |@@  |\n"), 1, "a histogram of bpftrace's");
	check_unknown(TEXT("# Overhead  Command\n# ...\n  50.00% x\n"), 1,
		      "what perf report prints (perf script prints stacks)");
	CHECK(stack_kind_of(TEXT("[unknown];a 1\n")) == STACK_FOLDED);
	CHECK(stack_kind_of(TEXT("{closure};a 1\n")) == STACK_FOLDED);
	for (enum stack_kind k = 1; k < STACK_KINDS; k++)
		CHECK(stack_kind_name(k) && strcmp(stack_kind_name(k), "nothing known"));
	CHECK_STR(stack_kind_name(STACK_UNKNOWN), "nothing known");
}

/* Deeper than is kept: cut and still there. */
static void test_deep(void)
{
	const size_t frames = 70000, each = sizeof("\t1234567 f\n") - 1;
	char *text = malloc(frames * each + 100);
	size_t len = (size_t)snprintf(text, 100, "a 1 1.5: x: \n");

	for (size_t i = 0; i < frames; i++, len += each)
		memcpy(text + len, "\t1234567 f\n", each);
	const char *folded = fold_as(STACK_PERF_SCRIPT, (struct text){ text, len });

	CHECK(result.samples == 1 && result.deep_stacks == 1);
	CHECK(strlen(folded) == 65536 * 2 + sizeof("a;[deeper] 1\n") - 1);
	CHECK(!strncmp(folded, "a;[deeper];f;f", 14));
	free(text);
}

int main(void)
{
	test_perf();
	test_repeated();
	test_fields();
	test_noise();
	test_noise_bare();
	test_places();
	test_filters();
	test_folded();
	test_unknown();
	test_deep();
	forget_stacks();
	return check_done("stacktext");
}
