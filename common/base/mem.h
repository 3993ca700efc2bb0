/* Memory: allocation that ends the program when there is none, and arenas freed all at once. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

#include "common/base/fail.h"
#include "common/base/text.h"

/* Zeroed memory the caller frees with free(); never NULL. */
void *mem_alloc(size_t size);

/* A copy of s the caller frees; NULL for NULL. */
char *mem_strdup(const char *s);

/*
 * Make room for `need` items of `size` bytes in an array: returns it, moved if it had to grow,
 * with *cap set to the number of items that fit. New room is zeroed.
 */
void *mem_grow(void *items, size_t *cap, size_t need, size_t size);

/* Memory that lives as long as a frame (or a run) and is given back in one step. */
struct arena {
	struct arena_block *first, *now;
};

void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for anything */
char *arena_copy(struct arena *a, const char *data, size_t len);    /* NUL added */
char *arena_text(struct arena *a, struct text t);                   /* the same from a span */
char *arena_strdup(struct arena *a, const char *s);                 /* NULL for NULL */
char *arena_printf(struct arena *a, const char *format, ...) PRINTF_LIKE(2, 3);
void arena_reset(struct arena *a); /* forget all, keep one block for reuse */
void arena_free(struct arena *a);

#endif
