/* Options: every way to give one, and what a wrong one gets. */
#include "common/report/opt.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static struct {
	bool all, listen, json;
	const char *comm, *by;
	uint64_t top, delay_ns;
	struct opt_numbers pids;
	struct opt_texts events;
} got;

static const struct opt own[] = {
	{ 'a', "all", NULL, "everything", OPT_FLAG, &got.all, false, NULL },
	{ 'l', NULL, NULL, "listening", OPT_FLAG, &got.listen, false, NULL },
	{ 't', NULL, NULL, "a habit", OPT_NOTHING, NULL, true, NULL },
	{ 'C', "comm", "RE", "only these commands", OPT_TEXT, &got.comm, false, NULL },
	{ 0, "by", "KEY", "sum by thread or process (thread)", OPT_TEXT, &got.by, false,
	  "thread|process" },
	{ 'p', "pid", "PID", "these processes", OPT_NUMBERS, &got.pids, false, NULL },
	{ 'e', "event", "EVENT", "count this, as often as given", OPT_TEXTS, &got.events, false,
	  NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static const struct opt common[] = {
	{ 'j', "json", NULL, "JSON lines", OPT_FLAG, &got.json, false, NULL },
	{ 'J', NULL, NULL, "JSON lines", OPT_FLAG, &got.json, true, NULL },
	{ 0, "top", "N", "rows of a table (20)", OPT_NUMBER, &got.top, false, NULL },
	{ 0, "delay", "TIME", "wait", OPT_DURATION, &got.delay_ns, false, NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};

static char *words[32];
static char line_copy[1024];

/* Parses a command line, blanks between the words. */
static int parse(const char *line)
{
	int argc = 0;

	free(got.pids.items);
	free(got.events.items);
	memset(&got, 0, sizeof(got));
	snprintf(line_copy, sizeof(line_copy), "perfbox %s", line);
	for (char *at = line_copy; at && *at; words[argc - 1][0] == '\0' ? argc-- : 0)
		words[argc++] = strsep(&at, " ");
	words[argc] = NULL;
	return opt_parse(argc, words, own, common);
}

static void check_error(const char *line, const char *text)
{
	int result = parse(line);

	CHECK(result == -EINVAL);
	CHECK_STR(result < 0 ? fail_text() : "", text);
}

static void check_forms(void)
{
	CHECK(parse("") == 0 && !words[1]);
	CHECK(parse("-alt 5 2") == 2 && got.all && got.listen);
	CHECK_STR(words[1], "5");
	CHECK_STR(words[2], "2");
	CHECK(!words[3]);
	CHECK(parse("5 -a --json 2") == 2 && got.all && got.json);
	CHECK_STR(words[2], "2");
	CHECK(parse("-J") == 0 && got.json);
	CHECK(parse("-lC nginx -aCx") == 0 && got.listen && got.all);
	CHECK_STR(got.comm, "x");
	CHECK(parse("--comm=a=b") == 0);
	CHECK_STR(got.comm, "a=b");
	CHECK(parse("--comm= x") == 1);
	CHECK_STR(got.comm, "");
	CHECK(parse("-p1,2 --pid 3 --pid=4,5") == 0 && got.pids.count == 5);
	CHECK(got.pids.items[0] == 1 && got.pids.items[4] == 5);
	CHECK(parse("-e a -eb --event=c") == 0 && got.events.count == 3);
	CHECK_STR(got.events.items[1], "b");
	CHECK(parse("-a -- -j --nonsense") == 2 && !got.json);
	CHECK_STR(words[1], "-j");
	CHECK(parse("- -a") == 1 && got.all);
	CHECK_STR(words[1], "-");
	CHECK(parse("--by process") == 0);
	CHECK_STR(got.by, "process");
	CHECK(parse("-C -a") == 0 && !got.all);
	CHECK_STR(got.comm, "-a");
}

static void check_errors(void)
{
	check_error("-x", "unknown option '-x'");
	check_error("-ax", "unknown option '-x' in '-ax'");
	check_error("-1", "unknown option '-1': no number here can be negative");
	check_error("--byy", "unknown option '--byy': did you mean '--by'?");
	check_error("--jsno", "unknown option '--jsno': did you mean '--json'?");
	check_error("--com=x", "unknown option '--com': did you mean '--comm'?");
	check_error("--zzz", "unknown option '--zzz'");
	check_error("-by process", "unknown option '-by': did you mean '--by'?");
	check_error("--b\033[31my", "unknown option '--b\\x1b[31my'");
	check_error("-\xc3\xa4", "unknown option '-\xc3\xa4'");
	check_error("--json=1", "--json takes no value");
	check_error("-p", "-p needs a value (PID)");
	check_error("--top", "--top needs a value (N)");
	check_error("-p x1", "-p: 'x1' is not a number");
	check_error("-p 1,,2", "-p: '' is not a number");
	check_error("-p 1,", "-p: '' is not a number");
	check_error("-p -3", "-p: '-3' is not a number");
	check_error("-p 18446744073709551616", "-p: '18446744073709551616' is too large");
	check_error("--top=1.5", "--top: '1.5' is not a whole number");
	check_error("--top -4", "--top: '-4' is negative");
	check_error("--top 1kk", "--top: '1kk' is not a number");
	check_error("--top 17179869184G", "--top: '17179869184G' is too large");
	check_error("--delay 5x",
		    "--delay: '5x' is not a time: seconds, or with ms us s m h behind");
	check_error("--delay .", "--delay: '.' is not a number");
	check_error("--by proces",
		    "--by: 'proces' is none of thread|process: did you mean 'process'?");
	check_error("--by color", "--by: 'color' is none of thread|process");
}

static void check_values(void)
{
	uint64_t n = 7;

	CHECK(!opt_number("n", "0", &n) && n == 0);
	CHECK(!opt_number("n", "4k", &n) && n == 4096);
	CHECK(!opt_number("n", "2M", &n) && n == 2 << 20);
	CHECK(!opt_number("n", "1G", &n) && n == 1 << 30);
	CHECK(!opt_number("n", "18446744073709551614", &n) && n == UINT64_MAX - 1);
	CHECK(opt_number("n", "18446744073709551615", &n) == -EINVAL && n == UINT64_MAX - 1);
	CHECK(opt_number("n", "", &n) == -EINVAL);
	CHECK_STR(fail_text(), "n: '' is not a number");
	CHECK(opt_number("n", " 1", &n) == -EINVAL && opt_number("n", "+1", &n) == -EINVAL);
	CHECK(opt_number("n", "0x10", &n) == -EINVAL && opt_number("n", "1e3", &n) == -EINVAL);
	CHECK(!opt_duration("d", "5", &n) && n == 5000000000);
	CHECK(!opt_duration("d", "0.3", &n) && n == 300000000);
	CHECK(!opt_duration("d", ".25s", &n) && n == 250000000);
	CHECK(!opt_duration("d", "1.5ms", &n) && n == 1500000);
	CHECK(!opt_duration("d", "10us", &n) && n == 10000);
	CHECK(!opt_duration("d", "2m", &n) && n == 120000000000);
	CHECK(!opt_duration("d", "0.000000001h", &n) && n == 3600);
	CHECK(!opt_duration("d", "0.123456789123456789123456789", &n) && n == 123456789);
	CHECK(opt_duration("d", "999999999999", &n) == -EINVAL);
	CHECK_STR(fail_text(), "d: '999999999999' is too large");
	CHECK(opt_duration("d", "99999999999999999999999h", &n) == -EINVAL);
	CHECK(opt_duration("d", "-1", &n) == -EINVAL);
	CHECK_STR(fail_text(), "d: '-1' is negative");
	CHECK(opt_duration("d", "nan", &n) == -EINVAL && opt_duration("d", "inf", &n) == -EINVAL);
	CHECK(opt_duration("d", "1.5.5", &n) == -EINVAL && opt_duration("d", "5 ", &n) == -EINVAL);
}

static void check_closest(void)
{
	static const char *const names[] = {
		"listenq", "cpuwait", "oomcheck", "conntrack-top", "netpath", NULL,
	};

	CHECK_STR(opt_closest("listnq", names), "listenq");
	CHECK_STR(opt_closest("cpuwiat", names), "cpuwait");
	CHECK_STR(opt_closest("CPUWAIT", names), "cpuwait");
	CHECK_STR(opt_closest("conntrack", names), "conntrack-top");
	CHECK_STR(opt_closest("oom", names), "oomcheck");
	CHECK(!opt_closest("frobnicate", names));
	CHECK(!opt_closest("x", names));
	CHECK(!opt_closest("", names));
	char big[3000];

	memset(big, 'c', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	CHECK(!opt_closest(big, names));
}

static void check_help(void)
{
	struct buf b = { 0 };

	opt_help(&b, own, 60);
	CHECK_STR(b.data,
		  "  -a, --all                 everything\n"
		  "  -l                        listening\n"
		  "  -C, --comm RE             only these commands\n"
		  "      --by KEY              sum by thread or process\n"
		  "                            (thread)\n"
		  "  -p, --pid PID             these processes\n"
		  "  -e, --event EVENT         count this, as often as given\n");
	buf_free(&b);
}

int main(void)
{
	check_forms();
	/* "--" alone is no error */
	CHECK(parse("--") == 0);
	check_errors();
	check_values();
	check_closest();
	check_help();
	free(got.pids.items);
	free(got.events.items);
	return check_done("opt");
}
