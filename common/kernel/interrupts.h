/* /proc/interrupts, the CPUs' own lines at its end: kernel/irq/proc.c, arch/x86/kernel/irq.c. */
#ifndef KERNEL_INTERRUPTS_H
#define KERNEL_INTERRUPTS_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/* CPUs in the header; 0: there is none. */
unsigned interrupts_count_cpus(struct text t);

/*
 * The line "NAME:" ("MCE", "ERR") summed over CPUs; a line may have fewer numbers than there are
 * CPUs.
 * NA_U64 if there is none, or if the header or the line is cut. The names differ by architecture.
 */
uint64_t interrupts_sum(struct text t, const char *name);

#endif
