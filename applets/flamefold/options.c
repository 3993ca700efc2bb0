/* What can be asked, and what it comes to. */
#include <errno.h>
#include <string.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/fail.h"
#include "common/base/na.h"
#include "common/base/scan.h"

#define WIDTH_MAX 100000u

struct typed typed = { .max_depth = NA_U64 };
struct asked asked;

#define OUTPUT_OPTIONS \
	{ 'o', "output", "FILE", \
	  "write there instead of standard output: beside it, then renamed", OPT_TEXT, \
	  &typed.file, false, NULL }, \
	{ 0, "svg", NULL, "a flame graph, for a browser", OPT_FLAG, &typed.svg, false, NULL }, \
	{ 0, "functions", NULL, "a table: self and total of each function", OPT_FLAG, \
	  &typed.functions, false, NULL }

#define PROFILE_OPTIONS \
	{ 0, "pprof", NULL, "a pprof profile (gzip)", OPT_FLAG, &typed.pprof, false, NULL }, \
	{ 0, "speedscope", NULL, "JSON for speedscope", OPT_FLAG, &typed.speedscope, false, NULL }

#define PICTURE_OPTIONS \
	{ 0, "icicle", NULL, "picture: the root on top", OPT_FLAG, &typed.icicle, false, NULL }, \
	{ 0, "title", "TEXT", "picture: its title", OPT_TEXT, &typed.title, false, NULL }, \
	{ 0, "subtitle", "TEXT", "picture: a second line", OPT_TEXT, &typed.subtitle, false, \
	  NULL }, \
	{ 0, "unit", "NAME", "what the weights are (as the input says, else samples)", OPT_TEXT, \
	  &typed.unit, false, NULL }, \
	{ 0, "width", "PIXELS", "picture: fixed width (as wide as the window)", OPT_TEXT, \
	  &typed.width, false, NULL }, \
	{ 0, "min-width", "PIXELS", \
	  "picture: leave narrower frames out; 0: none (as many as 2.4 MB hold)", OPT_TEXT, \
	  &typed.min_width, false, NULL }

#define PALETTE_OPTION \
	{ 0, "palette", NULL, \
	  "picture: on-CPU, off-CPU, memory, wakeups, off-CPU with wakers, by kind of code (hot)", \
	  OPT_TEXT, &typed.palette, false, "hot|cold|mem|wakeup|chain|kinds" }

#define FOLDING_OPTIONS \
	{ 0, "by", NULL, "root frame (comm; with --functions none)", OPT_TEXT, &typed.by, false, \
	  "comm|pid|tid|cpu|cgroup|none" }, \
	{ 0, "weight", NULL, \
	  "what a sample adds: its period in the event's unit where there is one, or 1 (period)", \
	  OPT_TEXT, &typed.weight, false, "period|samples" }, \
	{ 0, "kernel", NULL, "_[k] behind kernel frames", OPT_FLAG, &typed.kernel, false, NULL }, \
	{ 0, "jit", NULL, "_[j] behind frames that a JIT made", OPT_FLAG, &typed.jit, false, \
	  NULL }, \
	{ 0, "all", NULL, "--kernel and --jit", OPT_FLAG, &typed.all, false, NULL }, \
	{ 0, "inline", NULL, "functions inlined, too, _[i] behind them", OPT_FLAG, &typed.inlined, \
	  false, NULL }, \
	{ 0, "context", NULL, "with --inline: where they stand, FILE:LINE", OPT_FLAG, \
	  &typed.context, false, NULL }, \
	{ 0, "addrs", NULL, "addresses where there is no name", OPT_FLAG, &typed.addresses, false, \
	  NULL }, \
	{ 0, "srcline", NULL, "FILE:LINE behind each frame that has it", OPT_FLAG, \
	  &typed.source_lines, false, NULL }, \
	{ 0, "args", NULL, "f(int) stays so (f)", OPT_FLAG, &typed.keeps_arguments, false, NULL }, \
	{ 0, "simplify", NULL, "vector<int>::at is vector<...>::at; V8's names without its tiers", \
	  OPT_FLAG, &typed.simplifies, false, NULL }, \
	{ 0, "no-args", NULL, "f(int) becomes f: the default, accepted out of habit", OPT_NOTHING, \
	  NULL, true, NULL }, \
	{ 0, "include", "RE", "only stacks with a frame that matches, the root one too", OPT_TEXT, \
	  &typed.include, false, NULL }, \
	{ 0, "exclude", "RE", "no stacks with a frame that matches", OPT_TEXT, &typed.exclude, \
	  false, NULL }, \
	{ 0, "skip-after", "FUNC", "leave out what is nearer to the root than FUNC (repeatable)", \
	  OPT_TEXTS, &typed.skip_after, false, NULL }, \
	{ 0, "cpu", "LIST", "only samples of these CPUs", OPT_TEXT, &typed.cpus, false, NULL }, \
	{ 0, "max-depth", "N", "at most N frames, from the root", OPT_NUMBER, &typed.max_depth, \
	  false, NULL }, \
	{ 0, "reverse", NULL, "leaf at the root: by what runs, its callers above", OPT_FLAG, \
	  &typed.reverse, false, NULL }

