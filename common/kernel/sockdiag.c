#include "common/kernel/sockdiag.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/module.h"
#include "common/kernel/netlink.h"
#include "common/kernel/source.h"

#define NS_PER_MS 1000000u
#define ALL_STATES ((1u << SOCK_STATES) - 2)

/* Headers of older distributions lack these. */
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
enum {
	REQ_PROTOCOL = 3, ATTR_CGROUP_ID = 21, ATTR_ULP_INFO = 19, ULP_NAME = 1,
};

const char *sock_state_name(enum sock_state s)
{
	static const char *const names[SOCK_STATES] = {
		[SOCK_ESTABLISHED] = "ESTAB", [SOCK_SYN_SENT] = "SYN-SENT",
		[SOCK_SYN_RECV] = "SYN-RECV", [SOCK_FIN_WAIT1] = "FIN-WAIT-1",
		[SOCK_FIN_WAIT2] = "FIN-WAIT-2", [SOCK_TIME_WAIT] = "TIME-WAIT",
		[SOCK_CLOSE] = "UNCONN", [SOCK_CLOSE_WAIT] = "CLOSE-WAIT",
		[SOCK_LAST_ACK] = "LAST-ACK", [SOCK_LISTEN] = "LISTEN", [SOCK_CLOSING] = "CLOSING",
		[SOCK_NEW_SYN_RECV] = "SYN-RECV", [SOCK_BOUND_INACTIVE] = "BOUND",
	};

	return (unsigned)s < SOCK_STATES && names[s] ? names[s] : "UNKNOWN";
}

const char *sock_end_text(struct arena *a, uint8_t family, const struct sock_end *end)
{
	static const uint8_t any[sizeof(end->address)];
	char text[INET6_ADDRSTRLEN];

	if (family == AF_INET6 && !memcmp(end->address, any, sizeof(any)))
		return arena_printf(a, "*:%u", end->port);
	if (!inet_ntop(family == AF_INET6 ? AF_INET6 : AF_INET, end->address, text, sizeof(text)))
		return NULL;
	return arena_printf(a, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, end->port);
}

const char *sock_local_text(struct arena *a, const struct sock *s)
{
	const char *text = sock_end_text(a, s->family, &s->local);

	/* as ss tells the two apart */
	return s->v6only == 1 && text && *text == '*' ? arena_printf(a, "[::]%s", text + 1) : text;
}

/* ---- one message of inet_diag ---- */

static void set_end(struct sock_end *end, uint8_t family, const void *address, uint16_t port)
{
	memcpy(end->address, address, family == AF_INET ? 4 : sizeof(end->address));
	end->port = be16toh(port);
}

static uint64_t cookie_of(const uint32_t cookie[2])
{
	return (uint64_t)cookie[1] << 32 | cookie[0];
}

static void take_memory(struct text data, struct sock *s)
{
	uint32_t n[SK_MEMINFO_VARS] = { 0 };
	const size_t len = data.len < sizeof(n) ? data.len : sizeof(n);

	memcpy(n, data.data, len);
	if (len < (SK_MEMINFO_SNDBUF + 1) * sizeof(*n))
		return;
	s->rmem_bytes = n[SK_MEMINFO_RMEM_ALLOC];
	s->rcvbuf_bytes = n[SK_MEMINFO_RCVBUF];
	s->wmem_bytes = n[SK_MEMINFO_WMEM_ALLOC];
	s->sndbuf_bytes = n[SK_MEMINFO_SNDBUF];
	/* the last one, since 4.6 */
	if (len > SK_MEMINFO_DROPS * sizeof(*n))
		s->drops = n[SK_MEMINFO_DROPS];
}

static bool is_mptcp_ulp(struct text data)
{
	struct text name;

	return netlink_find(data, ULP_NAME, &name) && text_is(netlink_string(name), "mptcp");
}

static int flag_of(struct text data, unsigned limit)
{
	const uint64_t n = netlink_u8(data);

	return n <= limit ? (int)n : -1;
}

static void take_attributes(struct text attrs, struct sock *s)
{
	struct netlink_attr a;

	while (netlink_next(&attrs, &a))
		switch (a.type) {
		case INET_DIAG_SKMEMINFO:
			take_memory(a.data, s);
			break;
		case INET_DIAG_INFO:
			s->info = a.data;
			break;
		case INET_DIAG_SHUTDOWN:
			s->shutdown = flag_of(a.data, 3);
			break;
		case INET_DIAG_SKV6ONLY:
			s->v6only = flag_of(a.data, 1);
			break;
		case INET_DIAG_MARK:
			s->mark = netlink_u32(a.data);
			break;
		case ATTR_CGROUP_ID:
			s->cgroup_id = netlink_u64(a.data);
			break;
		case ATTR_ULP_INFO:
			s->is_subflow = is_mptcp_ulp(a.data);
			break;
		}
}

