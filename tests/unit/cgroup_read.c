/* What goes through the source: a replayed folder of files is a host. */
#include "common/kernel/cgroup.h"

#include <errno.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "tests/unit/scratch.h"

#define ID "4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de0123"
#define ROOT "26 1 254:0 / / rw,relatime - ext4 /dev/sda1 rw\n" \
	"22 26 0:21 / /sys rw,relatime shared:7 - sysfs sysfs rw\n"

/* A file and the folders it is in. */
static void add(const char *path, const char *text)
{
	char folder[256];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		if (!is_there(folder))
			make(folder);
	}
	put_text(path, text);
}

static char walked[4096];
static long parents[64];

static void note(const char *path, const char *folder, unsigned depth, long parent, void *arg)
{
	size_t *count = arg, n = strlen(walked);

	snprintf(walked + n, sizeof(walked) - n, "%u %s %s\n", depth, path, folder);
	parents[(*count)++ % 64] = parent;
}

static void add_group_v2(const char *path, const char *below)
{
	char file[256];

	snprintf(file, sizeof(file), "v2/sys/fs/cgroup%s/cgroup.procs", path);
	add(file, "");
	snprintf(file, sizeof(file), "v2/sys/fs/cgroup%s/cgroup.stat", path);
	if (below)
		add(file, below);
	snprintf(file, sizeof(file), "v2/sys/fs/cgroup%s/memory.current", path);
	add(file, "4096\n");
}

#define NONE "nr_descendants 0\nnr_dying_descendants 5\n"

