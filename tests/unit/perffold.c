/* Samples made by hand, folded: what the stack is, what it weighs, what is counted. */
#include "common/stack/perffold.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "common/base/na.h"
#include "perfimage.h"

static const struct image_attr plain = {
	.type = 1, .size = 112, .sample_type = IMAGE_SAMPLE_TYPE, .flags = IMAGE_ID_ALL, .id = 7,
};

/* What a recording folds to, as text; the caller frees it. */
static char *folded;
static struct perffold_result result;

static void fold_image(struct image *m, const struct perffold_options *o)
{
	struct perfdata *d;
	size_t size;

	free(folded);
	folded = NULL;
	if (m->bytes.len > 56)
		image_close(m);
	if (!CHECK(!perfdata_open_memory(buf_text(&m->bytes), "x", &d)))
		return;
	struct fold *f = fold_new();
	FILE *to = open_memstream(&folded, &size);
	const struct perffold_options none = { 0 };
	struct perffold *pf = perffold_recording(d, f, o ? o : &none);

	result = *perffold_end(pf);
	result.events = NULL;
	fold_write(f, false, to);
	fclose(to);
	perffold_free(pf);
	fold_free(f);
	perfdata_close(d);
}

static void begin(struct image *m)
{
	image_file(m, &plain, 1);
	image_mmap(m, MODE_KERNEL, UINT32_MAX, 0xffff000000000000, 0x100000, 0xffff000000000000,
		   "[kernel.kallsyms]_text", 0);
	image_comm(m, 5, 5, "a b", false, 0);
	image_mmap(m, MODE_USER, 5, 0x1000, 0x1000, 0, "/usr/bin/x", 0);
}

