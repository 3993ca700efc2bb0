/* report/out: what people, TSV and JSON get. */
#include "common/report/out.h"

#include <errno.h>

#include "common/base/buf.h"
#include "tests/unit/formats.h"
#include "tests/unit/report.h"

static void add_rows(struct out *o)
{
	struct thread_row row = known_row(7, 0.25, "slow");

	out_row(o, &threads_table, &row);
	row = unknown_row(8);
	out_row(o, &threads_table, &row);
	row = known_row(9, 0.975, "fast");
	row.estimated = true;
	row.busy = false;
	out_row(o, &threads_table, &row);
}

static void one_frame(struct out *o)
{
	out_frame_begin(o, TEST_TIME);
	out_host(o, "perfbox test  %s", "web\n07");
	add_test_finding(o, STATE_NOW, "/a\033[31m")->netns = "host";
	add_rows(o);
	out_line(o, "clean", "memory, %s", "ports");
	out_line(o, "", "1 now");
	out_history(o, "61 once throttled");
	out_history(o, "drops 18");
	CHECK(out_frame_end(o) == 0);
}

static void check_people(void)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .top = NA_U64 });
	one_frame(p.out);
	CHECK_STR(printed_text(&p),
		"perfbox test  web\\x0a07\n"
		"now   test.throttled  /a\\x1b[31m  netns host\n"
		"      3.48 CPU-s/s lost\n"
		"      worst  java\n"
		"      proof  throttled_usec +1\n"
		"      next   perfbox cpuwait 1\n"
		"\n"
		"TID  %WAIT   WAIT  CS/s   RSS       RUNS  CPUS  BUSY  COMM  CGROUP\n"
		"  9  ~97.5  1.23s    44  1.9G  1,234,567  0.50  no    fast  "
		"/system.slice/a.service\n"
		"  7   25.0  1.23s    44  1.9G  1,234,567  0.50  yes   slow  "
		"/system.slice/a.service\n"
		"  8      -      -     -     -          -     -  no    -     -\n"
		"\n"
		"clean       memory, ports\n"
		"history     61 once throttled, drops 18 (--past)\n"
		"1 now\n");
	printed_free(&p);

	print_to_memory(&p, (struct out_config){ .top = NA_U64, .quiet = true, .no_header = true,
						.columns = "tid,nice,comm" });
	one_frame(p.out);
	one_frame(p.out);
	out_frame_begin(p.out, TEST_TIME);
	CHECK(out_frame_end(p.out) == 0);
#define QUIET_FRAME \
		"now   test.throttled  /a\\x1b[31m  netns host\n" \
		"      3.48 CPU-s/s lost\n" \
		"      worst  java\n" \
		"      proof  throttled_usec +1\n" \
		"      next   perfbox cpuwait 1\n" \
		"\n" \
		"9  -5  fast\n" \
		"7  -5  slow\n" \
		"8   -  -\n"
	CHECK_STR(printed_text(&p), QUIET_FRAME "\n" QUIET_FRAME);
	printed_free(&p);
}

static const char *printed_once(struct printed *p, struct out_config config)
{
	print_to_memory(p, config);
	out_frame_begin(p->out, TEST_TIME);
	add_rows(p->out);
	CHECK(out_frame_end(p->out) == 0);
	return printed_text(p);
}

static void check_columns(void)
{
	struct printed p;

	CHECK_STR(printed_once(&p, (struct out_config){ .columns = "comm,tid", .sort = "tid" }),
		"COMM  TID\nslow    7\n-       8\nfast    9\n");
	printed_free(&p);
	CHECK_STR(printed_once(&p, (struct out_config){ .columns = "tid,tid,+nice",
						       .sort = "-comm" }),
		"TID  NICE\n  7    -5\n  9    -5\n  8     -\n");
	printed_free(&p);
	CHECK_STR(printed_once(&p, (struct out_config){ .columns = "pod,tid", .sort = "-nice",
						       .top = 1 }),
		"POD  TID\n-      7\n... 2 more (--top 0)\n");
	printed_free(&p);
	const char *text = printed_once(&p, (struct out_config){ .columns = "+nice" });

	CHECK(strstr(text, "CGROUP                   NICE\n") && strstr(text, "a.service    -5\n"));
	printed_free(&p);
}

static bool shows(struct out_config config, const char *column)
{
	struct printed p;

	print_to_memory(&p, config);
	bool is_shown = out_shows(p.out, &threads_table, column);

	printed_text(&p);
	printed_free(&p);
	return is_shown;
}

