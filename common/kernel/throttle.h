/*
 * Exactly how long each thread waited for a CPU, and how much of that because its cgroup or one
 * above it was out of CPU quota: bpf/throttle.bpf.c counts in the kernel, this reads.
 */
#ifndef KERNEL_THROTTLE_H
#define KERNEL_THROTTLE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/throttle.h"              /* struct throttle_row, struct throttle_counts */
#include "common/base/mem.h"
#include "common/base/text.h"

/*
 * Load, attach, and start counting: 0.1 s or so. 0, or -errno with a text that says what refused
 * and what would unlock it: ENOTSUP built without BPF; EPERM a capability is missing, or a security
 * module or seccomp refuses; ENOENT no kernel BTF; EINVAL this kernel can't (before 5.12, or built
 * without CPU bandwidth). Replaying: 0; whether the run had it, throttle_read tells.
 */
int throttle_open(void);

/*
 * All threads of the caller's pid namespace, each counted since throttle_open or since it was made,
 * whichever came later; in no order. Taken through the source as the call "bpf throttle". They live
 * until the frame's end. A thread that has exited is not among them. -ENOENT: not open, or the
 * replayed run has none.
 */
int throttle_read(const struct throttle_row **rows, size_t *count);

/*
 * The call's reply: "TID START_NS WAIT_NS THROTTLED_NS UNSURE_NS" lines, then "counts" and the five
 * of struct throttle_counts. Rows live in arena. -EINVAL if a line is garbled or the last one is
 * missing.
 */
int throttle_parse(struct text reply, struct arena *arena, const struct throttle_row **rows,
		   size_t *count, struct throttle_counts *counts);

/* What was repaired and lost since throttle_open, as of the last throttle_read. */
const struct throttle_counts *throttle_counts(void);

void throttle_close(void);             /* detach all; nothing of it is left in the kernel */

#endif