static void clear(struct sock *s, uint8_t family)
{
	memset(s, 0, sizeof(*s));
	s->family = family;
	s->drops = s->rmem_bytes = s->rcvbuf_bytes = s->wmem_bytes = s->sndbuf_bytes = NA_U64;
	s->cgroup_id = s->mark = NA_U64;
	s->v6only = s->shutdown = -1;
	s->info = TEXT("");
}

int sockdiag_parse(struct text body, struct sock *s)
{
	struct inet_diag_msg m;

	if (body.len < sizeof(m))
		return fail(EINVAL, "inet_diag: a message of %zu bytes", body.len);
	memcpy(&m, body.data, sizeof(m));
	if ((m.idiag_family != AF_INET && m.idiag_family != AF_INET6) ||
	    m.idiag_state >= SOCK_STATES || !m.idiag_state)
		return fail(EINVAL, "inet_diag: family %u, state %u", m.idiag_family,
			    m.idiag_state);
	clear(s, m.idiag_family);
	s->state = m.idiag_state;
	s->timer = m.idiag_timer;
	s->retransmits = m.idiag_retrans;
	s->expires_ns = (uint64_t)m.idiag_expires * NS_PER_MS;
	set_end(&s->local, m.idiag_family, m.id.idiag_src, m.id.idiag_sport);
	set_end(&s->remote, m.idiag_family, m.id.idiag_dst, m.id.idiag_dport);
	s->interface = m.id.idiag_if;
	s->cookie = cookie_of(m.id.idiag_cookie);
	s->inode = m.idiag_inode;
	s->uid = m.idiag_uid;
	s->receive_queue = m.idiag_rqueue;
	s->send_queue = m.idiag_wqueue;
	take_attributes(netlink_behind(body, sizeof(m)), s);
	return 0;
}

/* ---- asking inet_diag ---- */

struct dump {
	const struct sockdiag_query *query;
	bool is_mptcp;                 /* this request's */
	void (*each)(const struct sock *s, void *arg);
	void *arg;
	struct sockdiag_result *result;
};

static bool is_socket(uint16_t type)
{
	return type == SOCK_DIAG_BY_FAMILY || type == TCPDIAG_GETSOCK;
}

static void take_socket(const struct netlink_message *m, void *arg)
{
	struct dump *d = arg;
	struct sock s;

	if (!is_socket(m->type) || sockdiag_parse(m->body, &s)) {
		d->result->is_partial = true;
		return;
	}
	s.protocol = d->is_mptcp ? IPPROTO_MPTCP & 0xff : d->query->protocol;
	s.is_mptcp = d->is_mptcp;
	d->result->seen++;
	d->each(&s, d->arg);
}

static void add_lack(struct sockdiag_result *r, const char *what)
{
	r->lacks = r->lacks ? arena_printf(src_arena(), "%s; %s", r->lacks, what) :
		arena_strdup(src_arena(), what);
}

static const char *protocol_name(const struct dump *d)
{
	return d->is_mptcp ? "mptcp" : d->query->protocol == IPPROTO_UDP ? "udp" : "tcp";
}

static const char *make_key(const struct dump *d, const char *families)
{
	const struct sockdiag_query *q = d->query;
	const char *port = q->local_port ? arena_printf(src_arena(), " port %u", q->local_port) :
		"";

	return arena_printf(src_arena(), "inet_diag %s %s states 0x%x%s%s%s", protocol_name(d),
			    families, q->states, q->memory ? " memory" : "", q->info ? " info" : "",
			    port);
}

static uint8_t extensions(const struct sockdiag_query *q)
{
	return (uint8_t)((q->memory ? 1u << (INET_DIAG_SKMEMINFO - 1) : 0) |
			 (q->info ? 1u << (INET_DIAG_INFO - 1) : 0));
}

static int send_request(struct dump *d, const char *families, uint16_t type, struct text body)
{
	const struct netlink_reader reader = { .each = take_socket, .arg = d };
	const struct netlink_request r = {
		.key = make_key(d, families), .family = NETLINK_SOCK_DIAG, .type = type,
		.body = body,
	};
	struct netlink_result result;
	int err = netlink_dump(&r, &reader, &result);

	if (!err)
		d->result->is_partial |= result.is_partial;
	return err;
}

