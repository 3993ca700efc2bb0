/* The memory controller's files, v1 and v2: recorded, cut short, hostile; and groups read through
 * the source. */
#include "common/kernel/memcg.h"

#include <errno.h>

#include "common/base/fail.h"
#include "tests/unit/cut.h"
#include "tests/unit/scratch.h"

/* Linux 6.18, v2 */
static const struct text stat_v2 = TEXT(
	"anon 33161216\nfile 561152\nkernel 1048576\nkernel_stack 16384\npagetables 131072\n"
	"sec_pagetables 0\npercpu 720\nsock 4096\nvmalloc 0\nshmem 8192\nzswap 0\nzswapped 0\n"
	"file_mapped 0\nfile_dirty 4096\nfile_writeback 12288\nswapcached 0\nanon_thp 0\n"
	"inactive_anon 33153024\nactive_anon 16384\ninactive_file 400000\nactive_file 153152\n"
	"unevictable 20480\nslab_reclaimable 300000\nslab_unreclaimable 500000\nslab 800000\n"
	"workingset_refault_anon 5\nworkingset_refault_file 7\npgfault 8224\n");
/* Linux 4.19: the kernel's part has no sum */
static const struct text stat_old = TEXT(
	"anon 1000\nfile 2000\nkernel_stack 16384\nslab 8192\nsock 0\nshmem 500\ninactive_anon 0\n"
	"active_anon 1500\ninactive_file 1000\nactive_file 500\nunevictable 0\n"
	"slab_reclaimable 4096\nslab_unreclaimable 4096\nworkingset_refault 12\n");
/* Linux 6.18, v1: a group's own part, then with its children */
static const struct text stat_v1 = TEXT(
	"cache 1\nrss 2\nshmem 3\ninactive_anon 4\nactive_anon 5\ninactive_file 6\nactive_file 7\n"
	"unevictable 8\nhierarchical_memory_limit 536870912\n"
	"hierarchical_memsw_limit 9223372036854771712\n"
	"total_cache 411488256\ntotal_rss 25886720\ntotal_shmem 8998912\ntotal_dirty 229376\n"
	"total_writeback 0\ntotal_workingset_refault_anon 0\ntotal_workingset_refault_file 156791\n"
	"total_swap 77\ntotal_inactive_anon 10612736\ntotal_active_anon 1609728\n"
	"total_inactive_file 208973824\ntotal_active_file 193515520\ntotal_unevictable 22544384\n");

static void test_bytes(void)
{
	uint64_t n = 7;

	CHECK(!memcg_parse_bytes(TEXT("max\n"), &n) && n == MEMCG_NONE);
	CHECK(!memcg_parse_bytes(TEXT("0\n"), &n) && n == 0);
	CHECK(!memcg_parse_bytes(TEXT("536870912\n"), &n) && n == 536870912);
	/* no limit: with pages of 4 and 64 KiB, and before 3.19 */
	CHECK(!memcg_parse_bytes(TEXT("9223372036854771712\n"), &n) && n == MEMCG_NONE);
	CHECK(!memcg_parse_bytes(TEXT("9223372036854710272\n"), &n) && n == MEMCG_NONE);
	CHECK(!memcg_parse_bytes(TEXT("9223372036854775807\n"), &n) && n == MEMCG_NONE);
	CHECK(!memcg_parse_bytes(TEXT("18446744073709551615\n"), &n) && n == MEMCG_NONE);
	/* a limit of 8 EiB less a megabyte is one */
	CHECK(!memcg_parse_bytes(TEXT("9223372036853727232\n"), &n) && n == 9223372036853727232ull);
	n = 7;
	CHECK(memcg_parse_bytes(TEXT(""), &n) == -EINVAL && n == 7);
	CHECK(memcg_parse_bytes(TEXT("\n"), &n) == -EINVAL);
	CHECK(memcg_parse_bytes(TEXT("123"), &n) == -EINVAL);
	CHECK(memcg_parse_bytes(TEXT("maximal\n"), &n) == -EINVAL);
	CHECK(memcg_parse_bytes(TEXT("-1\n"), &n) == -EINVAL);
	CHECK(memcg_parse_bytes(TEXT("12 34\n"), &n) == -EINVAL);
	CHECK(memcg_parse_bytes(TEXT("18446744073709551616\n"), &n) == -EINVAL && n == 7);
	CHECK(!memcg_is_limit(MEMCG_NONE) && !memcg_is_limit(NA_U64) && memcg_is_limit(0));
}

