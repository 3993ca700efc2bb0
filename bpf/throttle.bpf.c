/*
 * How long each thread waited for a CPU, and how much of that while its cgroup was out of CPU
 * quota.
 *
 * A wait begins when a thread becomes runnable without running (preempted, yielded, put aside for
 * lack of quota, woken) and ends when it is switched in. At both ends we read the throttled clock
 * of the run queue of its group on its CPU (cfs_rq_throttled_ns); what that clock moved is the
 * throttled part of the wait. A thread asleep while its group is out of quota loses nothing, and
 * nothing is counted.
 *
 * All times are on the run queue's clock, which the scheduler brings up to date before each of our
 * events: it costs no call, and waits agree with /proc/TID/schedstat to the nanosecond.
 */
#include "bpf/kernel.h"
#include "bpf/throttle.h"

char LICENSE[] SEC("license") = "GPL";

/* A thread's book. Written by one CPU at a time: the lock of the thread's run queue is held at each
 * event. */
struct book {
	__u64 version;         /* odd while it is being written */
	__u64 wait_ns, throttled_ns, unsure_ns;        /* waits that are over */
	__u64 since_ns; /* rq clock at which the wait, or its part on this CPU, began; 0: not
			   waiting */
	__u64 clock_ns;        /* the throttled clock then; it stays when the wait is over */
	__u64 cfs_rq;          /* whose clock: an address, only ever compared */
};

/*
 * Books are opened when a thread is made and for those there are at the start, both times where
 * memory may be allocated; the events themselves only look them up. The kernel frees them with the
 * thread.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct book);
} books SEC(".maps");

struct throttle_counts counts;
__u32 pass;                    /* enum throttle_pass, set by user space before it reads */
__u32 missing;                 /* THROTTLE_NO_* */
__u32 reader;                  /* its global tid */
__u32 level;                   /* depth of its pid namespace */
bool is_started;               /* every thread ought to have a book now */
__u64 ahead_ns; /* rq clock - CLOCK_MONOTONIC, taken whenever the reader is switched in */

/* Under lockdown=confidentiality no memory may be copied: then waits that migrate are unsure. */
const volatile bool may_copy = true;

#define COUNT(what) __sync_fetch_and_add(&counts.what, 1)
#define BARRIER() asm volatile("" ::: "memory")

static __always_inline __u32 find_missing(void)
{
	struct cfs_rq *cfs_rq = NULL;
	struct task_struct *task = NULL;
	__u32 found = 0;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(cfs_rq->rq) ||
	    !bpf_core_field_exists(task->sched_task_group))
		found |= THROTTLE_NO_GROUPS;
	if (!bpf_core_field_exists(cfs_rq->throttle_count))
		found |= THROTTLE_NO_BANDWIDTH;
	if (!bpf_core_field_exists(task->on_cpu))
		found |= THROTTLE_NO_SMP;
	return found;
}

static __always_inline __u64 at_least_zero(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

/* rq clock when the thread last got a CPU; 0 if the kernel does not keep it. */
static __always_inline __u64 last_arrival(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.last_arrival) ? task->sched_info.last_arrival
								    : 0;
}

/* What a wait that ends at `end` adds; `now` is when its clock is read, later than its end if that
 * was missed. */
struct piece {
	__u64 wait_ns, throttled_ns, unsure_ns;
};

static __always_inline void measure(const struct book *book, struct task_struct *task, __u64 end,
				    __u64 now, struct piece *piece)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	__u64 wait = end - book->since_ns;

	piece->wait_ns = wait;
	piece->throttled_ns = piece->unsure_ns = 0;
	if (!task_is_fair(task))
		return;
	if (book->cfs_rq != (__u64)cfs_rq) {
		piece->unsure_ns = wait;
		return;
	}
	__u64 moved = at_least_zero(cfs_rq_throttled_ns(cfs_rq, now, false), book->clock_ns);
	__u64 most = moved < wait ? moved : wait;
	__u64 least = at_least_zero(moved, now - end);

	piece->throttled_ns = least < most ? least : most;
	piece->unsure_ns = most - piece->throttled_ns;
}

