/* What bpf/throttle.bpf.c and common/kernel/throttle.c tell each other. */
#ifndef BPF_THROTTLE_H
#define BPF_THROTTLE_H

#include <linux/types.h>

/* One thread, counted since it was first seen: at throttle_open, or when it was made. */
struct throttle_row {
	__u32 tid;             /* in the reader's pid namespace */
	__u32 reserved;
	__u64 start_ns; /* since boot: tells a reused tid; field 22 of stat is made from it */
	__u64 wait_ns;         /* runnable but not running, a wait that goes on now included */
	__u64 throttled_ns;    /* of that, certainly while a group above it was out of quota */
	__u64 unsure_ns;       /* of that, possibly: at most this much more was throttling */
};

/* Only threads whose group was ever out of quota on their CPU are looked at, and can be lost. */
struct throttle_counts {
	__u64 migrated;        /* waits that went on on another CPU; counted on both */
	__u64 regrouped;       /* waits during which the thread changed its cgroup: unsure */
	__u64 repaired;        /* events that never came: the scheduler's stamps stood in */
	__u64 dropped;         /* waits whose throttled part was given up: nothing could stand in */
	__u64 unseen;          /* events of threads without a book: no memory when they were made */
};

/* What a run of the iterator is for. */
enum throttle_pass {
	THROTTLE_LEARN,        /* who reads: nothing else */
	THROTTLE_START,        /* remember every thread there is */
	THROTTLE_ROWS,         /* write one struct throttle_row each */
};

/* Pieces the kernel lacks; without them nothing can be counted. */
#define THROTTLE_NO_GROUPS    1u       /* CONFIG_FAIR_GROUP_SCHED */
#define THROTTLE_NO_BANDWIDTH 2u       /* CONFIG_CFS_BANDWIDTH */
#define THROTTLE_NO_SMP       4u       /* CONFIG_SMP */
#define THROTTLE_NO_INFO      8u       /* CONFIG_SCHED_INFO */

#endif