static void test_stat_v2(void)
{
	struct memcg m = memcg_unknown;

	CHECK(!memcg_parse_stat(stat_v2, 2, &m));
	CHECK(m.anon_bytes == 33161216 && m.file_bytes == 561152 && m.shmem_bytes == 8192);
	CHECK(m.kernel_bytes == 1048576 && m.sock_bytes == 4096 && m.unevictable_bytes == 20480);
	CHECK(m.slab_reclaimable_bytes == 300000 && m.slab_unreclaimable_bytes == 500000);
	CHECK(m.anon_lists_bytes == 33153024 + 16384);
	CHECK(m.inactive_file_bytes == 400000 && m.active_file_bytes == 153152);
	CHECK(m.dirty_bytes == 4096 && m.writeback_bytes == 12288 && m.refaults == 12);
	CHECK(m.hierarchical_limit_bytes == NA_U64 && m.limit_bytes == NA_U64);
	m.usage_bytes = 34000000;
	CHECK(memcg_working_set(&m) == 34000000 - 400000);
	CHECK(memcg_reclaimable(&m) == 400000 + 153152 + 300000);
	/* what can go of the kernel's part is not counted */
	CHECK(memcg_unreclaimable(&m) == 33153024 + 16384 + 20480 + 4096 + 1048576 - 300000);
	m.usage_bytes = 100;
	CHECK(memcg_working_set(&m) == 0);
	m = memcg_unknown;
	CHECK(memcg_working_set(&m) == NA_U64 && memcg_reclaimable(&m) == NA_U64 &&
	      memcg_unreclaimable(&m) == NA_U64);
	CHECK(!memcg_parse_stat(stat_old, 2, &m));
	CHECK(m.kernel_bytes == 16384 + 8192 && m.refaults == 12 && m.anon_lists_bytes == 1500);
	m = memcg_unknown;
	CHECK(!memcg_parse_stat(TEXT("anon 10\nshmem 5\nfile 9\n"), 2, &m));
	CHECK(memcg_unreclaimable(&m) == 15 && memcg_reclaimable(&m) == NA_U64);
	/* v1: all of the kernel's part may be dentries, which can go */
	m.kernel_bytes = 1 << 20;
	CHECK(memcg_unreclaimable(&m) == 15);
}

static void test_stat_v1(void)
{
	struct memcg m = memcg_unknown;

	CHECK(!memcg_parse_stat(stat_v1, 1, &m));
	CHECK(m.anon_bytes == 25886720 && m.file_bytes == 411488256 && m.shmem_bytes == 8998912);
	CHECK(m.anon_lists_bytes == 10612736 + 1609728 && m.unevictable_bytes == 22544384);
	CHECK(m.inactive_file_bytes == 208973824 && m.refaults == 156791 && m.swap_bytes == 77);
	CHECK(m.hierarchical_limit_bytes == 536870912 && m.hierarchical_memsw_bytes == MEMCG_NONE);
	CHECK(m.kernel_bytes == NA_U64 && m.slab_reclaimable_bytes == NA_U64);
	/* without a group's total_ lines its own would be passed off as all */
	m = memcg_unknown;
	CHECK(memcg_parse_stat(TEXT("cache 1\nrss 2\n"), 1, &m) == -EINVAL);
	CHECK(m.anon_bytes == NA_U64);
}

