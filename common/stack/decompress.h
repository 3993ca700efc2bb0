/* A compressed stream (gzip, zstd, xz; also several behind each other), piece by piece. */
#ifndef STACK_DECOMPRESS_H
#define STACK_DECOMPRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/text.h"

/* What a stream may ask of us: windows and dictionaries of more are refused. */
#define DECOMPRESS_MEMORY_MAX (256u << 20)

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD, COMPRESSION_XZ };

enum compression compression_of(struct text start);    /* 6 bytes are enough */

struct decompress;
int decompress_new(enum compression c, struct decompress **made);      /* 0 or -errno */
void decompress_free(struct decompress *d);

/*
 * Takes from *in and writes at most `size` bytes: how many, into *made. Call again while it made
 * `size` of them or *in is not empty. is_last: nothing comes behind *in. 0, or -EINVAL with fail
 * text: broken, or cut (is_last, and the stream goes on); what was made before is good.
 */
int decompress_step(struct decompress *d, struct text *in, bool is_last, char *to, size_t size,
		    size_t *made);

#endif
