/* A /proc/stat of anybody's making, read twice into one struct; and the shares between the two. */
#include "common/kernel/cpustat.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_share(double share)
{
	if (!is_na_f64(share) && (share < -1e-9 || share > 1 + 1e-9))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cpu_stat before, now;
	const struct text t = { (const char *)data, size };
	const struct text half = { t.data + size / 2, size - size / 2 };
	struct cpu_shares s;
	unsigned online = 0;

	if (cpustat_parse(half, &before) || cpustat_parse(t, &now))
		return 0;
	if (now.cpu_count > CPU_MAX || now.cpu_count > now.cpu_cap)
		abort();
	for (unsigned i = 0; i < now.cpu_count; i++)
		online += now.cpus[i].is_online;
	if (online != now.online)
		abort();
	cpustat_shares(&before.all, &now.all, &s);
	check_share(s.system);
	check_share(s.idle);
	check_share(s.steal);
	return 0;
}
