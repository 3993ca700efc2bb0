/* A sample with every field there is; the same cut at every length; attributes, events and ids. */
#include "common/stack/perfsample.h"

#include <stdio.h>

#include "check.h"
#include "common/base/na.h"
#include "perfimage.h"

/* Each field holds a number of its own. */
static void add_all(struct image *m, uint64_t has, uint64_t read_format, uint64_t branch_type)
{
	image_begin(m, RECORD_SAMPLE, MODE_USER);
	image_u64(m, 1);               /* identifier */
	image_u64(m, 2);               /* ip */
	image_pair(m, 3, 4);           /* pid, tid */
	image_u64(m, 5);               /* time */
	image_u64(m, 6);               /* address */
	image_u64(m, 1);               /* id */
	image_u64(m, 8);               /* stream id */
	image_pair(m, 9, 0);           /* cpu */
	image_u64(m, 10);              /* period */
	if (read_format & READ_GROUP) {
		image_u64(m, 2);
		image_u64(m, 77);      /* enabled */
		image_u64(m, 78);      /* running */
		for (uint64_t i = 0; i < 2; i++) {
			image_u64(m, 100 + i);
			image_u64(m, 200 + i);
			image_u64(m, 300 + i);
		}
	} else {
		image_u64(m, 100);
		image_u64(m, 77);
		image_u64(m, 78);
		image_u64(m, 200);
		image_u64(m, 300);
	}
	image_u64(m, 2);               /* callchain */
	image_u64(m, CONTEXT_USER);
	image_u64(m, 11);
	image_u32(m, 5);               /* raw, padded to 8 with its size */
	buf_add(&m->bytes, "hello\0\0\0\0\0\0", 12);
	image_u64(m, 1);               /* branches */
	if (branch_type & BRANCH_HW_INDEX)
		image_u64(m, 12);
	image_u64(m, 13);
	image_u64(m, 14);
	image_u64(m, 15);
	if (branch_type & BRANCH_COUNTERS)
		image_u64(m, 16);
	image_u64(m, 2);               /* user registers */
	image_u64(m, 17);
	image_u64(m, 18);
	image_u64(m, 16);              /* stack */
	image_u64(m, 19);
	image_u64(m, 20);
	image_u64(m, 8);
	image_pair(m, 21, 99);         /* weight, or its struct */
	image_u64(m, 22);              /* data source */
	image_u64(m, 23);              /* transaction */
	image_u64(m, 0);               /* registers at the interrupt: none */
	image_u64(m, 24);              /* physical address */
	if (has & FIELD_CGROUP)
		image_u64(m, 25);
	image_u64(m, 26);              /* page sizes */
	image_u64(m, 27);
	image_u64(m, 8);               /* aux */
	image_u64(m, 28);
	image_end(m);
}

#define ALL_FIELDS ((1u << 25) - 1 - FIELD_WEIGHT)

static struct perf_event event_of(uint64_t has, uint64_t read_format, uint64_t branch_type)
{
	static char name[] = "all";

	return (struct perf_event){
		.name = name,
		.attr = { .sample_type = has, .read_format = read_format, .user_regs = 0x81,
			  .intr_regs = 0xff, .branch_type = branch_type },
	};
}

static void check_all(const struct perf_sample *s, bool is_group, uint64_t branch_type)
{
	CHECK(s->id == 1 && s->ip == 2 && s->pid == 3 && s->tid == 4 && s->time == 5);
	CHECK(s->address == 6 && s->stream_id == 8 && s->cpu == 9 && s->period == 10);
	CHECK(s->read_count == (is_group ? 2 : 1));
	CHECK(perf_sample_read(s, 0).value == 100 && perf_sample_read(s, 0).id == 200);
	if (is_group)
		CHECK(perf_sample_read(s, 1).value == 101 && perf_sample_read(s, 1).id == 201);
	CHECK(s->has_chain && s->chain_count == 2 && s->chain[1] == 11);
	CHECK(text_is(s->raw, "hello"));
	CHECK(s->branch_count == 1 && s->branches[0].from == 13 && s->branches[0].to == 14);
	CHECK(s->branch_index == (branch_type & BRANCH_HW_INDEX ? 12 : NA_U64));
	CHECK(s->user_regs.abi == 2 && s->user_regs.count == 2 && s->user_regs.values[1] == 18);
	CHECK(s->stack_asked == 16 && s->stack_size == 8 && perf_u64(s->stack) == 19);
	CHECK(s->weight == 21 && s->data_source == 22 && s->transaction == 23);
	CHECK(s->intr_regs.abi == 0 && s->intr_regs.values == NULL);
	CHECK(s->physical_address == 24 && s->cgroup == 25 && s->data_page == 26 &&
	      s->code_page == 27 && s->aux.len == 8);
}

