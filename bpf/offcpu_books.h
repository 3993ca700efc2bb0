/* What is kept of each thread, and how its time is summed. Part of offcpu.bpf.c. */
#ifndef BPF_OFFCPU_BOOKS_H
#define BPF_OFFCPU_BOOKS_H

#include "bpf/kernel.h"
#include "bpf/offcpu.h"
#include "bpf/offcpu_stacks.h"

#define TASK_GONE 0xb0u        /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD: include/linux/sched.h */
#define STATE_RUNNABLE (1u << 31)      /* in state_mask: for state 0 */
/* What was on a CPU at the end, and has left it since, may seem to have left so much before. */
#define UNSURE_NS 1000000u
#define FUTEX_WAIT 0           /* include/uapi/linux/futex.h */
#define FUTEX_LOCK_PI 6
#define FUTEX_LOCK_PI2 13
#define FUTEX_COMMAND 0x7f
#define CLONE_THREAD 0x10000ul
#define FRAME_BYTES(n) ((n) * sizeof(__u64))

struct book {
	__u64 off_ns;                  /* since when it is off the CPU; 0: it runs */
	__u64 on_ns;                   /* when it got the CPU last */
	__u64 ran_ns;                  /* sum_exec_runtime then */
	__u64 delay_ns, arrivals;      /* run_delay and pcount as it left */
	__u64 quota_clock_ns, cfs_rq;  /* the throttled clock as its wait began, and whose */
	__u64 serial;
	__u64 lock;
	__u64 waker_ns, waker;         /* who woke it last: a chain's id */
	/* its longest sleep since it woke another, for those whom it wakes */
	__u64 waited_ns, waited_end_ns, waited_user, waited_kernel, waited_chain, woke_ns;
	__u32 waited_state;
	__u32 depth;                   /* of waited_chain */
	__u32 state;
	__u32 flags;                   /* OFFCPU_ */
	bool is_wanted, is_passed_over, is_kernel, has_row;
	struct offcpu_stack user;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct book);
} books SEC(".maps");

HASH_MAP(sums, struct offcpu_key, struct offcpu_sum);
HASH_MAP(threads, __u64, struct offcpu_thread);
HASH_MAP(chains, __u64, struct offcpu_chain);
HASH_MAP(locks, struct offcpu_lock_key, struct offcpu_lock);
HASH_MAP(begun, __u64, __u64);         /* serial: id of the user stack it began with */
HASH_MAP(only_tgids, __u32, __u8);     /* as the reader's pid namespace counts */
HASH_MAP(only_tids, __u32, __u8);

struct offcpu_running running[OFFCPU_CPUS];
__u32 pass, missing, level;
__u64 own_namespace;                   /* the reader's pid namespace, an address */
__u64 began_ns, ended_ns;              /* CLOCK_MONOTONIC; 0: not yet */

const volatile __u64 least_ns, most_ns = ~0ull;
const volatile __u32 state_mask;       /* 0: any */
const volatile __u32 waker_depth;      /* 0: none but those of futexes, without stacks */
const volatile bool has_filter, inherits_filter, takes_all_new, only_user, only_kernel;
const volatile bool no_user_stacks, no_kernel_stacks, has_state_argument = true;

static __always_inline __u32 find_missing(void)
{
	struct cfs_rq *cfs_rq = NULL;
	struct task_struct *task = NULL;
	__u32 found = 0;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(cfs_rq->rq))
		found |= OFFCPU_LACKS_GROUPS;
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		found |= OFFCPU_LACKS_INFO;
	return found;
}

/* ---- threads ---- */

static __always_inline bool is_visible(struct task_struct *task)
{
	return !level || pid_namespace(task->thread_pid, level) == own_namespace;
}

/* A serial for the thread as it is called now; 0: no room. */
static __always_inline __u64 name_thread(struct task_struct *task, const char *comm, __u64 previous)
{
	struct offcpu_thread t = {
		.start_ns = task->start_boottime,
		.host_tid = task->pid,
		.host_tgid = task->tgid,
		.is_kernel = (task->flags & PF_KTHREAD) != 0,
		.previous = previous,
	};
	__u64 serial = offcpu_finish(offcpu_rotate(t.start_ns ^ (__u64)t.host_tid << 40, 23) ^
			      bpf_ktime_get_ns() * 0x9e3779b97f4a7c15ull);

	t.tid = level ? pid_nr(task->thread_pid, level) : task->pid;
	t.tgid = level ? pid_nr(BPF_CORE_READ(task, group_leader, thread_pid), level) : task->tgid;
	bpf_probe_read_kernel(t.comm, sizeof(t.comm), comm);
	if (bpf_map_update_elem(&threads, &serial, &t, BPF_NOEXIST)) {
		COUNT(lost_threads);
		return 0;
	}
	return serial;
}

