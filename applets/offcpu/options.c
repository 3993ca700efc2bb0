/* What can be asked of the window, and what it comes to. */
#include <errno.h>
#include <regex.h>
#include <string.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/fail.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/offcpu.h"

#define SECONDS 30
#define NS 1000000000ull
#define WAKER_DEPTH_MAX 16u

struct window_options window = {
	.least_us = NA_U64, .most_us = NA_U64, .waker_depth = NA_U64, .storage = NA_U64,
};

const struct opt window_opts[] = {
	{ 'p', "pid", "PID", "only these processes, all threads (comma list)", OPT_NUMBERS,
	  &window.pids, false, NULL },
	{ 0, "tid", "N", "only these threads (comma list)", OPT_NUMBERS, &window.tids, false,
	  NULL },
	{ 't', NULL, "N", "the same as --tid", OPT_NUMBERS, &window.tids, true, NULL },
	{ 'G', "cgroup", "PATH", "only threads in this control group and below", OPT_TEXT,
	  &window.cgroup, false, NULL },
	{ 'C', "comm", "RE", "only threads whose name matches (extended regular expression)",
	  OPT_TEXT, &window.comm, false, NULL },
	{ 'u', "user-threads", NULL, "no kernel threads", OPT_FLAG, &window.user_threads, false,
	  NULL },
	{ 'k', "kernel-threads", NULL, "only kernel threads", OPT_FLAG, &window.kernel_threads,
	  false, NULL },
	{ 'm', "min-block-time", "US", "leave out what was shorter, microseconds", OPT_NUMBER,
	  &window.least_us, false, NULL },
	{ 'M', "max-block-time", "US", "leave out what was longer, microseconds", OPT_NUMBER,
	  &window.most_us, false, NULL },
	{ 0, "state", "STATES",
	  "only what left the CPU in these states: R S D T letters, or the kernel's bits (any)",
	  OPT_TEXT, &window.state_text, false, NULL },
	{ 0, "only", NULL,
	  "one part of each wait: until woken, then until it ran, or preempted until it ran (all)",
	  OPT_TEXT, &window.only_text, false, "sleeping|runnable|preempted" },
	{ 0, "by", NULL, "root frame, and what rows are summed by (comm)", OPT_TEXT,
	  &window.by_text, false, "comm|pid|tid|cgroup|none" },
	{ 0, "no-idle", NULL, "hide threads that wait for work", OPT_FLAG, &window.no_idle, false,
	  NULL },
	{ 0, "completed-only", NULL,
	  "only waits that began and ended within the window, as other tools have it", OPT_FLAG,
	  &window.completed_only, false, NULL },
	{ 0, "user-only", NULL, "no kernel frames in stacks", OPT_FLAG, &window.user_only, false,
	  NULL },
	{ 0, "kernel-only", NULL, "no user frames in stacks: costs less", OPT_FLAG,
	  &window.kernel_only, false, NULL },
	{ 'w', "wakers", NULL, "who ends each wait, and where: costs more", OPT_FLAG,
	  &window.wakers, false, NULL },
	{ 0, "waker-depth", "N", "wakers of wakers, N deep; with --wakers (1)", OPT_NUMBER,
	  &window.waker_depth, false, NULL },
	{ 0, "locks", NULL, "the futexes that threads waited for, ranked", OPT_FLAG, &window.locks,
	  false, NULL },
	{ 'f', "folded", NULL, "folded stacks, microseconds", OPT_FLAG, &window.folded, false,
	  NULL },
	{ 0, "svg", NULL, "a flame graph, for a browser", OPT_FLAG, &window.svg, false, NULL },
	{ 0, "pprof", NULL, "a pprof profile (gzip)", OPT_FLAG, &window.pprof, false, NULL },
	{ 0, "title", "TEXT", "picture: its title", OPT_TEXT, &window.title, false, NULL },
	{ 'o', "output", "FILE", "write there instead of standard output: beside it, then renamed",
	  OPT_TEXT, &window.file, false, NULL },
	{ 0, "stack-storage", "N", "room for N different stacks, and as many rows (262144)",
	  OPT_NUMBER, &window.storage, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

/* "S,D", "SD", or a number: the bits of include/linux/sched.h. */
static int parse_state(const char *text)
{
	static const struct {
		char letter;
		uint32_t bits;
	} states[] = {
		{ 'R', 1u << 31 }, { 'S', 1 }, { 'D', 2 }, { 'T', 4 }, { 't', 8 }, { 'I', 0x402 },
	};
	uint64_t bits;

	window.state_mask = 0;
	if (!text)
		return 0;
	if (scan_all_u64(text_of(text), &bits)) {
		if (bits > UINT32_MAX >> 1)
			return fail(EINVAL, "--state: %s has bits that are no state", text);
		window.state_mask = bits ? (uint32_t)bits : 1u << 31;
		return 0;
	}
	for (const char *c = text; *c; c++) {
		size_t i = 0;

		while (i < sizeof(states) / sizeof(*states) && states[i].letter != *c)
			i++;
		if (i < sizeof(states) / sizeof(*states))
			window.state_mask |= states[i].bits;
		else if (*c != ',')
			return fail(EINVAL, "--state: '%s': '%c' is none of R S D T t I", text, *c);
	}
	return window.state_mask ? 0 : fail(EINVAL, "--state: none is named");
}

static int check_output(void)
{
	if (window.folded + window.svg + window.pprof > 1)
		return fail(EINVAL, "-f, --svg and --pprof exclude each other");
	if (window.title && !window.svg)
		return fail(EINVAL, "--title goes with --svg");
	if (window.user_only && window.kernel_only)
		return fail(EINVAL, "--user-only and --kernel-only exclude each other");
	if (window.locks && (window.folded || window.svg || window.pprof))
		return fail(EINVAL, "--locks is a table");
	window.output = window.folded ? OUTPUT_FOLDED : window.svg ? OUTPUT_SVG :
			window.pprof ? OUTPUT_PPROF : OUTPUT_TABLES;
	return 0;
}

static bool has_zero(const struct opt_numbers *numbers)
{
	for (size_t i = 0; i < numbers->count; i++)
		if (!numbers->items[i] || numbers->items[i] > INT32_MAX)
			return true;
	return false;
}

static int check_targets(void)
{
	regex_t re;

	if (has_zero(&window.pids) || has_zero(&window.tids))
		return fail(EINVAL, "-p, --tid: not the id of a process or thread");
	if (window.user_threads && window.kernel_threads)
		return fail(EINVAL, "-u and -k exclude each other");
	if (window.cgroup && (window.pids.count || window.tids.count))
		return fail(EINVAL, "-G and -p or --tid exclude each other");
	if (window.cgroup && !*window.cgroup)
		return fail(EINVAL, "-G: the path of a control group is missing");
	if (!window.comm)
		return 0;
	if (regcomp(&re, window.comm, REG_EXTENDED | REG_NOSUB))
		return fail(EINVAL, "-C: '%s' is not a regular expression", window.comm);
	regfree(&re);
	return 0;
}

static int check_limits(void)
{
	if (!is_na_u64(window.least_us) && !is_na_u64(window.most_us) &&
	    window.most_us < window.least_us)
		return fail(EINVAL, "-M is less than -m");
	if (!is_na_u64(window.waker_depth) && !window.wakers)
		return fail(EINVAL, "--waker-depth goes with --wakers");
	if (!is_na_u64(window.waker_depth) &&
	    (!window.waker_depth || window.waker_depth > WAKER_DEPTH_MAX))
		return fail(EINVAL, "--waker-depth: 1 to %u", WAKER_DEPTH_MAX);
	if (!is_na_u64(window.storage) &&
	    (window.storage < 64 || window.storage > OFFCPU_STORAGE_MAX))
		return fail(EINVAL, "--stack-storage: 64 to %u", OFFCPU_STORAGE_MAX);
	return 0;
}

static int take_window(int argc, char **argv)
{
	window.window_ns = SECONDS * NS;
	if (argc > 2)
		return fail(EINVAL, "unexpected word '%s'", argv[2]);
	if (argc < 2)
		return 0;
	const int err = opt_duration("SECONDS", argv[1], &window.window_ns);

	if (err < 0)
		return err;
	return window.window_ns ? 0 : fail(EINVAL, "0 seconds are none");
}

int window_check(int argc, char **argv)
{
	static const char *const roots[] = {
		[BY_COMM] = "comm", [BY_PID] = "pid", [BY_TID] = "tid", [BY_CGROUP] = "cgroup",
		[BY_NONE] = "none",
	};
	const char *only = window.only_text;
	int err = take_window(argc, argv);

	if (err >= 0)
		err = check_output();
	if (err >= 0)
		err = check_targets();
	if (err >= 0)
		err = check_limits();
	if (err >= 0)
		err = parse_state(window.state_text);
	window.parts = !only ? PART_ALL : !strcmp(only, "sleeping") ? PART_SLEEPING :
		       !strcmp(only, "runnable") ? PART_RUNNABLE : PART_PREEMPTED;
	window.by = BY_COMM;
	for (unsigned i = 0; window.by_text && i < sizeof(roots) / sizeof(*roots); i++)
		if (!strcmp(window.by_text, roots[i]))
			window.by = i;
	return err;
}

const char *window_narrowed(struct arena *a)
{
	const char *text = NULL;

	for (size_t i = 0; i < window.pids.count; i++)
		text = arena_printf(a, "%s%s%llu", text ? text : "", i ? "," : "-p ",
				    (unsigned long long)window.pids.items[i]);
	for (size_t i = 0; i < window.tids.count; i++)
		text = arena_printf(a, "%s%s%llu", text ? text : "",
				    i ? "," : text ? " --tid " : "--tid ",
				    (unsigned long long)window.tids.items[i]);
	if (window.cgroup)
		text = arena_printf(a, "-G %s", window.cgroup);
	if (window.comm)
		text = arena_printf(a, "%s%s-C %s", text ? text : "", text ? " " : "",
				    window.comm);
	return text;
}
