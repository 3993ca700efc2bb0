/* The layers of the walk, bottom up. */
#include "applets/netpath/netpath.h"

const struct layer *const layers[LAYERS] = {
	[LAYER_LINK] = &layer_link,
	[LAYER_TC] = &layer_tc,
	[LAYER_SOFTNET] = &layer_softnet,
	[LAYER_QDISC] = &layer_qdisc,
	[LAYER_NEIGHBOUR] = &layer_neighbour,
	[LAYER_IP] = &layer_ip,
	[LAYER_FILTER] = &layer_filter,
	[LAYER_CONNTRACK] = &layer_conntrack,
	[LAYER_TCP] = &layer_tcp,
	[LAYER_UDP] = &layer_udp,
};

static const char *const names[LAYERS] = {
	[LAYER_LINK] = "link",           [LAYER_RING] = "ring",
	[LAYER_XDP] = "xdp",             [LAYER_TC] = "tc",
	[LAYER_SOFTNET] = "softnet",     [LAYER_QDISC] = "qdisc",
	[LAYER_NEIGHBOUR] = "neighbour", [LAYER_IP] = "ip",
	[LAYER_FILTER] = "filter",       [LAYER_CONNTRACK] = "conntrack",
	[LAYER_TCP] = "tcp",             [LAYER_UDP] = "udp",
	[LAYER_SOCKET] = "socket",
};

const char *layer_name(enum layer_id id)
{
	return names[id];
}
