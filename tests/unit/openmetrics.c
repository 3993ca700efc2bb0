/* report/out as OpenMetrics: exact text once, validity always. */
#include "common/report/out.h"
#include "tests/unit/formats.h"
#include "tests/unit/report.h"

static void check_text(void)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .format = OUT_OPENMETRICS, .top = NA_U64 });
	/* only the last frame counts */
	out_frame_begin(p.out, TEST_TIME);
	out_row(p.out, &groups_table, &(struct group_row){ "old", 1 });
	CHECK(out_frame_end(p.out) == 0);
	out_frame_begin(p.out, TEST_TIME);
	add_test_finding(p.out, STATE_NOW, "/a\033\"\\\n");
	add_test_finding(p.out, STATE_NOW, "/a\033\"\\\n");
	struct thread_row row = known_row(7, 0.25, "a\"b\\c\nd\t\xff");

	out_row(p.out, &threads_table, &row);
	row = unknown_row(8);
	out_row(p.out, &threads_table, &row);
	CHECK(out_frame_end(p.out) == 0 && !p.len);
#define FAMILY(name, type, help) "# HELP perfbox_conntrack_top_" name " " help "\n" \
		"# TYPE perfbox_conntrack_top_" name " " type "\n"
#define UNIT(name, unit) "# UNIT perfbox_conntrack_top_" name " " unit "\n"
#define LABELS "{tid=\"7\",comm=\"a\\\"b\\\\c\\nd\\\\x09\xef\xbf\xbd\"} "
	CHECK_STR(printed_text(&p),
		FAMILY("finding", "gauge", "what is wrong now, was lately, or soon will be")
		"perfbox_conntrack_top_finding{id=\"test.throttled\",state=\"now\","
		"subject=\"/a\\\\x1b\\\"\\\\\\n\"} 1\n"
		FAMILY("threads_wait_ratio", "gauge", "share of time")
		UNIT("threads_wait_ratio", "ratio")
		"perfbox_conntrack_top_threads_wait_ratio" LABELS "0.25\n"
		FAMILY("threads_wait_seconds", "counter", "time waited")
		UNIT("threads_wait_seconds", "seconds")
		"perfbox_conntrack_top_threads_wait_seconds_total" LABELS "1.23456789\n"
		FAMILY("threads_switches_per_second", "gauge", "switches")
		"perfbox_conntrack_top_threads_switches_per_second" LABELS "44\n"
		FAMILY("threads_rss_bytes", "gauge", "memory") UNIT("threads_rss_bytes", "bytes")
		"perfbox_conntrack_top_threads_rss_bytes" LABELS "2040109466\n"
		FAMILY("threads_runs", "gauge", "times it ran")
		"perfbox_conntrack_top_threads_runs" LABELS "1234567\n"
		FAMILY("threads_nice", "gauge", "'niceness' \\\\ priority")
		"perfbox_conntrack_top_threads_nice" LABELS "-5\n"
		FAMILY("threads_used_cpus", "gauge", "CPUs used")
		"perfbox_conntrack_top_threads_used_cpus" LABELS "0.5\n"
		FAMILY("threads_busy", "gauge", "has work")
		"perfbox_conntrack_top_threads_busy" LABELS "1\n"
		"perfbox_conntrack_top_threads_busy{tid=\"8\"} 0\n"
		"# EOF\n");
	CHECK_STR(openmetrics_error(p.text, p.len), NULL);
	printed_free(&p);
}

static void check_doubles(void)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .format = OUT_OPENMETRICS, .table = "groups",
						.quiet = true });
	out_frame_begin(p.out, TEST_TIME);
	out_row(p.out, &groups_table, &(struct group_row){ "a", 1 });
	out_row(p.out, &groups_table, &(struct group_row){ "a", 2 });
	out_row(p.out, &groups_table, &(struct group_row){ "b", 3 });
	out_row(p.out, &groups_table, &(struct group_row){ NULL, 4 });
	add_test_finding(p.out, STATE_NOW, "not asked for");
	CHECK(out_frame_end(p.out) == 0);
	const struct out_remark *remarks;

	CHECK(out_remarks(p.out, &remarks) == 1);
	CHECK_STR(remarks[0].text,
		  "openmetrics: 1 rows of groups left out: other rows have the same keys");
	CHECK_STR(printed_text(&p),
		FAMILY("groups_threads", "gauge", "how many")
		"perfbox_conntrack_top_groups_threads{name=\"a\"} 1\n"
		"perfbox_conntrack_top_groups_threads{name=\"b\"} 3\n"
		"perfbox_conntrack_top_groups_threads 4\n"
		"# EOF\n");
	CHECK_STR(openmetrics_error(p.text, p.len), NULL);
	printed_free(&p);
}

static void check_nothing(void)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .format = OUT_OPENMETRICS });
	CHECK_STR(printed_text(&p), "# EOF\n");
	printed_free(&p);
}

/* The checker itself must be able to say no. */
static void check_checker(void)
{
	static const char *const bad[] = {
		"", "# EOF", "# EOF\nx 1\n", "x 1\n# EOF\n", "# TYPE x gauge\ny 1\n# EOF\n",
		"# TYPE x gauge\nx NaN\n# EOF\n", "# TYPE x gauge\nx 1 2\n# EOF\n",
		"# TYPE x gauge\nx 1\nx 1\n# EOF\n", "# TYPE x counter\nx 1\n# EOF\n",
		"# TYPE x counter\nx_total -1\n# EOF\n",
		"# TYPE x gauge\n# UNIT x seconds\nx 1\n# EOF\n",
		"# TYPE x gauge\nx 1\n# TYPE y gauge\ny 1\n# TYPE x gauge\n# EOF\n",
		"# TYPE x gauge\nx{a=\"\\x\"} 1\n# EOF\n", "# TYPE x gauge\nx{a=\"1\",} 1\n# EOF\n",
		"# TYPE x gauge\nx{a=\"\xff\"} 1\n# EOF\n",
		"# TYPE x gauge\n# HELP x a\"b\nx 1\n# EOF\n",
		"# TYPE x summary\nx 1\n# EOF\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(openmetrics_error(bad[i], strlen(bad[i])));
	CHECK(!openmetrics_error("# TYPE x gauge\nx{a=\"\\\"\"} 1e3\n# EOF\n", 35));
	CHECK(!is_json_lines("{\"a\":01}\n", 9) && !is_json_lines("{\"a\":nan}\n", 10) &&
	      !is_json_lines("{}", 2));
	CHECK(!is_json_lines("{\"a\":1,}\n", 9) && !is_json_lines("{\"\\x\":1}\n", 9));
	CHECK(is_json_lines("{\"a\":-1.5e+3,\"b\":{\"c\":null}}\n", 29));
}

int main(void)
{
	check_checker();
	check_text();
	check_doubles();
	check_nothing();
	return check_done("openmetrics");
}
