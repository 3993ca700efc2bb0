#include "common/stack/perfsample.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/na.h"

/* What is left of a record; every field is a multiple of 8 bytes. */
struct cursor {
	const unsigned char *at;
	uint64_t left;                 /* bytes */
	const char *field;             /* the one at hand, for the message */
	bool is_short;
};

static const unsigned char *take(struct cursor *c, uint64_t bytes)
{
	const unsigned char *p = c->at;

	if (c->is_short || bytes > c->left) {
		c->is_short = true;
		return NULL;
	}
	c->at += bytes;
	c->left -= bytes;
	return p;
}

static uint64_t take_u64(struct cursor *c, const char *field)
{
	c->field = c->is_short ? c->field : field;
	const unsigned char *p = take(c, 8);

	return p ? perf_u64(p) : 0;
}

/* count items of `size` bytes; NULL if they are not there. */
static const void *take_items(struct cursor *c, uint64_t count, uint64_t size)
{
	if (c->is_short || count > c->left / size) {
		c->is_short = true;
		return NULL;
	}
	return take(c, count * size);
}

static void decode_identity(struct cursor *c, uint64_t has, struct perf_sample *s)
{
	if (has & FIELD_IDENTIFIER)
		s->id = take_u64(c, "identifier");
	if (has & FIELD_IP)
		s->ip = take_u64(c, "ip");
	if (has & FIELD_TID) {
		const uint64_t both = take_u64(c, "tid");

		s->pid = (uint32_t)both;
		s->tid = both >> 32;
	}
	if (has & FIELD_TIME)
		s->time = take_u64(c, "time");
	if (has & FIELD_ADDR)
		s->address = take_u64(c, "address");
	if (has & FIELD_ID)
		s->id = take_u64(c, "id");
	if (has & FIELD_STREAM_ID)
		s->stream_id = take_u64(c, "stream id");
	if (has & FIELD_CPU)
		s->cpu = (uint32_t)take_u64(c, "cpu");
	if (has & FIELD_PERIOD)
		s->period = take_u64(c, "period");
}

static size_t read_entry_size(uint64_t format)
{
	return 8 + (format & READ_ID ? 8 : 0) + (format & READ_LOST ? 8 : 0);
}

static void decode_read(struct cursor *c, uint64_t format, struct perf_sample *s)
{
	uint64_t count = 1;

	if (format & READ_GROUP) {
		count = take_u64(c, "read");
	} else {
		/* value, enabled, running, id, lost: the value first, the rest as in a group */
		s->reads = c->at;
		take_u64(c, "read");
	}
	if (format & READ_ENABLED)
		take_u64(c, "read");
	if (format & READ_RUNNING)
		take_u64(c, "read");
	if (!(format & READ_GROUP)) {
		take(c, read_entry_size(format) - 8);
	} else {
		s->reads = take_items(c, count, read_entry_size(format));
	}
	s->read_count = c->is_short ? 0 : (size_t)count;
}

struct perf_read perf_sample_read(const struct perf_sample *s, size_t n)
{
	const uint64_t format = s->event->attr.read_format;
	const unsigned char *p = s->reads + (format & READ_GROUP ? n * read_entry_size(format) : 0);
	const unsigned char *id = p + 8;

	if (!(format & READ_GROUP))
		id += (format & READ_ENABLED ? 8 : 0) + (format & READ_RUNNING ? 8 : 0);
	return (struct perf_read){ perf_u64(p), format & READ_ID ? perf_u64(id) : NA_U64 };
}

static void decode_chain(struct cursor *c, struct perf_sample *s)
{
	const uint64_t count = take_u64(c, "callchain");

	s->chain = take_items(c, count, 8);
	s->chain_count = s->chain ? (size_t)count : 0;
	s->has_chain = s->chain != NULL;
}

/* u32 size, bytes; both together padded to 8 */
static void decode_raw(struct cursor *c, struct perf_sample *s)
{
	c->field = c->is_short ? c->field : "raw data";
	if (c->is_short || c->left < 4) {
		c->is_short = true;
		return;
	}
	const uint64_t size = perf_u32(c->at);
	const unsigned char *p = take(c, (size + 4 + 7) & ~(uint64_t)7);

	if (p)
		s->raw = (struct text){ (const char *)p + 4, (size_t)size };
}