#define INPUT_OPTIONS \
	{ 'e', "event", "NAME", "this event (the first that has samples)", OPT_TEXT, &typed.event, \
	  false, NULL }, \
	{ 0, "from", "TIME", "only samples since then, seconds on the recording's clock", \
	  OPT_TEXT, &typed.from, false, NULL }, \
	{ 0, "to", "TIME", "only samples until then", OPT_TEXT, &typed.to, false, NULL }

#define SYMBOL_OPTIONS \
	{ 0, "symfs", "DIR", "the recorded host's files", OPT_TEXT, &typed.symfs, false, NULL }, \
	{ 0, "kallsyms", "FILE", "a copy of the recorded host's /proc/kallsyms", OPT_TEXT, \
	  &typed.kallsyms, false, NULL }, \
	{ 0, "vmlinux", "FILE", "the recorded kernel, with symbols", OPT_TEXT, &typed.vmlinux, \
	  false, NULL }, \
	{ 0, "buildids", "FILE", "where objects are: \"BUILD-ID PATH\" or \"PATH\" lines", \
	  OPT_TEXT, &typed.buildids, false, NULL }

#define END_OF_OPTIONS { 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL }

/* With --functions the default mode can sample, too. */
#define LIST_OPTIONS \
	{ 'a', "all-cpus", NULL, "--functions of all that runs now, live", OPT_FLAG, \
	  &typed.all_cpus, false, NULL }, \
	{ 'p', "pid", "PID", "--functions of these processes, live", OPT_NUMBERS, &typed.pids, \
	  false, NULL }, \
	{ 0, "tid", "N", "--functions of these threads, live", OPT_NUMBERS, &typed.tids, false, \
	  NULL }, \
	{ 'G', "cgroup", "PATH", "--functions of a control group, live", OPT_TEXT, &typed.cgroup, \
	  false, NULL }, \
	{ 'F', "freq", "HZ", "live: samples a second of each CPU (99)", OPT_NUMBER, \
	  &typed.frequency, false, NULL }

const struct opt fold_options[] = {
	LIST_OPTIONS, OUTPUT_OPTIONS, PROFILE_OPTIONS, INPUT_OPTIONS, FOLDING_OPTIONS,
	SYMBOL_OPTIONS, PICTURE_OPTIONS, PALETTE_OPTION, END_OF_OPTIONS,
};

const struct opt diff_options[] = {
	OUTPUT_OPTIONS, INPUT_OPTIONS, FOLDING_OPTIONS, SYMBOL_OPTIONS, PICTURE_OPTIONS,
	{ 0, "negate", NULL, "picture: widths as before, so that what vanished is seen", OPT_FLAG,
	  &typed.negate, false, NULL },
	{ 0, "hot-cold", NULL,
	  "picture: BEFORE is time on CPUs, AFTER off them, in one unit: both in one", OPT_FLAG,
	  &typed.hot_cold, false, NULL },
	END_OF_OPTIONS,
};

