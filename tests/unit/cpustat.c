#include "common/kernel/cpustat.h"

#include <errno.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static const struct text linux_6 = TEXT(
	"cpu  3402 11 3551 153082 395 5 124 7 2 1\n"
	"cpu0 1449 5 1567 77166 10 2 58 3 1 0\n"
	"cpu2 1952 6 1983 75916 385 3 66 4 1 1\n"
	"intr 144735 0 0 9 0 0\n"
	"ctxt 266896\nbtime 1796052626\nprocesses 4887\nprocs_running 2\nprocs_blocked 1\n"
	"softirq 114377 0 15069 4 1380 35632 0 4 36070 0 26218\n"
	"a_line_of_tomorrow 1 2 3\n");

static bool is_same_times(const struct cpu_times *a, const struct cpu_times *b)
{
#define SAME(field) (a->field == NA_U64 || a->field == b->field)
	return SAME(user) && SAME(nice) && SAME(system) && SAME(idle) && SAME(iowait) &&
		SAME(irq) && SAME(softirq) && SAME(steal);
#undef SAME
}

static void test_recorded(void)
{
	struct cpu_stat s = { 0 }, part = { 0 };

	CHECK(cpustat_parse(linux_6, &s) == 0);
	CHECK(s.cpu_count == 3 && s.online == 2);
	CHECK(s.all.user == 3402 && s.all.nice == 11);
	CHECK(s.all.system == 3551 && s.all.idle == 153082);
	CHECK(s.all.iowait == 395 && s.all.irq == 5 && s.all.softirq == 124 && s.all.steal == 7);
	CHECK(s.cpus[0].is_online && !s.cpus[1].is_online && s.cpus[2].is_online);
	CHECK(s.cpus[1].user == NA_U64 && s.cpus[2].steal == 4);
	CHECK(s.context_switches == 266896 && s.interrupts == 144735 && s.softirqs == 114377);
	CHECK(s.forks == 4887 && s.btime_s == 1796052626 && s.running == 2 && s.blocked == 1);
	EACH_CUT(n, linux_6) {
		if (cpustat_parse(cut(linux_6, n), &part) != 0)
			continue;
#define SAME(field) CHECK(part.field == NA_U64 || part.field == s.field)
		SAME(context_switches);
		SAME(interrupts);
		SAME(softirqs);
		SAME(forks);
		SAME(btime_s);
		SAME(running);
		SAME(blocked);
#undef SAME
		CHECK(is_same_times(&part.all, &s.all));
		for (unsigned i = 0; i < part.cpu_count; i++)
			CHECK(is_same_times(&part.cpus[i], &s.cpus[i]));
	}
	/* used again for a smaller machine: nothing is left of the larger one */
	CHECK(cpustat_parse(TEXT("cpu  1 2 3 4\ncpu0 1 2 3 4\n"), &s) == 0);
	CHECK(s.cpu_count == 1 && s.online == 1 && s.context_switches == NA_U64);
	CHECK(s.all.idle == 4 && s.all.iowait == NA_U64 && s.all.steal == NA_U64);
	cpustat_free(&s);
	cpustat_free(&part);
	CHECK(!s.cpus && !s.cpu_cap);
}

static void test_hostile(void)
{
	struct cpu_stat s = { .cpu_count = 77 };

	CHECK(cpustat_parse(TEXT(""), &s) == -EINVAL);
	CHECK(cpustat_parse(TEXT("cpu0 1 2 3 4\n"), &s) == -EINVAL);
	CHECK(cpustat_parse(TEXT("cpu  1 2 3 4"), &s) == -EINVAL);
	CHECK(cpustat_parse(TEXT("cpu  1 2 3 4\ncpu8192 1 2 3 4\n"), &s) == -EINVAL);
	CHECK(cpustat_parse(TEXT("cpu  1 2 3 4\ncpu18446744073709551615 1 2\n"), &s) == -EINVAL);
	CHECK(s.cpu_count == 77);
	CHECK(cpustat_parse(TEXT("cpu  1 x 3 4\ncpux 1\ncpu 5\n"
				 "cpu8191 1 99999999999999999999 3\ncpu\n"
				 "cpu8191 7 8 9\nctxt -5\nintr\n"), &s) == 0);
	CHECK(s.all.user == 5 && s.all.nice == NA_U64);
	CHECK(s.cpu_count == 8192 && s.online == 1);
	CHECK(s.cpus[8191].nice == 8);
	CHECK(s.context_switches == NA_U64 && s.interrupts == NA_U64);
	cpustat_free(&s);
}

static bool is_near(double a, double b)
{
	return a > b - 1e-9 && a < b + 1e-9;
}

static void test_shares(void)
{
	const struct cpu_times before = { 100, 10, 50, 1000, 40, 1, 2, 3, true };
	const struct cpu_times now = { 130, 20, 60, 1030, 50, 1, 7, 8, true };
	const struct cpu_times back = { 130, 20, 60, 1040, 39, 1, 7, 8, true };
	const struct cpu_times old = { 1, 2, 3, 4, NA_U64, NA_U64, NA_U64, NA_U64, true };
	const struct cpu_times old_later = { 3, 4, 5, 8, NA_U64, NA_U64, NA_U64, NA_U64, true };
	const struct cpu_times offline = {
		NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, false
	};
	struct cpu_shares s;

	cpustat_shares(&before, &now, &s);
	CHECK(is_near(s.user, 0.4) && is_near(s.system, 0.1) && is_near(s.iowait, 0.1));
	CHECK(is_near(s.irq, 0) && is_near(s.softirq, 0.05) && is_near(s.steal, 0.05));
	CHECK(is_near(s.idle, 0.3) && is_near(s.busy, 0.6));
	cpustat_shares(&before, &back, &s);
	CHECK(is_near(s.iowait, 0) && is_near(s.idle, 0.4) && is_near(s.busy, 0.6));
	cpustat_shares(&old, &old_later, &s);
	CHECK(is_near(s.user, 0.4) && is_near(s.idle, 0.4) && is_near(s.busy, 0.6));
	CHECK(is_na_f64(s.iowait) && is_na_f64(s.steal));
	cpustat_shares(&before, &before, &s);
	CHECK(is_na_f64(s.user) && is_na_f64(s.idle) && is_na_f64(s.busy));
	cpustat_shares(&offline, &now, &s);
	CHECK(is_na_f64(s.user) && is_na_f64(s.busy));
}

int main(void)
{
	test_recorded();
	test_hostile();
	test_shares();
	return check_done("cpustat");
}
