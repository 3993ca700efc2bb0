/*
 * Time that threads spend off the CPU, summed by where they left it: user stack, kernel stack,
 * state, thread, and who woke them.
 *
 * The user stack is walked as a thread leaves its CPU: later its memory is another's. It stays in
 * the thread's book as it is. The kernel stack is walked as it comes back, when it is known how
 * long it was away: a thread that is off its CPU keeps its kernel stack as it was. Only what is
 * kept is looked up and stored.
 *
 * How long it was runnable without running the scheduler measures itself (sched_info, the numbers
 * behind /proc/TID/schedstat), across migrations, too: no wakeup needs to be seen for it.
 */
#include "bpf/kernel.h"
#include "bpf/offcpu.h"
#include "bpf/offcpu_books.h"

char LICENSE[] SEC("license") = "GPL";

/* What the throttled clock moved since the wait began, if it is still the same one. */
static __always_inline __u64 throttled_since(struct book *book, struct task_struct *task,
					     __u64 clock)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;

	if (!task_is_fair(task) || book->cfs_rq != (__u64)cfs_rq)
		return 0;
	__u64 now = cfs_rq_throttled_ns(cfs_rq, clock, false);

	return now > book->quota_clock_ns ? now - book->quota_clock_ns : 0;
}

static __always_inline void note_quota(struct book *book, struct task_struct *task, __u64 clock)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;

	book->cfs_rq = (__u64)cfs_rq;
	book->quota_clock_ns = cfs_rq_throttled_ns(cfs_rq, clock, false);
}

static __always_inline __u64 waited(struct book *book, struct task_struct *task, __u64 clock)
{
	const struct sched_info *info = &task->sched_info;
	__u64 wait = info->run_delay - book->delay_ns;

	if (info->last_queued && clock > info->last_queued)
		wait += clock - info->last_queued;
	return wait;
}

/* It left, and nobody told us: since it ran for as long as the scheduler says. */
static __always_inline void assume_left(struct book *book, struct task_struct *task, __u64 now)
{
	__u64 ran = task->se.sum_exec_runtime - book->ran_ns;

	book->off_ns = book->on_ns + ran < now ? book->on_ns + ran : now;
	book->user.count = 0;
	book->lock = 0;
	book->state = 1;
	book->is_passed_over = false;
	book->cfs_rq = 0;
	book->flags = OFFCPU_RESYNCED;
}

static __always_inline struct offcpu_lock *lock_of(struct task_struct *task, __u64 address,
						   bool is_new)
{
	struct offcpu_lock_key key = { .address = address, .tgid = task->tgid };
	struct offcpu_lock *lock = bpf_map_lookup_elem(&locks, &key), fresh = {};

	if (lock || !is_new)
		return lock;
	fresh.tgid = level ? pid_nr(BPF_CORE_READ(task, group_leader, thread_pid), level) :
			     task->tgid;
	bpf_map_update_elem(&locks, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&locks, &key);
}

static __always_inline void come_back(struct task_struct *task, __u64 now)
{
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book)
		return;
	if (book->is_wanted && began_ns) {
		__u64 clock = clock_of(task);

		if (!book->off_ns && book->on_ns) {
			assume_left(book, task, now);
			COUNT(resynced);
		}
		struct interval i = {
			.from_ns = book->off_ns ? book->off_ns : now,
			.to_ns = now,
			.wait_ns = waited(book, task, clock),
			.throttled_ns = throttled_since(book, task, clock),
			.has_kernel_stack = true,
		};

		sum_up(book, task, &i, 0);
	}
	if (book->lock) {
		struct offcpu_lock *lock = lock_of(task, book->lock, false);

		if (lock)
			__sync_fetch_and_add(&lock->now, -1);
		book->lock = 0;
	}
	book->off_ns = 0;
	book->on_ns = now;
	book->ran_ns = task->se.sum_exec_runtime;
	book->delay_ns = task->sched_info.run_delay;
}

/* It is here again, and nobody told us when it came: the scheduler has it. */
static __always_inline void assume_back(struct book *book, struct task_struct *task, __u64 now)
{
	__u64 clock = clock_of(task), arrived = task->sched_info.last_arrival;
	struct interval i = {
		.from_ns = book->off_ns,
		.to_ns = clock > arrived ? now - (clock - arrived) : now,
		.wait_ns = task->sched_info.run_delay - book->delay_ns,
	};

	COUNT(resynced);
	sum_up(book, task, &i, OFFCPU_RESYNCED);
}

/* Where a futex waits, and whether it says that it is a lock. */
static __always_inline void note_futex(struct book *book, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (REGS_SYSCALL(regs) != SYSCALL_FUTEX)
		return;
	__u32 command = REGS_ARG2(regs) & FUTEX_COMMAND;

	book->lock = REGS_ARG1(regs);
	book->flags |= OFFCPU_FUTEX;
	struct offcpu_lock *lock = lock_of(task, book->lock, true);

	if (lock) {
		__sync_fetch_and_add(&lock->now, 1);
		if (lock->most < lock->now)
			lock->most = lock->now;
	}
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2)
		book->flags |= OFFCPU_FUTEX_PI;
	if (command == FUTEX_WAIT && (__u32)REGS_ARG3(regs) == 2)
		book->flags |= OFFCPU_FUTEX_2;
}

