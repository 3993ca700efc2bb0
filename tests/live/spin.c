/*
 * Threads that burn CPU, all of it or a part, for live tests: quotas, run queues, affinity. Prints
 * the tid of each once all of them run, then goes on until its time is over or SIGTERM. Its main
 * thread sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 4096

static const char usage[] =
	"usage: spin [-n THREADS] [-c CPU] [-d PERCENT] [-p MS] [-t SECONDS] [-g FOLDER]\n"
	"            [-N NAME]\n"
	"  -n  how many threads (1)\n"
	"  -c  pin all of them to this CPU\n"
	"  -d  burn PERCENT of -p, sleep the rest (100: never sleep)\n"
	"  -p  length of such a cycle in ms of the thread's own CPU time and sleep (10)\n"
	"  -t  stop after this (10)\n"
	"  -g  join the cgroup in FOLDER first\n"
	"  -N  name of the threads (spin)\n";

static double duty = 1, cycle_ms = 10, seconds = 10;
static unsigned thread_count = 1;
static pid_t tids[THREADS_MAX];
static const char *name = "spin";
static pthread_barrier_t all_run;

static void fail(const char *what)
{
	fprintf(stderr, "spin: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double number(const char *arg, double least, double most)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= least && v <= most)) {
		fprintf(stderr, "spin: bad number: %s\n%s", arg, usage);
		exit(2);
	}
	return v;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *burn(void *arg)
{
	const uint64_t burn_ns = (uint64_t)(duty * cycle_ms * 1e6);
	const uint64_t sleep_ns = (uint64_t)((1 - duty) * cycle_ms * 1e6);
	const struct timespec rest = {
		.tv_sec = (time_t)(sleep_ns / 1000000000u),
		.tv_nsec = (long)(sleep_ns % 1000000000u),
	};

	prctl(PR_SET_NAME, name);
	*(pid_t *)arg = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&all_run);
	for (;;) {
		volatile unsigned work = 0;

		if (duty >= 1) {
			work = work + 1;
			continue;
		}
		for (uint64_t until = own_cpu_ns() + burn_ns; own_cpu_ns() < until;)
			for (int i = 0; i < 1000; i++)
				work = work + 1;
		nanosleep(&rest, NULL);
	}
	return NULL;
}

/* cgroup.procs takes "0" for the writer, in v1 and v2. */
static void join(const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0\n", 2) != 2)
		fail(path);
	close(fd);
}

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
}

static void start(void)
{
	pthread_t thread;

	pthread_barrier_init(&all_run, NULL, thread_count + 1);
	for (unsigned i = 0; i < thread_count; i++) {
		errno = pthread_create(&thread, NULL, burn, &tids[i]);
		if (errno)
			fail("pthread_create");
	}
	pthread_barrier_wait(&all_run);
	for (unsigned i = 0; i < thread_count; i++)
		printf("%d\n", (int)tids[i]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	sigset_t stop;
	int option;

	while ((option = getopt(argc, argv, "n:c:d:p:t:g:N:h")) != -1) {
		switch (option) {
		case 'n': thread_count = (unsigned)number(optarg, 1, THREADS_MAX); break;
		case 'c': pin((unsigned)number(optarg, 0, CPU_SETSIZE - 1)); break;
		case 'd': duty = number(optarg, 0, 100) / 100; break;
		case 'p': cycle_ms = number(optarg, 0.01, 1e6); break;
		case 't': seconds = number(optarg, 0, 1e6); break;
		case 'g': join(optarg); break;
		case 'N': name = optarg; break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	}
	if (optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	start();
	const struct timespec time = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	sigtimedwait(&stop, NULL, &time);
	return 0;
}
