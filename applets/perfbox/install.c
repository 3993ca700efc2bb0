/*
 * perfbox --install: one link to this program per applet. All or nothing: every name is looked at
 * before the first link is made, and what was made is taken back if a later one fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "applets/perfbox/perfbox.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"

struct installation {
	const char *dir;               /* as it was asked for, without slashes at its end */
	int dir_fd;
	bool is_symbolic;
	char *program;                 /* this program's file; ours to free */
	struct stat self;
	bool *is_there;                /* per applet: already a link to this program */
	size_t made;                   /* applets before this one were dealt with */
};

/* The file this program runs from, as an absolute path. */
static int find_self(struct installation *in)
{
	const char *target;
	int err = src_open_live();

	if (err >= 0)
		err = src_frame_begin();
	if (err >= 0)
		err = src_link("proc/self/exe", &target);
	if (err >= 0)
		in->program = mem_strdup(target);
	src_close();
	if (err < 0)
		return err;
	if (stat(in->program, &in->self) < 0)
		return fail_errno(errno, "this program's file is gone: %s", in->program);
	return 0;
}

static bool is_self(const struct installation *in, const struct stat *st)
{
	return st->st_dev == in->self.st_dev && st->st_ino == in->self.st_ino;
}

/* Is a name free, or a link to this program already? Everything else stands in the way. */
static int look_at(struct installation *in, size_t i, struct buf *in_the_way)
{
	const char *name = applets[i]->name;
	struct stat st;

	if (fstatat(in->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail_errno(errno, "%s/%s", in->dir, name);
	if (S_ISLNK(st.st_mode) && fstatat(in->dir_fd, name, &st, 0) < 0)
		st = (struct stat){ 0 };
	in->is_there[i] = is_self(in, &st);
	if (!in->is_there[i])
		buf_printf(in_the_way, "%s%s/%s", in_the_way->len ? ", " : "", in->dir, name);
	return 0;
}

static int look_at_all(struct installation *in)
{
	struct buf in_the_way = { 0 };
	size_t count = 0;
	int err = 0;

	while (applets[count])
		count++;
	in->is_there = mem_alloc((count + 1) * sizeof(*in->is_there));
	for (size_t i = 0; i < count && !err; i++)
		err = look_at(in, i, &in_the_way);
	if (!err && in_the_way.len)
		err = fail(EEXIST, "not links to this program: %s; nothing was installed",
			   in_the_way.data);
	buf_free(&in_the_way);
	return err;
}

static int make_link(const struct installation *in, const char *name)
{
	if (in->is_symbolic)
		return symlinkat(in->program, in->dir_fd, name);
	return linkat(AT_FDCWD, in->program, in->dir_fd, name, 0);
}

static const char *link_hint(const struct installation *in, int err)
{
	if (in->is_symbolic)
		return "";
	if (err == EXDEV)
		return ": a hard link can't cross file systems, use -s";
	/* no hard links on this file system, fs.protected_hardlinks, or too many of them */
	return err == EPERM || err == EMLINK ? ": use -s" : "";
}

/* Takes back the links of this run; the fail text says what failed, and what is left of them. */
static int take_back(const struct installation *in, int err)
{
	const char *dir = in->dir, *name = applets[in->made]->name;
	const char *hint = link_hint(in, err);
	struct buf left = { 0 };
	size_t removed = 0;

	for (size_t i = 0; i < in->made; i++) {
		if (in->is_there[i])
			continue;
		if (unlinkat(in->dir_fd, applets[i]->name, 0) == 0)
			removed++;
		else
			buf_printf(&left, "%s%s/%s", left.len ? ", " : "", dir, applets[i]->name);
	}
	if (left.len)
		fail(err, "%s/%s: %s%s; could not be removed again: %s", dir, name, strerror(err),
		     hint, left.data);
	else
		fail(err, "%s/%s: %s%s; %s", dir, name, strerror(err), hint, removed ?
		     "the links made before it were removed again" : "nothing was installed");
	buf_free(&left);
	return -err;
}

/* No signal ends this between the first link and the last. */
static int make_all(struct installation *in)
{
	sigset_t ending, before;
	int err = 0;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigprocmask(SIG_BLOCK, &ending, &before);
	for (; applets[in->made] && !err; in->made += !err)
		if (!in->is_there[in->made] && make_link(in, applets[in->made]->name) < 0)
			err = errno;
	if (err)
		err = take_back(in, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

static void print_all(const struct installation *in)
{
	for (size_t i = 0; applets[i]; i++)
		printf("%s/%s%s\n", in->dir, applets[i]->name,
		       in->is_there[i] ? " already there" : "");
}

/* "/" stays what it is; "bin//" prints as "bin". */
static char *without_slashes(const char *dir)
{
	char *copy = mem_strdup(dir);
	size_t len = strlen(copy);

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	return copy;
}

int install_links(bool symbolic, const char *dir)
{
	char *shown = without_slashes(dir);
	struct installation in = { .dir = strcmp(shown, "/") ? shown : "" };
	int err = 0;

	in.is_symbolic = symbolic;
	in.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in.dir_fd < 0)
		err = fail_errno(errno, "%s", dir);
	if (!err)
		err = find_self(&in);
	if (!err)
		err = look_at_all(&in);
	if (!err)
		err = make_all(&in);
	if (!err)
		print_all(&in);
	else
		fprintf(stderr, "perfbox --install: %s\n", fail_text());
	if (in.dir_fd >= 0)
		close(in.dir_fd);
	free(in.is_there);
	free(in.program);
	free(shown);
	return err ? 3 : 0;
}
