/* A span of bytes that somebody else owns: not NUL-terminated, may hold any byte. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
	const char *data;
	size_t len;
};

#define TEXT(literal) ((struct text){ (literal), sizeof(literal) - 1 })

static inline struct text text_of(const char *s)
{
	return (struct text){ s, strlen(s) };
}

static inline bool text_is(struct text t, const char *s)
{
	return strlen(s) == t.len && !memcmp(t.data, s, t.len);
}

static inline bool text_equals(struct text a, struct text b)
{
	return a.len == b.len && !memcmp(a.data, b.data, a.len);
}

static inline bool text_starts(struct text t, const char *prefix)
{
	size_t n = strlen(prefix);

	return t.len >= n && !memcmp(t.data, prefix, n);
}

static inline bool text_ends(struct text t, const char *suffix)
{
	size_t n = strlen(suffix);

	return t.len >= n && !memcmp(t.data + t.len - n, suffix, n);
}

#endif
