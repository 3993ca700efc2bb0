/*
 * Runs a command and sends it a signal after a time, as a person at a terminal would: shells make
 * what they start in the background deaf to SIGINT. Its status is the command's; 128 + N if signal
 * N ended it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void rest(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = { { "INT", SIGINT }, { "TERM", SIGTERM }, { "HUP", SIGHUP } };
	int number = 0, status;

	for (size_t i = 0; argc > 3 && i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!strcmp(argv[1], signals[i].name))
			number = signals[i].number;
	if (!number) {
		fputs("usage: signal INT|TERM|HUP MS COMMAND...\n", stderr);
		return 2;
	}
	pid_t child = fork();

	if (child < 0) {
		perror("fork");
		return 3;
	}
	if (!child) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		_exit(127);
	}
	rest(strtol(argv[2], NULL, 10));
	kill(child, number);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 3;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
