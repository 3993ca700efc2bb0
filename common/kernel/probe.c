#include "common/kernel/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/fail.h"

#define KALLSYMS_FIRST 16384           /* bytes: past per-CPU symbols, whose addresses may be 0 */

static int done(long fd, const char *what)
{
	if (fd < 0)
		return fail_errno(errno, "%s", what);
	close((int)fd);
	return 0;
}

int probe_netlink(int protocol)
{
	return done(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), "socket(AF_NETLINK)");
}

int probe_packet(void)
{
	/* protocol 0 is none */
	return done(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "socket(AF_PACKET)");
}

int probe_openat2(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };

	return done(syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how)), "openat2");
}

int probe_netns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(errno, "/proc/self/ns/net");
	int err = setns(fd, CLONE_NEWNET) < 0 ? fail_errno(errno, "setns") : 0;

	close(fd);
	return err;
}

int probe_kallsyms(struct buf *first)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd < 0)
		return fail_errno(errno, "/proc/kallsyms");
	while (first->len < KALLSYMS_FIRST) {
		buf_reserve(first, KALLSYMS_FIRST - first->len);
		n = read(fd, first->data + first->len, KALLSYMS_FIRST - first->len);
		if (n <= 0)
			break;
		first->len += (size_t)n;
	}
	int err = n < 0 ? fail_errno(errno, "/proc/kallsyms") : 0;

	close(fd);
	return err;
}

int probe_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? fail_errno(errno, "/proc/self/exe") : fd;
}
