/*
 * Time that threads spend off the CPU, by stacks, as addresses: bpf/offcpu.bpf.c sums in the
 * kernel, this asks for it and reads it. Names are for whoever knows symbols (stack/waitnames.h).
 *
 * What comes out is not read through the source: callers save their rows once these have names.
 */
#ifndef KERNEL_OFFCPU_H
#define KERNEL_OFFCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/offcpu.h"

#define OFFCPU_STORAGE 262144u         /* different stacks, and rows, unless told */
#define OFFCPU_STORAGE_MAX (16u << 20)

struct offcpu_options {
	/* numbers in the caller's pid namespace; with either, only those */
	const uint64_t *pids, *tids;
	size_t pid_count, tid_count;
	bool inherits;                 /* what those start belongs to them, too (cgroups) */
	bool takes_all_new;            /* threads that are made meanwhile are seen in any case */
	bool only_user, only_kernel;   /* threads */
	bool no_user_stacks, no_kernel_stacks;
	uint64_t least_ns, most_ns;    /* intervals outside are left out; NA_U64: no most */
	uint32_t state_mask;           /* TASK_ bits, 1 << 31 for those that can run; 0: any */
	uint32_t waker_depth;          /* 0: of futexes alone, without the stacks of wakers */
	uint64_t storage;              /* stacks and rows; 0: OFFCPU_STORAGE */
};

/*
 * Load and attach: 50 ms or so. 0, or -errno with a text that says what refused and what would
 * unlock it; ENOTSUP built without BPF, EINVAL (told as ENOTSUP) this kernel can't.
 */
int offcpu_open(const struct offcpu_options *o);
/* The window begins: what waits already is looked at. 0 or -errno with fail text. */
int offcpu_begin(void);
/* It ends: what still waits is counted. */
int offcpu_end(void);
void offcpu_close(void);               /* detach; nothing of it is left in the kernel */

uint64_t offcpu_window_ns(void);       /* its length, after offcpu_end */

struct offcpu_row {
	struct offcpu_key key;
	struct offcpu_sum sum;
};
/* All sums; the caller frees *rows. */
int offcpu_rows(struct offcpu_row **rows, size_t *count);
/* What keys name. False: not there. */
bool offcpu_stack(uint64_t id, struct offcpu_stack *s);
bool offcpu_chain(uint64_t id, struct offcpu_chain *c);
bool offcpu_thread(uint64_t serial, struct offcpu_thread *t);
struct offcpu_counts offcpu_counts(void);
uint64_t offcpu_running_ns(void);      /* on CPUs, of the threads that were looked at */
/* Calls each with the futexes that were waited for: the process, and how many waited at once. */
void offcpu_locks(void (*each)(void *arg, uint64_t tgid, uint64_t address, uint64_t most),
		  void *arg);

#endif
