/*
 * All flows the kernel tracks in the network namespace the program is in, one by one as they come:
 * ctnetlink's dump, or /proc/net/nf_conntrack where asking would load a module or is refused.
 * A dump walks the one hash table all namespaces share (some 60 ms per 262,144 buckets, whoever has
 * the flows), and it takes away entries that have expired: the count is lower afterwards.
 */
#ifndef KERNEL_FLOW_DUMP_H
#define KERNEL_FLOW_DUMP_H

#include "common/kernel/flow.h"
#include "common/kernel/netlink.h"

struct flow_reader {
	void (*each)(const struct flow *f, void *arg);
	void (*restart)(void *arg);    /* what each got before is void: the dump begins anew */
	void *arg;
};

struct flow_dump {
	uint64_t flows;                /* handed over: they match the filter */
	uint64_t duplicates;           /* left out */
	uint64_t garbled;              /* not understood */
	bool is_partial;               /* some were lost */
	bool is_from_proc;
	const char *refused;           /* why ctnetlink was not used; NULL: it was */
};

/*
 * filter NULL: all. What the kernel can filter it is asked to (addresses, protocol, ports: 5.8;
 * mark; status, zone where it knows them), and what comes is looked at again.
 * 0, or -errno with fail text if there is neither source. Bounded memory from ctnetlink; /proc is
 * read whole, up to SRC_FILE_MAX.
 */
int flow_dump(const struct flow_filter *filter, const struct flow_reader *reader,
	      struct flow_dump *dump);

/* For tests: what is asked of the kernel, behind the nlmsghdr; family AF_UNSPEC: both. */
void flow_dump_body(const struct flow_filter *filter, uint8_t family, struct buf *body);

/*
 * Flows handed over already. The kernel walks bucket by bucket, and when the entry it stopped at is
 * gone it begins that bucket again (ctnetlink_dump_table): what comes twice comes within one bucket
 * (some 80 at most since 5.15), so it is enough to remember the latest few thousand. By id and
 * tuple: in a large table some ids are the same by chance.
 */
#define FLOW_RECENT_SETS 2048
#define FLOW_RECENT_WAYS 4
struct flow_recent {
	uint64_t sets[FLOW_RECENT_SETS][FLOW_RECENT_WAYS];     /* latest first; 0: none */
};
/* and remembers it */
bool flow_is_repeated(struct flow_recent *recent, const struct flow *f);

#endif
