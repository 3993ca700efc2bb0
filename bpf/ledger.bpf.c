/*
 * Where each thread's time goes: running, runnable, asleep and for what. Every event closes the
 * account of what was before and opens the next, so that the sums are the time that passed.
 *
 * What a thread sleeps for is asked as it leaves its CPU: it waits for I/O, or is in a system call
 * whose number says so, if need be with the kind of its file. No stack is walked.
 */
#include "bpf/kernel.h"
#include "bpf/ledger.h"

char LICENSE[] SEC("license") = "GPL";

#define TASK_DEAD 0x80u                /* include/linux/sched.h */
#define DEFAULT_PRIO 120               /* include/linux/sched/prio.h */
#define CLONE_THREAD 0x10000ul
#define TS_COMPAT 2u                   /* arch/x86/include/asm/thread_info.h */
#define FUTEX_WAIT 0                   /* include/uapi/linux/futex.h */
#define FUTEX_LOCK_PI 6
#define FUTEX_LOCK_PI2 13
#define FUTEX_COMMAND 0x7f
#define S_IFMT 0170000                 /* include/uapi/linux/stat.h */
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000

/* A thread's book. One CPU writes at a time: at each event the lock of its run queue is held. */
struct book {
	__u64 version;                 /* odd while it is being written */
	__u64 opened_ns, since_ns;     /* since_ns: when its state began */
	__u64 ns[LEDGER_STATES];
	__u64 ran_ns;                  /* sum_exec_runtime when it got the CPU last */
	__u64 clock_ns, cfs_rq;        /* the throttled clock as its wait began, and whose */
	__u32 state;
	__u32 tid, tgid;               /* in the reader's pid namespace */
	__u32 reserved;
};

/* Opened when a thread is made and for those there are at the start, where memory may be had. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct book);
} books SEC(".maps");

/* Those that exited since the last look; when it is full, by process. User space sets the sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct ledger_key);
	__type(value, struct ledger_row);
} exited SEC(".maps"), exited_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);            /* as the reader's pid namespace counts */
	__type(value, __u8);
} only_tgids SEC(".maps"), only_tids SEC(".maps");

/* A row is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct ledger_row);
} scratch SEC(".maps");

const volatile __u8 classes[LEDGER_SYSCALLS];  /* enum ledger_state or LEDGER_BY_ */
const volatile bool has_filter, inherits_filter, takes_all_new;

struct ledger_counts counts;
__u32 pass, missing, level;
__u64 own_namespace;                   /* the reader's pid namespace, an address */
bool is_started;

#define COUNT(what) __sync_fetch_and_add(&counts.what, 1)
#define BARRIER() asm volatile("" ::: "memory")

static __always_inline __u32 find_missing(void)
{
	struct cfs_rq *cfs_rq = NULL;
	struct task_struct *task = NULL;
	__u32 found = 0;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(cfs_rq->rq))
		found |= LEDGER_NO_GROUPS;
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		found |= LEDGER_NO_INFO;
	if (!bpf_core_field_exists(task->on_cpu))
		found |= LEDGER_NO_SMP;
	return found;
}

