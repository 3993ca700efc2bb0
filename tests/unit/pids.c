#include "common/kernel/pids.h"

#include <errno.h>

#include "common/kernel/filenr.h"
#include "common/kernel/sysctl.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

#define ROOT "26 1 254:0 / / rw - ext4 /dev/sda1 rw\n22 26 0:21 / /sys rw - sysfs sysfs rw\n"

static struct arena arena;

static void test_numbers(void)
{
	const struct text whole = TEXT("287898\t383865\t575796\n");

	CHECK(sysctl_parse_number(whole, 0) == 287898 && sysctl_parse_number(whole, 2) == 575796);
	CHECK(sysctl_parse_number(whole, 3) == NA_U64);
	EACH_CUT(n, whole)
		CHECK(sysctl_parse_number(cut(whole, n), 2) == (n == whole.len ? 575796 : NA_U64));
	CHECK(sysctl_parse_number(TEXT("-1\n"), 0) == NA_U64);
	CHECK(sysctl_parse_number(TEXT("1x\n"), 0) == NA_U64);
	CHECK(sysctl_parse_number(TEXT("\n7\n"), 0) == NA_U64);
	CHECK(sysctl_parse_number(TEXT("18446744073709551616\n"), 0) == NA_U64);
}

static void test_file_nr(void)
{
	const struct text whole = TEXT("858\t8\t9223372036854775807\n");
	struct file_nr f = { 1, 2 };

	EACH_CUT(n, whole)
		CHECK((file_nr_parse(cut(whole, n), &f) == 0) == (n == whole.len));
	CHECK(f.open == 850 && f.max == INT64_MAX);
	CHECK(file_nr_parse(TEXT("8\t9\t10\n"), &f) == -EINVAL);
	CHECK(file_nr_parse(TEXT("8 9\n"), &f) == -EINVAL && f.open == 850);
}

static void test_host(void)
{
	const struct text whole = TEXT("7.85 15.54 8.82 8/133 27720\n");
	struct pids_host p = { .threads = 1 };

	EACH_CUT(n, whole)
		CHECK((pids_parse_loadavg(cut(whole, n), &p) == 0) == (n == whole.len));
	CHECK(p.threads == 133 && p.runnable == 8);
	CHECK(pids_parse_loadavg(TEXT("1 2 3 4 5\n"), &p) == -EINVAL);
	CHECK(pids_parse_loadavg(TEXT("1 2 3 4/x 5\n"), &p) == -EINVAL && p.threads == 133);
	host_add("h/proc/loadavg", "0.00 0.00 0.00 1/500 9\n");
	host_add("h/proc/sys/kernel/pid_max", "32768\n");
	open_root("h");
	CHECK(pids_read_host(&p) < 0 && p.threads == 500);
	CHECK(p.pid_max == 32768 && p.limit == NA_U64);
	close_all();
	host_add("h/proc/sys/kernel/threads-max", "1000\n");
	open_root("h");
	CHECK(pids_read_host(&p) == 0 && p.limit == 1000);
	close_all();
}

static void test_group_files(void)
{
	bool has_limit = true;
	uint64_t max;

	CHECK(pids_parse_max(TEXT("max\n"), &has_limit, &max) && !has_limit && max == NA_U64);
	CHECK(pids_parse_max(TEXT("1024\n"), &has_limit, &max) && has_limit && max == 1024);
	CHECK(!pids_parse_max(TEXT("max"), &has_limit, &max) && has_limit && max == 1024);
	CHECK(!pids_parse_max(TEXT(""), &has_limit, &max));
	CHECK(!pids_parse_max(TEXT("-1\n"), &has_limit, &max));
	CHECK(pids_parse_events(TEXT("max 12\n")) == 12);
	CHECK(pids_parse_events(TEXT("other 1\nmax 3\n")) == 3);
	CHECK(pids_parse_events(TEXT("max 12")) == NA_U64);
	CHECK(pids_parse_events(TEXT("max -1\n")) == NA_U64);
	CHECK(pids_parse_events(TEXT("")) == NA_U64);
}

static void add_group(const char *folder, const char *current, const char *max, const char *events)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/pids.current", folder);
	host_add(path, current);
	snprintf(path, sizeof(path), "%s/pids.max", folder);
	host_add(path, max);
	snprintf(path, sizeof(path), "%s/pids.events", folder);
	host_add(path, events);
}

static struct pids_group read_group(const char *root)
{
	struct pids_group g = { NULL, 0, false, 0, 0 };

	open_root(root);
	CHECK(pids_read_own_group(&arena, &g) == 0);
	close_all();
	return g;
}

static void test_groups(void)
{
	struct pids_group g;

	/* v2: the ancestor is nearer to its limit than the group itself */
	host_add("v2/proc/self/mountinfo",
		 ROOT "30 22 0:27 / /sys/fs/cgroup rw - cgroup2 none rw\n");
	host_add("v2/proc/self/cgroup", "0::/user.slice/u.scope\n");
	add_group("v2/sys/fs/cgroup/user.slice/u.scope", "10\n", "100\n", "max 5\n");
	add_group("v2/sys/fs/cgroup/user.slice", "90\n", "100\n", "max 2\n");
	g = read_group("v2");
	CHECK_STR(g.path, "/user.slice");
	CHECK(g.current == 90 && g.has_limit && g.max == 100 && g.forks_refused == 5);
	host_add("v2/sys/fs/cgroup/user.slice/pids.max", "max\n");
	g = read_group("v2");
	CHECK_STR(g.path, "/user.slice/u.scope");
	CHECK(g.current == 10 && g.has_limit && g.max == 100 && g.forks_refused == 5);
	host_add("v2/sys/fs/cgroup/user.slice/u.scope/pids.max", "max\n");
	g = read_group("v2");
	CHECK_STR(g.path, "/user.slice/u.scope");
	CHECK(g.current == 10 && !g.has_limit && g.max == NA_U64);

	/* v1 in a container: the mount's root is its own group, what is above can't be seen */
	host_add("v1/proc/self/mountinfo", ROOT "30 22 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
		 "31 30 0:28 /docker/4f /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
		 "32 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	host_add("v1/proc/self/cgroup", "8:pids:/docker/4f\n1:cpu:/\n0::/\n");
	add_group("v1/sys/fs/cgroup/pids", "3\n", "4\n", "max 0\n");
	g = read_group("v1");
	CHECK_STR(g.path, "/docker/4f");
	CHECK(g.current == 3 && g.max == 4 && g.forks_refused == 0);

	/* the true root has no files, and a path that leads out of a namespace none to be seen */
	host_add("v1/proc/self/cgroup", "8:pids:/\n");
	g = read_group("v1");
	CHECK_STR(g.path, "/");
	CHECK(g.current == NA_U64 && !g.has_limit && g.forks_refused == NA_U64);
	host_add("v2/proc/self/cgroup", "0::/../other\n");
	g = read_group("v2");
	CHECK(g.current == NA_U64);
	host_add("v2/proc/self/mountinfo", ROOT);
	g = read_group("v2");
	CHECK(g.path == NULL && g.current == NA_U64);
	make("none");
	open_root("none");
	g.current = 7;
	CHECK(pids_read_own_group(&arena, &g) == -ENOENT && g.current == 7);
	close_all();
}

int main(void)
{
	if (!scratch_begin("pids"))
		return 1;
	test_numbers();
	test_file_nr();
	test_host();
	test_group_files();
	test_groups();
	arena_free(&arena);
	scratch_end();
	return check_done("pids");
}
