#include "common/kernel/qdisc.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/kernel/netlink.h"
#include "common/kernel/source.h"

#define QDISCS_MAX 262144              /* a device with 64k classes, and more */

uint64_t qdisc_moved(uint64_t now, uint64_t before)
{
	if (now == NA_U64 || before == NA_U64)
		return NA_U64;
	uint32_t moved = (uint32_t)now - (uint32_t)before;

	return moved > UINT32_MAX / 2 ? NA_U64 : moved;
}

const char *qdisc_handle_text(struct arena *a, uint32_t handle)
{
	if (handle == QDISC_ROOT)
		return "root";
	return handle & 0xffff ? arena_printf(a, "%x:%x", handle >> 16, handle & 0xffff) :
		arena_printf(a, "%x:", handle >> 16);
}

/* ---- parsing ---- */

static uint64_t u32_at(struct text data, size_t at)
{
	uint32_t n;

	if (data.len < at + sizeof(n))
		return NA_U64;
	memcpy(&n, data.data + at, sizeof(n));
	return n;
}

void qdisc_parse_stats(struct text attrs, struct qdisc_stats *s)
{
	struct text data;
	uint64_t wide;

	memset(s, 0xff, sizeof(*s));
	if (netlink_find(attrs, TCA_STATS_BASIC, &data) && data.len >= sizeof(uint64_t)) {
		memcpy(&s->bytes, data.data, sizeof(s->bytes));
		s->packets = u32_at(data, sizeof(uint64_t));
	}
	/* 5.6 on, where the count is wider than 32 bits */
	if (netlink_find(attrs, TCA_STATS_PKT64, &data) &&
	    (wide = netlink_u64(data)) != NA_U64)
		s->packets = wide;
	if (!netlink_find(attrs, TCA_STATS_QUEUE, &data))
		return;
	s->length = u32_at(data, offsetof(struct gnet_stats_queue, qlen));
	s->backlog_bytes = u32_at(data, offsetof(struct gnet_stats_queue, backlog));
	s->drops = u32_at(data, offsetof(struct gnet_stats_queue, drops));
	s->requeues = u32_at(data, offsetof(struct gnet_stats_queue, requeues));
	s->overlimits = u32_at(data, offsetof(struct gnet_stats_queue, overlimits));
}

int qdisc_parse(struct arena *arena, struct text body, bool is_class, struct qdisc *q)
{
	struct tcmsg header;
	struct text attrs = netlink_behind(body, sizeof(header)), data;
	struct qdisc_stats stats;

	if (body.len < sizeof(header))
		return -EINVAL;
	memcpy(&header, body.data, sizeof(header));
	if (!netlink_find(attrs, TCA_KIND, &data) || !netlink_string(data).len)
		return -EINVAL;
	const char *kind = arena_text(arena, netlink_string(data));

	if (!netlink_find(attrs, TCA_STATS2, &data))
		data = TEXT("");
	qdisc_parse_stats(data, &stats);
	*q = (struct qdisc){
		.ifindex = (uint32_t)header.tcm_ifindex,
		.handle = header.tcm_handle,
		.parent = header.tcm_parent,
		.leaf = is_class ? header.tcm_info : 0,
		.is_class = is_class,
		.kind = kind,
		.bytes = stats.bytes,
		.packets = stats.packets,
		.drops = stats.drops,
		.requeues = stats.requeues,
		.overlimits = stats.overlimits,
		.length = stats.length,
		.backlog_bytes = stats.backlog_bytes,
	};
	return 0;
}

/* ---- asking ---- */

struct reading {
	struct arena *arena;
	struct qdiscs *list;
	size_t first;
	bool is_class, is_garbled;
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
	struct qdiscs *l = r->list;

	if (m->type != (r->is_class ? RTM_NEWTCLASS : RTM_NEWQDISC) || l->count == QDISCS_MAX)
		return;
	if (l->count == l->cap) {
		const size_t cap = l->cap ? l->cap * 2 : 16;
		struct qdisc *more = arena_alloc(r->arena, cap * sizeof(*more));

		if (l->count)
			memcpy(more, l->items, l->count * sizeof(*more));
		l->items = more;
		l->cap = cap;
	}
	if (qdisc_parse(r->arena, m->body, r->is_class, &l->items[l->count]) < 0)
		r->is_garbled = true;
	else
		l->count++;
}

static int read_all(struct arena *arena, const char *key, uint16_t type, uint32_t ifindex,
		    struct qdiscs *list)
{
	const struct tcmsg header = { .tcm_family = AF_UNSPEC, .tcm_ifindex = (int)ifindex };
	struct reading reading = { .arena = arena, .list = list, .first = list->count,
				   .is_class = type == RTM_GETTCLASS };
	struct netlink_result result;
	struct buf body = { 0 };

	buf_add(&body, &header, sizeof(header));
	const struct netlink_request r = { .key = key, .family = NETLINK_ROUTE, .type = type,
					   .body = buf_text(&body) };
	const struct netlink_reader reader = { take, restart, &reading };
	int err = netlink_dump(&r, &reader, &result);

	buf_free(&body);
	if (err >= 0 && reading.is_garbled)
		err = fail(EINVAL, "%s: a message that makes no sense", key);
	if (err < 0)
		list->count = reading.first;
	return err;
}

int qdiscs_read(struct arena *arena, struct qdiscs *list)
{
	return read_all(arena, "rtnetlink qdiscs", RTM_GETQDISC, 0, list);
}

int qdiscs_read_classes(struct arena *arena, uint32_t ifindex, struct qdiscs *list)
{
	return read_all(arena, arena_printf(src_arena(), "rtnetlink classes of %u", ifindex),
			RTM_GETTCLASS, ifindex, list);
}
