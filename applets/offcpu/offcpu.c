/*
 * offcpu: where do threads wait, for what, and who ends the wait?
 */
#include "applets/offcpu/offcpu.h"

static const struct mode *const modes[] = {
	&window_mode, &ledger_mode, NULL,
};

const struct finding_kind offcpu_findings[] = {
	{ "offcpu.lock", "now",
	  "threads waited for one mutex or rwlock, at least 2 at once, at least 10 % of all time "
	  "that is neither idle nor slept by the clock, and 0.1 threads on average" },
	{ "offcpu.disk", "now",
	  "threads waited for disks (and journals, and as too many pages were dirty) at least "
	  "20 % of all time that is neither idle nor slept by the clock, and 0.1 threads on "
	  "average" },
	{ "offcpu.queueing", "now",
	  "--ledger: a process could run and had no CPU for at least 10 % of its time that is not "
	  "idle, and 10 % of the interval" },
	{ "offcpu.throttled", "now", "the same, its control group being out of CPU quota" },
	{ "offcpu.lost-stacks", "note", "at least 0.1 % of the time has no stack: no room for it" },
	{ "offcpu.no-frame-pointers", "note",
	  "at least 20 % of the time of user threads has stacks that end early" },
	{ NULL, NULL, NULL },
};

const struct applet applet_offcpu = {
	.name = "offcpu",
	.summary = "where threads wait, for what, and who wakes them",
	.modes = modes,
	.findings = offcpu_findings,
};
