#include "common/kernel/task.h"

#include <errno.h>

#include "common/base/fail.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static const struct text stat_6_18 = TEXT(
	"4887 (cat) R 4883 4883 3504 0 -1 4194304 99 0 0 0 7 3 0 0 20 -5 1 0 80431 3133440 388 "
	"18446744073709551615 94919386677248 94919386697129 140728135798736 0 0 0 0 0 0 0 0 0 "
	"17 1 0 0 0 0 0 94919386713136 94919386714752 94919925927936 140728135801247 "
	"140728135801306 140728135801306 140728135802859 0\n");

static bool is_same_stat(const struct task_stat *a, const struct task_stat *b)
{
#define SAME(field) (a->field == NA_U64 || a->field == b->field)
	return a->comm.len == b->comm.len && !memcmp(a->comm.data, b->comm.data, a->comm.len) &&
		a->state == b->state && SAME(ppid) && SAME(flags) && SAME(utime_ticks) &&
		SAME(stime_ticks) && (a->nice == NA_I64 || a->nice == b->nice) && SAME(threads) &&
		SAME(start_ticks) && SAME(cpu) && SAME(rt_priority) && SAME(policy);
#undef SAME
}

static void test_stat(void)
{
	struct task_stat s, part;

	CHECK(task_parse_stat(stat_6_18, &s) == 0);
	CHECK(text_is(s.comm, "cat"));
	CHECK(s.state == 'R');
	CHECK(s.ppid == 4883 && s.flags == 4194304);
	CHECK(s.utime_ticks == 7 && s.stime_ticks == 3);
	CHECK(s.nice == -5 && s.threads == 1);
	CHECK(s.start_ticks == 80431);
	CHECK(s.cpu == 1 && s.rt_priority == 0 && s.policy == 0);
	EACH_CUT(n, stat_6_18)
		if (task_parse_stat(cut(stat_6_18, n), &part) == 0)
			CHECK(is_same_stat(&part, &s));
}

/* One line with this name in it, everything else known. */
static bool has_comm(struct text comm)
{
	char line[512];
	struct task_stat s;
	int n = snprintf(line, sizeof(line),
			 "12 (%.*s) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 10 11 12 13",
			 (int)comm.len, comm.data);

	return task_parse_stat((struct text){ line, (size_t)n }, &s) == 0 &&
		s.comm.len == comm.len && !memcmp(s.comm.data, comm.data, comm.len) &&
		s.state == 'S' && s.ppid == 1 &&
		s.utime_ticks == 5 && s.stime_ticks == 6 && s.threads == 9 && s.start_ticks == 10 &&
		s.cpu == NA_U64;
}

static void test_hostile_comm(void)
{
	CHECK(has_comm(TEXT("")));
	CHECK(has_comm(TEXT(")")));
	CHECK(has_comm(TEXT("a) R 1 2 3")));
	CHECK(has_comm(TEXT("a b\tc\nd")));
	CHECK(has_comm(TEXT("((()))")));
	CHECK(has_comm(TEXT("tmux: server")));
	CHECK(has_comm(TEXT("\x1b[31m\xff\xfe")));
	CHECK(has_comm(TEXT("kworker/u64:2-events_unbound")));
}

static void test_bad_stat(void)
{
	struct task_stat s = { .state = '?' };

	CHECK(task_parse_stat(TEXT(""), &s) == -EINVAL);
	CHECK(task_parse_stat(TEXT("1 cat R 1"), &s) == -EINVAL);
	CHECK(task_parse_stat(TEXT("x (cat) R 1"), &s) == -EINVAL);
	CHECK(task_parse_stat(TEXT("1 (cat"), &s) == -EINVAL);
	CHECK(task_parse_stat(TEXT("1 (cat)"), &s) == -EINVAL);
	CHECK(task_parse_stat(TEXT("1 (cat) R"), &s) == -EINVAL);
	CHECK(task_parse_stat(TEXT("1 (cat) 5 6 7"), &s) == -EINVAL);
	CHECK(s.state == '?');
	CHECK(*fail_text());
	/* garbled and overflowing fields are unknown, their neighbours are not */
	CHECK(task_parse_stat(TEXT("1 (a) S x 2 3 4 5 99999999999999999999 1 1 1 1 "
				   "18446744073709551615 18446744073709551616 "
				   "1 1 20 --3 4 0 5 "), &s) == 0);
	CHECK(s.ppid == NA_U64 && s.flags == NA_U64);
	CHECK(s.utime_ticks == UINT64_MAX && s.stime_ticks == NA_U64);
	CHECK(s.nice == NA_I64 && s.threads == 4 && s.start_ticks == 5);
}

