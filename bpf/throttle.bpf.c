/*
 * How long each thread waited for a CPU, and how much of that while its cgroup was out of CPU
 * quota.
 *
 * The wait itself the scheduler measures (sched_info, the numbers behind /proc/TID/schedstat). It
 * begins when a thread becomes runnable without running (preempted, put aside for lack of quota,
 * woken) and ends when it is switched in. At both ends we read the throttled clock of the run queue
 * of its group on its CPU (cfs_rq_throttled_ns): what that moved is the throttled part of the wait.
 * A thread asleep while its group is out of quota loses nothing, and nothing is counted.
 *
 * A clock that never moved stands at 0, and then nothing is written down: a wait that finds it
 * moved at its end and has no beginning began with it at 0. So threads that no quota ever held back
 * cost next to nothing.
 *
 * All times are on the run queue's clock, which the scheduler brings up to date before each of our
 * events.
 */
#include "bpf/kernel.h"
#include "bpf/throttle.h"

char LICENSE[] SEC("license") = "GPL";

/* A thread's book. One CPU writes at a time: at each event the lock of its run queue is held. */
struct book {
	__u64 version;         /* odd while it is being written */
	__u64 throttled_ns, unsure_ns;         /* of waits that are over */
	__u64 since_ns;        /* when the wait, or its part on this CPU, began; 0: none written */
	__u64 clock_ns;        /* the throttled clock then; it stays when the wait is over */
	__u64 cfs_rq;          /* whose clock: an address, only ever compared */
	__u64 arrivals;        /* how often the thread had got a CPU then: is it still this wait? */
	__u64 waited_before_ns;        /* when the book was opened */
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
__u64 ahead_ns;                /* rq clock - CLOCK_MONOTONIC, taken as the reader is switched in */

/* Under lockdown=confidentiality no memory may be copied: then waits that migrate are unsure. */
const volatile bool may_copy = true;

/* struct rq of each CPU, an address, as far as one was seen. With more CPUs waits may be unsure. */
#define CPUS_MAX 4096
__u64 run_queues[CPUS_MAX];

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
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		found |= THROTTLE_NO_INFO;
	return found;
}

