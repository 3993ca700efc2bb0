#include "common/kernel/flow_events.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>

#include "common/base/fail.h"
#include "common/kernel/conntrack.h"
#include "common/kernel/module.h"

/* Some 4,000 messages: enough to tell the busiest keys; the kernel counts the rest. */
#define QUEUE_BYTES (4u << 20)
#define EVENTS_ALL 1

struct taking {
	void (*each)(const struct flow *f, void *arg);
	void *arg;
	uint64_t count;
};

int flow_events_open(struct flow_events *e)
{
	struct flow_events new = { 0 };

	if (module_would_load(CONNTRACK_MODULE))
		return fail(ENOPROTOOPT, "asking could make the kernel load " CONNTRACK_MODULE);
	int err = netlink_subscribe(&new.news, "conntrack.new", NETLINK_NETFILTER,
				    NFNLGRP_CONNTRACK_NEW, QUEUE_BYTES);

	if (err < 0)
		return err;
	new.has_news = true;
	if (conntrack_setting("events") == EVENTS_ALL)
		new.has_ends = netlink_subscribe(&new.ends, "conntrack.destroy", NETLINK_NETFILTER,
						 NFNLGRP_CONNTRACK_DESTROY, QUEUE_BYTES) >= 0;
	*e = new;
	return 0;
}

static void take(const struct netlink_message *m, void *arg)
{
	struct taking *t = arg;
	struct flow f;

	if (m->type >> 8 != NFNL_SUBSYS_CTNETLINK)
		return;
	t->count++;
	if (t->each && flow_parse_message(m->body, &f) >= 0)
		t->each(&f, t->arg);
}

static int receive(struct netlink_group *g, struct taking *t, uint64_t *lost)
{
	uint64_t before = g->lost;
	int err = netlink_receive(g, take, t);

	*lost = g->lost - before;
	return err;
}

int flow_events_read(struct flow_events *e, void (*each)(const struct flow *f, void *arg),
		     void *arg, struct flow_event_counts *counts)
{
	struct taking news = { each, arg, 0 }, ends = { 0 };
	struct flow_event_counts c = { NA_U64, NA_U64, NA_U64 };
	uint64_t lost;
	int err = 0;

	if (e->has_news && (err = receive(&e->news, &news, &lost)) >= 0) {
		c.begun = news.count + lost;
		c.begun_lost = lost;
	}
	if (e->has_ends && receive(&e->ends, &ends, &lost) >= 0)
		c.ended = ends.count + lost;
	*counts = c;
	return err;
}

void flow_events_close(struct flow_events *e)
{
	if (e->has_news)
		netlink_unsubscribe(&e->news);
	if (e->has_ends)
		netlink_unsubscribe(&e->ends);
	*e = (struct flow_events){ 0 };
}
