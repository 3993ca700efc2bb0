/* /proc/stat (fs/proc/stat.c, proc(5)): what the CPUs did since boot. */
#ifndef KERNEL_CPUSTAT_H
#define KERNEL_CPUSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

#define CPU_MAX 8192                   /* NR_CPUS of the largest distribution kernels */

/* Ticks of USER_HZ; guest is counted in user already. Columns an old kernel lacks are NA_U64, and
 * all are for a number without a line (offline, not present). */
struct cpu_times {
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
	bool is_online;                /* had a line */
};

struct cpu_stat {
	struct cpu_times all;
	struct cpu_times *cpus;        /* indexed by CPU number; freed by cpustat_free */
	size_t cpu_cap;                /* room in cpus */
	unsigned cpu_count;            /* highest CPU number with a line, plus one */
	unsigned online;               /* CPUs with a line */
	uint64_t context_switches, interrupts, softirqs, forks, btime_s, running, blocked;
};

/* Reads proc/stat through the source. 0 or -errno (-EINVAL: no "cpu" line, a CPU beyond CPU_MAX).
 * Call on a zeroed struct or one filled before (it is reused). Failing, it leaves all unknown. */
int cpustat_read(struct cpu_stat *s);
int cpustat_parse(struct text t, struct cpu_stat *s);
void cpustat_free(struct cpu_stat *s);

/* Shares of the time between two readings, 0..1; all unknown if the clock did not move. iowait and
 * steal are part of what is left of 1. Counters that went backwards (iowait does) count as 0. */
struct cpu_shares {
	double user, system, iowait, irq, softirq, steal, idle;   /* user includes nice */
	double busy;                                              /* 1 - idle - iowait */
};
void cpustat_shares(const struct cpu_times *before, const struct cpu_times *now,
		    struct cpu_shares *shares);

#endif
