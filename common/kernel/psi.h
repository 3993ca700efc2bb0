/* Pressure stall information: Documentation/accounting/psi.rst, kernel/sched/psi.c. */
#ifndef KERNEL_PSI_H
#define KERNEL_PSI_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/* Stall time since boot in ns. A line that is not there is NA_U64. Rates come from deltas of these,
 * never avg10. */
struct psi {
	uint64_t some_ns, full_ns;
};
int psi_parse(struct text t, struct psi *p);

/*
 * proc/pressure/{cpu,memory,io,irq} or a cgroup's file. -errno with fail text: EOPNOTSUPP says
 * that the kernel has PSI but it is off ("boot with psi=1"), ENOENT that it has none (CONFIG_PSI)
 * or that this cgroup's was turned off (cgroup.pressure).
 */
int psi_read(const char *path, struct psi *p);

#endif
