/*
 * A program whose stacks are known, under names that are hard to read, for tests of profiles:
 * `steady` takes three times as much time as `brief`, both called from `work`, below nine calls of
 * `deeper`; with -t in that many threads; with -f a child does the same and then becomes this
 * program under another name (exec). Its own name has a blank, a colon and brackets.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 8
#define THREADS_MAX 64
#define NOINLINE __attribute__((noinline, noclone))

static double seconds = 0.2;
static volatile unsigned long sink;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A leaf needs no frame: by frame pointers its caller is passed over. */
static NOINLINE void turn(void)
{
	for (unsigned long i = 0; i < 1000; i++)
		sink += i * i;
}

static NOINLINE void spin(unsigned long thousands)
{
	for (unsigned long i = 0; i < thousands; i++)
		turn();
	sink++;
}

static NOINLINE void brief(void)
{
	spin(20);
	sink++;
}

static NOINLINE void steady(void)
{
	spin(60);
	sink++;
}

static NOINLINE void work(void)
{
	const double end = cpu_seconds() + seconds;

	while (cpu_seconds() < end) {
		brief();
		steady();
	}
}

static NOINLINE void deeper(int depth)
{
	if (depth)
		deeper(depth - 1);
	else
		work();
	sink++;
}

static void *thread(void *unused)
{
	(void)unused;
	deeper(DEPTH);
	return NULL;
}

static void fork_and_exec(char **argv)
{
	char for_it[32];
	const pid_t child = fork();

	if (child < 0)
		return;
	if (!child) {
		prctl(PR_SET_NAME, "kid/0:2");
		deeper(DEPTH);
		snprintf(for_it, sizeof(for_it), "%g", seconds);
		execl("/proc/self/exe", argv[0], "-n", "grown up", "-s", for_it, (char *)NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	int count = 0, option;
	bool forks = false;
	const char *name = "we ird:1 (x) 7";

	while ((option = getopt(argc, argv, "s:t:fn:")) != -1) {
		if (option == 's')
			seconds = strtod(optarg, NULL);
		else if (option == 't')
			count = (int)strtol(optarg, NULL, 10);
		else if (option == 'f')
			forks = true;
		else if (option == 'n')
			name = optarg;
		else
			return 2;
	}
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < count && i < THREADS_MAX; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			return 1;
	for (int i = 0; i < count && i < THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
	if (!count)
		deeper(DEPTH);
	if (forks)
		fork_and_exec(argv);
	return 0;
}
