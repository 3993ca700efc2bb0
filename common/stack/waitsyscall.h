/*
 * For what a thread waits, from the system call it is in: what can be told without its stack. The
 * kernel's functions (waitcause.h) say more, and more surely.
 */
#ifndef STACK_WAITSYSCALL_H
#define STACK_WAITSYSCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/stack/waitcause.h"

struct wait_syscall {
	enum wait_cause cause;         /* CAUSE_OTHER: it says nothing */
	bool by_file;                  /* what its first argument, a file, is decides */
	bool by_futex;                 /* whether it is a lock: wait_syscall_is_lock */
};

/* number: of this machine's own kind of program (asm/unistd.h). */
struct wait_syscall wait_syscall(uint64_t number);

/* The futex operation and value of futex(2): what mutexes of glibc and Go ask for, and PI locks. */
bool wait_syscall_is_lock(uint64_t operation, uint64_t value);

/*
 * /proc/PID/syscall (fs/proc/base.c proc_pid_syscall): "202 0x7f.. 0x80 0x2 ...", "-1 ..." in no
 * call, "running". false: neither; a number with less than three arguments has zeros for them.
 */
bool wait_syscall_parse(struct text t, uint64_t *number, uint64_t arguments[3]);

#endif
