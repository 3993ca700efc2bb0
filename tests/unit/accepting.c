/* Where threads are: in the kernel's texts, in saved runs, and in processes made for it. */
#include "common/kernel/accepting.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "common/base/fail.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

/* Recorded on 6.18, x86-64: accept4 on 3, and epoll_wait. */
#define ACCEPT4 "288 0x3 0x0 0x0 0x80000 0x0 0x0 0x7ffd9ec2a7a8 0x7f0b6d11c4a7\n"
#define EPOLL "232 0x8 0x55d0c2a1d3c0 0x200 0xffffffff 0x0 0x8 0x7ffc64b0c0d0 0x7f6d0a52aa46\n"

static enum accept_state syscall_of(const char *text, uint32_t fd)
{
	return accept_parse_syscall(text_of(text), "x86_64", fd);
}

static void check_syscalls(void)
{
	CHECK(syscall_of(ACCEPT4, 3) == ACCEPT_WAITING);
	CHECK(syscall_of(ACCEPT4, 30) == ACCEPT_ASLEEP && syscall_of(ACCEPT4, 0) == ACCEPT_ASLEEP);
	CHECK(syscall_of("43 0x7 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", 7) == ACCEPT_WAITING);
	CHECK(syscall_of("43 0xffffffff00000007 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", 7) ==
	      ACCEPT_WAITING);
	CHECK(syscall_of(EPOLL, 3) == ACCEPT_POLLING);
	CHECK(syscall_of("7 0x7ffe 0x1 0xffffffff 0x0 0x0 0x0 0x1 0x2\n", 3) == ACCEPT_POLLING);
	CHECK(syscall_of("0 0x3 0x7ffe 0x1 0x0 0x0 0x0 0x1 0x2\n", 3) == ACCEPT_ASLEEP);
	CHECK(syscall_of("35 0x7ffe 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", 3) == ACCEPT_ASLEEP);
	CHECK(syscall_of("219 0x7ffe 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", 3) == ACCEPT_UNKNOWN);
	CHECK(syscall_of("-1 0x7ffe 0x1\n", 3) == ACCEPT_ASLEEP);
	CHECK(syscall_of("running\n", 3) == ACCEPT_RUNNING);

	const struct text arm = TEXT("202 0x5 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n");

	CHECK(accept_parse_syscall(arm, "aarch64", 5) == ACCEPT_WAITING);
	CHECK(accept_parse_syscall(arm, "riscv64", 6) == ACCEPT_ASLEEP);
	CHECK(accept_parse_syscall(arm, "x86_64", 5) == ACCEPT_ASLEEP);        /* futex */
	CHECK(accept_parse_syscall(arm, "s390x", 5) == ACCEPT_UNKNOWN);
	CHECK(accept_parse_syscall(arm, NULL, 5) == ACCEPT_UNKNOWN);

	CHECK(syscall_of("", 3) == ACCEPT_UNKNOWN && syscall_of("\n", 3) == ACCEPT_UNKNOWN);
	CHECK(syscall_of("288 0x", 3) == ACCEPT_UNKNOWN && syscall_of("288", 3) == ACCEPT_UNKNOWN);
	CHECK(syscall_of("99999999999999999999 0x3", 3) == ACCEPT_UNKNOWN);
	CHECK(syscall_of("288 0x99999999999999999 0x3", 3) == ACCEPT_UNKNOWN);
	CHECK(syscall_of("4294967584 0x3", 3) == ACCEPT_ASLEEP);       /* 288 + 2^32 */
	EACH_CUT(n, TEXT(ACCEPT4)) {
		enum accept_state s = accept_parse_syscall(cut(TEXT(ACCEPT4), n), "x86_64", 3);

		/* "2" and "28" are other calls */
		CHECK(n < 7 ? s == (n == 1 || n == 2 ? ACCEPT_ASLEEP : ACCEPT_UNKNOWN) :
		      s == ACCEPT_WAITING);
	}
}

