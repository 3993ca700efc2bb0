/* Numbers for people, times, escaping and display width. */
#include <stdlib.h>

#include "common/report/escape.h"
#include "common/report/out.h"
#include "tests/unit/check.h"

static struct arena a;

static void check_bytes(void)
{
	CHECK_STR(human_bytes(&a, 0), "0");
	CHECK_STR(human_bytes(&a, 512), "512");
	CHECK_STR(human_bytes(&a, 1023.4), "1023");
	CHECK_STR(human_bytes(&a, 1023.6), "1.0K");
	CHECK_STR(human_bytes(&a, 1024), "1.0K");
	CHECK_STR(human_bytes(&a, 10188), "9.9K");
	CHECK_STR(human_bytes(&a, 10190), "10K");
	CHECK_STR(human_bytes(&a, 512.0 * 1024 * 1024), "512M");
	CHECK_STR(human_bytes(&a, 1048575), "1.0M");
	CHECK_STR(human_bytes(&a, 2040109466), "1.9G");
	CHECK_STR(human_bytes(&a, (double)UINT64_MAX), "16E");
	CHECK_STR(human_bytes(&a, -2048), "-2.0K");
	CHECK_STR(human_bytes(&a, NA_F64), "-");
	CHECK_STR(human_bytes(&a, INFINITY), "-");
	CHECK(strlen(human_bytes(&a, 1e300)) < 20);
}

static void check_ns(void)
{
	CHECK_STR(human_ns(&a, 0), "0");
	CHECK_STR(human_ns(&a, 850), "850ns");
	CHECK_STR(human_ns(&a, 999.7), "1.0us");
	CHECK_STR(human_ns(&a, 12345), "12us");
	CHECK_STR(human_ns(&a, 1234567), "1.2ms");
	CHECK_STR(human_ns(&a, 999600000), "1.00s");
	CHECK_STR(human_ns(&a, 3.48e9), "3.48s");
	CHECK_STR(human_ns(&a, 12.34e9), "12.3s");
	CHECK_STR(human_ns(&a, 59.96e9), "1m00s");
	CHECK_STR(human_ns(&a, 130e9), "2m10s");
	CHECK_STR(human_ns(&a, 3599.7e9), "1h00m");
	CHECK_STR(human_ns(&a, 86400e9 * 1.125), "1d03h");
	CHECK_STR(human_ns(&a, 86400e9 * 41.2), "41d");
	CHECK_STR(human_ns(&a, -1.5e6), "-1.5ms");
	CHECK_STR(human_ns(&a, NA_F64), "-");
	CHECK(strlen(human_ns(&a, 1e300)) < 30);
}

static void check_others(void)
{
	CHECK_STR(human_count(&a, 0), "0");
	CHECK_STR(human_count(&a, 999), "999");
	CHECK_STR(human_count(&a, 241172), "241,172");
	CHECK_STR(human_count(&a, -1234567), "-1,234,567");
	CHECK_STR(human_count(&a, 3.14159), "3.14");
	CHECK_STR(human_count(&a, 31.4159), "31.4");
	CHECK_STR(human_count(&a, 1234.5678), "1,235");
	CHECK_STR(human_count(&a, 0.001), "<0.01");
	CHECK_STR(human_count(&a, 1e15), "1,000,000,000,000,000");
	CHECK(strlen(human_count(&a, 1e300)) < 30);
	CHECK_STR(human_ratio(&a, 0.87), "87 %");
	CHECK_STR(human_ratio(&a, 0.004), "0.4 %");
	CHECK_STR(human_ratio(&a, 0.0996), "10 %");
	CHECK_STR(human_ratio(&a, 0), "0 %");
	CHECK_STR(human_ratio(&a, 0.00001), "<0.1 %");
	CHECK_STR(human_ratio(&a, 9.75), "975 %");
	CHECK_STR(human_ratio(&a, NA_F64), "-");
	CHECK_STR(human_rate(&a, 44), "44/s");
	CHECK_STR(human_rate(&a, 0.3), "0.3/s");
	CHECK_STR(human_rate(&a, 0.02), "0.02/s");
	CHECK_STR(human_rate(&a, 0.0001), "<0.01/s");
	CHECK_STR(human_rate(&a, 0), "0/s");
	CHECK_STR(human_rate(&a, 11800.4), "11,800/s");
	CHECK_STR(human_rate(&a, 9.96), "10/s");
}

static void check_time(void)
{
	const uint64_t second = 1000000000;

	CHECK_STR(out_time(&a, 0), "1970-01-01T00:00:00.000Z");
	CHECK_STR(out_time(&a, 951782399 * second), "2000-02-28T23:59:59.000Z");
	CHECK_STR(out_time(&a, 951868799 * second + 999999999), "2000-02-29T23:59:59.999Z");
	CHECK_STR(out_time(&a, 951868800 * second), "2000-03-01T00:00:00.000Z");
	CHECK_STR(out_time(&a, 1735689599 * second), "2024-12-31T23:59:59.000Z");
	CHECK_STR(out_time(&a, 1796008327123456789), "2026-11-30T03:12:07.123Z");
	CHECK_STR(out_time(&a, 4107542400 * second), "2100-03-01T00:00:00.000Z");
	CHECK_STR(out_time(&a, UINT64_MAX), "2554-07-21T23:34:33.709Z");
}

static void check_escape(void)
{
	CHECK_STR(out_escape(&a, NULL), "-");
	CHECK_STR(out_escape(&a, "plain \xc3\xa4\xe6\x97\xa5 \\"), "plain \xc3\xa4\xe6\x97\xa5 \\");
	CHECK_STR(out_escape(&a, "\033[2J\n\t\x7f"), "\\x1b[2J\\x0a\\x09\\x7f");
	CHECK_STR(out_escape(&a, "\xc2\x9b" "31m"), "\\xc2\\x9b31m");
	CHECK_STR(out_escape(&a, "a\xe2\x80\xae" "b\xe2\x81\xa6"),
		  "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6");
	CHECK_STR(out_escape(&a, "\xff\xc0\xaf\xed\xa0\x80\xe6\x97"),
		  "\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xe6\\x97");
	CHECK_STR(out_escape(&a, "\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
	CHECK(escape_width(TEXT("abc")) == 3);
	CHECK(escape_width(TEXT("na\xc3\xafve")) == 5);
	CHECK(escape_width(TEXT("\xe6\x97\xa5\xe6\x9c\xac")) == 4);
	CHECK(escape_width(TEXT("e\xcc\x81")) == 1);
	CHECK(escape_width(TEXT("\xf0\x9f\x98\x80")) == 2);
	CHECK(escape_head(TEXT("\xe6\x97\xa5\xe6\x9c\xac"), 3) == 3);
	CHECK(escape_tail(TEXT("\xe6\x97\xa5\xe6\x9c\xac"), 3) == 3);
	CHECK(escape_head(TEXT("abc"), 9) == 3 && escape_tail(TEXT("abc"), 0) == 0);
}

int main(void)
{
	check_bytes();
	check_ns();
	check_others();
	check_time();
	check_escape();
	arena_free(&a);
	return check_done("human");
}
