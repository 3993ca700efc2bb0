#include "common/kernel/meminfo.h"

#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static const char *const memory_keys[] = {
	"MemTotal", "MemFree", "MemAvailable", "SwapTotal", "HardwareCorrupted", "Hugepagesize",
};
static const struct text meminfo = TEXT(
	"MemTotal:       24683620 kB\n"
	"MemFree:        23708740 kB\n"
	"MemAvailable:   24146476 kB\n"
	"SwapTotal:             0 kB\n"
	"VmallocTotal:   34359738367 kB\n"
	"HardwareCorrupted:     4 kB\n"
	"HugePages_Total:       7\n"
	"Hugepagesize:       2048 kB\n");
static const struct text vmstat = TEXT(
	"nr_free_pages 5927185\n"
	"pswpin 12\n"
	"pswpout 345\n"
	"allocstall_dma 0\n"
	"allocstall_dma32 1\n"
	"allocstall_normal 20\n"
	"allocstall_movable 300\n"
	"oom_kill 2\n"
	"oom_kill_other 9\n");

static void test_meminfo(void)
{
	CHECK(meminfo_bytes(meminfo, "MemTotal") == 24683620ull * 1024);
	CHECK(meminfo_bytes(meminfo, "SwapTotal") == 0);
	CHECK(meminfo_bytes(meminfo, "VmallocTotal") == 34359738367ull * 1024);
	CHECK(meminfo_bytes(meminfo, "HardwareCorrupted") == 4096);
	CHECK(meminfo_bytes(meminfo, "HugePages_Total") == NA_U64);
	CHECK(meminfo_bytes(meminfo, "Mem") == NA_U64);
	CHECK(meminfo_bytes(meminfo, "Total") == NA_U64);
	CHECK(meminfo_bytes(meminfo, "MemTotalX") == NA_U64);
	for (size_t i = 0; i < sizeof(memory_keys) / sizeof(*memory_keys); i++) {
		uint64_t whole = meminfo_bytes(meminfo, memory_keys[i]), n;

		EACH_CUT(at, meminfo) {
			n = meminfo_bytes(cut(meminfo, at), memory_keys[i]);
			CHECK(n == NA_U64 || n == whole);
		}
	}
}

static void test_hostile_meminfo(void)
{
	CHECK(meminfo_bytes(TEXT(""), "MemTotal") == NA_U64);
	CHECK(meminfo_bytes(TEXT("MemTotal:\n"), "MemTotal") == NA_U64);
	CHECK(meminfo_bytes(TEXT("MemTotal: 12 MB\n"), "MemTotal") == NA_U64);
	CHECK(meminfo_bytes(TEXT("MemTotal: -12 kB\n"), "MemTotal") == NA_U64);
	CHECK(meminfo_bytes(TEXT("MemTotal: 12 kB of 13\n"), "MemTotal") == NA_U64);
	CHECK(meminfo_bytes(TEXT("MemTotal: 18446744073709551615 kB\n"), "MemTotal") == NA_U64);
	CHECK(meminfo_bytes(TEXT("MemTotal: 18014398509481984 kB\n"), "MemTotal") == NA_U64);
	CHECK(meminfo_bytes(TEXT(" MemTotal: 12 kB\n"), "MemTotal") == NA_U64);
	CHECK(meminfo_bytes(TEXT("MemTotal 1 kB\nMemTotal: 12 kB \n"), "MemTotal") == 12 * 1024);
}

static void test_vmstat(void)
{
	CHECK(vmstat_count(vmstat, "pswpin") == 12);
	CHECK(vmstat_count(vmstat, "pswpout") == 345);
	CHECK(vmstat_count(vmstat, "oom_kill") == 2);
	CHECK(vmstat_count(vmstat, "allocstall") == NA_U64);
	CHECK(vmstat_sum(vmstat, "allocstall") == 321);
	CHECK(vmstat_sum(vmstat, "pswpin") == 12);
	CHECK(vmstat_sum(vmstat, "pswp") == NA_U64);
	CHECK(vmstat_sum(TEXT("allocstall 7\n"), "allocstall") == 7);     /* before Linux 4.8 */
	EACH_CUT(at, vmstat) {
		uint64_t count = vmstat_count(cut(vmstat, at), "oom_kill");
		uint64_t sum = vmstat_sum(cut(vmstat, at), "allocstall");

		CHECK(count == NA_U64 || count == 2);
		CHECK(sum == NA_U64 || sum <= 321);
	}
	CHECK(vmstat_count(TEXT("oom_kill x\n"), "oom_kill") == NA_U64);
	CHECK(vmstat_count(TEXT("oom_kill 1 2\n"), "oom_kill") == NA_U64);
	CHECK(vmstat_sum(TEXT("a_b 18446744073709551615\na_c 1\n"), "a") == NA_U64);
	CHECK(vmstat_sum(TEXT("a_b 1\na_c x\n"), "a") == NA_U64);
	CHECK(vmstat_sum(TEXT("a_\n"), "a") == NA_U64);
	CHECK(vmstat_sum(TEXT("a_ 1\n"), "a") == NA_U64);
}

/* Linux 6.18, two of its lines in another order. */
static const struct text node = TEXT(
	"Node 0 MemTotal:        4548824 kB\n"
	"Node 0 MemFree:         3988584 kB\n"
	"Node 0 MemUsed:          560240 kB\n"
	"Node 0 HugePages_Total:     7\n"
	"Node 12 FilePages:          124 kB\n");

static void test_node(void)
{
	CHECK(node_meminfo_bytes(node, "MemTotal") == 4548824ull * 1024);
	CHECK(node_meminfo_bytes(node, "MemFree") == 3988584ull * 1024);
	CHECK(node_meminfo_bytes(node, "FilePages") == 124 * 1024);
	CHECK(node_meminfo_bytes(node, "Mem") == NA_U64);
	CHECK(node_meminfo_bytes(node, "HugePages_Total") == NA_U64);
	CHECK(node_meminfo_bytes(meminfo, "MemTotal") == NA_U64);
	EACH_CUT(at, node) {
		uint64_t bytes = node_meminfo_bytes(cut(node, at), "MemFree");

		CHECK(bytes == NA_U64 || bytes == 3988584ull * 1024);
	}
	CHECK(node_meminfo_bytes(TEXT("Node 0\nNode\nNode 0 MemFree\nNode 0 MemFree: x kB\n"),
				 "MemFree") == NA_U64);
	/* numastat has vmstat's form */
	CHECK(vmstat_count(TEXT("numa_hit 5836044\nnuma_miss 3\n"), "numa_miss") == 3);
}

int main(void)
{
	test_node();
	test_meminfo();
	test_hostile_meminfo();
	test_vmstat();
	return check_done("meminfo");
}
