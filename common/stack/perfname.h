/*
 * What an event is called on a command line, as perf calls it: hardware ("cycles",
 * "L1-dcache-load-misses"), software ("page-faults", "cs"), raw ("r1a8"), tracepoints
 * ("sched:sched_switch", where tracefs can be read); with ":u" or ":k" behind it.
 *
 * Numbers: include/uapi/linux/perf_event.h; a tracepoint's: events/SYSTEM/NAME/id in tracefs.
 */
#ifndef STACK_PERFNAME_H
#define STACK_PERFNAME_H

#include <stdbool.h>
#include <stdint.h>

struct perfname {
	uint32_t type;                 /* PERF_TYPE_* */
	uint64_t config;
	bool is_clock;                 /* cpu-clock, task-clock: weighs nanoseconds */
	bool is_hardware;              /* needs a PMU */
	bool without_kernel, without_user;
};

/* 0, or -errno with fail text: -EINVAL an unknown name, -EACCES, -ENOENT tracefs says no. */
int perfname_parse(const char *name, struct perfname *p);

/* perfname_parse's plain names, NULL-terminated: for completion and messages. */
const char *const *perfname_list(void);

#endif
