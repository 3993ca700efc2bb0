/*
 * How long threads wait for a CPU, as a histogram: of all, or by CPU, process, thread, cgroup.
 *
 * A wait begins as a thread is woken, or is switched out although it could run on, and ends as it
 * is switched in. The scheduler keeps such a time itself (sched_info, the numbers behind
 * /proc/TID/schedstat), but on the run queue's clock, which stands still between a wakeup that
 * preempts and the switch: waits of microseconds are 0 there. So both ends are stamped here. Where
 * an event was not told, the scheduler's stamp, last_queued, stands in.
 */
#include "bpf/kernel.h"
#include "bpf/runqhist.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * The wait of one thread. Written under the lock of its run queue, but threads whose numbers are a
 * multiple of SLOTS apart share a slot: who finds another one's there takes last_queued instead.
 */
struct slot {
	__u32 pid;             /* whose it is; 0 while it is being written */
	__u32 arrivals;        /* how often it had got a CPU then: is it still this wait? */
	__u64 since_ns;        /* CLOCK_MONOTONIC when the wait began; 0: none goes on */
	__u32 kind;            /* enum runqhist_kind */
	__u32 involuntary;     /* its switches of that kind when it last got a CPU */
};
#define SLOTS 65536
static struct slot slots[SLOTS];

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct runqhist_value);
} by_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);        /* user space says how many */
	__type(key, struct runqhist_key);
	__type(value, struct runqhist_value);
} by_key SEC(".maps");

/* Filters: process and thread ids of the first pid namespace, ids of control groups, names. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
} pids SEC(".maps"), tids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, char[16]);
	__type(value, __u32);          /* enum runqhist_verdict */
} names SEC(".maps");

const volatile __u32 by;               /* enum runqhist_by */
const volatile __u32 kinds = 3;        /* bit per enum runqhist_kind */
const volatile bool has_ids, has_groups, has_names;
const volatile bool is_unified;        /* control groups are those of version 2 */
/* Under lockdown=confidentiality no memory may be copied: ids in a pid namespace are unknown. */
const volatile bool may_copy = true;

struct runqhist_counts counts;
__u32 turn;                            /* counts intervals */
__u32 missing;                         /* RUNQHIST_NO_* */
__u32 level;                           /* depth of the reader's pid namespace */
__u64 started_ns;                      /* CLOCK_MONOTONIC: what began before could not be told */

#define COUNT(what) __sync_fetch_and_add(&counts.what, 1)

static __always_inline __u32 find_missing(void)
{
	struct cfs_rq *cfs_rq = NULL;
	struct task_struct *task = NULL;
	__u32 found = 0;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(cfs_rq->rq) ||
	    !bpf_core_field_exists(task->sched_task_group))
		found |= RUNQHIST_NO_GROUPS;
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		found |= RUNQHIST_NO_INFO;
	if (!bpf_core_field_exists(task->on_cpu))
		found |= RUNQHIST_NO_SMP;
	return found;
}