static __always_inline __u64 at_least_zero(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

static __always_inline __u64 at_most(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline __u64 clock_of(const struct task_struct *task)
{
	return task->se.cfs_rq->rq->clock;
}

/* ---- what it sleeps for ---- */

static __always_inline __u32 cause_of_file(const struct task_struct *task, __u64 fd)
{
	const struct files_struct *files = task->files;
	struct file *file = NULL;

	if (!files)
		return LEDGER_OTHER;
	const struct fdtable *table = files->fdt;

	if (fd >= table->max_fds)
		return LEDGER_OTHER;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	if (!file)
		return LEDGER_OTHER;
	switch (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) {
	case S_IFSOCK:
		return LEDGER_NET;
	case S_IFREG:
	case S_IFBLK:
	case S_IFDIR:
		return LEDGER_DISK;
	case S_IFCHR:                  /* terminals, /dev/kmsg */
	case 0:                        /* eventfd, inotify and the like have no kind */
		return LEDGER_POLL;
	}
	return LEDGER_OTHER;           /* pipes */
}

static __always_inline bool is_lock(const struct pt_regs *regs)
{
	const __u32 command = REGS_ARG2(regs) & FUTEX_COMMAND;

	/* 2 is what glibc's and Go's mutexes hold while somebody waits */
	return command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2 ||
		(command == FUTEX_WAIT && (__u32)REGS_ARG3(regs) == 2);
}

/* A 32-bit program's system calls have other numbers. */
static __always_inline bool is_compat(const struct task_struct *task)
{
	return bpf_core_field_exists(task->thread_info.status) &&
		task->thread_info.status & TS_COMPAT;
}

static __always_inline __u32 cause_of(struct task_struct *task)
{
	if (task_waits_for_io(task))
		return LEDGER_DISK;
	if (task->flags & PF_KTHREAD)
		return LEDGER_POLL;
	if (is_compat(task))
		return LEDGER_OTHER;
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	const __u64 number = REGS_SYSCALL(regs);

	if (number >= LEDGER_SYSCALLS) /* -1: a page fault or interrupt */
		return LEDGER_OTHER;
	const __u32 class = classes[number];

	if (class == LEDGER_BY_FUTEX)
		return is_lock(regs) ? LEDGER_LOCK : LEDGER_FUTEX;
	if (class == LEDGER_BY_FILE)
		return cause_of_file(task, REGS_ARG1(regs));
	return class < LEDGER_STATES ? class : LEDGER_OTHER;
}

/* ---- the book ---- */

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

static __always_inline void add(struct book *book, __u32 state, __u64 ns)
{
	if (state < LEDGER_STATES)
		book->ns[state] += ns;
}

static __always_inline bool is_waiting(__u32 state)
{
	return state == LEDGER_WOKEN || state == LEDGER_PREEMPTED;
}

static __always_inline void note_quota(struct book *book, struct task_struct *task)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;

	book->clock_ns = cfs_rq_throttled_ns(cfs_rq, cfs_rq->rq->clock, false);
	book->cfs_rq = (__u64)cfs_rq;
}

/* Of a wait so far: how much its group was out of quota. */
static __always_inline __u64 throttled_ns(const struct book *book, struct task_struct *task,
					  __u64 wait, bool *is_unsure)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	const __u64 clock = cfs_rq_throttled_ns(cfs_rq, cfs_rq->rq->clock, false);

	*is_unsure = clock && book->cfs_rq != (__u64)cfs_rq;
	if (!clock || *is_unsure || !task_is_fair(task))
		return 0;
	return at_most(wait, at_least_zero(clock, book->clock_ns));
}

/* It was on a CPU as far as we know, and left it unseen at some time since. */
static __always_inline void add_unseen(struct book *book, struct task_struct *task, __u64 passed)
{
	const __u64 ran = at_most(passed, task->se.sum_exec_runtime - book->ran_ns),
		    queued = task->sched_info.last_queued,
		    wait = queued ? at_most(passed - ran, at_least_zero(clock_of(task), queued)) : 0;

	add(book, LEDGER_RUN, ran);
	add(book, LEDGER_WOKEN, wait);
	add(book, LEDGER_OTHER, passed - ran - wait);
}

/* A state that ends as the thread gets a CPU. */
static __always_inline void close_at_arrival(struct book *book, struct task_struct *task, __u64 now)
{
	const __u64 passed = at_least_zero(now, book->since_ns);
	bool is_unsure = false;
	__u64 part;

	if (is_waiting(book->state)) {
		part = throttled_ns(book, task, passed, &is_unsure);
		add(book, LEDGER_THROTTLED, part);
		add(book, book->state, passed - part);
		if (is_unsure)
			COUNT(unsure);
		return;
	}
	COUNT(repaired);
	if (book->state == LEDGER_RUN) {
		add_unseen(book, task, passed);
		return;
	}
	/* nobody told that it was woken */
	const __u64 queued = task->sched_info.last_queued;

	part = queued ? at_most(passed, at_least_zero(clock_of(task), queued)) : 0;
	add(book, LEDGER_WOKEN, part);
	add(book, book->state, passed - part);
}

static __always_inline void arrive(struct task_struct *task, __u64 now)
{
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book || book->state == LEDGER_GONE)
		return;
	write_begin(book);
	close_at_arrival(book, task, now);
	book->state = LEDGER_RUN;
	book->since_ns = now;
	book->ran_ns = task->se.sum_exec_runtime;
	write_end(book);
}

/* The time up to now, of a state that is not known to have ended before it was on a CPU. */
static __always_inline void close_unseen_arrival(struct book *book, const struct task_struct *task,
						 __u64 now)
{
	const __u64 passed = at_least_zero(now, book->since_ns),
		    ran = at_most(passed,
				  at_least_zero(clock_of(task), task->sched_info.last_arrival));

	COUNT(repaired);
	add(book, LEDGER_RUN, ran);
	add(book, book->state, passed - ran);
}

