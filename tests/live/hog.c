/*
 * A process that takes memory, for live tests: at once, at a steady rate, or as page cache of a
 * file that it writes to its end. Prints "ready" once the first of it is there, then goes on until
 * its time is over or it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MIB (1024.0 * 1024.0)
#define STEP_NS 100000000l             /* growing memory is touched ten times a second */
#define CHUNK (1u << 20)
#define ROOM ((size_t)1 << 36)         /* address space for all that may ever be asked for */

static const char usage[] =
	"usage: hog [-m MIB] [-r MIB] [-f FILE -c MIB -w MIB] [-t SECONDS] [-g FOLDER] [-N NAME]\n"
	"  -m  anonymous memory to take at once (0)\n"
	"  -r  anonymous memory to take each second (0)\n"
	"  -c  page cache to make of FILE at once (0)\n"
	"  -w  page cache to make of it each second, behind that (0)\n"
	"  -t  stop after this (60)\n"
	"  -g  join the cgroup in FOLDER first\n"
	"  -N  name (hog)\n";

static double at_once, rate, cache, cache_rate, seconds = 60;
static const char *file, *folder, *name = "hog";

static void fail(const char *what)
{
	fprintf(stderr, "hog: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double number(const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= 0 && v <= 60000)) {
		fprintf(stderr, "hog: bad number: %s\n%s", arg, usage);
		exit(2);
	}
	return v;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void join(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		fail(path);
	close(fd);
}

static void touch(char *memory, double from, double to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = (size_t)(from * MIB) / page * page; at < (size_t)(to * MIB); at += page)
		memory[at] = 1;
}

/* Written once and never read again: page cache that nobody misses. */
static void write_file(int fd, double from, double to)
{
	static char chunk[CHUNK];

	for (long n = (long)from; n < (long)to; n++)
		if (write(fd, chunk, CHUNK) != CHUNK)
			fail(file);
}

static void take_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "m:r:c:w:f:t:g:N:")) != -1)
		switch (c) {
		case 'm': at_once = number(optarg); break;
		case 'r': rate = number(optarg); break;
		case 'c': cache = number(optarg); break;
		case 'w': cache_rate = number(optarg); break;
		case 'f': file = optarg; break;
		case 't': seconds = number(optarg); break;
		case 'g': folder = optarg; break;
		case 'N': name = optarg; break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
	if (cache + cache_rate > 0 && !file) {
		fputs(usage, stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	const struct timespec step = { 0, STEP_NS };

	take_options(argc, argv);
	prctl(PR_SET_NAME, name);
	if (folder)
		join();
	char *memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		fail("memory");
	/* huge pages would come 2 MiB at a time */
	madvise(memory, ROOM, MADV_NOHUGEPAGE);
	touch(memory, 0, at_once);
	int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (file && fd < 0)
		fail(file);
	write_file(fd, 0, cache);
	puts("ready");
	fflush(stdout);
	double start = now(), taken = at_once, written = cache;

	while (now() - start < seconds) {
		double wanted = at_once + rate * (now() - start);

		touch(memory, taken, wanted);
		taken = wanted;
		wanted = cache + cache_rate * (now() - start);
		write_file(fd, written, wanted);
		written = wanted;
		nanosleep(&step, NULL);
	}
	return 0;
}
