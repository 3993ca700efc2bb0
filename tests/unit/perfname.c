#include "common/stack/perfname.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "common/base/fail.h"
#include "tests/unit/scratch.h"

static struct perfname n;

static void test_plain(void)
{
	CHECK(!perfname_parse("cpu-clock", &n) && n.type == PERF_TYPE_SOFTWARE && n.is_clock);
	CHECK(!n.is_hardware && !n.without_kernel && !n.without_user);
	CHECK(!perfname_parse("cycles", &n) && n.type == PERF_TYPE_HARDWARE && n.is_hardware);
	CHECK(!perfname_parse("cycles:u", &n) && n.without_kernel && !n.without_user);
	CHECK(!perfname_parse("cycles:k", &n) && !n.without_kernel && n.without_user);
	CHECK(!perfname_parse("cycles:uk", &n) && !n.without_kernel && !n.without_user);
	CHECK(!perfname_parse("cs", &n) && n.config == PERF_COUNT_SW_CONTEXT_SWITCHES);
	CHECK(!perfname_parse("faults:u", &n) && n.config == PERF_COUNT_SW_PAGE_FAULTS);
	CHECK(!perfname_parse("LLC-load-misses", &n) && n.type == PERF_TYPE_HW_CACHE &&
	      n.config == 0x10002);
	CHECK(!perfname_parse("r1a8", &n) && n.type == PERF_TYPE_RAW && n.config == 0x1a8);
	for (const char *const *name = perfname_list(); *name; name++)
		CHECK(!perfname_parse(*name, &n));
}

static void test_unknown(void)
{
	static const char *const names[] = {
		"", "foo", ":u", "cycles:x", "r", "rxyz", "r1a8z", "a:", ":b", "../x:y", "a/b:c",
		"cycles,instructions", "r11111111111111111",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!CHECK(perfname_parse(names[i], &n) < 0))
			printf("%s\n", names[i]);
	CHECK(perfname_parse("foo", &n) == -EINVAL);
}

static void test_tracepoints(void)
{
	static const char folder[] = "sys/kernel/tracing/events/sched/sched_switch";
	char command[512];

	CHECK(perfname_parse("sched:sched_switch", &n) == -ENOENT);
	CHECK(strstr(fail_text(), "not mounted") != NULL);
	src_frame_end();
	src_close();
	snprintf(command, sizeof(command), "mkdir -p '%s/%s' && echo 316 >'%s/%s/id'", top, folder,
		 top, folder);
	CHECK(system(command) == 0);
	CHECK(!src_open_root(top) && src_frame_begin() == 1);
	CHECK(!perfname_parse("sched:sched_switch", &n) && n.type == PERF_TYPE_TRACEPOINT &&
	      n.config == 316);
	CHECK(!perfname_parse("sched:sched_switch:k", &n) && n.without_user);
	CHECK(perfname_parse("sched:nosuch", &n) == -EINVAL);
	CHECK(strstr(fail_text(), "no tracepoint sched:nosuch") != NULL);
}

int main(void)
{
	if (!scratch_begin("perfname"))
		return 1;
	CHECK(!src_open_root(top) && src_frame_begin() == 1);
	test_plain();
	test_unknown();
	test_tracepoints();
	src_frame_end();
	src_close();
	scratch_end();
	return check_done("perfname");
}
