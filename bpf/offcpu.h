/* What bpf/offcpu.bpf.c and common/kernel/offcpu.c tell each other. */
#ifndef BPF_OFFCPU_H
#define BPF_OFFCPU_H

#include <linux/types.h>

/*
 * Frames of a stack, leaf first. What is left out is nearest to the root. Sizes are chosen so that
 * an entry of either map, with the kernel's own header, fills 512 and 1024 bytes.
 */
#define OFFCPU_FRAMES_MAX 116
#define OFFCPU_FRAMES_SHORT 52

/* A stack, found by a hash of its frames; check is another one, so that no two are ever taken for
 * one. */
struct offcpu_stack {
	__u64 check;
	__u32 count;
	__u32 reserved;
	__u64 frames[OFFCPU_FRAMES_MAX];
};
#define OFFCPU_STACK_SHORT_SIZE (16 + OFFCPU_FRAMES_SHORT * 8)

static inline __attribute__((always_inline)) __u64 offcpu_rotate(__u64 v, int by)
{
	return v << by | v >> (64 - by);
}

static inline __attribute__((always_inline)) __u64 offcpu_finish(__u64 h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	h ^= h >> 32;
	return h ? h : 1;
}

/*
 * Two hashes from different seeds, which nobody outside knows: one finds a stack (the result), the
 * other (check, which is set) tells it from all others.
 */
static inline __attribute__((always_inline)) __u64 offcpu_hash(struct offcpu_stack *s, __u64 a,
							       __u64 b)
{
	__u32 count = s->count;

	for (__u32 i = 0; i < OFFCPU_FRAMES_MAX; i++) {
		if (i >= count)
			break;
		a = offcpu_rotate(a ^ s->frames[i] * 0x9e3779b97f4a7c15ull, 27) *
		    0xc2b2ae3d27d4eb4full;
		b = offcpu_rotate(b + s->frames[i] * 0xff51afd7ed558ccdull, 31) *
		    0xc4ceb9fe1a85ec53ull;
	}
	s->check = offcpu_finish(b ^ count);
	return offcpu_finish(a + count);
}

/* offcpu_key.flags */
#define OFFCPU_OPEN      1u            /* still off the CPU when the window ended */
#define OFFCPU_BEGUN     2u            /* already off the CPU when the window began */
#define OFFCPU_NEW       4u            /* made, and did not run yet */
/* 8 and 16: see enum wait_flags in common/stack/waits.h */
#define OFFCPU_RESYNCED  32u           /* an event was missed: the scheduler's stamps stood in */
#define OFFCPU_FUTEX     64u           /* asleep in futex(2): lock is its address */
#define OFFCPU_FUTEX_PI  128u          /* of those: waits for a lock by what it asked for */
#define OFFCPU_FUTEX_2   256u          /* of those: FUTEX_WAIT for the value 2 */
#define OFFCPU_DEEP_USER 512u          /* the user stack is cut at OFFCPU_FRAMES_MAX */

/* Time is summed by this. */
struct offcpu_key {
	__u64 user, kernel;            /* ids of stacks; 0: none */
	__u64 chain;                   /* id of who woke it; 0: not asked, or nobody did */
	__u64 lock;                    /* a futex: its address; 0 */
	__u64 thread;                  /* a serial: struct offcpu_thread */
	__u32 state;                   /* the kernel's TASK_ bits as it left the CPU; 0: runnable */
	__u32 flags;
};

struct offcpu_sum {
	__u64 count;                   /* intervals */
	__u64 sleep_ns;                /* until woken */
	__u64 wait_ns;                 /* then, or (state 0) all the time: runnable */
	__u64 throttled_ns;            /* of wait_ns: its group was out of CPU quota */
	__u64 max_ns;                  /* the longest of them, all of it */
};

/* One who woke another, and what it waited for itself before. */
struct offcpu_chain {
	__u64 user, kernel;            /* what it ran as it woke the other; 0: not asked */
	__u64 waited_user, waited_kernel;      /* stacks of its own longest sleep before */
	__u64 parent;                  /* who woke it from that; 0: not known */
	__u64 thread;                  /* 0: nobody's: an interrupt while idle */
	__u32 waited_state;
	__u32 reserved;
};

/* A futex that threads of a process waited for: how many at once. */
struct offcpu_lock_key {
	__u64 address;
	__u32 tgid;                    /* in the first pid namespace */
	__u32 reserved;
};

struct offcpu_lock {
	__s64 now, most;
	__u64 tgid;                    /* in the reader's */
};

/* Time on CPUs, one for each CPU and more if there are more: the last one is shared. */
#define OFFCPU_CPUS 256
struct offcpu_running {
	__u64 ns, reserved[7];
};

/* A thread under one name: another serial once it takes another one (or another program). */
struct offcpu_thread {
	__u64 start_ns;                /* since boot */
	__u64 previous;                /* its serial under the name before; 0: none */
	__u32 tid, tgid;               /* in the reader's pid namespace */
	__u32 host_tid, host_tgid;     /* in the first one */
	__u32 is_kernel;               /* a kernel thread */
	__u32 reserved;
	char comm[16];
};

/* Asleep when the window began: where its user stack lies. */
struct offcpu_begun {
	__u64 thread;
	__u32 tid, tgid;
	__u64 ip, sp, fp;
};

struct offcpu_counts {
	__u64 switches;                /* events looked at */
	__u64 intervals;               /* summed */
	__u64 resynced;                /* of them: repaired */
	__u64 unseen;                  /* threads that there was no memory for */
	__u64 lost_stacks;             /* times there was no room for a stack: it may come again */
	__u64 lost_rows;               /* intervals without room for a row */
	__u64 lost_row_ns;             /* their time: it is nowhere else */
	__u64 lost_threads;            /* names without room */
	__u64 lost_chains;
	__u64 backwards;               /* intervals that ended before they began: left out */
};

enum offcpu_pass {
	OFFCPU_LEARN,                  /* who reads: nothing else */
	OFFCPU_START,                  /* a book for every thread; writes struct offcpu_begun */
	OFFCPU_END,                    /* intervals that still go on are summed */
};

/* Pieces the kernel lacks; without them nothing can be measured. */
#define OFFCPU_LACKS_GROUPS 1u         /* CONFIG_FAIR_GROUP_SCHED */
#define OFFCPU_LACKS_INFO   2u         /* CONFIG_SCHED_INFO */

#endif
