#include "common/kernel/flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/kernel/flow_dump.h"
#include "tests/unit/cut.h"
#include "tests/unit/check.h"

/* What Linux 6.18 sent of four flows, with net.netfilter.nf_conntrack_acct=1. */
#define SYN_SENT_DNAT \
	"02000000340001801400018008000100c633640908000200cb0071051c0002800500010006000000060002" \
	"00c738000006000300005000003400028014000180080001000a00000508000200c63364091c0002800500" \
	"010006000000060002001f90000006000300c73800000800030000000008080008000000000008000c00f6" \
	"6ff8ad08000b0000000001080007000000002a300004802c00018005000100010000000500020000000000" \
	"0500030000000000060004000a000000060005000a0000001c0009800c00010000000000000000000c0002" \
	"0000000000000000001c000a800c00010000000000000000000c00020000000000000000001c0018800800" \
	"01000000000008000200000000000800030000000000"
#define UDP6_ZONE5 \
	"0a0000004c0001802c0001801400030020010db80000000000000000000000011400040020010db8000000" \
	"0000000000000000531c00028005000100110000000600020014e9000006000300003500004c0002802c00" \
	"01801400030020010db80000000000000000000000531400040020010db800000000000000000000000" \
	"11c000280050001001100000006000200003500000600030014e9000006001200000500000800030000000" \
	"008080008000000000008000c00a7f218a808000b0000000001080007000000000c1c0009800c000100000" \
	"00000000000000c00020000000000000000001c000a800c00010000000000000000000c0002000000000000" \
	"0000001c001880080001000000000008000200000000000800030000000000"
#define ESTABLISHED_SNAT \
	"02000000340001801400018008000100c0a8010a080002005db8d8221c0002800500010006000000060002" \
	"009c4000000600030001bb00003400028014000180080001005db8d82208000200cb0071051c0002800500" \
	"0100060000000600020001bb0000060003009c410000080003000000000e080008000000000708000c00fd" \
	"12453f08000b0000000001080007000000011a300004802c00018005000100030000000500020000000000" \
	"0500030000000000060004000a000000060005000a0000001c0009800c00010000000000000000000c0002" \
	"0000000000000000001c000a800c00010000000000000000000c00020000000000000000001c0018800800" \
	"01000000000008000200000000000800030000000000"
#define ECHO \
	"020000003c0001801400018008000100c000020108000200c0000202240002800500010001000000060004" \
	"00004d0000050005000800000005000600000000003c0002801400018008000100c000020208000200c000" \
	"0201240002800500010001000000060004" \
	"00004d0000050005000000000005000600000000000800030000000008080008000000000008000c009619" \
	"4b2608000b0000000001080007000000000c1c0009800c00010000000000000000000c0002000000000000" \
	"0000001c000a800c00010000000000000000000c00020000000000000000001c0018800800010000000000" \
	"08000200000000000800030000000000"

static struct text bytes_of(const char *hex)
{
	static unsigned char bytes[1024];
	size_t n = 0;

	for (; hex[0] && hex[1]; hex += 2, n++) {
		unsigned byte = 0;

		for (int i = 0; i < 2; i++)
			byte = byte * 16 + (unsigned)(hex[i] <= '9' ? hex[i] - '0' :
						      hex[i] - 'a' + 10);
		bytes[n] = (unsigned char)byte;
	}
	return (struct text){ (const char *)bytes, n };
}

static bool is_address(uint8_t family, const uint8_t address[16], const char *want)
{
	struct arena a = { 0 };
	bool is_same = !strcmp(flow_address_text(&a, family, address), want);

	arena_free(&a);
	return is_same;
}

static bool is_tuple(const struct flow *f, const struct flow_tuple *t, const char *src,
		     unsigned sport, const char *dst, unsigned dport)
{
	return is_address(f->family, t->src, src) && is_address(f->family, t->dst, dst) &&
		t->sport == sport && t->dport == dport;
}

