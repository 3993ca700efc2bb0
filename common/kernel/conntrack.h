/*
 * Connection tracking's counts: how full the table is and what was lost to it. From
 * /proc/sys/net/netfilter and /proc/net/stat/nf_conntrack
 * (net/netfilter/nf_conntrack_standalone.c); where the kernel or a container has no such files,
 * from ctnetlink (net/netfilter/nf_conntrack_netlink.c), unless asking it would load a module.
 */
#ifndef KERNEL_CONNTRACK_H
#define KERNEL_CONNTRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/na.h"
#include "common/base/text.h"
#include "common/kernel/netlink.h"

/*
 * Counters are per network namespace, since it was made, summed over CPUs; NA_U64 where this kernel
 * has none. The kernel counts in 32 bits per CPU: conntrack_moved() for differences.
 */
struct conntrack {
	bool is_in_use;                /* the kernel tracks here; else all is unknown */
	/* entries of this namespace, expired ones that are not yet reaped included */
	uint64_t count;
	uint64_t max;                  /* one number for the host: each namespace's own count may
					  come this far */
	uint64_t buckets;              /* of the one table that all namespaces share */
	uint64_t drop;                 /* packets: table full, no memory, an unresolved clash */
	uint64_t early_drop;           /* unassured entries evicted to make room */
	uint64_t insert_failed;        /* entries that could not be added: a clash or a long chain;
					  before 5.10 also clashes that were then resolved */
	uint64_t invalid;              /* packets that belong to no flow; not lost by that alone */
	uint64_t search_restart;       /* lookups begun again: the table was resized meanwhile */
	uint64_t chain_too_long;       /* entries not added: their chain was full (5.15 on) */
	uint64_t clash_resolved;       /* two packets made one flow, none was lost (5.10 on) */
};

void conntrack_forget(struct conntrack *c);    /* all unknown, in use */

/* now - before of a counter above, which may have wrapped; NA_U64 if either is unknown. */
uint64_t conntrack_moved(uint64_t now, uint64_t before);

/*
 * Hexadecimal columns found by name, a line per CPU; the old format ("searched", "delete_list") and
 * the present one. Sets the counters; -EINVAL: no header or no whole line.
 */
int conntrack_parse_stat(struct text t, struct conntrack *c);

/* One CPU's counters of IPCTNL_MSG_CT_GET_STATS_CPU, behind the nlmsghdr, added to c's (NA_U64
 * there: none yet). -EINVAL if it is cut. */
int conntrack_add_cpu(struct text body, struct conntrack *c);

/*
 * Of the network namespace the program is in. 0, also if not in use; -errno with fail text if
 * something makes no sense: what the rest says is set all the same.
 */
int conntrack_read(struct conntrack *c);

/* Bytes an entry takes (proc/slabinfo, which root can read); NA_U64. */
uint64_t conntrack_entry_bytes(void);

/*
 * net.netfilter.nf_conntrack_NAME of this namespace: "events" (0: none; 1: all flows; 2: flows that
 * begin while somebody listens, 5.19 on), "acct" (bytes and packets), "timestamp".
 */
uint64_t conntrack_setting(const char *name);

/* struct nfgenmsg, which every body of a netfilter request begins with. */
void conntrack_begin_body(struct buf *body, uint8_t family);

#define CONNTRACK_MODULE "nf_conntrack_netlink"        /* for module_would_load */

#endif