static __always_inline __u64 at_least_zero(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

/* Its number where the reader is; 0 if it has none there. */
static __always_inline __u32 own_nr(struct task_struct *task)
{
	if (!level)
		return (__u32)task->pid;
	return may_copy ? (__u32)pid_nr(task->thread_pid, level) : 0;
}

static __always_inline void find_key(struct runqhist_key *key, struct task_struct *task)
{
	switch (by) {
	case RUNQHIST_CPU:
		key->id = (__u64)task->se.cfs_rq->rq->cpu;
		break;
	case RUNQHIST_PROCESS:
		key->id = (__u32)task->tgid;
		key->start_ns = task->group_leader->start_boottime;
		break;
	case RUNQHIST_THREAD:
		key->id = (__u32)task->pid | (__u64)task->tgid << 32;
		key->start_ns = task->start_boottime;
		break;
	case RUNQHIST_CGROUP:
		key->id = task_cgroup_id(task, is_unified);
		break;
	}
}

static __always_inline bool has_chosen_name(struct task_struct *task)
{
	__u32 ask = RUNQHIST_ASK;
	char name[16];

	task_copy_comm(name, task);
	const __u32 *verdict = bpf_map_lookup_elem(&names, name);

	if (!verdict)
		bpf_map_update_elem(&names, name, &ask, BPF_NOEXIST);
	if (!verdict || *verdict == RUNQHIST_ASK)
		COUNT(undecided);
	return verdict && *verdict == RUNQHIST_YES;
}

/* What never changes with a thread's life; the rest is below. */
static __always_inline bool has_chosen_id(const struct task_struct *task)
{
	const __u32 pid = (__u32)task->tgid, tid = (__u32)task->pid;

	return !has_ids || bpf_map_lookup_elem(&pids, &pid) || bpf_map_lookup_elem(&tids, &tid);
}

static __always_inline bool is_chosen_now(struct task_struct *task)
{
	if (has_groups) {
		const __u64 id = task_cgroup_id(task, is_unified);

		if (!bpf_map_lookup_elem(&groups, &id))
			return false;
	}
	return !has_names || has_chosen_name(task);
}

static __always_inline unsigned bucket_of(__u64 ns)
{
	__u64 rest = ns;
	unsigned e = 0;

	if (ns < 8)
		return (unsigned)ns;
	if (rest >> 32)
		e += 32, rest >>= 32;
	if (rest >> 16)
		e += 16, rest >>= 16;
	if (rest >> 8)
		e += 8, rest >>= 8;
	if (rest >> 4)
		e += 4, rest >>= 4;
	if (rest >> 2)
		e += 2, rest >>= 2;
	if (rest >> 1)
		e += 1;
	return (e - 2) * 8 + (unsigned)(ns >> (e - 3) & 7);
}

static const struct runqhist_value no_waits;

static __always_inline struct runqhist_value *value_of(struct task_struct *task)
{
	struct runqhist_key key = {};
	const __u32 first = 0;

	if (by == RUNQHIST_ALL || by == RUNQHIST_CPU)
		return bpf_map_lookup_elem(&by_cpu, &first);
	find_key(&key, task);
	struct runqhist_value *value = bpf_map_lookup_elem(&by_key, &key);

	if (value)
		return value;
	bpf_map_update_elem(&by_key, &key, &no_waits, BPF_NOEXIST);
	value = bpf_map_lookup_elem(&by_key, &key);
	if (!value) {
		COUNT(dropped);
		return NULL;
	}
	value->tid = own_nr(task);
	value->tgid = own_nr(task->group_leader);
	return value;
}

static __always_inline void add_wait(struct runqhist_value *value, __u64 wait,
				     enum runqhist_kind kind)
{
	unsigned bucket = bucket_of(wait);
	const __u32 now = turn, slot = now & 1;

	if (bucket >= RUNQHIST_BUCKETS)
		bucket = RUNQHIST_BUCKETS - 1;
	barrier_var(bucket);
	if (bucket >= RUNQHIST_BUCKETS)
		return;
	if (by == RUNQHIST_PROCESS || by == RUNQHIST_CGROUP) {
		__sync_fetch_and_add(&value->buckets[bucket], 1);
		__sync_fetch_and_add(&value->count[kind], 1);
		__sync_fetch_and_add(&value->sum_ns[kind], wait);
	} else {
		value->buckets[bucket]++;
		value->count[kind]++;
		value->sum_ns[kind] += wait;
	}
	if (value->turn_of[slot] != now) {
		value->turn_of[slot] = now;
		value->max_ns[slot] = 0;
	}
	if (wait > value->max_ns[slot])
		value->max_ns[slot] = wait;
}

#define BARRIER() asm volatile("" ::: "memory")

static __always_inline struct slot *slot_of(const struct task_struct *task)
{
	return &slots[(__u32)task->pid & (SLOTS - 1)];
}

static __always_inline bool is_this_wait(const struct slot *slot, const struct task_struct *task)
{
	return slot->pid == (__u32)task->pid && slot->since_ns &&
		slot->arrivals == (__u32)task->sched_info.pcount;
}

static __always_inline void begin_wait(const struct task_struct *task, enum runqhist_kind kind,
				       __u64 now)
{
	struct slot *slot = slot_of(task);

	if (slot->pid == (__u32)task->pid && slot->since_ns) {
		/* preempted before it could sleep, now woken: it waits already */
		if (kind == RUNQHIST_WOKEN && is_this_wait(slot, task))
			return;
		COUNT(missed);
	}
	slot->pid = 0;
	BARRIER();
	slot->since_ns = now;
	slot->arrivals = (__u32)task->sched_info.pcount;
	slot->kind = kind;
	slot->involuntary = (__u32)task->nivcsw;
	BARRIER();
	slot->pid = (__u32)task->pid;
}

/* The wait that ends, on the scheduler's clock, for one whose begin was not told. */
static __always_inline __u64 queued_ns(const struct task_struct *task)
{
	const __u64 queued = task->sched_info.last_queued;

	return queued ? at_least_zero(task->se.cfs_rq->rq->clock, queued) : 0;
}

static __always_inline __u64 end_wait(const struct task_struct *task, __u64 now,
				      enum runqhist_kind *kind)
{
	struct slot *slot = slot_of(task);
	const __u32 involuntary = (__u32)task->nivcsw;
	__u64 wait;

	*kind = RUNQHIST_WOKEN;
	if (is_this_wait(slot, task)) {
		wait = at_least_zero(now, slot->since_ns);
		if (slot->kind)
			*kind = RUNQHIST_PREEMPTED;
	} else {
		wait = queued_ns(task);
		if (slot->pid == (__u32)task->pid && slot->involuntary != involuntary)
			*kind = RUNQHIST_PREEMPTED;
		if (now - wait > started_ns)
			COUNT(repaired);
	}
	if (slot->pid == (__u32)task->pid) {
		slot->since_ns = 0;
		slot->involuntary = involuntary;
	}
	return wait;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	const __u64 now = bpf_ktime_get_ns();
	enum runqhist_kind kind;

	if (find_missing())
		return 0;
	if (prev->pid && task_is_runnable(prev) && has_chosen_id(prev))
		begin_wait(prev, RUNQHIST_PREEMPTED, now);
	if (!next->pid || !has_chosen_id(next))
		return 0;
	const __u64 wait = end_wait(next, now, &kind);

	if (!is_chosen_now(next) || !(kinds & 1u << kind))
		return 0;
	struct runqhist_value *value = value_of(next);

	if (!value)
		return 0;
	if (by == RUNQHIST_THREAD)
		task_copy_comm(value->comm, next);
	else if (by == RUNQHIST_PROCESS)
		task_copy_comm(value->comm, next->group_leader);
	add_wait(value, wait, kind);
	return 0;
}

/* Woken while still on its CPU, before it could sleep: it just goes on. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	if (find_missing())
		return 0;
	if (!task->on_cpu && has_chosen_id(task))
		begin_wait(task, RUNQHIST_WOKEN, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	if (find_missing())
		return 0;
	if (has_chosen_id(task))
		begin_wait(task, RUNQHIST_WOKEN, bpf_ktime_get_ns());
	return 0;
}

/* ---- the reader's side: runs once for each thread the reader's pid namespace has ---- */

/* The wait that goes on. */
static __always_inline __u64 pending_of(const struct task_struct *task)
{
	const struct slot *slot = slot_of(task);

	if (!task->sched_info.last_queued)
		return 0;
	return is_this_wait(slot, task) ? at_least_zero(bpf_ktime_get_ns(), slot->since_ns) :
		queued_ns(task);
}

SEC("iter/task")
int each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct runqhist_task row = {};

	if (!task)
		return 0;
	missing = find_missing();
	if (find_missing())
		return 0;
	level = bpf_get_current_task_btf()->thread_pid->level;
	find_key(&row.key, task);
	row.tid = (__u32)task->pid;
	row.tgid = (__u32)task->tgid;
	row.own_tid = own_nr(task);
	row.own_tgid = own_nr(task->group_leader);
	task_copy_comm(row.comm, task);
	row.is_chosen = has_chosen_id(task) && is_chosen_now(task);
	row.pending_ns = pending_of(task);
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
