/* pprof and speedscope as they are written: read again by their readers, and byte by byte where a
 * reader would forgive. */
#include <errno.h>
#include <zlib.h>

#include "common/base/buf.h"
#include "common/stack/pprof_write.h"
#include "common/stack/protobuf.h"
#include "common/stack/speedscope_write.h"
#include "tests/unit/stacks.h"

static const struct profile_name clock_name = { "cpu-clock", "ns", "test 1" };
static const struct profile_name plain_name = { NULL, "samples", "test 1" };
static char unpacked[1 << 16];

static struct fold *fold_of(const char *const *stacks, const uint64_t *weights, size_t count)
{
	struct fold *f = fold_new();

	for (size_t i = 0; i < count; i++) {
		uint32_t node = FOLD_ROOT;
		const char *at = stacks[i];

		for (;;) {
			const size_t n = strcspn(at, ";");

			node = fold_child(f, node, (struct text){ at, n });
			if (!at[n])
				break;
			at += n + 1;
		}
		fold_add(f, node, 0, weights[i]);
	}
	return f;
}

static struct fold *sample(void)
{
	static const char *const stacks[] = { "a;b;c", "a;b", "a;a;a", "x\"\\\xff\x01" };
	static const uint64_t weights[] = { 3, 5, 7, 1ull << 40 };

	return fold_of(stacks, weights, 4);
}

static struct text written(int (*write)(const struct fold *, const struct profile_name *, FILE *),
			   const struct fold *f, const struct profile_name *what, char **memory)
{
	size_t size = 0;
	FILE *to = open_memstream(memory, &size);

	CHECK(to && write(f, what, to) == 0 && !fclose(to));
	return (struct text){ *memory, size };
}

static struct text unpack(struct text t)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)t.data, .avail_in = (uInt)t.len,
		       .next_out = (Bytef *)unpacked, .avail_out = sizeof(unpacked) };

	CHECK(inflateInit2(&z, 15 + 16) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END);
	CHECK(!z.avail_in);
	inflateEnd(&z);
	return (struct text){ unpacked, sizeof(unpacked) - z.avail_out };
}

static void test_pprof(void)
{
	struct fold *f = sample();
	char *memory, *again;
	const struct text packed = written(pprof_write, f, &clock_name, &memory);
	const struct text same = written(pprof_write, f, &clock_name, &again);
	struct text message = unpack(packed);
	struct protobuf_field field;
	unsigned fields[16] = { 0 };

	CHECK(packed.len == same.len && !memcmp(packed.data, same.data, packed.len));
	CHECK_STR(fold_pieces(STACK_PPROF, message, 0),
		  "a;a;a 7\na;b 5\na;b;c 3\nx\"\\\xef\xbf\xbd\\x01 1099511627776\n");
	while (protobuf_next(&message, &field))
		fields[field.number % 16]++;
	CHECK(!message.len);
	/* four samples; names a b c x: four locations, four functions, and strings more */
	CHECK(fields[1] == 1 && fields[2] == 4 && fields[4] == 4 && fields[5] == 4);
	CHECK(fields[6] == 4 + 4 && fields[11] == 1);
	CHECK(memmem(unpacked, sizeof(unpacked), "nanoseconds", 11) != NULL);
	free(memory);
	free(again);
	fold_free(f);
}

static void test_speedscope(void)
{
	struct fold *f = sample();
	char *memory;
	const struct text t = written(speedscope_write, f, &clock_name, &memory);

	CHECK(memmem(t.data, t.len, "\"unit\":\"nanoseconds\"", 20) != NULL);
	CHECK(memmem(t.data, t.len, "{\"name\":\"x\\\"\\\\\xef\xbf\xbd\\u0001\"}", 23) != NULL);
	CHECK(t.len > 5 && !strcmp(t.data + t.len - 4, "}]}\n"));
	free(memory);
	fold_free(f);

	static const char *const stacks[] = { "m;f", "m;g;g" };
	static const uint64_t weights[] = { 1, 2 };

	f = fold_of(stacks, weights, 2);
	CHECK_STR(fold_pieces(STACK_SPEEDSCOPE, written(speedscope_write, f, &plain_name, &memory),
			      0), "m;f 1\nm;g;g 2\n");
	free(memory);
	fold_free(f);
}

static void test_empty(void)
{
	struct fold *f = fold_new();
	char *memory;
	struct text message = unpack(written(pprof_write, f, &plain_name, &memory));
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		;
	CHECK(!message.len);
	free(memory);
	const struct text t = written(speedscope_write, f, &plain_name, &memory);

	CHECK(memmem(t.data, t.len, "\"samples\":[],", 13) != NULL);
	free(memory);
	fold_free(f);
}

/* A writer that has no room says so. */
static void test_full(void)
{
	struct fold *f = sample();
	FILE *full = fopen("/dev/full", "w");

	if (!full) {
		check_skip("full", "no /dev/full");
		fold_free(f);
		return;
	}
	setvbuf(full, NULL, _IONBF, 0);
	CHECK(pprof_write(f, &plain_name, full) == -ENOSPC);
	CHECK(speedscope_write(f, &plain_name, full) == -ENOSPC);
	fclose(full);
	fold_free(f);
}

int main(void)
{
	test_pprof();
	test_speedscope();
	test_empty();
	test_full();
	forget_stacks();
	return check_done("profilewrite");
}
