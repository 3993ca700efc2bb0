/* Netlink: what came is taken apart, however cut or wrong; asked again where it was disturbed. */
#include "common/kernel/netlink.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/kernel/module.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

#define ITEM 20                        /* a type of our own, as NLMSG_MIN_TYPE and up are */

/* ---- attributes ---- */

static void test_attributes(void)
{
	const uint32_t four = 0x01020304;
	const uint16_t two = 0x0506;
	struct buf b = { 0 };
	struct netlink_attr a;
	struct text t, data;

	netlink_add(&b, 1, &four, sizeof(four));
	size_t nest = netlink_add_nest(&b, 2);

	netlink_add(&b, 3, "name", 5);
	netlink_add(&b, 4, &two, sizeof(two));
	netlink_end_nest(&b, nest);
	netlink_add(&b, 1, "\7", 1);
	CHECK(b.len == 8 + 4 + 12 + 8 + 8 && b.len % 4 == 0);
	t = buf_text(&b);
	CHECK(netlink_next(&t, &a) && a.type == 1 && netlink_u32(a.data) == four);
	CHECK(netlink_next(&t, &a) && a.type == 2 && a.data.len == 20);
	data = a.data;
	CHECK(netlink_next(&t, &a) && a.type == 1 && netlink_u8(a.data) == 7);
	CHECK(!netlink_next(&t, &a) && t.len == 0);
	CHECK(netlink_next(&data, &a) && a.type == 3 && text_is(netlink_string(a.data), "name"));
	CHECK(netlink_next(&data, &a) && a.type == 4 && netlink_u16(a.data) == two);
	CHECK(!netlink_next(&data, &a));
	/* the last one counts */
	CHECK(netlink_find(buf_text(&b), 1, &data) && data.len == 1);
	CHECK(!netlink_find(buf_text(&b), 9, &data));
	EACH_CUT(n, buf_text(&b)) {
		unsigned count = 0;

		for (t = cut(buf_text(&b), n); netlink_next(&t, &a); count++)
			;
		/* the padding of the last may be missing */
		CHECK(count == (n < 8 ? 0u : n < 32 ? 1u : n < 37 ? 2u : 3u));
	}
	buf_free(&b);
}

static void test_numbers(void)
{
	CHECK(netlink_be16(TEXT("\1\2")) == 0x102 && netlink_be32(TEXT("\1\2\3\4")) == 0x1020304);
	CHECK(netlink_be64(TEXT("\1\2\3\4\5\6\7\x8")) == 0x102030405060708);
	CHECK(netlink_be16(TEXT("\1")) == NA_U64 && netlink_be32(TEXT("\1\2\3")) == NA_U64 &&
	      netlink_be64(TEXT("\1\2\3\4")) == NA_U64 && netlink_u8(TEXT("")) == NA_U64 &&
	      netlink_u16(TEXT("\1\2\3")) == NA_U64 && netlink_u32(TEXT("\1\2\3\4\5")) == NA_U64 &&
	      netlink_u64(TEXT("")) == NA_U64);
	CHECK(text_is(netlink_string(TEXT("ab\0c")), "ab") && text_is(netlink_string(TEXT("ab")),
								     "ab"));
	CHECK(netlink_behind(TEXT("12345678"), 3).len == 4 &&
	      netlink_behind(TEXT("1234"), 4).len == 0 && netlink_behind(TEXT(""), 8).len == 0);
}

static void test_hostile_attributes(void)
{
	static const struct text bad[] = {
		TEXT("\0\0\1\0"), TEXT("\3\0\1\0"), TEXT("\x9\0\1\0aaaa"), TEXT("\xff\xff\1\0aaaa"),
		TEXT("\4\0\1"), TEXT(""),
	};
	struct netlink_attr a;
	struct text data;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct text t = bad[i];

		CHECK(!netlink_next(&t, &a) && t.len == bad[i].len);
		CHECK(!netlink_find(bad[i], 1, &data));
	}
}

/* ---- messages ---- */

static void add_message(struct buf *b, uint16_t type, uint16_t flags, const void *body, size_t len)
{
	const struct nlmsghdr h = { .nlmsg_len = (uint32_t)(sizeof(h) + len), .nlmsg_type = type,
		.nlmsg_flags = NLM_F_MULTI | flags };

	buf_add(b, &h, sizeof(h));
	buf_add(b, body, len);
	while (b->len % 4)
		buf_add_char(b, '\0');
}

