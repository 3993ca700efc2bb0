#include "common/kernel/cgroup.h"

#include <errno.h>

#include "common/base/fail.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static struct arena arena;

/* ---- layouts ---- */

#define ROOT "26 1 254:0 / / rw,relatime - ext4 /dev/sda1 rw\n" \
	"21 26 0:20 / /proc rw,relatime - proc proc rw\n" \
	"22 26 0:21 / /sys rw,relatime shared:7 - sysfs sysfs rw\n"
#define TMPFS ROOT "30 22 0:27 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro\n"
#define V1 TMPFS \
	"31 30 0:28 / /sys/fs/cgroup/systemd rw shared:10 - cgroup cgroup rw,xattr,name=systemd\n" \
	"32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:1 master:2 - cgroup c rw,cpu,cpuacct\n" \
	"33 30 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" \
	"34 30 0:31 / /sys/fs/cgroup/cpuset rw - cgroup  rw,cpuset\n"
#define V1_OWN "11:memory:/m\n4:cpuset:/\n3:cpu,cpuacct:/user.slice\n1:name=systemd:/user.slice/a\n"
#define V2 ROOT "31 22 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static struct cgroup_layout layout_of(const char *mountinfo, const char *self)
{
	struct cgroup_layout l = { 0 };

	CHECK(cgroup_parse_layout(&arena, text_of(mountinfo), text_of(self), &l) == 0);
	return l;
}

static bool is_at(const struct cgroup_hierarchy *h, int version, const char *mount,
		  const char *root, const char *own)
{
	bool good = h->version == version;

	good &= check_str(h->mount, mount, "mount", __FILE__, __LINE__);
	good &= check_str(h->root, root, "root", __FILE__, __LINE__);
	return check_str(h->own, own, "own", __FILE__, __LINE__) && good;
}

static void test_layouts(void)
{
	struct cgroup_layout l = layout_of(V2, "0::/system.slice/a b.service\n");

	CHECK(l.mode == CGROUP_V2 && !l.has_namespace);
	CHECK(is_at(&l.cpu, 2, "sys/fs/cgroup", "/", "/system.slice/a b.service"));
	CHECK(is_at(&l.cpuacct, 2, "sys/fs/cgroup", "/", "/system.slice/a b.service"));
	l = layout_of(V1, V1_OWN);
	CHECK(l.mode == CGROUP_V1 && !l.has_namespace);
	CHECK(is_at(&l.cpu, 1, "sys/fs/cgroup/cpu,cpuacct", "/", "/user.slice"));
	CHECK(is_at(&l.cpuacct, 1, "sys/fs/cgroup/cpu,cpuacct", "/", "/user.slice"));
	CHECK(is_at(&l.memory, 1, "sys/fs/cgroup/memory", "/", "/m"));
	CHECK(is_at(&l.cpuset, 1, "sys/fs/cgroup/cpuset", "/", "/"));
	CHECK(is_at(&l.unified, 0, NULL, NULL, NULL));
	/* systemd's hybrid: v2 for tracking, the controllers in v1 */
	l = layout_of(V1 "40 30 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
		      V1_OWN "0::/u\n");
	CHECK(l.mode == CGROUP_HYBRID);
	CHECK(l.cpu.version == 1);
	CHECK(is_at(&l.unified, 2, "sys/fs/cgroup/unified", "/", "/u"));
	/* cgroup_no_v1=memory: that one is v2's, the rest stays */
	l = layout_of(TMPFS "32 30 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		      "40 30 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
		      "3:cpu:/c\n0::/u\n");
	CHECK(l.cpu.version == 1);
	CHECK(is_at(&l.memory, 2, "sys/fs/cgroup/unified", "/", "/u"));
	/* a v1 hierarchy that is in use, but not mounted here */
	l = layout_of(V2, "4:memory:/x\n0::/\n");
	CHECK(is_at(&l.memory, 0, NULL, NULL, "/x"));
	CHECK(l.cpu.version == 2);
	l = layout_of(ROOT, "0::/\n");
	CHECK(l.mode == CGROUP_NONE && !l.cpu.version);
	CHECK_STR(cgroup_mode_name(l.mode), "none");
	CHECK(cgroup_parse_layout(&arena, TEXT("what\n"), TEXT(""), &l) == -EINVAL);
}

