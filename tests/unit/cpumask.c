#include "common/kernel/cpumask.h"

#include <errno.h>

#include "common/base/mem.h"
#include "common/kernel/cputopo.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

static struct arena arena;

static bool is_list(const char *hex, const char *list)
{
	struct cpumask m;

	return cpumask_parse_hex(text_of(hex), &m) == 0 &&
		!strcmp(cpumask_list_text(&arena, &m), list);
}

static void test_hex(void)
{
	struct cpumask m = { { 5 } };

	CHECK(is_list("3\n", "0-1"));
	CHECK(is_list("00000008,00000000", "35"));
	CHECK(is_list("1,00000000,00000001", "0,64"));
	CHECK(is_list("ff,FFFFFFFF\n", "0-39"));
	CHECK(is_list("0", ""));
	CHECK(is_list("00000000,00000000", ""));
	CHECK(is_list("2,1", "0,33"));          /* short groups count as 32 bits all the same */
	CHECK(cpumask_parse_hex(TEXT(""), &m) == -EINVAL);
	CHECK(cpumask_parse_hex(TEXT("\n"), &m) == -EINVAL);
	CHECK(cpumask_parse_hex(TEXT("0x3"), &m) == -EINVAL);
	CHECK(cpumask_parse_hex(TEXT("0-1"), &m) == -EINVAL);
	CHECK(cpumask_parse_hex(TEXT("000000001"), &m) == -EINVAL);     /* nine digits */
	CHECK(cpumask_parse_hex(TEXT("1,,0"), &m) == -EINVAL);
	CHECK(cpumask_parse_hex(TEXT(",2"), &m) == -EINVAL);
	CHECK(cpumask_parse_hex(TEXT("2,"), &m) == -EINVAL);
	CHECK(m.words[0] == 5);
}

/* What a cut mask says is another mask: the lengths of groups can't tell, but nothing crashes. */
static void test_cut(void)
{
	const struct text whole = TEXT("00000008,00000001\n");
	struct cpumask m;

	EACH_CUT(n, whole)
		CHECK((cpumask_parse_hex(cut(whole, n), &m) == 0) == (n != 0 && n != 9));
}

static void test_wide(void)
{
	struct buf b = { 0 };
	struct cpumask m;

	for (int i = 0; i < CPU_MAX / 32; i++)
		buf_add_text(&b, i ? ",00000000" : "80000000");
	CHECK(cpumask_parse_hex(buf_text(&b), &m) == 0);
	CHECK(cpumask_count(&m) == 1 && cpumask_has(&m, CPU_MAX - 1));
	CHECK(!cpumask_has(&m, CPU_MAX) && cpumask_next(&m, 0) == CPU_MAX - 1);
	/* a group more may hold nothing */
	buf_reset(&b);
	for (int i = 0; i <= CPU_MAX / 32; i++)
		buf_add_text(&b, i ? ",00000000" : "00000001");
	CHECK(cpumask_parse_hex(buf_text(&b), &m) == -EINVAL);
	b.data[7] = '0';
	CHECK(cpumask_parse_hex(buf_text(&b), &m) == 0 && cpumask_is_empty(&m));
	buf_free(&b);
}

static void test_write(void)
{
	struct cpumask m = { 0 };

	CHECK_STR(cpumask_hex_text(&arena, &m, 0), "0");
	CHECK_STR(cpumask_hex_text(&arena, &m, 4), "0");
	CHECK_STR(cpumask_hex_text(&arena, &m, 8), "00");
	CHECK_STR(cpumask_hex_text(&arena, &m, 33), "0,00000000");
	cpumask_set(&m, 35);
	CHECK_STR(cpumask_hex_text(&arena, &m, 0), "8,00000000");
	CHECK_STR(cpumask_hex_text(&arena, &m, 64), "00000008,00000000");
	CHECK_STR(cpumask_hex_text(&arena, &m, 36), "8,00000000");
	cpumask_set(&m, CPU_MAX);
	CHECK(cpumask_count(&m) == 1);
	/* each CPU alone, and with its neighbour, there and back in both forms */
	for (unsigned cpu = 0; cpu < 1100; cpu++) {
		struct cpumask back, one = { 0 };

		cpumask_set(&one, cpu);
		if (cpu % 3)
			cpumask_set(&one, cpu + 1);
		const char *hex = cpumask_hex_text(&arena, &one, cpu % 2 ? 0 : 2048);
		const char *list = cpumask_list_text(&arena, &one);

		CHECK(cpumask_parse_hex(text_of(hex), &back) == 0 && cpumask_equals(&one, &back));
		CHECK(cpumask_parse_list(text_of(list), &back) == 0 &&
		      cpumask_equals(&one, &back));
	}
}

