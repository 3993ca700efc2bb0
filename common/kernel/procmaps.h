/* A line of /proc/PID/maps (proc(5), fs/proc/task_mmu.c):
 * "start-end perms pgoff major:minor inode  path". */
#ifndef KERNEL_PROCMAPS_H
#define KERNEL_PROCMAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"

struct procmap {
	uint64_t start, end;           /* end is the first address behind it */
	uint64_t pgoff;                /* bytes into the file; 0 without one */
	uint64_t major, minor, inode;  /* inode 0: no file */
	bool is_executable;
	/* as the kernel has it: newline as \012, " (deleted)" behind what is; empty: no name */
	struct text path;
};

bool procmap_parse(struct text line, struct procmap *m);       /* false: it makes no sense */

#endif
