#include "common/stack/perfscript.h"

#include "common/base/na.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static bool is(struct text t, const char *s)
{
	return check_that(text_is(t, s), s, __FILE__, __LINE__);
}

static struct perfscript_header header(const char *line)
{
	struct perfscript_header h = { .period = NA_U64 };

	CHECK(perfscript_parse_header(text_of(line), &h));
	return h;
}

static void test_with_time(void)
{
	struct perfscript_header h =
		header("we ird:1 (x) 7 21337  1506.628660:    1003009 cpu-clock: \r");

	is(h.comm, "we ird:1 (x) 7");
	is(h.tid, "21337");
	is(h.event, "cpu-clock");
	CHECK(h.period == 1003009 && h.has_time && h.time > 1506.62 && h.time < 1506.63);
	CHECK(!h.pid.len && !h.cpu.len && !h.frame.len && !h.is_task_record);

	h = header("      kid/0:2  5/7     [003] 1506.1:  cycles:ppp:  ffff12 f+0x1 ([k x])");
	is(h.comm, "kid/0:2");
	is(h.pid, "5");
	is(h.tid, "7");
	is(h.cpu, "003");
	is(h.event, "cycles:ppp");
	is(h.frame, "ffff12 f+0x1 ([k x])");
	CHECK(is_na_u64(h.period));

	h = header("t 21393 [000]  1518.3: sched:sched_process_exec: filename=./t pid=21393");
	is(h.event, "sched:sched_process_exec");
	is(h.frame, "filename=./t pid=21393");
	h = header("as 25853 [000] U      3441.340527:    2004008 cpu-clock: ");
	is(h.comm, "as");
	is(h.tid, "25853");
	is(h.cpu, "000");
	h = header("x 1 [000] 3.5:  7 cycles:  /user.slice/a.scope");
	is(h.cgroup, "/user.slice/a.scope");
	CHECK(!h.frame.len);
	h = header(" 3441.340527: cpu-clock: ");
	CHECK(!h.comm.len && !h.tid.len);
	is(h.event, "cpu-clock");
	h = header("as 25853  3441.3:    2004008 ");
	CHECK(!h.event.len && h.period == 2004008);
	h = header("swapper     0 [000]     0.000000: PERF_RECORD_MMAP -1/0: [0xffff(0x12) @ 0]: "
		"x");
	CHECK(h.is_task_record && !h.lost);
	h = header("swapper     0 [000]     0.000000: PERF_RECORD_LOST lost 12");
	CHECK(h.is_task_record && h.lost == 12);
	CHECK(header("x 0 PERF_RECORD_LOST lost 7").lost == 7);
	CHECK(header("x 0 1.5: PERF_RECORD_LOST lost 99999999999999999999").lost == 0);
	/* a period of more than 64 bits is not known */
	h = header("x 1 3.5:  99999999999999999999 cycles: ");
	CHECK(is_na_u64(h.period));
}

static void test_without_time(void)
{
	struct perfscript_header h = header("as 25853 [000] cpu-clock: ");

	is(h.comm, "as");
	is(h.tid, "25853");
	is(h.cpu, "000");
	is(h.event, "cpu-clock");
	CHECK(!h.has_time);
	h = header("as 25853    2004008 cpu-clock: ");
	is(h.tid, "25853");
	CHECK(h.period == 2004008);
	h = header("as 25853    2004008 ");
	is(h.tid, "25853");
	CHECK(h.period == 2004008 && !h.event.len);
	h = header("comm 7    21 cycles:u: ");
	is(h.comm, "comm 7");
	is(h.tid, "21");
	is(h.event, "cycles:u");
	/* too narrow for a tid */
	h = header("we ird:1 (x) 7 ");
	is(h.comm, "we ird:1 (x) 7");
	CHECK(!h.tid.len);
	h = header("25853/25854 ");
	is(h.pid, "25853");
	is(h.tid, "25854");
	h = header("[001] ");
	is(h.cpu, "001");
	CHECK(!h.comm.len);
	h = header("cpu-clock: ");
	is(h.event, "cpu-clock");
	CHECK(!h.comm.len);
	h = header("as 25853 cpu-clock:  ffff12 f+0x1 (/bin/as)");
	is(h.event, "cpu-clock");
	is(h.frame, "ffff12 f+0x1 (/bin/as)");
	CHECK(header("x 12 PERF_RECORD_COMM: y:12/12").is_task_record);
}

