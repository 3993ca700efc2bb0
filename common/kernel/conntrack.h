/*
 * Connection tracking's counts: /proc/sys/net/netfilter and /proc/net/stat/nf_conntrack
 * (net/netfilter/nf_conntrack_standalone.c). Files only: reading them never loads the module.
 */
#ifndef KERNEL_CONNTRACK_H
#define KERNEL_CONNTRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

struct conntrack {
	bool is_in_use;                /* the module is there; else all is unknown */
	/* entries of this namespace, expired ones that are not yet reaped included */
	uint64_t count, max;
	/* since boot or since the namespace was made, summed over CPUs */
	uint64_t drop;                 /* packets: table full, no memory, refused by a tracker */
	uint64_t early_drop;           /* unanswered entries evicted to make room */
	uint64_t insert_failed;        /* entries that could not be added */
};

/*
 * Hexadecimal columns found by name, a line per CPU. Sets the last three; -EINVAL: no header or no
 * whole line.
 */
int conntrack_parse_stat(struct text t, struct conntrack *c);

/*
 * Of the network namespace the program is in. 0, also if not in use; -errno with fail text if one
 * of the files makes no sense: what the others say is set all the same.
 */
int conntrack_read(struct conntrack *c);

#endif
