/*
 * Runs commands in turn, A B A B ..., and prints for each the median over the rounds of its CPU
 * time and wall time in microseconds and its largest resident memory in KiB: one line a command,
 * "CPU WALL RSS". One warm-up round. measure ROUNDS COMMAND...      each COMMAND is one word for sh
 * -c (exec'd)
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 101
#define COMMANDS_MAX 8

struct figures {
	uint64_t cpu_us, wall_us, rss_kib;
};

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static struct figures run(char *command)
{
	uint64_t start_us = now_us();
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);
		char line[4096];

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		snprintf(line, sizeof(line), "exec %s", command);
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) > 3) {
		fprintf(stderr, "measure: '%s' failed\n", command);
		exit(1);
	}
	return (struct figures){
		(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
		now_us() - start_us, (uint64_t)usage.ru_maxrss,
	};
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), by_value);
	return values[count / 2];
}

int main(int argc, char **argv)
{
	static uint64_t cpu[COMMANDS_MAX][ROUNDS_MAX], wall[COMMANDS_MAX][ROUNDS_MAX],
		rss[COMMANDS_MAX][ROUNDS_MAX];
	int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0, commands = argc - 2;

	if (rounds < 1 || rounds > ROUNDS_MAX || commands < 1 || commands > COMMANDS_MAX)
		return 2;
	for (int round = -1; round < rounds; round++)
		for (int c = 0; c < commands; c++) {
			struct figures f = run(argv[c + 2]);

			if (round < 0)
				continue;
			cpu[c][round] = f.cpu_us;
			wall[c][round] = f.wall_us;
			rss[c][round] = f.rss_kib;
		}
	for (int c = 0; c < commands; c++)
		printf("%llu %llu %llu\n", (unsigned long long)median(cpu[c], rounds),
		       (unsigned long long)median(wall[c], rounds),
		       (unsigned long long)median(rss[c], rounds));
	return 0;
}
