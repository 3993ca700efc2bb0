/*
 * Kernel stacks, each kept once: found by one hash, told from all others by a second one, so that
 * two never become one. Both sides; the maps and what fills them are in kstack.bpf.h.
 */
#ifndef BPF_KSTACK_H
#define BPF_KSTACK_H

#include <linux/types.h>

/* Frames, leaf first. What is left out is nearest to the root. */
#define KSTACK_FRAMES 96
#define KSTACK_MOST 8192               /* different ones */

struct kstack {
	__u64 check;
	__u32 count;
	__u32 reserved;
	__u64 frames[KSTACK_FRAMES];
};

static inline __attribute__((always_inline)) __u64 kstack_finish(__u64 h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	h ^= h >> 32;
	return h ? h : 1;
}

#endif
