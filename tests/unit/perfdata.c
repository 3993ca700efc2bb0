/* perf.data: what is whole is read, in order of time; what is cut or hostile is said. */
#include "common/stack/perfdata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <zstd.h>

#include "check.h"
#include "common/base/na.h"
#include "common/stack/perfsample.h"
#include "cut.h"
#include "perfimage.h"

static const struct image_attr plain = {
	.type = 1, .size = 112, .sample_type = IMAGE_SAMPLE_TYPE, .flags = IMAGE_ID_ALL, .id = 7,
};

/* What a recording gave: times of all records in the order they came. */
struct seen {
	int err;
	uint64_t times[64], offsets[64];
	size_t records, samples;
	size_t remarks;
	bool is_whole;
	char remark[256], event[64];
};

static struct seen read_all(struct perfdata *d)
{
	struct seen s = { 0 };
	struct perf_record r;

	while (perfdata_next(d, &r)) {
		if (s.records < 64) {
			s.times[s.records] = r.has_time ? r.time : 0;
			s.offsets[s.records] = r.offset;
		}
		s.records++;
		s.samples += r.type == RECORD_SAMPLE;
	}
	s.is_whole = perfdata_is_whole(d);
	s.remarks = perfdata_remark_count(d);
	if (s.remarks)
		snprintf(s.remark, sizeof(s.remark), "%s", perfdata_remark(d, 0));
	if (perfdata_events(d)->count)
		snprintf(s.event, sizeof(s.event), "%s", perfdata_events(d)->items[0]->name);
	perfdata_close(d);
	return s;
}

static struct seen read_text(struct text t)
{
	struct perfdata *d;
	struct seen s = { 0 };

	s.err = perfdata_open_memory(t, "x", &d);
	if (s.err)
		snprintf(s.remark, sizeof(s.remark), "%s", fail_text());
	return s.err ? s : read_all(d);
}

static struct seen read_image(const struct image *m)
{
	return read_text(buf_text(&m->bytes));
}

/* Through a pipe, whose first n bytes were read already. */
static struct seen read_pipe(struct text t, size_t n)
{
	int ends[2];
	struct perfdata *d;
	struct seen s = { 0 };

	if (pipe(ends) || write(ends[1], t.data + n, t.len - n) != (ssize_t)(t.len - n))
		abort();
	close(ends[1]);
	s.err = perfdata_open_fd(ends[0], (struct text){ t.data, n }, "stdin", &d);
	if (!s.err)
		s = read_all(d);
	close(ends[0]);
	return s;
}

static void add_samples(struct image *m, const uint64_t *times, size_t count)
{
	static const uint64_t chain[] = { CONTEXT_USER, 0x1000, 0x2000 };

	for (size_t i = 0; i < count; i++)
		image_sample(m, MODE_USER, 1, 1, times[i], 1, chain, 3);
}

static void add_round(struct image *m)
{
	image_begin(m, RECORD_FINISHED_ROUND, 0);
	image_end(m);
}

static void test_attr_sizes(void)
{
	static const uint32_t sizes[] = { 0, 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200 };
	static const uint64_t times[] = { 5, 6 };
	struct image m = { 0 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct image_attr a = plain;

		a.size = sizes[i];
		image_file(&m, &a, 1);
		add_samples(&m, times, 2);
		image_close(&m);
		struct seen s = read_image(&m);

		CHECK(!s.err && s.samples == 2 && s.is_whole && !s.remarks);
		CHECK(s.times[0] == 5 && s.times[1] == 6);
		CHECK_STR(s.event, "cpu-clock");
		image_pipe(&m, &a, 1);
		add_samples(&m, times, 2);
		s = read_image(&m);
		CHECK(!s.err && s.samples == 2 && s.is_whole && !s.remarks && s.times[0] == 5);
	}
	buf_free(&m.bytes);
}

static void test_attr_tail_is_ignored(void)
{
	struct image m = { 0 };
	struct perf_attr a;
	struct image_attr from = plain;

	from.size = 144;
	from.max_stack = 40;
	image_attr(&m, &from);
	CHECK(perf_attr_decode(buf_text(&m.bytes), &a) && a.max_stack == 40 && a.size == 144);
	/* an attr of 64 bytes has no max_stack, whatever stands behind it */
	from.size = 64;
	memcpy(m.bytes.data + 4, &from.size, 4);
	CHECK(perf_attr_decode(buf_text(&m.bytes), &a) && a.max_stack == 0);
	CHECK(!perf_attr_decode((struct text){ m.bytes.data, 63 }, &a));
	buf_free(&m.bytes);
}