static void check_wchans(void)
{
	static const struct {
		const char *text;
		enum accept_state state;
	} examples[] = {
		{ "inet_csk_accept", ACCEPT_WAITING }, { "inet_csk_accept.isra.0", ACCEPT_WAITING },
		{ "do_epoll_wait", ACCEPT_POLLING }, { "ep_poll", ACCEPT_POLLING },
		{ "do_poll.constprop.0", ACCEPT_POLLING },
		{ "poll_schedule_timeout.constprop.0", ACCEPT_POLLING },
		{ "futex_wait_queue", ACCEPT_ASLEEP }, { "inet_csk_accepted", ACCEPT_ASLEEP },
		{ "hrtimer_nanosleep", ACCEPT_ASLEEP },
		{ "0", ACCEPT_UNKNOWN }, { "", ACCEPT_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
		CHECK(accept_parse_wchan(text_of(examples[i].text)) == examples[i].state);
	CHECK_STR(accept_state_name(ACCEPT_WAITING), "in accept");
	CHECK_STR(accept_state_name(ACCEPT_STATES), "unknown");
}

/* ---- a saved run ---- */

static void add_thread(const char *folder, const char *pid, const char *tid, char state,
		       const char *file, const char *text)
{
	char path[128], stat[256];

	snprintf(path, sizeof(path), "%s/proc/%s/task/%s/stat", folder, pid, tid);
	snprintf(stat, sizeof(stat), "%s (a b) %c 1 2 2 0 -1 4194560 113 0 0 0 0 0 0 0 20 0 1 0 "
		 "1234 2465792 205\n", tid, state);
	host_add(path, stat);
	if (!file)
		return;
	snprintf(path, sizeof(path), "%s/proc/%s/task/%s/%s", folder, pid, tid, file);
	host_add(path, text);
}

static void check_threads(void)
{
	struct accept_threads a;

	make("host");
	put_text("host/manifest", "clock\t1\t1\nvalue\tuname.machine\tx86_64\n"
		 "error\tproc/50/task/50/syscall\tEPERM\nerror\tproc/50/task/51/syscall\tEPERM\n");
	/* a pool: one waits, one is at work, one reads, one polls, one stopped, one leaves */
	add_thread("host", "40", "40", 'S', "syscall", ACCEPT4);
	add_thread("host", "40", "41", 'R', "schedstat", "500 5 5\n");
	add_thread("host", "40", "42", 'S', "syscall", "0 0x3 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n");
	add_thread("host", "40", "43", 'S', "syscall", EPOLL);
	add_thread("host", "40", "44", 'T', NULL, NULL);
	add_thread("host", "40", "45", 'Z', NULL, NULL);
	add_thread("host", "40", "46", 'D', "syscall", ACCEPT4);
	/* nobody may see its calls; wchan says it of one and not of the other */
	add_thread("host", "50", "50", 'S', "wchan", "inet_csk_accept");
	add_thread("host", "50", "51", 'S', "wchan", "0");
	add_thread("host", "60", "60", 'S', "wchan", "0");
	add_thread("host", "60", "61", 'R', NULL, NULL);
	add_thread("host", "70", "70", 'Z', NULL, NULL);
	open_root("host");
	if (CHECK(!accept_look(40, 3, &a))) {
		CHECK(a.total == 6 && a.in[ACCEPT_WAITING] == 1 && a.in[ACCEPT_RUNNING] == 1);
		CHECK(a.in[ACCEPT_ASLEEP] == 2 && a.in[ACCEPT_POLLING] == 1);
		CHECK(a.in[ACCEPT_STOPPED] == 1 && a.in[ACCEPT_UNKNOWN] == 0);
		CHECK(a.state == ACCEPT_WAITING && a.letter == 'S');
	}
	CHECK(accept_state(40, 4) == ACCEPT_POLLING);
	if (CHECK(!accept_look(50, 3, &a)))
		CHECK(a.in[ACCEPT_WAITING] == 1 && a.in[ACCEPT_UNKNOWN] == 1 &&
		      a.state == ACCEPT_WAITING);
	src_netns(4026532000);
	CHECK(accept_state(60, 3) == ACCEPT_UNKNOWN);
	CHECK(src_netns(0) == 4026532000);
	a.total = 77;
	CHECK(accept_look(70, 3, &a) == -ENOENT && accept_look(9, 3, &a) == -ENOENT);
	CHECK(a.total == 77 && accept_state(9, 3) == ACCEPT_UNKNOWN);
	close_all();
}

/* Runnable twice without having run meanwhile is waiting for a CPU. */
static void check_runnable(void)
{
	static const char *const ran[][2] = {
		{ "500 5 5\n", "900 5 5\n" }, { "500 5 5\n", "950 5 5\n" },
		{ "500 5 5\n", "950 5 5\n" }, { "501 5 5\n", "950 5 5\n" },
	};
	static const enum accept_state states[][2] = {
		{ ACCEPT_RUNNING, ACCEPT_RUNNING }, { ACCEPT_RUNNABLE, ACCEPT_RUNNING },
		/* the last two are 5 ms apart, less than a thread's time may lag */
		{ ACCEPT_RUNNABLE, ACCEPT_RUNNABLE }, { ACCEPT_RUNNING, ACCEPT_RUNNING },
	};
	static const unsigned at_ms[] = { 100, 120, 140, 145 };
	char folder[32], text[128];

	make("run");
	for (unsigned i = 0; i < 4; i++) {
		snprintf(folder, sizeof(folder), "run/%06u", i);
		make(folder);
		add_thread(folder, "5", "5", 'R', "schedstat", ran[i][0]);
		add_thread(folder, "6", "6", 'R', "schedstat", ran[i][1]);
		snprintf(folder, sizeof(folder), "run/%06u/manifest", i);
		snprintf(text, sizeof(text), "clock\t1\t%u000000\n", at_ms[i]);
		put_text(folder, text);
	}
	CHECK(!src_open_root(at("run")));
	for (unsigned i = 0; i < 4; i++) {
		CHECK(src_frame_begin() == 1);
		/* asked twice in a frame it is the same */
		for (int n = 0; n < 2; n++) {
			CHECK(accept_state(5, 3) == states[i][0]);
			CHECK(accept_state(6, 3) == states[i][1]);
		}
		CHECK(!src_frame_end());
	}
	src_close();
}

/* ---- live ---- */

static int listener;

static void *wait_in_accept(void *unused)
{
	accept(listener, NULL, NULL);
	return unused;
}

static void *wait_in_poll(void *unused)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	poll(&p, 1, -1);
	return unused;
}

static void *wait_elsewhere(void *unused)
{
	pause();
	return unused;
}

static void *work(void *unused)
{
	for (volatile unsigned i = 0;; i = i + 1)
		;
	return unused;
}

static pid_t start(void *(*const *does)(void *), int count)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	for (int i = 1; i < count; i++)
		if (pthread_create(&thread, NULL, does[i], NULL))
			_exit(1);
	does[0](NULL);
	_exit(0);
}

