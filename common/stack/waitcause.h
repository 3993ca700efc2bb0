/*
 * For what a thread waits, from the functions it waits in: one table of the kernel's
 * (waitcause.c) and two of names in user space that tell locks from condition variables. What no
 * entry knows is `other`.
 */
#ifndef STACK_WAITCAUSE_H
#define STACK_WAITCAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wait_cause {
	CAUSE_OTHER,                   /* no entry knows it */
	CAUSE_LOCK,                    /* a mutex or rwlock of user space: a futex that is one */
	CAUSE_FUTEX,                   /* other futexes: condition variables, parking, joins */
	CAUSE_KERNEL_LOCK,             /* a mutex, semaphore or RCU inside the kernel */
	CAUSE_DISK,
	CAUSE_JOURNAL,                 /* a file system's log */
	CAUSE_DIRTY,                   /* held back: too many pages wait to be written */
	CAUSE_SWAP,
	CAUSE_RECLAIM,                 /* memory has to be freed first */
	CAUSE_FAULT,                   /* a page fault, not of swap */
	CAUSE_NETWORK,                 /* sockets, also those of one host */
	CAUSE_ACCEPT,                  /* a listening socket: idle */
	CAUSE_PIPE,
	CAUSE_TIMER,
	CAUSE_CHILD,
	CAUSE_POLL,                    /* poll, select, epoll, io_uring: idle */
	CAUSE_SIGNAL,                  /* waits for one, or is stopped by one */
	CAUSE_TTY,
	CAUSE_KTHREAD,                 /* a kernel thread without work */
	CAUSE_UNKNOWN,                 /* no kernel stack: not asked, missed, or no room */
	CAUSE_RUNNABLE,                /* does not sleep: it was preempted, or is new */
	CAUSES,
};

const char *wait_cause_name(enum wait_cause c);        /* "lock", "kernel-lock" ... */
bool wait_cause_is_idle(enum wait_cause c);    /* waits for work to come, not for work to be done */

/*
 * names: kernel functions, leaf first, of a thread that sleeps (wchan is such a stack of one).
 * CAUSE_FUTEX for any futex: see wait_cause_of_futex. is_kthread: the thread is the kernel's.
 */
enum wait_cause wait_cause_of(const char *const *names, size_t count, bool is_kthread);

/*
 * A futex's: by the functions of user space nearest to the leaf (leaf first), or, where these
 * have no names, by what it asked the kernel for: says_lock. CAUSE_LOCK or CAUSE_FUTEX.
 */
enum wait_cause wait_cause_of_futex(const char *const *names, size_t count, bool says_lock);

/* The table, for the manual page: entry i of the kernel's; NULL: there are no more. */
const char *wait_cause_entry(size_t i, enum wait_cause *c);

#endif
