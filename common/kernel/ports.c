#include "common/kernel/ports.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

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

/* Ascending, with gaps between: as the kernel prints a bitmap (kernel/sysctl.c). */
static bool each_range(struct text t, void (*each)(uint64_t first, uint64_t last, void *arg),
		       void *arg)
{
	struct scan s = scan_of(t);
	struct text line;
	uint64_t first, last, next = 0;

	if (!scan_until(&s, '\n', &line))
		return false;
	for (s = scan_of(line); s.at < s.end; next = last + 1) {
		if ((next && !scan_literal(&s, ",")) || !scan_ports(&s, &first, &last) ||
		    first < next)
			return false;
		each(first, last, arg);
	}
	return true;
}

static int no_list(void)
{
	return fail(EINVAL, "/proc/sys/net/ipv4/ip_local_reserved_ports: no list of ports");
}

static void take_off(uint64_t first, uint64_t last, void *arg)
{
	struct ports *p = arg;
	uint64_t low = first > p->low ? first : p->low, high = last < p->high ? last : p->high;

	p->reserved += low <= high ? high - low + 1 : 0;
}

int ports_parse_reserved(struct text t, struct ports *p)
{
	struct ports new = { p->low, p->high, 0, 0 };

	if (!each_range(t, take_off, &new))
		return no_list();
	new.count = new.high - new.low + 1 - new.reserved;
	*p = new;
	return 0;
}

static void add_range(uint64_t first, uint64_t last, void *arg)
{
	for (uint64_t port = first; port <= last; port++)
		port_set_add(arg, (uint16_t)port);
}

int ports_parse_set(struct text list, struct port_set *s)
{
	memset(s, 0, sizeof(*s));
	return each_range(list, add_range, s) ? 0 : no_list();
}

void port_set_join(struct port_set *s, const struct port_set *more)
{
	for (size_t i = 0; i < sizeof(s->words) / sizeof(s->words[0]); i++)
		s->words[i] |= more->words[i];
}

void port_set_take(struct port_set *s, const struct port_set *less)
{
	for (size_t i = 0; i < sizeof(s->words) / sizeof(s->words[0]); i++)
		s->words[i] &= ~less->words[i];
}

uint64_t port_set_count(const struct port_set *s, uint64_t low, uint64_t high)
{
	uint64_t n = 0;

	for (uint64_t port = low; port <= high && port < PORTS;) {
		uint64_t word = s->words[port / 64] >> port % 64, left = high - port + 1;

		if (left < 64)
			word &= (1ull << left) - 1;
		n += (uint64_t)__builtin_popcountll(word);
		port += 64 - port % 64;
	}
	return n;
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

int ports_read_reserved(struct port_set *s)
{
	struct text t;
	int err = src_read("proc/sys/net/ipv4/ip_local_reserved_ports", &t);

	if (err >= 0)
		return ports_parse_set(t, s);
	memset(s, 0, sizeof(*s));
	return err == -ENOENT ? 0 : err;
}