/* Until it is so, for a second: threads need a moment to come to where they go. */
static bool becomes(pid_t pid, enum accept_state state, const unsigned *in)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	struct accept_threads a = { 0 };

	for (int i = 0; i < 50; i++) {
		nanosleep(&nap, NULL);
		bool good = src_frame_begin() == 1 &&
			!accept_look((uint32_t)pid, (uint32_t)listener, &a) && a.state == state;

		for (int s = 0; in && s < ACCEPT_STATES; s++)
			good = good && (a.in[s] == in[s] || s == ACCEPT_RUNNING ||
					s == ACCEPT_RUNNABLE);
		if (good)
			return true;
	}
	printf("state %s, letter %c, of %u\n", accept_state_name(a.state), a.letter, a.total);
	return false;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void check_live(void)
{
	void *(*const pool[])(void *) = {
		wait_elsewhere, wait_in_accept, wait_in_accept, wait_in_poll, work,
	};
	static const unsigned in[ACCEPT_STATES] = {
		[ACCEPT_WAITING] = 2, [ACCEPT_POLLING] = 1, [ACCEPT_ASLEEP] = 1,
	};
	struct sockaddr_in any = { .sin_family = AF_INET };

	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) || listen(listener, 5)) {
		check_skip("live", "no TCP socket can listen here");
		return;
	}
	pid_t all = start(pool, 5), polls = start(pool + 3, 1), works = start(pool + 4, 1),
	      sleeps = start(pool, 1);

	CHECK(!src_open_live());
	CHECK(becomes(all, ACCEPT_WAITING, in));
	CHECK(becomes(polls, ACCEPT_POLLING, NULL));
	CHECK(becomes(works, ACCEPT_RUNNING, NULL));
	CHECK(becomes(sleeps, ACCEPT_ASLEEP, NULL));
	kill(works, SIGSTOP);
	CHECK(becomes(works, ACCEPT_STOPPED, NULL));
	end(all), end(polls), end(works), end(sleeps);
	CHECK(src_frame_begin() == 1 && accept_state((uint32_t)all, 3) == ACCEPT_UNKNOWN);
	src_close();
	close(listener);
}

int main(void)
{
	if (!scratch_begin("accepting"))
		return 1;
	check_syscalls();
	check_wchans();
	check_threads();
	check_runnable();
	check_live();
	scratch_end();
	return check_done("accepting");
}
