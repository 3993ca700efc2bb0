#include "common/kernel/tcaction.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <sys/socket.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/kernel/netlink.h"
#include "common/kernel/qdisc.h"
#include "common/kernel/source.h"

#define ACTIONS_MAX 65536

/* Where each kind of filter has its actions, and the old way to police. */
static const struct {
	const char *kind;
	uint16_t actions;
} filters[] = {
	{ "u32", TCA_U32_ACT },           { "flower", TCA_FLOWER_ACT },
	{ "matchall", TCA_MATCHALL_ACT }, { "basic", TCA_BASIC_ACT },
	{ "bpf", TCA_BPF_ACT },           { "fw", TCA_FW_ACT },
	{ "flow", TCA_FLOW_ACT },         { "cgroup", TCA_CGROUP_ACT },
	{ "route", TCA_ROUTE4_ACT },
};

static struct tc_action *add(struct arena *arena, struct tc_actions *list)
{
	if (list->count == ACTIONS_MAX)
		return NULL;
	if (list->count == list->cap) {
		const size_t cap = list->cap ? list->cap * 2 : 16;
		struct tc_action *more = arena_alloc(arena, cap * sizeof(*more));

		if (list->count)
			memcpy(more, list->items, list->count * sizeof(*more));
		list->items = more;
		list->cap = cap;
	}
	return &list->items[list->count++];
}

/* What can't be redirected is lost, and counted as over a limit (tcf_mirred_to_dev). */
static void parse_redirect(struct text options, const struct qdisc_stats *stats,
			   struct tc_action *a)
{
	struct tc_mirred parameters;
	struct text data;

	if (!netlink_find(options, TCA_MIRRED_PARMS, &data) || data.len < sizeof(parameters))
		return;
	memcpy(&parameters, data.data, sizeof(parameters));
	a->is_redirect = parameters.eaction == TCA_EGRESS_REDIR ||
		parameters.eaction == TCA_INGRESS_REDIR;
	a->to_ifindex = parameters.ifindex;
	a->drops = a->is_redirect ? stats->overlimits : 0;
}

static void parse_action(struct arena *arena, struct text attrs, const struct tc_action *filter,
			 uint32_t order, struct tc_actions *list)
{
	struct qdisc_stats stats;
	struct text kind, data;

	if (!netlink_find(attrs, TCA_ACT_KIND, &kind))
		return;
	struct tc_action *a = add(arena, list);

	if (!a)
		return;
	if (!netlink_find(attrs, TCA_ACT_STATS, &data))
		data = TEXT("");
	qdisc_parse_stats(data, &stats);
	*a = *filter;
	a->kind = arena_text(arena, netlink_string(kind));
	a->packets = stats.packets;
	a->drops = stats.drops;
	a->order = order;
	if (!netlink_find(attrs, TCA_ACT_OPTIONS, &data))
		return;
	if (!strcmp(a->kind, "gact"))
		a->is_random = netlink_find(data, TCA_GACT_PROB, &kind);
	if (!strcmp(a->kind, "mirred"))
		parse_redirect(data, &stats, a);
}

/* "police" given the old way: struct tc_stats stands beside the filter's options. */
static void parse_old_police(struct arena *arena, struct text attrs,
			     const struct tc_action *filter, struct tc_actions *list)
{
	struct tc_action *a = add(arena, list);
	struct tc_stats stats;
	struct text data;

	if (!a)
		return;
	*a = *filter;
	if (!netlink_find(attrs, TCA_STATS, &data) ||
	    data.len < offsetof(struct tc_stats, overlimits))
		return;
	memcpy(&stats, data.data, offsetof(struct tc_stats, overlimits));
	a->kind = "police";
	a->packets = stats.packets;
	a->drops = stats.drops;
}

int tc_actions_parse(struct arena *arena, struct text body, struct tc_actions *list)
{
	struct tcmsg header;
	struct text attrs = netlink_behind(body, sizeof(header)), kind, options, nest;
	struct netlink_attr one;
	bool has_actions = false;

	if (body.len < sizeof(header))
		return -EINVAL;
	memcpy(&header, body.data, sizeof(header));
	if (!netlink_find(attrs, TCA_KIND, &kind) || !netlink_string(kind).len)
		return -EINVAL;
	if (!netlink_find(attrs, TCA_OPTIONS, &options))
		return 0;              /* a chain's head */
	const struct tc_action filter = {
		.ifindex = (uint32_t)header.tcm_ifindex,
		.is_egress = header.tcm_parent == TC_EDGE_EGRESS,
		.preference = header.tcm_info >> 16,
		.handle = header.tcm_handle,
		.filter = arena_text(arena, netlink_string(kind)),
		.packets = NA_U64,
		.drops = NA_U64,
	};

	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		if (strcmp(filters[i].kind, filter.filter) != 0 ||
		    !netlink_find(options, filters[i].actions, &nest))
			continue;
		while (netlink_next(&nest, &one))
			parse_action(arena, one.data, &filter, one.type, list);
		has_actions = true;
	}
	if (!has_actions)
		parse_old_police(arena, attrs, &filter, list);
	return 0;
}

/* ---- asking ---- */

struct reading {
	struct arena *arena;
	struct tc_actions *list;
	size_t first;
	bool is_garbled;
};

static void restart(void *arg)
{
	struct reading *r = arg;

	r->list->count = r->first;
	r->is_garbled = false;
}

static void take(const struct netlink_message *m, void *arg)
{
	struct reading *r = arg;

	if (m->type == RTM_NEWTFILTER && tc_actions_parse(r->arena, m->body, r->list) < 0)
		r->is_garbled = true;
}

int tc_actions_read(struct arena *arena, uint32_t ifindex, uint32_t edge, struct tc_actions *list)
{
	const struct tcmsg header = { .tcm_family = AF_UNSPEC, .tcm_ifindex = (int)ifindex,
				      .tcm_parent = edge };
	struct reading reading = { arena, list, list->count, false };
	struct netlink_result result;
	struct buf body = { 0 };

	buf_add(&body, &header, sizeof(header));
	const struct netlink_request r = {
		.key = arena_printf(src_arena(), "rtnetlink filters of %u %s", ifindex,
				    edge == TC_EDGE_EGRESS ? "egress" : "ingress"),
		.family = NETLINK_ROUTE, .type = RTM_GETTFILTER, .body = buf_text(&body),
	};
	const struct netlink_reader reader = { take, restart, &reading };
	int err = netlink_dump(&r, &reader, &result);

	buf_free(&body);
	if (err >= 0 && reading.is_garbled)
		err = fail(EINVAL, "%s: a message that makes no sense", r.key);
	if (err < 0)
		list->count = reading.first;
	return err;
}
