/* Reading files, directories and links by file descriptor: whole, once, without stdio. */
#include "common/kernel/source_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_FIRST 4000                /* most files of a process fit; the buffer becomes a page */
#define ROOM_LEAST 256                 /* bytes: no read for less */
#define RECORD_MAX 16384               /* longer than any record of /dev/kmsg */
#define DENTS_BYTES 32768
#define OPENAT2_TRIES 16

/* A pipe that somebody in a container put where a file belongs must not hold us up. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

bool src_without_openat2;

/*
 * Until read says 0: a short read is not the end. seq_file hands out what fits its own page,
 * however large our buffer is (fs/seq_file.c, seq_read_iter), and one record that does not fit
 * ends a read after any number of bytes. Only of a file known to be one record (single_open) is a
 * short read all of it: the record is made in a buffer that grows until it fits, and copied out as
 * far as there is room.
 */
static int read_whole(int fd, bool has_one_record, struct buf *to)
{
	const size_t start = to->len;

	for (;;) {
		if (to->cap < to->len + ROOM_LEAST)
			buf_reserve(to, to->len > READ_FIRST ? to->len : READ_FIRST);
		const size_t room = to->cap - to->len - 1;
		ssize_t n = read(fd, to->data + to->len, room);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		to->len += (size_t)n;
		if (to->len - start > SRC_FILE_MAX)
			return -EFBIG;
		if (n == 0 || (has_one_record && (size_t)n < room))
			break;
	}
	to->data[to->len] = '\0';
	return 0;
}

int src_read_fd(int fd, struct buf *to)
{
	return read_whole(fd, false, to);
}

/*
 * /dev/kmsg gives one record per read and would wait for the next. EPIPE says that records were
 * overwritten before we came to them; the next read goes on with the oldest there is.
 */
static int read_records(int fd, struct buf *to)
{
	const size_t start = to->len;

	for (;;) {
		buf_reserve(to, RECORD_MAX);
		ssize_t n = read(fd, to->data + to->len, RECORD_MAX);

		if (n < 0 && (errno == EINTR || errno == EPIPE))
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n <= 0)
			break;
		to->len += (size_t)n;
		if (to->len - start > SRC_FILE_MAX)
			return -EFBIG;
	}
	to->data[to->len] = '\0';
	return 0;
}

/*
 * The files of a thread that are read by the ten thousand, where asking for the end once more is a
 * fifth of the whole cost: all are ONE() or single_open in fs/proc/base.c. Elsewhere these names (a
 * block device's stat in sysfs) are one record as well. So are a control group's memory.* but one:
 * kernel/cgroup/cgroup.c cgroup_seqfile_start, for files with a seq_show alone.
 */
static bool has_one_record(const char *name)
{
	static const struct text names[] = {
		TEXT("stat"), TEXT("schedstat"), TEXT("status"), TEXT("comm"), TEXT("wchan"),
		TEXT("io"),
	};
	const char *slash = strrchr(name, '/');
	const struct text last = text_of(slash ? slash + 1 : name);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (last.len == names[i].len && !memcmp(last.data, names[i].data, last.len))
			return true;
	return text_starts(last, "memory.") && !text_is(last, "memory.kmem.slabinfo");
}

int src_live_read_quick(int at, const char *name, struct buf *to)
{
	int fd = openat(at, name, OPEN_FLAGS);

	if (fd < 0)
		return -errno;
	int err = read_whole(fd, has_one_record(name), to);

	close(fd);
	return err;
}

int src_live_read(int at, const char *path, struct buf *to)
{
	const bool has_records = path[0] == 'd' && !strcmp(path, "dev/kmsg");
	int fd = openat(at, path, OPEN_FLAGS);

	if (fd < 0)
		return -errno;
	int err = has_records ? read_records(fd, to) : src_read_fd(fd, to);

	close(fd);
	return err;
}

/* ---- directories ---- */

/* Calls back for each name but . and .. until the callback returns an error. */
static int each_name(int fd, int (*each)(const char *name, void *arg), void *arg)
{
	static _Alignas(struct dirent64) char entries[DENTS_BYTES];

	/* the fd may have been listed before, in an earlier frame */
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	for (;;) {
		ssize_t n = getdents64(fd, entries, sizeof(entries));

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(entries + at);
			const char *name = d->d_name;

			at += d->d_reclen;
			if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
				continue;
			int err = each(name, arg);

			if (err)
				return err;
		}
	}
}

static bool is_decimal(const char *s)
{
	const char *p = s;

	while (*p >= '0' && *p <= '9')
		p++;
	return p > s && !*p;
}

