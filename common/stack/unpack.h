/* Compressed files in memory: xz, zstd and gzip, told apart by their first bytes. */
#ifndef STACK_UNPACK_H
#define STACK_UNPACK_H

#include <stddef.h>

#include "common/base/text.h"

struct buf;

/*
 * Appends what `packed` holds. 0, or a negative errno with fail text: ENOTSUP for anything else,
 * EFBIG beyond max bytes, EBADMSG damaged or cut (what came before is kept).
 */
int unpack(struct text packed, size_t max, struct buf *to);

#endif
