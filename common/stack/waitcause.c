#include "common/stack/waitcause.h"

#include <string.h>

#define LEAF_FRAMES 10         /* of user space: a lock's own, and its wrappers */

static const struct {
	const char *name;
	bool is_idle;
} causes[CAUSES] = {
	[CAUSE_OTHER] = { "other", false },
	[CAUSE_LOCK] = { "lock", false },
	[CAUSE_FUTEX] = { "futex", true },
	[CAUSE_KERNEL_LOCK] = { "kernel-lock", false },
	[CAUSE_DISK] = { "disk", false },
	[CAUSE_JOURNAL] = { "journal", false },
	[CAUSE_DIRTY] = { "dirty", false },
	[CAUSE_SWAP] = { "swap", false },
	[CAUSE_RECLAIM] = { "reclaim", false },
	[CAUSE_FAULT] = { "fault", false },
	[CAUSE_NETWORK] = { "network", false },
	[CAUSE_ACCEPT] = { "accept", true },
	[CAUSE_PIPE] = { "pipe", false },
	[CAUSE_TIMER] = { "timer", false },
	[CAUSE_CHILD] = { "child", true },
	[CAUSE_POLL] = { "poll", true },
	[CAUSE_SIGNAL] = { "signal", true },
	[CAUSE_TTY] = { "tty", true },
	[CAUSE_KTHREAD] = { "kthread", true },
	[CAUSE_UNKNOWN] = { "unknown", false },
	[CAUSE_RUNNABLE] = { "runnable", false },
};

/*
 * The kernel's functions, the telling ones first: an entry that stands anywhere in the stack
 * decides before all that stand below it here. A * at the end: anything may follow.
 */
