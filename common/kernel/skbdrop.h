/*
 * Packets that the kernel drops, counted in the kernel: bpf/skbdrop.bpf.c counts, this asks for it
 * and reads it. What it comes to is a struct drop_set; names of functions are for whoever knows
 * symbols. Not read through the source: callers save the set once it has names.
 */
#ifndef KERNEL_SKBDROP_H
#define KERNEL_SKBDROP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/kernel/dropset.h"

struct skbdrop_options {
	/* Only these namespaces (inodes), only these devices (names, in any namespace); none: all.
	 * A packet whose device is forgotten is counted with the number of the one it came by,
	 * whatever devices are asked for: who reads has to look that up. */
	const uint64_t *netns;
	size_t netns_count;
	const char *const *devices;
	size_t device_count;
	bool wants_stacks;
};

/*
 * Load, attach, count: some 30 ms. 0, or -errno with a text that says what refused and what would
 * unlock it; ENOTSUP built without BPF.
 */
int skbdrop_open(const struct skbdrop_options *o);

/* What was counted since, into an empty set. 0, or -ENOENT: not open. */
int skbdrop_read(kstack_namer name, void *arg, struct drop_set *set);

void skbdrop_close(void);              /* detach; nothing of it is left in the kernel */

#endif