static void add_done(struct buf *b, uint16_t flags, int32_t err)
{
	add_message(b, NLMSG_DONE, flags, &err, sizeof(err));
}

/* As the kernel acknowledges: errno, our header, our request unless capped, attributes. */
static void add_error(struct buf *b, int err, bool is_capped, const char *words)
{
	const struct nlmsgerr e = { .error = err, .msg.nlmsg_len = sizeof(e.msg) + 6 };
	struct buf body = { 0 };

	buf_add(&body, &e, sizeof(e));
	if (!is_capped)
		buf_add(&body, "reques\0\0", 8);
	if (words)
		netlink_add(&body, NLMSGERR_ATTR_MSG, words, strlen(words) + 1);
	add_message(b, NLMSG_ERROR, (uint16_t)((is_capped ? NLM_F_CAPPED : 0) |
					       (words ? NLM_F_ACK_TLVS : 0)), body.data, body.len);
	buf_free(&body);
}

static struct buf items;               /* their bodies, one behind the other, "^" for a restart */

static void take_item(const struct netlink_message *m, void *arg)
{
	(void)arg;
	if (m->type != ITEM)
		buf_add_char(&items, '?');
	buf_add(&items, m->body.data, m->body.len);
}

static void take_restart(void *arg)
{
	(void)arg;
	buf_add_char(&items, '^');
}

static const struct netlink_reader whole = { take_item, take_restart, NULL };
static const struct netlink_reader plain = { take_item, NULL, NULL };
static const struct netlink_request request = { .key = "the table", .family = NETLINK_ROUTE,
	.type = RTM_GETLINK };

static struct netlink_exchange take(struct buf *b)
{
	struct netlink_exchange x = { .request = &request, .reader = &whole };

	buf_reset(&items);
	netlink_take(&x, buf_text(b));
	buf_reset(b);
	return x;
}

static void test_messages(void)
{
	struct netlink_exchange x;
	struct buf b = { 0 };

	add_message(&b, ITEM, 0, "one.", 4), add_message(&b, NLMSG_NOOP, 0, "", 0);
	add_message(&b, ITEM, 0, "two", 3), add_done(&b, 0, 0);
	const struct text all = { mem_alloc(b.len), b.len };

	memcpy((void *)(uintptr_t)all.data, b.data, b.len);
	x = take(&b);
	CHECK(text_is(buf_text(&items), "one.two") && x.is_done && !x.is_disturbed && !x.err);
	CHECK(x.result.messages == 2 && x.result.attempts == 1);
	EACH_CUT(n, all) {
		buf_add(&b, cut(all, n).data, n);
		x = take(&b);
		const bool ends_well = !n || n == 20 || n == 36 || n == 55 || n == 56;

		/* 56: the padding of the last may be missing */
		CHECK(x.is_done == !ends_well);
		CHECK(x.is_disturbed == (n < all.len && x.is_done));
	}
	free((void *)(uintptr_t)all.data);
	add_message(&b, ITEM, NLM_F_DUMP_INTR, "x", 1), add_done(&b, 0, 0);
	x = take(&b);
	CHECK(x.is_done && x.is_disturbed && !x.err);
	add_done(&b, NLM_F_DUMP_INTR, 0);
	x = take(&b);
	CHECK(x.is_done && x.is_disturbed);
	add_message(&b, NLMSG_OVERRUN, 0, "", 0), add_message(&b, ITEM, 0, "behind", 6);
	x = take(&b);
	CHECK(x.is_done && x.is_disturbed && items.len == 0);
	/* NLMSG_DONE of old kernels has no errno */
	add_message(&b, NLMSG_DONE, 0, "", 0);
	x = take(&b);
	CHECK(x.is_done && !x.is_disturbed && !x.err);
	buf_free(&b);
}