static __always_inline void write_begin(struct book *book)
{
	book->version++;
	BARRIER();
}

static __always_inline void write_end(struct book *book)
{
	BARRIER();
	book->version++;
}

/* Close the wait that began at since_ns. */
static __always_inline void settle(struct book *book, struct task_struct *task, __u64 end,
				   __u64 now)
{
	struct piece piece;

	if (end < book->since_ns || now < end) {
		COUNT(dropped);
	} else {
		if (book->cfs_rq != (__u64)task->se.cfs_rq && task_is_fair(task))
			COUNT(regrouped);
		measure(book, task, end, now, &piece);
		book->wait_ns += piece.wait_ns;
		book->throttled_ns += piece.throttled_ns;
		book->unsure_ns += piece.unsure_ns;
	}
	book->since_ns = 0;
}

static __always_inline struct book *find_book(struct task_struct *task)
{
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book && is_started)
		COUNT(unseen);
	return book;
}

static __always_inline void begin_wait(struct task_struct *task, bool has_just_run)
{
	struct book *book = find_book(task);

	if (!book)
		return;
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	__u64 now = cfs_rq->rq->clock;

	if (book->since_ns && !has_just_run && last_arrival(task) < book->since_ns)
		return; /* preempted on its way to sleep and woken before it slept: it waits already
			 */
	write_begin(book);
	if (book->since_ns) {
		COUNT(repaired);       /* it got a CPU in between and nobody told us */
		settle(book, task, last_arrival(task), now);
	}
	book->since_ns = now;
	book->clock_ns = cfs_rq_throttled_ns(cfs_rq, now, false);
	book->cfs_rq = (__u64)cfs_rq;
	write_end(book);
}

/* Its beginning was missed: the scheduler knows when it was, but what the clock said then we only
 * bound. */
static __always_inline void settle_unannounced(struct book *book, struct task_struct *task,
					       __u64 now)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	__u64 queued = 0;

	if (bpf_core_field_exists(task->sched_info.last_queued))
		queued = task->sched_info.last_queued;
	if (!queued || queued > now) {
		COUNT(dropped);
		return;
	}
	COUNT(repaired);
	__u64 moved = cfs_rq_throttled_ns(cfs_rq, now, false);

	if (book->cfs_rq == (__u64)cfs_rq)
		moved = at_least_zero(moved, book->clock_ns);
	book->wait_ns += now - queued;
	if (task_is_fair(task))
		book->unsure_ns += moved < now - queued ? moved : now - queued;
}

static __always_inline void end_wait(struct task_struct *task)
{
	struct book *book = find_book(task);

	if (!book)
		return;
	__u64 now = task->se.cfs_rq->rq->clock;

	write_begin(book);
	if (book->since_ns)
		settle(book, task, now, now);
	else
		settle_unannounced(book, task, now);
	write_end(book);
}

/* Who goes and who comes; the fourth argument, the state, is not there before 5.18, and on_rq says
 * more. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (find_missing())
		return 0;
	if (prev->pid && task_is_runnable(prev))
		begin_wait(prev, true);
	if (next->pid)
		end_wait(next);
	if ((__u32)next->pid == reader)
		ahead_ns = next->se.cfs_rq->rq->clock - bpf_ktime_get_ns();
	return 0;
}

/* Woken while still on its CPU, before it could sleep: it just goes on. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	if (find_missing())
		return 0;
	if (!task->on_cpu)
		begin_wait(task, false);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	if (find_missing())
		return 0;
	begin_wait(task, false);
	return 0;
}

/*
 * A thread changes its CPU, and with it the run queue whose clock counts; here it still has the old
 * one, whose lock is held if it was waiting. The new one's clock may be read without its lock: the
 * time base is the same, so `now` of the old one will do.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int cpu)
{
	if (find_missing())
		return 0;
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book || !book->since_ns)
		return 0;
	struct cfs_rq *cfs_rq = NULL;
	__u64 now = task->se.cfs_rq->rq->clock;

	write_begin(book);
	if (!task->on_rq) {
		COUNT(repaired);       /* asleep: a wait that ended unseen */
		settle(book, task, last_arrival(task), now);
	} else {
		COUNT(migrated);
		settle(book, task, now, now);
		if (may_copy)
			cfs_rq = cfs_rq_on(task, cpu);
		if (cfs_rq)
			book->clock_ns = cfs_rq_throttled_ns(cfs_rq, now, true);
		book->since_ns = now;
		book->cfs_rq = (__u64)cfs_rq;
	}
	write_end(book);
	return 0;
}

