/*
 * Any bytes as an input of the command line, compressed, of any encoding or kind: what is read of
 * it is the same in large pieces and in small ones, and starts as its start did.
 */
#include "common/stack/stackinput.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/buf.h"

#define READ_MAX (1u << 20)            /* of a bomb no more is looked at */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_all(int fd, size_t at_once, struct text *start, struct buf *all)
{
	static char piece[1 << 16];
	struct stack_input *in;
	long n = 0;

	lseek(fd, 0, SEEK_SET);
	in = stack_input_new(fd);
	if (start && !stack_input_start(in, start)) {
		assert(start->len <= STACK_LOOK_BYTES ||
		       memchr(start->data, '\n', start->len) == start->data + start->len - 1 ||
		       !memchr(start->data, '\n', start->len));
		buf_add(all, start->data, start->len);
		const size_t looked = all->len;
		char *copy = malloc(looked + 1);

		memcpy(copy, start->data, looked);
		*start = (struct text){ copy, looked };
		all->len = 0;
	}
	while (all->len < READ_MAX && (n = stack_input_read(in, piece, at_once)) > 0)
		buf_add(all, piece, (size_t)n);
	stack_input_free(in);
	return n < 0 ? (int)n : 0;
}

static uint64_t feed(int fd, enum stack_kind kind)
{
	struct fold *f = fold_new();
	struct stack_reader *r = stack_reader_new(kind, f, &(struct stack_options){ 0 });
	struct stack_input *in;

	lseek(fd, 0, SEEK_SET);
	in = stack_input_new(fd);
	stack_input_feed(in, r);
	const uint64_t samples = stack_reader_end(r)->samples;

	assert(fold_stacks(f) <= samples);
	stack_input_free(in);
	stack_reader_free(r);
	fold_free(f);
	return samples;
}

static uint64_t feed_at_once(struct text all, enum stack_kind kind)
{
	struct fold *f = fold_new();
	struct stack_reader *r = stack_reader_new(kind, f, &(struct stack_options){ 0 });

	stack_reader_feed(r, all);
	const uint64_t samples = stack_reader_end(r)->samples;

	stack_reader_free(r);
	fold_free(f);
	return samples;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct buf large = { 0 }, small = { 0 };
	struct text start = { NULL, 0 };

	if (!size)
		return 0;
	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)size - 1)
		abort();
	const int a = read_all(fd, 1 << 16, &start, &large),
		  b = read_all(fd, 1 + data[0], NULL, &small);

	assert(!a == !b || large.len >= READ_MAX);
	if (large.len < READ_MAX) {
		assert(large.len == small.len);
		assert(!large.len || !memcmp(large.data, small.data, large.len));
		assert(start.len <= large.len);
		assert(!start.len || !memcmp(start.data, large.data, start.len));
		const struct text all = { large.data, large.len };
		const enum stack_kind kind = stack_kind_of(start);

		if (kind != STACK_UNKNOWN)
			assert(feed(fd, kind) == feed_at_once(all, kind));
	}
	free((char *)(uintptr_t)start.data);
	buf_free(&large);
	buf_free(&small);
	return 0;
}
