#include "common/kernel/netlink.h"

#include <endian.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"

/*
 * A dump's messages are packed up to 32 KiB, whatever there is room for (netlink_recvmsg,
 * max_recvmsg_len), but one message may be larger: a link with many virtual functions.
 */
#define RECEIVE_BYTES 65536
#define EVENT_BYTES 16384              /* room for one event */
#define EVENTS_MAX (1u << 18)          /* at once: they may come faster than we read */
#define HEADER sizeof(struct nlmsghdr)

/* Headers of older distributions lack these. */
#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

/* ---- what came ---- */

/* What we put in where messages are missing; the kernel has a name for it but never sends it. */
static size_t make_loss(char *to, uint64_t lost)
{
	const struct nlmsghdr h = { .nlmsg_len = HEADER + sizeof(lost),
		.nlmsg_type = NLMSG_OVERRUN };

	memcpy(to, &h, sizeof(h));
	memcpy(to + sizeof(h), &lost, sizeof(lost));
	return h.nlmsg_len;
}

/* The next message, taken off; false at the end and where the length makes no sense. */
static bool next_message(struct text *piece, struct netlink_message *m)
{
	struct nlmsghdr h;

	if (piece->len < sizeof(h))
		return false;
	memcpy(&h, piece->data, sizeof(h));
	if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > piece->len)
		return false;
	m->type = h.nlmsg_type;
	m->flags = h.nlmsg_flags;
	m->body = (struct text){ piece->data + sizeof(h), h.nlmsg_len - sizeof(h) };
	const size_t step = NETLINK_ALIGN((size_t)h.nlmsg_len);

	*piece = step < piece->len ? (struct text){ piece->data + step, piece->len - step } :
		(struct text){ piece->data + piece->len, 0 };
	return true;
}

/* The errno a message begins with, and behind `skip` bytes attributes with the kernel's words. */
static void take_error(struct netlink_exchange *x, const struct netlink_message *m, size_t skip)
{
	struct text words;
	int32_t err;

	if (m->body.len < sizeof(err)) {
		x->is_disturbed = true;
		return;
	}
	memcpy(&err, m->body.data, sizeof(err));
	if (err >= 0)
		return;
	x->err = err < -4095 ? -EPROTO : err;   /* MAX_ERRNO, include/linux/err.h */
	if ((m->flags & NLM_F_ACK_TLVS) &&
	    netlink_find(netlink_behind(m->body, skip), NLMSGERR_ATTR_MSG, &words))
		x->words = netlink_string(words);
}

/* Where the attributes of an NLMSG_ERROR stand: behind our request, unless it was left out. */
static size_t error_header(const struct netlink_message *m)
{
	struct nlmsgerr e;

	if (m->body.len < sizeof(e) || (m->flags & NLM_F_CAPPED))
		return sizeof(e);
	memcpy(&e, m->body.data, sizeof(e));
	return e.msg.nlmsg_len < sizeof(e.msg) ? sizeof(e) :
		sizeof(e) + NETLINK_ALIGN((size_t)e.msg.nlmsg_len - sizeof(e.msg));
}

static void take_message(struct netlink_exchange *x, const struct netlink_message *m)
{
	x->is_disturbed |= (m->flags & NLM_F_DUMP_INTR) != 0;
	switch (m->type) {
	case NLMSG_NOOP:
		break;
	case NLMSG_DONE:
		x->is_done = true;
		if (m->body.len)
			take_error(x, m, sizeof(int32_t));
		break;
	case NLMSG_ERROR:
		x->is_done = true;
		take_error(x, m, error_header(m));
		break;
	case NLMSG_OVERRUN:
		x->is_done = x->is_disturbed = true;
		break;
	default:
		x->result.messages++;
		x->reader->each(m, x->reader->arg);
	}
}

