/* Network devices as sysfs has them: sys/class/net (Documentation/ABI/testing/sysfs-class-net). */
#ifndef KERNEL_NETDEV_H
#define KERNEL_NETDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/*
 * sysfs shows the network namespace it was mounted in, which must be the caller's own for this to
 * be right. A name that has a slash is no device's.
 */
/* a bus device, virtio's included, stands behind it */
bool netdev_is_hardware(const char *name);

/* Bits per second each way; NA_U64 if the driver does not say (as virtio), or the link is down. */
uint64_t netdev_read_speed(const char *name);
/* Mbit/s; -1, 2^32-1 (before 2.6.39) and 0 are unknown */
uint64_t netdev_parse_speed(struct text t);

#endif
