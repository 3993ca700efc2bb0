/* For the fuzz targets of what reads stacks: the input as one kind, whole and in two pieces. */
#ifndef TESTS_FUZZ_STACKS_H
#define TESTS_FUZZ_STACKS_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/stack/stacktext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_sum {
	uint64_t samples, weight, skipped;
	uint32_t nodes;
};

/* A copy of exactly that size, so that one byte too far is seen. */
static inline void fuzz_feed(struct stack_reader *r, const char *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	if (size)
		memcpy(copy, data, size);
	stack_reader_feed(r, (struct text){ copy, size });
	free(copy);
}

static inline struct fuzz_sum fuzz_read(enum stack_kind kind, const char *data, size_t size,
					size_t at, const struct stack_options *o,
					const struct stack_filter_options *asked)
{
	struct fold *f = fold_new();
	struct stack_options options = *o;
	struct fuzz_sum sum = { 0 };

	if (stack_filter_new(asked, f, &options.filter))
		abort();
	struct stack_reader *r = stack_reader_new(kind, f, &options);

	if (at)
		fuzz_feed(r, data, at);
	fuzz_feed(r, data + at, size - at);
	const struct stack_result *result = stack_reader_end(r);

	sum.samples = result->samples;
	sum.skipped = result->skipped_lines;
	sum.nodes = fold_count(f);
	for (uint32_t i = 1; i < sum.nodes; i++) {
		assert(fold_parent(f, i) < i);
		sum.weight += fold_weight(f, i, 0);
	}
	assert(!result->skipped_lines == !result->first_skipped_line);
	assert(fold_stacks(f) <= sum.samples);
	stack_reader_free(r);
	stack_filter_free(options.filter);
	fold_free(f);
	return sum;
}

/* The first byte chooses options and where the rest is cut. */
static inline void fuzz_kind(enum stack_kind kind, const uint8_t *data, size_t size)
{
	if (!size)
		return;
	const unsigned choice = data[0];
	const char *text = (const char *)data + 1;
	const size_t len = size - 1;
	struct stack_options o = {
		.frame = { .kernel = choice & 1, .jit = choice & 1, .inlined = choice & 1,
			   .addresses = choice & 2, .keeps_arguments = choice & 4,
			   .source_lines = choice & 8 },
		.weighs_samples = choice & 16,
	};
	struct stack_filter_options asked = {
		.by = (enum root_frame)(choice / 16 % 6), .max_depth = choice & 32 ? 3 : 0,
		.reverse = choice & 64, .exclude = choice & 128 ? "x+$" : NULL,
	};
	size_t at = len / 2;

	while (at && text[at - 1] != '\n')
		at--;
	const struct fuzz_sum a = fuzz_read(kind, text, len, 0, &o, &asked),
			      b = fuzz_read(kind, text, len, at, &o, &asked);

	assert(a.samples == b.samples && a.weight == b.weight && a.skipped == b.skipped);
	assert(a.nodes == b.nodes);
}

#endif
