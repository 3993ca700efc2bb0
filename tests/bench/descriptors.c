/*
 * Processes with sockets to be looked at: descriptors COUNT [PROCESSES]. Prints "ready" and sleeps
 * until it is ended, and its children with it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_sockets(int count)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < count; i++)
		if (socket(AF_UNIX, SOCK_STREAM, 0) < 0)
			return perror("descriptors: socket"), 1;
	return 0;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
	int processes = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 30;
	int ready[2];
	char c = 0;

	if (processes < 1 || pipe(ready))
		return 1;
	for (int i = 0; i < processes; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = (char)open_sockets(count / processes);
		if (write(ready[1], &c, 1) != 1)
			return 1;
		for (;;)
			pause();
	}
	for (int i = 0; i < processes; i++)
		if (read(ready[0], &c, 1) != 1 || c)
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
