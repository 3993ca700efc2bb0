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
	test_hostile();
	test_files();
	scratch_end();
	return check_done("conntrack");
}
