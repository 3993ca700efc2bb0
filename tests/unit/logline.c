#include "common/kernel/logline.h"

#include "tests/unit/check.h"
#include "tests/unit/cut.h"

#define SEC 1000000000ull
#define NOV_30_2026 1796040000ull              /* 12:00:00 UTC, as date -u -d says */
#define NOW (NOV_30_2026 * SEC + 3600 * SEC)

/* What each format's line says; all have the words "Killed process 1 (x) y". */
static const struct {
	const char *line, *program, *caller;
	uint64_t boot_ns, realtime_s;          /* NA_U64 none */
	bool is_kernel, is_escaped;
} lines[] = {
	{ "4,505,12345678,-,caller=T9;Killed process 1 (x) y", "", "T9", 12345678000, NA_U64, true,
	  true },
	{ "4,505,12345678,c,more=1,caller=C1,x;Killed process 1 (x) y", "", "C1", 12345678000,
	  NA_U64, true, true },
	{ "12,505,12345678,-;Killed process 1 (x) y", "", "", 12345678000, NA_U64, false, true },
	{ "Killed process 1 (x) y", "", "", NA_U64, NA_U64, true, true },
	{ "<4>[   12.345678] Killed process 1 (x) y", "", "", 12345678000, NA_U64, true, true },
	{ "<12>[   12.345678] Killed process 1 (x) y", "", "", 12345678000, NA_U64, false, true },
	{ "<4>[   12.345678][   T9] Killed process 1 (x) y", "", "T9", 12345678000, NA_U64, true,
	  true },
	{ "[   12.345678] [   T99] Killed process 1 (x) y", "", "T99", 12345678000, NA_U64, true,
	  true },
	{ "kern  :warn  : [   12.345678] Killed process 1 (x) y", "", "", 12345678000, NA_U64, true,
	  true },
	{ "user  :notice: [   12.345678] Killed process 1 (x) y", "", "", 12345678000, NA_U64,
	  false, true },
	{ "authpriv:err   : [   12.345678] Killed process 1 (x) y", "", "", 12345678000, NA_U64,
	  false, true },
	{ "[Mon Nov 30 12:00:00 2026] Killed process 1 (x) y", "", "", NA_U64, NOV_30_2026, true,
	  true },
	{ "kern  :warn  : [Mon Nov 30 12:00:00 2026] Killed process 1 (x) y", "", "", NA_U64,
	  NOV_30_2026, true, true },
	{ "2026-11-30T13:00:00,000000+01:00 Killed process 1 (x) y", "", "", NA_U64, NOV_30_2026,
	  true, true },
	{ "Nov 30 12:00:00 host kernel: Killed process 1 (x) y", "kernel", "", NA_U64, NOV_30_2026,
	  true, false },
	{ "Nov 30 12:00:00.000000 host kernel: Killed process 1 (x) y", "kernel", "", NA_U64,
	  NOV_30_2026, true, false },
	{ "Nov 30 12:00:00 host kernel: [   12.345678] Killed process 1 (x) y", "kernel", "",
	  12345678000, NOV_30_2026, true, false },
	{ "Nov 30 12:00:00 kernel: Killed process 1 (x) y", "kernel", "", NA_U64, NOV_30_2026, true,
	  false },
	{ "Nov 30 12:00:00 host app[7]: Killed process 1 (x) y", "app[7]", "", NA_U64, NOV_30_2026,
	  false, false },
	{ "Nov 30 12:00:00 host kernel[7]: Killed process 1 (x) y", "kernel[7]", "", NA_U64,
	  NOV_30_2026, false, false },
	{ "Nov 30 12:00:00 host kern.warn kernel: [ 12.345678] Killed process 1 (x) y", "kernel",
	  "", 12345678000, NOV_30_2026, true, false },
	{ "Nov 30 12:00:00 host user.warn kernel: Killed process 1 (x) y", "kernel", "", NA_U64,
	  NOV_30_2026, false, false },
	{ "<4>Nov 30 12:00:00 host kernel: Killed process 1 (x) y", "kernel", "", NA_U64,
	  NOV_30_2026, true, false },
	{ "<13>Nov 30 12:00:00 host kernel: Killed process 1 (x) y", "kernel", "", NA_U64,
	  NOV_30_2026, false, false },
	{ "2026-11-30T12:00:00+0000 host kernel: Killed process 1 (x) y", "kernel", "", NA_U64,
	  NOV_30_2026, true, false },
	{ "2026-11-30T06:30:00.000001-05:30 host kernel: Killed process 1 (x) y", "kernel", "",
	  NA_U64, NOV_30_2026, true, false },
	{ "2026-11-30 12:00:00 host kernel: Killed process 1 (x) y", "kernel", "", NA_U64,
	  NOV_30_2026, true, false },
	{ "Mon Nov 30 12:00:00 2026 kern.warn kernel: [ 12.345678] Killed process 1 (x) y",
	  "kernel", "", 12345678000, NOV_30_2026, true, false },
	{ "[   12.345678] host kernel: Killed process 1 (x) y", "kernel", "", 12345678000, NA_U64,
	  true, false },
	{ "<4>1 2026-11-30T12:00:00.000000Z host kernel - - - Killed process 1 (x) y", "kernel", "",
	  NA_U64, NOV_30_2026, true, false },
	{ "<4>1 2026-11-30T12:00:00Z host kernel - - [meta x=\"1\"] Killed process 1 (x) y",
	  "kernel", "", NA_U64, NOV_30_2026, true, false },
	{ "<14>1 2026-11-30T12:00:00Z host app 7 - - Killed process 1 (x) y", "app", "", NA_U64,
	  NOV_30_2026, false, false },
};

