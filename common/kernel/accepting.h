/*
 * Where the threads of a server are: waiting in accept for the next connection, waiting in epoll
 * and the like, or busy. From /proc/PID/task/TID stat, schedstat, syscall and wchan (proc(5)).
 */
#ifndef KERNEL_ACCEPTING_H
#define KERNEL_ACCEPTING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"

#define ACCEPT_THREADS_MAX 1024        /* looked at of one process; the rest are unknown */

enum accept_state {
	ACCEPT_UNKNOWN,                /* may not be looked at, or is asleep nobody says where */
	ACCEPT_WAITING,                /* in accept on that descriptor: idle, ready for work */
	ACCEPT_POLLING,                /* in epoll_wait, poll, select, io_uring_enter: idle, too */
	ACCEPT_RUNNING,                /* on a CPU, or runnable and nothing says it had none */
	ACCEPT_RUNNABLE,               /* wants a CPU and had none since the frame before */
	ACCEPT_ASLEEP,                 /* in another system call, uninterruptible sleep included */
	ACCEPT_STOPPED,                /* by a signal or a debugger */
	ACCEPT_STATES
};
const char *accept_state_name(enum accept_state s);    /* "in accept" "polling" "running" ... */

struct accept_threads {
	uint32_t total;                /* threads of the process, those that exit counted not */
	uint32_t in[ACCEPT_STATES];    /* how many are where; they add up to total */
	/*
	 * What the process as a whole does: waiting if a thread is, else the first there is of
	 * polling, unknown, running, runnable, stopped, asleep.
	 */
	enum accept_state state;
	char letter;                   /* R S D T t of a thread that is there; '?' unknown */
};

/*
 * All threads of pid. fd: its descriptor of the listening socket, which tells accept on that one
 * from accept on another; where the call's arguments may not be read, any accept counts. 0, or
 * -ENOENT it is gone, -errno with fail text. Which of running and runnable it is takes two frames,
 * 15 ms apart or more, in each of which the thread is runnable when looked at. Costs 15 us a
 * process and 12 us a thread.
 */
int accept_look(uint32_t pid, uint32_t fd, struct accept_threads *threads);

/* accept_look's state; ACCEPT_UNKNOWN if that fails. */
enum accept_state accept_state(uint32_t pid, uint32_t fd);

/*
 * /proc/PID/syscall: "running", "-1 SP PC" (asleep, but not in a call) or "NR 0xARG0 ... SP PC"
 * (fs/proc/base.c proc_pid_syscall). machine: as uname has it, since numbers differ; of one that is
 * not known every call is ACCEPT_UNKNOWN.
 */
enum accept_state accept_parse_syscall(struct text t, const char *machine, uint32_t fd);
/* A wchan's function name: ACCEPT_WAITING on any TCP socket, _POLLING, _ASLEEP; "0" _UNKNOWN. */
enum accept_state accept_parse_wchan(struct text t);

#endif