void netlink_take(struct netlink_exchange *x, struct text piece)
{
	struct netlink_message m;

	/* more behind the end: it was asked again */
	if (x->is_done && !x->reader->restart)
		return;
	if (x->is_done)
		x->reader->restart(x->reader->arg);
	if (x->is_done || !x->is_begun) {
		x->is_done = x->is_disturbed = false;
		x->result.messages = 0;
		x->result.attempts++;
	}
	x->is_begun = true;
	while (!x->is_done && next_message(&piece, &m))
		take_message(x, &m);
	if (!x->is_done && piece.len)
		x->is_done = x->is_disturbed = true;
}

static int take_piece(struct text piece, void *arg)
{
	struct netlink_exchange *x = arg;

	netlink_take(x, piece);
	if (!x->err)
		return 0;
	return x->words.len ?
		fail(-x->err, "%s: %s (%.*s)", x->request->key, strerror(-x->err),
		     (int)x->words.len, x->words.data) :
		fail_errno(-x->err, "%s", x->request->key);
}

/* ---- asking ---- */

static int open_socket(const char *key, int family)
{
	const struct timeval timeout = { .tv_sec = NETLINK_TIMEOUT_S };
	const int on = 1;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family);

	if (fd < 0)
		return fail_errno(errno, "%s", key);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	/* older kernels have neither: their errors come without words */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	return fd;
}

static int send_request(int fd, const struct netlink_request *r)
{
	const struct nlmsghdr h = {
		.nlmsg_len = (uint32_t)(HEADER + r->body.len), .nlmsg_type = r->type,
		.nlmsg_flags = NLM_F_REQUEST | r->flags, .nlmsg_seq = 1,
	};
	struct buf b = { 0 };

	buf_add(&b, &h, sizeof(h));
	buf_add(&b, r->body.data, r->body.len);
	ssize_t n;

	do
		n = send(fd, b.data, b.len, 0);
	while (n < 0 && errno == EINTR);
	const int err = n < 0 ? errno : 0;

	buf_free(&b);
	return err == EAGAIN ? fail_errno(ETIMEDOUT, "%s", r->key) :
		err ? fail_errno(err, "%s", r->key) : 0;
}

/*
 * Bytes, padded to whole words; -EAGAIN: none came. What is lost or cut becomes a message that says
 * so, or is told through is_overrun if that is asked for.
 */
static ssize_t receive(int fd, char *to, size_t room, int flags, bool *is_overrun)
{
	for (;;) {
		struct sockaddr_nl from = { 0 };
		struct iovec v = { to, room };
		struct msghdr m = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &v,
			.msg_iovlen = 1 };
		ssize_t n = recvmsg(fd, &m, flags);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != ENOBUFS)
			return -errno;
		/* any program with the right to may send to our socket: the kernel is port 0 */
		if (n == 0 || (n > 0 && from.nl_pid))
			continue;
		if (n < 0 || (m.msg_flags & MSG_TRUNC)) {
			if (!is_overrun)
				return (ssize_t)make_loss(to, NA_U64);
			*is_overrun = true;
			continue;
		}
		for (; n % 4; n++)
			to[n] = '\0';
		return n;
	}
}

static int read_answer(int fd, struct netlink_exchange *x, src_piece give, void *to)
{
	char *data = mem_alloc(RECEIVE_BYTES);
	int err = 0;

	do {
		ssize_t n = receive(fd, data, RECEIVE_BYTES, 0, NULL);

		if (n == -EAGAIN)
			err = fail(ETIMEDOUT, "%s: no answer within %u s", x->request->key,
				   NETLINK_TIMEOUT_S);
		else if (n < 0)
			err = fail_errno((int)-n, "%s", x->request->key);
		else
			err = give((struct text){ data, (size_t)n }, to);
	} while (!err && !x->is_done);
	free(data);
	return err;
}