static int dump_family(struct dump *d, uint8_t family)
{
	const uint32_t protocol = IPPROTO_MPTCP;
	const struct inet_diag_req_v2 request = {
		.sdiag_family = family,
		/* one byte is too small for MPTCP's number: an attribute says it */
		.sdiag_protocol = d->is_mptcp ? IPPROTO_TCP : d->query->protocol,
		.idiag_ext = extensions(d->query), .idiag_states = d->query->states,
		/* the kernel compares it without a filter program, in every version */
		.id.idiag_sport = htobe16(d->query->local_port),
	};
	struct buf body = { 0 };

	buf_add(&body, &request, sizeof(request));
	if (d->is_mptcp)
		netlink_add(&body, REQ_PROTOCOL, &protocol, sizeof(protocol));
	int err = send_request(d, family == AF_INET ? "ipv4" : "ipv6", SOCK_DIAG_BY_FAMILY,
			       buf_text(&body));

	buf_free(&body);
	return err;
}

/* The older request has no say in the family, and so walks all of TCP once and not twice. */
static int dump_both(struct dump *d)
{
	const struct inet_diag_req request = {
		.idiag_family = AF_INET, .idiag_ext = extensions(d->query),
		.idiag_states = d->query->states,
		.id.idiag_sport = htobe16(d->query->local_port),
	};

	return send_request(d, "ipv4 ipv6", TCPDIAG_GETSOCK,
			    (struct text){ (const char *)&request, sizeof(request) });
}

static int each_family(struct dump *d, int (*run)(struct dump *d, uint8_t family))
{
	int err = d->query->ipv4 ? run(d, AF_INET) : 0;

	return !err && d->query->ipv6 ? run(d, AF_INET6) : err;
}

static int dump_families(struct dump *d)
{
	const struct sockdiag_query *q = d->query;

	if (q->ipv4 && q->ipv6 && q->protocol == IPPROTO_TCP && !d->is_mptcp) {
		int err = dump_both(d);

		if (!err || d->result->seen)
			return err;
	}
	return each_family(d, dump_family);
}

/* ---- the other way: proc/net ---- */

/* "0100007F:1F90": words of the address as the machine reads them (net/ipv4/tcp_ipv4.c). */
static bool parse_end(struct text word, uint8_t family, struct sock_end *end)
{
	const size_t words = family == AF_INET ? 1 : 4;
	struct text part = { word.data, 8 };
	uint64_t n;

	if (word.len != words * 8 + 5 || word.data[words * 8] != ':')
		return false;
	for (size_t i = 0; i < words; i++, part.data += 8) {
		struct scan s = scan_of(part);

		if (!scan_hex(&s, &n) || s.at != s.end)
			return false;
		const uint32_t native = (uint32_t)n;

		memcpy(end->address + 4 * i, &native, sizeof(native));
	}
	struct scan s = { part.data + 1, word.data + word.len };

	if (!scan_hex(&s, &n) || s.at != s.end)
		return false;
	end->port = (uint16_t)n;
	return true;
}

/* "00000000:00000001" */
static bool scan_hex_pair(struct scan *s, uint64_t *a, uint64_t *b)
{
	return scan_hex(s, a) && scan_literal(s, ":") && scan_hex(s, b);
}

static bool parse_line(struct text line, uint8_t family, bool is_udp, struct sock *s)
{
	struct scan scan = scan_of(line);
	struct text local, remote;
	uint64_t slot, state, send, receive, timer, when, retransmits, uid, timeout, inode, drops;

	clear(s, family);
	if (!scan_u64(&scan, &slot) || !scan_literal(&scan, ":") || !scan_word(&scan, &local) ||
	    !scan_word(&scan, &remote) || !scan_hex(&scan, &state) ||
	    !scan_hex_pair(&scan, &send, &receive) || !scan_hex_pair(&scan, &timer, &when) ||
	    !scan_hex(&scan, &retransmits) || !scan_u64(&scan, &uid) ||
	    !scan_u64(&scan, &timeout) || !scan_u64(&scan, &inode) ||
	    !parse_end(local, family, &s->local) || !parse_end(remote, family, &s->remote) ||
	    !state || state >= SOCK_STATES || uid > UINT32_MAX)
		return false;
	s->state = (uint8_t)state;
	s->timer = (uint8_t)timer;
	s->retransmits = retransmits < UINT8_MAX ? (uint8_t)retransmits : UINT8_MAX;
	s->expires_ns = (when & UINT32_MAX) * (1000000000u / src_clock_ticks());
	s->cookie = NA_U64;
	s->inode = inode;
	s->uid = (uint32_t)uid;
	s->receive_queue = receive;
	s->send_queue = state == SOCK_LISTEN && !is_udp ? NA_U64 : send;
	/* "ref pointer drops" */
	if (is_udp && scan_skip_words(&scan, 2) && scan_u64(&scan, &drops))
		s->drops = drops;
	return true;
}