static void test_all_fields(void)
{
	static const uint64_t formats[] = {
		READ_ENABLED | READ_RUNNING | READ_ID | READ_LOST,
		READ_ENABLED | READ_RUNNING | READ_ID | READ_LOST | READ_GROUP,
	};
	static const uint64_t branches[] = { 0, BRANCH_HW_INDEX, BRANCH_COUNTERS,
					     BRANCH_HW_INDEX | BRANCH_COUNTERS };
	struct image m = { 0 };

	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < 4; k++) {
			const struct perf_event e = event_of(ALL_FIELDS, formats[i], branches[k]);
			struct perf_record r = { 0 };
			struct perf_sample s;

			buf_reset(&m.bytes);
			add_all(&m, ALL_FIELDS, formats[i], branches[k]);
			perf_record_header(&r, (unsigned char *)m.bytes.data);
			if (CHECK(!perf_sample_decode(&e, &r, &s)))
				check_all(&s, i == 1, branches[k]);
		}
	}
	buf_free(&m.bytes);
}

/* One byte less than a field needs, and it says which. */
static void test_cuts(void)
{
	const uint64_t format = READ_GROUP | READ_ENABLED | READ_RUNNING | READ_ID | READ_LOST;
	const struct perf_event e = event_of(ALL_FIELDS, format, BRANCH_HW_INDEX);
	struct image m = { 0 };

	add_all(&m, ALL_FIELDS, format, BRANCH_HW_INDEX);
	for (size_t n = 8; n < m.bytes.len; n += 8) {
		unsigned char *copy = malloc(n);
		struct perf_record r = { 0 };
		struct perf_sample s;

		if (!copy)
			abort();
		memcpy(copy, m.bytes.data, n);
		memcpy(copy + 6, &(uint16_t){ (uint16_t)n }, 2);
		perf_record_header(&r, copy);
		CHECK(perf_sample_decode(&e, &r, &s) == -22);
		CHECK(strstr(fail_text(), "a sample of all is too short for its ") != NULL);
		free(copy);
	}
	buf_free(&m.bytes);
}

/* Every u64 of it turned into what is far too large: nothing is read that is not there. */
static void test_hostile(void)
{
	const uint64_t format = READ_GROUP | READ_ENABLED | READ_RUNNING | READ_ID | READ_LOST;
	static const uint64_t values[] = { UINT64_MAX, UINT64_MAX - 7, 1ull << 61, 1ull << 32,
					   0xffffffff, 1000 };
	const struct perf_event e = event_of(ALL_FIELDS, format, BRANCH_COUNTERS);
	struct image m = { 0 };

	for (size_t at = 8;; at += 8) {
		buf_reset(&m.bytes);
		add_all(&m, ALL_FIELDS, format, BRANCH_COUNTERS);
		if (at >= m.bytes.len)
			break;
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			unsigned char *copy = malloc(m.bytes.len);
			struct perf_record r = { 0 };
			struct perf_sample s;
			uint64_t sum = 0;

			if (!copy)
				abort();
			memcpy(copy, m.bytes.data, m.bytes.len);
			memcpy(copy + at, &values[i], 8);
			perf_record_header(&r, copy);
			if (!perf_sample_decode(&e, &r, &s)) {
				for (size_t k = 0; k < s.read_count; k++)
					sum += perf_sample_read(&s, k).id;
				for (size_t k = 0; k < s.chain_count; k++)
					sum += s.chain[k];
				for (size_t k = 0; k < s.stack_size; k++)
					sum += s.stack[k];
				for (size_t k = 0; k < s.raw.len; k++)
					sum += (unsigned char)s.raw.data[k];
				CHECK(sum > 0 && s.stack_size <= s.stack_asked);
			}
			free(copy);
		}
	}
	buf_free(&m.bytes);
}