static void check_shown(void)
{
	CHECK(shows((struct out_config){ 0 }, "tid"));
	CHECK(!shows((struct out_config){ 0 }, "nice"));       /* without a title: for machines */
	CHECK(shows((struct out_config){ .format = OUT_JSON }, "nice"));
	CHECK(shows((struct out_config){ .columns = "+nice" }, "nice"));
	CHECK(shows((struct out_config){ .columns = "nice" }, "nice"));
	CHECK(!shows((struct out_config){ .columns = "nice" }, "tid"));
	CHECK(shows((struct out_config){ .columns = "nice", .sort = "tid" }, "tid"));
	CHECK(!shows((struct out_config){ .columns = "name" }, "tid"));
	CHECK(!shows((struct out_config){ .table = "groups" }, "tid"));
	CHECK(!shows((struct out_config){ 0 }, "none"));
	struct out *kept = out_collect("x");

	CHECK(!out_shows(kept, &threads_table, "tid"));
	out_close(kept);
}

static void check_refused(const char *table, const char *columns, const char *sort, const char *why)
{
	struct out_config config = { .tables = test_tables, .table = table, .columns = columns,
				    .sort = sort };
	struct out *o = NULL;

	CHECK(out_open(&config, &o) == -EINVAL && !o);
	CHECK_STR(fail_text(), why);
}

static void check_names(void)
{
	check_refused("thread", NULL, NULL,
		      "unknown table 'thread': did you mean 'threads'? tables: threads, groups, "
		      "findings");
	check_refused("x\033", NULL, NULL,
		      "unknown table 'x\\x1b'; tables: threads, groups, findings");
	check_refused("groups", "tid", NULL, "unknown column 'tid'; columns: name, threads");
	check_refused("groups", "name,", NULL, "unknown column ''; columns: name, threads");
	check_refused("groups", "+thread", NULL,
		      "unknown column 'thread': did you mean 'threads'? columns: name, threads");
	check_refused("groups", NULL, "-thread",
		      "unknown column to sort by 'thread': did you mean 'threads'? columns: name,"
		      " threads");
	check_refused("findings", "id", NULL,
		      "the columns of findings can't be chosen or sorted by");
}

static void check_empty(void)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .top = NA_U64 });
	out_frame_begin(p.out, TEST_TIME);
	CHECK(out_frame_end(p.out) == 0);
	CHECK_STR(printed_text(&p), "");
	printed_free(&p);
	print_to_memory(&p, (struct out_config){ .table = "groups" });
	out_frame_begin(p.out, TEST_TIME);
	out_line(p.out, "not", "shown");
	add_test_finding(p.out, STATE_NOW, "not shown");
	CHECK(out_frame_end(p.out) == 0);
	CHECK(out_status(p.out) == 1);
	CHECK_STR(printed_text(&p), "GROUP  THREADS\n");
	printed_free(&p);
}

/* The widest text gives way, by display width, and numbers never. */
static void check_width(void)
{
	struct thread_row row = known_row(7, 0.25, "na\xc3\xafve\xe6\x97\xa5\xe6\x9c\xac");
	struct printed p;

	print_to_memory(&p, (struct out_config){ .width = 80 });
	out_frame_begin(p.out, TEST_TIME);
	row.cgroup =
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3b5e1c9a.slice/"
		"cri-containerd-"
		"9f1c0b3d4e5f60718293a4b5c6d7e8f99f1c0b3d4e5f60718293a4b5c6d7e8f9.scope";
	out_row(p.out, &threads_table, &row);
	row.comm = "x";
	row.cgroup = "/a/very/long/path/to/some.service";
	out_row(p.out, &threads_table, &row);
	CHECK(out_frame_end(p.out) == 0);
	printed_text(&p);
	const char *line = strchr(p.text, '\n') + 1;

	CHECK(strstr(line, "na\xc3\xafve\xe6\x97\xa5\xe6\x9c\xac ") != NULL);
	CHECK(strstr(line, " 9f1c0b3d4e5f\n") != NULL);
	CHECK(strstr(line, "1,234,567") != NULL);
	const char *next = strchr(line, '\n') + 1;

	CHECK(strstr(next, " x         ...") != NULL && strstr(next, "some.service\n") != NULL);
	CHECK(next - line - 1 - 3 <= 80);          /* 3 bytes more than cells */
	CHECK(strlen(next) - 1 <= 80);
	printed_free(&p);

	/* a hundred columns of a name are not cut when the person chose the columns */
	print_to_memory(&p, (struct out_config){ .width = 20, .columns = "cgroup" });
	out_frame_begin(p.out, TEST_TIME);
	out_row(p.out, &threads_table, &row);
	CHECK(out_frame_end(p.out) == 0);
	CHECK_STR(printed_text(&p), "CGROUP\n/a/very/long/path/to/some.service\n");
	printed_free(&p);
}

