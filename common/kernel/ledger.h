/*
 * Where each thread's time goes, exactly: bpf/ledger.bpf.c keeps the books in the kernel, this reads
 * them.
 */
#ifndef KERNEL_LEDGER_H
#define KERNEL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/ledger.h"                /* enum ledger_state, struct ledger_row, ledger_counts */
#include "common/base/mem.h"
#include "common/base/text.h"

struct ledger_options {
	/* numbers in the caller's pid namespace; with either, only those */
	const uint64_t *pids, *tids;
	size_t pid_count, tid_count;
	bool inherits;                 /* what those start belongs to them, too (cgroups) */
	bool takes_all_new;            /* threads that are made meanwhile are seen in any case */
	/* By system call number: enum ledger_state or LEDGER_BY_FILE, LEDGER_BY_FUTEX. */
	const uint8_t *classes;        /* LEDGER_SYSCALLS */
	uint32_t exited_max;           /* threads that exit between two looks, each told by itself */
};

/*
 * Load, attach and open a book for each thread: 50 ms or so. 0, or -errno with a text that says what
 * refused and what would unlock it: ENOTSUP built without BPF, or this kernel can't (before 5.15);
 * EPERM a capability is missing, or a security module or seccomp refuses; ENOENT no kernel BTF.
 */
int ledger_open(const struct ledger_options *options);

/*
 * All threads that were asked for, with their books' sums since opened_ns; then those that exited
 * since the read before. Through the source as the call "bpf ledger"; lives until the frame's end.
 * -ENOENT: not open, or the replayed run has none.
 */
int ledger_read(const struct ledger_row **rows, size_t *count, const struct ledger_counts **counts);

/*
 * The call's reply: of each row all of struct ledger_row as numbers in its order (comm: 32 hex
 * digits at the end), then "counts" and the five of struct ledger_counts. In arena. -EINVAL if a
 * line is garbled or the last one is missing.
 */
int ledger_parse(struct text reply, struct arena *arena, const struct ledger_row **rows,
		 size_t *count, struct ledger_counts *counts);

void ledger_close(void);               /* detach all; nothing of it is left in the kernel */

#endif
