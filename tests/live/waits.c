/*
 * Waits that are known, each below a function of its own, and what they took as the program saw it:
 *
 *	sleeps N MS        nap: "nap NS COUNT", wall time in it
 *	convoy N SECONDS   N threads `worker` want a mutex that `refresher` holds over a request to
 *	                   `downstream`, which takes 40 ms to answer: "wait_for_lock NS COUNT"
 *	fsync FILE N       write_through: "write_through NS COUNT"
 *	pingpong N         two processes and two pipes: "turn NS COUNT" of the first
 *	spin N MS          N threads on one CPU, until each used MS of it:
 *	                   "spin NS COUNT", wall - CPU
 *	asleep             until a signal comes
 *	threads N          N threads, 50 at once, that rest 1 ms: "rest NS COUNT"
 *	forks N            N times this program, one after the other, as `brief`: "child NS COUNT"
 *	stacks N           sleeps 1 ms in N different stacks: "stacks NS COUNT"
 *	names              threads with names of hostile bytes, 200 ms each
 *
 * Functions end in a call that is not the last thing they do: with frame pointers each has a frame.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define AT_ONCE 50
#define ANSWER_MS 40
#define WORKERS_MAX 64

static volatile unsigned long sink;
static _Atomic unsigned long total_ns, total_count;

static unsigned long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}

static NOINLINE void pause_for(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
	sink++;
}

static void tell(const char *name)
{
	printf("%s %lu %lu\n", name, total_ns, total_count);
	fflush(stdout);
}

static void add(unsigned long ns)
{
	total_ns += ns;
	total_count++;
}

/* ---- sleeps ---- */

static NOINLINE void nap(long ms)
{
	const unsigned long began = now_ns(CLOCK_MONOTONIC);

	pause_for(ms * 1000);
	add(now_ns(CLOCK_MONOTONIC) - began);
}

/* ---- a convoy ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int sockets[2];
static atomic_bool is_over;

static void *downstream(void *arg)
{
	char byte;

	prctl(PR_SET_NAME, "downstream");
	while (read(sockets[1], &byte, 1) == 1) {
		pause_for(ANSWER_MS * 1000);
		if (write(sockets[1], &byte, 1) != 1)
			break;
	}
	return arg;
}

static NOINLINE void fetch(void)
{
	char byte = 'x';

	if (write(sockets[0], &byte, 1) != 1 || read(sockets[0], &byte, 1) != 1)
		exit(1);
	sink++;
}

static NOINLINE void refresh_cache(void)
{
	pthread_mutex_lock(&mutex);
	fetch();
	pthread_mutex_unlock(&mutex);
	sink++;
}

static void *refresher(void *arg)
{
	prctl(PR_SET_NAME, "refresher");
	while (!is_over) {
		refresh_cache();
		pause_for(5000);
	}
	return arg;
}

static NOINLINE void wait_for_lock(void)
{
	const unsigned long began = now_ns(CLOCK_MONOTONIC);

	pthread_mutex_lock(&mutex);
	add(now_ns(CLOCK_MONOTONIC) - began);
	pthread_mutex_unlock(&mutex);
}

static NOINLINE void serve(void)
{
	wait_for_lock();
	pause_for(1000);
	sink++;
}

static void *worker(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	while (!is_over)
		serve();
	return arg;
}

static void convoy(int count, int seconds)
{
	pthread_t threads[WORKERS_MAX + 2];

	if (count > WORKERS_MAX || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		exit(1);
	pthread_create(&threads[0], NULL, downstream, NULL);
	pthread_create(&threads[1], NULL, refresher, NULL);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i + 2], NULL, worker, NULL);
	pause_for(seconds * 1000000l);
	is_over = true;
	for (int i = 1; i < count + 2; i++)
		pthread_join(threads[i], NULL);
	shutdown(sockets[0], SHUT_RDWR);
	pthread_join(threads[0], NULL);
	tell("wait_for_lock");
}

/* ---- disk, pipes, CPU ---- */

static NOINLINE void write_through(int fd)
{
	const unsigned long began = now_ns(CLOCK_MONOTONIC);

	if (write(fd, "0123456789abcdef", 16) != 16 || fsync(fd) < 0)
		exit(1);
	add(now_ns(CLOCK_MONOTONIC) - began);
}

static NOINLINE void turn(int from, int to)
{
	char byte = 'x';

	if (write(to, &byte, 1) != 1)
		exit(1);
	const unsigned long began = now_ns(CLOCK_MONOTONIC);

	if (read(from, &byte, 1) != 1)
		exit(1);
	add(now_ns(CLOCK_MONOTONIC) - began);
}

static void pingpong(int count)
{
	int there[2], back[2];
	char byte;

	if (pipe(there) < 0 || pipe(back) < 0)
		exit(1);
	if (!fork()) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	for (int i = 0; i < count; i++)
		turn(back[0], there[1]);
	close(there[1]);
	wait(NULL);
	tell("turn");
}

