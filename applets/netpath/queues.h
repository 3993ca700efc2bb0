/* Inside netpath's qdisc and tc layers: what a look keeps of the queues of a namespace. */
#ifndef APPLETS_NETPATH_QUEUES_H
#define APPLETS_NETPATH_QUEUES_H

#include "applets/netpath/netpath.h"
#include "common/kernel/qdisc.h"
#include "common/kernel/tcaction.h"

struct queues {
	struct qdiscs list;
	struct tc_actions actions;     /* of the devices that have ingress or clsact */
};

/* The same one in an earlier look, most likely at the same position; NULL. */
const struct qdisc *queues_same(const struct queues *was, const struct qdisc *q, size_t at);

/* tc.c: what is at the edge `d`, and what it dropped */
void tc_read(struct out *out, struct look *look, struct queues *q, const struct qdisc *d);
void tc_compare(struct walk *w, size_t space, const struct queues *was, const struct queues *q,
		const struct link *l);

#endif
