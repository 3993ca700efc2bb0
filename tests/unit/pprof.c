#include "common/stack/protobuf.h"
#include "tests/unit/stacks.h"

static char bytes[8192];
static size_t len;

static void add_varint(uint64_t v)
{
	for (; v > 127; v >>= 7)
		bytes[len++] = (char)(v | 128);
	bytes[len++] = (char)v;
}

static void add_number(unsigned field, uint64_t v)
{
	add_varint(field << 3);
	add_varint(v);
}

static void add_string(const char *s)
{
	add_varint(6 << 3 | 2);
	add_varint(strlen(s));
	memcpy(bytes + len, s, strlen(s));
	len += strlen(s);
}

/* A message of a number for each field from 1 on. */
static void add_message(unsigned field, size_t count, const uint64_t *numbers)
{
	const size_t start = len;

	add_varint(field << 3 | 2);
	bytes[len++] = 0;
	const size_t from = len;

	for (size_t i = 0; i < count; i++)
		add_number((unsigned)i + 1, numbers[i]);
	bytes[from - 1] = (char)(len - from);
	CHECK(len - from < 128 && len > start);
}

#define MESSAGE(field, ...) add_message(field, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, \
					(uint64_t[]){ __VA_ARGS__ })

static struct text all(void)
{
	return (struct text){ bytes, len };
}

/* cpu/nanoseconds behind samples/count; main calls run, into which f is inlined. */
static struct text profile(bool has_default)
{
	static const char *const strings[] = { "", "samples", "count", "cpu", "nanoseconds", "main",
					       "run(int)", "f", "/src/run.c", "/lib/x.so", "comm",
					       "wor ker" };
	static const char location[] = { 4 << 3 | 2, 14, 1 << 3, 1, 2 << 3, 1, 4 << 3 | 2, 4,
		1 << 3, 3,
					 2 << 3, 7, 4 << 3 | 2, 2, 1 << 3, 2 };
	/* packed ids, values one by one, a label */
	static const char sample[] = { 2 << 3 | 2, 16, 1 << 3 | 2, 3, 1, 2, 3, 2 << 3, 4, 2 << 3,
		40,
				       3 << 3 | 2, 5, 1 << 3, 10, 2 << 3, 11, 0 };

	len = 0;
	MESSAGE(1, 1, 2);
	MESSAGE(1, 3, 4);
	memcpy(bytes + len, sample, sizeof(sample) - 1);
	bytes[len + 12] = 4; /* the label's length: two numbers */
	bytes[len + 1] = sizeof(sample) - 3;
	len += sizeof(sample) - 1;
	MESSAGE(2, 2, 7);
	MESSAGE(3, 1, 0x1000, 0x2000, 0, 9);
	memcpy(bytes + len, location, sizeof(location));
	len += sizeof(location);
	MESSAGE(4, 2, 1, 0x1234);
	MESSAGE(4, 3);
	for (uint64_t id = 1; id <= 3; id++)
		MESSAGE(5, id, 4 + id, 4 + id, 8);
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		add_string(strings[i]);
	add_number(12, 10000000);
	if (has_default)
		add_number(14, 1);
	return all();
}

static void test_profile(void)
{
	struct text t = profile(false);

	CHECK(stack_kind_of(t) == STACK_PPROF);
	CHECK_STR(fold_as(STACK_PPROF, t), "wor_ker;[unknown];[x.so];run;f 40\n");
	CHECK(!result.failure && result.event_count == 2 && result.samples == 1);
	CHECK_STR(result.events[0].name, "samples");
	CHECK_STR(result.events[1].unit, "ns");
	CHECK(result.events[1].is_folded && !result.events[0].is_folded);
	CHECK(result.events[0].samples == 2 && result.events[1].samples == 1);
	stack_options.event = "samples";
	stack_options.frame.inlined = stack_options.frame.source_lines = true;
	stack_options.frame.addresses = true;
	CHECK_STR(fold_as(STACK_PPROF, t), "[x.so <1234>] 7\n"
		  "wor_ker;[unknown];[x.so <1234>];run;f:run.c:7_[i] 4\n");
	stack_options.event = "other";
	CHECK_STR(fold_as(STACK_PPROF, t), "");
	no_options();
	stack_options.weighs_samples = true;
	CHECK_STR(fold_as(STACK_PPROF, t), "[x.so] 7\nwor_ker;[unknown];[x.so];run;f 4\n");
	no_options();
	CHECK_STR(fold_as(STACK_PPROF, profile(true)),
		  "[x.so] 7\nwor_ker;[unknown];[x.so];run;f 4\n");
	for (size_t n = 0; n < len; n++) {
		fold_as(STACK_PPROF, cut(all(), n));
		CHECK(result.samples <= 2);
	}
}

static void test_hostile(void)
{
	CHECK_STR(fold_as(STACK_PPROF, TEXT("\x0a\x7f\x08")), "");
	CHECK_STR(result.failure, "cut or broken 3 bytes before its end");
	CHECK(stack_kind_of(TEXT("\n\nsome text")) == STACK_UNKNOWN);
	CHECK(stack_kind_of(TEXT("\x0a\x04\x08\x01\x10\x02\x12\x02\x08\x01")) == STACK_PPROF);
	CHECK(stack_kind_of(TEXT("\x0a\x04\x08\x01\x18\x02\x12\x02\x08\x01")) == STACK_UNKNOWN);
	/* more types than there is room for, ids of nothing, values below 0 */
	len = 0;
	for (unsigned i = 0; i < 100; i++)
		MESSAGE(1, i, i);
	MESSAGE(2, 77, UINT64_MAX);
	MESSAGE(2, 77, 5);
	CHECK_STR(fold_as(STACK_PPROF, all()), "");
	len = 0;
	MESSAGE(2, 77, UINT64_MAX);
	MESSAGE(2, 77, 5);
	CHECK_STR(fold_as(STACK_PPROF, all()), "[unknown] 5\n");
}

static void test_fields(void)
{
	struct text t = TEXT("\x08\x96\x01\x11\x01\x00\x00\x00\x00\x00\x00\x80\x1a\x02" "ab"
			     "\x25\x04\x03\x02\x01"), one;
	struct protobuf_field f;
	uint64_t v;

	CHECK(protobuf_next(&t, &f) && f.number == 1 && f.wire == PROTOBUF_VARINT &&
		f.value == 150);
	CHECK(protobuf_next(&t, &f) && f.number == 2 && f.value == 0x8000000000000001);
	CHECK(protobuf_next(&t, &f) && f.number == 3 && text_is(f.bytes, "ab"));
	CHECK(protobuf_next(&t, &f) && f.number == 4 && f.value == 0x01020304 && !t.len);
	CHECK(!protobuf_next(&t, &f) && f.number == 4);
	static const struct text broken[] = {
		TEXT("\x08"), TEXT("\x08\x80"), TEXT("\x1a\x02" "a"), TEXT("\x00\x01"),
			TEXT("\x0b"),
		TEXT("\x09\x01\x02\x03\x04\x05\x06\x07"), TEXT("\x0d\x01\x02\x03"),
		TEXT("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "a"),
		TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"),
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		one = cut(broken[i], broken[i].len);
		CHECK(!protobuf_next(&one, &f) && one.len == broken[i].len);
	}
	one = TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	CHECK(protobuf_varint(&one, &v) && v == UINT64_MAX && !one.len);
	one = TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	CHECK(!protobuf_varint(&one, &v));
}

int main(void)
{
	test_fields();
	test_profile();
	test_hostile();
	forget_stacks();
	return check_done("pprof");
}