static void test_errors(void)
{
	struct netlink_exchange x;
	struct buf b = { 0 };

	for (int is_capped = 0; is_capped < 2; is_capped++) {
		add_error(&b, -EPERM, is_capped, "not for you");
		x = take(&b);
		CHECK(x.is_done && x.err == -EPERM);
		add_error(&b, -EBUSY, is_capped, NULL);
		x = take(&b);
		CHECK(x.err == -EBUSY && x.words.len == 0);
		add_error(&b, 0, is_capped, "a warning");
		x = take(&b);
		CHECK(x.is_done && !x.err && !x.is_disturbed);
	}
	add_done(&b, 0, -ENOMEM);
	x = take(&b);
	CHECK(x.is_done && x.err == -ENOMEM);
	add_error(&b, INT32_MIN, true, NULL);
	x = take(&b);
	CHECK(x.is_done && x.err == -EPROTO);
	add_message(&b, NLMSG_ERROR, 0, "abc", 3);
	x = take(&b);
	CHECK(x.is_done && x.is_disturbed && !x.err);
	buf_free(&b);
}

static void test_hostile_messages(void)
{
	static const struct nlmsghdr bad[] = {
		{ .nlmsg_len = 0, .nlmsg_type = ITEM }, { .nlmsg_len = 15, .nlmsg_type = ITEM },
		{ .nlmsg_len = 17, .nlmsg_type = ITEM },
		{ .nlmsg_len = UINT32_MAX, .nlmsg_type = ITEM },
	};
	struct netlink_exchange x;
	struct buf b = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		add_message(&b, ITEM, 0, "good", 4);
		buf_add(&b, &bad[i], sizeof(bad[i]));
		x = take(&b);
		CHECK(x.is_done && x.is_disturbed && !x.err && text_is(buf_text(&items), "good"));
	}
	/* our request in an error: its length is the peer's word */
	for (unsigned len = 0; len < 40; len += 13) {
		struct nlmsgerr e = { .error = -EINVAL, .msg.nlmsg_len = len ? len * 99999999 : 0 };

		add_message(&b, NLMSG_ERROR, NLM_F_ACK_TLVS, &e, sizeof(e));
		x = take(&b);
		CHECK(x.err == -EINVAL && x.words.len == 0);
	}
	buf_free(&b);
}

/* ---- replayed ---- */

static struct buf pieces;

static void end_piece(struct buf *b)
{
	const uint32_t len = (uint32_t)b->len;

	buf_add(&pieces, &len, sizeof(len));
	buf_add(&pieces, b->data, b->len);
	buf_reset(b);
}

static int replay(const struct netlink_reader *reader, const char *expect,
		  struct netlink_result *result)
{
	make("h"), make("h/calls");
	put_text("h/manifest", "clock\t1\t1\ncall\tthe table\t0\n");
	put("h/calls/0", pieces.data, pieces.len);
	open_root("h");
	buf_reset(&items);
	*result = (struct netlink_result){ 9, 9, false };
	int err = netlink_dump(&request, reader, result);

	if (!CHECK(text_is(buf_text(&items), expect)))
		printf("got \"%.*s\"\n", (int)items.len, items.data);
	if (err)
		CHECK(result->messages == 9);
	close_all();
	CHECK(!unlink(at("h/calls/0")) && !rmdir(at("h/calls")));
	CHECK(!unlink(at("h/manifest")) && !rmdir(at("h")));
	return err;
}

static void test_again(void)
{
	struct netlink_result r;
	struct buf b = { 0 };

	add_message(&b, ITEM, 0, "a", 1), end_piece(&b);
	add_message(&b, ITEM, NLM_F_DUMP_INTR, "b", 1), end_piece(&b);
	add_done(&b, 0, 0), end_piece(&b);
	CHECK(!replay(&whole, "ab", &r) && r.is_partial && r.attempts == 1 && r.messages == 2);
	add_message(&b, ITEM, 0, "a", 1), end_piece(&b);
	CHECK(!replay(&whole, "ab^a", &r) && r.is_partial && r.attempts == 2 && r.messages == 1);
	CHECK(!replay(&plain, "ab", &r) && r.is_partial && r.attempts == 1 && r.messages == 2);
	add_done(&b, 0, 0), end_piece(&b);
	CHECK(!replay(&whole, "ab^a", &r) && !r.is_partial && r.attempts == 2);
	buf_reset(&pieces);
	/* lost, then refused */
	add_message(&b, NLMSG_OVERRUN, 0, "", 0), end_piece(&b);
	CHECK(!replay(&plain, "", &r) && r.is_partial);
	add_error(&b, -EPERM, true, "not for you"), end_piece(&b);
	CHECK(replay(&whole, "^", &r) == -EPERM);
	CHECK_STR(fail_text(), "the table: Operation not permitted (not for you)");
	buf_reset(&pieces);
	CHECK(!replay(&whole, "", &r) && r.is_partial && r.attempts == 0);
	add_error(&b, -EBUSY, false, NULL), end_piece(&b);
	CHECK(replay(&plain, "", &r) == -EBUSY);
	CHECK_STR(fail_text(), "the table: Device or resource busy");
	buf_free(&b);
	buf_free(&pieces);
}

