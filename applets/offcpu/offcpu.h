/* Inside offcpu: what was asked, what was seen, and how it is told. */
#ifndef APPLETS_OFFCPU_OFFCPU_H
#define APPLETS_OFFCPU_OFFCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"

enum output {
	OUTPUT_TABLES, OUTPUT_FOLDED, OUTPUT_SVG, OUTPUT_PPROF,
};

/* The options as they were typed (options.c). */
struct wanted {
	struct opt_numbers pids, tids;
	const char *cgroup, *comm;
	bool user_threads, kernel_threads;
	uint64_t least_us, most_us;    /* NA_U64: no limit */
	const char *state, *only;
	bool folded, svg, pprof, icicle;
	const char *file, *title;
	bool user_only, kernel_only, no_idle, completed_only;
	const char *by;
	bool wakers, locks;
	uint64_t waker_depth, stack_storage;
};
extern struct wanted wanted;

extern const struct finding_kind offcpu_findings[];

/* Modes: each lives in a file of its own. */
extern const struct mode window_mode;

#endif