static const struct {
	const char *function;
	enum wait_cause cause;
} table[] = {
	/* file systems' logs: before the disk they wait for */
	{ "jbd2_log_wait_commit", CAUSE_JOURNAL },
	{ "jbd2_journal_commit_transaction", CAUSE_JOURNAL },
	{ "jbd2_complete_transaction", CAUSE_JOURNAL },
	{ "wait_transaction_locked", CAUSE_JOURNAL },
	{ "add_transaction_credits", CAUSE_JOURNAL },
	{ "xfs_log_force*", CAUSE_JOURNAL },
	{ "xlog_*", CAUSE_JOURNAL },
	{ "xfs_log_*", CAUSE_JOURNAL },
	{ "btrfs_sync_log", CAUSE_JOURNAL },
	{ "btrfs_commit_transaction", CAUSE_JOURNAL },
	{ "wait_current_trans", CAUSE_JOURNAL },
	{ "f2fs_issue_checkpoint", CAUSE_JOURNAL },
	/* mm/page-writeback.c */
	{ "balance_dirty_pages*", CAUSE_DIRTY },
	{ "wb_wait_for_completion", CAUSE_DISK },
	/* mm/memory.c, mm/page_io.c, mm/shmem.c */
	{ "do_swap_page", CAUSE_SWAP },
	{ "shmem_swapin*", CAUSE_SWAP },
	{ "swapin_readahead", CAUSE_SWAP },
	{ "swap_readpage", CAUSE_SWAP },
	{ "swap_read_folio*", CAUSE_SWAP },
	/* mm/vmscan.c, mm/memcontrol.c, mm/page_alloc.c, mm/compaction.c */
	{ "mem_cgroup_handle_over_high", CAUSE_RECLAIM },
	{ "__mem_cgroup_handle_over_high", CAUSE_RECLAIM },
	{ "mem_cgroup_oom_synchronize", CAUSE_RECLAIM },
	{ "try_to_free_pages", CAUSE_RECLAIM },
	{ "try_to_free_mem_cgroup_pages", CAUSE_RECLAIM },
	{ "reclaim_throttle", CAUSE_RECLAIM },
	{ "throttle_direct_reclaim", CAUSE_RECLAIM },
	{ "try_to_compact_pages", CAUSE_RECLAIM },
	{ "__alloc_pages_slowpath*", CAUSE_RECLAIM },
	/* locks: what is waited for is the lock, whoever asks for it */
	{ "futex_*", CAUSE_FUTEX },
	{ "__futex_*", CAUSE_FUTEX },
	{ "do_futex", CAUSE_FUTEX },
	{ "rwsem_down_*", CAUSE_KERNEL_LOCK },
	{ "__mutex_lock*", CAUSE_KERNEL_LOCK },
	{ "mutex_lock*", CAUSE_KERNEL_LOCK },
	{ "__ww_mutex_lock*", CAUSE_KERNEL_LOCK },
	{ "rt_mutex_*", CAUSE_KERNEL_LOCK },
	{ "__rt_mutex_*", CAUSE_KERNEL_LOCK },
	{ "__down*", CAUSE_KERNEL_LOCK },
	{ "percpu_rwsem_wait", CAUSE_KERNEL_LOCK },
	{ "__percpu_down_read", CAUSE_KERNEL_LOCK },
	{ "__wait_rcu_gp", CAUSE_KERNEL_LOCK },
	{ "synchronize_rcu*", CAUSE_KERNEL_LOCK },
	{ "__synchronize_srcu", CAUSE_KERNEL_LOCK },
	{ "exp_funnel_lock", CAUSE_KERNEL_LOCK },
	{ "locks_lock_inode_wait", CAUSE_KERNEL_LOCK },
	{ "fcntl_setlk", CAUSE_KERNEL_LOCK },
	{ "flock_lock_inode_wait", CAUSE_KERNEL_LOCK },
	{ "__do_semtimedop", CAUSE_FUTEX },
	/* poll and the like: before the sockets and pipes below */
	{ "ep_poll", CAUSE_POLL },
	{ "do_epoll_wait", CAUSE_POLL },
	{ "do_sys_poll", CAUSE_POLL },
	{ "do_poll*", CAUSE_POLL },
	{ "do_select", CAUSE_POLL },
	{ "core_sys_select", CAUSE_POLL },
	{ "io_cqring_wait*", CAUSE_POLL },
	{ "io_uring_enter", CAUSE_POLL },
	{ "io_wq_worker", CAUSE_KTHREAD },
	{ "io_sq_thread", CAUSE_KTHREAD },
	{ "rcu_tasks_one_gp", CAUSE_KTHREAD },
	{ "rcu_gp_fqs_loop", CAUSE_KTHREAD },
	{ "devtmpfs_work_loop", CAUSE_KTHREAD },
	{ "read_events", CAUSE_DISK },         /* fs/aio.c */
	{ "eventfd_read", CAUSE_POLL },
	{ "inotify_read", CAUSE_POLL },
	{ "fanotify_read", CAUSE_POLL },
	{ "signalfd_read*", CAUSE_SIGNAL },
	{ "timerfd_read*", CAUSE_TIMER },
	{ "devkmsg_read", CAUSE_POLL },
	{ "do_syslog", CAUSE_POLL },
	{ "perf_read", CAUSE_POLL },
	{ "vsock_*", CAUSE_NETWORK },
	/* sockets */
	{ "inet_csk_accept", CAUSE_ACCEPT },
	{ "inet_csk_wait_for_connect", CAUSE_ACCEPT },
	{ "unix_accept", CAUSE_ACCEPT },
	{ "do_accept", CAUSE_ACCEPT },
	{ "inet_*", CAUSE_NETWORK },
	{ "inet6_*", CAUSE_NETWORK },
	{ "tcp_*", CAUSE_NETWORK },
	{ "udp_*", CAUSE_NETWORK },
	{ "sk_wait_data", CAUSE_NETWORK },
	{ "sk_stream_wait*", CAUSE_NETWORK },
	{ "__skb_wait_for_more_packets", CAUSE_NETWORK },
	{ "unix_*", CAUSE_NETWORK },
	{ "sock_recvmsg", CAUSE_NETWORK },
	{ "sock_sendmsg*", CAUSE_NETWORK },
	{ "sock_alloc_send_pskb", CAUSE_NETWORK },
	{ "sock_read_iter", CAUSE_NETWORK },
	{ "sock_write_iter", CAUSE_NETWORK },
	{ "__sys_recvfrom", CAUSE_NETWORK },
	{ "__sys_sendto", CAUSE_NETWORK },
	{ "__sys_connect*", CAUSE_NETWORK },
	{ "lock_sock_nested", CAUSE_NETWORK },
	{ "rpc_wait_bit_killable", CAUSE_NETWORK },
	{ "nfs_*", CAUSE_NETWORK },
	{ "nfs4_*", CAUSE_NETWORK },
	{ "cifs_*", CAUSE_NETWORK },
	{ "fuse_*", CAUSE_DISK },
	{ "request_wait_answer", CAUSE_DISK },
	/* pipes */
	{ "pipe_*", CAUSE_PIPE },
	{ "anon_pipe_*", CAUSE_PIPE },
	{ "fifo_pipe_*", CAUSE_PIPE },
	{ "fifo_open", CAUSE_PIPE },
	{ "splice_*", CAUSE_PIPE },
	/* disks, and what a page fault reads from them stays a fault */
	{ "filemap_fault", CAUSE_FAULT },
	{ "handle_mm_fault", CAUSE_FAULT },
	{ "exc_page_fault", CAUSE_FAULT },
	{ "do_user_addr_fault", CAUSE_FAULT },
	{ "userfaultfd_*", CAUSE_FAULT },
	{ "handle_userfault", CAUSE_FAULT },
	{ "io_schedule*", CAUSE_DISK },
	{ "blk_*", CAUSE_DISK },
	{ "__blk_*", CAUSE_DISK },
	{ "bio_*", CAUSE_DISK },
	{ "submit_bio_wait", CAUSE_DISK },
	{ "blkdev_*", CAUSE_DISK },
	{ "rq_qos_wait", CAUSE_DISK },
	{ "wbt_wait", CAUSE_DISK },
	{ "folio_wait_*", CAUSE_DISK },
	{ "wait_on_page_*", CAUSE_DISK },
	{ "wait_on_buffer", CAUSE_DISK },
	{ "__wait_on_buffer", CAUSE_DISK },
	{ "iomap_dio_*", CAUSE_DISK },
	{ "__iomap_dio_rw", CAUSE_DISK },
	{ "vfs_fsync*", CAUSE_DISK },
	{ "do_fsync", CAUSE_DISK },
	{ "sync_inodes_sb", CAUSE_DISK },
	{ "loop_*", CAUSE_DISK },
	{ "scsi_*", CAUSE_DISK },
	{ "nvme_*", CAUSE_DISK },
	/* children, signals, terminals */
	{ "do_wait", CAUSE_CHILD },
	{ "kernel_wait4", CAUSE_CHILD },
	{ "__do_sys_wait4", CAUSE_CHILD },
	{ "wait_for_vfork_done", CAUSE_CHILD },
	{ "pidfd_poll", CAUSE_CHILD },
	{ "do_sigtimedwait*", CAUSE_SIGNAL },
	{ "sigsuspend", CAUSE_SIGNAL },
	{ "__do_sys_pause", CAUSE_SIGNAL },
	{ "__x64_sys_pause", CAUSE_SIGNAL },
	{ "__ia32_sys_pause", CAUSE_SIGNAL },  /* the same, where the linker made them one */
	{ "do_signal_stop", CAUSE_SIGNAL },
	{ "do_jobctl_trap", CAUSE_SIGNAL },
	{ "ptrace_*", CAUSE_SIGNAL },
	{ "__refrigerator", CAUSE_SIGNAL },
	{ "do_freezer_trap", CAUSE_SIGNAL },
	{ "n_tty_read", CAUSE_TTY },
	{ "n_tty_write", CAUSE_TTY },
	{ "tty_*", CAUSE_TTY },
	{ "wait_port_writable", CAUSE_TTY },
	/* timers last: many of the above wait with a time limit */
	{ "hrtimer_nanosleep", CAUSE_TIMER },
	{ "do_nanosleep", CAUSE_TIMER },
	{ "common_nsleep*", CAUSE_TIMER },
	{ "msleep*", CAUSE_TIMER },
	{ "usleep_range*", CAUSE_TIMER },
	{ "alarm_timer_nsleep", CAUSE_TIMER },
	{ "alarmtimer_*", CAUSE_TIMER },
};

