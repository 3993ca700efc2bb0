/* What a saved run says of waits for a CPU, and where buckets and percentiles lie. */
#include "common/kernel/runqhist.h"

#include <errno.h>
#include <string.h>

#include "common/base/fail.h"
#include "common/base/na.h"
#include "tests/unit/check.h"

#define NAME "73680000000000000000000000000000"        /* sh */

static int parse(const char *reply, struct arena *arena, const struct runqhist_row **rows,
		 size_t *count)
{
	struct runqhist_counts counts;

	return runqhist_parse(text_of(reply), arena, rows, count, &counts);
}

static void check_parsing(void)
{
	static const char *const bad[] = {
		"", "\n", "counts 1 2 3\n", "counts 1 2 3 4 5\n", "counts 1 2 3 x\n",
		"counts 1 2 3 4", "7 1 2 " NAME " 1 2 3 4 5 6 7\n",
		"7 1 2 " NAME " 1 2 3 4 5 6\ncounts 0 0 0 0\n",
		"7 1 2 7368 1 2 3 4 5 6 7\ncounts 0 0 0 0\n",
		"7 1 2 " NAME " 1 2 3 4 5 6 7 312:1\ncounts 0 0 0 0\n",
		"7 1 2 " NAME " 1 2 3 4 5 6 7 9:1 9:1\ncounts 0 0 0 0\n",
		"7 1 2 " NAME " 1 2 3 4 5 6 7 9:4294967296\ncounts 0 0 0 0\n",
		"7 1 2 " NAME " 1 2 3 4 5 6 7 9\ncounts 0 0 0 0\n",
		"7 4294967296 2 " NAME " 1 2 3 4 5 6 7\ncounts 0 0 0 0\n",
		"7 -1 2 " NAME " 1 2 3 4 5 6 7\ncounts 0 0 0 0\n",
	};
	const struct runqhist_row *rows = NULL;
	struct runqhist_counts counts;
	struct arena arena = { 0 };
	size_t count = 99;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(parse(bad[i], &arena, &rows, &count) == -EINVAL);
		CHECK(!rows && count == 99);
	}
	CHECK(!runqhist_parse(text_of("7 1 2 " NAME " 3 40 5 60 11 2 9000 0:3 100:4 311:1\n"
				      "9 0 0 " NAME " 0 0 0 0 0 1 5\n"
				      "counts 1 2 3 4\n"),
			      &arena, &rows, &count, &counts));
	CHECK(count == 2 && rows[0].id == 7 && rows[0].tgid == 1 && rows[0].tid == 2);
	CHECK(!strcmp(rows[0].comm, "sh") && rows[0].count[RUNQHIST_WOKEN] == 3 &&
	      rows[0].sum_ns[RUNQHIST_WOKEN] == 40 && rows[0].count[RUNQHIST_PREEMPTED] == 5 &&
	      rows[0].sum_ns[RUNQHIST_PREEMPTED] == 60);
	CHECK(rows[0].max_ns == 11 && rows[0].pending == 2 && rows[0].oldest_ns == 9000);
	CHECK(rows[0].buckets[0] == 3 && rows[0].buckets[100] == 4 && rows[0].buckets[311] == 1);
	CHECK(counts.repaired == 1 && counts.missed == 2 && counts.dropped == 3 &&
	      counts.undecided == 4);
	CHECK(runqhist_quantile(&rows[1], 0.5) == NA_U64);
	arena_free(&arena);
}

static void check_buckets(void)
{
	CHECK(runqhist_bucket_low(0) == 0 && runqhist_bucket_low(7) == 7);
	CHECK(runqhist_bucket_low(8) == 8 && runqhist_bucket_low(15) == 15);
	CHECK(runqhist_bucket_low(16) == 16 && runqhist_bucket_low(17) == 18);
	/* 2^20 = e 20: 8 * 18 */
	CHECK(runqhist_bucket_low(144) == 1u << 20);
	for (unsigned i = 0; i < RUNQHIST_BUCKETS; i++) {
		const uint64_t low = runqhist_bucket_low(i), high = runqhist_bucket_low(i + 1);

		CHECK(high > low && (i < 8 || (high - low) * 8 <= low));
	}
}

static void check_quantiles(void)
{
	uint32_t buckets[RUNQHIST_BUCKETS] = { 0 };
	struct runqhist_row row = { .buckets = buckets, .max_ns = 1150000 };

	/* 90 waits of 16 to 18 ns, 10 of 1,048,576 to 1,179,648 */
	buckets[16] = 90;
	buckets[144] = 10;
	CHECK(runqhist_quantile(&row, 0.5) == 17);
	CHECK(runqhist_quantile(&row, 0.9) == 18);
	CHECK(runqhist_quantile(&row, 0.91) == 1048576 + 13107);
	CHECK(runqhist_quantile(&row, 0.99) == 1150000);       /* never above the longest */
	CHECK(runqhist_quantile(&row, 1) == 1150000);
}

int main(void)
{
	check_parsing();
	check_buckets();
	check_quantiles();
	return check_done("runqhist");
}
