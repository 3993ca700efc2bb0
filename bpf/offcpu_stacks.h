/*
 * Stacks, each kept once: found by one hash, told from all others by a second one. Part of
 * offcpu.bpf.c.
 */
#ifndef BPF_OFFCPU_STACKS_H
#define BPF_OFFCPU_STACKS_H

#include "bpf/kernel.h"
#include "bpf/offcpu.h"

/* Sizes are set before loading. All take memory only as they fill. */
#define HASH_MAP(name_, key_, value_) \
	struct { \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__uint(max_entries, 1024); \
		__type(key, key_); \
		__type(value, value_); \
	} name_ SEC(".maps")

HASH_MAP(deep_stacks, __u64, struct offcpu_stack);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__uint(value_size, OFFCPU_STACK_SHORT_SIZE);
} short_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct offcpu_stack);
} scratch SEC(".maps");

struct offcpu_counts counts;
const volatile __u64 seed1, seed2;

#define COUNT(what) __sync_fetch_and_add(&counts.what, 1)
#define ADD(what, n) __sync_fetch_and_add(&counts.what, n)

static __always_inline bool is_stored(void *map, __u64 id, __u64 check, bool *is_other)
{
	const __u64 *found = bpf_map_lookup_elem(map, &id);

	*is_other = found && *found != check;
	return found && !*is_other;
}

static __always_inline bool store_in(void *map, __u64 *id, struct offcpu_stack *s)
{
	bool is_other;

	if (is_stored(map, *id, s->check, &is_other))
		return true;
	if (is_other) {
		/* the one in 2^64: it has a second place */
		*id = offcpu_finish(*id ^ s->check);
		if (is_stored(map, *id, s->check, &is_other))
			return true;
		if (is_other)
			return false;
	}
	if (!bpf_map_update_elem(map, id, s, BPF_NOEXIST))
		return true;
	return is_stored(map, *id, s->check, &is_other);       /* another CPU was faster */
}

/* Its id; 0: there was no room. */
static __always_inline __u64 store_stack(struct offcpu_stack *s)
{
	__u64 id = offcpu_hash(s, seed1, seed2);
	bool is_there = s->count <= OFFCPU_FRAMES_SHORT ? store_in(&short_stacks, &id, s) :
							   store_in(&deep_stacks, &id, s);

	if (!is_there)
		COUNT(lost_stacks);
	return is_there ? id : 0;
}

static __always_inline void walk_stack(struct offcpu_stack *s, struct task_struct *task,
				       __u64 flags)
{
	long n = bpf_get_task_stack(task, s->frames, sizeof(s->frames), flags);

	s->count = n > 0 ? (__u32)n / 8 : 0;
	s->reserved = 0;
}

/* The kernel stack of a task that does not run, or our own. */
static __always_inline __u64 kernel_stack_of(struct task_struct *task)
{
	__u32 zero = 0;
	struct offcpu_stack *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s)
		return 0;
	walk_stack(s, task, 0);
	return s->count ? store_stack(s) : 0;
}

static __always_inline __u64 user_stack_now(struct task_struct *current)
{
	__u32 zero = 0;
	struct offcpu_stack *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s)
		return 0;
	walk_stack(s, current, BPF_F_USER_STACK);
	return s->count ? store_stack(s) : 0;
}

#endif
