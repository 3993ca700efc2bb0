/*
 * Queueing disciplines and their classes, with counters: RTM_GETQDISC and RTM_GETTCLASS
 * (net/sched/sch_api.c, include/uapi/linux/gen_stats.h), of the network namespace the program is
 * in. What a qdisc keeps inside (the bfifo of a tbf) the kernel does not list.
 */
#ifndef KERNEL_QDISC_H
#define KERNEL_QDISC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

#define QDISC_ROOT 0xffffffffu         /* a parent: of the device itself */
#define QDISC_INGRESS 0xfffffff1u      /* a parent: of ingress and clsact, which queue nothing */

struct qdisc {
	uint32_t ifindex;
	uint32_t handle;               /* major number << 16; of a class both numbers */
	uint32_t parent;
	uint32_t leaf;                 /* of a class: handle of the qdisc in it; 0: none */
	bool is_class;
	const char *kind;              /* "fq_codel"; never NULL */
	/* Since it was made. drops, overlimits and requeues are 32 bits wide, and wrap. */
	uint64_t bytes, packets, drops, requeues, overlimits;
	uint64_t length, backlog_bytes;        /* waiting now */
};

struct qdiscs {
	struct qdisc *items;
	size_t count, cap;
};

/* Adds all of the namespace to list, in arena. 0 or -errno with fail text. */
int qdiscs_read(struct arena *arena, struct qdiscs *list);
/* Adds a device's classes. */
int qdiscs_read_classes(struct arena *arena, uint32_t ifindex, struct qdiscs *list);

/* now - before of a counter of 32 bits that may have wrapped; NA_U64 if either is unknown or it
 * started over. */
uint64_t qdisc_moved(uint64_t now, uint64_t before);

/* What follows the nlmsghdr (RTM_NEWQDISC, RTM_NEWTCLASS). -EINVAL without fail text: cut, or
 * without a kind. */
int qdisc_parse(struct arena *arena, struct text body, bool is_class, struct qdisc *q);

/* "8007:", "1:10", "root" */
const char *qdisc_handle_text(struct arena *a, uint32_t handle);

/* TCA_STATS2's attributes, which filters' actions have as well; what is missing is NA_U64. */
struct qdisc_stats {
	uint64_t bytes, packets, drops, requeues, overlimits, length, backlog_bytes;
};
void qdisc_parse_stats(struct text attrs, struct qdisc_stats *s);

#endif
