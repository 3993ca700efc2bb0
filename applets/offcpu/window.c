/* The default mode: all waiting within one window of time, by stack. */
#include <errno.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/fail.h"
#include "common/base/na.h"

struct wanted wanted = { .least_us = NA_U64, .most_us = NA_U64, .waker_depth = NA_U64,
		       .stack_storage = NA_U64 };

struct stack_row {
	const char *stack;
	uint64_t waited_ns;
};

static const struct column stack_columns[] = {
	COL_NAME(struct stack_row, stack, "STACK", ROLE_KEY, NAME_COMMAND,
		 "frames from the root to the leaf, ; between them"),
	COL(struct stack_row, waited_ns, "WAITED", ROLE_GAUGE, UNIT_NS, "off the CPU"),
};

static const struct table stack_table = {
	.name = "stacks", .help = "a different stack", .sort = "-waited_ns", .top = true,
	TABLE(struct stack_row, stack_columns),
};

static const struct table *const tables[] = { &stack_table, NULL };

static const struct opt options[] = {
	{ 'p', "pid", "PID", "only these processes, all threads (comma list)", OPT_NUMBERS,
	  &wanted.pids, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static int run(struct out *out)
{
	(void)out;
	return fail(ENOTSUP, "no engine yet");
}

const struct mode window_mode = {
	.operands = "[SECONDS]",
	.opts = options,
	.tables = tables,
	.run = run,
};
