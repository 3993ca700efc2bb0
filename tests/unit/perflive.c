/*
 * Records as rings give them, of processes that a tree of /proc knows: names and maps are read when
 * a sample first needs them, and not again.
 */
#include "common/stack/perflive.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "tests/unit/scratch.h"

#define TRAILER 24
#define FIELDS (FIELD_IP | FIELD_TID | FIELD_TIME | FIELD_CPU | FIELD_PERIOD | FIELD_CALLCHAIN)

static struct perf_events events;
static struct perffold *fold_of_records;
static struct perflive live;
static uint64_t words[64];             /* of the record at hand */
static size_t word_count;

static void begin_record(uint32_t type, uint16_t misc)
{
	word_count = 1;
	words[0] = type | (uint64_t)misc << 32;
}

static void word(uint64_t v)
{
	words[word_count++] = v;
}

static void take(bool has_trailer)
{
	for (size_t i = 0; has_trailer && i < TRAILER / 8; i++)
		word(0);
	words[0] |= (uint64_t)(word_count * 8) << 48;
	struct perf_record r = { .bytes = (const unsigned char *)words };

	perf_record_header(&r, r.bytes);
	perflive_take(&live, &r);
}

static uint64_t pair(uint32_t low, uint32_t high)
{
	return low | (uint64_t)high << 32;
}

/* Order of fields: ip, pid and tid, time, cpu, period, chain. */
static void sample(uint32_t pid, uint32_t tid, uint64_t ip)
{
	begin_record(RECORD_SAMPLE, MODE_USER);
	word(ip);
	word(pair(pid, tid));
	word(1000);
	word(0);
	word(1);
	word(2);
	word((uint64_t)-512);
	word(ip);
	take(false);
}

static void task(uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid)
{
	begin_record(type, 0);
	word(pair(pid, ppid));
	word(pair(tid, ptid));
	word(1000);
	take(true);
}

static void comm(uint32_t pid, uint32_t tid, const char *name, bool is_exec)
{
	uint64_t text[2] = { 0 };

	memcpy(text, name, strlen(name));
	begin_record(RECORD_COMM, is_exec ? MISC_COMM_EXEC : 0);
	word(pair(pid, tid));
	word(text[0]);
	word(text[1]);
	take(true);
}

static void make_process(const char *pid, const char *name, const char *maps)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%s/task/%s", pid, pid);
	char command[300];

	snprintf(command, sizeof(command), "mkdir -p '%s/%s'", top, path);
	CHECK(system(command) == 0);
	snprintf(path, sizeof(path), "proc/%s/task/%s/comm", pid, pid);
	put_text(path, name);
	snprintf(path, sizeof(path), "proc/%s/maps", pid);
	put_text(path, maps);
}

static char *folded(struct fold *f)
{
	static char *text;
	size_t size;

	free(text);
	perffold_flush(fold_of_records);
	FILE *to = open_memstream(&text, &size);

	CHECK(to && !fold_write(f, false, to) && !fclose(to));
	return text;
}

static void open_events(void)
{
	const struct perf_attr a = {
		.type = 1, .size = 112, .sample_type = FIELDS, .has_sample_id_all = true,
	};

	CHECK(perf_events_add(&events, &a) != NULL);
}

static void test_known_once(struct fold *f)
{
	sample(12, 12, 0x401010);
	sample(12, 12, 0x7000010);
	sample(13, 13, 0x401010);
	CHECK(live.gone == 1 && !live.refused);
	/* what is written meanwhile is not read again: the process is known */
	put_text("proc/12/maps", "400000-500000 r-xp 00000000 fe:01 5 /other\n");
	sample(12, 12, 0x401020);
	CHECK_STR(folded(f), ":13;[unknown] 1\nsome_name;[anon+0x7000010] 1\n"
			     "some_name;[prog+0x1010] 1\nsome_name;[prog+0x1020] 1\n");
}

/* A child of a known process has its maps and name; exec tells all itself; an exit forgets. */
static void test_tasks(struct fold *f)
{
	task(RECORD_FORK, 20, 12, 20, 12);
	sample(20, 20, 0x401030);
	task(RECORD_FORK, 21, 12, 21, 12);
	comm(21, 21, "execed", true);
	sample(21, 21, 0x401040);
	task(RECORD_EXIT, 12, 12, 12, 12);
	make_process("12", "second\n", "400000-500000 r-xp 00000000 fe:01 6 /bin/second\n");
	sample(12, 12, 0x401050);
	const char *text = folded(f);

	CHECK(strstr(text, "some_name;[prog+0x1030] 1\n") != NULL);
	CHECK(strstr(text, "execed;[unknown] 1\n") != NULL);
	CHECK(strstr(text, "second;[second+0x1050] 1\n") != NULL);
	CHECK(live.gone == 1);
}

/* Short records are passed on, and nothing is read of them. */
static void test_short(void)
{
	for (uint32_t type = 0; type < 24; type++) {
		begin_record(type, 0);
		take(false);
	}
	sample(0, 0, 0x1);
	sample(UINT32_MAX, UINT32_MAX, 0x1);
	CHECK(live.gone == 1);
}

int main(void)
{
	if (!scratch_begin("perflive"))
		return 1;
	make_process("12", "some name\n",
		     "400000-401000 r--p 00000000 fe:01 5 /bin/prog\n"
		     "401000-500000 r-xp 00001000 fe:01 5 /bin/prog\n"
		     "garbage\n"
		     "7000000-7001000 rwxp 00000000 00:00 0 \n");
	CHECK(!src_open_root(top) && src_frame_begin() == 1);
	open_events();
	struct fold *f = fold_new();

	fold_of_records = perffold_new(f, &(struct perffold_options){ .symbols = NULL });
	CHECK(!perflive_open_fold(&live, fold_of_records, &events, TRAILER));
	test_known_once(f);
	test_tasks(f);
	test_short();
	perflive_close(&live);
	perffold_free(fold_of_records);
	fold_free(f);
	perf_events_free(&events);
	src_frame_end();
	src_close();
	scratch_end();
	return check_done("perflive");
}
