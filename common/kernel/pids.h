/* Threads there are and may be: of the host (/proc/loadavg, two sysctls) and of a pids cgroup. */
#ifndef KERNEL_PIDS_H
#define KERNEL_PIDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* What is not there is NA_U64. */
struct pids_host {
	/* of all processes; loadavg's fourth word "8/133" (fs/proc/loadavg.c) */
	uint64_t threads;
	uint64_t runnable;             /* its first half */
	uint64_t pid_max, threads_max;
	uint64_t limit;                /* the smaller of the two */
};
int pids_parse_loadavg(struct text t, struct pids_host *p);    /* threads and runnable; -EINVAL */
/* 0 or -errno with fail text; if it is about a setting, what could be read is set all the same. */
int pids_read_host(struct pids_host *p);

/* kernel/cgroup/pids.c; v1 and v2 have the same files. */
struct pids_group {
	/* as in /proc/PID/cgroup; NULL: no pids controller to be seen here */
	const char *path;
	uint64_t current;
	bool has_limit;                /* false: "max" all the way up, as far as can be seen */
	uint64_t max;
	/*
	 * pids.events "max", since the group was made: of this group or of the program's own,
	 * whichever says more. A fork is counted in the group that tried it (v1, and v2 before
	 * 6.11) or in the one that refused it.
	 */
	uint64_t forks_refused;
};
/* "max\n" or "1024\n"; false: neither */
bool pids_parse_max(struct text t, bool *has_limit, uint64_t *max);
uint64_t pids_parse_events(struct text t);                     /* "max 12\n"; NA_U64 */

/*
 * Of this program's own group and its ancestors the one that is nearest to its limit; where none
 * has a limit, its own (the true root has no counts at all: unknown). Lives in arena. 0 or -errno
 * with fail text.
 */
int pids_read_own_group(struct arena *arena, struct pids_group *g);

#endif
