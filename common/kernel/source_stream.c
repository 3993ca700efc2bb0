/* Replies in pieces: nothing is held in memory, whether live, saving or replaying. */
#include "common/kernel/source_impl.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLS "calls"

/* A stream of this frame that is in the run being saved. Lives in the frame's arena. */
struct stream {
	unsigned number;               /* its bytes, if there are any, are calls/NUMBER */
	int err;
	const char *why;
};

static struct hash saved;              /* place -> struct stream * */

void src_stream_forget(void)
{
	hash_free(&saved);
}

int src_call_failed(const char *key, int err, const char *why)
{
	if (why)
		return fail(-err, "%s", why);
	if (err == -ENOENT)
		return fail(ENOENT, "%s: not in the saved run", key);
	return fail_errno(-err, "%s", key);
}

/* ---- reading pieces back ---- */

/* 1; 0: the end; -EINVAL: cut. */
static int read_exactly(int fd, void *to, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (char *)to + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return got ? -EINVAL : 0;
		got += (size_t)n;
	}
	return 1;
}

static int read_piece(int fd, struct buf *b)
{
	uint32_t len;
	int got = read_exactly(fd, &len, sizeof(len));

	if (got <= 0)
		return got;
	len = le32toh(len);
	if (len > SRC_PIECE_MAX)
		return -EINVAL;
	buf_reset(b);
	buf_reserve(b, len);
	got = len ? read_exactly(fd, b->data, len) : 1;
	b->len = len;
	return got ? got : -EINVAL;
}

static int read_pieces(const char *key, int fd, src_piece give, void *to)
{
	struct buf b = { 0 };
	int err = 0, got = 1;

	while (!err && (got = read_piece(fd, &b)) > 0)
		err = give(buf_text(&b), to);
	buf_free(&b);
	if (!err && got < 0)
		return got == -EINVAL ? fail(EINVAL, "%s: its saved reply is cut or garbled", key) :
			fail_errno(-got, "%s", key);
	return err;
}

static int replay(const char *key, const char *place, src_piece give, void *to)
{
	int fd, err = src_replay_stream(place, &fd), cut = 0;

	if (fd >= 0) {
		cut = read_pieces(key, fd, give, to);
		close(fd);
	}
	return cut ? cut : err ? src_call_failed(key, err, NULL) : 0;
}

static int read_again(const char *key, const struct stream *s, src_piece give, void *to)
{
	char name[16];
	int at = src_save_open_folder(CALLS), cut = 0;

	snprintf(name, sizeof(name), "%u", s->number);
	int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0) {
		cut = read_pieces(key, fd, give, to);
		close(fd);
	}
	return cut ? cut : s->err ? src_call_failed(key, s->err, s->why) : 0;
}

/* ---- writing them while they come ---- */

struct keeper {
	int fd;                        /* -1: nothing to write, or no more */
	int refused;                   /* what `each` said: the reply itself was all right */
	src_piece each;
	void *arg;
};

static int write_all(int fd, const void *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, (const char *)data + at, len - at);

		if (n < 0 && errno != EINTR)
			return errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void close_keeper(struct keeper *k, int err)
{
	if (k->fd >= 0 && close(k->fd) && !err)
		err = errno;
	k->fd = -1;
	if (err)
		src_save_trouble(err, CALLS);
}

static int keep_piece(struct text piece, void *arg)
{
	struct keeper *k = arg;
	const uint32_t len = htole32((uint32_t)piece.len);

	if (k->fd >= 0) {
		int err = piece.len > SRC_PIECE_MAX ? EFBIG : write_all(k->fd, &len, sizeof(len));

		if (!err)
			err = write_all(k->fd, piece.data, piece.len);
		if (err)
			close_keeper(k, err);
	}
	return k->refused = k->each(piece, k->arg);
}

/* Its number is known at the end: `each` may make calls of its own. */
static void name_stream(const char *from, unsigned number)
{
	char to[16];
	int at = src_save_open_folder(CALLS);

	snprintf(to, sizeof(to), "%u", number);
	if (at >= 0 && renameat(at, from, at, to))
		src_save_trouble(errno, CALLS);
}

static int get_pieces(const char *key, const char *place,
		      int (*fetch)(void *arg, src_piece give, void *to), void *arg, src_piece give,
		      void *to)
{
	if (!src_is_live())
		return replay(key, place, give, to);
	int err = fetch(arg, give, to);

	return err > 0 ? 0 : err;
}

static int save_pieces(const char *key, const char *place,
		       int (*fetch)(void *arg, src_piece give, void *to), void *arg, src_piece each,
		       void *each_arg)
{
	static unsigned ticket;
	char name[32];
	struct keeper k = { -1, 0, each, each_arg };
	int at = src_save_open_folder(CALLS);

	snprintf(name, sizeof(name), "stream-%u", ticket++);
	if (at >= 0) {
		k.fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (k.fd < 0)
			src_save_trouble(errno, CALLS);
	}
	int err = get_pieces(key, place, fetch, arg, keep_piece, &k);
	const bool is_whole = k.fd >= 0;

	close_keeper(&k, 0);
	struct stream *s = arena_alloc(src_arena(), sizeof(*s));

	s->err = k.refused ? 0 : err;
	s->why = s->err ? arena_strdup(src_arena(), fail_text()) : NULL;
	s->number = src_save_call_line(place, -s->err);
	if (is_whole) {
		name_stream(name, s->number);
		*hash_name(&saved, place) = s;
	}
	return err;
}

int src_stream(const char *key, int (*fetch)(void *arg, src_piece give, void *to), void *arg,
	       src_piece each, void *each_arg)
{
	if (!src_is_open())
		return fail(EINVAL, "no system and no saved run is open");
	const char *place = src_call_place(key);

	if (!src_is_saving())
		return get_pieces(key, place, fetch, arg, each, each_arg);
	const struct stream *s = hash_find_name(&saved, place);

	return s ? read_again(key, s, each, each_arg) :
		save_pieces(key, place, fetch, arg, each, each_arg);
}