static void test_stat_bad(void)
{
	struct memcg whole = memcg_unknown, m;

	memcg_parse_stat(stat_v2, 2, &whole);
	EACH_CUT(n, stat_v2) {
		m = memcg_unknown;
		memcg_parse_stat(cut(stat_v2, n), 2, &m);
		CHECK(m.anon_bytes == NA_U64 || m.anon_bytes == whole.anon_bytes);
		CHECK(m.unevictable_bytes == NA_U64 ||
		      m.unevictable_bytes == whole.unevictable_bytes);
		CHECK(m.inactive_file_bytes == NA_U64 ||
		      m.inactive_file_bytes == whole.inactive_file_bytes);
	}
	m = memcg_unknown;
	m.anon_bytes = 5;
	CHECK(memcg_parse_stat(TEXT(""), 2, &m) == -EINVAL && m.anon_bytes == 5);
	CHECK(memcg_parse_stat(TEXT("\0\xff anon\n\n\n"), 2, &m) == -EINVAL);
	CHECK(!memcg_parse_stat(TEXT("anon -1\nfile 12x\nshmem\nkernel 18446744073709551616\n"), 2,
				&m));
	CHECK(m.anon_bytes == NA_U64 && m.file_bytes == NA_U64 && m.shmem_bytes == NA_U64 &&
	      m.kernel_bytes == NA_U64);
	/* a sum that does not fit is none, and neither is one of an unknown part */
	CHECK(!memcg_parse_stat(TEXT("inactive_anon 18446744073709551610\nactive_anon 100\n"), 2,
				&m));
	CHECK(m.anon_lists_bytes == NA_U64);
}

static void test_events(void)
{
	struct memcg m = memcg_unknown;

	CHECK(!memcg_parse_events(TEXT("low 0\nhigh 3\nmax 4\noom 5\noom_kill 6\noom_group_kill 1\n"
				       "sock_throttled 0\n"), false, &m));
	CHECK(m.high_events == 3 && m.max_events == 4 && m.oom_events == 5 && m.oom_kills == 6 &&
	      m.oom_group_kills == 1 && m.local_oom_events == NA_U64);
	CHECK(!memcg_parse_events(TEXT("low 0\nhigh 1\nmax 0\noom 2\noom_kill 0\n"), true, &m));
	CHECK(m.local_high_events == 1 && m.local_max_events == 0 && m.local_oom_events == 2 &&
	      m.local_oom_kills == 0 && m.oom_events == 5);
	/* 4.14 had neither oom_kill nor groups; a line cut short says nothing */
	CHECK(!memcg_parse_events(TEXT("low 0\nhigh 0\nmax 9\noom 1"), false, &m));
	CHECK(m.max_events == 9 && m.oom_events == NA_U64 && m.oom_kills == NA_U64);
	CHECK(memcg_parse_events(TEXT("low 0\n"), false, &m) == -EINVAL && m.max_events == 9);
	CHECK(memcg_parse_events(TEXT(""), true, &m) == -EINVAL);
}

static void test_oom_control(void)
{
	struct memcg m = memcg_unknown;

	CHECK(!memcg_parse_oom_control(TEXT("oom_kill_disable 1\nunder_oom 0\noom_kill 12\n"), &m));
	CHECK(m.oom_kill_disabled == 1 && m.under_oom == 0 && m.oom_kills == 12 &&
	      m.local_oom_kills == 12);
	CHECK(!memcg_parse_oom_control(TEXT("oom_kill_disable 0\nunder_oom 1\n"), &m));
	CHECK(m.oom_kill_disabled == 0 && m.under_oom == 1 && m.oom_kills == NA_U64);
	CHECK(!memcg_parse_oom_control(TEXT("under_oom x\n"), &m) && m.under_oom == -1);
	CHECK(memcg_parse_oom_control(TEXT("nothing 1\n"), &m) == -EINVAL);
}

static struct memcg read_group(int version, const char *folder, enum memcg_depth depth)
{
	const struct cgroup_hierarchy h = { .version = version, .mount = "m", .root = "/" };
	struct memcg_folder f;
	struct memcg m = { .usage_bytes = 1 };

	CHECK(!memcg_open(&h, folder, &f));
	memcg_read(&f, MEMCG_LIMIT, &m);
	memcg_read(&f, depth, &m);
	memcg_close(&f);
	return m;
}