static void test_sets(void)
{
	struct cpumask a, b, c;

	CHECK(cpumask_parse_list(TEXT("0-3,64,100-101\n"), &a) == 0 && cpumask_count(&a) == 7);
	CHECK(cpumask_parse_list(TEXT("3-64"), &b) == 0);
	CHECK(cpumask_parse_list(TEXT(""), &c) == 0 && cpumask_is_empty(&c));
	CHECK(cpumask_parse_list(TEXT("0,8192"), &c) == -EINVAL);
	CHECK(cpumask_parse_list(TEXT("3-1"), &c) == -EINVAL);
	CHECK(cpumask_meets(&a, &b) && !cpumask_meets(&a, &c) && cpumask_is_inside(&c, &a));
	CHECK(!cpumask_is_inside(&a, &b));
	c = a;
	cpumask_and(&c, &b);
	CHECK_STR(cpumask_list_text(&arena, &c), "3,64");
	cpumask_remove(&a, &b);
	CHECK_STR(cpumask_list_text(&arena, &a), "0-2,100-101");
	cpumask_or(&a, &c);
	CHECK_STR(cpumask_list_text(&arena, &a), "0-3,64,100-101");
	CHECK(cpumask_next(&a, 4) == 64 && cpumask_next(&a, 102) == CPUMASK_END);
}

static void test_topology(void)
{
	struct cputopo t;
	struct cpumask m;

	host_add("t/sys/devices/system/cpu/online", "0-2\n");
	host_add("t/sys/devices/system/cpu/possible", "0-7\n");
	host_add("t/sys/devices/system/cpu/isolated", "2\n");
	host_add("t/sys/devices/system/cpu/nohz_full", "  (null)\n");
	host_add("t/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n");
	host_add("t/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2\n");
	host_add("t/sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_list", "0-1\n");
	host_add("t/sys/devices/system/node/online", "0-1\n");
	host_add("t/sys/devices/system/node/node0/cpulist", "0\n");
	host_add("t/sys/devices/system/node/node1/cpulist", "1-2\n");
	open_root("t");
	CHECK(cputopo_read(&arena, &t) == 0 && t.limit == 8 && t.nodes == 2);
	CHECK(cpumask_is_empty(&t.nohz_full) && cpumask_has(&t.isolated, 2));
	CHECK(t.places[0].core == 0 && !t.places[0].is_second && t.places[2].is_second);
	CHECK(t.places[1].core == NA_U64 && t.places[7].node == NA_U64);
	CHECK(t.places[0].cache == 0 && t.places[1].node == 1);
	cputopo_node_cpus(&t, 1, &m);
	CHECK_STR(cpumask_list_text(&arena, &m), "1-2");
	cputopo_node_cpus(&t, NA_U64, &m);
	CHECK(cpumask_is_empty(&m));
	close_all();
	host_add("e/sys/devices/system/cpu/online", "\n");
	open_root("e");
	CHECK(cputopo_read(&arena, &t) == -EINVAL);
	close_all();
}

int main(void)
{
	if (!scratch_begin("cpumask"))
		return 1;
	test_hex();
	test_cut();
	test_wide();
	test_write();
	test_sets();
	test_topology();
	arena_free(&arena);
	scratch_end();
	return check_done("cpumask");
}