static void test_identity(void)
{
	struct perf_events es = { 0 };
	struct perf_identity i;
	uint32_t used;
	struct image m = { 0 };
	struct perf_record r = { 0 };
	const struct perf_attr a = {
		.sample_type = FIELD_TID | FIELD_TIME | FIELD_ID | FIELD_STREAM_ID | FIELD_CPU |
			       FIELD_IDENTIFIER | FIELD_PERIOD, .has_sample_id_all = true,
	};

	CHECK(perf_events_add_id(&es, perf_events_add(&es, &a), 5));
	image_begin(&m, RECORD_LOST, 0);
	image_u64(&m, 1);
	image_u64(&m, 2);
	image_pair(&m, 10, 11);
	for (uint64_t v = 12; v < 15; v++)
		image_u64(&m, v);
	image_pair(&m, 15, 0);
	image_u64(&m, 5);
	image_end(&m);
	perf_record_header(&r, (unsigned char *)m.bytes.data);
	perf_record_identity(&es, &r, &i, &used);
	CHECK(used == 48 && i.pid == 10 && i.tid == 11 && i.time == 12 && i.id == 5 &&
	      i.stream_id == 14 && i.cpu == 15);
	perf_record_find_time(&es, &r);
	CHECK(r.has_time && r.time == 12);
	/* too short for it; of perf's own */
	r.size = 48;
	perf_record_identity(&es, &r, &i, &used);
	CHECK(used == 0 && i.tid == NA_U64);
	r.type = RECORD_AUXTRACE;
	perf_record_find_time(&es, &r);
	CHECK(!r.has_time);
	perf_events_free(&es);
	buf_free(&m.bytes);
}

static void test_whose(void)
{
	struct perf_events es = { 0 };
	struct perf_attr a = { .sample_type = FIELD_IP | FIELD_TID | FIELD_ID }, b = a;
	uint64_t words[] = { (uint64_t)32 << 48 | RECORD_SAMPLE, 100, 200, 7 };
	struct perf_record r = { 0 };

	perf_record_header(&r, (unsigned char *)words);
	CHECK(!perf_record_event(&es, &r));
	perf_events_add_id(&es, perf_events_add(&es, &a), 6);
	CHECK(perf_record_event(&es, &r) == es.items[0]);
	perf_events_add_id(&es, perf_events_add(&es, &a), 7);
	CHECK(perf_record_event(&es, &r) == es.items[1]);
	words[3] = 8;
	CHECK(!perf_record_event(&es, &r));
	/* another layout, and no identifier in front */
	b.sample_type |= FIELD_TIME;
	perf_events_add(&es, &b);
	words[3] = 7;
	CHECK(es.has_other_layout && !perf_record_event(&es, &r));
	perf_events_free(&es);
	/* no ids at all: nobody can know, the first one */
	a.sample_type = b.sample_type = FIELD_IP | FIELD_TID;
	perf_events_add(&es, &a);
	perf_events_add(&es, &b);
	CHECK(es.has_no_id && perf_record_event(&es, &r) == es.items[0]);
	perf_events_free(&es);
}

static void test_names(void)
{
	static const struct {
		uint32_t type;
		uint64_t config;
		const char *want;
	} cases[] = {
		{ 0, 0, "cycles" }, { 0, 9, "ref-cycles" }, { 0, 0x400000001, "instructions" },
		{ 1, 0, "cpu-clock" }, { 1, 9, "dummy" }, { 1, 99, "event 1:0x63" },
		{ 2, 42, "tracepoint:42" }, { 8, 31, "event 8:0x1f" },
	};
	char name[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		perf_attr_name(&(struct perf_attr){ .type = cases[i].type,
						    .config = cases[i].config },
			       name, sizeof(name));
		CHECK_STR(name, cases[i].want);
	}
}

int main(void)
{
	test_all_fields();
	test_cuts();
	test_hostile();
	test_identity();
	test_whose();
	test_names();
	return check_done("perfsample");
}
