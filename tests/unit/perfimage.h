/* Recordings made by hand: a perf.data in memory, record by record. */
#ifndef TESTS_UNIT_PERFIMAGE_H
#define TESTS_UNIT_PERFIMAGE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/stack/perfsample.h"

#define IMAGE_ATTRS_MAX 4

struct image_attr {
	uint32_t type, size;           /* size 0: as old attrs say it; else at least 64 */
	uint64_t config, period, sample_type, read_format, flags, branch_type, user_regs;
	uint16_t max_stack;
	uint64_t id;
};

/* bits of flags */
#define IMAGE_FREQUENCY (1u << 10)
#define IMAGE_ID_ALL (1u << 18)

struct image {
	struct buf bytes;
	size_t record;                 /* where the one at hand begins */
	size_t data;                   /* where the records begin */
};

static inline void image_u16(struct image *m, uint16_t v)
{
	buf_add(&m->bytes, &v, sizeof(v));
}

static inline void image_u32(struct image *m, uint32_t v)
{
	buf_add(&m->bytes, &v, sizeof(v));
}

static inline void image_u64(struct image *m, uint64_t v)
{
	buf_add(&m->bytes, &v, sizeof(v));
}

static inline void image_pair(struct image *m, uint32_t a, uint32_t b)
{
	image_u32(m, a);
	image_u32(m, b);
}

/* NUL-terminated and padded to 8. */
static inline void image_name(struct image *m, const char *name)
{
	static const char zeros[8];

	buf_add(&m->bytes, name, strlen(name) + 1);
	buf_add(&m->bytes, zeros, -(strlen(name) + 1) & 7);
}

static inline void image_begin(struct image *m, uint32_t type, uint16_t misc)
{
	m->record = m->bytes.len;
	image_u32(m, type);
	image_u16(m, misc);
	image_u16(m, 0);
}

static inline void image_end(struct image *m)
{
	const uint16_t size = (uint16_t)(m->bytes.len - m->record);

	memcpy(m->bytes.data + m->record + 6, &size, sizeof(size));
}

static inline void image_attr(struct image *m, const struct image_attr *a)
{
	const size_t size = a->size ? a->size : 64;
	unsigned char bytes[256] = { 0 };

	memcpy(bytes, &a->type, 4);
	memcpy(bytes + 4, &a->size, 4);
	memcpy(bytes + 8, &a->config, 8);
	memcpy(bytes + 16, &a->period, 8);
	memcpy(bytes + 24, &a->sample_type, 8);
	memcpy(bytes + 32, &a->read_format, 8);
	memcpy(bytes + 40, &a->flags, 8);
	memcpy(bytes + 72, &a->branch_type, 8);
	memcpy(bytes + 80, &a->user_regs, 8);
	memcpy(bytes + 96, &a->user_regs, 8);
	memcpy(bytes + 108, &a->max_stack, 2);
	/* what newer ones have behind it is not 0 */
	if (size > 136)
		memset(bytes + 136, 0xff, size - 136);
	buf_add(&m->bytes, bytes, size);
}

/* The header of a file, all attrs of the same size; records follow. */
static inline void image_file(struct image *m, const struct image_attr *attrs, size_t count)
{
	const uint64_t size = attrs->size ? attrs->size : 64, stride = size + 16;
	const uint64_t ids = 104, attrs_at = ids + 8 * count;

	buf_reset(&m->bytes);
	buf_add(&m->bytes, "PERFILE2", 8);
	image_u64(m, 104);
	image_u64(m, stride);
	image_u64(m, attrs_at);
	image_u64(m, stride * count);
	m->data = (size_t)(attrs_at + stride * count);
	image_u64(m, m->data);
	image_u64(m, 0);               /* of the data: image_close */
	for (size_t i = 0; i < 6; i++)
		image_u64(m, 0);       /* event types, features */
	for (size_t i = 0; i < count; i++)
		image_u64(m, attrs[i].id);
	for (size_t i = 0; i < count; i++) {
		image_attr(m, &attrs[i]);
		image_u64(m, ids + 8 * i);
		image_u64(m, 8);
	}
}

/* A stream: its attrs are records. */
static inline void image_pipe(struct image *m, const struct image_attr *attrs, size_t count)
{
	buf_reset(&m->bytes);
	buf_add(&m->bytes, "PERFILE2", 8);
	image_u64(m, 16);
	m->data = 16;
	for (size_t i = 0; i < count; i++) {
		image_begin(m, RECORD_HEADER_ATTR, 0);
		image_attr(m, &attrs[i]);
		image_u64(m, attrs[i].id);
		image_end(m);
	}
}

static inline void image_close(struct image *m)
{
	const uint64_t size = m->bytes.len - m->data;

	memcpy(m->bytes.data + 48, &size, sizeof(size));
}

/* ---- records with a trailer of tid and time (FIELD_TID | FIELD_TIME) ---- */

#define IMAGE_SAMPLE_TYPE (FIELD_IP | FIELD_TID | FIELD_TIME | FIELD_CALLCHAIN | FIELD_PERIOD)

static inline void image_trailer(struct image *m, uint32_t pid, uint32_t tid, uint64_t time)
{
	image_pair(m, pid, tid);
	image_u64(m, time);
	image_end(m);
}

static inline void image_comm(struct image *m, uint32_t pid, uint32_t tid, const char *comm,
			      bool is_exec, uint64_t time)
{
	image_begin(m, RECORD_COMM, is_exec ? MISC_COMM_EXEC : 0);
	image_pair(m, pid, tid);
	image_name(m, comm);
	image_trailer(m, pid, tid, time);
}

static inline void image_mmap(struct image *m, uint16_t misc, uint32_t pid, uint64_t start,
			      uint64_t length, uint64_t pgoff, const char *path, uint64_t time)
{
	image_begin(m, RECORD_MMAP, misc);
	image_pair(m, pid, pid);
	image_u64(m, start);
	image_u64(m, length);
	image_u64(m, pgoff);
	image_name(m, path);
	image_trailer(m, pid, pid, time);
}

static inline void image_fork(struct image *m, uint32_t type, uint16_t misc, uint32_t pid,
			      uint32_t parent_pid, uint32_t tid, uint32_t parent_tid,
			      uint64_t time)
{
	image_begin(m, type, misc);
	image_pair(m, pid, parent_pid);
	image_pair(m, tid, parent_tid);
	image_u64(m, time);
	image_trailer(m, parent_pid, parent_tid, time);
}

/* With IMAGE_SAMPLE_TYPE. */
static inline void image_sample(struct image *m, uint16_t mode, uint32_t pid, uint32_t tid,
				uint64_t time, uint64_t period, const uint64_t *chain,
				size_t count)
{
	image_begin(m, RECORD_SAMPLE, mode);
	image_u64(m, count ? chain[count > 1] : 0);
	image_pair(m, pid, tid);
	image_u64(m, time);
	image_u64(m, period);
	image_u64(m, count);
	for (size_t i = 0; i < count; i++)
		image_u64(m, chain[i]);
	image_end(m);
}

#endif
