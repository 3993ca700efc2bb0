/* Any bytes as /proc/net/softnet_stat, /proc/interrupts and a device's speed. */
#include "common/kernel/softnet.h"

#include <assert.h>
#include <stddef.h>

#include "common/kernel/interrupts.h"
#include "common/kernel/netdev.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct softnet s = { 0 };
	struct softnet_delta d;

	if (softnet_parse(t, &s) == 0) {
		assert(s.cpus > 0 && data[size - 1] == '\n');
		softnet_subtract(&s, &s, &d);
		assert(d.processed == 0 && d.dropped == 0 && d.squeezed == 0);
	}
	interrupts_sum(t, "MCE");
	interrupts_sum(t, "");
	uint64_t speed = netdev_parse_speed(t);

	assert(speed == NA_U64 || (speed > 0 && speed % 1000000 == 0));
	return 0;
}
