/*
 * CPUs slowed down because they were hot: sys/devices/system/cpu/cpuN/thermal_throttle
 * (drivers/thermal/intel/therm_throt.c).
 */
#ifndef KERNEL_THERMAL_H
#define KERNEL_THERMAL_H

#include <stdint.h>

#include "common/base/na.h"

/* Times since boot; NA_U64 where the processor or the kernel does not count. */
struct thermal {
	/* summed over CPUs: the two threads of a core both count its events */
	uint64_t cores;
	/* the CPU that saw most of its package's: each CPU counts the same ones */
	uint64_t packages;
};

/* CPUs 0 to cpu_count - 1; those offline are passed over. */
void thermal_read(unsigned cpu_count, struct thermal *t);

#endif