static void check_top(void)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .top = NA_U64, .columns = "tid", .sort = "-tid" });
	out_frame_begin(p.out, TEST_TIME);
	for (uint64_t i = 0; i < 1224; i++) {
		struct thread_row row = known_row(i, 0, "x");

		out_row(p.out, &threads_table, &row);
	}
	CHECK(out_frame_end(p.out) == 0);
	const char *text = printed_text(&p);

	CHECK(!strncmp(text, " TID\n1223\n1222\n", 15));
	CHECK(strstr(text, "\n1204\n... 1,204 more (--top 0)\n") != NULL);
	printed_free(&p);
}

static unsigned completed;

static void complete(void *row)
{
	struct group_row *g = row;

	completed++;
	g->threads *= 10;
}

static void check_complete(void)
{
	static const struct table table = {
		.name = "groups", TABLE(struct group_row, group_columns), .sort = "name",
		.top = true, .complete = complete,
	};
	static const struct table *const tables[] = { &table, NULL };

	for (int by_own = 0; by_own < 2; by_own++) {
		char *text;
		size_t len;
		FILE *file = open_memstream(&text, &len);
		struct out_config config = {
			.tables = tables, .to = file, .top = 1, .format = OUT_TSV,
			.no_header = true, .sort = by_own ? "-name" : "-threads",
		};
		struct out *o;

		CHECK(out_open(&config, &o) == 0);
		out_frame_begin(o, TEST_TIME);
		completed = 0;
		for (uint64_t i = 1; i < 4; i++)
			out_row(o, &table, &(struct group_row){ i == 1 ? "a" : i == 2 ? "b" : "c",
							       i });
		CHECK(out_frame_end(o) == 0 && completed == (by_own ? 1 : 3));
		CHECK(out_close(o) == 0);
		fclose(file);
		CHECK_STR(text, "2026-11-30T03:12:07.123Z\tc\t30\n");
		free(text);
	}
}

/* What complete fills need not be kept for rows that nobody sees. */
static void fill(void *row)
{
	struct group_row *g = row;

	completed++;
	g->threads = g->threads ? 99 : strlen(g->name);
}

static void check_kept_in_part(void)
{
	static const struct table table = {
		.name = "groups", TABLE(struct group_row, group_columns), .sort = "name",
		.top = true, .complete = fill, .kept_size = sizeof(const char *),
	};
	static const struct table *const tables[] = { &table, NULL };
	static const char *const sorts[] = { "name", "-name", "threads", "-threads" };
	static const char *const firsts[] = { "aaa\t3", "c\t1", "c\t1", "aaa\t3" };

	for (int i = 0; i < 4; i++) {
		char *text, *want;
		size_t len;
		FILE *file = open_memstream(&text, &len);
		struct out_config config = {
			.tables = tables, .to = file, .top = 1, .format = OUT_TSV,
			.no_header = true, .sort = sorts[i],
		};
		struct out *o;

		CHECK(out_open(&config, &o) == 0);
		out_frame_begin(o, TEST_TIME);
		completed = 0;
		out_row(o, &table, &(struct group_row){ "bb", 7 });
		out_row(o, &table, &(struct group_row){ "aaa", 7 });
		out_row(o, &table, &(struct group_row){ "c", 7 });
		CHECK(out_frame_end(o) == 0 && completed == (i < 2 ? 1 : 3));
		CHECK(out_close(o) == 0);
		fclose(file);
		CHECK(asprintf(&want, "2026-11-30T03:12:07.123Z\t%s\n", firsts[i]) > 0);
		CHECK_STR(text, want);
		free(want);
		free(text);
	}
}

static void check_tsv(void)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .format = OUT_TSV, .top = NA_U64 });
	for (int i = 0; i < 2; i++) {
		out_frame_begin(p.out, TEST_TIME);
		struct thread_row row = known_row(7, 1.0 / 3, "t\tn\nr\rb\\e\033\x7f\xff");

		out_row(p.out, &threads_table, &row);
		row = unknown_row(8);
		out_row(p.out, &threads_table, &row);
		CHECK(out_frame_end(p.out) == 0);
	}