static __always_inline __u64 at_least_zero(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

struct piece {
	__u64 throttled_ns, unsure_ns;
};

/* The wait written down. It ended at `end`; clock is of `now`, later if the end was missed. */
static __always_inline struct piece measure(const struct book *book, struct task_struct *task,
					    __u64 clock, __u64 end, __u64 now)
{
	__u64 wait = at_least_zero(end, book->since_ns);
	struct piece piece = {};

	if (!task_is_fair(task))
		return piece;
	if (book->cfs_rq != (__u64)task->se.cfs_rq) {
		piece.unsure_ns = wait;
		return piece;
	}
	__u64 moved = at_least_zero(clock, book->clock_ns);
	__u64 most = moved < wait ? moved : wait;
	__u64 least = at_least_zero(moved, at_least_zero(now, end));

	piece.throttled_ns = least < most ? least : most;
	piece.unsure_ns = most - piece.throttled_ns;
	return piece;
}

/* A wait that is not written down: it began with the clock at 0, or its beginning was missed. */
static __always_inline struct piece measure_unwritten(const struct book *book,
						      struct task_struct *task, __u64 clock,
						      __u64 now)
{
	const struct sched_info *info = &task->sched_info;
	__u64 accounted = book->waited_before_ns + book->throttled_ns + book->unsure_ns;
	/* on its way to another CPU it isn't queued, and what it waited is in the sum */
	__u64 wait = info->last_queued ? at_least_zero(now, info->last_queued) :
		at_least_zero(info->run_delay, accounted);
	bool is_missed = book->cfs_rq == (__u64)task->se.cfs_rq;
	__u64 moved = is_missed ? at_least_zero(clock, book->clock_ns) : clock;
	struct piece piece = {};

	if (!task_is_fair(task))
		return piece;
	if (is_missed || moved > wait)
		piece.unsure_ns = moved < wait ? moved : wait;
	else
		piece.throttled_ns = moved;
	return piece;
}

static __always_inline void learn_cpu(const struct rq *rq)
{
	run_queues[rq->cpu & (CPUS_MAX - 1)] = (__u64)rq;
}

/* How far per-CPU memory of one CPU is from another's; 0 if one of them was never seen. */
static __always_inline __u64 apart(int from, int to)
{
	__u64 a = run_queues[from & (CPUS_MAX - 1)], b = run_queues[to & (CPUS_MAX - 1)];

	return a && b ? b - a : 0;
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

static __always_inline void add(struct book *book, struct piece piece)
{
	book->throttled_ns += piece.throttled_ns;
	book->unsure_ns += piece.unsure_ns;
	book->since_ns = 0;
}

static __always_inline void settle(struct book *book, struct task_struct *task, __u64 clock,
				   __u64 now)
{
	if (book->cfs_rq != (__u64)task->se.cfs_rq)
		COUNT(regrouped);
	add(book, measure(book, task, clock, now, now));
}

/* The wait written down ended without our being told. */
static __always_inline void settle_missed(struct book *book, struct task_struct *task, __u64 clock,
					  __u64 now)
{
	__u64 end = task->sched_info.last_arrival;

	if (task->sched_info.pcount == book->arrivals + 1 && end >= book->since_ns && end <= now) {
		COUNT(repaired);
		add(book, measure(book, task, clock, end, now));
	} else {
		COUNT(dropped);
		book->since_ns = 0;
	}
}

static __always_inline void settle_unwritten(struct book *book, struct task_struct *task,
					     __u64 clock, __u64 now)
{
	struct piece piece = measure_unwritten(book, task, clock, now);

	if (piece.unsure_ns)
		COUNT(repaired);
	add(book, piece);
}

static __always_inline void settle_any(struct book *book, struct task_struct *task, __u64 clock,
				       __u64 now)
{
	if (book->since_ns && task->sched_info.pcount == book->arrivals) {
		settle(book, task, clock, now);
		return;
	}
	if (book->since_ns)
		settle_missed(book, task, clock, now);
	settle_unwritten(book, task, clock, now);
}

static __always_inline struct book *find_book(struct task_struct *task)
{
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book && is_started)
		COUNT(unseen);
	return book;
}

static __always_inline void write_down(struct book *book, struct task_struct *task, __u64 cfs_rq,
				       __u64 clock, __u64 now)
{
	book->since_ns = now;
	book->clock_ns = clock;
	book->cfs_rq = cfs_rq;
	book->arrivals = task->sched_info.pcount;
}

static __always_inline void begin_wait(struct task_struct *task, bool has_just_run)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	__u64 now = cfs_rq->rq->clock;
	__u64 clock = cfs_rq_throttled_ns(cfs_rq, now, false);

	if (!clock)
		return;
	struct book *book = find_book(task);

	if (!book)
		return;
	if (book->since_ns && !has_just_run && task->sched_info.pcount == book->arrivals)
		return;        /* preempted before it could sleep, now woken: it waits already */
	write_begin(book);
	if (book->since_ns)
		settle_missed(book, task, clock, now);
	write_down(book, task, (__u64)cfs_rq, clock, now);
	write_end(book);
}

static __always_inline void end_wait(struct task_struct *task)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	__u64 now = cfs_rq->rq->clock;
	__u64 clock = cfs_rq_throttled_ns(cfs_rq, now, false);

	if (!clock)
		return;
	struct book *book = find_book(task);

	if (!book)
		return;
	write_begin(book);
	settle_any(book, task, clock, now);
	write_end(book);
}

