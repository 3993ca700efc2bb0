#include "common/kernel/neighbour.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/kernel/netlink.h"
#include "common/kernel/percpu.h"
#include "common/kernel/source.h"

/* ---- tables ---- */

static uint64_t stat_at(struct text stats, size_t at)
{
	return at + 8 <= stats.len ? netlink_u64((struct text){ stats.data + at, 8 }) : NA_U64;
}

int neighbour_table_parse(struct arena *arena, struct text body, struct neighbour_table *t)
{
	struct text attrs = netlink_behind(body, sizeof(struct ndtmsg)), name, config, data;

	if (body.len < sizeof(struct ndtmsg) || !netlink_find(attrs, NDTA_NAME, &name) ||
	    !netlink_find(attrs, NDTA_CONFIG, &config) || config.len < sizeof(struct ndt_config))
		return -EINVAL;
	*t = (struct neighbour_table){
		.family = (uint8_t)body.data[0],
		.name = arena_text(arena, netlink_string(name)),
		.entries = netlink_u32((struct text){
			config.data + offsetof(struct ndt_config, ndtc_entries), 4 }),
		.limit = netlink_find(attrs, NDTA_THRESH3, &data) ? netlink_u32(data) : NA_U64,
		.failed = NA_U64, .fulls = NA_U64, .unresolved_discards = NA_U64,
	};
	if (!netlink_find(attrs, NDTA_STATS, &data))
		return 0;
	t->failed = stat_at(data, offsetof(struct ndt_stats, ndts_res_failed));
	t->fulls = stat_at(data, offsetof(struct ndt_stats, ndts_table_fulls));
	return 0;
}

struct tables {
	struct arena *arena;
	struct neighbour_table *list;
	size_t count, cap;
};

static void take_table(const struct netlink_message *m, void *arg)
{
	struct tables *t = arg;
	struct neighbour_table new;

	if (m->type != RTM_NEWNEIGHTBL || neighbour_table_parse(t->arena, m->body, &new) < 0 ||
	    t->count == t->cap)
		return;
	t->list[t->count++] = new;
}

static void forget_tables(void *arg)
{
	((struct tables *)arg)->count = 0;
}

/* arp_cache, ndisc_cache and, on few hosts, two more: DECnet's, clip's. */
#define TABLES_MAX 8

int neighbour_tables_read(struct arena *arena, struct neighbour_table **tables, size_t *count)
{
	static const struct ndtmsg any = { 0 };
	struct tables t = { .arena = arena, .cap = TABLES_MAX };
	const struct netlink_request r = { .key = "neighbour.tables", .family = NETLINK_ROUTE,
					   .type = RTM_GETNEIGHTBL,
					   .body = { (const char *)&any, sizeof(any) } };
	const struct netlink_reader reader = { take_table, forget_tables, &t };
	struct netlink_result result;
	struct text stat;

	t.list = arena_alloc(arena, TABLES_MAX * sizeof(*t.list));
	int err = netlink_dump(&r, &reader, &result);

	if (err < 0)
		return err;
	for (size_t i = 0; i < t.count; i++)
		if (!strchr(t.list[i].name, '/') &&
		    src_readf(&stat, "proc/net/stat/%s", t.list[i].name) >= 0)
			t.list[i].unresolved_discards = percpu_sum(stat, "unresolved_discards");
	*tables = t.list;
	*count = t.count;
	return 0;
}

/* ---- neighbours ---- */

int neighbour_parse(struct text body, struct neighbour *n)
{
	struct ndmsg head;
	struct text address;

	if (body.len < sizeof(head))
		return -EINVAL;
	memcpy(&head, body.data, sizeof(head));
	if (!netlink_find(netlink_behind(body, sizeof(head)), NDA_DST, &address) ||
	    address.len > sizeof(n->address))
		return -EINVAL;
	*n = (struct neighbour){ .family = head.ndm_family, .ifindex = (uint32_t)head.ndm_ifindex,
				 .state = head.ndm_state };
	memcpy(n->address, address.data, address.len);
	return 0;
}

struct unresolved {
	struct neighbour *list;
	size_t room, count;
};

static void take_neighbour(const struct netlink_message *m, void *arg)
{
	struct unresolved *u = arg;
	struct neighbour n;

	if (m->type != RTM_NEWNEIGH || neighbour_parse(m->body, &n) < 0 ||
	    !(n.state & (NUD_INCOMPLETE | NUD_FAILED)) ||
	    (n.family != AF_INET && n.family != AF_INET6))
		return;
	if (u->count < u->room)
		u->list[u->count] = n;
	u->count++;
}

static void forget_neighbours(void *arg)
{
	((struct unresolved *)arg)->count = 0;
}

int neighbours_unresolved(struct neighbour *list, size_t room, size_t *count)
{
	static const struct ndmsg any = { 0 };
	struct unresolved u = { list, room, 0 };
	const struct netlink_request r = { .key = "neighbours", .family = NETLINK_ROUTE,
					   .type = RTM_GETNEIGH,
					   .body = { (const char *)&any, sizeof(any) } };
	const struct netlink_reader reader = { take_neighbour, forget_neighbours, &u };
	struct netlink_result result;
	int err = netlink_dump(&r, &reader, &result);

	if (err >= 0)
		*count = u.count;
	return err;
}
