#include "common/kernel/link.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/kernel/netlink.h"
#include "common/kernel/source.h"

#define LINKS_MAX 65536

_Static_assert(sizeof(struct link_stats) == 24 * sizeof(uint64_t), "the kernel's first 24");

static const char *string_of(struct arena *arena, struct text attrs, uint16_t type)
{
	struct text data;

	return netlink_find(attrs, type, &data) ? arena_text(arena, netlink_string(data)) : NULL;
}

static uint64_t number_of(struct text attrs, uint16_t type)
{
	struct text data;

	return netlink_find(attrs, type, &data) ? netlink_u32(data) : NA_U64;
}

static uint32_t index_of(struct text attrs, uint16_t type)
{
	uint64_t n = number_of(attrs, type);

	return n == NA_U64 ? 0 : (uint32_t)n;
}

/* An older kernel sends a shorter struct. */
static void take_stats(struct text attrs, struct link_stats *stats)
{
	struct text data;

	memset(stats, 0xff, sizeof(*stats));
	if (!netlink_find(attrs, IFLA_STATS64, &data))
		return;
	size_t len = data.len / sizeof(uint64_t) * sizeof(uint64_t);

	memcpy(stats, data.data, len < sizeof(*stats) ? len : sizeof(*stats));
}

static void take_xdp(struct text attrs, struct link *l)
{
	static const enum link_xdp modes[] = {
		[XDP_ATTACHED_NONE] = LINK_XDP_NONE,     [XDP_ATTACHED_DRV] = LINK_XDP_DRIVER,
		[XDP_ATTACHED_SKB] = LINK_XDP_GENERIC,   [XDP_ATTACHED_HW] = LINK_XDP_HARDWARE,
		[XDP_ATTACHED_MULTI] = LINK_XDP_SEVERAL,
	};
	struct text nest, data;

	l->xdp_program = NA_U64;
	if (!netlink_find(attrs, IFLA_XDP, &nest) ||
	    !netlink_find(nest, IFLA_XDP_ATTACHED, &data))
		return;
	uint64_t mode = netlink_u8(data);

	if (mode < sizeof(modes) / sizeof(*modes))
		l->xdp = modes[mode];
	l->xdp_program = number_of(nest, IFLA_XDP_PROG_ID);
}

int link_parse(struct arena *arena, struct text body, struct link *l)
{
	struct ifinfomsg header;
	struct text attrs = netlink_behind(body, sizeof(header)), data;

	if (body.len < sizeof(header))
		return -EINVAL;
	memcpy(&header, body.data, sizeof(header));
	struct link new = {
		.index = (uint32_t)header.ifi_index,
		.name = string_of(arena, attrs, IFLA_IFNAME),
		.is_up = header.ifi_flags & IFF_UP,
		.has_carrier = header.ifi_flags & IFF_RUNNING,
		.is_loopback = header.ifi_flags & IFF_LOOPBACK,
		.below = index_of(attrs, IFLA_LINK),
		.below_netns = number_of(attrs, IFLA_LINK_NETNSID),
		.master = index_of(attrs, IFLA_MASTER),
		.qdisc = string_of(arena, attrs, IFLA_QDISC),
		.mtu = number_of(attrs, IFLA_MTU),
		.queue_length = number_of(attrs, IFLA_TXQLEN),
		.tx_queues = number_of(attrs, IFLA_NUM_TX_QUEUES),
		.rx_queues = number_of(attrs, IFLA_NUM_RX_QUEUES),
		.carrier_changes = number_of(attrs, IFLA_CARRIER_CHANGES),
		.carrier_down = number_of(attrs, IFLA_CARRIER_DOWN_COUNT),
	};

	if (!new.name || !*new.name || header.ifi_index <= 0)
		return -EINVAL;
	if (netlink_find(attrs, IFLA_CARRIER, &data) && data.len == 1)
		new.has_carrier = data.data[0];
	if (new.below == new.index && new.below_netns == NA_U64)
		new.below = 0;
	if (netlink_find(attrs, IFLA_LINKINFO, &data))
		new.kind = string_of(arena, data, IFLA_INFO_KIND);
	if (netlink_find(attrs, IFLA_ADDRESS, &data))
		new.address = (struct text){ arena_copy(arena, data.data, data.len), data.len };
	take_xdp(attrs, &new);
	take_stats(attrs, &new.stats);
	*l = new;
	return 0;
}

/* ---- asking ---- */

struct reading {
	struct arena *arena;
	struct link *links;
	size_t count, cap;
	bool is_garbled;
};

static void restart(void *arg)
{
	struct reading *r = arg;

	r->count = 0;
	r->is_garbled = false;
}

static void take(const struct netlink_message *m, void *arg)
{
	struct reading *r = arg;

	if (m->type != RTM_NEWLINK || r->count == LINKS_MAX)
		return;
	if (r->count == r->cap) {
		struct link *more = arena_alloc(r->arena, (r->cap ? r->cap * 2 : 16) *
							  sizeof(*more));

		if (r->count)
			memcpy(more, r->links, r->count * sizeof(*more));
		r->cap = r->cap ? r->cap * 2 : 16;
		r->links = more;
	}
	if (link_parse(r->arena, m->body, &r->links[r->count]) < 0)
		r->is_garbled = true;
	else
		r->count++;
}

int links_read(struct arena *arena, struct link **links, size_t *count)
{
	static const struct ifinfomsg header = { .ifi_family = AF_UNSPEC };
	struct reading reading = { .arena = arena };
	struct netlink_result result;
	struct buf body = { 0 };

	buf_add(&body, &header, sizeof(header));
	const struct netlink_request r = { .key = "rtnetlink links", .family = NETLINK_ROUTE,
					   .type = RTM_GETLINK, .body = buf_text(&body) };
	const struct netlink_reader reader = { take, restart, &reading };
	int err = netlink_dump(&r, &reader, &result);

	buf_free(&body);
	if (err < 0)
		return err;
	if (reading.is_garbled)
		return fail(EINVAL, "rtnetlink links: a message that makes no sense");
	*links = reading.links;
	*count = reading.count;
	return 0;
}

int link_read_elsewhere(struct arena *arena, uint64_t netns, uint32_t index, struct link *l)
{
	const struct ifinfomsg header = { .ifi_family = AF_UNSPEC, .ifi_index = (int)index };
	struct reading reading = { .arena = arena };
	struct netlink_result result;
	struct buf body = { 0 };
	const uint32_t id = (uint32_t)netns;

	buf_add(&body, &header, sizeof(header));
	netlink_add(&body, IFLA_TARGET_NETNSID, &id, sizeof(id));
	const struct netlink_request r = {
		.key = arena_printf(src_arena(), "rtnetlink link %u in namespace id %u", index, id),
		.family = NETLINK_ROUTE, .type = RTM_GETLINK, .body = buf_text(&body),
	};
	const struct netlink_reader reader = { take, restart, &reading };
	int err = netlink_ask(&r, &reader, &result);

	buf_free(&body);
	if (err < 0)
		return err;
	/* a kernel that does not know the attribute answers for this namespace */
	if (reading.is_garbled || reading.count != 1 || reading.links[0].index != index)
		return fail(EPROTO, "%s: no answer that makes sense", r.key);
	*l = reading.links[0];
	return 0;
}
