/* Settings that are numbers, under /proc/sys. */
#ifndef KERNEL_SYSCTL_H
#define KERNEL_SYSCTL_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/*
 * Number `index` (from 0) of a setting that has several: sysctl_number("net/ipv4/tcp_mem", 2).
 * NA_U64 with fail text if it can't be read, is negative, or is cut.
 */
uint64_t sysctl_number(const char *name, unsigned index);
uint64_t sysctl_parse_number(struct text t, unsigned index);   /* without fail text */

#endif
