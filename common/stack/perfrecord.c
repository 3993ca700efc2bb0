/* Attributes, events and their ids, and what every record says of who and when. */
#include "common/stack/perfrecord.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/na.h"

/* Where the parts of struct perf_event_attr stand. */
enum attr_at {
	AT_TYPE = 0, AT_SIZE = 4, AT_CONFIG = 8, AT_PERIOD = 16, AT_SAMPLE_TYPE = 24,
	AT_READ_FORMAT = 32, AT_FLAGS = 40, AT_BRANCH_TYPE = 72, AT_USER_REGS = 80,
	AT_USER_STACK = 88, AT_INTR_REGS = 96, AT_MAX_STACK = 108,
};

#define FLAG_INHERIT (1u << 1)
#define FLAG_FREQUENCY (1u << 10)
#define FLAG_SAMPLE_ID_ALL (1u << 18)

/* 0 behind the end: an older attr lacks what newer ones have, and that was off then. */
static uint64_t attr_part(struct text t, size_t at, size_t size)
{
	uint64_t v = 0;

	if (at + size <= t.len)
		memcpy(&v, t.data + at, size);
	return v;
}

bool perf_attr_decode(struct text t, struct perf_attr *a)
{
	if (t.len < ATTR_SIZE_MIN)
		return false;
	const uint64_t flags = attr_part(t, AT_FLAGS, 8);
	const uint32_t size = (uint32_t)attr_part(t, AT_SIZE, 4);

	if (size >= ATTR_SIZE_MIN && size < t.len)
		t.len = size;
	*a = (struct perf_attr){
		.type = (uint32_t)attr_part(t, AT_TYPE, 4),
		.size = size,
		.config = attr_part(t, AT_CONFIG, 8),
		.period = attr_part(t, AT_PERIOD, 8),
		.sample_type = attr_part(t, AT_SAMPLE_TYPE, 8),
		.read_format = attr_part(t, AT_READ_FORMAT, 8),
		.branch_type = attr_part(t, AT_BRANCH_TYPE, 8),
		.user_regs = attr_part(t, AT_USER_REGS, 8),
		.intr_regs = attr_part(t, AT_INTR_REGS, 8),
		.user_stack = (uint32_t)attr_part(t, AT_USER_STACK, 4),
		.max_stack = (uint16_t)attr_part(t, AT_MAX_STACK, 2),
		.is_frequency = flags & FLAG_FREQUENCY,
		.is_inherited = flags & FLAG_INHERIT,
		.has_sample_id_all = flags & FLAG_SAMPLE_ID_ALL,
	};
	return true;
}

void perf_attr_name(const struct perf_attr *a, char *name, size_t size)
{
	static const char *const hardware[] = {
		"cycles", "instructions", "cache-references", "cache-misses", "branches",
		"branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend",
		"ref-cycles",
	};
	static const char *const software[] = {
		"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
		"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
		"bpf-output", "cgroup-switches",
	};
	const uint64_t config = a->config & 0xffffffff; /* above it: which of several PMUs */

	if (a->type == 0 && config < sizeof(hardware) / sizeof(*hardware))
		snprintf(name, size, "%s", hardware[config]);
	else if (a->type == 1 && config < sizeof(software) / sizeof(*software))
		snprintf(name, size, "%s", software[config]);
	else if (a->type == 2)
		snprintf(name, size, "tracepoint:%llu", (unsigned long long)a->config);
	else
		snprintf(name, size, "event %u:0x%llx", a->type, (unsigned long long)a->config);
}

/* The fields that stand in front of or behind others and must agree where no id tells whose. */
static bool has_same_layout(const struct perf_attr *a, const struct perf_attr *b)
{
	return a->sample_type == b->sample_type && a->has_sample_id_all == b->has_sample_id_all;
}

struct perf_event *perf_events_add(struct perf_events *es, const struct perf_attr *a)
{
	char name[64];

	if (es->count >= PERF_EVENTS_MAX)
		return NULL;
	es->items = mem_grow(es->items, &es->cap, es->count + 1, sizeof(*es->items));
	struct perf_event *e = mem_alloc(sizeof(*e));
	const bool has_identifier = a->sample_type & FIELD_IDENTIFIER;

	e->attr = *a;
	e->index = (uint32_t)es->count;
	perf_attr_name(a, name, sizeof(name));
	e->name = mem_strdup(name);
	es->items[es->count++] = e;
	if (es->count == 1) {
		es->has_identifier = has_identifier;
		return e;
	}
	es->has_identifier = es->has_identifier && has_identifier;
	if (!es->has_identifier)
		for (size_t i = 0; i < es->count - 1 && !es->has_other_layout; i++)
			es->has_other_layout = !has_same_layout(&es->items[i]->attr, a);
	es->has_no_id = !es->has_identifier && !(a->sample_type & FIELD_ID);
	return e;
}

bool perf_events_add_id(struct perf_events *es, struct perf_event *e, uint64_t id)
{
	if (es->by_id.used >= PERF_EVENT_IDS_MAX)
		return false;
	*hash_number(&es->by_id, id) = e;
	return true;
}