#define ID "4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de0123"

static void test_containers(void)
{
	/* v1 without a namespace: the mount is our own part of the host's tree */
	struct cgroup_layout l = layout_of(
		ROOT "30 22 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
		"32 30 0:29 /docker/" ID " /sys/fs/cgroup/cpu ro - cgroup cg rw,cpu,cpuacct\n",
		"3:cpu,cpuacct:/docker/" ID "\n");

	CHECK(l.has_namespace);
	CHECK(is_at(&l.cpu, 1, "sys/fs/cgroup/cpu", "/docker/" ID, "/docker/" ID));
	CHECK_STR(cgroup_folder(&arena, &l.cpu, l.cpu.own), "sys/fs/cgroup/cpu");
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/docker/" ID "/x"), "sys/fs/cgroup/cpu/x");
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/docker/" ID "x"), NULL);
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/"), NULL);
	CHECK_STR(cgroup_path(&arena, &l.cpu, "/x"), "/docker/" ID "/x");
	CHECK_STR(cgroup_path(&arena, &l.cpu, ""), "/docker/" ID);
	/* v2 with one: the mount's root is ours, and others are seen as outside */
	l = layout_of(V2, "0::/\n");
	CHECK(!l.has_namespace);
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/"), "sys/fs/cgroup");
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/a/b"), "sys/fs/cgroup/a/b");
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/../sibling"), NULL);
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/.."), NULL);
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/..x"), "sys/fs/cgroup/..x");
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "relative"), NULL);
	CHECK_STR(cgroup_path(&arena, &l.cpu, "a/b"), "/a/b");
	CHECK_STR(cgroup_path(&arena, &l.cpu, ""), "/");
	l = layout_of(V2, "0::/../../other\n");
	CHECK(l.has_namespace);
	/* the host's tree, mounted into one: its root is above ours */
	l = layout_of(ROOT "31 22 0:28 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n");
	CHECK(l.has_namespace);
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/../../a"), "sys/fs/cgroup/a");
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/../../../a"), NULL);
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/"), NULL);
}

static void test_mounts(void)
{
	/* mounted twice: what shows everything wins, wherever it stands */
	struct cgroup_layout l = layout_of(
		V2 "50 26 0:28 /a /mnt/a rw - cgroup2 cgroup2 rw\n", "0::/\n");

	CHECK_STR(l.cpu.mount, "sys/fs/cgroup");
	l = layout_of(ROOT "50 26 0:28 /a /mnt/a rw - cgroup2 cgroup2 rw\n"
		      "31 22 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n");
	CHECK_STR(l.cpu.mount, "sys/fs/cgroup");
	/* two parts: the one that we are in */
	l = layout_of(ROOT "50 26 0:28 /a /mnt/a rw - cgroup2 cgroup2 rw\n"
		      "51 26 0:28 /b /mnt/b rw - cgroup2 cgroup2 rw\n", "0::/b/c\n");
	CHECK_STR(l.cpu.mount, "mnt/b");
	/* mounted over: the later one is seen */
	l = layout_of(V1 "60 32 0:29 /x /sys/fs/cgroup/cpu,cpuacct rw - cgroup cg rw,cpu,cpuacct\n",
		      V1_OWN);
	CHECK(is_at(&l.cpu, 1, "sys/fs/cgroup/cpu,cpuacct", "/x", "/user.slice"));
	/* all of v1 is under another tmpfs */
	l = layout_of(V1 "60 30 0:40 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", V1_OWN);
	CHECK(is_at(&l.cpu, 0, NULL, NULL, "/user.slice"));
	l = layout_of(ROOT "31 22 0:28 / /sys/fs/c\\040g\\134\\011 rw - cgroup2 none rw\n",
		      "0::/\n");
	CHECK_STR(l.cpu.mount, "sys/fs/c g\\\t");
	CHECK_STR(cgroup_folder(&arena, &l.cpu, "/a\x1b[1m\tb"), "sys/fs/c g\\\t/a\x1b[1m\tb");
}

