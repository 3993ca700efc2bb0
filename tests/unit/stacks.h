/* What a text folds to, in one call: for tests of the readers of stacks. */
#ifndef TESTS_UNIT_STACKS_H
#define TESTS_UNIT_STACKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/stack/stacktext.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static struct stack_options stack_options;     /* for the next call; filter is made of the next */
static struct stack_filter_options filter_options;
static struct stack_result result;             /* of the last call; valid until the next */
static struct stack_filter_counts counts;

static struct stack_reader *last_reader;
static char *last_text;

static inline void forget_stacks(void)
{
	stack_reader_free(last_reader);
	free(last_text);
	last_reader = NULL;
	last_text = NULL;
}

/* Options as they are when nothing is asked. */
static inline void no_options(void)
{
	stack_options = (struct stack_options){ .event = NULL };
	filter_options = (struct stack_filter_options){ .include = NULL };
}

/* Fed in two pieces, cut in front of byte `at`. */
static inline const char *fold_pieces(enum stack_kind kind, struct text t, size_t at)
{
	struct fold *f = fold_new();
	struct stack_filter *filter;
	size_t len;

	forget_stacks();
	if (stack_filter_new(&filter_options, f, &filter))
		abort();
	struct stack_options o = stack_options;

	o.filter = filter;
	last_reader = stack_reader_new(kind, f, &o);
	if (at)
		stack_reader_feed(last_reader, (struct text){ t.data, at });
	stack_reader_feed(last_reader, (struct text){ t.data + at, t.len - at });
	result = *stack_reader_end(last_reader);
	counts = *stack_filter_counts(filter);
	FILE *to = open_memstream(&last_text, &len);

	if (!to || fold_write(f, kind == STACK_FOLDED_TWO, to) < 0)
		abort();
	fclose(to);
	stack_filter_free(filter);
	fold_free(f);
	return last_text;
}

static inline const char *fold_as(enum stack_kind kind, struct text t)
{
	return fold_pieces(kind, t, 0);
}

static inline const char *fold_text_of(struct text t)
{
	const enum stack_kind kind = stack_kind_of(t);

	return kind == STACK_UNKNOWN ? "unknown" : fold_as(kind, t);
}

/*
 * Cut anywhere it says no more than the whole; fed in two pieces it says the same as in one.
 * Detection finds `kind`.
 */
static inline void check_kind(enum stack_kind kind, struct text t, const char *expected)
{
	CHECK_STR(stack_kind_name(stack_kind_of(t)), stack_kind_name(kind));
	CHECK_STR(fold_as(kind, t), expected);
	const uint64_t samples = result.samples;

	for (size_t at = 1; at < t.len; at++)
		if (t.data[at - 1] == '\n')
			CHECK_STR(fold_pieces(kind, t, at), expected);
	EACH_CUT(n, t) {
		fold_as(kind, cut(t, n));
		if (result.samples > samples)
			CHECK(n == t.len);
	}
	fold_as(kind, t);
}

#endif