static int fetch(void *arg, src_piece give, void *to)
{
	struct netlink_exchange *x = arg;
	const struct netlink_request *r = x->request;
	const unsigned attempts = x->reader->restart ? NETLINK_ATTEMPTS : 1;
	const int on = 1;
	int err = 0;

	for (unsigned i = 0; !err && i < attempts && (!i || x->is_disturbed); i++) {
		/* a new socket: nothing that is left of the last attempt comes with it */
		int fd = open_socket(r->key, r->family);

		if (fd < 0)
			return fd;
		if (r->is_strict)
			setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
		err = send_request(fd, r);
		if (!err)
			err = read_answer(fd, x, give, to);
		close(fd);
	}
	return err;
}

static int exchange(const struct netlink_request *r, uint16_t flags,
		    const struct netlink_reader *reader, struct netlink_result *result)
{
	struct netlink_request full = *r;
	struct netlink_exchange x = { .request = &full, .reader = reader };

	full.flags |= flags;
	int err = src_stream(r->key, fetch, &x, take_piece, &x);

	if (err)
		return err;
	/* a saved one may end before its end */
	x.result.is_partial = x.is_disturbed || !x.is_done;
	*result = x.result;
	return 0;
}

int netlink_dump(const struct netlink_request *r, const struct netlink_reader *reader,
		 struct netlink_result *result)
{
	return exchange(r, NLM_F_DUMP, reader, result);
}

int netlink_ask(const struct netlink_request *r, const struct netlink_reader *reader,
		struct netlink_result *result)
{
	return exchange(r, NLM_F_ACK, reader, result);
}

/* ---- attributes ---- */

static void pad(struct buf *body)
{
	while (body->len % 4)
		buf_add_char(body, '\0');
}

void netlink_add(struct buf *body, uint16_t type, const void *data, size_t len)
{
	const struct nlattr a = { (uint16_t)(sizeof(a) + len), type };

	buf_add(body, &a, sizeof(a));
	buf_add(body, data, len);
	pad(body);
}

size_t netlink_add_nest(struct buf *body, uint16_t type)
{
	const size_t nest = body->len;

	netlink_add(body, type | NLA_F_NESTED, "", 0);
	return nest;
}

void netlink_end_nest(struct buf *body, size_t nest)
{
	const uint16_t len = (uint16_t)(body->len - nest);

	memcpy(body->data + nest, &len, sizeof(len));
}

bool netlink_find(struct text attrs, uint16_t type, struct text *data)
{
	struct netlink_attr a;
	bool is_found = false;

	while (netlink_next(&attrs, &a))
		if (a.type == type) {
			*data = a.data;
			is_found = true;
		}
	return is_found;
}

struct text netlink_behind(struct text body, size_t header)
{
	const size_t skip = NETLINK_ALIGN(header);

	return skip < body.len ? (struct text){ body.data + skip, body.len - skip } : TEXT("");
}

uint64_t netlink_u8(struct text data)
{
	return data.len == 1 ? (unsigned char)data.data[0] : NA_U64;
}

uint64_t netlink_u16(struct text data)
{
	uint16_t n;

	return data.len == sizeof(n) ? memcpy(&n, data.data, sizeof(n)), n : NA_U64;
}

uint64_t netlink_u32(struct text data)
{
	uint32_t n;

	return data.len == sizeof(n) ? memcpy(&n, data.data, sizeof(n)), n : NA_U64;
}

uint64_t netlink_u64(struct text data)
{
	uint64_t n;

	return data.len == sizeof(n) ? memcpy(&n, data.data, sizeof(n)), n : NA_U64;
}

uint64_t netlink_be16(struct text data)
{
	const uint64_t n = netlink_u16(data);

	return n == NA_U64 ? n : be16toh((uint16_t)n);
}

uint64_t netlink_be32(struct text data)
{
	const uint64_t n = netlink_u32(data);

	return n == NA_U64 ? n : be32toh((uint32_t)n);
}

uint64_t netlink_be64(struct text data)
{
	return data.len == sizeof(uint64_t) ? be64toh(netlink_u64(data)) : NA_U64;
}

struct text netlink_string(struct text data)
{
	return (struct text){ data.data, strnlen(data.data, data.len) };
}