#define TSV_FRAME \
		"2026-11-30T03:12:07.123Z\t7\t0.3333333333333333\t1234567890\t44\t2040109466" \
		"\t1234567\t-5\t0.5\t1" \
		"\tt\\tn\\nr\\rb\\\\e\\x1b\\x7f\xff\t\t/system.slice/a.service\n" \
		"2026-11-30T03:12:07.123Z\t8\t\t\t\t\t\t\t\t0\t\t\t\n"
	CHECK_STR(printed_text(&p),
		"time\ttid\twait_ratio\twait_ns\tswitches_per_second\trss_bytes\truns\tnice"
		"\tused_cpus\tbusy\tcomm\tpod\tcgroup\n" TSV_FRAME TSV_FRAME);
	CHECK(is_rectangular(p.text));
	printed_free(&p);

	print_to_memory(&p, (struct out_config){ .format = OUT_TSV, .table = "findings" });
	one_frame(p.out);
	CHECK_STR(printed_text(&p),
		"time\tid\tstate\tnetns\tsubject\tevidence\ttext\tproof\tnext\n"
		"2026-11-30T03:12:07.123Z\ttest.throttled\tnow\thost\t/a\\x1b[31m\t"
		"drops=220;limit=;lost_ratio=0.1;comm=a\\x3bb\t3.48 CPU-s/s lost\\nworst  java\t"
		"throttled_usec +1\tperfbox cpuwait 1\n");
	printed_free(&p);
}

static void check_json(void)
{
	struct printed p;

	print_to_memory(&p, (struct out_config){ .format = OUT_JSON, .top = NA_U64,
						.columns = "+tid" });
	one_frame(p.out);
	const char *text = printed_text(&p);

	CHECK(is_json_lines(text, p.len));
	CHECK(strstr(text,
		     "{\"table\":\"findings\",\"time\":\"2026-11-30T03:12:07.123Z\","
		     "\"id\":\"test.throttled\","
		"\"state\":\"now\",\"netns\":\"host\",\"subject\":\"/a\\u001b[31m\","
		"\"evidence\":{\"drops\":220,"
		"\"limit\":null,\"lost_ratio\":0.1,\"comm\":\"a;b\"},\"text\":\"3.48 CPU-s/s "
		"lost\\nworst  java\","
		"\"proof\":\"throttled_usec +1\",\"next\":\"perfbox cpuwait 1\"}\n") == text);
	CHECK(strstr(text,
		     "{\"table\":\"threads\",\"time\":\"2026-11-30T03:12:07.123Z\",\"tid\":\"9\","
		"\"wait_ratio\":0.975,\"wait_ratio_estimated\":true,\"wait_ns\":1234567890,"
		"\"switches_per_second\":44,\"rss_bytes\":2040109466,\"runs\":1234567,\"nice\":-5,"
		"\"used_cpus\":0.5,\"busy\":false,\"comm\":\"fast\",\"pod\":null,"
		"\"cgroup\":\"/system.slice/a.service\"}\n") != NULL);
	CHECK(strstr(text,
		     "\"tid\":\"8\",\"wait_ratio\":null,\"wait_ratio_estimated\":true,"
		     "\"wait_ns\":null") != NULL);
	printed_free(&p);

	print_to_memory(&p, (struct out_config){ .format = OUT_JSON, .columns = "name" });
	out_frame_begin(p.out, TEST_TIME);
	out_row(p.out, &groups_table,
		&(struct group_row){ "\"\\\t\xc2\x9b\xe2\x80\xae\xff\xed\xa0\x80\x7f\xc3\xa4", 1 });
	CHECK(out_frame_end(p.out) == 0);
	CHECK_STR(printed_text(&p),
		  "{\"table\":\"groups\",\"time\":\"2026-11-30T03:12:07.123Z\",\"name\":"
		  "\"\\\"\\\\\\u0009\\u009b\\u202e"
		  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\u007f\xc3\xa4\"}\n");
	CHECK(is_json_lines(p.text, p.len));
	printed_free(&p);
}

static void check_help(void)
{
	struct buf b = { 0 };

	table_help(&b, &groups_table, 40);
	CHECK_STR(b.data,
		  "  name     GROUP    what it is called\n"
		  "  threads  THREADS  how many\n");
	buf_reset(&b);
	table_help(&b, &threads_table, 60);
	CHECK(strstr(b.data, "\n  nice                 -       \"niceness\" \\ priority\n"));
	buf_free(&b);
}

int main(void)
{
	check_help();
	check_people();
	check_columns();
	check_shown();
	check_names();
	check_empty();
	check_width();
	check_top();
	check_complete();
	check_kept_in_part();
	check_tsv();
	check_json();
	return check_done("out");
}