static void build_groups(void)
{
	make("t");
	make("t/m");
	make("t/m/v2");
	make("t/m/v1");
	make("t/m/bare");
	make("t/m/bad");
	put_text("t/m/v2/memory.max", "1048576\n");
	put_text("t/m/v2/memory.events", "low 0\nhigh 0\nmax 1\noom 0\noom_kill 2\n");
	put_text("t/m/v2/memory.current", "4096\n");
	put_text("t/m/v2/memory.high", "max\n");
	put_text("t/m/v2/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
	put_text("t/m/v2/memory.stat", "anon 4096\ninactive_anon 4096\nactive_anon 0\n");
	put_text("t/m/v2/memory.oom.group", "1\n");
	put_text("t/m/v1/memory.limit_in_bytes", "1048576\n");
	put_text("t/m/v1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	put_text("t/m/v1/memory.usage_in_bytes", "8192\n");
	put_text("t/m/v1/memory.failcnt", "5\n");
	put_text("t/m/v1/memory.memsw.failcnt", "6\n");
	put_text("t/m/v1/memory.memsw.usage_in_bytes", "12288\n");
	put_text("t/m/v1/memory.memsw.limit_in_bytes", "2097152\n");
	put_text("t/m/v1/memory.kmem.usage_in_bytes", "4096\n");
	put_text("t/m/v1/memory.use_hierarchy", "1\n");
	put_text("t/m/v1/memory.stat", "total_rss 4096\n");
	put_text("t/m/bad/memory.max", "some\n");
	put_text("t/m/bad/memory.current", "12");
}

static void test_reading(void)
{
	CHECK(!src_open_root(at("t")) && src_frame_begin() == 1);
	struct memcg m = read_group(2, "m/v2", MEMCG_LIMIT);

	CHECK(m.limit_bytes == 1048576 && m.oom_kills == 2 && m.usage_bytes == NA_U64 &&
	      !m.trouble);
	m = read_group(2, "m/v2", MEMCG_USAGE);
	CHECK(m.usage_bytes == 4096 && m.high_bytes == MEMCG_NONE && m.pressure.some_ns == 12000 &&
	      m.anon_bytes == NA_U64);
	m = read_group(2, "m/v2", MEMCG_ALL);
	CHECK(m.anon_bytes == 4096 && m.oom_group == 1 && m.peak_bytes == NA_U64 &&
	      m.local_max_events == NA_U64 && m.is_hierarchical == 1 && !m.trouble);
	m = read_group(1, "m/v1", MEMCG_ALL);
	CHECK(m.limit_bytes == 1048576 && m.oom_kills == 3 && m.usage_bytes == 8192);
	CHECK(m.failcnt == 5 && m.max_events == 11 && m.swap_bytes == 4096 &&
	      m.is_hierarchical == 1);
	CHECK(m.memsw_limit_bytes == 2097152 && m.kmem_limit_bytes == NA_U64 &&
	      m.kernel_bytes == 4096 && !m.trouble);
	/* the root, or a group that was not given the controller */
	m = read_group(2, "m/bare", MEMCG_USAGE);
	CHECK(m.limit_bytes == MEMCG_NONE && m.usage_bytes == NA_U64 && !m.trouble);
	m = read_group(2, "m/bad", MEMCG_USAGE);
	CHECK(m.limit_bytes == NA_U64);
	CHECK_STR(m.trouble, "memory.max: neither a number nor max");
	const struct cgroup_hierarchy h = { .version = 2, .mount = "m", .root = "/" };
	struct memcg_folder f;

	CHECK(memcg_open(&h, "m/none", &f) == -ENOENT);
	src_close();
}

int main(void)
{
	if (!scratch_begin("memcg"))
		return 1;
	build_groups();
	test_bytes();
	test_stat_v2();
	test_stat_v1();
	test_stat_bad();
	test_events();
	test_oom_control();
	test_reading();
	scratch_end();
	return check_done("memcg");
}
