/* UNIX sockets: unix_diag, or proc/net/unix (net/unix/diag.c, net/unix/af_unix.c). */
#include "common/kernel/sockdiag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/module.h"
#include "common/kernel/netlink.h"
#include "common/kernel/source.h"

#define ACCEPTS 0x10000                /* __SO_ACCEPTCON, include/linux/net.h */
#define CONNECTED 3                    /* SS_CONNECTED, include/uapi/linux/net.h */
#define ATTR_UID 7                     /* UNIX_DIAG_UID, since 5.3 */
#define SHOW_UID 0x40

struct dump {
	void (*each)(const struct unix_sock *s, void *arg);
	void *arg;
	struct sockdiag_result *result;
};

/* An abstract name begins with a NUL and may hold more; a path ends with one. */
static const char *take_name(struct text data, char name[SOCKDIAG_NAME])
{
	const size_t len = data.len < SOCKDIAG_NAME - 1 ? data.len : SOCKDIAG_NAME - 1;

	if (!len)
		return NULL;
	memcpy(name, data.data, len);
	name[len] = '\0';
	for (size_t i = 0; !*data.data && i < len; i++)
		if (!name[i])
			name[i] = '@';
	return name;
}

int sockdiag_parse_unix(struct text body, struct unix_sock *s, char name[SOCKDIAG_NAME])
{
	struct unix_diag_msg m;
	struct netlink_attr a;

	if (body.len < sizeof(m))
		return fail(EINVAL, "unix_diag: a message of %zu bytes", body.len);
	memcpy(&m, body.data, sizeof(m));
	if (m.udiag_family != AF_UNIX || !m.udiag_state || m.udiag_state >= SOCK_STATES)
		return fail(EINVAL, "unix_diag: family %u, state %u", m.udiag_family,
			    m.udiag_state);
	*s = (struct unix_sock){
		.inode = m.udiag_ino, .type = m.udiag_type, .state = m.udiag_state,
		.cookie = (uint64_t)m.udiag_cookie[1] << 32 | m.udiag_cookie[0],
		.receive_queue = NA_U64, .send_queue = NA_U64, .uid = NA_U64,
	};
	struct text attrs = netlink_behind(body, sizeof(m));

	while (netlink_next(&attrs, &a)) {
		struct unix_diag_rqlen queue;

		if (a.type == UNIX_DIAG_NAME) {
			s->name = take_name(a.data, name);
		} else if (a.type == UNIX_DIAG_RQLEN && a.data.len >= sizeof(queue)) {
			memcpy(&queue, a.data.data, sizeof(queue));
			s->receive_queue = queue.udiag_rqueue;
			s->send_queue = queue.udiag_wqueue;
		} else if (a.type == ATTR_UID) {
			s->uid = netlink_u32(a.data);
		}
	}
	return 0;
}

static void take_socket(const struct netlink_message *m, void *arg)
{
	struct dump *d = arg;
	struct unix_sock s;
	char name[SOCKDIAG_NAME];

	if (m->type != SOCK_DIAG_BY_FAMILY || sockdiag_parse_unix(m->body, &s, name)) {
		d->result->is_partial = true;
		return;
	}
	d->result->seen++;
	d->each(&s, d->arg);
}

static int ask(struct dump *d, unsigned states)
{
	const struct unix_diag_req request = {
		.sdiag_family = AF_UNIX, .udiag_states = states,
		.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_RQLEN | SHOW_UID,
	};
	const struct netlink_request r = {
		.key = arena_printf(src_arena(), "unix_diag states 0x%x", states),
		.family = NETLINK_SOCK_DIAG, .type = SOCK_DIAG_BY_FAMILY,
		.body = { (const char *)&request, sizeof(request) },
	};
	const struct netlink_reader reader = { .each = take_socket, .arg = d };
	struct netlink_result result;
	int err = netlink_dump(&r, &reader, &result);

	if (!err)
		d->result->is_partial |= result.is_partial;
	return err;
}

/* "0000000000000000: 00000002 00000000 00010000 0001 01 1234 /run/x"; the path may be missing. */
static bool parse_line(struct text line, struct unix_sock *s, char name[SOCKDIAG_NAME])
{
	struct scan scan = scan_of(line);
	uint64_t flags, type, state, inode;

	if (!scan_skip_words(&scan, 3) || !scan_hex(&scan, &flags) || !scan_hex(&scan, &type) ||
	    !scan_hex(&scan, &state) || !scan_u64(&scan, &inode) || type > UINT8_MAX)
		return false;
	*s = (struct unix_sock){
		.inode = inode, .cookie = NA_U64, .type = (uint8_t)type,
		.state = flags & ACCEPTS ? SOCK_LISTEN :
			state == CONNECTED ? SOCK_ESTABLISHED : SOCK_CLOSE,
		.receive_queue = NA_U64, .send_queue = NA_U64, .uid = NA_U64,
	};
	/* an abstract name stands there with its "@"s */
	if (scan_literal(&scan, " "))
		s->name = take_name(scan_rest(&scan), name);
	return true;
}

void sockdiag_parse_unix_file(struct text t, unsigned states,
			      void (*each)(const struct unix_sock *s, void *arg), void *arg,
			      struct sockdiag_result *result)
{
	struct scan lines = scan_of(t);
	struct text line;
	struct unix_sock s;
	char name[SOCKDIAG_NAME];

	/* the header; a line without its newline may be cut */
	scan_until(&lines, '\n', &line);
	while (scan_until(&lines, '\n', &line)) {
		if (!parse_line(line, &s, name)) {
			/* a path may hold a newline */
			result->is_partial = true;
			continue;
		}
		if (!(states & SOCK_BIT(s.state)))
			continue;
		result->seen++;
		each(&s, arg);
	}
	result->is_partial |= lines.at != lines.end;
}

int sockdiag_each_unix(unsigned states, void (*each)(const struct unix_sock *s, void *arg),
		       void *arg, struct sockdiag_result *result)
{
	struct sockdiag_result new = { 0 };
	struct dump d = { each, arg, &new };
	struct text t;
	const char *why = "unix_diag is not loaded and not asked, which would load it "
		"(modprobe unix_diag, or run ss once)";

	if (!module_would_load("unix_diag")) {
		int err = ask(&d, states);

		if (!err)
			*result = new;
		if (!err || new.seen)
			return err;
		why = arena_strdup(src_arena(), fail_text());
	}
	int err = src_read("proc/net/unix", &t);

	if (err < 0)
		return fail(-err, "%s", why);
	sockdiag_parse_unix_file(t, states, each, arg, &new);
	new.lacks = arena_printf(src_arena(), "no queues of UNIX sockets: %s", why);
	*result = new;
	return 0;
}
