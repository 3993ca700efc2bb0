/* What /proc says of a thread, of anybody's making: spans stay inside it, numbers are whole. */
#include "common/kernel/task.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct text whole, struct text part)
{
	if (part.len && (part.data < whole.data || part.len > whole.len ||
			 (size_t)(part.data - whole.data) > whole.len - part.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const controllers[] = { "", "cpu", "cpuacct", "name=systemd" };
	const struct text t = { (const char *)data, size };
	struct task_stat stat;
	struct task_schedstat schedstat;
	struct task_status status;
	struct text path;

	if (!task_parse_stat(t, &stat)) {
		const char *close = memrchr(t.data, ')', t.len);

		inside(t, stat.comm);
		if (stat.comm.data + stat.comm.len != close)
			abort();               /* the last one ends the name */
	}
	if (!task_parse_schedstat(t, &schedstat) && schedstat.runs == NA_U64)
		abort();
	if (!task_parse_status(t, &status)) {
		inside(t, status.cpus_allowed);
		inside(t, status.nspid);
	}
	for (size_t i = 0; i < sizeof(controllers) / sizeof(*controllers); i++)
		if (task_parse_cgroup(t, controllers[i], &path)) {
			inside(t, path);
			if (*path.data != '/')
				abort();
		}
	return 0;
}
