#include "common/stack/decompress.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"

struct decompress {
	enum compression kind;
	z_stream zlib;
	ZSTD_DStream *zstd;
	lzma_stream xz;
	bool is_between;               /* a stream has ended; another may follow */
	bool has_one, is_padding;      /* gzip: a stream was read; only padding is left */
};

enum compression compression_of(struct text start)
{
	if (start.len >= 3 && !memcmp(start.data, "\x1f\x8b\x08", 3))
		return COMPRESSION_GZIP;
	if (start.len >= 4 && !memcmp(start.data, "\x28\xb5\x2f\xfd", 4))
		return COMPRESSION_ZSTD;
	if (start.len >= 6 && !memcmp(start.data, "\xfd" "7zXZ\0", 6))
		return COMPRESSION_XZ;
	return COMPRESSION_NONE;
}

static bool begin(struct decompress *d)
{
	switch (d->kind) {
	case COMPRESSION_GZIP:
		return inflateInit2(&d->zlib, 15 + 16) == Z_OK;
	case COMPRESSION_ZSTD:
		d->zstd = ZSTD_createDStream();
		return d->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd,
								       ZSTD_d_windowLogMax, 28));
	case COMPRESSION_XZ:
		return lzma_stream_decoder(&d->xz, DECOMPRESS_MEMORY_MAX, LZMA_CONCATENATED) ==
		       LZMA_OK;
	default:
		return false;
	}
}

int decompress_new(enum compression c, struct decompress **made)
{
	struct decompress *d = mem_alloc(sizeof(*d));

	d->kind = c;
	d->xz = (lzma_stream)LZMA_STREAM_INIT;
	d->is_between = true;
	if (!begin(d)) {
		decompress_free(d);
		return fail(EINVAL, "decompression cannot begin");
	}
	*made = d;
	return 0;
}

void decompress_free(struct decompress *d)
{
	if (!d)
		return;
	if (d->kind == COMPRESSION_GZIP)
		inflateEnd(&d->zlib);
	ZSTD_freeDStream(d->zstd);
	lzma_end(&d->xz);
	free(d);
}

static int step_gzip(struct decompress *d, struct text *in, char *to, size_t size, size_t *made)
{
	z_stream *z = &d->zlib;

	/* what is behind a stream is the next one, or padding wherever pieces are cut */
	d->is_padding |= d->has_one && d->is_between && in->len &&
			 (unsigned char)in->data[0] != 0x1f;
	if (d->is_padding) {
		*in = (struct text){ in->data + in->len, 0 };
		return 0;
	}
	/* zlib counts in 32 bits */
	z->next_in = (Bytef *)(uintptr_t)in->data;
	z->avail_in = in->len < 1u << 30 ? (uInt)in->len : 1u << 30;
	z->next_out = (Bytef *)to;
	z->avail_out = size < 1u << 30 ? (uInt)size : 1u << 30;
	const uInt before = z->avail_in, room = z->avail_out;
	const int status = inflate(z, Z_NO_FLUSH);
	const size_t taken = before - z->avail_in;

	*in = (struct text){ in->data + taken, in->len - taken };
	*made = room - z->avail_out;
	if (status == Z_STREAM_END) {
		d->is_between = d->has_one = true;
		return inflateReset(z) == Z_OK ? 0 : -EINVAL;
	}
	d->is_between &= !taken;
	return status == Z_OK || status == Z_BUF_ERROR ? 0 : -EINVAL;
}

static int step_zstd(struct decompress *d, struct text *in, char *to, size_t size, size_t *made)
{
	ZSTD_inBuffer from = { in->data, in->len, 0 };
	ZSTD_outBuffer into = { to, size, 0 };
	const size_t status = ZSTD_decompressStream(d->zstd, &into, &from);

	*in = (struct text){ in->data + from.pos, in->len - from.pos };
	*made = into.pos;
	if (ZSTD_isError(status))
		return -EINVAL;
	if (!status)
		d->is_between = true;
	else if (from.pos)
		d->is_between = false;
	return 0;
}

static int step_xz(struct decompress *d, struct text *in, bool is_last, char *to, size_t size,
		   size_t *made)
{
	d->xz.next_in = (const uint8_t *)in->data;
	d->xz.avail_in = in->len;
	d->xz.next_out = (uint8_t *)to;
	d->xz.avail_out = size;
	const lzma_ret status = lzma_code(&d->xz, is_last ? LZMA_FINISH : LZMA_RUN);

	*in = (struct text){ in->data + in->len - d->xz.avail_in, d->xz.avail_in };
	*made = size - d->xz.avail_out;
	d->is_between = status == LZMA_STREAM_END;
	return status == LZMA_OK || status == LZMA_STREAM_END || status == LZMA_BUF_ERROR ?
		0 : -EINVAL;
}

int decompress_step(struct decompress *d, struct text *in, bool is_last, char *to, size_t size,
		    size_t *made)
{
	static const char *const names[] = { "", "gzip", "zstd", "xz" };
	int err = 0;

	*made = 0;
	if (d->kind == COMPRESSION_GZIP)
		err = step_gzip(d, in, to, size, made);
	else if (d->kind == COMPRESSION_ZSTD)
		err = step_zstd(d, in, to, size, made);
	else
		err = step_xz(d, in, is_last, to, size, made);
	if (err)
		return fail(EINVAL, "broken %s data", names[d->kind]);
	if (is_last && !in->len && *made < size && !d->is_between)
		return fail(EINVAL, "%s data that ends early", names[d->kind]);
	return 0;
}
