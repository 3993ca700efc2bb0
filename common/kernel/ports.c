#include "common/kernel/ports.h"

#include <errno.h>

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

struct reserved {
	const struct ports *range;
	uint64_t inside;
	uint8_t seen[PORTS / 8];       /* a list may say a port twice */
};

static void count_port(unsigned port, void *arg)
{
	struct reserved *r = arg;
	uint8_t bit = (uint8_t)(1u << port % 8);

	if (port < r->range->low || port > r->range->high || r->seen[port / 8] & bit)
		return;
	r->seen[port / 8] |= bit;
	r->inside++;
}

int ports_parse_reserved(struct text t, struct ports *p)
{
	struct reserved r = { .range = p };

	/* the same notation as a CPU list (kernel/sysctl.c, proc_do_large_bitmap) */
	if (!t.len || t.data[t.len - 1] != '\n' || scan_cpu_list(t, PORTS, count_port, &r) < 0)
		return fail(EINVAL, "/proc/sys/net/ipv4/ip_local_reserved_ports: no list of ports");
	p->reserved = r.inside;
	p->count = p->high - p->low + 1 - r.inside;
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