/* ---- live, and what was saved of it ---- */

static void count_links(const struct netlink_message *m, void *arg)
{
	struct text name;

	if (m->type == RTM_NEWLINK &&
	    netlink_find(netlink_behind(m->body, sizeof(struct ifinfomsg)), IFLA_IFNAME, &name) &&
	    text_is(netlink_string(name), "lo"))
		++*(unsigned *)arg;
}

static void look_at_links(bool is_live)
{
	const struct ifinfomsg head = { 0 };
	const struct rtgenmsg wrong = { 0 };
	unsigned count = 0, one = 0;
	struct netlink_result r;
	struct netlink_request q = { .key = "links", .family = NETLINK_ROUTE, .type = RTM_GETLINK,
		.is_strict = true, .body = { (const char *)&head, sizeof(head) } };
	struct netlink_reader reader = { .each = count_links, .arg = &count };
	struct buf body = { 0 };

	CHECK(!netlink_dump(&q, &reader, &r) && count == 1 && !r.is_partial && r.messages >= 1);
	buf_add(&body, &head, sizeof(head));
	netlink_add(&body, IFLA_IFNAME, "lo", 3);
	q.key = "link lo";
	q.body = buf_text(&body);
	reader.arg = &one;
	CHECK(!netlink_ask(&q, &reader, &r) && one == 1 && r.messages == 1 && !r.is_partial);
	buf_reset(&body);
	buf_add(&body, &head, sizeof(head));
	netlink_add(&body, IFLA_IFNAME, "no-such", 8);
	q.key = "link no-such";
	q.body = buf_text(&body);
	CHECK(netlink_ask(&q, &reader, &r) == -ENODEV);
	CHECK_STR(fail_text(), "link no-such: No such device");
	/* strict: too short a header is refused, in words (4.20) */
	q.key = "wrong";
	q.body = (struct text){ (const char *)&wrong, sizeof(wrong) };
	if (netlink_dump(&q, &reader, &r) == -EINVAL && is_live)
		CHECK(strstr(fail_text(), "wrong: Invalid argument (") != NULL);
	q.key = "no family";
	q.family = 31;
	CHECK(netlink_dump(&q, &reader, &r) == -EPROTONOSUPPORT);
	CHECK_STR(fail_text(), "no family: Protocol not supported");
	buf_free(&body);
}

static void test_live(void)
{
	CHECK(!src_open_live() && !src_save(at("run"), 0) && src_frame_begin() == 1);
	look_at_links(true);
	close_all();
	open_root("run");
	look_at_links(false);
	close_all();
}

static void toggle_loopback(int times)
{
	static bool is_up;
	struct ifreq lo = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < times; i++) {
		is_up = !is_up;
		lo.ifr_flags = is_up ? IFF_UP : 0;
		CHECK(!ioctl(fd, SIOCSIFFLAGS, &lo));
	}
	close(fd);
}

/* What another program sends to our socket, which root may: it is not the kernel's. */
static void send_forged(const struct netlink_group *g)
{
	struct sockaddr_nl to;
	socklen_t len = sizeof(to);
	struct buf body = { 0 }, b = { 0 };
	const struct ifinfomsg head = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	buf_add(&body, &head, sizeof(head));
	netlink_add(&body, IFLA_IFNAME, "lo", 3);
	add_message(&b, RTM_NEWLINK, 0, body.data, body.len);
	CHECK(!getsockname(g->fd, (struct sockaddr *)&to, &len));
	CHECK(sendto(fd, b.data, b.len, 0, (struct sockaddr *)&to, len) == (ssize_t)b.len);
	close(fd);
	buf_free(&body);
	buf_free(&b);
}