static void test_frames(void)
{
	struct perfscript_frame f;

	CHECK(perfscript_parse_frame(TEXT("\t            11d2 mid+0x32 (/usr/lib/t)"), &f));
	CHECK(f.address == 0x11d2 && !f.is_inlined);
	is(f.symbol, "mid");
	is(f.object, "/usr/lib/t");
	CHECK(perfscript_parse_frame(TEXT("  ffff f(int) ([JIT app cache])\r"), &f));
	is(f.symbol, "f(int)");
	is(f.object, "[JIT app cache]");
	CHECK(perfscript_parse_frame(TEXT("ffff f(int)"), &f));
	is(f.symbol, "f(int)");
	CHECK(!f.object.len);
	CHECK(perfscript_parse_frame(TEXT(" 1 g (inlined)"), &f) && f.is_inlined && !f.object.len);
	CHECK(perfscript_parse_frame(TEXT(" 1 a b (x (deleted))"), &f));
	is(f.symbol, "a b");
	is(f.object, "x (deleted)");
	CHECK(perfscript_parse_frame(TEXT(" 1 f(int) (.isra.0)"), &f) && !f.object.len);
	is(f.symbol, "f(int) (.isra.0)");
	CHECK(perfscript_parse_frame(TEXT(" 1 f (./x)"), &f));
	is(f.object, "./x");
	CHECK(perfscript_parse_frame(TEXT(" 7f30 ([unknown])"), &f) && !f.symbol.len);
	CHECK(perfscript_parse_frame(TEXT("0"), &f) && !f.symbol.len && !f.address);
}

static void test_hostile(void)
{
	struct perfscript_header h = { .time = 7 };
	struct perfscript_frame f = { .address = 7 };
	const struct text whole = TEXT("\tffffffff81002031 f(int)+0x32 (/usr/lib/t (deleted))");
	const struct text line = TEXT("a b 12/34 [005] U 15.25: 1000 cycles:u:  12 f+0x1 (x)");

	CHECK(!perfscript_parse_frame(TEXT(""), &f) && !perfscript_parse_frame(TEXT("\t"), &f));
	CHECK(!perfscript_parse_frame(TEXT("  t.c:8"), &f) &&
		!perfscript_parse_frame(TEXT("xyz"), &f));
	CHECK(!perfscript_parse_frame(TEXT("12345678901234567 f"), &f) && f.address == 7);
	CHECK(!perfscript_parse_header(TEXT(""), &h) && !perfscript_parse_header(TEXT("  \r"), &h));
	CHECK(!perfscript_parse_header(TEXT("# x 1 2.5: a:"), &h) && h.time == 7);
	CHECK(perfscript_parse_header(TEXT(":"), &h) && !h.has_time);
	CHECK(perfscript_parse_header(TEXT("1.5:"), &h) && h.has_time && !h.comm.len);
	CHECK(perfscript_parse_header(TEXT("[1]: 2.:.3: x .4: 5:"), &h) && !h.has_time);
	/* colons upon colons: looked at once, not each against each */
	char *long_line = malloc(1 << 20);

	for (size_t i = 0; i < 1 << 20; i++)
		long_line[i] = "a: 1 )"[i % 6];
	CHECK(!perfscript_parse_header((struct text){ long_line, 1 << 20 }, &h));
	free(long_line);
	EACH_CUT(n, whole)
		if (perfscript_parse_frame(cut(whole, n), &f) && f.symbol.len)
			CHECK(text_starts(f.symbol, "f") && (n < whole.len || f.object.len));
	EACH_CUT(n, line)
		if (perfscript_parse_header(cut(line, n), &h) && h.has_time)
			CHECK(text_is(h.comm, "a b") && text_is(h.tid, "34") && h.time == 15.25);
}

int main(void)
{
	test_with_time();
	test_without_time();
	test_frames();
	test_hostile();
	return check_done("perfscript");
}