static void check_times(const struct seen *s, const uint64_t *times, size_t count)
{
	CHECK(s->records == count);
	for (size_t i = 0; i < count && i < s->records; i++)
		CHECK(s->times[i] == times[i]);
}

static void test_order(void)
{
	static const uint64_t first[] = { 10, 20, 30, 11, 21 }, second[] = { 25, 40, 31 };
	static const uint64_t third[] = { 41, 42 };
	static const uint64_t sorted[] = { 10, 11, 20, 21, 25, 30, 31, 40, 41, 42 };
	struct image m = { 0 };

	image_file(&m, &plain, 1);
	add_samples(&m, first, 5);
	add_round(&m);
	add_samples(&m, second, 3);
	add_round(&m);
	add_samples(&m, third, 2);
	add_round(&m);
	image_close(&m);
	struct seen s = read_image(&m);

	check_times(&s, sorted, 10);
	/* the same without rounds */
	image_file(&m, &plain, 1);
	add_samples(&m, third, 2);
	add_samples(&m, second, 3);
	add_samples(&m, first, 5);
	image_close(&m);
	s = read_image(&m);
	check_times(&s, sorted, 10);
	buf_free(&m.bytes);
}

/* Of the same time: as they stand in the file. Without a time: where they stand. */
static void test_order_is_stable(void)
{
	struct image m = { 0 };
	static const uint64_t same[] = { 9, 5, 5, 5, 5, 1 };

	image_file(&m, &plain, 1);
	add_samples(&m, same, 6);
	image_comm(&m, 1, 1, "made up", false, 0);
	image_close(&m);
	const struct seen s = read_image(&m);

	CHECK(s.records == 7 && s.times[0] == 0 && s.times[1] == 1 && s.times[6] == 9);
	for (size_t i = 3; i < 6; i++)
		CHECK(s.times[i] == 5 && s.offsets[i] > s.offsets[i - 1]);
	buf_free(&m.bytes);
}

static void test_skips(void)
{
	static const uint64_t times[] = { 5, 6 };
	struct image m = { 0 };

	image_file(&m, &plain, 1);
	image_begin(&m, RECORD_AUXTRACE, 0);
	image_u64(&m, 24);
	for (size_t i = 0; i < 5; i++)
		image_u64(&m, 0);
	image_end(&m);
	for (size_t i = 0; i < 3; i++)
		image_u64(&m, UINT64_MAX); /* would be records of 65535 bytes */
	add_samples(&m, times, 1);
	image_begin(&m, RECORD_HEADER_TRACING_DATA, 0);
	image_pair(&m, 5, 0);
	image_end(&m);
	image_u64(&m, UINT64_MAX);
	image_begin(&m, 32768, 0);     /* somebody else's */
	image_u64(&m, 1);
	image_end(&m);
	image_begin(&m, 99, 0);        /* newer than we are */
	image_end(&m);
	add_samples(&m, times + 1, 1);
	image_close(&m);
	struct seen s = read_image(&m);

	CHECK(s.samples == 2 && s.is_whole && !s.remarks);
	/* more to skip than there is */
	image_begin(&m, RECORD_AUXTRACE, 0);
	image_u64(&m, UINT64_MAX - 7);
	image_end(&m);
	image_close(&m);
	s = read_image(&m);
	CHECK(s.samples == 2 && !s.is_whole);
	buf_free(&m.bytes);
}

