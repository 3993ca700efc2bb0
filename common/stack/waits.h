/*
 * Waiting, summed by stacks that have names: what offcpu saves, and all that it tells comes from.
 *
 * As text, one record a line, words behind each other; names with bytes up to the blank, \ and DEL
 * as \xNN, "-" for none. Things are numbered from 1 in the order of their lines, 0 is none:
 *     engine  NAME ...                what measured
 *     window  NS
 *     frame   k|u|? OBJECT NAME       of the kernel, of user space
 *     stack   u|k|c FRAME ...         leaf first; c: a user stack that ends early
 *     thread  TID TGID HOST-TID HOST-TGID START-NS k|u COMM CGROUP
 *     chain   THREAD USER KERNEL WAITED-USER WAITED-KERNEL PARENT STATE
 *     row     THREAD USER KERNEL CHAIN STATE FLAGS LOCK COUNT SLEEP-NS WAIT-NS THROTTLED-NS MAX-NS
 *     lock    TGID ADDRESS MOST       a futex, how many threads waited for it at once
 *     count   NAME N                  of the engine: lost, repaired
 *     note    TEXT                    about symbols
 *     end
 */
#ifndef STACK_WAITS_H
#define STACK_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/text.h"

enum wait_flags {                      /* as bpf/offcpu.h has them */
	WAIT_OPEN = 1,                 /* still waits as the window ends */
	WAIT_BEGUN = 2,                /* did already as it began */
	WAIT_NEW = 4,                  /* was made, and has not run yet */
	WAIT_NO_USER = 8,              /* there was no room for the stack */
	WAIT_NO_KERNEL = 16,
	WAIT_RESYNCED = 32,            /* an event was missed: its user stack is not known */
	WAIT_FUTEX = 64,               /* lock is the address of a futex */
	WAIT_FUTEX_PI = 128,
	WAIT_FUTEX_2 = 256,
	WAIT_DEEP = 512,               /* more frames than are kept */
};

struct wait_frame {
	const char *name, *object;     /* object NULL: not known */
	bool is_kernel;
};

struct wait_stack {
	const uint32_t *frames;        /* numbers, leaf first */
	uint32_t count;
	bool is_kernel, is_cut;
};

struct wait_thread {
	uint64_t tid, tgid, host_tid, host_tgid, start_ns;
	const char *comm, *cgroup;     /* cgroup NULL: not known */
	bool is_kernel;
};

struct wait_chain {
	uint32_t thread;               /* who woke; 0: an interrupt, or one that is not known */
	uint32_t user, kernel;         /* stacks of that moment; 0: not asked */
	uint32_t waited_user, waited_kernel;   /* of its own longest wait before */
	uint32_t parent, state;
};

struct wait_row {
	uint32_t thread, user, kernel, chain;
	uint32_t state, flags;
	uint64_t lock, count, sleep_ns, wait_ns, throttled_ns, max_ns;
};

struct wait_lock {
	uint64_t tgid, address, most;
};

struct wait_count {
	const char *name;
	uint64_t n;
};

/* Item 0 of each array is not used. */
struct waits {
	struct arena arena;
	const char *engine;
	uint64_t window_ns;
	struct wait_frame *frames;
	struct wait_stack *stacks;
	struct wait_thread *threads;
	struct wait_chain *chains;
	struct wait_row *rows;         /* from 0 */
	struct wait_lock *locks;       /* from 0 */
	struct wait_count *counts;     /* from 0 */
	const char **notes;            /* from 0 */
	size_t frame_count, stack_count, thread_count, chain_count, row_count, count_count,
		note_count, lock_count;            /* the unused ones included */
	size_t frame_cap, stack_cap, thread_cap, chain_cap, row_cap, count_cap, note_cap,
		lock_cap;
};

/*
 * 0, or -EINVAL with fail text that names the line: what is garbled, a number of nothing, no end.
 * What was before is kept. w is zeroed before; waits_free in either case.
 */
int waits_parse(struct text t, struct waits *w);
void waits_write(const struct waits *w, struct buf *to);
void waits_free(struct waits *w);
uint64_t waits_count(const struct waits *w, const char *name); /* 0: not there */

/* For makers: the next item, zeroed; its number is the count less one (rows: from 0). */
struct wait_frame *waits_add_frame(struct waits *w);
struct wait_stack *waits_add_stack(struct waits *w, const uint32_t *frames, uint32_t count);
struct wait_thread *waits_add_thread(struct waits *w);
struct wait_chain *waits_add_chain(struct waits *w);
struct wait_row *waits_add_row(struct waits *w);
struct wait_lock *waits_add_lock(struct waits *w);
void waits_add_count(struct waits *w, const char *name, uint64_t n);
void waits_add_note(struct waits *w, const char *text);

#endif