static __always_inline void fill_row(struct ledger_row *row, const struct book *book,
				     struct task_struct *task, __u64 now)
{
	row->tid = book->tid;
	row->tgid = book->tgid;
	row->host_tid = (__u32)task->pid;
	row->host_tgid = (__u32)task->tgid;
	row->start_ns = task->start_boottime;
	row->opened_ns = book->opened_ns;
	row->time_ns = now;
#pragma unroll
	for (int i = 0; i < LEDGER_STATES; i++)
		row->ns[i] = book->ns[i];
	row->user_ns = task->utime;
	row->system_ns = task->stime;
	row->voluntary = task->nvcsw;
	row->involuntary = task->nivcsw;
	row->major_faults = task->maj_flt;
	row->flags = task->flags & PF_KTHREAD ? LEDGER_KERNEL : 0;
	if (task->static_prio > DEFAULT_PRIO)
		row->flags |= LEDGER_NICE;
	row->state = book->state;
	task_copy_comm(row->comm, task);
}

static __always_inline void add_to_sum(const struct ledger_row *row)
{
	const struct ledger_key key = { .tid = row->host_tgid };
	struct ledger_row *sum = bpf_map_lookup_elem(&exited_sums, &key);

	COUNT(summed);
	if (!sum) {
		if (!bpf_map_update_elem(&exited_sums, &key, row, BPF_NOEXIST))
			return;
		sum = bpf_map_lookup_elem(&exited_sums, &key);
	}
	if (!sum) {
		COUNT(lost);
		return;
	}
#pragma unroll
	for (int i = 0; i < LEDGER_STATES; i++)
		__sync_fetch_and_add(&sum->ns[i], row->ns[i]);
	__sync_fetch_and_add(&sum->user_ns, row->user_ns);
	__sync_fetch_and_add(&sum->system_ns, row->system_ns);
	__sync_fetch_and_add(&sum->voluntary, row->voluntary);
	__sync_fetch_and_add(&sum->involuntary, row->involuntary);
	__sync_fetch_and_add(&sum->major_faults, row->major_faults);
}

static __always_inline void write_last_row(struct book *book, struct task_struct *task, __u64 now)
{
	const struct ledger_key key = {
		.tid = (__u32)task->pid, .start_ns = task->start_boottime,
	};
	const __u32 first = 0;
	struct ledger_row *row = bpf_map_lookup_elem(&scratch, &first);

	book->state = LEDGER_GONE;
	if (!row)
		return;
	fill_row(row, book, task, now);
	row->flags |= LEDGER_EXITED;
	if (bpf_map_update_elem(&exited, &key, row, BPF_ANY))
		add_to_sum(row);
}

static __always_inline void leave(struct task_struct *task, __u64 now)
{
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book || book->state == LEDGER_GONE)
		return;
	write_begin(book);
	if (book->state == LEDGER_RUN)
		add(book, LEDGER_RUN, at_least_zero(now, book->since_ns));
	else
		close_unseen_arrival(book, task, now);
	book->since_ns = now;
	if (task_is_runnable(task)) {
		book->state = LEDGER_PREEMPTED;
		note_quota(book, task);
	} else if (task_state(task) & TASK_DEAD) {
		write_last_row(book, task, now);
	} else {
		book->state = cause_of(task);
	}
	write_end(book);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	const __u64 now = bpf_ktime_get_ns();

	if (find_missing())
		return 0;
	if (prev->pid)
		leave(prev, now);
	if (next->pid)
		arrive(next, now);
	return 0;
}

static __always_inline void wake(struct task_struct *task)
{
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	/* preempted before it could sleep, now woken: it waits already */
	if (!book || book->state == LEDGER_GONE || is_waiting(book->state))
		return;
	const __u64 now = bpf_ktime_get_ns(), passed = at_least_zero(now, book->since_ns);

	write_begin(book);
	if (book->state == LEDGER_RUN) {
		COUNT(repaired);
		add_unseen(book, task, passed);
	} else {
		add(book, book->state, passed);
	}
	book->state = LEDGER_WOKEN;
	book->since_ns = now;
	note_quota(book, task);
	write_end(book);
}

/* Woken while still on its CPU, before it could sleep: it just goes on. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	if (find_missing())
		return 0;
	if (!task->on_cpu)
		wake(task);
	return 0;
}

/* ---- threads come ---- */

