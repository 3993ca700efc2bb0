/*
 * What src_dir_read costs over bare openat, read, close: stat and schedstat of many threads, both
 * ways in turn, the quickest round of each batch. Prints the two times per file and their ratio;
 * the budget is 1.15.
 *
 *     srcdir [threads [rounds]]
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/kernel/source.h"

#define STACK_BYTES 32768
#define NAME_BYTES 64
#define BATCH 50                       /* files: about 0.1 ms */

static uint64_t bytes_seen;

static void *wait_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void start_threads(unsigned count)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&thread, &attr, wait_forever, NULL)) {
			fprintf(stderr, "only %u threads\n", i);
			break;
		}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t time_bare(int at, const char (*names)[NAME_BYTES], size_t count)
{
	static char data[4096];
	const uint64_t start = now_ns();

	for (size_t i = 0; i < count; i++) {
		int fd = openat(at, names[i], O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, data, sizeof(data));

		close(fd);
		bytes_seen += n > 0 ? (uint64_t)n : 0;
	}
	return now_ns() - start;
}

static uint64_t time_source(struct src_dir *proc, const char (*names)[NAME_BYTES], size_t count)
{
	struct text t;
	const uint64_t start = now_ns();

	for (size_t i = 0; i < count; i++)
		if (!src_dir_read(proc, names[i], &t))
			bytes_seen += t.len;
	return now_ns() - start;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* PID/task/TID/stat and schedstat of this program's threads. */
static size_t find_names(char (**names)[NAME_BYTES])
{
	struct src_dir task;
	const uint32_t *tids;
	size_t count;

	if (src_dir_open(&task, "proc/self/task") || src_dir_numbers(&task, &tids, &count))
		return 0;
	*names = calloc(count * 2, NAME_BYTES);
	for (size_t i = 0; i < count; i++) {
		char (*two)[NAME_BYTES] = *names + 2 * i;

		snprintf(two[0], NAME_BYTES, "%d/task/%u/stat", getpid(), tids[i]);
		snprintf(two[1], NAME_BYTES, "%d/task/%u/schedstat", getpid(), tids[i]);
	}
	src_dir_close(&task);
	return count * 2;
}

/* The quickest round of every batch, summed: others' work disturbs a round, not the result. */
static void compare(const char (*names)[NAME_BYTES], size_t count, unsigned rounds)
{
	uint64_t bare = 0, source = 0;
	struct src_dir proc;
	int at = open("/proc", O_RDONLY | O_DIRECTORY);

	if (at < 0 || src_dir_open(&proc, "proc"))
		return;
	for (size_t i = 0; i < count; i += BATCH) {
		const size_t n = count - i < BATCH ? count - i : BATCH;
		uint64_t a = UINT64_MAX, b = UINT64_MAX;

		for (unsigned r = 0; r < rounds; r++) {
			a = least(a, time_bare(at, names + i, n));
			b = least(b, time_source(&proc, names + i, n));
		}
		bare += a;
		source += b;
	}
	src_dir_close(&proc);
	close(at);
	printf("files\t%zu\nbare_ns\t%llu\nsource_ns\t%llu\nratio\t%.3f\n", count,
	       (unsigned long long)(bare / count), (unsigned long long)(source / count),
	       (double)source / (double)bare);
}

int main(int argc, char **argv)
{
	const unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2000;
	const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 15;
	char (*names)[NAME_BYTES] = NULL;

	start_threads(threads);
	if (src_open_live() || src_frame_begin() != 1)
		return fprintf(stderr, "%s\n", fail_text()), 3;
	const size_t count = find_names(&names);

	if (!count)
		return fprintf(stderr, "%s\n", fail_text()), 3;
	compare((const char (*)[NAME_BYTES])names, count, rounds);
	src_close();
	free(names);
	return bytes_seen == 0;
}
