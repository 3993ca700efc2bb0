#include "common/kernel/load.h"

#include "common/base/fail.h"
#include "common/kernel/cpustat.h"
#include "tests/unit/scratch.h"

#define HEADER "Inter-|   Receive |  Transmit\n face |bytes packets |bytes packets\n"

static void build(void)
{
	make("h");
	make("h/proc");
	make("h/proc/net");
	make("h/sys");
	make("h/sys/class");
	make("h/sys/class/net");
	make("h/sys/class/net/eth0");
	put_text("h/proc/net/dev", HEADER "lo: 1 1000 0\neth0: 1 20 0\nveth1: 1 3 0\n");
	put_text("h/proc/net/snmp", "Tcp: ActiveOpens PassiveOpens\nTcp: 5 7\n");
	put_text("h/proc/stat", "cpu  10 1 5 100 20 2 3 4\ncpu0 10 1 5 100 20 2 3 4\nctxt 99\n");
}

static void test_read(void)
{
	struct load l;

	build();
	open_root("h");
	load_read(&l);
	CHECK(l.packets_in == 23);             /* a container's: all but lo */
	CHECK(l.accepts == 7 && l.switches == 99);
	CHECK(l.busy_ticks == 25 && l.total_ticks == 145);
	close_all();
	make("h/sys/class/net/eth0/device");
	open_root("h");
	load_read(&l);
	CHECK(l.packets_in == 20);
	close_all();
	make("empty");
	open_root("empty");
	load_read(&l);
	CHECK(l.packets_in == NA_U64 && l.accepts == NA_U64 && l.switches == NA_U64);
	CHECK(l.busy_ticks == NA_U64 && l.total_ticks == NA_U64);
	close_all();
}

static void test_rates(void)
{
	const struct load before = { 100, 10, 1000, 50, 100 }, now = { 300, 10, 1500, 75, 200 };
	const struct load unknown = { NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 };
	struct load_rates r;

	load_rates(&before, &now, 2000000000, &r);
	CHECK(r.packets_per_second > 99.9 && r.packets_per_second < 100.1);
	CHECK(!(r.accepts_per_second > 0) && !(r.accepts_per_second < 0));
	CHECK(r.switches_per_second > 249.9 && r.switches_per_second < 250.1);
	CHECK(r.busy_ratio > 0.249 && r.busy_ratio < 0.251);
	load_rates(&unknown, &now, 2000000000, &r);
	CHECK(is_na_f64(r.packets_per_second) && is_na_f64(r.busy_ratio));
	load_rates(&now, &before, 2000000000, &r);
	CHECK(is_na_f64(r.packets_per_second) && is_na_f64(r.busy_ratio));
	load_rates(&before, &now, 0, &r);
	CHECK(is_na_f64(r.switches_per_second));
}

int main(void)
{
	if (!scratch_begin("load"))
		return 1;
	test_read();
	test_rates();
	scratch_end();
	return check_done("load");
}
