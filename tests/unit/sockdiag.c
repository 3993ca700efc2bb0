/* Sockets: recorded messages of inet_diag and unix_diag, cut and hostile ones, proc/net instead. */
#include "common/kernel/sockdiag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/cut.h"
#include "tests/unit/host.h"
#include "tests/unit/sockdiag_recorded.h"

static struct arena arena;

static unsigned nibble(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct text bytes(const char *hex)
{
	const size_t len = strlen(hex) / 2;
	char *data = arena_alloc(&arena, len + 1);

	for (size_t i = 0; i < len; i++)
		data[i] = (char)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
	return (struct text){ data, len };
}

static struct sock parse(const char *hex)
{
	struct sock s = { 0 };

	CHECK(sockdiag_parse(bytes(hex), &s) == 0);
	return s;
}

static bool is_at(const struct sock *s, const char *local, const char *remote)
{
	return check_str(sock_end_text(&arena, s->family, &s->local), local, "local", __FILE__,
			 __LINE__) &&
		check_str(sock_end_text(&arena, s->family, &s->remote), remote, "remote", __FILE__,
			  __LINE__);
}

/* ---- messages ---- */

static void test_recorded(void)
{
	struct sock s = parse(RECORDED_LISTENER);

	CHECK(is_at(&s, "127.0.0.1:8080", "0.0.0.0:0") && s.state == SOCK_LISTEN);
	CHECK(s.receive_queue == 2 && s.send_queue == 1 && s.drops == 4 && s.uid == 0);
	CHECK(s.inode == 860791 && s.cookie == 0x58ab1 && s.interface == 0 && s.v6only == -1);
	CHECK(s.rcvbuf_bytes == 131072 && s.sndbuf_bytes == 16384 && s.rmem_bytes == 0 &&
	      s.wmem_bytes == 0 && s.cgroup_id == 1 && s.mark == 0 && s.shutdown == 0 &&
	      !s.is_subflow && s.info.len == 0);
	s = parse(RECORDED_V6ONLY);
	CHECK(is_at(&s, "[::1]:8082", "*:0") && s.v6only == 1 && s.send_queue == 7);
	s = parse(RECORDED_DUAL);
	CHECK(is_at(&s, "*:8081", "*:0") && s.v6only == 0);
	s = parse(RECORDED_SUBFLOW);
	CHECK(is_at(&s, "127.0.0.1:8083", "0.0.0.0:0") && s.is_subflow && s.drops == 0);
	s = parse(RECORDED_MARKED);
	CHECK(is_at(&s, "127.0.0.1:51052", "127.0.0.1:8081") && s.mark == 77 &&
	      s.state == SOCK_ESTABLISHED);
	s = parse(RECORDED_TIME_WAIT);
	CHECK(is_at(&s, "127.0.0.1:51060", "127.0.0.1:8081") && s.state == SOCK_TIME_WAIT);
	CHECK(s.timer == 3 && s.expires_ns > 59000000000 && s.expires_ns <= 60000000000 &&
	      s.drops == NA_U64 && s.rcvbuf_bytes == NA_U64 && s.cgroup_id == NA_U64 &&
	      s.inode == 0 && s.shutdown == -1);
	s = parse(RECORDED_MAPPED);
	CHECK(is_at(&s, "[::ffff:127.0.0.1]:8081", "[::ffff:127.0.0.1]:51052") &&
	      s.receive_queue == 5 && s.inode == 860801);
	s = parse(RECORDED_SYN_RECV);
	CHECK(is_at(&s, "[::ffff:127.0.0.1]:8081", "[::ffff:127.0.0.1]:51066") &&
	      s.state == SOCK_SYN_RECV && s.inode == 0 && s.drops == NA_U64);
	s = parse(RECORDED_UDP);
	CHECK(is_at(&s, "0.0.0.0:5353", "0.0.0.0:0") && s.state == SOCK_CLOSE && s.drops == 18 &&
	      s.receive_queue == 4608 && s.rcvbuf_bytes == 4608);
}

/* What a cut message still says is what the whole said. */
static bool agrees(const struct sock *part, const struct sock *s)
{
	return part->state == s->state && part->inode == s->inode &&
		part->receive_queue == s->receive_queue &&
		(part->drops == NA_U64 || part->drops == s->drops) &&
		(part->rcvbuf_bytes == NA_U64 || part->rcvbuf_bytes == s->rcvbuf_bytes) &&
		(part->mark == NA_U64 || part->mark == s->mark) &&
		(part->cgroup_id == NA_U64 || part->cgroup_id == s->cgroup_id) &&
		(part->shutdown == -1 || part->shutdown == s->shutdown);
}

static void test_cut(void)
{
	const struct text whole = bytes(RECORDED_LISTENER);
	const struct sock s = parse(RECORDED_LISTENER);

	EACH_CUT(n, whole) {
		struct sock part = { .state = 99 };
		const int err = sockdiag_parse(cut(whole, n), &part);

		CHECK(err == (n < 72 ? -EINVAL : 0));
		CHECK(err ? part.state == 99 : agrees(&part, &s));
	}
}

/* Attribute `type` with `hex` in it behind a bare message. */
static struct sock with_attribute(const char *type, const char *hex)
{
	char bare[145];

	memcpy(bare, RECORDED_LISTENER, 144);
	bare[144] = '\0';
	return parse(arena_printf(&arena, "%s%02zx00%s00%s", bare, 4 + strlen(hex) / 2, type, hex));
}

static void test_hostile(void)
{
	struct text t = bytes(RECORDED_LISTENER);
	char *data = (char *)(uintptr_t)t.data;
	struct sock s = { .state = 99 };

	CHECK(sockdiag_parse(TEXT(""), &s) == -EINVAL);
	data[0] = AF_UNIX;
	CHECK(sockdiag_parse(t, &s) == -EINVAL && s.state == 99);
	data[0] = AF_INET, data[1] = 0;
	CHECK(sockdiag_parse(t, &s) == -EINVAL);
	data[1] = SOCK_STATES;
	CHECK(sockdiag_parse(t, &s) == -EINVAL && s.state == 99);
	/* too short, too long, of older and of newer kernels */
	CHECK(with_attribute("07", "").drops == NA_U64);
	s = with_attribute("07", "0100000002000000030000");
	CHECK(s.rmem_bytes == NA_U64 && s.drops == NA_U64);
	s = with_attribute("07", "01000000020000000300000004000000");
	CHECK(s.rmem_bytes == 1 && s.rcvbuf_bytes == 2 && s.wmem_bytes == 3 &&
	      s.sndbuf_bytes == 4 && s.drops == NA_U64);
	s = with_attribute("07", "0100000002000000030000000400000005000000060000000700000008000000"
			   "090000000a0000000b000000");
	CHECK(s.drops == 9);
	CHECK(with_attribute("08", "04").shutdown == -1 && with_attribute("08", "").shutdown == -1);
	CHECK(with_attribute("0b", "ff").v6only == -1 && with_attribute("0f", "01").mark == NA_U64);
	CHECK(with_attribute("15", "0100").cgroup_id == NA_U64);
	CHECK(!with_attribute("13", "0a0001006d707463").is_subflow);
	CHECK(with_attribute("02", "616263").info.len == 3);
}

static void test_unix(void)
{
	char name[SOCKDIAG_NAME];
	struct unix_sock s;
	const struct text whole = bytes(RECORDED_UNIX_ABSTRACT);

	CHECK(!sockdiag_parse_unix(bytes(RECORDED_UNIX_PATH), &s, name));
	CHECK_STR(s.name, "/tmp/nl_sock");
	CHECK(s.type == SOCK_SEQPACKET && s.state == SOCK_LISTEN && s.inode == 860823 &&
	      s.receive_queue == 0 && s.send_queue == 0 && s.uid == 0);
	CHECK(!sockdiag_parse_unix(whole, &s, name) && s.send_queue == 4 && s.type == SOCK_STREAM);
	CHECK_STR(s.name, "@ab@c");
	EACH_CUT(n, whole) {
		const int err = sockdiag_parse_unix(cut(whole, n), &s, name);

		CHECK(err == (n < 16 ? -EINVAL : 0));
		CHECK(err || ((s.send_queue == 4 || s.send_queue == NA_U64) &&
			      (!s.name || !strcmp(s.name, "@ab@c"))));
	}
	CHECK(sockdiag_parse_unix(bytes(RECORDED_UDP), &s, name) == -EINVAL);
	/* a name of 120 bytes, and an empty one */
	struct buf b = { 0 };

	buf_add(&b, whole.data, 16);
	buf_add(&b, "\x7c\0\0", 4);
	for (int i = 0; i < 120; i++)
		buf_add_char(&b, 'n');
	CHECK(!sockdiag_parse_unix(buf_text(&b), &s, name) &&
	      strlen(s.name) == SOCKDIAG_NAME - 1);
	buf_reset(&b);
	buf_add(&b, whole.data, 16);
	buf_add(&b, "\4\0\0", 4);
	CHECK(!sockdiag_parse_unix(buf_text(&b), &s, name) && !s.name && s.uid == NA_U64);
	buf_free(&b);
}

/* ---- files ---- */

static struct sock seen[8];
static struct unix_sock seen_unix[8];
static size_t seen_count;

static void take(const struct sock *s, void *arg)
{
	(void)arg;
	if (seen_count < 8)
		seen[seen_count] = *s;
	seen_count++;
}

static void take_unix(const struct unix_sock *s, void *arg)
{
	(void)arg;
	if (seen_count < 8) {
		seen_unix[seen_count] = *s;
		seen_unix[seen_count].name = arena_strdup(&arena, s->name);
	}
	seen_count++;
}

static struct sockdiag_result read_file(struct text t, unsigned states, uint8_t protocol,
					uint8_t family)
{
	const struct sockdiag_query q = { .protocol = protocol, .states = states };
	struct sockdiag_result r = { 0 };

	seen_count = 0;
	sockdiag_parse_file(t, &q, family, take, NULL, &r);
	CHECK(r.seen == seen_count);
	return r;
}

static void test_files(void)
{
	struct sockdiag_result r = read_file(TEXT(RECORDED_TCP), ~0u, IPPROTO_TCP, AF_INET);

	CHECK(r.seen == 3 && !r.is_partial);
	CHECK(is_at(&seen[0], "127.0.0.1:8080", "0.0.0.0:0") && seen[0].state == SOCK_LISTEN);
	CHECK(seen[0].receive_queue == 2 && seen[0].send_queue == NA_U64 &&
	      seen[0].drops == NA_U64 && seen[0].cookie == NA_U64 && seen[0].inode == 860791);
	CHECK(seen[1].state == SOCK_TIME_WAIT && seen[1].timer == 3 &&
	      seen[1].expires_ns == 59870000000);
	CHECK(seen[2].send_queue == 1 && seen[2].uid == 1000 && seen[2].retransmits == 1);
	r = read_file(TEXT(RECORDED_TCP), SOCK_BIT(SOCK_TIME_WAIT), IPPROTO_TCP, AF_INET);
	CHECK(r.seen == 1 && seen[0].local.port == 51060);
	r = read_file(TEXT(RECORDED_TCP6), ~0u, IPPROTO_TCP, AF_INET6);
	CHECK(r.seen == 2 && is_at(&seen[0], "[::1]:8082", "*:0"));
	CHECK(is_at(&seen[1], "[::ffff:127.0.0.1]:8081", "[::ffff:127.0.0.1]:51066"));
	r = read_file(TEXT(RECORDED_UDP_FILE), ~0u, IPPROTO_UDP, AF_INET);
	CHECK(r.seen == 1 && seen[0].drops == 18 && seen[0].receive_queue == 4608 &&
	      seen[0].send_queue == 0);
	const struct text whole = TEXT(RECORDED_TCP);

	EACH_CUT(n, whole) {
		r = read_file(cut(whole, n), ~0u, IPPROTO_TCP, AF_INET);
		CHECK(seen_count <= 3 && (n == whole.len) == (seen_count == 3));
		CHECK(r.is_partial == (n && whole.data[n - 1] != '\n'));
		CHECK(!seen_count || seen[0].inode == 860791);
	}
}

static void test_hostile_files(void)
{
	static const struct text bad[] = {
		TEXT("\n\n"), TEXT("h\n 0: 0100007F:1F90\n"),
		TEXT("h\n 0: 0100007F:1F90 00000000:0000 0F 0:0 0:0 0 0 0 1\n"),
		TEXT("h\n 0: 0100007F:1F90 00000000:0000 00 0:0 0:0 0 0 0 1\n"),
		TEXT("h\n 0: 0100007F:11F90 00000000:0000 0A 0:0 0:0 0 0 0 1\n"),
		TEXT("h\n 0: 010000xF:1F90 00000000:0000 0A 0:0 0:0 0 0 0 1\n"),
		TEXT("h\n 0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 99999999999 0 1\n"),
		TEXT("h\n 0: 00000000000000000000000001000000:1F92 00000000:0000 0A 0:0 0:0 0 0 0 "
		     "1\n"),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const struct sockdiag_result r = read_file(bad[i], ~0u, IPPROTO_TCP, AF_INET);

		CHECK(r.seen == 0 && r.is_partial);
	}
	CHECK(read_file(TEXT("h\n 0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 1\n"), ~0u,
			IPPROTO_TCP, AF_INET).seen == 1);
}

static void test_unix_file(void)
{
	struct sockdiag_result r = { 0 };

	seen_count = 0;
	sockdiag_parse_unix_file(TEXT(RECORDED_UNIX_FILE "cut"), ~0u, take_unix, NULL, &r);
	CHECK(r.seen == 3 && r.is_partial && seen_unix[0].type == SOCK_SEQPACKET &&
	      seen_unix[0].state == SOCK_LISTEN && seen_unix[0].receive_queue == NA_U64);
	CHECK_STR(seen_unix[0].name, "/tmp/nl_sock");
	CHECK_STR(seen_unix[1].name, "@ab@c");
	CHECK(!seen_unix[2].name && seen_unix[2].state == SOCK_ESTABLISHED &&
	      seen_unix[2].inode == 1158);
	r = (struct sockdiag_result){ 0 };
	seen_count = 0;
	sockdiag_parse_unix_file(TEXT(RECORDED_UNIX_FILE "a path of\ntwo lines\n"),
				 SOCK_BIT(SOCK_LISTEN), take_unix, NULL, &r);
	CHECK(r.seen == 2 && r.is_partial);
}

/* ---- which way ---- */

static const struct sockdiag_query all = { .protocol = IPPROTO_TCP, .is_mptcp = true, .ipv4 = true,
	.ipv6 = true, .states = ~0u, .memory = true };

static int look(struct sockdiag_result *r)
{
	seen_count = 0;
	*r = (struct sockdiag_result){ .seen = 77 };
	return sockdiag_each(&all, take, NULL, r);
}

static void add_piece(struct buf *b, uint16_t type, struct text body)
{
	const struct nlmsghdr h = { .nlmsg_len = (uint32_t)(sizeof(h) + body.len),
		.nlmsg_type = type };

	buf_add(b, &h.nlmsg_len, sizeof(h.nlmsg_len));
	buf_add(b, &h, sizeof(h));
	buf_add(b, body.data, body.len);
}

static void test_replayed(void)
{
	struct sockdiag_result r;
	struct buf b = { 0 };

	add_piece(&b, 20, bytes(RECORDED_LISTENER));
	add_piece(&b, 20, bytes(RECORDED_V6ONLY));
	add_piece(&b, 20, TEXT("\0\0\0\0"));
	add_piece(&b, NLMSG_DONE, TEXT("\0\0\0\0"));
	host_add("a/manifest", "clock\t1\t1\n"
		 "call\tinet_diag tcp ipv4 ipv6 states 0x3ffe memory\tEINVAL\n"
		 "call\tinet_diag tcp ipv4 states 0x3ffe memory\t0\n"
		 "call\tinet_diag tcp ipv6 states 0x3ffe memory\tEPERM\n");
	make("a/calls");
	put("a/calls/1", b.data, b.len);
	/* the walk for both refused, then one family of two */
	open_root("a");
	CHECK(look(&r) == -EPERM && seen_count == 2 && r.seen == 77);
	close_all();
	put("a/calls/0", b.data, b.len);
	put_text("a/manifest", "clock\t1\t1\n"
		 "call\tinet_diag tcp ipv4 ipv6 states 0x3ffe memory\t0\n");
	open_root("a");
	CHECK(!look(&r) && r.seen == 2 && seen_count == 2 && !r.lacks);
	/* a message that makes no sense is not passed over in silence */
	CHECK(r.is_partial && seen[0].drops == 4 && seen[0].protocol == IPPROTO_TCP);
	close_all();
	buf_free(&b);
}

static void test_instead(void)
{
	struct sockdiag_result r;

	/* nothing at all */
	host_add("none/proc/stat", "");
	open_root("none");
	CHECK(look(&r) == -ENOENT && r.seen == 77);
	close_all();
	/* refused, without IPv6 */
	host_add("p/manifest", "clock\t1\t1\n"
		 "call\tinet_diag tcp ipv4 ipv6 states 0x3ffe memory\tEPERM\n"
		 "call\tinet_diag tcp ipv4 states 0x3ffe memory\tEPERM\n");
	host_add("p/proc/net/tcp", RECORDED_TCP);
	open_root("p");
	CHECK(!look(&r) && r.seen == 3 && !r.is_partial && seen[0].send_queue == NA_U64);
	CHECK_STR(r.lacks, "no queue limits, drops per socket: inet_diag tcp ipv4 states 0x3ffe "
		  "memory: Operation not permitted");
	close_all();
	/* not loaded, and not asked though the answer stands there */
	host_add("p/proc/net/tcp6", RECORDED_TCP6);
	host_add("p/proc/net/protocols", "protocol size sockets\nMPTCPv6 2064 0\nMPTCP 1936 1\n");
	host_add("p/proc/modules", "");
	host_add("p/proc/sys/kernel/modprobe", "/sbin/modprobe\n");
	open_root("p");
	CHECK(!look(&r) && r.seen == 5);
	CHECK(r.lacks && strstr(r.lacks, "tcp_diag is not loaded and not asked") &&
	      strstr(r.lacks, "; no MPTCP sockets: mptcp_diag is not loaded"));
	close_all();
	put_text("p/proc/net/protocols", "protocol size sockets\nMPTCPv6 2064 0\nMPTCP 1936 0\n");
	open_root("p");
	CHECK(!look(&r) && r.lacks && !strstr(r.lacks, "MPTCP"));
	close_all();
	host_add("p/proc/net/unix", RECORDED_UNIX_FILE);
	open_root("p");
	seen_count = 0;
	CHECK(!sockdiag_each_unix(SOCK_BIT(SOCK_LISTEN), take_unix, NULL, &r) && r.seen == 2);
	CHECK(r.lacks && strstr(r.lacks, "unix_diag is not loaded"));
	close_all();
}

static void test_names(void)
{
	CHECK_STR(sock_state_name(SOCK_ESTABLISHED), "ESTAB");
	CHECK_STR(sock_state_name(SOCK_CLOSE_WAIT), "CLOSE-WAIT");
	CHECK_STR(sock_state_name(SOCK_STATES), "UNKNOWN");
	CHECK_STR(sock_state_name(0), "UNKNOWN");
}

/* ---- live ---- */

static int listen_at(int family, uint16_t *port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { .any.sa_family = (sa_family_t)family };
	socklen_t len = family == AF_INET ? sizeof(a.v4) : sizeof(a.v6);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (family == AF_INET)
		a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		a.v6.sin6_addr = in6addr_loopback;
	if (fd < 0 || bind(fd, &a.any, len) || listen(fd, 3) || getsockname(fd, &a.any, &len))
		return -1;
	*port = ntohs(family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	return fd;
}

static void look_live(uint8_t family, uint16_t port)
{
	struct sockdiag_query q = { .protocol = IPPROTO_TCP, .ipv4 = family == AF_INET,
		.ipv6 = family == AF_INET6, .states = SOCK_BIT(SOCK_LISTEN), .memory = true,
		.local_port = port };
	struct sockdiag_result r;

	for (int both = 0; both < 2; both++) {
		seen_count = 0;
		CHECK(!sockdiag_each(&q, take, NULL, &r) && seen_count == 1 && !r.is_partial);
		CHECK(seen[0].local.port == port && seen[0].state == SOCK_LISTEN &&
		      seen[0].family == family && seen[0].receive_queue == 0);
		CHECK(r.lacks || (seen[0].send_queue == 3 && seen[0].drops == 0));
		q.ipv4 = q.ipv6 = true;
	}
}

static void test_live(void)
{
	uint16_t port, port6;
	const struct sockaddr_un name = { AF_UNIX, "\0perfbox\0unit" };
	int fd = listen_at(AF_INET, &port), fd6 = listen_at(AF_INET6, &port6);
	int fdu = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockdiag_result r;
	size_t found = 0;

	if (fd < 0 || fdu < 0) {
		check_skip("live", "no socket can listen here");
		return;
	}
	CHECK(!bind(fdu, (const struct sockaddr *)&name, sizeof(sa_family_t) + 13));
	CHECK(!listen(fdu, 5));
	CHECK(!src_open_live() && !src_save(at("run"), 0) && src_frame_begin() == 1);
	for (int turn = 0; turn < 2; turn++) {
		look_live(AF_INET, port);
		if (fd6 >= 0)
			look_live(AF_INET6, port6);
		seen_count = 0;
		CHECK(!sockdiag_each_unix(SOCK_BIT(SOCK_LISTEN), take_unix, NULL, &r));
		for (size_t i = 0; i < seen_count && i < 8; i++)
			found += seen_unix[i].name && !strcmp(seen_unix[i].name, "@perfbox@unit") &&
				(r.lacks || seen_unix[i].send_queue == 5);
		CHECK(found == (size_t)turn + 1 || seen_count > 8);
		close_all();
		if (!turn)
			open_root("run");
	}
	close(fd), close(fd6), close(fdu);
}

int main(void)
{
	if (!scratch_begin("perfbox-sockdiag"))
		return 1;
	test_recorded(), test_cut(), test_hostile(), test_unix();
	test_files(), test_hostile_files(), test_unix_file();
	test_names(), test_replayed(), test_instead(), test_live();
	scratch_end();
	arena_free(&arena);
	return check_done("sockdiag");
}
