/* Going into a network namespace and back. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/kernel/netns.h"
#include "common/kernel/source.h"

#define OWN_LINK "/proc/self/ns/net"

static int own_fd = -1;
static bool is_inside;                 /* live only */

static int go_to(const struct netns *ns)
{
	struct stat st;
	int fd = open(arena_printf(src_arena(), "/%s", ns->path), O_RDONLY | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		return fail_errno(ESRCH, "/%s", ns->path);
	if (fd < 0)
		return fail_errno(errno, "/%s", ns->path);
	/* a process may have moved, a number may be another's by now */
	int err = fstat(fd, &st) ? errno : st.st_ino != ns->inode ? ESRCH : 0;

	if (!err && setns(fd, CLONE_NEWNET))
		err = errno;
	close(fd);
	if (err == EPERM)
		return fail(EPERM, "/%s: entering a network namespace needs CAP_SYS_ADMIN",
			    ns->path);
	return err ? fail_errno(err, "/%s", ns->path) : 0;
}

static int enter_live(const struct netns *ns)
{
	if (own_fd < 0)
		own_fd = open(OWN_LINK, O_RDONLY | O_CLOEXEC);
	if (own_fd < 0)
		return fail_errno(errno, OWN_LINK);
	int err = go_to(ns);

	is_inside = !err;
	return err;
}

static int tell(void *arg, struct buf *reply)
{
	(void)reply;
	return *(const int *)arg;
}

/* Only trouble is recorded: a run made by hand need not say that all went well. */
int netns_enter(const struct netns *ns)
{
	int err = netns_leave();

	if (err || ns->is_own)
		return err;
	err = src_is_live() ? enter_live(ns) : 0;
	if (err || !src_is_live()) {
		const char *key = arena_printf(src_arena(), "enter net:[%llu]",
					       (unsigned long long)ns->inode);
		struct text unused;
		int told = src_call(key, tell, &err, &unused);

		if (told != -ENOENT)
			return told;
	}
	src_netns(ns->inode);
	return 0;
}

int netns_leave(void)
{
	src_netns(0);
	if (!is_inside)
		return 0;
	if (setns(own_fd, CLONE_NEWNET))
		return fail_errno(errno, "going back to the own network namespace");
	is_inside = false;
	return 0;
}