static __always_inline struct book *open_book(struct task_struct *task, bool is_wanted)
{
	struct book *book;

	book = bpf_task_storage_get(&books, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!book) {
		COUNT(unseen);
		return NULL;
	}
	book->is_kernel = (task->flags & PF_KTHREAD) != 0;
	book->is_wanted = is_wanted && !(only_user && book->is_kernel) &&
			  !(only_kernel && !book->is_kernel);
	if (!book->serial)
		book->serial = name_thread(task, task->comm, 0);
	return book;
}

/* ---- intervals ---- */

struct interval {
	__u64 from_ns, to_ns;
	__u64 wait_ns;                 /* of it, at its end: runnable */
	__u64 throttled_ns;
	bool has_kernel_stack;         /* it is still that of the interval */
};

static __always_inline __u64 clock_of(struct task_struct *task)
{
	return task->se.cfs_rq->rq->clock;
}

static __always_inline void count_interval(const struct offcpu_key *key, const struct interval *i)
{
	__u64 length = i->to_ns - i->from_ns;
	__u64 wait = i->wait_ns < length && key->state ? i->wait_ns : length;
	struct offcpu_sum fresh = {
		.count = 1,
		.sleep_ns = length - wait,
		.wait_ns = wait,
		.throttled_ns = i->throttled_ns < wait ? i->throttled_ns : wait,
		.max_ns = length,
	};
	struct offcpu_sum *sum = bpf_map_lookup_elem(&sums, key);

	if (!sum) {
		if (!bpf_map_update_elem(&sums, key, &fresh, BPF_NOEXIST))
			return;
		sum = bpf_map_lookup_elem(&sums, key);
	}
	if (!sum) {
		COUNT(lost_rows);
		ADD(lost_row_ns, length);
		return;
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->sleep_ns, fresh.sleep_ns);
	__sync_fetch_and_add(&sum->wait_ns, fresh.wait_ns);
	if (fresh.throttled_ns)
		__sync_fetch_and_add(&sum->throttled_ns, fresh.throttled_ns);
	if (sum->max_ns < length)
		sum->max_ns = length;
}

/* For those it is going to wake. */
static __always_inline void remember(struct book *book, const struct offcpu_key *key,
				     const struct interval *i)
{
	__u64 length = i->to_ns - i->from_ns;

	if (!key->state || (book->waited_end_ns > book->woke_ns && book->waited_ns >= length))
		return;
	book->waited_ns = length;
	book->waited_end_ns = i->to_ns;
	book->waited_user = key->user;
	book->waited_kernel = key->kernel;
	book->waited_state = key->state;
	book->waited_chain = key->chain;
}

static __always_inline void find_user_stack(struct book *book, struct offcpu_key *key)
{
	if (book->flags & OFFCPU_BEGUN) {
		__u64 *id = bpf_map_lookup_elem(&begun, &book->serial);

		key->user = id ? *id : 0;
		return;
	}
	if (!book->user.count)
		return;
	key->user = store_stack(&book->user);
	if (!key->user)
		key->flags |= OFFCPU_NO_USER;
	if (book->user.count == OFFCPU_FRAMES_MAX)
		key->flags |= OFFCPU_DEEP_USER;
}

/* The interval is over, or the window is. */
static __always_inline void sum_up(struct book *book, struct task_struct *task, struct interval *i,
				   __u32 flags)
{
	if (i->from_ns < began_ns)
		i->from_ns = began_ns;
	if (i->to_ns <= i->from_ns) {
		if (i->to_ns < i->from_ns && i->to_ns > began_ns)
			COUNT(backwards);
		return;
	}
	__u64 length = i->to_ns - i->from_ns;

	if (length < least_ns || length > most_ns || book->is_passed_over)
		return;
	struct offcpu_key key = {
		.thread = book->serial,
		.state = book->state,
		.flags = book->flags | flags,
		.lock = book->lock,
	};

	if (book->waker && book->waker_ns >= book->off_ns && book->state)
		key.chain = book->waker;
	find_user_stack(book, &key);
	if (i->has_kernel_stack && !no_kernel_stacks) {
		key.kernel = kernel_stack_of(task);
		if (!key.kernel)
			key.flags |= OFFCPU_NO_KERNEL;
	}
	if (key.flags & (OFFCPU_NO_USER | OFFCPU_NO_KERNEL))
		ADD(lost_stack_ns, length);
	COUNT(intervals);
	book->has_row = true;
	count_interval(&key, i);
	remember(book, &key, i);
}

#endif
