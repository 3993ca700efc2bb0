#include "common/kernel/thermal.h"

#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

static uint64_t read_count(unsigned cpu, const char *which)
{
	struct text t;

	if (src_readf(&t, "sys/devices/system/cpu/cpu%u/thermal_throttle/%s_throttle_count", cpu,
		      which) < 0)
		return NA_U64;
	return sysctl_parse_number(t, 0);
}

void thermal_read(unsigned cpu_count, struct thermal *t)
{
	struct thermal new = { NA_U64, NA_U64 };

	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		uint64_t core = read_count(cpu, "core"), package = read_count(cpu, "package");

		/* where the first CPU does not count, none does; that one is hardly ever offline */
		if (!cpu && core == NA_U64 && package == NA_U64)
			break;
		if (core != NA_U64)
			new.cores = new.cores == NA_U64 ? core : new.cores + core;
		if (package != NA_U64 && (new.packages == NA_U64 || package > new.packages))
			new.packages = package;
	}
	*t = new;
}