static void test_cut_layout(void)
{
	const struct text mountinfo = TEXT(V1), self = TEXT(V1_OWN);
	struct cgroup_layout l;

	EACH_CUT(n, mountinfo)
		if (cgroup_parse_layout(&arena, cut(mountinfo, n), self, &l) == 0)
			CHECK(!l.cpu.version || is_at(&l.cpu, 1, "sys/fs/cgroup/cpu,cpuacct", "/",
						      "/user.slice"));
	EACH_CUT(n, self)
		CHECK(cgroup_parse_layout(&arena, mountinfo, cut(self, n), &l) == 0 &&
		      l.memory.version == 1);
	arena_reset(&arena);
}

/* ---- the cpu controller ---- */

static struct cgroup_cpu unknown(void)
{
	struct cgroup_cpu c;

	memset(&c, 0xff, sizeof(c));
	c.has_quota_file = false;
	return c;
}

static const struct text stat_v2 = TEXT(
	"usage_usec 8000123\nuser_usec 5000000\nsystem_usec 3000123\nnice_usec 0\n"
	"core_sched.force_idle_usec 0\nnr_periods 37\nnr_throttled 36\nthrottled_usec 5280000\n"
	"nr_bursts 2\nburst_usec 7\n");

static void test_cpu_stat(void)
{
	struct cgroup_cpu c = unknown(), part;

	CHECK(cgroup_parse_cpu_stat(stat_v2, &c) == 0);            /* 6.12 */
	CHECK(c.usage_ns == 8000123000 && c.periods == 37 && c.throttled_periods == 36);
	CHECK(c.throttled_ns == 5280000000 && c.bursts == 2 && c.burst_used_ns == 7000);
	EACH_CUT(n, stat_v2) {
		part = unknown();
		if (cgroup_parse_cpu_stat(cut(stat_v2, n), &part) != 0)
			continue;
		CHECK(part.usage_ns == c.usage_ns);
		CHECK(part.periods == NA_U64 || part.periods == 37);
		CHECK(part.throttled_ns == NA_U64 || part.throttled_ns == c.throttled_ns);
		CHECK(part.burst_used_ns == NA_U64 || part.burst_used_ns == 7000);
	}
	/* the root, or the controller is off; 5.10 has no bursts */
	CHECK(cgroup_parse_cpu_stat(TEXT("usage_usec 5\nuser_usec 3\nsystem_usec 2\n"), &c) == 0);
	CHECK(c.usage_ns == 5000 && c.periods == NA_U64 && c.throttled_ns == NA_U64);
	CHECK(cgroup_parse_cpu_stat(TEXT("usage_usec 5\nnr_periods 1\nnr_throttled 0\n"
					 "throttled_usec 0\n"), &c) == 0);
	CHECK(c.throttled_ns == 0 && c.bursts == NA_U64);
	/* v1 counts in ns; wait_sum with schedstats */
	CHECK(cgroup_parse_cpu_stat(TEXT("nr_periods 3\nnr_throttled 2\nthrottled_time 12345\n"
					 "wait_sum 9\nnr_bursts 1\nburst_time 77\n"), &c) == 0);
	CHECK(c.throttled_ns == 12345 && c.burst_used_ns == 77 && c.usage_ns == NA_U64);
	CHECK(cgroup_parse_cpu_stat(TEXT(""), &c) == -EINVAL);
	CHECK(cgroup_parse_cpu_stat(TEXT("nr_periods 3"), &c) == -EINVAL);
	CHECK(c.throttled_ns == 12345);
	CHECK(cgroup_parse_cpu_stat(TEXT("nr_periods -3\nnr_throttled 2x\nusage_usec\n"
					 "throttled_usec 18446744073709551615\n"), &c) == 0);
	CHECK(c.periods == NA_U64 && c.throttled_periods == NA_U64 && c.usage_ns == NA_U64);
	CHECK(c.throttled_ns == NA_U64);
	CHECK(cgroup_parse_cpu_local(TEXT("throttled_usec 4\n"), &c) == 0);
	CHECK(c.local_throttled_ns == 4000);
	CHECK(cgroup_parse_cpu_local(TEXT("throttled_time 4\n"), &c) == 0);
	CHECK(c.local_throttled_ns == 4);
	CHECK(cgroup_parse_cpu_local(TEXT(""), &c) == -EINVAL && c.local_throttled_ns == 4);
}

