/*
 * Flows that begin and end, as ctnetlink tells of them (NFNLGRP_CONNTRACK_NEW and _DESTROY): the
 * only way to know how many begin, as no counter of the kernel moves with them. Each costs the
 * kernel a message (1 to 2 us), read or not.
 */
#ifndef KERNEL_FLOW_EVENTS_H
#define KERNEL_FLOW_EVENTS_H

#include "common/kernel/flow.h"
#include "common/kernel/netlink.h"

/*
 * Of one namespace, opened in it. The kernel counts what a full queue made it drop, so numbers are
 * right however few messages are kept.
 */
struct flow_events {
	struct netlink_group news, ends;
	bool has_news, has_ends;
};

/* Of what came since the last flow_events_read. */
struct flow_event_counts {
	uint64_t begun, begun_lost;    /* lost: those of them whose message was dropped */
	uint64_t ended;                /* NA_U64: not all flows tell when they end */
};

/*
 * Ends are asked for only if every flow tells (net.netfilter.nf_conntrack_events is 1: with 2, the
 * default since 5.19, those that began before somebody listened do not). 0 or -errno with fail
 * text; also if asking could load a module.
 */
int flow_events_open(struct flow_events *e);
/* each (or NULL) gets the flows that began, those whose message was dropped left out. */
int flow_events_read(struct flow_events *e, void (*each)(const struct flow *f, void *arg),
		     void *arg, struct flow_event_counts *counts);
void flow_events_close(struct flow_events *e);         /* a zeroed one as well */

#endif