static void test_messages(void)
{
	struct flow f;

	CHECK(flow_parse_message(bytes_of(ESTABLISHED_SNAT), &f) == 0);
	CHECK(f.family == AF_INET && f.protocol == IPPROTO_TCP && f.has_tcp_state);
	CHECK(flow_state(&f) == FLOW_ESTABLISHED && f.mark == 7 && f.zone == 0);
	CHECK(f.timeout_s == 282 && f.packets == 0 && f.bytes == 0 && f.has_id);
	CHECK(f.id == 0xfd12453f && (f.status & FLOW_ASSURED) && (f.status & FLOW_SEEN_REPLY));
	CHECK(is_tuple(&f, &f.original, "192.168.1.10", 40000, "93.184.216.34", 443));
	CHECK(is_tuple(&f, &f.reply, "93.184.216.34", 443, "203.0.113.5", 40001));

	CHECK(flow_parse_message(bytes_of(SYN_SENT_DNAT), &f) == 0);
	CHECK(flow_state(&f) == FLOW_SYN_SENT && !(f.status & FLOW_SEEN_REPLY));
	CHECK(is_tuple(&f, &f.reply, "10.0.0.5", 8080, "198.51.100.9", 51000));

	CHECK(flow_parse_message(bytes_of(UDP6_ZONE5), &f) == 0);
	CHECK(f.family == AF_INET6 && f.protocol == IPPROTO_UDP && f.zone == 5);
	CHECK(!f.has_tcp_state && flow_state(&f) == FLOW_IS_UNREPLIED);
	CHECK(is_tuple(&f, &f.original, "2001:db8::1", 5353, "2001:db8::53", 53));

	CHECK(flow_parse_message(bytes_of(ECHO), &f) == 0);
	CHECK(f.protocol == IPPROTO_ICMP && f.original.sport == 77 && f.original.dport == 8 << 8);
	CHECK(f.reply.dport == 0);
}

static void test_cut_messages(void)
{
	const struct text whole = bytes_of(ECHO);
	struct flow f = { .id = 4711 };
	/* an attribute may end just where the cut is: then less is known, never something else */
	EACH_CUT(n, whole)
		if (flow_parse_message(cut(whole, n), &f) == 0)
			CHECK(f.protocol == IPPROTO_ICMP && f.original.sport == 77 &&
			      (!f.has_id || f.id == 0x96194b26));
	f.id = 4711;
	CHECK(flow_parse_message(TEXT(""), &f) == -EINVAL && f.id == 4711);
	CHECK(flow_parse_message(TEXT("\2\0\0\0"), &f) == -EINVAL);
	/* lengths of 0, of less than a header, past the end; an address of three bytes */
	CHECK(flow_parse_message(TEXT("\2\0\0\0\0\0\1\0"), &f) == -EINVAL);
	CHECK(flow_parse_message(TEXT("\2\0\0\0\3\0\1\0"), &f) == -EINVAL);
	CHECK(flow_parse_message(TEXT("\2\0\0\0\377\377\1\200"), &f) == -EINVAL);
	CHECK(flow_parse_message(TEXT("\2\0\0\0\20\0\1\200\14\0\1\200\7\0\1\0abc\0"), &f) ==
	      -EINVAL);
	CHECK(f.id == 4711);
}

#define LINE_TCP \
	"ipv4     2 tcp      6 299 ESTABLISHED src=192.168.1.10 dst=93.184.216.34 sport=40000 " \
	"dport=443 packets=3 bytes=180 src=93.184.216.34 dst=203.0.113.5 sport=443 dport=40001 " \
	"packets=2 bytes=1200 [ASSURED] mark=7 zone=0 use=2"
#define LINE_UDP6 \
	"ipv6     10 udp      17 29 src=2001:0db8:0000:0000:0000:0000:0000:0001 " \
	"dst=2001:0db8:0000:0000:0000:0000:0000:0053 sport=5353 dport=53 [UNREPLIED] " \
	"src=2001:0db8:0000:0000:0000:0000:0000:0053 dst=2001:0db8:0000:0000:0000:0000:0000:0001 " \
	"sport=53 dport=5353 mark=0 zone=5 use=2"
#define LINE_ICMP \
	"ipv4     2 icmp     1 29 src=192.0.2.1 dst=192.0.2.2 type=8 code=0 id=77 [UNREPLIED] " \
	"src=192.0.2.2 dst=192.0.2.1 type=0 code=0 id=77 mark=0 use=2"
#define LINE_OFFLOAD \
	"ipv4     2 tcp      6 src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 src=10.0.0.2 " \
	"dst=10.0.0.1 sport=2 dport=1 [OFFLOAD] mark=0 zone=0 use=2"
/* ip_conntrack, up to 2.6.30 */
#define LINE_OLD \
	"tcp      6 431999 TIME_WAIT src=10.0.0.1 dst=10.0.0.2 sport=32768 dport=22 " \
	"src=10.0.0.2 dst=10.0.0.1 sport=22 dport=32768 [ASSURED] use=1"