/* All kinds of threads pass here before they run, io_uring's too, which sched_process_fork doesn't
 * see. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_new, struct task_struct *task)
{
	if (task->pid)
		bpf_task_storage_get(&books, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

/* ---- the reader's side: runs once for each thread the reader's pid namespace has ---- */

static __always_inline bool is_waiting(struct task_struct *task)
{
	return task_is_runnable(task) && !task->on_cpu;
}

static __always_inline __u64 clock_now(struct task_struct *task)
{
	/* the CPU's own rq clock stands still while it idles, as it does when all it had is
	 * throttled */
	return ahead_ns ? bpf_ktime_get_ns() + ahead_ns : task->se.cfs_rq->rq->clock;
}

/* Open a book in its final state at once, so that events meanwhile find all of it or nothing. */
static __always_inline struct book *open_book(struct task_struct *task)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	__u64 now = clock_now(task);
	struct book book = {
		.since_ns = is_waiting(task) ? now : 0,
		.clock_ns = cfs_rq_throttled_ns(cfs_rq, now, false),
		.cfs_rq = (__u64)cfs_rq,
	};

	return bpf_task_storage_get(&books, task, &book, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	int nr = task->pid;
	struct pid *pid;

	if (level && may_copy) {
		/* numbers[] was an array of one until 6.5, then of unknown size: count from its
		 * start */
		bpf_core_read(&pid, sizeof(pid), &task->thread_pid);
		const char *numbers = (const char *)__builtin_preserve_access_index(&pid->numbers);

		bpf_probe_read_kernel(&nr, sizeof(nr),
				      numbers + level * bpf_core_type_size(struct upid));
	}
	return (__u32)nr;
}

static __always_inline void fill_row(struct throttle_row *row, const struct book *book,
				     struct task_struct *task)
{
	struct piece piece = {};
	__u64 now = clock_now(task), end = now;

	if (book->since_ns) {
		/* waiting no more, and the end was missed, or comes this very moment */
		if (!is_waiting(task) && last_arrival(task) >= book->since_ns)
			end = last_arrival(task);
		if (end >= book->since_ns && now >= end)
			measure(book, task, end, now, &piece);
	}
	row->wait_ns = book->wait_ns + piece.wait_ns;
	row->throttled_ns = book->throttled_ns + piece.throttled_ns;
	row->unsure_ns = book->unsure_ns + piece.unsure_ns;
}

/* false: it was being written meanwhile. Three times in a row does not happen. */
static __always_inline bool read_book(struct throttle_row *row, const struct book *book,
				      struct task_struct *task)
{
	__u64 version = *(const volatile __u64 *)&book->version;

	BARRIER();
	fill_row(row, book, task);
	BARRIER();
	return !(version & 1) && version == *(const volatile __u64 *)&book->version;
}

SEC("iter/task")
int each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct throttle_row row = {};

	if (!task)
		return 0;
	missing = find_missing();
	if (find_missing())
		return 0;
	if (pass == THROTTLE_LEARN) {
		reader = bpf_get_current_pid_tgid();
		level = bpf_get_current_task_btf()->thread_pid->level;
		return 0;
	}
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book)
		book = open_book(task);
	if (!book) {
		COUNT(unseen);
		return 0;
	}
	if (pass != THROTTLE_ROWS)
		return 0;
	row.tid = tid_of(task);
	row.start_ns = task->start_boottime;
	/* no loop: 6.1 takes it for one without end */
	read_book(&row, book, task) || read_book(&row, book, task) || read_book(&row, book, task);
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