static void build_v2(void)
{
	add("v2/proc/self/mountinfo", ROOT "31 22 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	add("v2/proc/self/cgroup", "0::/system.slice\n");
	add("v2/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n");
	add_group_v2("", "nr_descendants 7\n");
	add_group_v2("/system.slice", "nr_descendants 1\n");
	add_group_v2("/system.slice/docker-" ID ".scope", NONE);
	add_group_v2("/plain", "nr_descendants 2\n");
	add_group_v2("/plain/dotted.name.x", "nr_descendants 1\n");
	add_group_v2("/plain/dotted.name.x/deep\tand\x1b", NULL);
	add_group_v2("/cpu.group", NONE);
	add("v2/sys/fs/cgroup/memory.stat", "anon 1\n");
	add("v2/sys/fs/cgroup/plain/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 3\n"
	    "throttled_usec 70\nnr_bursts 1\nburst_usec 2\n");
	add("v2/sys/fs/cgroup/plain/cpu.max", "20000 100000\n");
	add("v2/sys/fs/cgroup/plain/cpu.max.burst", "1000\n");
	add("v2/sys/fs/cgroup/plain/cpu.stat.local", "throttled_usec 90\n");
	add("v2/sys/fs/cgroup/plain/cpu.pressure",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
	add("v2/sys/fs/cgroup/plain/cgroup.threads", "7\n9\n");
	add("v2/sys/fs/cgroup/cpu.stat", "usage_usec 77\n");
	add("v2/var/log/containers/api-5d4_shop_api-" ID ".log", "");
	add("v2/var/log/containers/README", "");
}

static void test_walk_v2(const struct cgroup_layout *l)
{
	size_t count = 0;

	walked[0] = '\0';
	CHECK(cgroup_walk(&l->cpu, note, &count) == 0);
	CHECK_STR(walked, "0 / sys/fs/cgroup\n"
		  "1 /cpu.group sys/fs/cgroup/cpu.group\n"
		  "1 /plain sys/fs/cgroup/plain\n"
		  "2 /plain/dotted.name.x sys/fs/cgroup/plain/dotted.name.x\n"
		  "3 /plain/dotted.name.x/deep\tand\x1b "
		  "sys/fs/cgroup/plain/dotted.name.x/deep\tand\x1b\n"
		  "1 /system.slice sys/fs/cgroup/system.slice\n"
		  "2 /system.slice/docker-" ID ".scope "
		  "sys/fs/cgroup/system.slice/docker-" ID ".scope\n");
	CHECK(count == 7);
	CHECK(parents[0] == -1 && parents[1] == 0 && parents[2] == 0 && parents[3] == 2);
	CHECK(parents[4] == 3 && parents[5] == 0 && parents[6] == 5);
}

static void test_v2(void)
{
	struct cgroup_layout l;
	struct cgroup_names names = { .container_id = ID };
	struct cgroup_cpu c;
	const uint32_t *tids;
	const uint64_t *ns;
	unsigned cpus;
	size_t count;

	build_v2();
	open_root("v2");
	CHECK(cgroup_find(src_arena(), &l) == 0);
	CHECK(l.mode == CGROUP_V2 && l.cpu.version == 2 && l.cpuset.version == 2);
	CHECK(!l.memory.version);              /* not among the controllers given */
	CHECK(!l.has_namespace);
	test_walk_v2(&l);
	CHECK(cgroup_read_cpu(&l, "sys/fs/cgroup/plain", &c) == 0);
	CHECK(c.quota_ns == 20000000 && c.period_ns == 100000000 && c.has_quota_file);
	CHECK(c.burst_ns == 1000000 && c.periods == 9 && c.throttled_periods == 3);
	CHECK(c.throttled_ns == 70000 && c.local_throttled_ns == 90000);
	CHECK(c.bursts == 1 && c.burst_used_ns == 2000 && c.usage_ns == 5000);
	CHECK(c.pressure.some_ns == 3000 && c.pressure.full_ns == NA_U64);
	CHECK(cgroup_read_quota(&l, "sys/fs/cgroup/plain", &c) == 0);
	CHECK(c.quota_ns == 20000000 && c.throttled_ns == 70000);
	CHECK(c.burst_ns == NA_U64 && c.pressure.some_ns == NA_U64);
	CHECK(cgroup_read_cpu(&l, "sys/fs/cgroup", &c) == 0);
	CHECK(c.usage_ns == 77000 && !c.has_quota_file && c.quota_ns == NA_U64);
	CHECK(cgroup_read_cpu(&l, "sys/fs/cgroup/gone", &c) == -ENOENT);
	CHECK(c.usage_ns == 77000);
	CHECK(cgroup_read_threads(&l.cpu, "sys/fs/cgroup/plain", &tids, &count) == 0);
	CHECK(count == 2 && tids[1] == 9);
	CHECK(cgroup_read_percpu(&l, "/plain", &ns, &cpus) == 0 && cpus == 0);
	cgroup_name_from_logs(src_arena(), &names);
	CHECK_STR(names.pod, "api-5d4");
	CHECK_STR(names.pod_namespace, "shop");
	CHECK_STR(names.container, "api");
	close_all();
}

static void test_v1(void)
{
	struct cgroup_layout l;
	struct cgroup_cpu c;
	const uint64_t *ns;
	const uint32_t *tids;
	unsigned cpus;
	size_t count = 0;

	add("v1/proc/self/mountinfo", ROOT "30 22 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
	    "32 30 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	    "33 30 0:30 / /sys/fs/cgroup/acct rw - cgroup cgroup rw,cpuacct\n");
	add("v1/proc/self/cgroup", "2:cpuacct:/\n1:cpu:/\n");
	add("v1/sys/fs/cgroup/cpu/tasks", "1\n");
	add("v1/sys/fs/cgroup/cpu/release_agent", "");
	add("v1/sys/fs/cgroup/cpu/cpu.shares", "1024\n");
	add("v1/sys/fs/cgroup/cpu/g/tasks", "0\n12\n");
	add("v1/sys/fs/cgroup/cpu/g/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_time 55\n");
	add("v1/sys/fs/cgroup/cpu/g/cpu.cfs_quota_us", "10000\n");
	add("v1/sys/fs/cgroup/cpu/g/cpu.cfs_period_us", "50000\n");
	add("v1/sys/fs/cgroup/cpu/free/cpu.cfs_quota_us", "-1\n");
	add("v1/sys/fs/cgroup/acct/g/cpuacct.usage", "4242\n");
	add("v1/sys/fs/cgroup/acct/g/cpuacct.usage_percpu", "4000 242 \n");
	open_root("v1");
	CHECK(cgroup_find(src_arena(), &l) == 0 && l.mode == CGROUP_V1);
	walked[0] = '\0';
	CHECK(cgroup_walk(&l.cpu, note, &count) == 0);
	CHECK_STR(walked, "0 / sys/fs/cgroup/cpu\n1 /free sys/fs/cgroup/cpu/free\n"
		  "1 /g sys/fs/cgroup/cpu/g\n");
	CHECK(cgroup_read_cpu(&l, "sys/fs/cgroup/cpu/g", &c) == 0);
	CHECK(c.quota_ns == 10000000 && c.period_ns == 50000000 && c.throttled_ns == 55);
	CHECK(c.usage_ns == 4242 && c.burst_ns == NA_U64 && c.pressure.some_ns == NA_U64);
	CHECK(cgroup_read_cpu(&l, "sys/fs/cgroup/cpu/free", &c) == 0);
	CHECK(c.quota_ns == NA_U64 && c.has_quota_file && c.usage_ns == NA_U64);
	CHECK(cgroup_read_percpu(&l, "/g", &ns, &cpus) == 0 && cpus == 2 && ns[1] == 242);
	CHECK(cgroup_read_percpu(&l, "/x", &ns, &cpus) == -ENOENT);
	CHECK(cgroup_read_threads(&l.cpu, "sys/fs/cgroup/cpu/g", &tids, &count) == 0);
	CHECK(count == 2 && tids[0] == 0 && tids[1] == 12);
	CHECK(cgroup_walk(&l.memory, note, &count) == -ENOENT);
	close_all();
}

static void test_nothing(void)
{
	struct cgroup_layout l;

	make("none");
	open_root("none");
	CHECK(cgroup_find(src_arena(), &l) == -ENOENT);
	CHECK(*fail_text());
	close_all();
}

int main(void)
{
	if (!scratch_begin("cgroup"))
		return 1;
	test_v2();
	test_v1();
	test_nothing();
	scratch_end();
	return check_done("cgroup_read");
}