static void test_sizes(void)
{
	static const uint64_t times[] = { 5 };
	struct image m = { 0 };

	image_file(&m, &plain, 1);
	add_samples(&m, times, 1);
	const size_t at = m.bytes.len;

	image_begin(&m, RECORD_SAMPLE, 0);
	add_samples(&m, times, 1);
	image_close(&m);
	m.bytes.data[at + 6] = m.bytes.data[at + 7] = 0;
	struct seen s = read_image(&m);
	char want[128];

	CHECK(s.samples == 1 && !s.is_whole);
	snprintf(want, sizeof(want),
		 "x: at byte %zu: a record of 0 bytes: what follows cannot be read", at);
	CHECK_STR(s.remark, want);
	/* the recorder was killed: no size, read to the end */
	image_file(&m, &plain, 1);
	add_samples(&m, times, 1);
	s = read_image(&m);
	CHECK(s.samples == 1 && s.is_whole && s.remarks == 1);
	/* perf's messages behind a stream are no loss */
	image_pipe(&m, &plain, 1);
	add_samples(&m, times, 1);
	buf_add_text(&m.bytes, "[ perf record: Woken up 1 times to write data ]\n");
	s = read_image(&m);
	CHECK(s.samples == 1 && s.is_whole && s.remarks == 1);
	buf_free(&m.bytes);
}

static void test_other_formats(void)
{
	char old[104] = "PERFFILE", swapped[104] = "2ELIFREP", none[104] = "ELF";
	struct seen s = read_text((struct text){ old, sizeof(old) });

	CHECK(s.err == -ENOTSUP);
	s = read_text((struct text){ swapped, sizeof(swapped) });
	CHECK(s.err == -ENOTSUP);
	CHECK_STR(s.remark, "x: recorded on a machine of the other byte order");
	CHECK(read_text((struct text){ none, sizeof(none) }).err == -EINVAL);
	CHECK(read_text((struct text){ none, 0 }).err == -EINVAL);
	CHECK(perfdata_is(TEXT("PERFILE2")) && perfdata_is(TEXT("2ELIFREP....")));
	CHECK(!perfdata_is(TEXT("PERFILE")) && !perfdata_is(TEXT("# ========")));
}

/* Records that are not a multiple of 8 long: no recorder writes them; we read them all the same. */
static void test_unaligned(void)
{
	static const uint64_t times[] = { 5, 6 };
	struct image m = { 0 };

	image_file(&m, &plain, 1);
	image_begin(&m, 70, 0);
	buf_add(&m.bytes, "abc", 3);
	image_end(&m);
	add_samples(&m, times, 2);
	image_close(&m);
	const struct seen s = read_image(&m);

	CHECK(s.samples == 2 && s.is_whole && s.times[1] == 6);
	buf_free(&m.bytes);
}

/* What `records` is, in compressed records of `piece` bytes each. */
static void add_compressed(struct image *m, struct text records, uint32_t type, size_t piece)
{
	char packed[4096];
	ZSTD_CStream *z = ZSTD_createCStream();
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
	ZSTD_inBuffer in = { records.data, records.len, 0 };

	ZSTD_compressStream(z, &out, &in);
	ZSTD_flushStream(z, &out);     /* never ended: a recorder that was killed */
	ZSTD_freeCStream(z);
	for (size_t at = 0; at < out.pos; at += piece) {
		const size_t n = out.pos - at < piece ? out.pos - at : piece;

		image_begin(m, type, 0);
		if (type == RECORD_COMPRESSED2)
			image_u64(m, n);
		buf_add(&m->bytes, packed + at, n);
		if (type == RECORD_COMPRESSED2)
			buf_add(&m->bytes, "\0\0\0\0\0\0\0", -n & 7);
		image_end(m);
	}
}

static void test_compressed(void)
{
	static const uint64_t times[] = { 30, 10, 20, 50, 40 };
	struct image records = { 0 }, m = { 0 };

	add_samples(&records, times, 3);
	add_round(&records);
	add_samples(&records, times + 3, 2);
	for (size_t piece = 1; piece < 300; piece += 7) {
		for (uint32_t type = RECORD_COMPRESSED; type <= RECORD_COMPRESSED2; type += 2) {
			image_file(&m, &plain, 1);
			add_compressed(&m, buf_text(&records.bytes), type, piece);
			image_close(&m);
			const struct seen s = read_image(&m);

			CHECK(s.samples == 5 && s.is_whole && s.times[0] == 10 &&
			      s.times[4] == 50);
		}
	}
	/* damaged in the middle: what came before stays */
	image_file(&m, &plain, 1);
	add_samples(&m, times, 1);
	image_begin(&m, RECORD_COMPRESSED, 0);
	buf_add_text(&m.bytes, "this is no zstd");
	image_end(&m);
	add_samples(&m, times + 1, 1);
	image_close(&m);
	const struct seen s = read_image(&m);

	CHECK(s.samples == 2 && !s.is_whole && strstr(s.remark, "damaged"));
	buf_free(&records.bytes);
	buf_free(&m.bytes);
}

