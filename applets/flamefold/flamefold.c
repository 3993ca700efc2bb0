/*
 * flamefold: which code runs (or waits, or allocates), called by whom: stacks from recordings, from
 * text that other tools print, or sampled now, as folded text, flame graphs or tables.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "applets/flamefold/flamefold.h"
#include "applets/flamefold/record.h"
#include "applets/flamefold/stat.h"
#include "common/base/fail.h"

static struct {
	int argc;
	char **argv;
} operands;

static int keep_operands(int argc, char **argv)
{
	operands.argc = argc;
	operands.argv = argv;
	return options_check();
}

/* -a, -p ... in the default mode: what runs now is listed. */
static bool is_list(void)
{
	return typed.all_cpus || typed.pids.count || typed.tids.count || typed.cgroup;
}

static bool wants_screen(void)
{
	return typed.functions && is_list();
}

static int start_fold(int argc, char **argv)
{
	if (!is_list() && argc < 2 && isatty(STDIN_FILENO))
		return fail(EINVAL, "nothing to read: a FILE, stacks on standard input, or "
				    "--record");
	if (!is_list())
		return keep_operands(argc, argv);
	if (!typed.functions)
		return fail(EINVAL, "-a, -p, --tid and -G go with --record, --stat, or --functions "
				    "for a live list");
	return record_start_list(argc, argv);
}

static int run_fold(struct out *out)
{
	struct profile p;
	int err;

	if (is_list())
		return record_run(out);
	options_choose_output(out, false);
	profile_open(&p);
	err = profile_filter(&p);
	if (operands.argc < 2 && err >= 0)
		err = input_read(out, &p, "-", 0);
	for (int i = 1; i < operands.argc && err >= 0; i++)
		err = input_read(out, &p, operands.argv[i], 0);
	if (err >= 0) {
		profile_tell(out, &p);
		if (shared.verbose)
			shape_tell(out, &p);
		shape_find(out, &p);
		err = output_write(out, &p, false);
	}
	profile_free(&p);
	return err;
}

static int start_diff(int argc, char **argv)
{
	if (argc != 3)
		return fail(EINVAL, "--diff takes two inputs: BEFORE AFTER");
	if (!strcmp(argv[1], "-") && !strcmp(argv[2], "-"))
		return fail(EINVAL, "only one of the two can come from standard input");
	if (typed.pprof || typed.speedscope)
		return fail(EINVAL, "--%s holds one profile, no difference",
			    typed.pprof ? "pprof" : "speedscope");
	return keep_operands(argc, argv);
}

static int run_diff(struct out *out)
{
	struct profile p;
	int err = 0;

	options_choose_output(out, true);
	profile_open(&p);
	for (unsigned side = 0; side < 2 && err >= 0; side++) {
		err = profile_filter(&p);
		if (err >= 0)
			err = input_read(out, &p, operands.argv[side + 1], side);
		profile_tell(out, &p);
	}
	if (err >= 0)
		err = output_write(out, &p, true);
	profile_free(&p);
	return err;
}

static const struct mode fold_mode = {
	.operands = "[FILE... | -a|-p PID|-G PATH --functions [interval [count]]]",
	.wants_screen = wants_screen,
	.opts = fold_options,
	.tables = fold_tables,
	.first_table = options_first_table,
	.has_no_root = true,
	.output = options_output,
	.start = start_fold,
	.run = run_fold,
};

static const struct mode diff_mode = {
	.option = "--diff",
	.operands = "BEFORE AFTER",
	.summary = "what changed between two profiles",
	.opts = diff_options,
	.tables = diff_tables,
	.first_table = options_first_table,
	.has_no_root = true,
	.output = options_output,
	.start = start_diff,
	.run = run_diff,
};

static const struct mode record_mode = {
	.option = "--record",
	.operands = "[SECONDS | -- COMMAND [ARG...]]",
	.summary = "samples taken now, for 30 s, as long as said, or until the command ends",
	.opts = record_options,
	.tables = fold_tables,
	.first_table = options_first_table,
	.has_no_root = true,
	.output = options_output,
	.start = record_start,
	.run = record_run,
};

static const struct mode stat_mode = {
	.option = "--stat",
	.operands = "[interval [count] | -- COMMAND [ARG...]]",
	.summary = "counts of clocks, faults, switches and hardware events",
	.opts = stat_options,
	.tables = stat_tables,
	.has_no_root = true,
	.output = options_output,
	.start = stat_start,
	.look = stat_look,
	.wait = stat_wait,
	.stop = stat_stop,
};

static const struct mode *const modes[] = {
	&fold_mode, &diff_mode, &record_mode, &stat_mode, NULL,
};

const struct finding_kind flamefold_findings[] = {
	{ "flamefold.mostly-off-cpu", "note",
	  "not with -a: at least 500 samples expected and less than half of them taken: the rest "
	  "of the time it was not on a CPU" },
	{ "flamefold.lost-samples", "note", "at least 1 % of the samples were lost" },
	{ "flamefold.no-symbols", "note",
	  "at least 10 % of the weight is in frames without a name" },
	{ "flamefold.truncated-stacks", "note", "at least 10 % of the stacks lack their callers" },
	{ NULL, NULL, NULL },
};

const struct applet applet_flamefold = {
	.name = "flamefold",
	.summary = "which code runs, called by whom: stacks folded, as text, flame graph or table",
	.modes = modes,
	.findings = flamefold_findings,
};
