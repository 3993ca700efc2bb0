/* Network namespaces: how many there are that can be seen from here. */
#ifndef KERNEL_NETNS_H
#define KERNEL_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netns_count {
	size_t seen;                   /* different ones, our own included */
	bool is_complete;              /* false: some processes' could not be read */
};

/* Through proc/PID/ns/net and the names in run/netns and run/docker/netns. 0 or -errno. */
int netns_count(struct netns_count *count);

#endif
