#include "common/stack/stackinput.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/stack/decompress.h"

#define PIECE_BYTES (256u << 10)       /* read and fed at a time: stays in the CPU's cache */

enum encoding { ENCODING_BYTES, ENCODING_UTF16_LE, ENCODING_UTF16_BE };

struct stack_input {
	int fd;
	bool is_known;                 /* compression and encoding are */
	bool is_at_end;
	int trouble;                   /* -errno that ended it, and the words for it */
	char *why;
	enum compression compression;
	enum encoding encoding;
	struct decompress *decompress;
	char *raw;                     /* compressed bytes: PIECE_BYTES */
	struct text raw_left;
	bool raw_ended;

	char *bytes;                   /* what waits: from `from` to `len` */
	size_t from, len, cap;

	uint16_t high;                 /* the first half of a pair, waits for its second */
	char *utf16;                   /* PIECE_BYTES */
	unsigned char odd;             /* half a code unit, waits */
	bool has_odd;
};

struct stack_input *stack_input_new(int fd)
{
	struct stack_input *in = mem_alloc(sizeof(*in));

	in->fd = fd;
	return in;
}

void stack_input_free(struct stack_input *in)
{
	if (!in)
		return;
	decompress_free(in->decompress);
	free(in->why);
	free(in->raw);
	free(in->bytes);
	free(in->utf16);
	free(in);
}

