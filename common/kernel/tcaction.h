/*
 * Filters at a device's edge (ingress and clsact, net/sched/cls_api.c) and what their actions
 * dropped (RTM_GETTFILTER; net/sched/act_api.c). Programs (bpf) that drop on their own have no
 * counter here.
 */
#ifndef KERNEL_TCACTION_H
#define KERNEL_TCACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

#define TC_EDGE_INGRESS 0xfffffff2u    /* tcm_parent */
#define TC_EDGE_EGRESS 0xfffffff3u

struct tc_action {
	uint32_t ifindex;
	bool is_egress;
	uint32_t preference;           /* of the filter: "pref 49152" */
	uint32_t handle;
	const char *filter;            /* "matchall", "u32"; never NULL */
	const char *kind;              /* "police", "gact", "mirred"; NULL: a filter without one */
	uint32_t order;                /* among its filter's actions, from 1; 0: no list of them */
	bool is_random;                /* a gact that drops some */
	bool is_redirect;              /* a mirred that passes them to another device, not a copy */
	uint32_t to_ifindex;           /* which; 0: none */
	uint64_t packets;              /* that came to the action */
	uint64_t drops;                /* 32 bits, wraps (qdisc_moved) */
};

struct tc_actions {
	struct tc_action *items;
	size_t count, cap;
};

/* Adds those of one device and edge, in arena. 0 or -errno with fail text. */
int tc_actions_read(struct arena *arena, uint32_t ifindex, uint32_t edge, struct tc_actions *list);

/* What follows the nlmsghdr of RTM_NEWTFILTER. -EINVAL without fail text: cut, or without a kind.
 * A message of a whole chain of filters without handle gives none. */
int tc_actions_parse(struct arena *arena, struct text body, struct tc_actions *list);

#endif