static __always_inline void open_book(struct task_struct *task, __u32 state)
{
	struct book book = {
		.opened_ns = bpf_ktime_get_ns(),
		.state = state,
		.tid = (__u32)task->pid,
		.tgid = (__u32)task->tgid,
		.ran_ns = task->se.sum_exec_runtime,
	};

	book.since_ns = book.opened_ns;
	if (level) {
		book.tid = (__u32)pid_nr(task->thread_pid, level);
		book.tgid = (__u32)pid_nr(BPF_CORE_READ(task, group_leader, thread_pid), level);
	}
	if (is_waiting(state))
		note_quota(&book, task);
	if (!bpf_task_storage_get(&books, task, &book, BPF_LOCAL_STORAGE_GET_F_CREATE))
		COUNT(unseen);
}

static __always_inline bool is_visible(struct task_struct *task)
{
	return !level || pid_namespace(task->thread_pid, level) == own_namespace;
}

/* All threads pass here before they run; sched_process_fork does not see those of io_uring. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_new, struct task_struct *task, __u64 clone_flags)
{
	if (find_missing() || !is_started || !task->pid || !is_visible(task))
		return 0;
	if (has_filter && !takes_all_new &&
	    (!(inherits_filter || clone_flags & CLONE_THREAD) ||
	     !bpf_task_storage_get(&books, bpf_get_current_task_btf(), NULL, 0)))
		return 0;
	open_book(task, LEDGER_WOKEN);
	return 0;
}

/* ---- the reader's side: runs once for each thread the reader's pid namespace has ---- */

static __always_inline bool is_asked(struct task_struct *task)
{
	__u32 tid = (__u32)task->pid, tgid = (__u32)task->tgid;

	if (!has_filter)
		return true;
	if (level) {
		tid = (__u32)pid_nr(task->thread_pid, level);
		tgid = (__u32)pid_nr(BPF_CORE_READ(task, group_leader, thread_pid), level);
	}
	return bpf_map_lookup_elem(&only_tids, &tid) || bpf_map_lookup_elem(&only_tgids, &tgid);
}

static __always_inline __u32 state_now(struct task_struct *task)
{
	if (task->on_cpu)
		return LEDGER_RUN;
	return task_is_runnable(task) ? LEDGER_WOKEN : cause_of(task);
}

/* The book, and the state that goes on. */
static __always_inline void read_once(struct ledger_row *row, const struct book *book,
				      struct task_struct *task)
{
	const __u64 now = bpf_ktime_get_ns(), passed = at_least_zero(now, book->since_ns);
	__u32 state = book->state;
	bool is_unsure;
	__u64 part;

	fill_row(row, book, task, now);
	if (state == LEDGER_RUN && !task->on_cpu) {
		/* it left unseen */
		part = at_most(passed, task->se.sum_exec_runtime - book->ran_ns);
		row->ns[LEDGER_RUN] += part;
		row->ns[LEDGER_OTHER] += passed - part;
		return;
	}
	if (is_waiting(state)) {
		part = throttled_ns(book, task, passed, &is_unsure);
		row->ns[LEDGER_THROTTLED] += part;
		if (state == LEDGER_WOKEN)
			row->ns[LEDGER_WOKEN] += passed - part;
		else
			row->ns[LEDGER_PREEMPTED] += passed - part;
		return;
	}
	if (state < LEDGER_STATES)
		row->ns[state] += passed;
}

/* false: it was being written meanwhile. Three times in a row does not happen. */
static __always_inline bool read_book(struct ledger_row *row, const struct book *book,
				      struct task_struct *task)
{
	const __u64 version = *(const volatile __u64 *)&book->version;

	BARRIER();
	read_once(row, book, task);
	BARRIER();
	return !(version & 1) && version == *(const volatile __u64 *)&book->version;
}

SEC("iter/task")
int each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	const __u32 second = 1;

	if (!task || !task->pid)
		return 0;
	missing = find_missing();
	if (find_missing())
		return 0;
	if (pass == LEDGER_LEARN) {
		level = bpf_get_current_task_btf()->thread_pid->level;
		own_namespace = pid_namespace(bpf_get_current_task_btf()->thread_pid, level);
		return 0;
	}
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book) {
		if (!task->exit_state && (pass == LEDGER_START || !has_filter) && is_asked(task))
			open_book(task, state_now(task));
		return 0;
	}
	struct ledger_row *row = bpf_map_lookup_elem(&scratch, &second);

	if (pass != LEDGER_ROWS || !row || book->state == LEDGER_GONE)
		return 0;
	/* no loop: 6.1 takes it for one without end */
	read_book(row, book, task) || read_book(row, book, task) || read_book(row, book, task);
	bpf_seq_write(ctx->meta->seq, row, sizeof(*row));
	return 0;
}
