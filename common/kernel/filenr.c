#include "common/kernel/filenr.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

int file_nr_parse(struct text t, struct file_nr *f)
{
	uint64_t allocated = sysctl_parse_number(t, 0), unused = sysctl_parse_number(t, 1);
	uint64_t max = sysctl_parse_number(t, 2);

	if (allocated == NA_U64 || unused == NA_U64 || max == NA_U64 || unused > allocated)
		return fail(EINVAL, "/proc/sys/fs/file-nr: not three numbers");
	*f = (struct file_nr){ allocated - unused, max };
	return 0;
}

int file_nr_read(struct file_nr *f)
{
	struct text t;
	int err = src_read("proc/sys/fs/file-nr", &t);

	return err < 0 ? err : file_nr_parse(t, f);
}