#define TARGET_OPTIONS \
	{ 'a', "all-cpus", NULL, "all that runs (the default without a command)", OPT_FLAG, \
	  &typed.all_cpus, false, NULL }, \
	{ 'p', "pid", "PID", "these processes (comma list), and what they start", OPT_NUMBERS, \
	  &typed.pids, false, NULL }, \
	{ 0, "tid", "N", "these threads (comma list)", OPT_NUMBERS, &typed.tids, false, NULL }, \
	{ 'G', "cgroup", "PATH", "a control group and those below it", OPT_TEXT, &typed.cgroup, \
	  false, NULL }

const struct opt record_options[] = {
	TARGET_OPTIONS,
	{ 'F', "freq", "HZ", "samples a second of each CPU (99)", OPT_NUMBER, &typed.frequency,
	  false, NULL },
	{ 'c', "period", "N",
	  "a sample each N events (1 of what is no clock and no hardware counter)", OPT_NUMBER,
	  &typed.period, false, NULL },
	{ 'e', "event", "NAME",
	  "cpu-clock, page-faults, context-switches, rHEX, SYSTEM:TRACEPOINT ... (cycles; "
	  "cpu-clock on a machine without them)", OPT_TEXT, &typed.event, false, NULL },
	{ 'g', NULL, NULL, "stacks: always; accepted out of habit", OPT_NOTHING, NULL, true, NULL },
	{ 0, "call-graph", NULL, "how user stacks are walked: frame pointers, or unwound (fp)",
	  OPT_TEXT, &typed.call_graph, false, "fp|dwarf" },
	OUTPUT_OPTIONS, PROFILE_OPTIONS, FOLDING_OPTIONS, PICTURE_OPTIONS, PALETTE_OPTION,
	END_OF_OPTIONS,
};

const struct opt stat_options[] = {
	TARGET_OPTIONS,
	{ 'e', "event", "NAMES", "comma list (clocks, faults, switches, cycles, caches, branches)",
	  OPT_TEXT, &typed.event, false, NULL },
	{ 'o', "output", "FILE",
	  "write there instead of standard output: beside it, then renamed", OPT_TEXT, &typed.file,
	  false, NULL },
	END_OF_OPTIONS,
};

static int number_of(const char *option, const char *text, double most, double *value)
{
	if (!scan_all_decimal(text_of(text), value) || *value > most)
		return fail(EINVAL, "--%s: '%s' is not a number up to %.0f", option, text, most);
	return 0;
}

int options_seconds(const char *option, const char *text, double *seconds)
{
	return number_of(option, text, 1e18, seconds);
}

static enum root_frame root_of(const char *by)
{
	static const char *const names[] = {
		[ROOT_COMM] = "comm", [ROOT_PID] = "pid", [ROOT_TID] = "tid", [ROOT_CPU] = "cpu",
		[ROOT_CGROUP] = "cgroup", [ROOT_NONE] = "none",
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(by, names[i]))
			return i;
	return ROOT_COMM;
}

static enum flamegraph_palette palette_of(const char *name)
{
	static const char *const names[] = {
		[FLAMEGRAPH_ON_CPU] = "hot", [FLAMEGRAPH_OFF_CPU] = "cold",
		[FLAMEGRAPH_MEMORY] = "mem", [FLAMEGRAPH_WAKEUP] = "wakeup",
		[FLAMEGRAPH_CHAIN] = "chain", [FLAMEGRAPH_KINDS] = "kinds",
	};