static void add_feature_string(struct image *m, const char *s)
{
	image_u32(m, (uint32_t)strlen(s) + 1);
	buf_add(&m->bytes, s, strlen(s) + 1);
}

/* A stream tells in records what a file has behind its data. */
static void test_features(void)
{
	struct image m = { 0 };
	struct perfdata *d;
	struct perf_record r;
	struct image_attr two[] = { plain, plain };

	two[1].id = 8;
	image_pipe(&m, two, 2);
	image_begin(&m, RECORD_HEADER_FEATURE, 0);
	image_u64(&m, 4);
	add_feature_string(&m, "6.1.0");
	image_end(&m);
	image_begin(&m, RECORD_HEADER_FEATURE, 0);
	image_u64(&m, 11);
	image_u32(&m, 2);
	add_feature_string(&m, "perf");
	add_feature_string(&m, "record");
	image_end(&m);
	image_begin(&m, RECORD_HEADER_FEATURE, 0);
	image_u64(&m, 3);
	image_u32(&m, UINT32_MAX);     /* a string longer than all there is */
	buf_add_text(&m.bytes, "host");
	image_end(&m);
	image_begin(&m, RECORD_EVENT_UPDATE, 0);
	image_u64(&m, 2);
	image_u64(&m, 8);
	image_name(&m, "mine");
	image_end(&m);
	image_begin(&m, RECORD_HEADER_BUILD_ID, MODE_USER | MISC_BUILD_ID_SIZE);
	image_u32(&m, 42);
	for (unsigned i = 0; i < 20; i++)
		buf_add_char(&m.bytes, (char)(0xa0 + i));
	buf_add_char(&m.bytes, 4);
	buf_add(&m.bytes, "\0\0\0", 3);
	image_name(&m, "/bin/x");
	image_end(&m);
	CHECK(!perfdata_open_memory(buf_text(&m.bytes), "x", &d));
	while (perfdata_next(d, &r))
		CHECK(false);
	const struct perfdata_facts *f = perfdata_facts(d);

	CHECK_STR(f->os_release, "6.1.0");
	CHECK_STR(f->command, "perf record");
	CHECK(f->host == NULL && f->is_pipe && f->cpus_online == NA_U64);
	CHECK_STR(perfdata_events(d)->items[1]->name, "mine");
	CHECK(f->build_id_count == 1 && f->build_ids[0].pid == 42);
	CHECK_STR(f->build_ids[0].hex, "a0a1a2a3");
	CHECK_STR(f->build_ids[0].path, "/bin/x");
	CHECK(perfdata_is_whole(d));
	perfdata_close(d);
	buf_free(&m.bytes);
}

static void test_first_event(void)
{
	static const uint64_t chain[] = { CONTEXT_USER, 1 };
	struct image m = { 0 };
	struct image_attr two[] = { plain, plain };
	struct perfdata *d;

	two[0].sample_type = two[1].sample_type |= FIELD_IDENTIFIER;
	two[1].config = 2;
	two[1].id = 8;
	image_file(&m, two, 2);
	for (uint64_t i = 0; i < 2; i++) {
		image_begin(&m, RECORD_SAMPLE, MODE_USER);
		image_u64(&m, 8 - i);
		image_u64(&m, 1);
		image_pair(&m, 1, 1);
		image_u64(&m, 10 + i);
		image_u64(&m, 1);
		image_u64(&m, 2);
		buf_add(&m.bytes, chain, sizeof(chain));
		image_end(&m);
	}
	image_close(&m);
	CHECK(!perfdata_open_memory(buf_text(&m.bytes), "x", &d));
	CHECK_STR(perfdata_first_event(d)->name, "cpu-clock");
	struct seen s = read_all(d);

	CHECK(s.samples == 2 && s.is_whole && s.times[0] == 10);
	/* the first one has none */
	memcpy(m.bytes.data + 104, (uint64_t[]){ 77 }, 8);
	CHECK(!perfdata_open_memory(buf_text(&m.bytes), "x", &d));
	CHECK_STR(perfdata_first_event(d)->name, "page-faults");
	perfdata_close(d);
	buf_free(&m.bytes);
}

