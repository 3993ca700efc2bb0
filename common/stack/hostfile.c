#include "common/stack/hostfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/fail.h"

#define READ_STEP 65536

/* Linux 5.6; where it is missing a container's absolute links are followed outside it. */
static int open_in(const char *root, const char *path)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return -1;
	while (*path == '/')
		path++;
	int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(folder, path, O_PATH | O_CLOEXEC);
	int err = errno;

	close(folder);
	errno = err;
	return fd;
}

/* O_PATH does not touch what is there; the second open is of exactly what was looked at. */
static int reopen(int place, const char *path)
{
	char self[40];
	struct stat st;

	if (fstat(place, &st))
		return fail_errno(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return fail(ENXIO, "%s: not a regular file", path);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
	int fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? fail_errno(errno, "%s", path) : fd;
}

int hostfile_open(const char *root, const char *path)
{
	int place = root ? open_in(root, path) : open(path, O_PATH | O_CLOEXEC);

	if (place < 0)
		return fail_errno(errno, "%s", path);
	int fd = reopen(place, path);

	close(place);
	return fd;
}

static int map_fd(int fd, const char *path, struct hostfile *f)
{
	struct stat st;
	void *at = NULL, *scratch = NULL;

	if (fstat(fd, &st))
		return fail_errno(errno, "%s", path);
	if (st.st_size < 0 || (uint64_t)st.st_size > HOSTFILE_MAP_MAX)
		return fail(EFBIG, "%s: larger than %llu bytes", path, HOSTFILE_MAP_MAX);
	if (st.st_size)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return fail_errno(errno, "%s", path);
	if (st.st_size)
		scratch = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (scratch == MAP_FAILED) {
		munmap(at, (size_t)st.st_size);
		return fail_errno(errno, "%s", path);
	}
	*f = (struct hostfile){
		.bytes = { at, (size_t)st.st_size }, .scratch = scratch, .owner = st.st_uid,
		.inode = st.st_ino,
	};
	return 0;
}

int hostfile_map(const char *root, const char *path, struct hostfile *f)
{
	int fd = hostfile_open(root, path);

	if (fd < 0)
		return fd;
	int err = map_fd(fd, path, f);

	close(fd);
	return err;
}

void hostfile_unmap(struct hostfile *f)
{
	if (f->bytes.data)
		munmap((void *)f->bytes.data, f->bytes.len);
	if (f->scratch)
		munmap(f->scratch, f->bytes.len);
	*f = (struct hostfile){ 0 };
}

static int read_all(int fd, const char *path, size_t max, struct buf *to)
{
	buf_reset(to);
	for (;;) {
		buf_reserve(to, READ_STEP);
		ssize_t n = read(fd, to->data + to->len, READ_STEP);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(errno, "%s", path);
		to->len += (size_t)n;
		to->data[to->len] = '\0';
		if (to->len > max)
			return fail(EFBIG, "%s: larger than %zu bytes", path, max);
		if (!n)
			return 0;
	}
}

int hostfile_read(const char *root, const char *path, size_t max, struct buf *to)
{
	int fd = hostfile_open(root, path);

	if (fd < 0)
		return fd;
	int err = read_all(fd, path, max, to);

	close(fd);
	return err;
}
