/* Kernel modules: whether asking for a subsystem could make the kernel load it. */
#ifndef KERNEL_MODULE_H
#define KERNEL_MODULE_H

#include <stdbool.h>

/*
 * A request for a handler that is not there makes the kernel run modprobe, whoever asks, also from
 * a container. True if that could happen for module `name` ("tcp_diag"); false if it is loaded, is
 * part of the kernel, or nothing can be loaded (CONFIG_MODULES=n, kernel.modules_disabled, an empty
 * kernel.modprobe). Where it can't be known (no lib/modules in a container) the answer is true: the
 * way that leaves the host as it is.
 */
bool module_would_load(const char *name);

#endif