struct events {
	unsigned first, second, many;
	uint64_t lost;
};

static struct events look_at_events(bool is_live)
{
	struct events e = { 0 };
	struct netlink_group g;

	CHECK(!netlink_subscribe(&g, "link events", NETLINK_ROUTE, RTNLGRP_LINK, 8192));
	CHECK((g.fd >= 0) == is_live);
	if (is_live)
		send_forged(&g), toggle_loopback(2);
	CHECK(!netlink_receive(&g, count_links, &e.first) && g.lost == 0);
	if (is_live)
		toggle_loopback(1);
	CHECK(!netlink_receive(&g, count_links, &e.second) && g.lost == 0);
	CHECK(!netlink_receive(&g, count_links, &e.second) && g.lost == 0);
	CHECK(!src_frame_end() && src_frame_begin() == 1);
	if (is_live)
		toggle_loopback(201);
	CHECK(!netlink_receive(&g, count_links, &e.many));
	e.lost = g.lost;
	netlink_unsubscribe(&g);
	netlink_unsubscribe(&g);
	CHECK(netlink_subscribe(&g, "no family", 31, 1, 4096) == -EPROTONOSUPPORT);
	return e;
}

/* In a network namespace of its own; the result is the child's exit status. */
static int receive_events(void)
{
	const unsigned before = check_failed;

	if (unshare(CLONE_NEWNET))
		return 77;
	CHECK(!src_open_live() && !src_save(at("events"), 0) && src_frame_begin() == 1);
	const struct events live = look_at_events(true);

	close_all();
	CHECK(live.first == 2 && live.second == 1 && live.many > 0 && live.many < 201);
	CHECK(live.many + live.lost == 201);
	open_root("events");
	const struct events again = look_at_events(false);

	close_all();
	/* all that the frame received comes at once */
	CHECK(again.first == 3 && again.second == 0);
	CHECK(again.many == live.many && again.lost == live.lost);
	return check_failed != before;
}

static void test_events(void)
{
	int status = 0;

	fflush(stdout);
	pid_t child = fork();

	if (!child) {
		int result = receive_events();

		fflush(stdout);
		_exit(result);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		check_skip("events", "no network namespace of our own (needs root)");
	else
		CHECK(status == 0);
}

/* ---- modules ---- */

static void test_modules(void)
{
	host_add("m1/proc/modules", "");
	host_add("m1/proc/sys/kernel/modprobe", "/sbin/modprobe\n");
	host_add("m1/proc/sys/kernel/modules_disabled", "0\n");
	host_add("m1/sys/module/tcp_diag/refcnt", "0\n");
	open_root("m1");
	CHECK(!module_would_load("tcp_diag") && module_would_load("udp_diag"));
	close_all();
	host_add("m1/proc/sys/kernel/osrelease", "6.1.0\n");
	host_add("m1/lib/modules/6.1.0/modules.builtin", "kernel/net/ipv4/udp_diag.ko\n");
	open_root("m1");
	CHECK(!module_would_load("udp_diag") && module_would_load("diag") &&
	      module_would_load("p_diag"));
	close_all();
	host_add("m1/proc/sys/kernel/modules_disabled", "1\n");
	open_root("m1");
	CHECK(!module_would_load("sctp_diag"));
	close_all();
	host_add("m1/proc/sys/kernel/modules_disabled", "0\n");
	host_add("m1/proc/sys/kernel/modprobe", "\n");
	open_root("m1");
	CHECK(!module_would_load("sctp_diag"));
	close_all();
	/* CONFIG_MODULES=n */
	host_add("m2/proc/stat", "");
	open_root("m2");
	CHECK(!module_would_load("sctp_diag"));
	close_all();
}

int main(void)
{
	if (!scratch_begin("perfbox-netlink"))
		return 1;
	test_attributes(), test_numbers(), test_hostile_attributes();
	test_messages(), test_errors(), test_hostile_messages();
	test_again(), test_live(), test_events(), test_modules();
	scratch_end();
	buf_free(&items);
	return check_done("netlink");
}