/* User space: how locks are called ... */
static const char *const locks[] = {
	"__lll_lock_wait", "__lll_*lock*", "lll_mutex_lock*", "pthread_mutex_lock",
	"pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_mutex_lock*",
	"pthread_rwlock_rdlock*", "pthread_rwlock_wrlock*", "pthread_rwlock_timed*",
	"pthread_rwlock_clock*", "std::mutex::lock", "std::shared_mutex*", "std::sys::*mutex*lock*",
	"std::sys::*rwlock*", "parking_lot::raw_mutex*", "parking_lot::raw_rwlock*",
	"absl::*Mutex::*Lock*", "ObjectMonitor::enter*", "ObjectSynchronizer::*enter*",
	"runtime.lock2", "runtime.lock", "runtime.lockWithRank", "je_malloc_mutex_lock_slow",
	"__lock", "pthread_spin_lock",
};

/* ... and what waits for something else, though a lock's function may stand further up. */
static const char *const conditions[] = {
	"pthread_cond_*", "sem_wait*", "sem_timedwait*", "sem_clockwait*", "new_sem_wait*",
	"pthread_join*", "pthread_clockjoin*", "pthread_timedjoin*", "pthread_barrier_wait*",
	"std::condition_variable*", "std::thread::park*", "std::sys::*Condvar*",
	"*::Condvar::wait*",
	"std::sys::*Parker*", "parking_lot::condvar*", "parking_lot_core::parking_lot::park",
	"Unsafe_Park", "Parker::park", "ObjectMonitor::wait*", "runtime.futexsleep*",
	"runtime.notesleep", "runtime.notetsleep*", "runtime.stopm", "runtime.mPark",
	"absl::CondVar::*", "folly::*Baton*", "uv_cond_*", "__futex_abstimed_wait*",
};

