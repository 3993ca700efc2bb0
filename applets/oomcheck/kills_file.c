/* A log that somebody named: read in pieces, so that its size does not matter. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "applets/oomcheck/kills.h"
#include "common/base/fail.h"

#define PIECE_BYTES (256u << 10)       /* the longest line, too: what is longer is cut */

struct piece {
	char *data;
	size_t len;
	bool is_cut;                   /* the rest of a line that was too long is to come */
};

/* Takes the whole lines at the front; what is left moves there. */
static void take_lines(struct oomlog *log, struct piece *p, bool is_end)
{
	size_t at = 0;

	while (at < p->len) {
		const char *stop = memchr(p->data + at, '\n', p->len - at);
		const size_t n = (stop ? (size_t)(stop - p->data) : p->len) - at;

		if (!stop && !is_end && (at > 0 || p->len < PIECE_BYTES))
			break;
		if (!p->is_cut)
			oomlog_line(log, (struct text){ p->data + at, n });
		p->is_cut = !stop;
		at += n + (stop ? 1 : 0);
	}
	memmove(p->data, p->data + at, p->len - at);
	p->len -= at;
}

static int read_all(struct oomlog *log, int fd, const char *name)
{
	struct piece p = { .data = mem_alloc(PIECE_BYTES) };
	int err = 0;

	for (;;) {
		ssize_t n = read(fd, p.data + p.len, PIECE_BYTES - p.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = fail_errno(errno, "%s line %llu", name,
					 (unsigned long long)log->lines + 1);
		if (n <= 0)
			break;
		p.len += (size_t)n;
		take_lines(log, &p, false);
	}
	if (!err)
		take_lines(log, &p, true);
	free(p.data);
	return err;
}

int kills_read_file(struct oomlog *log, const char *name)
{
	if (!strcmp(name, "-"))
		return read_all(log, STDIN_FILENO, "standard input");
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return fail_errno(errno, "%s", name);
	int err = read_all(log, fd, name);

	close(fd);
	return err;
}
