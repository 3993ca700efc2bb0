#include "applets/flamefold/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

int targets_check(bool has_command)
{
	const unsigned kinds = typed.all_cpus + (typed.pids.count || typed.tids.count) +
			       (typed.cgroup != NULL);

	if (kinds > 1)
		return fail(EINVAL, "-a, -p or --tid, and -G exclude each other");
	if (has_command && (typed.pids.count || typed.tids.count))
		return fail(EINVAL, "-p, --tid and a command exclude each other");
	return 0;
}

static void add_tid(struct targets *t, uint32_t tid)
{
	for (size_t i = 0; i < t->is.tid_count; i++)
		if (t->tids[i] == tid)
			return;
	t->tids = mem_grow(t->tids, &t->tid_cap, t->is.tid_count + 1, sizeof(*t->tids));
	t->tids[t->is.tid_count++] = tid;
}

/* All threads of a process. New ones are followed once their parents are. */
static int add_process(struct targets *t, uint64_t pid)
{
	struct src_dir d;
	const uint32_t *tids;
	size_t count;
	int err = src_dir_open(&d, arena_printf(src_arena(), "proc/%llu/task",
						(unsigned long long)pid));

	if (err < 0)
		return err == -ENOENT ? fail(ESRCH, "-p %llu: there is no such process",
					     (unsigned long long)pid) : err;
	err = src_dir_numbers(&d, &tids, &count);
	for (size_t i = 0; err >= 0 && i < count; i++)
		add_tid(t, tids[i]);
	src_dir_close(&d);
	return err;
}

static int add_threads(struct targets *t)
{
	struct buf text = { 0 };
	int err = 0;

	for (size_t i = 0; i < typed.pids.count && err >= 0; i++) {
		err = add_process(t, typed.pids.items[i]);
		buf_printf(&text, "%s%llu", i ? ", " : "process ",
			   (unsigned long long)typed.pids.items[i]);
	}
	for (size_t i = 0; i < typed.tids.count && err >= 0; i++) {
		add_tid(t, (uint32_t)typed.tids.items[i]);
		buf_printf(&text, "%s%llu", i ? ", " : text.len ? ", thread " : "thread ",
			   (unsigned long long)typed.tids.items[i]);
	}
	t->text = arena_text(src_arena(), buf_text(&text));
	t->is.tids = t->tids;
	buf_free(&text);
	return err;
}

/* Any folder can be opened; one that is no group, perf_event_open calls a bad descriptor. */
static int open_group(const char *path)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return -1;
	if (!fstatfs(fd, &fs) && (fs.f_type == CGROUP2_SUPER_MAGIC ||
				  fs.f_type == CGROUP_SUPER_MAGIC))
		return fd;
	close(fd);
	return -1;
}

/* A path as in /proc/PID/cgroup, in the hierarchy that perf events see; or the folder itself. */
static int open_cgroup(struct targets *t)
{
	struct cgroup_layout layout;
	const char *tried[3] = { NULL };
	size_t count = 0;

	if (!cgroup_find(src_arena(), &layout) && layout.unified.version == 2)
		tried[count++] = cgroup_folder(src_arena(), &layout.unified, typed.cgroup);
	tried[count++] = arena_printf(src_arena(), "sys/fs/cgroup/perf_event/%s", typed.cgroup);
	if (!strncmp(typed.cgroup, "/sys/", 5))
		tried[count++] = typed.cgroup + 1;
	for (size_t i = 0; i < count && t->is.cgroup < 0; i++)
		if (tried[i])
			t->is.cgroup = open_group(arena_printf(src_arena(), "/%s", tried[i]));
	if (t->is.cgroup < 0)
		return fail(ENOENT, "-G %s: no such group in the unified hierarchy, nor in "
			    "perf_event's", typed.cgroup);
	t->is.is_everything = true;
	t->text = arena_printf(src_arena(), "cgroup %s",
			       redact_name(src_arena(), NAME_CGROUP, typed.cgroup));
	return 0;
}

