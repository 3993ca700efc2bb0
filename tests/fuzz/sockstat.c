/* Any bytes as /proc/net/sockstat and sockstat6, a port range, and a list of reserved ports. */
#include "common/kernel/sockstat.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "common/kernel/ports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The list as a set says the same as the list taken off the range. */
static void check_set(struct text list, const struct ports *p)
{
	static struct port_set s;
	struct ports other = *p;
	bool is_good = ports_parse_reserved(list, &other) == 0;

	assert((ports_parse_set(list, &s) == 0) == is_good);
	if (is_good)
		assert(port_set_count(&s, p->low, p->high) == other.reserved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	const char *line = size ? memchr(data, '\n', size) : NULL;
	struct sockstat s;
	struct ports p;

	if (sockstat_parse(t, &s) == 0)
		sockstat_parse_v6(t, &s);
	/* the first line a range, the rest a list */
	size_t first = line ? (size_t)(line + 1 - t.data) : size;

	if (ports_parse_range((struct text){ t.data, first }, &p) < 0)
		return 0;
	assert(p.low <= p.high && p.high < 65536 && p.count == p.high - p.low + 1);
	if (ports_parse_reserved((struct text){ t.data + first, size - first }, &p) == 0)
		assert(p.reserved + p.count == p.high - p.low + 1);
	check_set((struct text){ t.data + first, size - first }, &p);
	return 0;
}