static struct buf fixture(const char *name)
{
	const char *tests = getenv("tests");
	struct buf path = { 0 }, b = { 0 };

	buf_printf(&path, "%s/fixtures/perf/%s", tests ? tests : "tests", name);
	FILE *f = fopen(path.data, "rb");

	if (CHECK(f != NULL)) {
		buf_reserve(&b, 65536);
		b.len = fread(b.data, 1, 65536, f);
		fclose(f);
	}
	buf_free(&path);
	return b;
}

/* Does a record of a stream end there? */
static bool is_record_end(struct text t, size_t n)
{
	size_t at = 16;

	while (at < n) {
		struct perf_record r;

		perf_record_header(&r, (const unsigned char *)t.data + at);
		at += r.size;
	}
	return at == n;
}

/* A cut gives a part of what the whole gives, and what it lacks is said. */
static void test_cuts(struct text t, bool is_stream, size_t step)
{
	const struct seen whole = read_text(t);
	size_t most = 0, opened = 0;

	CHECK(whole.samples > 3 && whole.is_whole && !whole.remarks);
	for (size_t n = 0; n <= t.len; n += step) {
		const struct seen s = read_text(cut(t, n));

		if (s.err)
			continue;
		opened++;
		most = s.samples > most ? s.samples : most;
		if (s.samples > whole.samples || s.records > whole.records)
			CHECK(false);
		if (s.samples < whole.samples && s.is_whole &&
		    !(is_stream && is_record_end(t, n)))
			CHECK(false);
	}
	CHECK(most > 3 && opened > 10);
}

static void test_all_cuts(void)
{
	static const char *const names[] = { "fp.data", "pipe.data", "zstd.data" };
	static const uint64_t times[] = { 30, 10, 20, 50, 40 };
	struct image m = { 0 };

	for (int is_stream = 0; is_stream < 2; is_stream++) {
		if (is_stream)
			image_pipe(&m, &plain, 1);
		else
			image_file(&m, &plain, 1);
		add_samples(&m, times, 5);
		if (!is_stream)
			image_close(&m);
		test_cuts(buf_text(&m.bytes), is_stream, 1);
	}
	buf_free(&m.bytes);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct buf b = fixture(names[i]);

		test_cuts(buf_text(&b), i == 1, 37);
		buf_free(&b);
	}
}

static void test_pipes(void)
{
	static const char *const names[] = { "fp.data", "pipe.data", "zpipe.data", "zstd.data" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct buf b = fixture(names[i]);
		const struct seen whole = read_text(buf_text(&b));
		static const size_t starts[] = { 0, 5, 16, 4096 };

		for (size_t k = 0; k < 4; k++) {
			const struct seen s = read_pipe(buf_text(&b), starts[k]);

			CHECK(!s.err && s.samples == whole.samples && s.is_whole);
		}
		buf_free(&b);
	}
}

static void test_hostile(void)
{
	static const uint64_t times[] = { 5 };
	struct image m = { 0 };

	/* each u64 of the header is anything */
	for (size_t at = 8; at < 104; at += 8) {
		static const uint64_t values[] = { 0, 1, 15, 80, 1u << 20, UINT64_MAX / 2,
						   UINT64_MAX - 7, UINT64_MAX };

		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			image_file(&m, &plain, 1);
			add_samples(&m, times, 1);
			image_close(&m);
			memcpy(m.bytes.data + at, &values[i], 8);
			const struct seen s = read_image(&m);

			CHECK(s.err <= 0 && s.samples <= 1);
		}
	}
	/* as many attributes as there are not */
	image_file(&m, &plain, 1);
	memcpy(m.bytes.data + 32, (uint64_t[]){ 1u << 30 }, 8);
	CHECK(read_image(&m).err == -EINVAL);
	buf_free(&m.bytes);
}

int main(void)
{
	test_attr_sizes();
	test_attr_tail_is_ignored();
	test_order();
	test_order_is_stable();
	test_skips();
	test_sizes();
	test_other_formats();
	test_unaligned();
	test_compressed();
	test_features();
	test_first_event();
	test_all_cuts();
	test_pipes();
	test_hostile();
	return check_done("perfdata");
}