	for (unsigned i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return i;
	return FLAMEGRAPH_ON_CPU;
}

static int check_output(void)
{
	const unsigned outputs = typed.svg + typed.functions + typed.pprof + typed.speedscope;

	if (outputs > 1)
		return fail(EINVAL, "--svg, --functions, --pprof and --speedscope exclude each "
				    "other");
	asked.output = typed.svg ? OUTPUT_SVG : typed.functions ? OUTPUT_FUNCTIONS :
		       typed.pprof ? OUTPUT_PPROF : typed.speedscope ? OUTPUT_SPEEDSCOPE :
		       OUTPUT_FOLDED;
	if (typed.svg)
		return 0;
	if (typed.icicle || typed.title || typed.subtitle || typed.width || typed.min_width ||
	    typed.palette || typed.negate || typed.hot_cold)
		return fail(EINVAL, "%s goes with --svg",
			    typed.icicle ? "--icicle" : typed.title ? "--title" :
			    typed.subtitle ? "--subtitle" : typed.width ? "--width" :
			    typed.min_width ? "--min-width" : typed.palette ? "--palette" :
			    typed.negate ? "--negate" : "--hot-cold");
	return 0;
}

static int check_picture(void)
{
	struct flamegraph *g = &asked.picture;
	double value;

	*g = (struct flamegraph){
		.title = typed.title,
		.subtitle = typed.subtitle,
		.is_icicle = typed.icicle,
		.is_negated = typed.negate,
		.palette = palette_of(typed.palette),
	};
	if (typed.width) {
		int err = number_of("width", typed.width, WIDTH_MAX, &value);

		if (err < 0)
			return err;
		g->width = (unsigned)value;
	}
	if (typed.min_width) {
		int err = number_of("min-width", typed.min_width, WIDTH_MAX, &value);

		if (err < 0)
			return err;
		g->min_width = value > 0 ? value : -1;
	}
	if (typed.negate && typed.hot_cold)
		return fail(EINVAL, "--negate and --hot-cold exclude each other");
	return 0;
}

static int check_filter(void)
{
	struct stack_filter_options *f = &asked.filter;
	int err = 0;

	*f = (struct stack_filter_options){
		.by = typed.by ? root_of(typed.by) : typed.functions ? ROOT_NONE : ROOT_COMM,
		.include = typed.include,
		.exclude = typed.exclude,
		.cpus = typed.cpus,
		.reverse = typed.reverse,
		.has_from = typed.from,
		.has_to = typed.to,
		.max_depth = is_na_u64(typed.max_depth) || typed.max_depth > UINT32_MAX ? 0 :
			(unsigned)typed.max_depth,
	};
	if (typed.skip_after.count > STACK_SKIP_AFTER_MAX)
		return fail(EINVAL, "--skip-after: more than %u functions", STACK_SKIP_AFTER_MAX);
	for (size_t i = 0; i < typed.skip_after.count; i++)
		f->skip_after[f->skip_after_count++] = typed.skip_after.items[i];
	if (typed.from)
		err = options_seconds("from", typed.from, &f->from);
	if (typed.to && err >= 0)
		err = options_seconds("to", typed.to, &f->to);
	if (err >= 0 && typed.from && typed.to && f->from > f->to)
		return fail(EINVAL, "--from is later than --to");
	return err;
}

int options_check(void)
{
	int err = check_output();

	if (err >= 0)
		err = check_picture();
	if (err >= 0)
		err = check_filter();
	if (err < 0)
		return err;
	asked.weighs_samples = typed.weight && !strcmp(typed.weight, "samples");
	asked.frame = (struct frame_options){
		.kernel = typed.kernel || typed.all,
		.jit = typed.jit || typed.all,
		.inlined = typed.inlined,
		.inlined_lines = typed.inlined && typed.context,
		.addresses = typed.addresses,
		.keeps_arguments = typed.keeps_arguments,
		.simplifies = typed.simplifies,
		.source_lines = typed.source_lines,
	};
	if (typed.context && !typed.inlined)
		return fail(EINVAL, "--context goes with --inline");
	/* a mistake in an expression is found before anything is read */
	struct profile p;

	profile_open(&p);
	err = profile_filter(&p);
	profile_free(&p);
	return err;
}

void options_choose_output(struct out *out, bool is_difference)
{
	if (asked.output == OUTPUT_FOLDED && out_format(out) != OUT_PEOPLE)
		asked.output = OUTPUT_STACKS;
	if (asked.output == OUTPUT_STACKS && !stacks_wanted(out, is_difference))
		asked.output = OUTPUT_FUNCTIONS;
	else if (asked.output == OUTPUT_FUNCTIONS && !functions_wanted(out, is_difference))
		asked.output = OUTPUT_STACKS;
}

const char *options_first_table(void)
{
	return typed.functions ? "functions" : "stacks";
}

const char *options_output(void)
{
	return typed.file;
}
