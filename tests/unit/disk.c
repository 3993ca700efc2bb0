#include "common/kernel/disk.h"

#include <errno.h>

#include "tests/unit/cut.h"
#include "tests/unit/host.h"

/* 6.1: 20 fields */
#define VDA " 254       0 vda 42892 8841 4784954 14489 92001 7821 3293432 13397 3 29816 43814 " \
	"91270 31 2856672 15764 580 162\n"
#define VDA1 " 254       1 vda1 42 0 54 14 0 0 0 0 0 10 14 0 0 0 0 0 0\n"
/* 4.18: 18 fields, 3.10: 14 */
#define SDB "   8      16 sdb 10 1 80 5 20 2 160 15 0 20 20 7 8 9 11\n"
#define CCISS " 104       0 cciss/c0d0 10 1 80 5 20 2 160 15 0 20 20\n"
#define LOOP0 "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
#define LOOP1 "   7       1 loop1 3 0 6 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n"
#define RAM0 "   1       0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"
#define ZRAM0 " 253       0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static struct arena arena;

static void test_fields(void)
{
	struct disks d;

	disk_parse(&arena, TEXT(VDA SDB CCISS), &d);
	CHECK(d.count == 3 && !d.garbled_line);
	CHECK_STR(d.items[0].name, "vda");
	CHECK(d.items[0].major == 254 && d.items[0].minor == 0);
	CHECK(d.items[0].reads == 42892 && d.items[0].reads_merged == 8841);
	CHECK(d.items[0].read_sectors == 4784954 && d.items[0].read_ms == 14489);
	CHECK(d.items[0].writes == 92001 && d.items[0].writes_merged == 7821);
	CHECK(d.items[0].write_sectors == 3293432 && d.items[0].write_ms == 13397);
	CHECK(d.items[0].in_flight == 3 && d.items[0].busy_ms == 29816);
	CHECK(d.items[0].weighted_ms == 43814 && d.items[0].discards == 91270);
	CHECK(d.items[0].discard_ms == 15764 && d.items[0].flushes == 580);
	CHECK(d.items[0].flush_ms == 162);
	CHECK(d.items[1].weighted_ms == 20 && d.items[1].discards == 7);
	CHECK(d.items[1].discard_ms == 11 && d.items[1].flushes == NA_U64);
	CHECK_STR(d.items[2].name, "cciss/c0d0");
	CHECK(d.items[2].weighted_ms == 20 && d.items[2].discards == NA_U64);
	CHECK(d.items[2].flush_ms == NA_U64);
	/* a kernel to come may have more */
	disk_parse(&arena, TEXT(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x\n"), &d);
	CHECK(d.count == 1 && d.items[0].flush_ms == 17 && !d.garbled_line);
}

static bool is_same(const struct disk *a, const struct disk *b)
{
	return !strcmp(a->name, b->name) && a->major == b->major && a->minor == b->minor &&
		a->reads == b->reads && a->busy_ms == b->busy_ms &&
		a->weighted_ms == b->weighted_ms && a->discards == b->discards &&
		a->flush_ms == b->flush_ms;
}

static void test_cut(void)
{
	const struct text whole = TEXT(VDA SDB CCISS);
	struct disks all, d;

	disk_parse(&arena, whole, &all);
	EACH_CUT(n, whole) {
		disk_parse(&arena, cut(whole, n), &d);
		CHECK(d.count <= 3);
		for (size_t i = 0; i < d.count; i++)
			CHECK(is_same(&d.items[i], &all.items[i]));
		CHECK(d.garbled_line == (n && whole.data[n - 1] != '\n' ? d.count + 1 : 0));
	}
}

static void test_hostile(void)
{
	struct disks d;

	disk_parse(&arena, TEXT(""), &d);
	CHECK(d.count == 0 && !d.garbled_line);
	disk_parse(&arena, TEXT("\n"), &d);
	CHECK(d.count == 0 && d.garbled_line == 1);
	/* partitions before 2.6.25 had four numbers */
	disk_parse(&arena, TEXT(VDA " 8 1 sda1 1 2 3 4\n" SDB), &d);
	CHECK(d.count == 2 && d.garbled_line == 2);
	disk_parse(&arena, TEXT("8 0 sda 1 2 3 4 5 6 7 8 9 10 -11\n"), &d);
	CHECK(d.count == 0 && d.garbled_line == 1);
	disk_parse(&arena, TEXT("8 0 sda 1 2 3 4 5 6 7 8 9 10 18446744073709551616\n"), &d);
	CHECK(d.count == 0 && d.garbled_line == 1);
	disk_parse(&arena, TEXT("8 0 a\\040b\033[1m 1 2 3 4 5 6 7 8 9 10 11\n"), &d);
	CHECK(d.count == 1);
	CHECK_STR(d.items[0].name, "a\\040b\033[1m");
}

static void test_rates(void)
{
	struct disk before = { .name = "sda", .reads = 100, .read_sectors = 1000, .read_ms = 50,
		.writes = 10, .write_sectors = 80, .write_ms = 100, .busy_ms = 1000,
		.weighted_ms = 150 };
	struct disk now = before;
	struct disk_rates r;

	now.reads += 100, now.read_sectors += 1600, now.read_ms += 200;
	now.writes += 50, now.write_sectors += 800, now.write_ms += 400;
	now.busy_ms += 500, now.weighted_ms += 600;
	disk_measure(&before, &now, 2000000000, &r);
	CHECK(r.busy_ratio == 0.25 && r.queue == 0.3);
	CHECK(r.reads_per_second == 50 && r.writes_per_second == 25);
	CHECK(r.read_bytes_per_second == 800 * 512 && r.write_bytes_per_second == 400 * 512);
	CHECK(r.await_ns == 4e6 && r.read_await_ns == 2e6 && r.write_await_ns == 8e6);
	/* nothing done: no time per request, but idle is known */
	disk_measure(&now, &now, 1000000000, &r);
	CHECK(r.busy_ratio == 0 && r.queue == 0 && r.reads_per_second == 0);
	CHECK(isnan(r.await_ns) && isnan(r.read_await_ns) && isnan(r.write_await_ns));
	/* counters that went backwards, and no time that passed */
	disk_measure(&now, &before, 1000000000, &r);
	CHECK(isnan(r.busy_ratio) && isnan(r.queue) && isnan(r.reads_per_second));
	CHECK(isnan(r.write_bytes_per_second) && isnan(r.await_ns));
	disk_measure(&before, &now, 0, &r);
	CHECK(isnan(r.busy_ratio) && isnan(r.writes_per_second));
}

static void test_whole_disks(void)
{
	struct disks d;

	host_add("h/proc/diskstats", VDA VDA1 SDB CCISS LOOP0 LOOP1 RAM0 ZRAM0);
	host_add("h/sys/block/vda/dev", "254:0\n");
	host_add("h/sys/block/sdb/device/ioerr_cnt", "0x1f\n");
	host_add("h/sys/block/cciss!c0d0/device/ioerr_cnt", "12\n");
	host_add("h/sys/block/loop0/dev", "7:0\n");
	host_add("h/sys/block/loop1/dev", "7:1\n");
	host_add("h/sys/block/ram0/dev", "1:0\n");
	host_add("h/sys/block/zram0/dev", "253:0\n");
	open_root("h");
	CHECK(disk_read(&arena, &d) == 0 && d.count == 5);
	CHECK_STR(d.items[0].name, "vda");
	CHECK_STR(d.items[1].name, "sdb");
	CHECK_STR(d.items[2].name, "cciss/c0d0");
	CHECK_STR(d.items[3].name, "loop1");
	CHECK_STR(d.items[4].name, "zram0");
	CHECK(disk_read_errors("sdb") == 31);
	CHECK(disk_read_errors("cciss/c0d0") == NA_U64);
	CHECK(disk_read_errors("vda") == NA_U64);
	close_all();
	/* without sysfs a partition can't be told from a disk: all are shown */
	host_add("n/proc/diskstats", VDA VDA1 LOOP0);
	open_root("n");
	CHECK(disk_read(&arena, &d) == 0 && d.count == 2);
	close_all();
	make("none");
	open_root("none");
	CHECK(disk_read(&arena, &d) == -ENOENT && d.count == 2);
	close_all();
}

int main(void)
{
	if (!scratch_begin("disk"))
		return 1;
	test_fields();
	test_cut();
	test_hostile();
	test_rates();
	test_whole_disks();
	arena_free(&arena);
	scratch_end();
	return check_done("disk");
}