void perf_events_set_name(struct perf_event *e, struct text name)
{
	char *copy = mem_alloc(name.len + 1);

	memcpy(copy, name.data, name.len);
	free(e->name);
	e->name = copy;
	e->is_named = true;
}

struct perf_event *perf_events_find(const struct perf_events *es, uint64_t id)
{
	return hash_find_number(&es->by_id, id);
}

void perf_events_free(struct perf_events *es)
{
	for (size_t i = 0; i < es->count; i++) {
		free(es->items[i]->name);
		free(es->items[i]);
	}
	free(es->items);
	hash_free(&es->by_id);
	*es = (struct perf_events){ 0 };
}

void perf_record_header(struct perf_record *r, const unsigned char *bytes)
{
	r->bytes = bytes;
	r->type = perf_u32(bytes);
	r->misc = perf_u16(bytes + 4);
	r->size = perf_u16(bytes + 6);
}

static unsigned ones(uint64_t v)
{
	return (unsigned)__builtin_popcountll(v);
}

/* The event whose layout a record other than a sample has at its end. */
static const struct perf_event *trailer_event(const struct perf_events *es,
					      const struct perf_record *r)
{
	const struct perf_event *e = NULL;

	if (!es->count)
		return NULL;
	if (es->has_identifier && r->size >= RECORD_HEADER + 8)
		e = perf_events_find(es, perf_u64(r->bytes + r->size - 8));
	return e ? e : es->items[0];
}

void perf_record_identity(const struct perf_events *es, const struct perf_record *r,
			  struct perf_identity *i, uint32_t *used)
{
	static const uint64_t fields = FIELD_TID | FIELD_TIME | FIELD_ID | FIELD_STREAM_ID |
				       FIELD_CPU | FIELD_IDENTIFIER;
	const struct perf_event *e = trailer_event(es, r);

	*i = (struct perf_identity){ NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 };
	*used = 0;
	if (!e || !e->attr.has_sample_id_all || r->type >= RECORD_USER)
		return;
	const uint64_t has = e->attr.sample_type & fields;
	const uint32_t size = 8 * ones(has);

	if (r->size < RECORD_HEADER + size)
		return;
	const unsigned char *p = r->bytes + r->size - size;

	*used = size;
	if (has & FIELD_TID) {
		i->pid = perf_u32(p);
		i->tid = perf_u32(p + 4);
		p += 8;
	}
	if (has & FIELD_TIME) {
		i->time = perf_u64(p);
		p += 8;
	}
	if (has & FIELD_ID) {
		i->id = perf_u64(p);
		p += 8;
	}
	if (has & FIELD_STREAM_ID) {
		i->stream_id = perf_u64(p);
		p += 8;
	}
	if (has & FIELD_CPU) {
		i->cpu = perf_u32(p);
		p += 8;
	}
	if (has & FIELD_IDENTIFIER)
		i->id = perf_u64(p);
}

/* How many bytes of the fields in `fields` stand in front of the next one. */
static uint32_t bytes_of(uint64_t sample_type, uint64_t fields)
{
	return 8 * ones(sample_type & fields);
}

const struct perf_event *perf_record_event(const struct perf_events *es,
					   const struct perf_record *r)
{
	uint32_t at = RECORD_HEADER;

	if (!es->count)
		return NULL;
	const struct perf_event *first = es->items[0];

	if (es->count == 1)
		return first;
	if (es->has_other_layout)
		return NULL;
	if (es->has_no_id)
		return first;
	if (!es->has_identifier)
		at += bytes_of(first->attr.sample_type, FIELD_IP | FIELD_TID | FIELD_TIME |
							FIELD_ADDR);
	if (r->size < at + 8)
		return NULL;
	const struct perf_event *e = perf_events_find(es, perf_u64(r->bytes + at));

	/* an id of 0 is what old kernels gave to counters of no event */
	return e || perf_u64(r->bytes + at) ? e : first;
}

void perf_record_find_time(const struct perf_events *es, struct perf_record *r)
{
	struct perf_identity i = { .time = NA_U64 };
	uint32_t used;

	if (r->type == RECORD_SAMPLE) {
		const struct perf_event *e = perf_record_event(es, r);
		const uint64_t has = e ? e->attr.sample_type : 0;
		const uint32_t at = RECORD_HEADER + bytes_of(has, FIELD_IDENTIFIER | FIELD_IP |
								  FIELD_TID);

		if ((has & FIELD_TIME) && r->size >= at + 8)
			i.time = perf_u64(r->bytes + at);
	} else if (r->type < RECORD_USER) {
		perf_record_identity(es, r, &i, &used);
		/* these two hold their own: pid, ppid, tid, ptid, time */
		if (!used && (r->type == RECORD_FORK || r->type == RECORD_EXIT) && r->size >= 32)
			i.time = perf_u64(r->bytes + 24);
	}
	r->has_time = i.time != NA_U64 && i.time;
	r->time = r->has_time ? i.time : 0;
}
