#include "common/kernel/conntrack.h"

#include <errno.h>

#include "tests/unit/cut.h"
#include "tests/unit/host.h"

/* 6.1, two CPUs; before 5.10 clashres was "searched", and early kernels pad with two blanks */
#define HEADER "entries  clashres found new invalid ignore delete chainlength insert " \
	"insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete " \
	"search_restart\n"
#define CPU0 "0003ae01  00000000 00000011 00000000 0000007f 00000000 00000000 00000000 00000000 " \
	"00000002 000000ff 00000010 00000000  00000000 00000000 00000000 00000000\n"
#define CPU1 "0003ae01  00000000 00000011 00000000 0000007f 00000000 00000000 00000000 00000000 " \
	"00000001 00000001 00000000 00000000  00000000 00000000 00000000 00000000\n"

static void test_stat(void)
{
	const struct text whole = TEXT(HEADER CPU0 CPU1);
	struct conntrack c = { .drop = 7 }, part;

	CHECK(conntrack_parse_stat(whole, &c) == 0);
	CHECK(c.drop == 256 && c.early_drop == 16 && c.insert_failed == 3);
	EACH_CUT(n, whole)
		if (conntrack_parse_stat(cut(whole, n), &part) == 0)
			CHECK(n == whole.len || n == sizeof(HEADER CPU0) - 1);
	CHECK(conntrack_parse_stat(TEXT("drop\n1\n"), &c) == 0 && c.early_drop == NA_U64);
}

/* Before 5.10: other names, and what they mean now is unknown there. */
static void test_old(void)
{
	struct conntrack c;

	conntrack_forget(&c);
	CHECK(conntrack_parse_stat(TEXT("entries  searched found new invalid ignore delete "
		"delete_list insert insert_failed drop early_drop icmp_error  expect_new "
		"expect_create expect_delete search_restart\n"
		"00000004  00000012 00000011 00000004 00000009 00000002 00000003 00000003 "
		"00000004 00000002 00000001 00000000 00000005  00000000 00000000 00000000 "
		"0000000a\n"), &c) == 0);
	CHECK(c.drop == 1 && c.insert_failed == 2 && c.invalid == 9 && c.search_restart == 10);
	CHECK(c.chain_too_long == NA_U64 && c.clash_resolved == NA_U64);
	/* 2.6.32: fewer columns */
	CHECK(conntrack_parse_stat(TEXT("entries  searched found new invalid ignore delete "
		"delete_list insert insert_failed drop early_drop icmp_error  expect_new "
		"expect_create expect_delete\n"
		"00000004  00000012 00000011 00000004 00000009 00000002 00000003 00000003 "
		"00000004 00000002 00000001 00000000 00000005  00000000 00000000 00000000\n"),
		&c) == 0 && c.drop == 1 && c.search_restart == NA_U64);
}

/* Behind the nlmsghdr: nfgenmsg and counters of one CPU, in network order. */
static void test_ctnetlink(void)
{
	static const char cpu[] =
		"\0\0\0\1" "\10\0\11\0\0\0\0\2" "\10\0\12\0\0\0\1\0"
		"\10\0\17\0\0\0\0\3" "\10\0\143\0\0\0\0\1";
	const struct text whole = TEXT(cpu);
	struct conntrack c;

	conntrack_forget(&c);
	CHECK(conntrack_add_cpu(whole, &c) == 0 && conntrack_add_cpu(whole, &c) == 0);
	CHECK(c.insert_failed == 4 && c.drop == 512 && c.chain_too_long == 6);
	CHECK(c.invalid == NA_U64);
	EACH_CUT(n, whole) {
		conntrack_forget(&c);
		if (conntrack_add_cpu(cut(whole, n), &c) == 0)
			CHECK(c.drop == NA_U64 || c.drop == 256);
	}
}

/* 32 bits per CPU: their sum may go round. */
static void test_moved(void)
{
	CHECK(conntrack_moved(12, 2) == 10 && conntrack_moved(5, 5) == 0);
	CHECK(conntrack_moved(0x100000003, 0x1fffffffd) == 6);
	CHECK(conntrack_moved(NA_U64, 1) == NA_U64 && conntrack_moved(1, NA_U64) == NA_U64);
}

static void test_hostile(void)
{
	struct conntrack c = { .drop = 7 };

	CHECK(conntrack_parse_stat(TEXT(""), &c) == -EINVAL);
	CHECK(conntrack_parse_stat(TEXT(HEADER), &c) == -EINVAL);
	CHECK(conntrack_parse_stat(TEXT("found\n00000001\n"), &c) == -EINVAL);
	CHECK(conntrack_parse_stat(TEXT("found drop\n00000001\n"), &c) == -EINVAL);
	CHECK(conntrack_parse_stat(TEXT("drop\n1x\n"), &c) == -EINVAL);
	CHECK(conntrack_parse_stat(TEXT("drop\nffffffffffffffff\n1\n"), &c) == -EINVAL);
	CHECK(conntrack_parse_stat(TEXT("drop\n11111111111111111\n"), &c) == -EINVAL);
	CHECK(c.drop == 7);
}

static void test_files(void)
{
	struct conntrack c;

	make("none");
	open_root("none");
	CHECK(conntrack_read(&c) == 0 && !c.is_in_use && c.count == NA_U64 && c.drop == NA_U64);
	close_all();
	host_add("h/proc/sys/net/netfilter/nf_conntrack_count", "241172\n");
	host_add("h/proc/sys/net/netfilter/nf_conntrack_max", "262144\n");
	open_root("h");
	CHECK(conntrack_read(&c) == 0 && c.is_in_use && c.count == 241172 && c.max == 262144);
	CHECK(c.drop == NA_U64 && c.insert_failed == NA_U64);
	close_all();
	host_add("h/proc/net/stat/nf_conntrack", HEADER CPU0);
	open_root("h");
	CHECK(conntrack_read(&c) == 0 && c.drop == 255 && c.early_drop == 16);
	close_all();
	CHECK(c.buckets == NA_U64 && c.invalid == 0x7f);
	/* a container whose /proc/sys lacks them although the kernel tracks: nothing is asked that
	   could load a module */
	host_add("container/proc/net/stat/nf_conntrack", HEADER CPU0);
	host_add("container/proc/sys/kernel/modprobe", "/sbin/modprobe\n");
	open_root("container");
	CHECK(conntrack_read(&c) == -ENOENT && c.is_in_use && c.count == NA_U64 && c.drop == 255);
	close_all();
	host_add("slab/proc/slabinfo", "slabinfo - version: 2.1\n# name <active_objs>\n"
		 "nf_conntrack        1024   1088    256   16    1 : tunables    0    0    0\n");
	open_root("slab");
	CHECK(conntrack_entry_bytes() == 256);
	close_all();
	open_root("h");
	CHECK(conntrack_entry_bytes() == NA_U64);
	close_all();
	/* one of two files garbled: the other one's numbers are there all the same */
	host_add("h/proc/net/stat/nf_conntrack", "?\n");
	open_root("h");
	CHECK(conntrack_read(&c) == -EINVAL && c.count == 241172 && c.drop == NA_U64);
	close_all();
}

int main(void)
{
	if (!scratch_begin("conntrack"))
		return 1;
	test_stat();
	test_old();
	test_ctnetlink();
	test_moved();
	test_hostile();
	test_files();
	scratch_end();
	return check_done("conntrack");
}