static __always_inline __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static __always_inline __u32 cpu_slot(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return cpu < OFFCPU_CPUS ? cpu : OFFCPU_CPUS - 1;
}

static __always_inline bool is_passed_over(__u32 state)
{
	return state_mask && !(state_mask & (state ? state : STATE_RUNNABLE));
}

static __always_inline void leave(struct task_struct *task, __u32 state, __u64 now)
{
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book || !book->is_wanted)
		return;
	if (book->off_ns && began_ns)
		assume_back(book, task, now);
	else if (book->on_ns && began_ns)
		running[cpu_slot()].ns += now - later(book->on_ns, began_ns);
	book->off_ns = 0;
	if (state & TASK_GONE)
		return;
	book->state = state;
	book->flags = 0;
	book->lock = 0;
	book->user.count = 0;
	book->delay_ns = task->sched_info.run_delay;
	book->arrivals = task->sched_info.pcount;
	book->is_passed_over = is_passed_over(state);
	if (!book->is_passed_over) {
		if (!state)
			note_quota(book, task, clock_of(task));
		if (!book->is_kernel) {
			if (state)
				note_futex(book, task);
			if (!no_user_stacks)
				walk_stack(&book->user, task, BPF_F_USER_STACK);
		}
	}
	book->off_ns = now;
}

static __always_inline void switch_tasks(bool preempt, struct task_struct *prev,
					 struct task_struct *next, __u32 state)
{
	__u64 now = bpf_ktime_get_ns();

	if (prev->pid)
		leave(prev, preempt ? 0 : state, now);
	if (next->pid)
		come_back(next, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (find_missing() || ended_ns)
		return 0;
	/* before 5.18 there is no fourth argument, and the state may have changed already */
	switch_tasks(preempt, prev, next, has_state_argument ? (__u32)ctx[3] : task_state(prev));
	return 0;
}

/* Woken in a group that was ever out of quota: from here on its clock counts. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	if (find_missing() || ended_ns)
		return 0;
	__u64 clock = clock_of(task);

	if (!cfs_rq_throttled_ns(task->se.cfs_rq, clock, false))
		return 0;
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (book && book->off_ns && book->state)
		note_quota(book, task, clock);
	return 0;
}

/* ---- who wakes ---- */

static __always_inline __u64 mix(__u64 h, __u64 v)
{
	return offcpu_rotate(h ^ v * 0x9e3779b97f4a7c15ull, 27) * 0xc2b2ae3d27d4eb4full;
}

static __always_inline __u64 store_chain(const struct offcpu_chain *c)
{
	__u64 id = seed1;

	id = mix(id, c->user);
	id = mix(id, c->kernel);
	id = mix(id, c->waited_user);
	id = mix(id, c->waited_kernel);
	id = mix(id, c->parent);
	id = mix(id, c->thread);
	id = offcpu_finish(id + c->waited_state);
	if (bpf_map_lookup_elem(&chains, &id) || !bpf_map_update_elem(&chains, &id, c, BPF_ANY))
		return id;
	COUNT(lost_chains);
	return 0;
}

static __always_inline void describe_waker(struct offcpu_chain *c, struct task_struct *waker,
					   const struct book *sleeper, __u64 now, __u32 *depth)
{
	struct book *book;

	if (!waker->pid)
		return;
	book = bpf_task_storage_get(&books, waker, NULL, 0);
	if (!book && waker_depth)
		book = open_book(waker, false);
	if (!book)
		return;
	c->thread = book->serial;
	/* what it waited for while the other waited for it */
	if (book->waited_end_ns > sleeper->off_ns) {
		c->waited_user = book->waited_user;
		c->waited_kernel = book->waited_kernel;
		c->waited_state = book->waited_state;
		if (book->depth + 1 < waker_depth) {
			c->parent = book->waited_chain;
			*depth = book->depth + 1;
		}
	}
	book->woke_ns = now;
	if (waker_depth && !book->is_kernel && !no_user_stacks)
		c->user = user_stack_now(waker);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct offcpu_chain c = {};
	__u32 depth = 0;

	if (find_missing() || ended_ns)
		return 0;
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book || !book->is_wanted || !book->off_ns || book->is_passed_over)
		return 0;
	if (!waker_depth && !book->lock)
		return 0;
	struct task_struct *waker = bpf_get_current_task_btf();
	__u64 now = bpf_ktime_get_ns();

	describe_waker(&c, waker, book, now, &depth);
	if (waker_depth && !no_kernel_stacks)
		c.kernel = kernel_stack_of(waker);
	book->waker = store_chain(&c);
	book->waker_ns = now;
	book->depth = depth;
	return 0;
}

/* ---- threads that come, change their names, and go ---- */

