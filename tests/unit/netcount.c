#include "common/kernel/netcount.h"

#include <errno.h>

#include "common/base/fail.h"
#include "tests/unit/check.h"
#include "tests/unit/cut.h"

static struct arena arena;

static const struct text snmp = TEXT(
	"Ip: Forwarding DefaultTTL InReceives\nIp: 2 64 1091\n"
	"IcmpMsg: InType3\nIcmpMsg: 1\n"
	"Tcp: RtoAlgorithm MaxConn ActiveOpens PassiveOpens RetransSegs\nTcp: 1 -1 13 2 77\n"
	"UdpLite: InDatagrams\nUdpLite: 5\n"
	"TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 12 13\n"
	"IpExt: InNoRoutes\nIpExt: 9\n");

static void test_find(void)
{
	CHECK(netcount_find(snmp, "Tcp", "PassiveOpens") == 2);
	CHECK(netcount_find(snmp, "Tcp", "RetransSegs") == 77);
	CHECK(netcount_find(snmp, "TcpExt", "ListenOverflows") == 12);
	CHECK(netcount_find(snmp, "Ip", "Forwarding") == 2);
	CHECK(netcount_find(snmp, "IpExt", "InNoRoutes") == 9);
	CHECK(netcount_find(snmp, "Tcp", "MaxConn") == NA_U64);
	CHECK(netcount_find(snmp, "Tcp", "ListenOverflows") == NA_U64);
	CHECK(netcount_find(snmp, "Tcp", "Passive") == NA_U64);
	CHECK(netcount_find(snmp, "Udp", "InDatagrams") == NA_U64);
	CHECK(netcount_find(snmp, "T", "PassiveOpens") == NA_U64);
	CHECK(netcount_find(TEXT(""), "Tcp", "PassiveOpens") == NA_U64);
	EACH_CUT(n, snmp) {
		const uint64_t found = netcount_find(cut(snmp, n), "TcpExt", "ListenDrops");

		CHECK(found == NA_U64 || found == 13);
	}
	/* fewer values than names, names without values, a value that is none */
	CHECK(netcount_find(TEXT("Tcp: A B C\nTcp: 1 2\n"), "Tcp", "C") == NA_U64);
	CHECK(netcount_find(TEXT("Tcp: A B C\nTcp: 1 2\n"), "Tcp", "B") == 2);
	CHECK(netcount_find(TEXT("Tcp: A\nUdp: 1\n"), "Tcp", "A") == NA_U64);
	CHECK(netcount_find(TEXT("Tcp: A B\nTcp: 1x 2\n"), "Tcp", "A") == NA_U64);
	CHECK(netcount_find(TEXT("Tcp: A B\nTcp: 1 99999999999999999999\n"), "Tcp", "B") == NA_U64);
	CHECK(netcount_find(TEXT("Tcp: A\n"), "Tcp", "A") == NA_U64);
}

static void test_find_line(void)
{
	const struct text snmp6 = TEXT("Ip6InReceives              \t1\nUdp6RcvbufErrors \t33\n");

	CHECK(netcount_find(snmp6, NULL, "Ip6InReceives") == 1);
	CHECK(netcount_find(snmp6, NULL, "Udp6RcvbufErrors") == 33);
	CHECK(netcount_find(snmp6, NULL, "Udp6") == NA_U64);
	EACH_CUT(n, snmp6) {
		const uint64_t found = netcount_find(cut(snmp6, n), NULL, "Udp6RcvbufErrors");

		CHECK(found == NA_U64 || found == 33);
	}
}

static const struct text dev = TEXT(
	"Inter-|   Receive                                                |  Transmit\n"
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
	"drop fifo colls carrier compressed\n"
	"    lo:    3267      29    0    0    0     0          0         0     3267      29    0 "
	"   0    0     0       0          0\n"
	"  eth0: 28727059    1064    1    2    3     0          0         0    59464     795    4 "
	"   5    6     0       0          0\n"
	"veth\x1b[m:1 2 3\n");

static void test_devices(void)
{
	struct net_device *d, *part;
	size_t count, parts;

	CHECK(netcount_parse_devices(&arena, dev, &d, &count) == 0 && count == 3);
	CHECK_STR(d[1].name, "eth0");
	CHECK(d[1].rx_bytes == 28727059 && d[1].rx_packets == 1064 && d[1].rx_errors == 1);
	CHECK(d[1].rx_dropped == 2 && d[1].rx_fifo == 3 && d[1].tx_bytes == 59464);
	CHECK(d[1].tx_packets == 795 && d[1].tx_errors == 4 && d[1].tx_dropped == 5);
	CHECK(d[1].tx_fifo == 6);
	CHECK_STR(d[2].name, "veth\x1b[m");
	CHECK(d[2].rx_bytes == 1 && d[2].rx_errors == 3 && d[2].rx_dropped == NA_U64);
	CHECK(d[2].tx_bytes == NA_U64);
	EACH_CUT(n, dev) {
		if (netcount_parse_devices(&arena, cut(dev, n), &part, &parts) != 0)
			continue;
		for (size_t i = 0; i < parts; i++)
			CHECK(!strcmp(part[i].name, d[i].name) && part[i].tx_fifo == d[i].tx_fifo);
	}
	CHECK(netcount_parse_devices(&arena, TEXT("a | b\n"), &d, &count) == 0 && count == 0);
	CHECK(netcount_parse_devices(&arena, TEXT(""), &d, &count) == -EINVAL);
	CHECK(netcount_parse_devices(&arena, TEXT("eth0: 1 2\n"), &d, &count) == -EINVAL);
	CHECK(!netcount_parse_devices(&arena, TEXT("|\n\0x:5\n:\n  :5\n a:b:5 x\n"), &d, &count));
	CHECK(count == 1 && d[0].rx_bytes == 5 && d[0].rx_packets == NA_U64);
	CHECK_STR(d[0].name, "a:b");
}

int main(void)
{
	test_find();
	test_find_line();
	test_devices();
	arena_free(&arena);
	return check_done("netcount");
}
