/* Any bytes as a line of /proc/PID/maps. */
#include "common/kernel/procmaps.h"

#include <assert.h>
#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text line = { (const char *)data, size };
	struct procmap m;

	if (procmap_parse(line, &m)) {
		assert(m.start < m.end);
		assert(!m.path.len || (m.path.data > line.data &&
				       m.path.data + m.path.len == line.data + line.len));
	}
	return 0;
}
