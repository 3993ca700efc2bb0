/* A byte buffer that grows. Zeroed is empty; buf_free gives it back. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

#include "common/base/fail.h"
#include "common/base/text.h"

struct buf {
	char *data;            /* always NUL-terminated once anything was added */
	size_t len, cap;
};

void buf_add(struct buf *b, const void *data, size_t len);
void buf_add_char(struct buf *b, char c);
void buf_add_text(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_reserve(struct buf *b, size_t more);       /* room for `more` bytes and a NUL behind len */
void buf_reset(struct buf *b);                      /* empty, memory kept */
void buf_free(struct buf *b);

static inline struct text buf_text(const struct buf *b)
{
	return (struct text){ b->data ? b->data : "", b->len };
}

#endif