#define SAMPLE(m, time, period, ...) \
	image_sample((m), MODE_USER, 5, 5, (time), (period), (const uint64_t[]){ __VA_ARGS__ }, \
		     sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static void test_contexts(void)
{
	struct image m = { 0 };

	begin(&m);
	SAMPLE(&m, 10, 3, CONTEXT_KERNEL, 0xffff000000000020, 0xffff000000000030, CONTEXT_USER,
	       0x1010, 0x1020);
	SAMPLE(&m, 11, 4, CONTEXT_KERNEL, 0xffff000000000020, 0xffff000000000030, CONTEXT_USER,
	       0x1010, 0x1020);
	SAMPLE(&m, 12, 5, CONTEXT_USER, 0x1010, 0x9999);
	fold_image(&m, NULL);
	CHECK_STR(folded, "a_b;[unknown];[x+0x10] 5\n"
			  "a_b;[x+0x20];[x+0x10];[kernel+0x30];[kernel+0x20] 7\n");
	CHECK(result.samples == 3 && result.raw_stacks == 2 && result.event_count == 1);
	/* counted */
	fold_image(&m, &(struct perffold_options){ .stack.weighs_samples = true });
	CHECK_STR(folded, "a_b;[unknown];[x+0x10] 1\n"
			  "a_b;[x+0x20];[x+0x10];[kernel+0x30];[kernel+0x20] 2\n");
	/* what a frame is called by the options that text has too */
	fold_image(&m, &(struct perffold_options){ .stack.frame = { .kernel = true,
								   .addresses = true } });
	CHECK_STR(folded, "a_b;[unknown <9999>];[x <1010>] 5\n"
			  "a_b;[x <1020>];[x <1010>];[kernel.kallsyms <ffff000000000030>]_[k];"
			  "[kernel.kallsyms <ffff000000000020>]_[k] 7\n");
	buf_free(&m.bytes);
}

/* No contexts (old kernels), no chain, nothing at all; a guest's frames. */
static void test_bare_chains(void)
{
	struct image m = { 0 };

	begin(&m);
	SAMPLE(&m, 10, 1, 0x1010, 0x1020);
	image_sample(&m, MODE_KERNEL, 5, 5, 11, 1, (const uint64_t[]){ 0xffff000000000020 }, 1);
	image_sample(&m, MODE_USER, 5, 5, 12, 1, NULL, 0);
	SAMPLE(&m, 13, 1, CONTEXT_GUEST_KERNEL, 0x1010);
	SAMPLE(&m, 14, 1, (uint64_t)-77, 0x1010);
	image_sample(&m, MODE_USER, 9, 9, 15, 1, (const uint64_t[]){ CONTEXT_USER, 0x1010 }, 2);
	fold_image(&m, NULL);
	CHECK_STR(folded, ":9;[unknown] 1\n"
			  "a_b;[guest];[kernel] 1\n"
			  "a_b;[kernel+0x20] 1\n"
			  "a_b;[unknown] 1\n"
			  "a_b;[x+0x10] 1\n"
			  "a_b;[x+0x20];[x+0x10] 1\n");
	buf_free(&m.bytes);
}

/* An address means what was mapped there when the sample was taken. */
static void test_meaning_changes(void)
{
	struct image m = { 0 };

	begin(&m);
	SAMPLE(&m, 10, 1, CONTEXT_USER, 0x1010);
	image_mmap(&m, MODE_USER, 5, 0x1000, 0x1000, 0x100, "/usr/bin/y", 11);
	SAMPLE(&m, 12, 1, CONTEXT_USER, 0x1010);
	image_comm(&m, 5, 5, "new", true, 13);
	SAMPLE(&m, 14, 1, CONTEXT_USER, 0x1010);
	image_mmap(&m, MODE_USER, 5, 0x1000, 0x1000, 0, "/usr/bin/z", 14);
	SAMPLE(&m, 15, 1, CONTEXT_USER, 0x1010);
	image_fork(&m, RECORD_FORK, 0, 6, 5, 6, 5, 16);
	image_sample(&m, MODE_USER, 6, 6, 17, 1, (const uint64_t[]){ CONTEXT_USER, 0x1010 }, 2);
	fold_image(&m, NULL);
	/* what was sampled before its map was told is looked up when it is known */
	CHECK_STR(folded, "a_b;[x+0x10] 1\na_b;[y+0x110] 1\nnew;[z+0x10] 3\n");
	buf_free(&m.bytes);
}

static void test_truncated(void)
{
	struct image m = { 0 };
	uint64_t chain[ATTR_MAX_STACK + 1] = { CONTEXT_USER };

	for (size_t i = 1; i <= ATTR_MAX_STACK; i++)
		chain[i] = 0x1010;
	begin(&m);
	image_sample(&m, MODE_USER, 5, 5, 10, 1, chain, ATTR_MAX_STACK + 1);
	image_sample(&m, MODE_USER, 5, 5, 11, 1, chain, ATTR_MAX_STACK);
	fold_image(&m, NULL);
	CHECK(result.truncated == 1 && result.samples == 2);
	CHECK(!strncmp(folded, "a_b;[truncated];[x+0x10];", 25));
	CHECK(strstr(folded, "\na_b;[x+0x10];[x+0x10]") != NULL);
	/* a limit of the event's own */
	struct image_attr a = plain;

	a.max_stack = 3;
	image_file(&m, &a, 1);
	SAMPLE(&m, 10, 1, CONTEXT_USER, 0x1010, 0x1020);
	SAMPLE(&m, 10, 1, CONTEXT_USER, 0x1010, 0x1020, 0x1030);
	fold_image(&m, NULL);
	CHECK(result.truncated == 1);
	buf_free(&m.bytes);
}

static void add_deferred(struct image *m, uint32_t tid, uint64_t cookie, uint64_t time)
{
	image_begin(m, RECORD_CALLCHAIN_DEFERRED, 0);
	image_u64(m, cookie);
	image_u64(m, 3);
	image_u64(m, CONTEXT_USER);
	image_u64(m, 0x1010);
	image_u64(m, 0x1020);
	image_trailer(m, 5, tid, time);
}

static void test_deferred(void)
{
	struct image m = { 0 };

	begin(&m);
	SAMPLE(&m, 10, 1, CONTEXT_KERNEL, 0xffff000000000020, CONTEXT_USER_DEFERRED, 42);
	SAMPLE(&m, 11, 1, CONTEXT_KERNEL, 0xffff000000000020, CONTEXT_USER_DEFERRED, 42);
	SAMPLE(&m, 12, 1, CONTEXT_KERNEL, 0xffff000000000020, CONTEXT_USER_DEFERRED, 43);
	add_deferred(&m, 77, 42, 13);  /* somebody else's */
	add_deferred(&m, 5, 42, 14);
	fold_image(&m, NULL);
	CHECK_STR(folded, "a_b;[truncated];[kernel+0x20] 1\n"
			  "a_b;[x+0x20];[x+0x10];[kernel+0x20] 2\n");
	CHECK(result.without_user_part == 1 && result.samples == 3);
	/* more of them than are kept */
	begin(&m);
	for (uint64_t i = 0; i < PERFFOLD_DEFERRED_MAX + 10; i++)
		SAMPLE(&m, 10 + i, 1, CONTEXT_KERNEL, 0xffff000000000020, CONTEXT_USER_DEFERRED,
		       i);
	fold_image(&m, NULL);
	CHECK(result.samples == PERFFOLD_DEFERRED_MAX + 10);
	CHECK(result.without_user_part == PERFFOLD_DEFERRED_MAX + 10);
	buf_free(&m.bytes);
}

static void test_branches(void)
{
	struct image m = { 0 };
	struct image_attr a = plain;
	const uint64_t stack[] = { 0x1500, 0x1010, 0, 0x1600, 0x1500, 0 };

	a.sample_type |= FIELD_BRANCH_STACK;
	a.branch_type = BRANCH_CALL_STACK | BRANCH_HW_INDEX;
	image_file(&m, &a, 1);
	image_mmap(&m, MODE_USER, 5, 0x1000, 0x1000, 0, "/usr/bin/x", 0);
	SAMPLE(&m, 10, 1, CONTEXT_KERNEL, 0xffff000000000020, CONTEXT_USER, 0x1010);
	image_u64(&m, 2);
	image_u64(&m, 0);
	buf_add(&m.bytes, stack, sizeof(stack));
	image_end(&m);
	fold_image(&m, NULL);
	CHECK_STR(folded, ":5;[x+0x600];[x+0x500];[x+0x10];[kernel] 1\n");
	buf_free(&m.bytes);
}

static void test_dumps(void)
{
	struct image m = { 0 };
	struct image_attr a = plain;
	struct symbols *symbols = symbols_new(&(struct symbols_options){ 0 });

	a.sample_type |= FIELD_REGS_USER | FIELD_STACK_USER;
	a.user_regs = 0x180;          /* sp and ip of x86 */
	image_file(&m, &a, 1);
	image_mmap(&m, MODE_USER, 5, 0x1000, 0x1000, 0, "/usr/bin/perfbox-no-such-file", 0);
	for (uint64_t i = 0; i < 3; i++) {
		SAMPLE(&m, 10 + i, 1, CONTEXT_KERNEL, 0xffff000000000020);
		if (i == 2) {          /* a kernel thread has no registers and no stack */
			image_u64(&m, 0);
			image_u64(&m, 0);
			image_end(&m);
			break;
		}
		image_u64(&m, 2);
		image_u64(&m, 1);
		image_u64(&m, 0x1010);
		image_u64(&m, 16);
		image_u64(&m, 0x11);
		image_u64(&m, 0x22);
		image_u64(&m, 8);
		image_end(&m);
	}
	/* what is mapped there is no file */
	fold_image(&m, &(struct perffold_options){ .symbols = symbols });
	CHECK_STR(folded, ":5;[kernel+0xffff000000000020] 1\n"
			  ":5;[truncated];[perfbox-no-such-file+0x10];[kernel+0xffff000000000020] "
			  "2\n");
	CHECK(result.unwound[UNWIND_WHOLE] == 0 && result.unwound[UNWIND_NO_FILE] == 2);
	/* without an unwinder the leaf is known */
	fold_image(&m, NULL);
	CHECK_STR(folded, ":5;[kernel] 1\n:5;[truncated];[perfbox-no-such-file+0x10];[kernel] 2\n");
	symbols_free(symbols);
	buf_free(&m.bytes);
}

static void test_events(void)
{
	struct image m = { 0 };
	struct image_attr two[] = { plain, plain };

	two[0].sample_type = two[1].sample_type = IMAGE_SAMPLE_TYPE | FIELD_IDENTIFIER;
	two[1].config = 2;
	two[1].id = 8;
	image_file(&m, two, 2);
	for (uint64_t i = 0; i < 5; i++) {
		image_begin(&m, RECORD_SAMPLE, MODE_USER);
		image_u64(&m, i < 3 ? 8 : i < 4 ? 7 : 99);
		image_u64(&m, 1);
		image_pair(&m, 5, 5);
		image_u64(&m, 10 + i);
		image_u64(&m, 1);
		image_u64(&m, 0);
		image_end(&m);
	}
	/* the first in the order they were asked for, though it came last */
	fold_image(&m, NULL);
	CHECK_STR(folded, ":5;[unknown] 1\n");
	CHECK(result.event_count == 2 && result.without_event == 1);
	fold_image(&m, &(struct perffold_options){ .stack.event = "page-faults" });
	CHECK_STR(folded, ":5;[unknown] 3\n");
	fold_image(&m, &(struct perffold_options){ .stack.event = "cycles" });
	CHECK_STR(folded, "");
	buf_free(&m.bytes);
}

/* A group's leader samples for its members: what each has counted since the last time. */
static void test_group(void)
{
	struct image m = { 0 };
	struct image_attr two[] = { plain, plain };
	static const uint64_t values[][2] = { { 100, 5 }, { 250, 5 }, { 400, 9 } };

	for (size_t i = 0; i < 2; i++) {
		two[i].sample_type = FIELD_IP | FIELD_TID | FIELD_TIME | FIELD_ID | FIELD_READ;
		two[i].read_format = READ_GROUP | READ_ID | READ_ENABLED | READ_LOST;
	}
	two[1].config = 2;
	two[1].id = 8;
	image_file(&m, two, 2);
	for (uint64_t i = 0; i < 3; i++) {
		image_begin(&m, RECORD_SAMPLE, MODE_USER);
		image_u64(&m, 0x1010);
		image_pair(&m, 5, 5);
		image_u64(&m, 10 + i);
		image_u64(&m, 7);
		image_u64(&m, 2);      /* members; time enabled; value, id, lost of each */
		image_u64(&m, 1000);
		for (uint64_t k = 0; k < 2; k++) {
			image_u64(&m, values[i][k]);
			image_u64(&m, 7 + k);
			image_u64(&m, 0);
		}
		image_end(&m);
	}
	fold_image(&m, NULL);
	CHECK_STR(folded, ":5;[unknown] 400\n");
	CHECK(result.samples == 3);
	fold_image(&m, &(struct perffold_options){ .stack.event = "page-faults" });
	CHECK_STR(folded, ":5;[unknown] 9\n");
	CHECK(result.samples == 2);    /* the second time nothing was counted */
	buf_free(&m.bytes);
}

static void test_filters(void)
{
	struct image m = { 0 };
	struct image_attr a = plain;

	a.sample_type |= FIELD_CPU | FIELD_CGROUP;
	a.flags = 0;                   /* the trailer would have a CPU too */
	image_file(&m, &a, 1);
	image_begin(&m, RECORD_CGROUP, 0);
	image_u64(&m, 42);
	image_name(&m, "/a;b");
	image_trailer(&m, 0, 0, 0);
	for (uint64_t i = 0; i < 4; i++) {
		image_begin(&m, RECORD_SAMPLE, MODE_USER);
		image_u64(&m, 0x1010);
		image_pair(&m, 5, (uint32_t)(5 + i));
		image_u64(&m, i * 1000000000);
		image_pair(&m, (uint32_t)i, 0);
		image_u64(&m, 1);
		image_u64(&m, 0);
		image_u64(&m, 42 + i / 2);
		image_end(&m);
	}
	static const struct {
		struct stack_filter_options o;
		const char *want;
	} cases[] = {
		{ { .by = ROOT_TID }, ":5-5/5;[unknown] 1\n:6-5/6;[unknown] 1\n"
				      ":7-5/7;[unknown] 1\n:8-5/8;[unknown] 1\n" },
		{ { .by = ROOT_CGROUP }, "/a:b;[unknown] 2\n?;[unknown] 2\n" },
		{ { .by = ROOT_CPU, .cpus = "1,3" }, "cpu_1;[unknown] 1\ncpu_3;[unknown] 1\n" },
		{ { .by = ROOT_NONE, .has_from = true, .from = 1, .has_to = true, .to = 2 },
		  "[unknown] 2\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perfdata *d;
		struct fold *f = fold_new();
		struct stack_filter *filter;
		char *text;
		size_t size;
		FILE *to = open_memstream(&text, &size);

		image_close(&m);
		CHECK(!stack_filter_new(&cases[i].o, f, &filter));
		CHECK(!perfdata_open_memory(buf_text(&m.bytes), "x", &d));
		struct perffold *pf = perffold_recording(d, f, &(struct perffold_options){
			.stack.filter = filter });

		perffold_end(pf);
		fold_write(f, false, to);
		fclose(to);
		CHECK_STR(text, cases[i].want);
		free(text);
		perffold_free(pf);
		stack_filter_free(filter);
		fold_free(f);
		perfdata_close(d);
	}
	buf_free(&m.bytes);
}

/* Samples shorter than their fields are counted, never folded; those around them are. */
static void test_damaged(void)
{
	struct image m = { 0 };

	begin(&m);
	SAMPLE(&m, 10, 1, CONTEXT_USER, 0x1010);
	SAMPLE(&m, 11, 1, CONTEXT_USER, 0x1010);
	memcpy(m.bytes.data + m.bytes.len - 24, (uint64_t[]){ UINT64_MAX / 8 }, 8);
	SAMPLE(&m, 12, 1, CONTEXT_USER, 0x1010);
	fold_image(&m, NULL);
	CHECK_STR(folded, "a_b;[x+0x10] 2\n");
	CHECK(result.damaged == 1 && result.samples == 2);
	buf_free(&m.bytes);
}

int main(void)
{
	test_contexts();
	test_bare_chains();
	test_meaning_changes();
	test_truncated();
	test_deferred();
	test_branches();
	test_dumps();
	test_events();
	test_group();
	test_filters();
	test_damaged();
	free(folded);
	return check_done("perffold");
}