const char *wait_cause_name(enum wait_cause c)
{
	return causes[c].name;
}

bool wait_cause_is_idle(enum wait_cause c)
{
	return causes[c].is_idle;
}

/* * stands for any bytes, also none. */
static bool matches(const char *pattern, const char *name)
{
	for (; *pattern; pattern++, name++) {
		if (*pattern == '*') {
			if (!pattern[1])
				return true;
			for (; *name; name++)
				if (matches(pattern + 1, name))
					return true;
			return false;
		}
		if (*pattern != *name)
			return false;
	}
	return !*name;
}

/* Compilers make copies: futex_wait_queue.constprop.0 */
static bool is_function(const char *pattern, const char *name)
{
	const size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return !strncmp(pattern, name, len - 1);
	return !strncmp(pattern, name, len) && (!name[len] || name[len] == '.');
}

static bool is_scheduling(const char *name)
{
	return !strncmp(name, "schedule", 8) || !strncmp(name, "__schedule", 10) ||
	       !strncmp(name, "preempt_schedule", 16);
}

/* schedule, its main function, kthread, ret_from_fork: nothing was called that could wait. */
static bool is_main_loop(const char *const *names, size_t count)
{
	size_t i = 0;

	while (i < count && is_scheduling(names[i]))
		i++;
	return i + 1 < count && (!strcmp(names[i + 1], "kthread") ||
				 !strncmp(names[i + 1], "ret_from_fork", 13));
}

enum wait_cause wait_cause_of(const char *const *names, size_t count, bool is_kthread)
{
	if (!count)
		return CAUSE_UNKNOWN;
	if (is_kthread && is_main_loop(names, count))
		return CAUSE_KTHREAD;
	for (size_t e = 0; e < sizeof(table) / sizeof(*table); e++)
		for (size_t i = 0; i < count; i++)
			if (is_function(table[e].function, names[i]))
				return table[e].cause;
	return CAUSE_OTHER;
}

static bool is_any(const char *const *patterns, size_t count, const char *name)
{
	/* glibc: __pthread_mutex_lock, ___pthread_mutex_lock, __GI_... are one */
	const char *plain = name + strspn(name, "_");

	if (!strncmp(plain, "GI_", 3))
		plain += 3 + strspn(plain + 3, "_");
	for (size_t i = 0; i < count; i++)
		if (matches(patterns[i], name) || matches(patterns[i], plain))
			return true;
	return false;
}

enum wait_cause wait_cause_of_futex(const char *const *names, size_t count, bool says_lock)
{
	for (size_t i = 0; i < count && i < LEAF_FRAMES; i++) {
		if (is_any(locks, sizeof(locks) / sizeof(*locks), names[i]))
			return CAUSE_LOCK;
		if (is_any(conditions, sizeof(conditions) / sizeof(*conditions), names[i]))
			return CAUSE_FUTEX;
	}
	return says_lock ? CAUSE_LOCK : CAUSE_FUTEX;
}

const char *wait_cause_entry(size_t i, enum wait_cause *c)
{
	if (i >= sizeof(table) / sizeof(*table))
		return NULL;
	*c = table[i].cause;
	return table[i].function;
}
