#include "common/base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BLOCK 32768
#define GROW_SLOWER 4096       /* items: from there an array grows by a quarter */

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};

static void out_of_memory(void)
{
	static const char text[] = "perfbox: out of memory\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)ignored;
	_exit(3);
}

void *mem_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

char *mem_strdup(const char *s)
{
	if (!s)
		return NULL;
	size_t n = strlen(s) + 1;

	return memcpy(mem_alloc(n), s, n);
}

void *mem_grow(void *items, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return items;
	size_t bigger = *cap ? *cap : 8;

	while (bigger < need) {
		if (bigger > SIZE_MAX / 2 / size)
			out_of_memory();
		/* twice as much, but large arrays are nearly full more often than not */
		bigger += bigger < GROW_SLOWER ? bigger : bigger / 4;
	}
	char *p = realloc(items, bigger * size);

	if (!p)
		out_of_memory();
	memset(p + *cap * size, 0, (bigger - *cap) * size);
	*cap = bigger;
	return p;
}

static struct arena_block *new_block(size_t need)
{
	size_t size = need > ARENA_BLOCK ? need : ARENA_BLOCK;

	if (need > SIZE_MAX - sizeof(struct arena_block))
		out_of_memory();
	struct arena_block *b = malloc(sizeof(*b) + size);

	if (!b)
		out_of_memory();
	b->next = NULL;
	b->used = 0;
	b->size = size;
	return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
	const size_t align = _Alignof(max_align_t);

	if (size > SIZE_MAX - align)
		out_of_memory();
	size = (size + align - 1) & ~(align - 1);
	if (!a->now || a->now->size - a->now->used < size) {
		struct arena_block *b = new_block(size);

		if (a->now)
			a->now->next = b;
		else
			a->first = b;
		a->now = b;
	}
	char *p = a->now->data + a->now->used;

	a->now->used += size;
	return memset(p, 0, size);
}

char *arena_copy(struct arena *a, const char *data, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	if (len)
		memcpy(p, data, len);
	return p;
}

char *arena_text(struct arena *a, struct text t)
{
	return arena_copy(a, t.data, t.len);
}

char *arena_strdup(struct arena *a, const char *s)
{
	return s ? arena_copy(a, s, strlen(s)) : NULL;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, args);
	char *p = arena_alloc(a, n < 0 ? 1 : (size_t)n + 1);

	if (n > 0)
		vsnprintf(p, (size_t)n + 1, format, again);
	va_end(again);
	va_end(args);
	return p;
}

void arena_reset(struct arena *a)
{
	if (!a->first)
		return;
	struct arena_block *b = a->first->next;

	while (b) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
	a->first->next = NULL;
	a->first->used = 0;
	a->now = a->first;
}

void arena_free(struct arena *a)
{
	arena_reset(a);
	free(a->first);
	*a = (struct arena){ 0 };
}
