/* Any bytes as the files that count threads and files: loadavg, file-nr, pids.max, pids.events. */
#include "common/kernel/pids.h"

#include <assert.h>
#include <stddef.h>

#include "common/kernel/filenr.h"
#include "common/kernel/sysctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct pids_host host;
	struct file_nr files;
	bool has_limit;
	uint64_t max;

	pids_parse_loadavg(t, &host);
	if (file_nr_parse(t, &files) == 0)
		assert(files.open != NA_U64 && files.max != NA_U64);
	if (pids_parse_max(t, &has_limit, &max))
		assert(has_limit == (max != NA_U64));
	pids_parse_events(t);
	sysctl_parse_number(t, 0);
	sysctl_parse_number(t, 2);
	return 0;
}
