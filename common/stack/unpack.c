#include "common/stack/unpack.h"

#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdint.h>
#include <zlib.h>
#include <zstd.h>

#include "common/base/buf.h"
#include "common/base/fail.h"

#define STEP 262144
#define XZ_MEMORY_MAX (128u << 20)     /* a dictionary beyond that is not of a kernel module */

static int too_large(size_t max)
{
	return fail(EFBIG, "unpacks to more than %zu bytes", max);
}

static int run_xz(lzma_stream *x, size_t max, struct buf *to)
{
	const size_t before = to->len;

	for (;;) {
		buf_reserve(to, STEP);
		x->next_out = (unsigned char *)to->data + to->len;
		x->avail_out = STEP;
		const lzma_ret result = lzma_code(x, LZMA_FINISH);

		to->len += STEP - x->avail_out;
		to->data[to->len] = '\0';
		if (to->len - before > max)
			return too_large(max);
		if (result == LZMA_STREAM_END)
			return 0;
		if (result != LZMA_OK || x->avail_out == STEP)
			return fail(EBADMSG, "damaged xz data");
	}
}

static int unpack_xz(struct text packed, size_t max, struct buf *to)
{
	lzma_stream x = LZMA_STREAM_INIT;

	if (lzma_stream_decoder(&x, XZ_MEMORY_MAX, 0) != LZMA_OK)
		return fail(ENOMEM, "xz: no memory");
	x.next_in = (const unsigned char *)packed.data;
	x.avail_in = packed.len;
	int err = run_xz(&x, max, to);

	lzma_end(&x);
	return err;
}

static int run_zstd(ZSTD_DStream *z, struct text packed, size_t max, struct buf *to)
{
	ZSTD_inBuffer in = { packed.data, packed.len, 0 };
	const size_t before = to->len;

	for (;;) {
		buf_reserve(to, STEP);
		ZSTD_outBuffer out = { to->data + to->len, STEP, 0 };
		const size_t left = ZSTD_decompressStream(z, &out, &in);

		if (ZSTD_isError(left))
			return fail(EBADMSG, "damaged zstd data: %s", ZSTD_getErrorName(left));
		to->len += out.pos;
		to->data[to->len] = '\0';
		if (to->len - before > max)
			return too_large(max);
		if (!left && in.pos == in.size)
			return 0;
		if (!out.pos && in.pos == in.size)
			return fail(EBADMSG, "zstd data cut short");
	}
}

static int unpack_zstd(struct text packed, size_t max, struct buf *to)
{
	ZSTD_DStream *z = ZSTD_createDStream();

	if (!z)
		return fail(ENOMEM, "zstd: no memory");
	int err = run_zstd(z, packed, max, to);

	ZSTD_freeDStream(z);
	return err;
}

static int run_gzip(z_stream *z, size_t max, struct buf *to)
{
	const size_t before = to->len;

	for (;;) {
		buf_reserve(to, STEP);
		z->next_out = (unsigned char *)to->data + to->len;
		z->avail_out = STEP;
		const int result = inflate(z, Z_NO_FLUSH);

		to->len += STEP - z->avail_out;
		to->data[to->len] = '\0';
		if (to->len - before > max)
			return too_large(max);
		if (result == Z_STREAM_END)
			return 0;
		if (result != Z_OK || z->avail_out == STEP)
			return fail(EBADMSG, "damaged gzip data");
	}
}

static int unpack_gzip(struct text packed, size_t max, struct buf *to)
{
	z_stream z = { 0 };

	if (packed.len > UINT_MAX)
		return fail(EFBIG, "gzip data of more than 4 GB");
	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return fail(ENOMEM, "gzip: no memory");
	z.next_in = (unsigned char *)packed.data;
	z.avail_in = (unsigned)packed.len;
	int err = run_gzip(&z, max, to);

	inflateEnd(&z);
	return err;
}

int unpack(struct text packed, size_t max, struct buf *to)
{
	if (text_starts(packed, "\xfd" "7zXZ"))
		return unpack_xz(packed, max, to);
	if (text_starts(packed, "\x28\xb5\x2f\xfd"))
		return unpack_zstd(packed, max, to);
	if (text_starts(packed, "\x1f\x8b"))
		return unpack_gzip(packed, max, to);
	return fail(ENOTSUP, "neither xz, zstd nor gzip");
}
