/* A thread as /proc/PID/task/TID shows it: stat, schedstat, status, cgroup. */
#ifndef KERNEL_TASK_H
#define KERNEL_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

#define TASK_COMM_MAX 64               /* kernel threads' may be above 15 bytes, fs/proc/array.c */
#define TASK_FLAG_KTHREAD 0x00200000u  /* PF_KTHREAD, include/linux/sched.h */

/* fs/proc/array.c do_task_stat; proc(5). What is cut or garbled is NA_U64, NA_I64. */
struct task_stat {
	struct text comm;              /* raw bytes between the first ( and the last ) */
	char state;                    /* R S D T t Z X I P */
	uint64_t ppid;
	uint64_t flags;
	uint64_t major_faults;         /* of this thread */
	uint64_t utime_ticks, stime_ticks;     /* USER_HZ ticks, guest time included in utime */
	int64_t nice;
	uint64_t threads;
	uint64_t start_ticks;          /* since boot */
	uint64_t cpu;                  /* last ran on; NA_U64 on a line too short to say */
	uint64_t rt_priority, policy;
};
int task_parse_stat(struct text t, struct task_stat *stat);            /* 0 or -EINVAL */

/* fs/proc/base.c proc_pid_schedstat: "%llu %llu %lu". PID's file is its leader's alone. */
struct task_schedstat {
	uint64_t run_ns;               /* on a CPU; lags by up to a tick while running */
	uint64_t wait_ns;              /* runnable, not running; grows only when the wait ends */
	uint64_t runs;                 /* times put on a CPU */
};
int task_parse_schedstat(struct text t, struct task_schedstat *s);

/* fs/proc/array.c proc_pid_status. Fields that are not there are unknown (NA_U64, empty text). */
struct task_status {
	uint64_t tgid;
	uint64_t voluntary, involuntary;       /* context switches of this thread alone */
	struct text cpus_allowed;              /* list form */
	struct text nspid;                     /* the NSpid words: innermost last */
	uint64_t uid;                          /* effective */
};
int task_parse_status(struct text t, struct task_status *s);

/* /proc/PID/cgroup lines "ID:CONTROLLERS:PATH" (cgroups(7)); the path of the line whose list holds
 * `controller`, or of the "0::" line when controller is "". false: there is none. */
bool task_parse_cgroup(struct text t, const char *controller, struct text *path);

#endif
