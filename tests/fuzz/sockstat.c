/* Any bytes as /proc/net/sockstat and sockstat6, a port range, and a list of reserved ports. */
#include "common/kernel/sockstat.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "common/kernel/ports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	return 0;
}