#define LINE_OLD_UDP \
	"udp      17 27 src=10.0.0.1 dst=10.0.0.9 sport=5 dport=53 packets=1 bytes=60 " \
	"[UNREPLIED] src=10.0.0.9 dst=10.0.0.1 sport=53 dport=5 packets=0 bytes=0 mark=0 use=1"

static void test_lines(void)
{
	struct flow f;

	CHECK(flow_parse_line(TEXT(LINE_TCP), &f) == 0);
	CHECK(f.family == AF_INET && f.protocol == IPPROTO_TCP && f.timeout_s == 299);
	CHECK(flow_state(&f) == FLOW_ESTABLISHED && f.mark == 7 && f.packets == 5 &&
	      f.bytes == 1380);
	CHECK(f.status == (FLOW_SEEN_REPLY | FLOW_ASSURED | FLOW_SRC_NAT) && !f.has_id);
	CHECK(is_tuple(&f, &f.original, "192.168.1.10", 40000, "93.184.216.34", 443));
	CHECK(is_tuple(&f, &f.reply, "93.184.216.34", 443, "203.0.113.5", 40001));

	CHECK(flow_parse_line(TEXT(LINE_UDP6), &f) == 0);
	CHECK(f.family == AF_INET6 && f.zone == 5 && f.status == 0 && f.packets == NA_U64);
	CHECK(is_tuple(&f, &f.original, "2001:db8::1", 5353, "2001:db8::53", 53));

	CHECK(flow_parse_line(TEXT(LINE_ICMP), &f) == 0);
	CHECK(f.original.sport == 77 && f.original.dport == 8 << 8 && f.status == 0);

	CHECK(flow_parse_line(TEXT(LINE_OFFLOAD), &f) == 0);
	CHECK(f.timeout_s == NA_U64 && !f.has_tcp_state && (f.status & FLOW_OFFLOAD));
	CHECK(flow_state(&f) == FLOW_IS_ASSURED);

	CHECK(flow_parse_line(TEXT(LINE_OLD), &f) == 0);
	CHECK(f.family == AF_INET && flow_state(&f) == FLOW_TIME_WAIT && f.timeout_s == 431999);
	CHECK(flow_parse_line(TEXT(LINE_OLD_UDP), &f) == 0);
	CHECK(f.packets == 1 && f.bytes == 60 && flow_state(&f) == FLOW_IS_UNREPLIED);
}