static void test_cpu_max(void)
{
	struct cgroup_cpu c = unknown();
	const struct text whole = TEXT("150000 100000\n");

	CHECK(cgroup_parse_cpu_max(TEXT("max 100000\n"), &c) == 0);
	CHECK(c.quota_ns == NA_U64 && c.period_ns == 100000000 && c.has_quota_file);
	CHECK(cgroup_parse_cpu_max(whole, &c) == 0);
	CHECK(c.quota_ns == 150000000 && c.period_ns == 100000000);
	CHECK(cgroup_parse_cpu_max(TEXT("50000"), &c) == 0);
	CHECK(c.quota_ns == 50000000 && c.period_ns == NA_U64);
	CHECK(cgroup_parse_cpu_max(TEXT("0 100000"), &c) == 0 && c.quota_ns == 0);
	c = unknown();
	CHECK(cgroup_parse_cpu_max(TEXT(""), &c) == -EINVAL);
	CHECK(cgroup_parse_cpu_max(TEXT("\n"), &c) == -EINVAL);
	CHECK(cgroup_parse_cpu_max(TEXT("maximum 5\n"), &c) == -EINVAL);
	CHECK(cgroup_parse_cpu_max(TEXT("-1 5\n"), &c) == -EINVAL);
	CHECK(cgroup_parse_cpu_max(TEXT("max x\n"), &c) == -EINVAL);
	CHECK(!c.has_quota_file);
	EACH_CUT(n, whole)
		cgroup_parse_cpu_max(cut(whole, n), &c);
}

static void test_lists(void)
{
	const struct text tasks = TEXT("1\n17\n0\n4194303\n"), usage = TEXT("123 0 456 \n");
	const uint32_t *tids;
	const uint64_t *ns;
	unsigned cpus;
	size_t count;

	CHECK(cgroup_parse_threads(&arena, tasks, &tids, &count) == 0 && count == 4);
	CHECK(tids[1] == 17 && tids[2] == 0 && tids[3] == 4194303);
	EACH_CUT(n, tasks)
		CHECK(!cgroup_parse_threads(&arena, cut(tasks, n), &tids, &count) && count <= 4);
	CHECK(cgroup_parse_threads(&arena, TEXT(""), &tids, &count) == 0 && count == 0);
	CHECK(cgroup_parse_threads(&arena, TEXT("1\n2x\n"), &tids, &count) == -EINVAL);
	CHECK(cgroup_parse_threads(&arena, TEXT("4294967296\n"), &tids, &count) == -EINVAL);
	CHECK(cgroup_parse_percpu(&arena, usage, &ns, &cpus) == 0 && cpus == 3);
	CHECK(ns[0] == 123 && ns[2] == 456);
	EACH_CUT(n, usage)
		CHECK(cgroup_parse_percpu(&arena, cut(usage, n), &ns, &cpus) == 0 && cpus <= 3);
	CHECK(cgroup_parse_percpu(&arena, TEXT("1 2 x"), &ns, &cpus) == -EINVAL);
}

int main(void)
{
	test_layouts();
	test_containers();
	test_mounts();
	test_cut_layout();
	test_cpu_stat();
	test_cpu_max();
	test_lists();
	arena_free(&arena);
	return check_done("cgroup");
}
