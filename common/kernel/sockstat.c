#include "common/kernel/sockstat.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

/* On the line "PROTOCOL: key value ..." the value of key. A line without newline may be cut. */
static uint64_t find_value(struct text t, const char *protocol, const char *key)
{
	struct scan lines = scan_of(t);
	struct text line, word, value;
	uint64_t n;

	while (scan_until(&lines, '\n', &line)) {
		struct scan s = scan_of(line);

		if (!scan_literal(&s, protocol) || !scan_literal(&s, ":"))
			continue;
		while (scan_word(&s, &word) && scan_word(&s, &value))
			if (text_is(word, key))
				return scan_all_u64(value, &n) ? n : NA_U64;
	}
	return NA_U64;
}

int sockstat_parse(struct text t, struct sockstat *s)
{
	struct sockstat new = {
		.used = find_value(t, "sockets", "used"),
		.tcp = find_value(t, "TCP", "inuse"),
		.tcp6 = NA_U64,
		.tcp_time_wait = find_value(t, "TCP", "tw"),
		.tcp_orphans_host = find_value(t, "TCP", "orphan"),
		.tcp_allocated_host = find_value(t, "TCP", "alloc"),
		.tcp_memory_pages_host = find_value(t, "TCP", "mem"),
		.udp = find_value(t, "UDP", "inuse"),
		.udp6 = NA_U64,
		.udp_memory_pages_host = find_value(t, "UDP", "mem"),
	};

	if (new.used == NA_U64 && new.tcp == NA_U64 && new.udp == NA_U64)
		return fail(EINVAL, "/proc/net/sockstat: no line makes sense");
	*s = new;
	return 0;
}

int sockstat_parse_v6(struct text t, struct sockstat *s)
{
	uint64_t tcp = find_value(t, "TCP6", "inuse"), udp = find_value(t, "UDP6", "inuse");

	if (tcp == NA_U64 && udp == NA_U64)
		return fail(EINVAL, "/proc/net/sockstat6: no line makes sense");
	s->tcp6 = tcp;
	s->udp6 = udp;
	return 0;
}

int sockstat_read(struct sockstat *s)
{
	struct text t;
	struct sockstat new;
	int err = src_read("proc/net/sockstat", &t);

	if (err >= 0)
		err = sockstat_parse(t, &new);
	if (err < 0)
		return err;
	err = src_read("proc/net/sockstat6", &t);
	if (err == -ENOENT)
		/* a kernel without IPv6, or started with ipv6.disable=1 */
		new.tcp6 = new.udp6 = 0;
	else if (err >= 0)
		err = sockstat_parse_v6(t, &new);
	*s = new;
	return err == -ENOENT ? 0 : err;
}
