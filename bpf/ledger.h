/* What bpf/ledger.bpf.c and common/kernel/ledger.c tell each other. */
#ifndef BPF_LEDGER_H
#define BPF_LEDGER_H

#include <linux/types.h>

/* What a thread's time goes to: every ns of it to one of these. */
enum ledger_state {
	LEDGER_RUN,                    /* on a CPU */
	LEDGER_WOKEN,                  /* could run, after a wakeup */
	LEDGER_PREEMPTED,              /* could run on, but lost the CPU */
	LEDGER_THROTTLED,              /* could run, but its group was out of quota */
	LEDGER_LOCK,                   /* asleep: a futex that is a mutex */
	LEDGER_FUTEX,                  /* any other futex */
	LEDGER_DISK,
	LEDGER_NET,
	LEDGER_TIMER,
	LEDGER_POLL,                   /* until work comes */
	LEDGER_OTHER,
	LEDGER_STATES,
};
#define LEDGER_GONE LEDGER_STATES      /* it has exited, and its row was written */

/* In ledger_program.classes: what a system call waits for, if it does. */
#define LEDGER_SYSCALLS 512
#define LEDGER_BY_FILE  (LEDGER_STATES + 1)    /* what the file is: its first argument */
#define LEDGER_BY_FUTEX (LEDGER_STATES + 2)    /* what it asks of the futex */

#define LEDGER_KERNEL 1u               /* a kernel thread */
#define LEDGER_EXITED 2u               /* it is over: a last row */
#define LEDGER_NICE   8u               /* its nice is above 0: it may wait */
#define LEDGER_SUM    4u               /* of exited threads of a process, for want of room */

/* A thread, from opened_ns to time_ns, both CLOCK_MONOTONIC. */
struct ledger_row {
	__u32 tid, tgid;               /* in the reader's pid namespace; 0: none there */
	__u32 host_tid, host_tgid;
	__u64 start_ns;                /* since boot: tells a reused tid */
	__u64 opened_ns, time_ns;
	__u64 ns[LEDGER_STATES];
	__u64 user_ns, system_ns;      /* as the kernel's ticks have it, since it was made */
	__u64 voluntary, involuntary;  /* switches, since it was made */
	__u64 major_faults;
	__u32 flags, state;
	char comm[16];
};

struct ledger_key {
	__u32 tid, reserved;           /* of the first pid namespace; of a sum: the process's */
	__u64 start_ns;                /* of a sum: 0 */
};

struct ledger_counts {
	__u64 repaired;                /* switches that were not told: the scheduler's stamps stood in */
	__u64 unseen;                  /* threads there was no memory for */
	__u64 summed;                  /* exited threads told only as part of their process's sum */
	__u64 lost;                    /* exited threads without room at all */
	__u64 unsure;                  /* waits whose throttled part is not known: they changed CPU */
};

/* What a run of the iterator is for. */
enum ledger_pass {
	LEDGER_LEARN,                  /* who reads: nothing else */
	LEDGER_START,                  /* a book for every thread that is asked for */
	LEDGER_ROWS,                   /* the same, and a row of each */
};

/* Pieces the kernel lacks; without them nothing can be measured. */
#define LEDGER_NO_GROUPS 1u            /* CONFIG_FAIR_GROUP_SCHED */
#define LEDGER_NO_INFO   2u            /* CONFIG_SCHED_INFO */
#define LEDGER_NO_SMP    4u            /* CONFIG_SMP */

#endif
