/* Samples between and inside frames: read anew, not kept, not saved, and the frame is as it was. */
#include "common/kernel/source.h"

#include <errno.h>

#include "common/base/scan.h"
#include "tests/unit/scratch.h"

static int calls;

static int count_calls(void *arg, struct buf *reply)
{
	(void)arg;
	buf_printf(reply, "%d", ++calls);
	return 0;
}

static uint64_t call(void)
{
	struct text t;
	uint64_t n = 0;

	return !src_call("counter", count_calls, NULL, &t) && scan_all_u64(t, &n) ? n : 0;
}

/* A live path has no leading slash. */
static const char *live(const char *below)
{
	return at(below) + 1;
}

static void check_frame(void)
{
	put_text("file", "one\n");
	CHECK(reads(live("file"), "one\n") && call() == 1);
	put_text("file", "two\n");
	CHECK(reads(live("file"), "one\n") && call() == 1);
	const uint64_t generation = src_generation();

	src_sample_begin();
	CHECK(reads(live("file"), "two\n") && call() == 2 && call() == 2);
	CHECK(src_generation() != generation);
	put_text("file", "three\n");
	CHECK(reads(live("file"), "two\n"));
	const uint64_t first = src_generation();

	src_sample_end();
	CHECK(src_generation() == generation);
	CHECK(reads(live("file"), "one\n") && call() == 1);
	src_sample_begin();
	CHECK(reads(live("file"), "three\n") && call() == 3 && src_generation() != first);
	src_sample_end();
	/* an end without a begin is none */
	src_sample_end();
	CHECK(reads(live("file"), "one\n") && call() == 1);
	src_frame_end();
	CHECK(src_frame_begin() == 1 && reads(live("file"), "three\n") && call() == 4);
}

static void check_saved(void)
{
	CHECK(src_save(at("run"), 0) == 0 && src_is_saving());
	put_text("file", "saved\n");
	put_text("other", "not saved\n");
	src_frame_end();
	src_sample_begin();
	CHECK(!src_is_saving() && reads(live("other"), "not saved\n"));
	CHECK(reads(live("file"), "saved\n") && call() == 5);
	src_sample_end();
	CHECK(src_is_saving());
	CHECK(src_frame_begin() == 1 && reads(live("file"), "saved\n") && call() == 6);
	src_frame_end();
	src_close();
	CHECK(src_open_root(at("run")) == 0 && src_frame_begin() == 1);
	/* a replay has no samples: they change nothing */
	src_sample_begin();
	CHECK(reads(live("file"), "saved\n") && call() == 6 && fails(ENOENT, live("other")));
	src_sample_end();
	src_close();
}

/* Closed in the middle of one: nothing is lost or left behind. */
static void check_closed(void)
{
	open_live();
	CHECK(reads(live("file"), "saved\n"));
	src_sample_begin();
	CHECK(reads(live("file"), "saved\n"));
	src_close();
	open_live();
	put_text("file", "again\n");
	CHECK(reads(live("file"), "again\n"));
	src_close();
}

int main(void)
{
	if (!scratch_begin("sample"))
		return 1;
	open_live();
	check_frame();
	check_saved();
	check_closed();
	scratch_end();
	return check_done("source_sample");
}
