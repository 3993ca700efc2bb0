#include "common/kernel/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/fail.h"

int perf_probe(enum perf_scope scope)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER0,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
		.exclude_kernel = scope == PERF_OWN_USER,
		.exclude_hv = 1,
	};
	/* one that is online: the one we are on */
	int cpu = scope == PERF_CPU ? sched_getcpu() : -1;

	if (scope == PERF_CPU && cpu < 0)
		return fail_errno(errno, "sched_getcpu");
	long fd = syscall(SYS_perf_event_open, &attr, scope == PERF_CPU ? -1 : 0, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return fail_errno(errno, "perf_event_open");
	close((int)fd);
	return 0;
}