void sockdiag_parse_file(struct text t, const struct sockdiag_query *q, uint8_t family,
			 void (*each)(const struct sock *s, void *arg), void *arg,
			 struct sockdiag_result *result)
{
	struct scan lines = scan_of(t);
	struct text line;
	struct sock s;

	/* the header; a line without its newline may be cut */
	scan_until(&lines, '\n', &line);
	while (scan_until(&lines, '\n', &line)) {
		if (!parse_line(line, family, q->protocol == IPPROTO_UDP, &s)) {
			result->is_partial = true;
			continue;
		}
		const unsigned bit = SOCK_BIT(s.state);
		const bool is_asked = (q->states & bit) != 0 &&
			(!q->local_port || q->local_port == s.local.port);

		s.protocol = q->protocol;
		result->seen += is_asked;
		if (is_asked)
			each(&s, arg);
	}
	result->is_partial |= lines.at != lines.end;
}

static int read_file(struct dump *d, uint8_t family)
{
	struct text t;
	int err = src_readf(&t, "proc/net/%s%s", protocol_name(d), family == AF_INET ? "" : "6");

	/* not there: no IPv6 */
	if (err == -ENOENT && family == AF_INET6)
		return 0;
	if (err < 0)
		return err;
	sockdiag_parse_file(t, d->query, family, d->each, d->arg, d->result);
	return 0;
}

/* ---- which way ---- */

/* Why inet_diag is not asked, or refused; NULL if it answered. */
static int ask(struct dump *d, const char **why)
{
	const char *module = arena_printf(src_arena(), "%s_diag", protocol_name(d));
	const uint64_t before = d->result->seen;

	*why = NULL;
	if (module_would_load(module)) {
		*why = arena_printf(src_arena(), "%s is not loaded and not asked, which would load "
				    "it (modprobe %s, or run ss once)", module, module);
		return 0;
	}
	int err = dump_families(d);

	if (err < 0 && d->result->seen == before)
		*why = arena_strdup(src_arena(), fail_text());
	return err;
}

static int each_inet(struct dump *d)
{
	const char *why;
	int err = ask(d, &why);

	if (!why)
		return err;
	/* what is not told below must be told by this */
	const char *what = d->query->protocol == IPPROTO_UDP ? "socket memory" :
		"queue limits, drops per socket";
	const char *text = arena_printf(src_arena(), "no %s: %s", what, why);

	const int worse = each_family(d, read_file);

	if (worse < 0)
		return err < 0 ? fail(-err, "%s", why) : worse;
	add_lack(d->result, text);
	return 0;
}

/* "MPTCP 1936 0 83 ...": the third word counts those of this namespace (net/core/sock.c). */
static bool has_mptcp(void)
{
	struct scan lines;
	struct text t, line, word;
	uint64_t n;
	bool is_known = false;

	if (src_read("proc/net/protocols", &t) < 0)
		return src_exists("proc/sys/net/mptcp");
	lines = scan_of(t);
	while (scan_line(&lines, &line)) {
		struct scan s = scan_of(line);

		if (!scan_word(&s, &word) || !text_starts(word, "MPTCP"))
			continue;
		is_known = true;
		if (!scan_skip_words(&s, 1) || !scan_word(&s, &word) || !scan_all_u64(word, &n) ||
		    n)
			return true;
	}
	return !is_known && src_exists("proc/sys/net/mptcp/enabled");
}

static int each_mptcp(struct dump *d)
{
	const char *why;

	if (!has_mptcp())
		return 0;
	d->is_mptcp = true;
	int err = ask(d, &why);

	if (!why)
		return err;
	add_lack(d->result, arena_printf(src_arena(), "no MPTCP sockets: %s", why));
	return 0;
}

int sockdiag_each(const struct sockdiag_query *q, void (*each)(const struct sock *s, void *arg),
		  void *arg, struct sockdiag_result *result)
{
	struct sockdiag_query query = *q;
	struct sockdiag_result new = { 0 };
	struct dump d = { .query = &query, .each = each, .arg = arg, .result = &new };

	query.states &= ALL_STATES;
	int err = each_inet(&d);

	if (!err && q->is_mptcp && q->protocol == IPPROTO_TCP)
		err = each_mptcp(&d);
	if (!err)
		*result = new;
	return err;
}