static const char *string(struct text t)
{
	static char copies[4][128];
	static unsigned next;
	char *copy = copies[next++ % 4];

	snprintf(copy, sizeof(copies[0]), "%.*s", (int)t.len, t.data ? t.data : "");
	return copy;
}

static void test_formats(void)
{
	struct logline l;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const struct text t = text_of(lines[i].line);

		logline_split(t, &l);
		bool good = CHECK_STR(string(l.text), "Killed process 1 (x) y");

		good = CHECK_STR(string(l.program), lines[i].program) && good;
		good = CHECK_STR(string(l.caller), lines[i].caller) && good;
		good = CHECK(l.boot_ns == lines[i].boot_ns) && good;
		good = CHECK(l.is_kernel == lines[i].is_kernel) && good;
		good = CHECK(l.is_escaped == lines[i].is_escaped) && good;
		good = CHECK(l.has_prefix == (l.text.data != lines[i].line)) && good;
		if (!good)
			printf("%s\n", lines[i].line);
		const uint64_t at_ns = logline_realtime(&l, NOW, 0);

		if (!CHECK(lines[i].realtime_s == NA_U64 ? at_ns == NA_U64 :
			   at_ns / SEC == lines[i].realtime_s))
			printf("%s: %llu\n", lines[i].line, (unsigned long long)at_ns);
		EACH_CUT(n, t) {
			const struct text c = cut(t, n);

			logline_split(c, &l);
			logline_realtime(&l, NOW, 0);
			CHECK(l.text.len <= n && l.text.data + l.text.len == c.data + n);
		}
	}
}

static uint64_t realtime(const char *line, uint64_t now_ns, int64_t offset_s)
{
	struct logline l;

	logline_split(text_of(line), &l);
	return logline_realtime(&l, now_ns, offset_s);
}

static void test_carriage_return(void)
{
	struct logline l;

	logline_split(TEXT("[   12.345678] Memory cgroup stats for /a:\r"), &l);
	CHECK(text_is(l.text, "Memory cgroup stats for /a:"));
	logline_split(TEXT("\r"), &l);
	CHECK(!l.text.len);
}

