/* The stack of the program that runs, kept in a map: a part of the programs that include it. */
#ifndef BPF_KSTACK_BPF_H
#define BPF_KSTACK_BPF_H

#include "bpf/kernel.h"
#include "bpf/kstack.h"

/* Filled before it is needed: packets are dropped where no memory can be had. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);        /* KSTACK_MOST if stacks are wanted */
	__type(key, __u64);
	__type(value, struct kstack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kstack);
} stack_scratch SEC(".maps");

const volatile __u64 stack_seed1, stack_seed2;

/* From seeds that nobody outside knows. */
static __always_inline __u64 hash_stack(struct kstack *s)
{
	const __u32 count = s->count;
	__u64 a = stack_seed1, b = stack_seed2;

	for (__u32 i = 0; i < KSTACK_FRAMES; i++) {
		if (i >= count)
			break;
		a = (a ^ s->frames[i]) * 0xc2b2ae3d27d4eb4full;
		a ^= a >> 29;
		b = (b + s->frames[i]) * 0xff51afd7ed558ccdull;
		b ^= b >> 31;
	}
	s->check = kstack_finish(b ^ count);
	return kstack_finish(a + count);
}

static __always_inline bool is_stored(__u64 id, __u64 check)
{
	const struct kstack *found = bpf_map_lookup_elem(&stacks, &id);

	return found && found->check == check;
}

/* Its id; 0: there was no room, or no stack. */
static __always_inline __u64 keep_stack(void *ctx)
{
	const __u32 zero = 0;
	struct kstack *s = bpf_map_lookup_elem(&stack_scratch, &zero);

	if (!s)
		return 0;
	const long n = bpf_get_stack(ctx, s->frames, sizeof(s->frames), 0);

	if (n <= 0)
		return 0;
	s->count = (__u32)n / 8;
	__u64 id = hash_stack(s);

	if (is_stored(id, s->check))
		return id;
	if (bpf_map_lookup_elem(&stacks, &id))
		id = kstack_finish(id ^ s->check);     /* the one in 2^64: it has a second place */
	bpf_map_update_elem(&stacks, &id, s, BPF_NOEXIST);
	return is_stored(id, s->check) ? id : 0;       /* another CPU may have been faster */
}

#endif
