/* Network counters of anybody's making. */
#include "common/kernel/netcount.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct arena arena;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct net_device *devices;
	size_t count;

	netcount_find(t, "Tcp", "PassiveOpens");
	netcount_find(t, "TcpExt", "ListenOverflows");
	netcount_find(t, NULL, "Ip6InReceives");
	if (!netcount_parse_devices(&arena, t, &devices, &count))
		for (size_t i = 0; i < count; i++)
			if (!devices[i].name || !*devices[i].name)
				abort();
	arena_reset(&arena);
	return 0;
}
