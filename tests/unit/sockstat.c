#include "common/kernel/sockstat.h"

#include <errno.h>

#include "common/kernel/ports.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

#define V4 "sockets: used 1017\n" \
	"TCP: inuse 41 orphan 2 tw 612 alloc 52 mem 227\n" \
	"UDP: inuse 3 mem 9\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n"
#define V6 "TCP6: inuse 7\nUDP6: inuse 1\nUDPLITE6: inuse 0\nRAW6: inuse 1\n" \
	"FRAG6: inuse 0 memory 0\n"

static bool is_part(uint64_t part, uint64_t whole)
{
	return part == NA_U64 || part == whole;
}

static void test_recorded(void)
{
	const struct text v4 = TEXT(V4), v6 = TEXT(V6);
	struct sockstat s, part;

	CHECK(sockstat_parse(v4, &s) == 0);
	CHECK(s.used == 1017 && s.tcp == 41 && s.tcp_orphans_host == 2 && s.tcp_time_wait == 612);
	CHECK(s.tcp_allocated_host == 52 && s.tcp_memory_pages_host == 227);
	CHECK(s.udp == 3 && s.udp_memory_pages_host == 9);
	CHECK(s.tcp6 == NA_U64 && s.udp6 == NA_U64);
	CHECK(sockstat_parse_v6(v6, &s) == 0 && s.tcp6 == 7 && s.udp6 == 1 && s.tcp == 41);
	EACH_CUT(n, v4)
		if (sockstat_parse(cut(v4, n), &part) == 0)
			CHECK(is_part(part.used, 1017) && is_part(part.tcp, 41) &&
			      is_part(part.tcp_time_wait, 612) && is_part(part.udp, 3) &&
			      is_part(part.tcp_memory_pages_host, 227));
	EACH_CUT(n, v6)
		if (sockstat_parse_v6(cut(v6, n), &part) == 0)
			CHECK(is_part(part.tcp6, 7) && is_part(part.udp6, 1));
}

static void test_hostile(void)
{
	struct sockstat s = { .used = 5, .tcp6 = 6 };

	CHECK(sockstat_parse(TEXT(""), &s) == -EINVAL && s.used == 5);
	CHECK(sockstat_parse_v6(TEXT("TCP: inuse 1\n"), &s) == -EINVAL && s.tcp6 == 6);
	CHECK(sockstat_parse(TEXT("TCP: inuse -1\nUDP: inuse x\nsockets: used\n"), &s) == -EINVAL);
	CHECK(sockstat_parse(TEXT("TCP: tw inuse 9 inuse 4\n"), &s) == -EINVAL);
	CHECK(sockstat_parse(TEXT("TCP: new 9 inuse 4\n"), &s) == 0 && s.tcp == 4);
	CHECK(s.tcp_time_wait == NA_U64);
}

static void test_files(void)
{
	struct sockstat s = { .used = 5 };

	host_add("h/proc/net/sockstat", V4);
	open_root("h");
	CHECK(sockstat_read(&s) == 0 && s.tcp == 41 && s.tcp6 == 0 && s.udp6 == 0);
	close_all();
	host_add("h/proc/net/sockstat6", V6);
	open_root("h");
	CHECK(sockstat_read(&s) == 0 && s.tcp == 41 && s.tcp6 == 7);
	close_all();
	host_add("h/proc/net/sockstat6", "garbled\n");
	open_root("h");
	CHECK(sockstat_read(&s) == -EINVAL && s.tcp == 41 && s.tcp6 == NA_U64);
	close_all();
}