/* The fourth argument, prev's state, is not there before 5.18, and on_rq says more. */
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
 * A thread that waits changes its CPU, and with it the run queue whose clock counts; here it still
 * has the old one, whose lock is held. The new one's clock may be read without its lock: the time
 * base is the same, so `now` of the old one will do.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int cpu)
{
	if (find_missing() || !task_is_runnable(task))
		return 0;
	struct cfs_rq *here = task->se.cfs_rq, *there = NULL;
	__u64 now = here->rq->clock, clock = cfs_rq_throttled_ns(here, now, false), clock_there = 0;

	learn_cpu(here->rq);
	if (may_copy)
		there = cfs_rq_on(task, cpu, apart(here->rq->cpu, cpu));
	if (there)
		clock_there = cfs_rq_throttled_ns(there, now, true);
	if (there && !clock && !clock_there)
		return 0;
	struct book *book = find_book(task);

	if (!book)
		return 0;
	write_begin(book);
	if (clock) {
		COUNT(migrated);
		settle_any(book, task, clock, now);
	}
	if (clock_there || !there)
		write_down(book, task, (__u64)there, clock_there, now);
	write_end(book);
	return 0;
}

/* All threads pass here before they run; sched_process_fork does not see those of io_uring. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_new, struct task_struct *task)
{
	if (task->pid)
		bpf_task_storage_get(&books, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

/* ---- the reader's side: runs once for each thread the reader's pid namespace has ---- */

static __always_inline __u64 clock_now(struct task_struct *task)
{
	/* the CPU's own rq clock stands still while it idles: when all it had is throttled */
	return ahead_ns ? bpf_ktime_get_ns() + ahead_ns : task->se.cfs_rq->rq->clock;
}

static __always_inline __u64 waited(struct task_struct *task, __u64 now)
{
	__u64 queued = task->sched_info.last_queued;

	return task->sched_info.run_delay + (queued ? at_least_zero(now, queued) : 0);
}

/* Open a book in its final state at once, so that events meanwhile find all of it or nothing. */
static __always_inline struct book *open_book(struct task_struct *task)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	__u64 now = clock_now(task), clock = cfs_rq_throttled_ns(cfs_rq, now, false);
	struct book book = { .waited_before_ns = waited(task, now) };

	if (clock)
		write_down(&book, task, (__u64)cfs_rq, clock, now);
	if (!task->sched_info.last_queued)
		book.since_ns = 0;
	return bpf_task_storage_get(&books, task, &book, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	int nr = task->pid;
	struct pid *pid;

	if (level && may_copy) {
		/* numbers[] was an array of one until 6.5, then of no size: count from its start */
		bpf_core_read(&pid, sizeof(pid), &task->thread_pid);
		const char *numbers = (const char *)__builtin_preserve_access_index(&pid->numbers);

		bpf_probe_read_kernel(&nr, sizeof(nr),
				      numbers + level * bpf_core_type_size(struct upid));
	}
	return (__u32)nr;
}

/* The wait that goes on, or one whose end was missed. */
static __always_inline struct piece measure_pending(const struct book *book,
						    struct task_struct *task, __u64 now)
{
	const struct sched_info *info = &task->sched_info;
	__u64 clock = cfs_rq_throttled_ns(task->se.cfs_rq, now, false);

	if (book->since_ns && info->pcount == book->arrivals)
		return measure(book, task, clock, now, now);
	if (book->since_ns && info->pcount == book->arrivals + 1)
		return measure(book, task, clock, info->last_arrival, now);
	if (clock && info->last_queued)
		return measure_unwritten(book, task, clock, now);
	return (struct piece){};
}

static __always_inline void fill_row(struct throttle_row *row, const struct book *book,
				     struct task_struct *task)
{
	__u64 now = clock_now(task);
	struct piece pending = measure_pending(book, task, now);

	row->wait_ns = at_least_zero(waited(task, now), book->waited_before_ns);
	row->throttled_ns = book->throttled_ns + pending.throttled_ns;
	row->unsure_ns = book->unsure_ns + pending.unsure_ns;
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

	learn_cpu(task->se.cfs_rq->rq);
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
