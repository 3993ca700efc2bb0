/* Saved waits, whole, cut and garbled; what waits are for. */
#include "common/stack/waits.h"

#include <errno.h>

#include "common/stack/waitcause.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static const char recorded[] =
	"engine bpf\n"
	"window 3000000000\n"
	"frame k - futex_do_wait\n"
	"frame k [ext4] jbd2\\x20log\n"
	"frame u /usr/lib/libc.so.6 __lll_lock_wait\n"
	"frame u - \\x2d\n"
	"stack k 1 2\n"
	"stack u 3 4\n"
	"stack c 3\n"
	"thread 12 10 4012 4010 77 u a\\x20b\\x0a /shop\n"
	"thread 2 2 2 2 5 k - -\n"
	"chain 1 2 1 3 1 0 1\n"
	"chain 2 0 0 0 0 1 0\n"
	"row 1 2 1 2 1 64 4096 7 1000 200 100 600\n"
	"row 2 0 1 0 2 0 0 1 18446744073709551615 0 0 18446744073709551615\n"
	"lock 10 4096 3\n"
	"count intervals 8\n"
	"note no\\x20names\n"
	"end\n";

static void check_recorded(void)
{
	struct waits w = { 0 };

	CHECK(waits_parse(text_of(recorded), &w) == 0);
	CHECK(w.window_ns == 3000000000 && !strcmp(w.engine, "bpf"));
	CHECK(w.frame_count == 5 && w.stack_count == 4 && w.thread_count == 3);
	CHECK(!w.frames[1].object && w.frames[1].is_kernel);
	CHECK(!strcmp(w.frames[2].name, "jbd2 log") && !strcmp(w.frames[4].name, "-"));
	CHECK(w.stacks[1].is_kernel && w.stacks[1].count == 2 && w.stacks[1].frames[1] == 2);
	CHECK(!w.stacks[2].is_cut && w.stacks[3].is_cut);
	CHECK(w.threads[1].tid == 12 && w.threads[1].host_tgid == 4010);
	CHECK(!strcmp(w.threads[1].comm, "a b\n") && !strcmp(w.threads[1].cgroup, "/shop"));
	CHECK(w.threads[2].is_kernel && !*w.threads[2].comm && !w.threads[2].cgroup);
	CHECK(w.chain_count == 3 && w.chains[2].parent == 1 && w.chains[1].waited_user == 3);
	CHECK(w.row_count == 2 && w.rows[0].lock == 4096 && w.rows[0].throttled_ns == 100);
	CHECK(w.rows[1].sleep_ns == UINT64_MAX);
	CHECK(w.lock_count == 1 && w.locks[0].most == 3);
	CHECK(waits_count(&w, "intervals") == 8 && waits_count(&w, "none") == 0);
	CHECK(w.note_count == 1 && !strcmp(w.notes[0], "no names"));
	struct buf again = { 0 };

	waits_write(&w, &again);
	CHECK(text_equals(buf_text(&again), text_of(recorded)));
	buf_free(&again);
	waits_free(&w);
}

static void check_bad(void)
{
	static const char *const bad[] = {
		"", "\n", "end x\nx\n", "frame k -\nend\n", "frame x - a\nend\n",
		"frame k - -\nend\n", "frame k - \\x0\nend\n", "frame k - \\x00\nend\n",
		"frame k - \\y41\nend\n", "stack k 1\nend\n", "frame k - a\nstack k 0\nend\n",
		"frame k - a\nstack k 2\nend\n", "stack x\nend\n",
		"row 1 0 0 0 0 0 0 1 1 1 0 1\nend\n",
		"thread 1 1 1 1 1 u a -\nrow 1 1 0 0 0 0 0 1 1 1 0 1\nend\n",
		"thread 1 1 1 1 1 u a -\nrow 1 0 0 0 0 0 0 1 1 1 2 1\nend\n",
		"thread 1 1 1 1 1 u a -\nrow 1 0 0 0 0 0 0 1 1 1 0\nend\n",
		"thread 1 1 1 1 1 u a -\nrow 1 0 0 0 4294967296 0 0 1 1 1 0 1\nend\n",
		"chain 1 0 0 0 0 0 0\nend\n", "chain 0 0 0 0 0 1 0\nend\n", "lock 1 2\nend\n",
		"count a\nend\n", "count - 1\nend\n", "note -\nend\n", "window -1\nend\n",
		"window 1 2\nend\n", "what 1\nend\n", "thread 1 1 1 1 1 u\nend\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct waits w = { 0 };

		if (!strcmp(bad[i], "end x\nx\n"))
			continue;
		CHECK(waits_parse(text_of(bad[i]), &w) == -EINVAL);
		waits_free(&w);
	}
}

