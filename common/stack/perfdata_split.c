/* Bytes of a perf.data, and the records among them. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/stack/perfdata_impl.h"

/* What is in memory at the offset; 0 if nothing is. */
static size_t read_memory(const struct perf_input *in, uint64_t offset, void *to, size_t n)
{
	if (offset < in->memory_offset || offset - in->memory_offset >= in->memory.len)
		return 0;
	const size_t at = (size_t)(offset - in->memory_offset);
	const size_t left = in->memory.len - at;
	const size_t got = n < left ? n : left;

	memcpy(to, in->memory.data + at, got);
	return got;
}

size_t perf_input_read(struct perf_input *in, void *to, size_t n)
{
	if (in->offset >= in->end)
		return 0;
	if (n > in->end - in->offset)
		n = (size_t)(in->end - in->offset);
	size_t got = read_memory(in, in->offset, to, n);

	while (!got && in->fd >= 0 && !in->error) {
		const ssize_t r = in->can_seek ? pread(in->fd, to, n, (off_t)in->offset) :
						 read(in->fd, to, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			in->error = errno;
		if (r <= 0)
			break;
		got = (size_t)r;
	}
	in->offset += got;
	return got;
}

void perf_input_skip(struct perf_input *in, uint64_t n)
{
	char waste[4096];

	if (in->can_seek || in->fd < 0) {
		const uint64_t end = in->end < in->size ? in->end : in->size;
		const uint64_t left = in->offset < end ? end - in->offset : 0;

		in->offset += n < left ? n : left;
		return;
	}
	while (n) {
		const size_t got = perf_input_read(in, waste, n < sizeof(waste) ? (size_t)n :
										  sizeof(waste));

		if (!got)
			return;
		n -= got;
	}
}

bool perf_input_at(const struct perf_input *in, uint64_t offset, void *to, size_t n)
{
	char *p = to;

	while (n) {
		size_t got = read_memory(in, offset, p, n);

		if (!got && in->can_seek && offset <= INT64_MAX) {
			const ssize_t r = pread(in->fd, p, n, (off_t)offset);

			if (r < 0 && errno == EINTR)
				continue;
			got = r > 0 ? (size_t)r : 0;
		}
		if (!got)
			return false;
		p += got;
		offset += got;
		n -= got;
	}
	return true;
}

static struct perf_block *block_new(struct perf_pool *p)
{
	struct perf_block *b = p->free;

	if (b)
		p->free = b->next;
	else
		b = mem_alloc(sizeof(*b));
	b->pool = p;
	b->users = 1;
	b->len = 0;
	return b;
}

void perf_block_release(struct perf_block *b)
{
	if (!b || --b->users)
		return;
	b->next = b->pool->free;
	b->pool->free = b;
}

void perf_pool_free(struct perf_pool *p)
{
	while (p->free) {
		struct perf_block *b = p->free;

		p->free = b->next;
		free(b);
	}
}

/* As many bytes as `need` (at most RECORD_BYTES_MAX) from s->at on, if the source has them. */
static bool ensure(struct perf_splitter *s, size_t need)
{
	if (!s->block)
		s->block = block_new(s->pool);
	if (s->block->len - s->at >= need)
		return true;
	if (s->at == s->block->len && s->block->users == 1) /* nobody else looks at it */
		s->at = s->block->len = 0;
	if (BLOCK_BYTES - s->at < need) {
		struct perf_block *b = block_new(s->pool);

		b->len = s->block->len - s->at;
		memcpy(b->bytes, s->block->bytes + s->at, b->len);
		perf_block_release(s->block);
		s->block = b;
		s->at = 0;
	}
	while (s->block->len - s->at < need) {
		const size_t got = s->fill(s->arg, s->block->bytes + s->block->len,
					   BLOCK_BYTES - s->block->len);

		if (!got)
			return false;
		s->block->len += got;
	}
	return true;
}

static void advance(struct perf_splitter *s, size_t n)
{
	s->at += n;
	s->offset += n;
}

static void skip(struct perf_splitter *s)
{
	while (s->skip) {
		if (!ensure(s, 1))
			return;
		const size_t here = s->block->len - s->at;
		const size_t n = s->skip < here ? (size_t)s->skip : here;

		advance(s, n);
		s->skip -= n;
		if (s->skip && s->input) {
			const uint64_t before = s->input->offset;

			perf_input_skip(s->input, s->skip);
			s->offset += s->input->offset - before;
			s->skip -= s->input->offset - before;
			return;
		}
	}
}

/* perf 6.16 lets the 16 bits of a COMPRESSED2's size overflow: its data size is right. */
static bool find_size(struct perf_splitter *s, struct perf_record *r)
{
	if (r->type == RECORD_COMPRESSED2) {
		if (!ensure(s, 16))
			return false;
		const uint64_t data = perf_u64(s->block->bytes + s->at + 8);
		const uint64_t whole = (data + 16 + 7) & ~(uint64_t)7;

		r->bytes = s->block->bytes + s->at;
		if (data <= 65536 && whole > UINT16_MAX && (whole & UINT16_MAX) == r->size)
			r->size = (uint32_t)whole;
	}
	return true;
}

/* A record that does not stand at a multiple of 8: a copy of it does. */
static void align(struct perf_splitter *s, struct perf_record *r, struct perf_block **owner)
{
	const size_t room = (r->size + 7u) & ~7u;

	if (s->aside && BLOCK_BYTES - s->aside->len < room) {
		perf_block_release(s->aside);
		s->aside = NULL;
	}
	if (!s->aside)
		s->aside = block_new(s->pool);
	memcpy(s->aside->bytes + s->aside->len, r->bytes, r->size);
	r->bytes = s->aside->bytes + s->aside->len;
	s->aside->len += room;
	*owner = s->aside;
}

enum perf_split perf_split_next(struct perf_splitter *s, struct perf_record *r,
				struct perf_block **owner)
{
	*r = (struct perf_record){ .offset = s->offset };
	skip(s);
	if (s->skip)
		return SPLIT_CUT;
	r->offset = s->offset;
	if (!ensure(s, RECORD_HEADER))
		return s->block->len > s->at ? SPLIT_CUT : SPLIT_NOTHING;
	perf_record_header(r, s->block->bytes + s->at);
	if (!find_size(s, r))
		return SPLIT_CUT;
	if (r->size < RECORD_HEADER)
		return SPLIT_BAD;
	if (!ensure(s, r->size))
		return SPLIT_CUT;
	r->bytes = s->block->bytes + s->at;
	*owner = s->block;
	if (s->at % 8)
		align(s, r, owner);
	s->at += r->size;
	s->offset += r->size;
	return SPLIT_RECORD;
}

bool perf_split_is_at(const struct perf_splitter *s, struct text what)
{
	return perf_split_left(s) >= what.len &&
	       !memcmp(s->block->bytes + s->at, what.data, what.len);
}

uint64_t perf_split_left(const struct perf_splitter *s)
{
	return s->block ? s->block->len - s->at : 0;
}

void perf_split_free(struct perf_splitter *s)
{
	perf_block_release(s->block);
	perf_block_release(s->aside);
	s->block = s->aside = NULL;
}
