/* Any bytes as a compressed stream: it ends, and gives the same in one piece as in many. */
#include "common/stack/decompress.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/stack/unpack.h"

#define MADE_MAX (1u << 20)            /* of a bomb no more is looked at */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All of `packed`, at most `take` bytes of it and `give` bytes of the result at a time. */
static int run(enum compression c, struct text packed, size_t take, size_t give, struct buf *to)
{
	struct decompress *d;
	char *room = malloc(give);
	size_t made = give;
	int err = decompress_new(c, &d);

	assert(!err && room);
	while (!err && to->len < MADE_MAX && (packed.len || made == give)) {
		const size_t n = packed.len < take ? packed.len : take;
		struct text piece = { packed.data, n };

		err = decompress_step(d, &piece, n == packed.len, room, give, &made);
		assert(made <= give && piece.len <= n);
		/* it goes on, or says why not */
		assert(err || made || piece.len < n || !n);
		const size_t taken = n - piece.len;

		packed = (struct text){ packed.data + taken, packed.len - taken };
		buf_add(to, room, made);
	}
	decompress_free(d);
	free(room);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	const struct text packed = { (const char *)data + 1, size - 1 };
	const enum compression c = compression_of(packed);
	struct buf whole = { 0 }, pieces = { 0 }, unpacked = { 0 };

	if (c == COMPRESSION_NONE)
		return 0;
	const int a = run(c, packed, packed.len, 1 << 16, &whole),
		  b = run(c, packed, 1 + data[0] % 16, 1 + data[0] / 4, &pieces);
	const size_t least = whole.len < pieces.len ? whole.len : pieces.len;

	assert(!least || !memcmp(whole.data, pieces.data, least));
	if (whole.len < MADE_MAX && pieces.len < MADE_MAX) {
		/* libzstd checks a frame's length only if it has all of it at once */
		assert(!a == !b || c == COMPRESSION_ZSTD);
		assert(a || b || whole.len == pieces.len);
	}
	if (!unpack(packed, MADE_MAX, &unpacked))
		assert(unpacked.len <= MADE_MAX);
	buf_free(&whole);
	buf_free(&pieces);
	buf_free(&unpacked);
	return 0;
}
