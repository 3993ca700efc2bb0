/* Any bytes as /proc/net/stat/nf_conntrack, and as a CPU's counters from ctnetlink. */
#include "common/kernel/conntrack.h"

#include <assert.h>
#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct conntrack c, cpu;

	conntrack_forget(&cpu);
	conntrack_add_cpu(t, &cpu);
	assert(cpu.count == NA_U64 && cpu.max == NA_U64 && cpu.buckets == NA_U64);
	if (conntrack_parse_stat(t, &c) == 0)
		assert(c.drop != NA_U64 && size && data[size - 1] == '\n');
	return 0;
}