bool src_name_is_number(const char *name, uint32_t *number)
{
	uint64_t n = 0;
	const char *p = name;

	for (; *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (uint64_t)(*p - '0');
		if (n > UINT32_MAX)
			return false;
	}
	if (p == name || *p || (name[0] == '0' && name[1]))
		return false;
	*number = (uint32_t)n;
	return true;
}

struct number_list {
	uint32_t *items;
	size_t count, cap;
};

static int add_number(const char *name, void *arg)
{
	struct number_list *l = arg;
	uint32_t n;

	if (name[0] < '0' || name[0] > '9' || !src_name_is_number(name, &n))
		return 0;
	if (l->count >= SRC_NAMES_MAX)
		return -EFBIG;
	l->items = mem_grow(l->items, &l->cap, l->count + 1, sizeof(*l->items));
	l->items[l->count++] = n;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* /proc ascends; /proc/PID/task is in order of creation, which is not the same once ids wrapped. */
void src_sort_numbers(uint32_t *list, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (list[i] < list[i - 1]) {
			qsort(list, count, sizeof(*list), by_number);
			return;
		}
}

int src_numbers_fd(int fd, struct arena *arena, const uint32_t **list, size_t *count)
{
	static struct number_list found;       /* kept: there is one call per process */

	found.count = 0;
	int err = each_name(fd, add_number, &found);

	if (err)
		return err;
	uint32_t *copy = arena_alloc(arena, found.count * sizeof(*copy));

	if (found.count)
		memcpy(copy, found.items, found.count * sizeof(*copy));
	src_sort_numbers(copy, found.count);
	*list = copy;
	*count = found.count;
	return 0;
}

struct name_list {
	struct arena *arena;
	const char **items;
	size_t count, cap;
};

static int add_name(const char *name, void *arg)
{
	struct name_list *l = arg;

	if (l->count >= SRC_NAMES_MAX)
		return -EFBIG;
	l->items = mem_grow(l->items, &l->cap, l->count + 1, sizeof(*l->items));
	l->items[l->count++] = arena_strdup(l->arena, name);
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_value(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	const size_t n = strlen(x), m = strlen(y);

	return n != m ? (n < m ? -1 : 1) : strcmp(x, y);
}

void src_sort_names(struct src_names *names)
{
	size_t numbers = 0;

	while (numbers < names->count && is_decimal(names->items[numbers]))
		numbers++;
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items),
		      numbers == names->count ? by_value : by_bytes);
}

int src_list_fd(int fd, struct arena *arena, struct src_names *names)
{
	struct name_list found = { .arena = arena };
	int err = each_name(fd, add_name, &found);

	if (!err) {
		const char **copy = arena_alloc(arena, found.count * sizeof(*copy));

		if (found.count)
			memcpy(copy, found.items, found.count * sizeof(*copy));
		*names = (struct src_names){ copy, found.count };
		src_sort_names(names);
	}
	free(found.items);
	return err;
}

/* ---- links ---- */

int src_link_at(int at, const char *path, struct arena *arena, const char **target)
{
	char text[SRC_PATH_MAX];
	ssize_t n = readlinkat(at, path, text, sizeof(text));

	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(text))
		return -ENAMETOOLONG;
	*target = arena_copy(arena, text, (size_t)n);
	return 0;
}

/* Component by component; a link anywhere ends it with ELOOP or ENOTDIR. */
static int walk_below(int at, const char *path, int flags)
{
	int now = at;

	for (;;) {
		const char *slash = strchrnul(path, '/');
		char name[NAME_MAX + 1];
		const size_t n = (size_t)(slash - path);

		if (n > NAME_MAX)
			break;
		memcpy(name, path, n);
		name[n] = '\0';
		int fd = openat(now, name, O_NOFOLLOW | O_CLOEXEC |
				(*slash ? O_PATH | O_DIRECTORY : flags));
		int err = errno;

		if (now != at)
			close(now);
		if (fd < 0)
			return -err;
		if (!*slash)
			return fd;
		now = fd;
		path = slash + 1;
	}
	if (now != at)
		close(now);
	return -ENAMETOOLONG;
}

int src_open_below(int at, const char *path, int flags, enum src_resolve how)
{
	const struct open_how want = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_NO_MAGICLINKS | (how == SRC_NO_LINKS ?
			RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS : RESOLVE_IN_ROOT),
	};

	/* EAGAIN: something was renamed meanwhile and the kernel can't swear to where it ended */
	for (int tries = 0; !src_without_openat2 && tries < OPENAT2_TRIES; tries++) {
		long fd = syscall(SYS_openat2, at, path, &want, sizeof(want));

		if (fd >= 0)
			return (int)fd;
		if (errno == EAGAIN || errno == EINTR)
			continue;
		if (errno == EPERM)
			break;
		if (errno != ENOSYS)
			return -errno;
		src_without_openat2 = true;
	}
	return walk_below(at, path, flags);
}
