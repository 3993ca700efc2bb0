/* A folder for a test's files, and the few questions the source's tests ask of them. */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/kernel/source.h"
#include "tests/unit/check.h"

static char top[64];                   /* of everything the test writes; absolute */

static inline bool scratch_begin(const char *name)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(top, sizeof(top), "%s/%s-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp", name);
	if (mkdtemp(top))
		return true;
	perror(top);
	return false;
}

static inline void scratch_end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	CHECK(system(command) == 0);
}

/* A path below top, in one of a few buffers that are used in turn. */
static inline const char *at(const char *below)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", top, below);
	return path;
}

static inline void put(const char *below, const char *data, size_t len)
{
	int fd = open(at(below), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
}

static inline void put_text(const char *below, const char *text)
{
	put(below, text, strlen(text));
}

static inline void make(const char *below)
{
	CHECK(!mkdir(at(below), 0755));
}

static inline bool is_there(const char *below)
{
	struct stat st;

	return !lstat(at(below), &st);
}

static inline bool is_mode(const char *below, unsigned mode)
{
	struct stat st;

	return !lstat(at(below), &st) && (st.st_mode & 07777) == mode;
}

static inline bool reads(const char *path, const char *text)
{
	struct text t;

	return !src_read(path, &t) && text_is(t, text) && t.data[t.len] == '\0';
}

static inline bool fails(int err, const char *path)
{
	struct text t = TEXT("untouched");

	return src_read(path, &t) == -err && text_is(t, "untouched");
}

static inline void open_live(void)
{
	CHECK(!src_open_live());
	CHECK(src_frame_begin() == 1);
}

static inline void open_root(const char *below)
{
	if (!CHECK(!src_open_root(at(below))) || !CHECK(src_frame_begin() == 1))
		printf("%s\n", fail_text());
}

static inline void close_all(void)
{
	if (!CHECK(!src_frame_end()))
		printf("%s\n", fail_text());
	src_close();
}

#endif
