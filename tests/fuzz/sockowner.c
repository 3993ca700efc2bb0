/* Any bytes as proc/PID/limits, as a descriptor's link, and as a saved reply of the iterator. */
#include "common/kernel/sockowner.h"

#include <stdlib.h>

#include "common/base/na.h"
#include "common/kernel/netns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count(const struct sockowner_row *row, void *arg)
{
	if (row->kind != SOCKOWNER_SOCKET && row->kind != SOCKOWNER_NAMESPACE)
		abort();
	++*(size_t *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	uint64_t inode = 0;
	size_t rows = 0;

	sockowner_parse_limit(t);
	if (!netns_parse_link(t, &inode) && inode)
		abort();
	int err = sockowner_parse_rows(t, count, &rows);

	if (rows > size / sizeof(struct sockowner_row) ||
	    (!err && rows * sizeof(struct sockowner_row) != size))
		abort();
	return 0;
}