static long read_fd(const struct stack_input *in, char *to, size_t size)
{
	ssize_t n;

	do
		n = read(in->fd, to, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? fail_errno(errno, "cannot be read") : n;
}

/* Decompressed bytes, before any change of encoding. 0: the end. */
static long read_plain(struct stack_input *in, char *to, size_t size)
{
	if (in->compression == COMPRESSION_NONE) {
		if (!in->raw_left.len)
			return read_fd(in, to, size);
		const size_t n = in->raw_left.len < size ? in->raw_left.len : size;

		memcpy(to, in->raw_left.data, n);
		in->raw_left = (struct text){ in->raw_left.data + n, in->raw_left.len - n };
		return (long)n;
	}
	for (;;) {
		size_t made;

		if (!in->raw_left.len && !in->raw_ended) {
			const long n = read_fd(in, in->raw, PIECE_BYTES);

			if (n < 0)
				return n;
			in->raw_ended = n == 0;
			in->raw_left = (struct text){ in->raw, (size_t)n };
		}
		const int err = decompress_step(in->decompress, &in->raw_left, in->raw_ended, to,
						size, &made);

		if (made)
			return (long)made;
		if (err < 0)
			return err;
		if (in->raw_ended && !in->raw_left.len)
			return 0;
	}
}

static size_t add_utf8(char *to, uint32_t c)
{
	size_t n = 0;

	if (c < 0x80) {
		to[n++] = (char)c;
	} else if (c < 0x800) {
		to[n++] = (char)(0xc0 | c >> 6);
		to[n++] = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		to[n++] = (char)(0xe0 | c >> 12);
		to[n++] = (char)(0x80 | (c >> 6 & 63));
		to[n++] = (char)(0x80 | (c & 63));
	} else {
		to[n++] = (char)(0xf0 | c >> 18);
		to[n++] = (char)(0x80 | (c >> 12 & 63));
		to[n++] = (char)(0x80 | (c >> 6 & 63));
		to[n++] = (char)(0x80 | (c & 63));
	}
	return n;
}

/* One code unit; what becomes of it, at most six bytes. A half without its other is U+FFFD. */
static size_t take_unit(struct stack_input *in, uint16_t unit, char *to)
{
	size_t n = 0;

	if (in->high && unit >= 0xdc00 && unit < 0xe000) {
		n = add_utf8(to, 0x10000 + ((in->high - 0xd800u) << 10) + (unit - 0xdc00u));
		in->high = 0;
		return n;
	}
	if (in->high)
		n = add_utf8(to, 0xfffd);
	in->high = 0;
	if (unit >= 0xd800 && unit < 0xdc00)
		in->high = unit;
	else
		n += add_utf8(to + n, unit >= 0xdc00 && unit < 0xe000 ? 0xfffd : unit);
	return n;
}

static size_t recode(struct stack_input *in, const char *from, size_t n, char *to)
{
	size_t made = 0;

	for (size_t i = 0; i < n; i++) {
		const unsigned char byte = (unsigned char)from[i];

		in->has_odd = !in->has_odd;
		if (in->has_odd)
			in->odd = byte;
		else
			made += take_unit(in, in->encoding == ENCODING_UTF16_LE ?
					  (uint16_t)(byte << 8 | in->odd) :
					  (uint16_t)(in->odd << 8 | byte), to + made);
	}
	return made;
}

static long read_utf16(struct stack_input *in, char *to, size_t size)
{
	size_t most = size / 6 * 2, made = 0;

	if (most > PIECE_BYTES)
		most = PIECE_BYTES;
	while (!made) {
		const long n = read_plain(in, in->utf16, most);

		if (n < 0)
			return n;
		if (!n) {
			made = in->high ? add_utf8(to, 0xfffd) : 0;
			in->high = 0;
			break;
		}
		made = recode(in, in->utf16, (size_t)n, to);
	}
	return (long)made;
}

/* More of the input behind what waits; 0: the end. */
static long fill(struct stack_input *in, size_t most)
{
	if (in->is_at_end)
		return 0;
	if (in->from > in->len - in->from) {
		memmove(in->bytes, in->bytes + in->from, in->len - in->from);
		in->len -= in->from;
		in->from = 0;
	}
	in->bytes = mem_grow(in->bytes, &in->cap, in->len + most, 1);
	const long n = in->encoding == ENCODING_BYTES ?
		read_plain(in, in->bytes + in->len, most) :
		read_utf16(in, in->bytes + in->len, most);

	in->is_at_end = n <= 0;
	if (n > 0)
		in->len += (size_t)n;
	if (n < 0) {
		in->trouble = (int)n;
		in->why = mem_strdup(fail_text());
	}
	return n;
}

int stack_input_error(const struct stack_input *in)
{
	return in->trouble ? fail(-in->trouble, "%s", in->why) : 0;
}

/* The first `need` bytes of the file, or all it has. */
static int read_raw_start(struct stack_input *in, size_t need)
{
	size_t have = 0;
	long n;

	in->raw = mem_alloc(PIECE_BYTES);
	while (have < need && (n = read_fd(in, in->raw + have, PIECE_BYTES - have)) != 0) {
		if (n < 0)
			return (int)n;
		have += (size_t)n;
	}
	in->raw_left = (struct text){ in->raw, have };
	in->raw_ended = have < need;
	return 0;
}

static void find_encoding(struct stack_input *in)
{
	const char *p = in->bytes + in->from;
	const size_t n = in->len - in->from;

	if (n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		in->from += 3;
	else if (n >= 2 && !memcmp(p, "\xff\xfe", 2))
		in->encoding = ENCODING_UTF16_LE;
	else if (n >= 2 && !memcmp(p, "\xfe\xff", 2))
		in->encoding = ENCODING_UTF16_BE;
}

/* What was read before the encoding was known. */
static void recode_start(struct stack_input *in)
{
	const size_t n = in->len - in->from, cap = n * 3 + 8;
	char *to = mem_alloc(cap);

	in->len = recode(in, in->bytes + in->from + 2, n - 2, to);
	in->from = 0;
	in->cap = cap;
	free(in->bytes);
	in->bytes = to;
	in->utf16 = mem_alloc(PIECE_BYTES);
}

static int find_out(struct stack_input *in)
{
	long n = read_raw_start(in, 6);

	if (n < 0)
		return (int)n;
	in->is_known = true;
	in->compression = compression_of(in->raw_left);
	if (in->compression != COMPRESSION_NONE) {
		n = decompress_new(in->compression, &in->decompress);
		if (n < 0)
			return (int)n;
	}
	/* what is broken after a byte or two has these all the same */
	while (in->len - in->from < 4 && fill(in, PIECE_BYTES) > 0)
		;
	find_encoding(in);
	if (in->encoding != ENCODING_BYTES)
		recode_start(in);
	return 0;
}

/* How long the first of the bytes that wait is as a line, with its newline; 0: it goes on. */
static size_t line_end(const struct stack_input *in)
{
	const char *from = in->bytes + in->from, *newline;
	const size_t n = in->len - in->from;

	newline = n ? memchr(from, '\n', n) : NULL;
	return newline ? (size_t)(newline - from) + 1 : 0;
}

int stack_input_start(struct stack_input *in, struct text *start)
{
	const int err = in->is_known ? 0 : find_out(in);

	if (err < 0)
		return err;
	while (in->len - in->from < STACK_LOOK_BYTES && fill(in, PIECE_BYTES) > 0)
		;
	/* a first line that is longer is looked at whole */
	while (!line_end(in) && in->len - in->from <= STACK_LINE_MAX && fill(in, PIECE_BYTES) > 0)
		;
	if (in->trouble && in->len == in->from)
		return stack_input_error(in);
	const size_t line = line_end(in);

	*start = stack_input_waiting(in);
	if (line > STACK_LOOK_BYTES)
		start->len = line;
	else if (line && start->len > STACK_LOOK_BYTES)
		start->len = STACK_LOOK_BYTES;
	return 0;
}

bool stack_input_is_plain(const struct stack_input *in)
{
	return in->compression == COMPRESSION_NONE && in->encoding == ENCODING_BYTES;
}

struct text stack_input_waiting(const struct stack_input *in)
{
	return (struct text){ in->bytes ? in->bytes + in->from : "", in->len - in->from };
}

long stack_input_read(struct stack_input *in, void *to, size_t size)
{
	struct text start;
	int err = in->is_known ? 0 : stack_input_start(in, &start);

	if (err < 0)
		return err;
	if (in->from == in->len && fill(in, PIECE_BYTES) <= 0)
		return stack_input_error(in);
	const size_t n = in->len - in->from < size ? in->len - in->from : size;

	memcpy(to, in->bytes + in->from, n);
	in->from += n;
	return (long)n;
}

/* Passes over the rest of a line that is too long. False: the input ends in it. */
static bool skip_line(struct stack_input *in)
{
	const char *newline;

	do {
		newline = memchr(in->bytes + in->from, '\n', in->len - in->from);
		in->from = newline ? (size_t)(newline - in->bytes) + 1 : in->len;
	} while (!newline && fill(in, PIECE_BYTES) > 0);
	return newline != NULL;
}

/* How many of the bytes that wait can be fed: whole lines, or all at the end. */
static size_t ready(const struct stack_input *in, const struct stack_reader *r)
{
	const char *from = in->bytes + in->from;
	const size_t n = in->len - in->from;

	if (in->is_at_end || stack_reader_takes_bytes(r))
		return n;
	const char *newline = n ? memrchr(from, '\n', n) : NULL;

	return newline ? (size_t)(newline - from) + 1 : 0;
}

int stack_input_feed(struct stack_input *in, struct stack_reader *r)
{
	struct text start;
	int err = in->is_known ? 0 : stack_input_start(in, &start);

	if (err < 0)
		return err;
	for (;;) {
		const size_t n = ready(in, r);

		stack_reader_feed(r, (struct text){ in->bytes + in->from, n });
		in->from += n;
		if (in->is_at_end)
			return stack_input_error(in);
		if (in->len - in->from > STACK_LINE_MAX) {
			stack_reader_skip_line(r);
			skip_line(in);
		}
		fill(in, PIECE_BYTES);
	}
}
