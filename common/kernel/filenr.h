/* Open files of the whole host: fs.file-nr, Documentation/admin-guide/sysctl/fs.rst. */
#ifndef KERNEL_FILENR_H
#define KERNEL_FILENR_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

struct file_nr {
	/* file handles; the kernel's count may lag by 32 per CPU (percpu_counter) */
	uint64_t open;
	uint64_t max;                  /* fs.file-max; systemd sets it to 2^63 - 1: no limit */
};
int file_nr_parse(struct text t, struct file_nr *f);   /* "858\t0\t2466160\n"; -EINVAL */
int file_nr_read(struct file_nr *f);                   /* 0 or -errno with fail text */

#endif