/* All threads pass here before they run; sched_process_fork does not see those of io_uring. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_new, struct task_struct *task, unsigned long clone_flags)
{
	bool is_wanted = !has_filter || takes_all_new;

	if (find_missing() || ended_ns || !task->pid)
		return 0;
	if (!is_wanted && (inherits_filter || (clone_flags & CLONE_THREAD))) {
		struct book *parent = bpf_task_storage_get(&books, bpf_get_current_task_btf(), NULL,
							   0);

		is_wanted = parent && parent->is_wanted;
	}
	if (!is_wanted || !is_visible(task))
		return 0;
	struct book *book = open_book(task, true);

	if (!book)
		return 0;
	book->flags = OFFCPU_NEW;
	book->state = 0;
	book->is_passed_over = is_passed_over(0);
	book->delay_ns = task->sched_info.run_delay;
	book->arrivals = task->sched_info.pcount;
	book->off_ns = bpf_ktime_get_ns();
	return 0;
}

/* exec passes here, too, when the old program's addresses mean nothing any more. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	if (find_missing() || ended_ns)
		return 0;
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book)
		return 0;
	__u64 serial = name_thread(task, comm, book->has_row ? book->serial : 0);

	if (!serial)
		return 0;
	if (!book->has_row)
		bpf_map_delete_elem(&threads, &book->serial);
	book->serial = serial;
	book->has_row = false;
	return 0;
}

/* ---- the reader's side: runs once for each thread the reader's pid namespace has ---- */

static __always_inline bool is_asked(struct task_struct *task)
{
	__u32 tid, tgid;

	if (!has_filter)
		return true;
	tid = level ? pid_nr(task->thread_pid, level) : task->pid;
	tgid = level ? pid_nr(BPF_CORE_READ(task, group_leader, thread_pid), level) : task->tgid;
	return bpf_map_lookup_elem(&only_tids, &tid) || bpf_map_lookup_elem(&only_tgids, &tgid);
}

/* Runs here or there, waits for a CPU, or sleeps: since now, as far as the window is concerned. */
static __always_inline void begin_book(struct task_struct *task, struct seq_file *seq)
{
	__u64 now = bpf_ktime_get_ns();
	struct offcpu_begun row = {};
	struct book *book;

	if (task->exit_state || !is_asked(task))
		return;
	book = open_book(task, true);
	if (!book || !book->is_wanted || book->off_ns || book->on_ns)
		return;
	book->on_ns = now;
	book->ran_ns = task->se.sum_exec_runtime;
	book->delay_ns = task->sched_info.run_delay;
	book->arrivals = task->sched_info.pcount;
	if (task->on_cpu)
		return;
	book->flags = OFFCPU_BEGUN;
	book->state = task_is_runnable(task) ? 0 : task_state(task) & 0xff;
	book->is_passed_over = is_passed_over(book->state);
	if (!book->is_kernel && book->state)
		note_futex(book, task);
	book->off_ns = now;
	row.thread = book->serial;
	row.tid = level ? pid_nr(task->thread_pid, level) : task->pid;
	row.tgid = level ? pid_nr(BPF_CORE_READ(task, group_leader, thread_pid), level) :
			   task->tgid;
	if (book->is_kernel || no_user_stacks)
		return;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	row.ip = REGS_IP(regs);
	row.sp = REGS_SP(regs);
	row.fp = REGS_FP(regs);
	bpf_seq_write(seq, &row, sizeof(row));
}

static __always_inline void end_book(struct task_struct *task)
{
	struct book *book = bpf_task_storage_get(&books, task, NULL, 0);

	if (!book || !book->is_wanted)
		return;
	if (!book->off_ns && book->on_ns && task->on_cpu)
		running[0].ns += ended_ns - later(book->on_ns, began_ns);
	if (!book->off_ns && book->on_ns && !task->on_cpu && !task->exit_state) {
		assume_left(book, task, ended_ns);
		book->state = task_is_runnable(task) ? 0 : 1;
		if (book->off_ns + UNSURE_NS > ended_ns)
			return;        /* it left after the end */
		COUNT(resynced);
	}
	__u64 clock = task->sched_info.last_queued ? clock_of(task) : 0;
	struct interval i = {
		.from_ns = book->off_ns,
		.to_ns = ended_ns,
		.wait_ns = waited(book, task, clock),
		.throttled_ns = clock ? throttled_since(book, task, clock) : 0,
		/* unless it came back since the end */
		.has_kernel_stack = !task->on_cpu && (task->sched_info.pcount == book->arrivals ||
						      (book->flags & OFFCPU_RESYNCED)),
	};

	if (book->off_ns && book->off_ns < ended_ns)
		sum_up(book, task, &i, OFFCPU_OPEN);
}

SEC("iter/task")
int each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || !task->pid)
		return 0;
	missing = find_missing();
	if (find_missing())
		return 0;
	if (pass == OFFCPU_LEARN) {
		level = bpf_get_current_task_btf()->thread_pid->level;
		own_namespace = pid_namespace(bpf_get_current_task_btf()->thread_pid, level);
	} else if (pass == OFFCPU_START) {
		begin_book(task, ctx->meta->seq);
	} else if (pass == OFFCPU_END) {
		end_book(task);
	}
	return 0;
}
