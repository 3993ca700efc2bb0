/*
 * killat N COMMAND...: kills a command as it enters its Nth system call that can change something
 * (write, fdatasync, fsync, ftruncate, rename, mkdir, or open for writing), as a power loss there
 * would. Status 137: killed; else the command's: it makes fewer such calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_KILLED 137

static bool is_change(const struct __ptrace_syscall_info *i)
{
	switch (i->entry.nr) {
	case SYS_write:
		return i->entry.args[0] > 2;
	case SYS_openat:
		return (i->entry.args[2] & O_ACCMODE) != O_RDONLY;
	case SYS_fdatasync:
	case SYS_fsync:
	case SYS_ftruncate:
	case SYS_renameat:
#ifdef SYS_mkdir
	case SYS_mkdir:
#endif
	case SYS_mkdirat:
		return true;
	}
	return false;
}

static int watch(pid_t child, long left)
{
	struct __ptrace_syscall_info i;
	int status;

	while (waitpid(child, &status, 0) == child) {
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		int number = WSTOPSIG(status);

		if (number == (SIGTRAP | 0x80) &&
		    ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof(i), &i) > 0 &&
		    i.op == PTRACE_SYSCALL_INFO_ENTRY && is_change(&i) && --left == 0) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return STATUS_KILLED;
		}
		number = number == (SIGTRAP | 0x80) || number == SIGTRAP ? 0 : number;
		if (ptrace(PTRACE_SYSCALL, child, NULL, (void *)(long)number))
			break;
	}
	perror("killat");
	return 3;
}

int main(int argc, char **argv)
{
	long left = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	int status;

	if (left <= 0) {
		fputs("usage: killat N COMMAND...\n", stderr);
		return 2;
	}
	pid_t child = fork();

	if (child < 0) {
		perror("fork");
		return 3;
	}
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(126);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child ||
	    ptrace(PTRACE_SETOPTIONS, child, NULL,
		   (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) ||
	    ptrace(PTRACE_SYSCALL, child, NULL, NULL)) {
		perror("killat: ptrace");
		kill(child, SIGKILL);
		return 3;
	}
	return watch(child, left);
}
