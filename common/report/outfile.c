#include "common/report/outfile.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"

struct outfile {
	FILE *stream;
	char *path;                    /* that it gets */
	char *temporary;               /* NULL: written where it stands */
	struct arena arena;
};

static mode_t mask_of_process(void)
{
	const mode_t mask = umask(0);

	umask(mask);
	return mask;
}

/* "dir/name" -> "dir/.name.XXXXXX" */
static char *beside(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return arena_printf(a, "%.*s.%.200s.XXXXXX", (int)(name - path), path, name);
}

static int open_beside(struct outfile *f, const struct stat *there)
{
	f->temporary = beside(&f->arena, f->path);
	const int fd = mkstemp(f->temporary);

	if (fd < 0) {
		f->temporary = NULL;
		return fail_errno(errno, "-o %s: a file beside it", f->path);
	}
	/* a file that was there keeps its permissions */
	if (fchmod(fd, there ? there->st_mode & 0777 : 0666 & ~mask_of_process()) < 0)
		return close(fd), fail_errno(errno, "-o %s", f->path);
	f->stream = fdopen(fd, "w");
	return f->stream ? 0 : (close(fd), fail_errno(errno, "-o %s", f->path));
}

int outfile_open(const char *path, struct outfile **opened)
{
	struct outfile *f = mem_alloc(sizeof(*f));
	char real[PATH_MAX];
	struct stat s;
	const bool exists = !stat(path, &s);
	int err = 0;

	f->path = arena_strdup(&f->arena, exists && realpath(path, real) ? real : path);
	if (!*path) {
		err = fail(EINVAL, "-o: no file is named");
	} else if (exists && S_ISDIR(s.st_mode)) {
		err = fail_errno(EISDIR, "-o %s", path);
	} else if (exists && !S_ISREG(s.st_mode)) {
		f->stream = fopen(path, "we");
		err = f->stream ? 0 : fail_errno(errno, "-o %s", path);
	} else {
		err = open_beside(f, exists ? &s : NULL);
	}
	if (err < 0) {
		outfile_close(f, false);
		return err;
	}
	*opened = f;
	return 0;
}

FILE *outfile_stream(struct outfile *f)
{
	return f->stream;
}

int outfile_close(struct outfile *f, bool keep)
{
	int err = 0;

	if (!f)
		return 0;
	if (f->stream && fclose(f->stream) && keep)
		err = fail_errno(errno, "-o %s", f->path);
	if (f->temporary && keep && !err && rename(f->temporary, f->path) < 0)
		err = fail_errno(errno, "-o %s", f->path);
	if (f->temporary && (!keep || err))
		unlink(f->temporary);
	arena_free(&f->arena);
	free(f);
	return err;
}
