/* What bpf/runqhist.bpf.c and common/kernel/runqhist.c tell each other. */
#ifndef BPF_RUNQHIST_H
#define BPF_RUNQHIST_H

#include <linux/types.h>

/*
 * Eight buckets for each power of two: 0 to 7 ns have one each, then bucket 8 * (e - 2) + k holds
 * what is at least (8 + k) << (e - 3) ns and less than (9 + k) << (e - 3), 2^e the power of two in
 * it. The last holds all from 36 minutes on.
 */
#define RUNQHIST_BUCKETS 312

enum runqhist_by { RUNQHIST_ALL, RUNQHIST_CPU, RUNQHIST_PROCESS, RUNQHIST_THREAD, RUNQHIST_CGROUP };

/* How a wait began. */
enum runqhist_kind { RUNQHIST_WOKEN, RUNQHIST_PREEMPTED, RUNQHIST_KINDS };

/* Whose waits are summed: numbers of the first pid namespace, times since boot. */
struct runqhist_key {
	__u64 id;              /* CPU; process; thread | process << 32; id of a control group */
	__u64 start_ns;        /* of a thread or of a process's first one: tells reused ids */
};

/* Since the program was attached, but for max_ns. */
struct runqhist_value {
	__u64 count[RUNQHIST_KINDS], sum_ns[RUNQHIST_KINDS];
	__u64 max_ns[2];       /* the longest, by turn & 1; stale unless turn_of says the same */
	__u32 turn_of[2];
	__u32 tid, tgid;       /* in the reader's pid namespace; 0: not in it */
	char comm[16];
	__u32 buckets[RUNQHIST_BUCKETS];
};

/* One thread, as the iterator found it. */
struct runqhist_task {
	struct runqhist_key key;
	__u64 pending_ns;      /* it waits now, for so long; 0: it does not */
	__u32 tid, tgid;       /* of the first pid namespace */
	__u32 own_tid, own_tgid; /* in the reader's */
	char comm[16];
	__u32 is_chosen;       /* the filters leave it */
	__u32 reserved;
};

struct runqhist_counts {
	__u64 repaired;        /* waits whose begin was not told: as long as the scheduler says */
	__u64 missed;          /* waits whose end was not told: not counted */
	__u64 dropped;         /* waits of whom there was no room for */
	__u64 undecided;       /* waits under a name nobody has judged yet */
};

enum runqhist_verdict { RUNQHIST_ASK, RUNQHIST_NO, RUNQHIST_YES };

/* Pieces the kernel lacks; without them nothing can be measured. */
#define RUNQHIST_NO_GROUPS 1u          /* CONFIG_FAIR_GROUP_SCHED */
#define RUNQHIST_NO_INFO   2u          /* CONFIG_SCHED_INFO */
#define RUNQHIST_NO_SMP    4u          /* CONFIG_SMP */

#endif