static void test_dates(void)
{
	const uint64_t jan_1_2026 = 1767225600 * SEC, mar_1_2027 = 1803859200 * SEC;

	/* the newest year that is not ahead: of this year, of last year, at most a day ahead */
	CHECK(realtime("Dec 31 23:59:59 h kernel: x", jan_1_2026, 0) == jan_1_2026 - SEC);
	CHECK(realtime("Jan  1 00:00:00 h kernel: x", jan_1_2026, 0) == jan_1_2026);
	CHECK(realtime("Jan  1 23:00:00 h kernel: x", jan_1_2026, 0) ==
	      jan_1_2026 + 23 * 3600 * SEC);
	CHECK(realtime("Jan  2 00:00:01 h kernel: x", jan_1_2026, 0) ==
	      (1735776001 * SEC));             /* 2025 */
	CHECK(realtime("Feb 29 12:00:00.25 h kernel: x", mar_1_2027, 0) ==
	      1709208000 * SEC + SEC / 4);     /* 2024 */
	/* the zone of who wrote it, where it does not say */
	CHECK(realtime("Nov 30 14:00:00 h kernel: x", NOW, 7200) == NOV_30_2026 * SEC);
	CHECK(realtime("Nov 30 07:00:00 h kernel: x", NOW, -18000) == NOV_30_2026 * SEC);
	CHECK(realtime("[Mon Nov 30 14:00:00 2026] x", NA_U64, 7200) == NOV_30_2026 * SEC);
	CHECK(realtime("2026-11-30T12:00:00Z h kernel: x", NA_U64, 7200) == NOV_30_2026 * SEC);
	CHECK(realtime("2026-11-30T14:00:00 h kernel: x", NA_U64, 7200) == NOV_30_2026 * SEC);
	/* no date */
	CHECK(realtime("Nov 30 12:00:00 h kernel: x", NA_U64, 0) == NA_U64);
	CHECK(realtime("Nov 31 12:00:00 h kernel: x", NOW, 0) == NA_U64);
	CHECK(realtime("Nox 30 12:00:00 h kernel: x", NOW, 0) == NA_U64);
	CHECK(realtime("Nov 30 24:00:00 h kernel: x", NOW, 0) == NA_U64);
	CHECK(realtime("2026-13-30T12:00:00Z h kernel: x", NOW, 0) == NA_U64);
	CHECK(realtime("2026-02-29T12:00:00Z h kernel: x", NOW, 0) == NA_U64);
	CHECK(realtime("1970-01-01T00:00:00+24:00 h kernel: x", NOW, 0) == NA_U64);
	CHECK(realtime("1970-01-01T00:00:00Z h kernel: x", NOW, 0) == 0);
	CHECK(realtime("2000-02-29T00:00:00Z h kernel: x", NOW, 0) == 951782400 * SEC);
	CHECK(realtime("[   12.5] x", NOW, 0) == NA_U64);
}

/* What only looks like a prefix is words. */
static void test_hostile(void)
{
	static const char *const whole[] = {
		"", "[", "[ pid ]   uid", "[  123] 0 123", "[12.5 x", "[T9] x", "<", "<4", "<x>y",
		"99999,1,1,-;x", "4,1,1", "4,x,1,-;a", "kernfoo :warn: x", "Mon", "2026-11-30",
		"usb 1-1: new", "Nov 30 12:00:00",
	};
	struct logline l;

	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		logline_split(text_of(whole[i]), &l);
		CHECK_STR(string(l.text), whole[i]);
		CHECK(!l.has_prefix && l.is_kernel && !l.program.len);
	}
	logline_split(TEXT("[99999999999999999999.1] x"), &l);
	CHECK(l.boot_ns == NA_U64 && !l.has_prefix);
	logline_split(TEXT("[18446744074.1] x"), &l);
	CHECK(l.boot_ns == NA_U64 && l.has_prefix);
	/* a row of the task table is not a caller */
	logline_split(TEXT("[   12.5] [   8802]     0  8802"), &l);
	CHECK(!l.caller.len && text_starts(l.text, "[   8802]"));
	logline_split(TEXT("[   12.5] node systemd-oomd[612]: Killed /x"), &l);
	CHECK_STR(string(l.program), "systemd-oomd[612]");
	CHECK(!l.is_kernel);
}

int main(void)
{
	test_formats();
	test_carriage_return();
	test_dates();
	test_hostile();
	return check_done("logline");
}