/* ---- multicast groups ---- */

static int open_group(struct netlink_group *g, int family, unsigned group, size_t queue_bytes)
{
	const int bytes = queue_bytes < INT32_MAX ? (int)queue_bytes : INT32_MAX;
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	int fd = open_socket(g->key, family);

	if (fd < 0)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(fd, (const struct sockaddr *)&any, sizeof(any)) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group))) {
		const int err = fail_errno(errno, "%s", g->key);

		close(fd);
		return err;
	}
	g->fd = fd;
	return 0;
}

static int tell_result(void *arg, struct buf *reply)
{
	(void)reply;
	return *(const int *)arg;
}

int netlink_subscribe(struct netlink_group *g, const char *key, int family, unsigned group,
		      size_t queue_bytes)
{
	struct netlink_group new = { .key = key, .fd = -1 };
	struct text unused;
	int err = src_is_live() ? open_group(&new, family, group, queue_bytes) : 0;
	int said = src_call(key, tell_result, &err, &unused);

	/* live, what is kept in the frame may be of an earlier try */
	if (!src_is_live() || err)
		err = said;
	if (!err)
		*g = new;
	return err;
}

/* Messages the socket had no room for since it was opened (4.12); NA_U64: the kernel can't say. */
static uint64_t count_lost(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) || len <= SK_MEMINFO_DROPS * 4 ?
		NA_U64 : info[SK_MEMINFO_DROPS];
}

/* An event is a datagram: many are put in one piece. */
static int fetch_events(void *arg, src_piece give, void *to)
{
	struct netlink_group *g = arg;
	char *data = mem_alloc(RECEIVE_BYTES);
	size_t used = 0;
	ssize_t n = 0;
	int err = 0;
	bool is_overrun = false;

	for (unsigned i = 0; !err && i < EVENTS_MAX && g->fd >= 0; i++) {
		n = receive(g->fd, data + used, RECEIVE_BYTES - used, MSG_DONTWAIT, &is_overrun);
		if (n < 0)
			break;
		used += (size_t)n;
		if (used > RECEIVE_BYTES - EVENT_BYTES) {
			err = give((struct text){ data, used }, to);
			used = 0;
		}
	}
	if (n < 0 && n != -EAGAIN && !err)
		err = fail_errno((int)-n, "%s", g->key);
	const uint64_t lost = g->fd < 0 ? 0 : count_lost(g->fd);

	if (lost != NA_U64 ? lost != g->lost : is_overrun)
		used += make_loss(data + used, lost == NA_U64 ? g->lost + 1 : lost);
	if (used && !err)
		err = give((struct text){ data, used }, to);
	free(data);
	return err;
}

struct events {
	struct netlink_group *group;
	void (*each)(const struct netlink_message *m, void *arg);
	void *arg;
};

static int take_events(struct text piece, void *arg)
{
	const struct events *e = arg;
	struct netlink_message m;

	while (next_message(&piece, &m))
		if (m.type == NLMSG_OVERRUN)
			e->group->lost = netlink_u64(m.body);
		else if (m.type >= NLMSG_MIN_TYPE)
			e->each(&m, e->arg);
	return 0;
}

int netlink_receive(struct netlink_group *g,
		    void (*each)(const struct netlink_message *m, void *arg), void *arg)
{
	struct events e = { g, each, arg };
	int err;

	if (g->frame != src_frame()->index)
		g->received = 0;
	g->frame = src_frame()->index;
	do {
		const char *key = arena_printf(src_arena(), "%s events %u", g->key, g->received++);

		err = src_stream(key, fetch_events, g, take_events, &e);
	} while (!err && !src_is_live());
	return err == -ENOENT && !src_is_live() ? 0 : err;
}

void netlink_unsubscribe(struct netlink_group *g)
{
	/* a zeroed one was never opened, and its fd is not ours */
	if (g->key && g->fd >= 0)
		close(g->fd);
	*g = (struct netlink_group){ .fd = -1 };
}
