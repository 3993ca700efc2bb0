#include "common/kernel/ports.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define PORTS 65536u

int ports_parse_range(struct text t, struct ports *p)
{
	uint64_t low = sysctl_parse_number(t, 0), high = sysctl_parse_number(t, 1);

	if (low >= PORTS || high >= PORTS || low > high)
		return fail(EINVAL, "/proc/sys/net/ipv4/ip_local_port_range: no two ports");
	*p = (struct ports){ low, high, 0, high - low + 1 };
	return 0;
}

/* "9000-9010", or one port. */
static bool scan_ports(struct scan *s, uint64_t *first, uint64_t *last)
{
	if (!scan_u64(s, first))
		return false;
	*last = *first;
	if (scan_literal(s, "-") && !scan_u64(s, last))
		return false;
	return *first <= *last && *last < PORTS;
}

static uint64_t overlap(const struct ports *p, uint64_t first, uint64_t last)
{
	uint64_t low = first > p->low ? first : p->low, high = last < p->high ? last : p->high;

	return low <= high ? high - low + 1 : 0;
}

/* Ascending, with gaps between: as the kernel prints a bitmap (kernel/sysctl.c). */
int ports_parse_reserved(struct text t, struct ports *p)
{
	struct scan s = scan_of(t);
	struct text line;
	uint64_t first, last, reserved = 0, next = 0;
	bool is_good = scan_until(&s, '\n', &line);

	for (s = is_good ? scan_of(line) : s; is_good && s.at < s.end; next = last + 1) {
		is_good = (!next || scan_literal(&s, ",")) && scan_ports(&s, &first, &last) &&
			first >= next;
		if (!is_good)
			break;
		reserved += overlap(p, first, last);
	}
	if (!is_good)
		return fail(EINVAL, "/proc/sys/net/ipv4/ip_local_reserved_ports: no list of ports");
	p->reserved = reserved;
	p->count = p->high - p->low + 1 - reserved;
	return 0;
}

int ports_read(struct ports *p)
{
	struct text t;
	struct ports new;
	int err = src_read("proc/sys/net/ipv4/ip_local_port_range", &t);

	if (err >= 0)
		err = ports_parse_range(t, &new);
	if (err < 0)
		return err;
	err = src_read("proc/sys/net/ipv4/ip_local_reserved_ports", &t);
	if (err >= 0)
		err = ports_parse_reserved(t, &new);
	if (err < 0 && err != -ENOENT)
		return err;
	*p = new;
	return 0;
}