/* Whatever is cut off, it is told; or it is the same but for the last newline. */
static void check_cut(struct text t)
{
	struct waits w = { 0 };
	const int err = waits_parse(t, &w);

	CHECK(err == -EINVAL || t.len + 1 >= sizeof(recorded) - 1);
	waits_free(&w);
}

static enum wait_cause cause(bool is_kthread, const char *a, const char *b, const char *c)
{
	const char *names[] = { a, b, c };

	return wait_cause_of(names, c ? 3 : b ? 2 : a ? 1 : 0, is_kthread);
}

static enum wait_cause futex(bool says_lock, const char *a, const char *b)
{
	const char *names[] = { a, b };

	return wait_cause_of_futex(names, b ? 2 : a ? 1 : 0, says_lock);
}

static void check_causes(void)
{
	CHECK(cause(false, "schedule", "futex_wait", "do_futex") == CAUSE_FUTEX);
	CHECK(cause(false, "io_schedule", "jbd2_log_wait_commit", NULL) == CAUSE_JOURNAL);
	CHECK(cause(false, "io_schedule", "do_swap_page", "handle_mm_fault") == CAUSE_SWAP);
	CHECK(cause(false, "folio_wait_bit_common", "filemap_fault", NULL) == CAUSE_FAULT);
	CHECK(cause(false, "folio_wait_bit_common", "filemap_read", NULL) == CAUSE_DISK);
	CHECK(cause(false, "schedule_timeout", "inet_csk_accept", NULL) == CAUSE_ACCEPT);
	CHECK(cause(false, "schedule_timeout", "tcp_recvmsg", "inet_recvmsg") == CAUSE_NETWORK);
	CHECK(cause(false, "schedule", "do_sys_poll", "unix_poll") == CAUSE_POLL);
	CHECK(cause(false, "anon_pipe_read.isra.0", NULL, NULL) == CAUSE_PIPE);
	CHECK(cause(false, "do_waiting", NULL, NULL) == CAUSE_OTHER);
	CHECK(cause(false, "worker_thread", "kthread", "ret_from_fork") == CAUSE_OTHER);
	CHECK(cause(true, "schedule", "worker_thread", "kthread") == CAUSE_KTHREAD);
	CHECK(cause(true, "io_schedule", "jbd2_journal_commit_transaction", "kjournald2") ==
	      CAUSE_JOURNAL);
	CHECK(cause(false, NULL, NULL, NULL) == CAUSE_UNKNOWN);
	CHECK(futex(false, "__lll_lock_wait", "pthread_mutex_lock") == CAUSE_LOCK);
	CHECK(futex(false, "___pthread_mutex_lock", NULL) == CAUSE_LOCK);
	/* the mutex of a condition variable, taken again */
	CHECK(futex(false, "__lll_lock_wait", "pthread_cond_wait") == CAUSE_LOCK);
	CHECK(futex(true, "__futex_abstimed_wait_common", "pthread_cond_wait") == CAUSE_FUTEX);
	CHECK(futex(false, "syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended") ==
	      CAUSE_LOCK);
	CHECK(futex(false, "parking_lot_core::parking_lot::park", NULL) == CAUSE_FUTEX);
	CHECK(futex(false, "[libx.so+0x12]", NULL) == CAUSE_FUTEX);
	CHECK(futex(true, "[libx.so+0x12]", NULL) == CAUSE_LOCK);
	CHECK(!strcmp(wait_cause_name(CAUSE_KERNEL_LOCK), "kernel-lock"));
	CHECK(wait_cause_is_idle(CAUSE_POLL) && !wait_cause_is_idle(CAUSE_LOCK));
	enum wait_cause c;
	size_t n = 0;

	while (wait_cause_entry(n, &c)) {
		CHECK(c < CAUSES && *wait_cause_name(c));
		n++;
	}
	CHECK(n > 100);
}

int main(void)
{
	check_recorded();
	check_bad();
	for (size_t n = 0; n < sizeof(recorded) - 1; n++)
		check_cut(cut(text_of(recorded), n));
	check_causes();
	return check_done("waits");
}