static void test_ports(void)
{
	const struct text list = TEXT("8080,32768-32770,60999-61010\n");
	const struct text range = TEXT("32768\t60999\n");
	struct ports p = { .count = 9 };

	CHECK(ports_parse_range(TEXT("60999\t32768\n"), &p) == -EINVAL);
	CHECK(ports_parse_range(TEXT("1\t65536\n"), &p) == -EINVAL);
	CHECK(ports_parse_range(TEXT("1\n"), &p) == -EINVAL && p.count == 9);
	EACH_CUT(n, range)
		CHECK((ports_parse_range(cut(range, n), &p) == 0) == (n == range.len));
	CHECK(p.low == 32768 && p.high == 60999 && p.count == 28232 && p.reserved == 0);
	EACH_CUT(n, list)
		CHECK((ports_parse_reserved(cut(list, n), &p) == 0) == (n == list.len));
	CHECK(p.reserved == 4 && p.count == 28228);
	CHECK(ports_parse_reserved(TEXT("40000,40000\n"), &p) == -EINVAL);
	CHECK(ports_parse_reserved(TEXT("2,1\n"), &p) == -EINVAL);
	CHECK(ports_parse_reserved(TEXT("3-2\n"), &p) == -EINVAL);
	CHECK(ports_parse_reserved(TEXT("1,\n"), &p) == -EINVAL);
	CHECK(ports_parse_reserved(TEXT("1 2\n"), &p) == -EINVAL && p.reserved == 4);
	CHECK(ports_parse_reserved(TEXT("0-65535\n"), &p) == 0 && p.count == 0);
	CHECK(ports_parse_reserved(TEXT("\n"), &p) == 0 && p.reserved == 0 && p.count == 28232);
	CHECK(ports_parse_reserved(TEXT("65536\n"), &p) == -EINVAL);
	CHECK(ports_parse_reserved(TEXT("x\n"), &p) == -EINVAL);
	CHECK(ports_parse_range(TEXT("0\t65535\n"), &p) == 0 && p.count == 65536);
	host_add("p/proc/sys/net/ipv4/ip_local_port_range", "1024\t1033\n");
	open_root("p");
	CHECK(ports_read(&p) == 0 && p.count == 10);
	close_all();
	host_add("p/proc/sys/net/ipv4/ip_local_reserved_ports", "1030-2000\n");
	open_root("p");
	CHECK(ports_read(&p) == 0 && p.count == 6 && p.reserved == 4);
	close_all();
}

static void test_port_set(void)
{
	const struct text list = TEXT("0,63-64,40000-40199,65535\n");
	struct port_set s, other = { { 0 } };

	CHECK(ports_parse_set(list, &s) == 0 && port_set_count(&s, 0, 65535) == 204);
	CHECK(port_set_has(&s, 0) && port_set_has(&s, 63) && port_set_has(&s, 64));
	CHECK(port_set_has(&s, 65535) && !port_set_has(&s, 65) && !port_set_has(&s, 40200));
	CHECK(port_set_count(&s, 0, 0) == 1 && port_set_count(&s, 1, 62) == 0);
	CHECK(port_set_count(&s, 63, 63) == 1 && port_set_count(&s, 64, 127) == 1);
	CHECK(port_set_count(&s, 40001, 40100) == 100 && port_set_count(&s, 40190, 65535) == 11);
	EACH_CUT(n, list)
		CHECK((ports_parse_set(cut(list, n), &s) == 0) == (n == list.len));
	CHECK(ports_parse_set(TEXT("\n"), &s) == 0 && port_set_count(&s, 0, 65535) == 0);
	CHECK(ports_parse_set(TEXT("2-1\n"), &s) == -EINVAL);
	CHECK(ports_parse_set(TEXT("65536\n"), &s) == -EINVAL);
	CHECK(ports_parse_set(TEXT("5,5\n"), &s) == -EINVAL);
	CHECK(ports_parse_set(TEXT("10-20\n"), &s) == 0);
	port_set_add(&other, 20);
	port_set_add(&other, 21);
	port_set_join(&s, &other);
	CHECK(port_set_count(&s, 0, 65535) == 12 && port_set_has(&s, 21));
	port_set_take(&s, &other);
	CHECK(port_set_count(&s, 0, 65535) == 10 && !port_set_has(&s, 20));
	open_root("h");
	CHECK(ports_read_reserved(&s) == 0 && port_set_count(&s, 0, 65535) == 0);
	close_all();
	open_root("p");
	CHECK(ports_read_reserved(&s) == 0 && port_set_count(&s, 0, 65535) == 971);
	close_all();
	host_add("p/proc/sys/net/ipv4/ip_local_reserved_ports", "1030-\n");
	open_root("p");
	CHECK(ports_read_reserved(&s) == -EINVAL);
	close_all();
}

int main(void)
{
	if (!scratch_begin("sockstat"))
		return 1;
	test_recorded();
	test_hostile();
	test_files();
	test_ports();
	test_port_set();
	scratch_end();
	return check_done("sockstat");
}
