#include "common/stack/pprof_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/utf8.h"

#define WRITE_BYTES (64u << 10)        /* compressed at a time */
#define GZIP (15 + 16)                 /* zlib's window bits: a gzip header */

/* profile.proto's numbers of fields */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12, PROFILE_COMMENT = 13 };
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2 };
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* Strings that stand in front of the names: a name's string is its number plus these. */
enum { STRING_EMPTY, STRING_TYPE, STRING_UNIT, STRING_PROGRAM, STRINGS };

struct writer {
	FILE *to;
	z_stream z;
	struct buf out, message, part;
	int err;
};

static void compress_out(struct writer *w, int flush)
{
	unsigned char made[WRITE_BYTES];

	w->z.next_in = (unsigned char *)(w->out.data ? w->out.data : "");
	w->z.avail_in = (unsigned)w->out.len;
	do {
		w->z.next_out = made;
		w->z.avail_out = sizeof(made);
		deflate(&w->z, flush);
		const size_t n = sizeof(made) - w->z.avail_out;

		errno = 0;
		if (!w->err && n && fwrite(made, 1, n, w->to) != n)
			w->err = fail_errno(errno ? errno : EIO, "writing the profile");
	} while (!w->z.avail_out && !w->err);
	buf_reset(&w->out);
}

static void add_varint(struct buf *to, uint64_t value)
{
	for (; value > 127; value >>= 7)
		buf_add_char(to, (char)(value | 128));
	buf_add_char(to, (char)value);
}

static void add_number(struct buf *to, unsigned field, uint64_t value)
{
	add_varint(to, field << 3 | WIRE_VARINT);
	add_varint(to, value);
}

static void add_bytes(struct buf *to, unsigned field, const char *data, size_t len)
{
	add_varint(to, field << 3 | WIRE_BYTES);
	add_varint(to, len);
	buf_add(to, data, len);
}

/* The message that was made, as a field of the profile. */
static void end_message(struct writer *w, unsigned field)
{
	add_bytes(&w->out, field, w->message.data ? w->message.data : "", w->message.len);
	buf_reset(&w->message);
	if (w->out.len >= WRITE_BYTES)
		compress_out(w, Z_NO_FLUSH);
}

/* A string has to be UTF-8. */
static void add_string(struct writer *w, struct text t)
{
	uint32_t code;

	buf_reset(&w->message);
	while (t.len) {
		const size_t n = utf8_decode(t.data, t.len, &code);

		if (n)
			buf_add(&w->message, t.data, n);
		else
			buf_add_text(&w->message, "\xef\xbf\xbd");
		t.data += n ? n : 1;
		t.len -= n ? n : 1;
	}
	end_message(w, PROFILE_STRING);
}

static void add_type(struct writer *w, unsigned field)
{
	add_number(&w->message, VALUE_TYPE, STRING_TYPE);
	add_number(&w->message, VALUE_UNIT, STRING_UNIT);
	end_message(w, field);
}

/* Locations leaf first, packed; a location has the number of its name. */
static void add_sample(struct writer *w, const struct fold *f, uint32_t node)
{
	buf_reset(&w->part);
	for (uint32_t i = node; i != FOLD_ROOT; i = fold_parent(f, i))
		add_varint(&w->part, fold_name_of(f, i));
	add_bytes(&w->message, SAMPLE_LOCATION, w->part.data, w->part.len);
	buf_reset(&w->part);
	const uint64_t weight = fold_weight(f, node, 0);

	/* an int64 */
	add_varint(&w->part, weight > INT64_MAX ? INT64_MAX : weight);
	add_bytes(&w->message, SAMPLE_VALUE, w->part.data, w->part.len);
	end_message(w, PROFILE_SAMPLE);
}

static void add_name(struct writer *w, uint32_t name)
{
	buf_reset(&w->part);
	add_number(&w->part, LINE_FUNCTION, name);
	add_number(&w->message, LOCATION_ID, name);
	add_bytes(&w->message, LOCATION_LINE, w->part.data, w->part.len);
	end_message(w, PROFILE_LOCATION);
	add_number(&w->message, FUNCTION_ID, name);
	add_number(&w->message, FUNCTION_NAME, STRINGS - 1 + name);
	end_message(w, PROFILE_FUNCTION);
}

static const char *long_unit(const char *unit)
{
	return !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "samples") ? "count" : unit;
}

static void add_all(struct writer *w, const struct fold *f, const struct profile_name *what)
{
	const char *type = what->name ? what->name : "samples";
	uint32_t names = 1;

	add_type(w, PROFILE_SAMPLE_TYPE);
	for (uint32_t i = 1; i < fold_count(f); i++) {
		if (fold_name_of(f, i) >= names)
			names = fold_name_of(f, i) + 1;
		if (fold_weight(f, i, 0))
			add_sample(w, f, i);
	}
	for (uint32_t i = 1; i < names; i++)
		add_name(w, i);
	add_string(w, TEXT(""));
	add_string(w, text_of(type));
	add_string(w, text_of(long_unit(what->unit)));
	add_string(w, text_of(what->program));
	for (uint32_t i = 1; i < names; i++)
		add_string(w, fold_name_text(f, i));
	add_type(w, PROFILE_PERIOD_TYPE);
	add_number(&w->out, PROFILE_PERIOD, 1);
	add_number(&w->out, PROFILE_COMMENT, STRING_PROGRAM);
}

int pprof_write(const struct fold *f, const struct profile_name *what, FILE *to)
{
	struct writer w = { .to = to };

	if (deflateInit2(&w.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return fail(ENOMEM, "zlib does not start");
	add_all(&w, f, what);
	compress_out(&w, Z_FINISH);
	deflateEnd(&w.z);
	buf_free(&w.out);
	buf_free(&w.message);
	buf_free(&w.part);
	return w.err;
}
