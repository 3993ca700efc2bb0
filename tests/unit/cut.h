/* A recording cut at any byte, in memory of exactly that size so that one byte too far is seen. */
#ifndef TESTS_UNIT_CUT_H
#define TESTS_UNIT_CUT_H

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

/* The first n bytes of t; valid until the next call. */
static inline struct text cut(struct text t, size_t n)
{
	static char *copy;

	free(copy);
	copy = malloc(n ? n : 1);
	if (!copy)
		abort();
	if (n)
		memcpy(copy, t.data, n);
	return (struct text){ copy, n };
}

/* For each length: a cut recording may say less than the whole, never something else. */
#define EACH_CUT(n, whole) for (size_t n = 0; n <= (whole).len; n++)

#endif