/* What the child does: waits for the byte, becomes the command; if it can't, says why. */
static void become(char **command, int go, int answer)
{
	char byte;

	signal(SIGPIPE, SIG_DFL);
	/* what it prints must not end up among the stacks */
	if (!typed.file)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (read(go, &byte, 1) == 1) {
		execvp(command[0], command);
		const int err = errno;

		if (write(answer, &err, sizeof(err)) < 0)
			_exit(126);
	}
	_exit(127);
}

static int answer_fd = -1;

static int fork_command(struct targets *t, char **command)
{
	int go[2], answer[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return fail_errno(errno, "pipe");
	if (pipe2(answer, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return fail_errno(errno, "pipe");
	}
	fflush(NULL);
	t->child = fork();
	if (!t->child) {
		close(go[1]);
		become(command, go[0], answer[1]);
	}
	close(go[0]);
	close(answer[1]);
	t->go = go[1];
	answer_fd = answer[0];
	if (t->child < 0) {
		t->child = 0;
		return fail_errno(errno, "fork");
	}
	t->child_fd = (int)syscall(SYS_pidfd_open, t->child, 0);
	t->text = redact_name(src_arena(), NAME_COMMAND, command[0]);
	return 0;
}

int targets_open(struct targets *t, char **command)
{
	int err;

	*t = (struct targets){ .is.cgroup = -1, .go = -1, .child_fd = -1 };
	err = perfevent_cpus(&t->cpus, &t->is.cpu_count);
	if (err < 0)
		return err;
	t->is.cpus = t->cpus;
	if (command) {
		err = fork_command(t, command);
		if (err < 0)
			return err;
	}
	if (typed.cgroup) {
		err = open_cgroup(t);
	} else if (typed.pids.count || typed.tids.count) {
		err = add_threads(t);
	} else if (typed.all_cpus || !command) {
		t->is.is_everything = true;
		t->text = "the whole machine";
	} else {
		add_tid(t, (uint32_t)t->child);
		t->is.tids = t->tids;
	}
	return err;
}

int targets_start(struct targets *t)
{
	int err;

	if (!t->child)
		return 0;
	if (write(t->go, "", 1) != 1)
		return fail_errno(errno, "%s", t->text);
	close(t->go);
	t->go = -1;
	/* exec closes its end: nothing to read is good news */
	const ssize_t n = read(answer_fd, &err, sizeof(err));

	close(answer_fd);
	answer_fd = -1;
	return n == sizeof(err) ? fail_errno(err, "%s", t->text) : 0;
}

bool targets_are_gone(struct targets *t)
{
	if (t->child) {
		const pid_t n = waitpid(t->child, &t->ended, WNOHANG);

		if (n == t->child || (n < 0 && errno == ECHILD)) {
			t->child = 0;
			return true;
		}
		return false;
	}
	if (!typed.pids.count && !typed.tids.count)
		return false;
	for (size_t i = 0; i < t->is.tid_count; i++)
		if (!syscall(SYS_tkill, t->tids[i], 0) || errno == EPERM)
			return false;
	return true;
}

void targets_tell_end(struct out *out, const struct targets *t)
{
	if (WIFSIGNALED(t->ended))
		out_note(out, "%s: ended by signal %d", t->text, WTERMSIG(t->ended));
	else if (WEXITSTATUS(t->ended))
		out_note(out, "%s: ended with status %d", t->text, WEXITSTATUS(t->ended));
}

void targets_close(struct targets *t)
{
	if (t->go >= 0)
		close(t->go);          /* the child sees that nothing comes and ends */
	else if (t->child)
		kill(t->child, SIGTERM);       /* interrupted: the command ends with us */
	if (answer_fd >= 0)
		close(answer_fd);
	answer_fd = -1;
	if (t->child_fd >= 0)
		close(t->child_fd);
	if (t->is.cgroup >= 0)
		close(t->is.cgroup);
	free(t->tids);
	free(t->cpus);
	*t = (struct targets){ .is.cgroup = -1, .go = -1, .child_fd = -1 };
}