static void test_schedstat(void)
{
	const struct text whole = TEXT("44224267890 312345678901 12345\n");
	struct task_schedstat s, part = { 1, 2, 3 };

	CHECK(task_parse_schedstat(whole, &s) == 0);
	CHECK(s.run_ns == 44224267890 && s.wait_ns == 312345678901 && s.runs == 12345);
	CHECK(task_parse_schedstat(TEXT("0 0 0\n"), &s) == 0 && s.run_ns == 0);
	CHECK(task_parse_schedstat(TEXT("1 2 3 4 5\n"), &s) == 0 && s.runs == 3);
	EACH_CUT(n, whole)
		CHECK((task_parse_schedstat(cut(whole, n), &part) == 0) == (n == whole.len));
	CHECK(part.runs == 12345);
	part.runs = 7;
	CHECK(task_parse_schedstat(TEXT("1 2\n"), &part) == -EINVAL);
	CHECK(task_parse_schedstat(TEXT("-1 2 3\n"), &part) == -EINVAL);
	CHECK(task_parse_schedstat(TEXT("1 2 99999999999999999999999\n"), &part) == -EINVAL);
	CHECK(task_parse_schedstat(TEXT("1  2 3\n"), &part) == -EINVAL);
	CHECK(part.runs == 7);
}

static const struct text status_6_18 = TEXT(
	"Name:\tcat\nUmask:\t0022\nState:\tR (running)\nTgid:\t4887\nNgid:\t0\n"
	"Pid:\t4890\nPPid:\t4883\n"
	"TracerPid:\t0\nUid:\t1000\t1001\t1002\t1003\nGid:\t0\t0\t0\t0\nFDSize:\t256\nGroups:\t \n"
	"NStgid:\t4887\t12\nNSpid:\t4890\t15\t3\nNSpgid:\t4883\nNSsid:\t3504\nKthread:\t0\n"
	"VmPeak:\t    3060 kB\nThreads:\t1\nSigQ:\t0/96364\nCapInh:\t0000000000000000\n"
	"Seccomp:\t0\n"
	"Cpus_allowed:\t3\nCpus_allowed_list:\t0-1,8\nMems_allowed:\t00000000,00000001\n"
	"Mems_allowed_list:\t0\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t4\n");

static void test_status(void)
{
	struct task_status s, part;

	CHECK(task_parse_status(status_6_18, &s) == 0);
	CHECK(s.tgid == 4887 && s.uid == 1001);
	CHECK(s.voluntary == 17 && s.involuntary == 4);
	CHECK(text_is(s.cpus_allowed, "0-1,8"));
	CHECK(text_is(s.nspid, "4890\t15\t3"));
	EACH_CUT(n, status_6_18) {
		if (task_parse_status(cut(status_6_18, n), &part) != 0)
			continue;
		CHECK(part.tgid == 4887);
		CHECK(part.uid == NA_U64 || part.uid == 1001);
		CHECK(part.voluntary == NA_U64 || part.voluntary == 17);
		CHECK(part.involuntary == NA_U64 || part.involuntary == 4);
		CHECK(!part.cpus_allowed.len || text_is(part.cpus_allowed, "0-1,8"));
		CHECK(!part.nspid.len || text_is(part.nspid, "4890\t15\t3"));
	}
	/* before 4.1: no NSpid; the name escapes a newline, so that it can't forge a line */
	CHECK(task_parse_status(TEXT("Name:\ta\\nTgid:\t5\nTgid:\t7\nUid:\t0\n"), &s) == 0);
	CHECK(s.tgid == 7 && s.uid == NA_U64 && !s.nspid.len && s.voluntary == NA_U64);
	CHECK(task_parse_status(TEXT("Tgid:\tx\n"), &s) == 0 && s.tgid == NA_U64);
	CHECK(task_parse_status(TEXT(""), &s) == -EINVAL);
	CHECK(task_parse_status(TEXT("Tgid:\t5"), &s) == -EINVAL);
}

static bool group_is(struct text t, const char *controller, const char *path)
{
	struct text found;
	bool is_there = task_parse_cgroup(t, controller, &found);

	return path ? is_there && text_is(found, path) : !is_there;
}

static void test_cgroup(void)
{
	const struct text hybrid = TEXT("9:name=systemd:/a\n4:memory:/b\n3:cpuset:/c\n"
					"2:cpu,cpuacct:/d:e,f\n0::/g\n");
	struct text path;

	CHECK(group_is(hybrid, "cpu", "/d:e,f"));
	CHECK(group_is(hybrid, "cpuacct", "/d:e,f"));
	CHECK(group_is(hybrid, "cpuset", "/c"));
	CHECK(group_is(hybrid, "name=systemd", "/a"));
	CHECK(group_is(hybrid, "", "/g"));
	CHECK(group_is(hybrid, "pu", NULL));
	CHECK(group_is(hybrid, "pids", NULL));
	CHECK(group_is(TEXT("0::/\n"), "cpu", NULL));
	CHECK(group_is(TEXT("0::/../x\t\x1b[1m y (deleted)\n"), "", "/../x\t\x1b[1m y (deleted)"));
	CHECK(group_is(TEXT("5::/not-unified\n0::/yes"), "", "/yes"));
	CHECK(group_is(TEXT("4:,memory:/x\n"), "memory", "/x"));
	CHECK(group_is(TEXT(""), "", NULL));
	CHECK(group_is(TEXT("0:\n0::\n0::x\n::/\n"), "", NULL));
	EACH_CUT(n, hybrid)
		task_parse_cgroup(cut(hybrid, n), "cpuacct", &path), check_count++;
}

int main(void)
{
	test_stat();
	test_hostile_comm();
	test_bad_stat();
	test_schedstat();
	test_status();
	test_cgroup();
	return check_done("task");
}
