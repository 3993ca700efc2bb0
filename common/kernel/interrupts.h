/*
 * /proc/interrupts, whose last lines are the CPUs' own (kernel/irq/proc.c, arch/x86/kernel/irq.c),
 * and /proc/softirqs, which has the same form (fs/proc/softirqs.c).
 */
#ifndef KERNEL_INTERRUPTS_H
#define KERNEL_INTERRUPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/base/text.h"

/* CPUs in the header; 0: there is none. */
unsigned interrupts_count_cpus(struct text t);

/*
 * The line "NAME:" ("MCE", "ERR") summed over CPUs; a line may have fewer numbers than there are
 * CPUs.
 * NA_U64 if there is none, or if the header or the line is cut. The names differ by architecture.
 */
uint64_t interrupts_sum(struct text t, const char *name);

/*
 * Line by line. There is a column for each CPU of the header, which need not be 0, 1, 2 ...: in
 * /proc/interrupts offline ones have none, in /proc/softirqs all possible ones have.
 */
struct interrupts {
	struct scan lines;
	struct text header;
	unsigned columns;
};
struct interrupts_line {
	struct text name;              /* "24", "NMI", "NET_RX" */
	struct text rest;              /* counts, then for what */
};

/* -EINVAL with fail text: no header. */
int interrupts_start(struct interrupts *i, struct text t);
/* The CPUs of the columns into cpus[i->columns]. -EINVAL: one from `limit` on, or none. */
int interrupts_cpus(const struct interrupts *i, unsigned limit, unsigned *cpus);
/* Whole lines only; what makes no sense is passed over. */
bool interrupts_next(struct interrupts *i, struct interrupts_line *line);
/*
 * The first i->columns counts; false: fewer. The counters have 32 bits and wrap. *what, if not
 * NULL: the devices' names, which may hold single spaces and commas; empty for an unused one.
 */
bool interrupts_counts(const struct interrupts *i, const struct interrupts_line *line,
		       uint32_t *counts, struct text *what);

#endif
