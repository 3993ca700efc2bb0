#include "common/kernel/softnet.h"

#include <errno.h>

#include "common/kernel/edac.h"
#include "common/kernel/interrupts.h"
#include "common/kernel/netdev.h"
#include "common/kernel/thermal.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

/* 6.1 */
#define CPU0 "0000000d 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 " \
	"00000000 00000000 00000000 00000000 00000000 00000000\n"
#define CPU1 "fffffff0 00000010 00000020 00000000 00000000 00000000 00000000 00000000 00000000 " \
	"00000000 00000000 00000000 00000001 00000000 00000000\n"

static void test_softnet(void)
{
	const struct text whole = TEXT(CPU0 CPU1);
	struct softnet s = { .cpus = 9 }, now;
	struct softnet_delta d;

	EACH_CUT(n, whole)
		CHECK((softnet_parse(cut(whole, n), &now) == 0) ==
		      (n == whole.len || n == sizeof(CPU0) - 1));
	CHECK(softnet_parse(whole, &s) == 0 && s.cpus == 2);
	CHECK(s.processed == 0xfffffffd && s.dropped == 0x11 && s.squeezed == 0x22);
	CHECK(softnet_parse(TEXT(""), &s) == -EINVAL);
	CHECK(softnet_parse(TEXT("00000001 00000002\n"), &s) == -EINVAL);
	CHECK(softnet_parse(TEXT("00000001 00000002 0000000x\n"), &s) == -EINVAL && s.cpus == 2);
	/* right across the wrap of 32 bits */
	now = s;
	now.processed += 100, now.dropped += 3;
	softnet_subtract(&s, &now, &d);
	CHECK(d.processed == 100 && d.dropped == 3 && d.squeezed == 0);
	/* a CPU went away, or all started over */
	now.cpus = 1;
	softnet_subtract(&s, &now, &d);
	CHECK(d.processed == NA_U64 && d.dropped == NA_U64 && d.squeezed == NA_U64);
	now.cpus = 2, now.dropped = 0;
	softnet_subtract(&s, &now, &d);
	CHECK(d.processed == 100 && d.dropped == NA_U64);
}

static const struct text interrupts = TEXT(
	"           CPU0       CPU1       \n"
	" 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n"
	" 25:          7          8  12 9-edge      MCE: 5\n"
	"NMI:          3          4   Non-maskable interrupts\n"
	"ERR:          2\n"
	"MIS:          0\n"
	"MCE:         10         11   Machine check exceptions\n");

static void test_interrupts(void)
{
	CHECK(interrupts_sum(interrupts, "MCE") == 21);
	CHECK(interrupts_sum(interrupts, "NMI") == 7);
	CHECK(interrupts_sum(interrupts, "ERR") == 2);
	CHECK(interrupts_sum(interrupts, "MIS") == 0);
	CHECK(interrupts_sum(interrupts, "25") == 15);
	CHECK(interrupts_sum(interrupts, "PMI") == NA_U64);
	EACH_CUT(n, interrupts) {
		uint64_t sum = interrupts_sum(cut(interrupts, n), "MCE");

		CHECK(sum == (n == interrupts.len ? 21 : NA_U64));
	}
	CHECK(interrupts_sum(TEXT(""), "MCE") == NA_U64);
	CHECK(interrupts_sum(TEXT("MCE: 1\nMCE: 2\n"), "MCE") == NA_U64);
	CHECK(interrupts_sum(TEXT("CPU0\nMCE: x\n"), "MCE") == NA_U64);
	CHECK(interrupts_sum(TEXT("CPU0 CPU1\nMCE: 18446744073709551615 1\n"), "MCE") == NA_U64);
}

static void test_devices(void)
{
	CHECK(netdev_parse_speed(TEXT("10000\n")) == 10000000000u);
	CHECK(netdev_parse_speed(TEXT("-1\n")) == NA_U64);
	CHECK(netdev_parse_speed(TEXT("4294967295\n")) == NA_U64);
	CHECK(netdev_parse_speed(TEXT("0\n")) == NA_U64);
	CHECK(netdev_parse_speed(TEXT("100")) == NA_U64);
	CHECK(netdev_parse_speed(TEXT("")) == NA_U64);
	host_add("h/sys/class/net/eth0/speed", "25000\n");
	host_add("h/sys/class/net/eth0/device/vendor", "0x8086\n");
	host_add("h/sys/class/net/veth0/mtu", "1500\n");
	host_add("h/sys/class/other/device", "\n");
	open_root("h");
	CHECK(netdev_is_hardware("eth0") && netdev_read_speed("eth0") == 25000000000u);
	CHECK(!netdev_is_hardware("veth0") && netdev_read_speed("veth0") == NA_U64);
	CHECK(!netdev_is_hardware("../other") && netdev_read_speed("../other") == NA_U64);
	CHECK(!netdev_is_hardware("") && netdev_read_speed("") == NA_U64);
	close_all();
}

static void test_hardware(void)
{
	struct thermal t;
	struct edac e;

	host_add("t/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
	host_add("t/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "7\n");
	host_add("t/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "4\n");
	host_add("t/sys/devices/system/cpu/cpu2/thermal_throttle/package_throttle_count", "9\n");
	host_add("t/sys/devices/system/edac/mc/mc0/ce_count", "5\n");
	host_add("t/sys/devices/system/edac/mc/mc0/ue_count", "0\n");
	host_add("t/sys/devices/system/edac/mc/mc1/ce_count", "1\n");
	host_add("t/sys/devices/system/edac/mc/mc1/ue_count", "2\n");
	host_add("t/sys/devices/system/edac/mc/mcx/ue_count", "2\n");
	host_add("t/sys/devices/system/edac/mc/power/control", "auto\n");
	open_root("t");
	thermal_read(3, &t);
	CHECK(t.cores == 7 && t.packages == 9);
	thermal_read(0, &t);
	CHECK(t.cores == NA_U64 && t.packages == NA_U64);
	edac_read(&e);
	CHECK(e.controllers == 2 && e.corrected == 6 && e.uncorrected == 2);
	close_all();
	host_add("t/sys/devices/system/edac/mc/mc1/ce_count", "many\n");
	open_root("t");
	edac_read(&e);
	CHECK(e.controllers == 2 && e.corrected == NA_U64 && e.uncorrected == 2);
	close_all();
	open_root("h");
	thermal_read(2, &t);
	CHECK(t.cores == NA_U64 && t.packages == NA_U64);
	edac_read(&e);
	CHECK(e.controllers == 0 && e.corrected == NA_U64 && e.uncorrected == NA_U64);
	close_all();
}

int main(void)
{
	if (!scratch_begin("softnet"))
		return 1;
	test_softnet();
	test_interrupts();
	test_devices();
	test_hardware();
	scratch_end();
	return check_done("softnet");
}