static void decode_branches(struct cursor *c, const struct perf_attr *a, struct perf_sample *s)
{
	const uint64_t count = take_u64(c, "branch stack");

	if (a->branch_type & BRANCH_HW_INDEX)
		s->branch_index = take_u64(c, "branch stack");
	s->branches = take_items(c, count, sizeof(*s->branches));
	s->branch_count = s->branches ? (size_t)count : 0;
	if (a->branch_type & BRANCH_COUNTERS)
		take_items(c, count, 8);
}

static void decode_regs(struct cursor *c, uint64_t mask, const char *field, struct perf_regs *regs)
{
	const uint64_t abi = take_u64(c, field);
	const size_t count = (size_t)__builtin_popcountll(mask);

	if (!abi)
		return;
	regs->values = take_items(c, count, 8);
	if (regs->values) {
		regs->abi = abi;
		regs->mask = mask;
		regs->count = count;
	}
}

/* size, bytes, and how many of them count; a size of 0 has nothing behind it */
static void decode_stack(struct cursor *c, struct perf_sample *s)
{
	const uint64_t size = take_u64(c, "user stack");

	if (!size)
		return;
	s->stack = take(c, (size + 7) & ~(uint64_t)7);
	if (size > UINT64_MAX - 7)
		c->is_short = true;
	const uint64_t used = take_u64(c, "user stack");

	if (c->is_short) {
		s->stack = NULL;
		return;
	}
	s->stack_asked = (size_t)size;
	s->stack_size = (size_t)(used < size ? used : size);
}

static void decode_tail(struct cursor *c, const struct perf_attr *a, struct perf_sample *s)
{
	const uint64_t has = a->sample_type;

	if (has & (FIELD_WEIGHT | FIELD_WEIGHT_STRUCT))
		s->weight = take_u64(c, "weight");
	if (has & FIELD_WEIGHT_STRUCT)
		s->weight = (uint32_t)s->weight;
	if (has & FIELD_DATA_SRC)
		s->data_source = take_u64(c, "data source");
	if (has & FIELD_TRANSACTION)
		s->transaction = take_u64(c, "transaction");
	if (has & FIELD_REGS_INTR)
		decode_regs(c, a->intr_regs, "registers", &s->intr_regs);
	if (has & FIELD_PHYS_ADDR)
		s->physical_address = take_u64(c, "physical address");
	if (has & FIELD_CGROUP)
		s->cgroup = take_u64(c, "cgroup");
	if (has & FIELD_DATA_PAGE_SIZE)
		s->data_page = take_u64(c, "data page size");
	if (has & FIELD_CODE_PAGE_SIZE)
		s->code_page = take_u64(c, "code page size");
	if (has & FIELD_AUX) {
		const uint64_t size = take_u64(c, "aux data");
		const void *p = take_items(c, size, 1);

		if (p)
			s->aux = (struct text){ p, (size_t)size };
	}
}

int perf_sample_decode(const struct perf_event *e, const struct perf_record *r,
		       struct perf_sample *s)
{
	const struct perf_attr *a = &e->attr;
	const uint64_t has = a->sample_type;
	struct cursor c = { .at = r->bytes + RECORD_HEADER, .left = r->size - RECORD_HEADER };

	*s = (struct perf_sample){
		.event = e, .mode = r->misc & MISC_CPUMODE,
		.ip = NA_U64, .pid = NA_U64, .tid = NA_U64, .time = NA_U64, .address = NA_U64,
		.id = NA_U64, .stream_id = NA_U64, .cpu = NA_U64, .period = NA_U64,
		.cgroup = NA_U64, .physical_address = NA_U64, .data_source = NA_U64,
		.transaction = NA_U64, .weight = NA_U64, .data_page = NA_U64,
		.code_page = NA_U64, .branch_index = NA_U64,
	};
	decode_identity(&c, has, s);
	if (has & FIELD_READ)
		decode_read(&c, a->read_format, s);
	if (has & FIELD_CALLCHAIN)
		decode_chain(&c, s);
	if (has & FIELD_RAW)
		decode_raw(&c, s);
	if (has & FIELD_BRANCH_STACK)
		decode_branches(&c, a, s);
	if (has & FIELD_REGS_USER)
		decode_regs(&c, a->user_regs, "user registers", &s->user_regs);
	if (has & FIELD_STACK_USER)
		decode_stack(&c, s);
	decode_tail(&c, a, s);
	if (c.is_short)
		return fail(EINVAL, "a sample of %s is too short for its %s", e->name, c.field);
	return 0;
}
