/* perf record -z: one zstd stream, cut into records anywhere. */
#include <stdlib.h>
#include <zstd.h>

#include "common/stack/perfdata_impl.h"

struct perf_zstd {
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;
	const char *error;
};

struct perf_zstd *perf_zstd_new(void)
{
	struct perf_zstd *z = mem_alloc(sizeof(*z));

	z->stream = ZSTD_createDStream();
	if (!z->stream)
		z->error = "no memory";
	return z;
}

void perf_zstd_feed(struct perf_zstd *z, struct text packed)
{
	z->in = (ZSTD_inBuffer){ packed.data, packed.len, 0 };
}

size_t perf_zstd_fill(void *arg, void *to, size_t n)
{
	struct perf_zstd *z = arg;
	ZSTD_outBuffer out = { to, n, 0 };

	while (!z->error && !out.pos) {
		const size_t before = z->in.pos;
		const size_t left = ZSTD_decompressStream(z->stream, &out, &z->in);

		if (ZSTD_isError(left))
			z->error = ZSTD_getErrorName(left);
		else if (z->in.pos == before && !out.pos)
			break;
	}
	return out.pos;
}

const char *perf_zstd_error(const struct perf_zstd *z)
{
	return z->error;
}

void perf_zstd_free(struct perf_zstd *z)
{
	if (z)
		ZSTD_freeDStream(z->stream);
	free(z);
}
