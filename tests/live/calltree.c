/*
 * A program whose call tree and split of time are known: main calls run, which calls work_a,
 * work_b and work_c, whose leaves let the same loop turn 60, 30 and 10 times out of 100.
 *
 *   calltree SECONDS        runs about that long in one thread, ends with status 0
 *   calltree SECONDS N      the same in N threads that are called "worker"
 *   calltree SECONDS fork   in a child that execs itself under another name
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURNS 400000                   /* of the loop in one hundredth: about 100 us */
#define NOINLINE __attribute__((noipa))

static double seconds;

/* Not a tail call, and the frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")

/* One loop for all: how fast it is depends on where it stands. */
static NOINLINE void turn(uint64_t turns)
{
	for (volatile uint64_t i = 0; i < turns; i++)
		;
	STAY();
}

static NOINLINE void leaf_a(uint64_t turns)
{
	turn(turns);
	STAY();
}

static NOINLINE void leaf_b(uint64_t turns)
{
	turn(turns);
	STAY();
}

static NOINLINE void leaf_c(uint64_t turns)
{
	turn(turns);
	STAY();
}

static NOINLINE void work_a(void)
{
	leaf_a(60 * (uint64_t)TURNS / 10);
	STAY();
}

static NOINLINE void middle_b(void)
{
	leaf_b(30 * (uint64_t)TURNS / 10);
	STAY();
}

static NOINLINE void work_b(void)
{
	middle_b();
	STAY();
}

static NOINLINE void work_c(void)
{
	leaf_c(10 * (uint64_t)TURNS / 10);
	STAY();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static NOINLINE void run(void)
{
	const double end = now() + seconds;

	while (now() < end) {
		work_a();
		work_b();
		work_c();
	}
	STAY();
}

static void *thread(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "worker");
	run();
	return NULL;
}

static int run_child(char **argv)
{
	const pid_t pid = fork();
	int status = 1;

	if (!pid) {
		execl("/proc/self/exe", "calltree-child", argv[1], NULL);
		_exit(127);
	}
	return pid < 0 || waitpid(pid, &status, 0) < 0 || status ? 1 : 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	const long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	if (argc > 2 && !strcmp(argv[2], "fork"))
		return run_child(argv);
	if (!count)
		run();
	for (long i = 0; i < count && i < 64; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			return 1;
	for (long i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