static long spin_ms;

static void *spin(void *arg)
{
	const unsigned long began = now_ns(CLOCK_MONOTONIC);
	unsigned long used;

	prctl(PR_SET_NAME, "spinner");
	while ((used = now_ns(CLOCK_THREAD_CPUTIME_ID)) < (unsigned long)spin_ms * 1000000ul)
		for (int i = 0; i < 10000; i++)
			sink += (unsigned long)i;
	add(now_ns(CLOCK_MONOTONIC) - began - used);
	return arg;
}

static void spin_all(int count, long ms)
{
	pthread_t threads[WORKERS_MAX];
	cpu_set_t one;

	spin_ms = ms;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (count > WORKERS_MAX || sched_setaffinity(0, sizeof(one), &one) < 0)
		exit(1);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, spin, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	tell("spin");
}

/* ---- many ---- */

static void *rest(void *arg)
{
	const unsigned long began = now_ns(CLOCK_MONOTONIC);

	pause_for(1000);
	add(now_ns(CLOCK_MONOTONIC) - began);
	return arg;
}

static void many_threads(int count)
{
	pthread_t threads[AT_ONCE];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	while (count > 0) {
		int n = 0;

		for (; n < AT_ONCE && n < count; n++)
			if (pthread_create(&threads[n], &small, rest, NULL))
				exit(1);
		count -= n;
		while (n)
			pthread_join(threads[--n], NULL);
	}
	tell("rest");
}

static NOINLINE void child(const char *self)
{
	const unsigned long began = now_ns(CLOCK_MONOTONIC);
	const pid_t pid = fork();

	if (!pid) {
		execl(self, "brief", "brief", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	add(now_ns(CLOCK_MONOTONIC) - began);
}

static NOINLINE void brief(void)
{
	prctl(PR_SET_NAME, "brief");
	pause_for(2000);
	sink++;
}

/* A path of one bit a level: N stacks of equal depth, all different. */
static NOINLINE void left(unsigned path, int level);

static NOINLINE void right(unsigned path, int level)
{
	if (!level)
		pause_for(1);
	else if (path & 1)
		left(path >> 1, level - 1);
	else
		right(path >> 1, level - 1);
	sink++;
}

static NOINLINE void left(unsigned path, int level)
{
	if (!level)
		pause_for(1);
	else if (path & 1)
		left(path >> 1, level - 1);
	else
		right(path >> 1, level - 1);
	sink += 2;
}

static void many_stacks(unsigned count)
{
	prctl(PR_SET_TIMERSLACK, 1);
	for (unsigned i = 0; i < count; i++) {
		const unsigned long began = now_ns(CLOCK_MONOTONIC);

		left(i, 17);
		add(now_ns(CLOCK_MONOTONIC) - began);
	}
	tell("stacks");
}

static void *named(void *name)
{
	prctl(PR_SET_NAME, name);
	pause_for(200000);
	return NULL;
}

static void hostile_names(void)
{
	static char names[][16] = {
		"a;b c", "x\ny\tz", "\033[31mred", "\\\"<&>'", "\377\376bad", "",
	};
	pthread_t threads[sizeof(names) / sizeof(*names)];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		pthread_create(&threads[i], NULL, named, names[i]);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const char *first = argc > 2 ? argv[2] : "0", *second = argc > 3 ? argv[3] : "0";
	const int n = (int)strtol(strcmp(mode, "fsync") != 0 ? first : second, NULL, 10);
	const long m = strtol(second, NULL, 10);

	if (!strcmp(mode, "sleeps") && argc > 3) {
		for (int i = 0; i < n; i++)
			nap(m);
		tell("nap");
	} else if (!strcmp(mode, "convoy") && argc > 3) {
		convoy(n, (int)m);
	} else if (!strcmp(mode, "fsync") && argc > 3) {
		const int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);

		for (int i = 0; i < n; i++)
			write_through(fd);
		tell("write_through");
	} else if (!strcmp(mode, "pingpong")) {
		pingpong(n);
	} else if (!strcmp(mode, "spin") && argc > 3) {
		spin_all(n, m);
	} else if (!strcmp(mode, "asleep")) {
		pause();
	} else if (!strcmp(mode, "threads")) {
		many_threads(n);
	} else if (!strcmp(mode, "forks")) {
		for (int i = 0; i < n; i++)
			child("/proc/self/exe");
		tell("child");
	} else if (!strcmp(mode, "brief")) {
		brief();
	} else if (!strcmp(mode, "stacks")) {
		many_stacks((unsigned)n);
	} else if (!strcmp(mode, "names")) {
		hostile_names();
	} else {
		return 2;
	}
	return 0;
}