static void test_bad_lines(void)
{
	static const char *const bad[] = {
		"", " ", "ipv4", "ipv4 2", "ipv4 7 tcp 6 1 src=1.2.3.4", "tcp", "tcp x",
		"tcp 256 1 src=10.0.0.1 dst=10.0.0.2 src=10.0.0.2 dst=10.0.0.1",
		"tcp 6 1 src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2",
		"tcp 6 1 src=10.0.0.256 dst=10.0.0.2 src=10.0.0.2 dst=10.0.0.1",
		"tcp 6 1 src=10.0.0.1 dst=10.0.0.2 sport=65536 src=10.0.0.2 dst=10.0.0.1",
		"tcp 6 1 src=2001::1 dst=10.0.0.2 src=10.0.0.2 dst=10.0.0.1",
		"udp 17 1 src=10.0.0.1 dst=10.0.0.2 packets=18446744073709551616 src=1.1.1.1",
	};
	struct flow f = { .id = 4711 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(flow_parse_line(text_of(bad[i]), &f) == -EINVAL);
	CHECK(f.id == 4711);
	EACH_CUT(n, TEXT(LINE_TCP))
		if (flow_parse_line(cut(TEXT(LINE_TCP), n), &f) == 0)
			CHECK(f.original.sport == 40000 && f.original.dport == 443);
}

static struct flow snat_flow(void)
{
	struct flow f;

	CHECK(flow_parse_line(TEXT(LINE_TCP), &f) == 0);
	return f;
}

static void test_filter(void)
{
	const struct flow f = snat_flow();
	struct flow_filter all = { 0 }, x;

	CHECK(flow_matches(&all, &f));
	x = all;
	CHECK(!flow_net_parse("-s", "192.168.1.10", &x.src) && flow_matches(&x, &f));
	CHECK(!flow_net_parse("-s", "192.168.1.11", &x.src) && !flow_matches(&x, &f));
	CHECK(!flow_net_parse("-s", "192.168.0.0/23", &x.src) && flow_matches(&x, &f));
	CHECK(!flow_net_parse("-s", "192.168.0.0/24", &x.src) && !flow_matches(&x, &f));
	CHECK(!flow_net_parse("-s", "0.0.0.0/0", &x.src) && flow_matches(&x, &f));
	CHECK(!flow_net_parse("-s", "::/0", &x.src) && !flow_matches(&x, &f));
	x = (struct flow_filter){ .has_state = true, .state = FLOW_ESTABLISHED };
	CHECK(flow_matches(&x, &f));
	x.state = FLOW_CLOSE;
	CHECK(!flow_matches(&x, &f));
	x = (struct flow_filter){ .has_mark = true, .mark = 3, .mark_mask = 3 };
	CHECK(flow_matches(&x, &f));
	x.mark_mask = 7;
	CHECK(!flow_matches(&x, &f));
	x = (struct flow_filter){ .status_mask = FLOW_SEEN_REPLY };
	CHECK(!flow_matches(&x, &f));
	x = (struct flow_filter){ .has_dport = true, .dport = 443, .has_protocol = true,
				  .protocol = IPPROTO_TCP, .has_zone = true };
	CHECK(flow_matches(&x, &f));
	x.zone = 1;
	CHECK(!flow_matches(&x, &f));
	CHECK(flow_net_parse("-s", "10.0.0.1/33", &x.src) == -EINVAL);
	CHECK_STR(fail_text(), "-s: '10.0.0.1/33' has no length of 0 to 32 bits");
	CHECK(flow_net_parse("-s", "example.org", &x.src) == -EINVAL);
	CHECK_STR(fail_text(), "-s: 'example.org' is not an address");
	CHECK(flow_net_parse("-d", "::1/", &x.src) == -EINVAL);
}

static void test_names(void)
{
	enum flow_state s;
	uint8_t protocol;

	CHECK(!flow_state_find("time_wait", &s) && s == FLOW_TIME_WAIT);
	CHECK(flow_state_find("TIME-WAIT", &s) == -EINVAL);
	CHECK(!flow_protocol_find("UDP", &protocol) && protocol == IPPROTO_UDP);
	CHECK(!flow_protocol_find("47", &protocol) && protocol == IPPROTO_GRE);
	CHECK(flow_protocol_find("256", &protocol) == -EINVAL);
	CHECK(flow_protocol_find("", &protocol) == -EINVAL);
}

/* What Linux 5.8 and later understand: tuple, then CTA_FILTER with the bits of what is in it. */
static void test_body(void)
{
	struct flow_filter x = { .has_protocol = true, .protocol = IPPROTO_TCP, .has_dport = true,
				 .dport = 443, .has_mark = true, .mark = 7, .mark_mask = 255 };
	struct buf b = { 0 };

	flow_dump_body(NULL, AF_UNSPEC, &b);
	CHECK(b.len == 4 && !memcmp(b.data, "\0\0\0\0", 4));
	CHECK(!flow_net_parse("-s", "192.168.1.10", &x.src));
	CHECK(!flow_net_parse("-d", "10.0.0.0/8", &x.dst));
	flow_dump_body(&x, AF_INET, &b);
	const struct text want = bytes_of(
		"02000000" "24000180" "0c000180" "08000100c0a8010a" "14000280" "0500010006000000"
		"0600030001bb0000" "14001980" "0800010029000000" "0800020000000000"
		"0800080000000007" "08001500000000ff");

	CHECK(b.len == want.len && !memcmp(b.data, want.data, want.len));
	/* nothing the kernel could look at: the prefix alone */
	x = (struct flow_filter){ .dst = x.dst };
	flow_dump_body(&x, AF_INET, &b);
	CHECK(b.len == 4 && b.data[0] == AF_INET);
	buf_free(&b);
}

static void test_repeated(void)
{
	static struct flow_recent recent;
	struct flow f = snat_flow(), g = f;

	f.id = 1;
	g.id = 2;
	CHECK(!flow_is_repeated(&recent, &f) && !flow_is_repeated(&recent, &g));
	CHECK(flow_is_repeated(&recent, &f) && flow_is_repeated(&recent, &g));
	g = f;
	/* the same id by chance, another flow */
	g.original.sport++;
	CHECK(!flow_is_repeated(&recent, &g));
	/* a whole bucket again, and more */
	for (uint32_t i = 0; i < 500; i++) {
		g.id = 100 + i;
		CHECK(!flow_is_repeated(&recent, &g));
	}
	for (uint32_t i = 0; i < 500; i++) {
		g.id = 100 + i;
		CHECK(flow_is_repeated(&recent, &g));
	}
}

int main(void)
{
	test_messages();
	test_cut_messages();
	test_lines();
	test_bad_lines();
	test_filter();
	test_names();
	test_body();
	test_repeated();
	return check_done("flow");
}
