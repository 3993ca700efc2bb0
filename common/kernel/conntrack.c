#include "common/kernel/conntrack.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <sys/socket.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/module.h"
#include "common/kernel/percpu.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define SYSCTL "proc/sys/net/netfilter/nf_conntrack_"
#define STAT "proc/net/stat/nf_conntrack"
#define MESSAGE(type) (NFNL_SUBSYS_CTNETLINK << 8 | (type))

static const struct counter {
	const char *column;
	uint16_t attribute;
	size_t offset;
} counters[] = {
	{ "drop", CTA_STATS_DROP, offsetof(struct conntrack, drop) },
	{ "early_drop", CTA_STATS_EARLY_DROP, offsetof(struct conntrack, early_drop) },
	{ "insert_failed", CTA_STATS_INSERT_FAILED, offsetof(struct conntrack, insert_failed) },
	{ "invalid", CTA_STATS_INVALID, offsetof(struct conntrack, invalid) },
	{ "search_restart", CTA_STATS_SEARCH_RESTART, offsetof(struct conntrack, search_restart) },
	/* the column's name is older than what is in it since 5.15 */
	{ "chainlength", CTA_STATS_CHAIN_TOOLONG, offsetof(struct conntrack, chain_too_long) },
	{ "clashres", CTA_STATS_CLASH_RESOLVE, offsetof(struct conntrack, clash_resolved) },
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static uint64_t *counter_of(struct conntrack *c, size_t i)
{
	return (uint64_t *)(void *)((char *)c + counters[i].offset);
}

void conntrack_forget(struct conntrack *c)
{
	*c = (struct conntrack){ true, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64,
				 NA_U64, NA_U64, NA_U64 };
}

uint64_t conntrack_moved(uint64_t now, uint64_t before)
{
	return now == NA_U64 || before == NA_U64 ? NA_U64 : (uint32_t)(now - before);
}

int conntrack_parse_stat(struct text t, struct conntrack *c)
{
	uint64_t drop = percpu_sum(t, "drop");

	if (drop == NA_U64)
		return fail(EINVAL, "/" STAT ": no sum of \"drop\"");
	for (size_t i = 0; i < COUNTERS; i++)
		*counter_of(c, i) = percpu_sum(t, counters[i].column);
	return 0;
}

/* ---- ctnetlink ---- */

void conntrack_begin_body(struct buf *body, uint8_t family)
{
	const struct nfgenmsg header = { .nfgen_family = family, .version = NFNETLINK_V0 };

	buf_reset(body);
	buf_add(body, &header, sizeof(header));
}

int conntrack_add_cpu(struct text body, struct conntrack *c)
{
	struct text attrs = netlink_behind(body, sizeof(struct nfgenmsg));
	struct netlink_attr a;

	while (netlink_next(&attrs, &a))
		for (size_t i = 0; i < COUNTERS; i++) {
			uint64_t n = netlink_be32(a.data), *to = counter_of(c, i);

			if (a.type == counters[i].attribute && n != NA_U64)
				*to = *to == NA_U64 ? n : *to + n;
		}
	return attrs.len ? -EINVAL : 0;
}

static void take_cpu(const struct netlink_message *m, void *arg)
{
	if (m->type == MESSAGE(IPCTNL_MSG_CT_GET_STATS_CPU))
		conntrack_add_cpu(m->body, arg);
}

static void take_totals(const struct netlink_message *m, void *arg)
{
	struct text attrs = netlink_behind(m->body, sizeof(struct nfgenmsg));
	struct conntrack *c = arg;
	struct netlink_attr a;

	while (netlink_next(&attrs, &a)) {
		if (a.type == CTA_STATS_GLOBAL_ENTRIES)
			c->count = netlink_be32(a.data);
		if (a.type == CTA_STATS_GLOBAL_MAX_ENTRIES)     /* 5.9 on */
			c->max = netlink_be32(a.data);
	}
}

static int ask_counters(struct conntrack *c)
{
	struct conntrack new;
	struct buf body = { 0 };
	struct netlink_result result;

	conntrack_forget(&new);
	conntrack_begin_body(&body, AF_UNSPEC);
	const struct netlink_request r = { .key = "conntrack.stats", .family = NETLINK_NETFILTER,
					   .type = MESSAGE(IPCTNL_MSG_CT_GET_STATS_CPU),
					   .body = buf_text(&body) };
	const struct netlink_reader reader = { .each = take_cpu, .arg = &new };
	int err = netlink_dump(&r, &reader, &result);

	buf_free(&body);
	/* a sum that lacks a CPU is no sum */
	for (size_t i = 0; i < COUNTERS && !err && !result.is_partial; i++)
		*counter_of(c, i) = *counter_of(&new, i);
	return err;
}

static int ask_totals(struct conntrack *c)
{
	struct buf body = { 0 };
	struct netlink_result result;

	conntrack_begin_body(&body, AF_UNSPEC);
	const struct netlink_request r = { .key = "conntrack.totals", .family = NETLINK_NETFILTER,
					   .type = MESSAGE(IPCTNL_MSG_CT_GET_STATS),
					   .body = buf_text(&body) };
	const struct netlink_reader reader = { .each = take_totals, .arg = c };
	int err = netlink_ask(&r, &reader, &result);

	buf_free(&body);
	return err;
}

/* ---- all of it ---- */

static bool can_ask(void)
{
	return !module_would_load(CONNTRACK_MODULE);
}

/* Files a container may lack although its kernel tracks. */
static bool is_in_use(void)
{
	return src_exists(SYSCTL "count") || src_exists("sys/module/nf_conntrack") ||
		src_exists(STAT);
}

static int read_totals(struct conntrack *c)
{
	struct text t;
	int err = src_read(SYSCTL "count", &t);

	if (err == -ENOENT && can_ask())
		return ask_totals(c);
	if (err == -ENOENT)
		return fail(ENOENT, "/" SYSCTL "count: not shown here, and asking ctnetlink could "
				    "load a module");
	if (err < 0)
		return err;
	c->count = sysctl_parse_number(t, 0);
	c->max = sysctl_number("net/netfilter/nf_conntrack_max", 0);
	if (c->count == NA_U64)
		return fail(EINVAL, "/" SYSCTL "count: no number");
	return c->max == NA_U64 ? fail(EINVAL, "/" SYSCTL "max: no number") : 0;
}

static int read_counters(struct conntrack *c)
{
	struct text t;
	int err = src_read(STAT, &t);

	if (err >= 0)
		return conntrack_parse_stat(t, c);
	if (err != -ENOENT)
		return err;
	/* CONFIG_NF_CONNTRACK_PROCFS=n; without either the counters are unknown, and that is all */
	if (can_ask())
		ask_counters(c);
	return 0;
}

int conntrack_read(struct conntrack *c)
{
	conntrack_forget(c);
	c->is_in_use = is_in_use();
	if (!c->is_in_use)
		return 0;
	int err = read_totals(c), bad = read_counters(c);

	c->buckets = sysctl_number("net/netfilter/nf_conntrack_buckets", 0);
	return err < 0 ? err : bad;
}

uint64_t conntrack_entry_bytes(void)
{
	struct text t, rest;
	uint64_t objects, all, size;

	/* "nf_conntrack  ACTIVE ALL SIZE ...", mm/slab_common.c */
	if (src_read("proc/slabinfo", &t) < 0 || !scan_find_key(t, "nf_conntrack", &rest))
		return NA_U64;
	struct scan s = scan_of(rest);

	return scan_u64(&s, &objects) && scan_u64(&s, &all) && scan_u64(&s, &size) && size ?
		size : NA_U64;
}

uint64_t conntrack_setting(const char *name)
{
	return sysctl_number(arena_printf(src_arena(), "net/netfilter/nf_conntrack_%s", name), 0);
}
