/* IPv4 and IPv6: what came, what went, and what each step threw away. */
#include "applets/netpath/ip.h"

#include <string.h>
#include <sys/socket.h>

#include "common/kernel/address.h"
#include "common/kernel/percpu.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define CONF "proc/sys/net/ipv4/conf"

/* ---- reading ---- */

const struct counters *counters_of(const struct space *s)
{
	const struct ip *ip = s->data[LAYER_IP];

	return ip ? &ip->counters : NULL;
}

static void take_address(const struct address *a, void *arg)
{
	struct ip *ip = arg;

	if (address_is_global(a))
		ip->has_global[a->family == AF_INET6] = true;
}

static void forget_addresses(void *arg)
{
	struct ip *ip = arg;

	ip->has_global[0] = ip->has_global[1] = false;
}

/* The look before the one that is being taken. */
static const struct ip *ip_before(const struct space *s)
{
	const struct look *look = netpath.now;

	for (size_t i = 0; i < look->space_count; i++)
		if (look->spaces[i].ns.inode == s->ns.inode)
			return look->spaces[i].data[LAYER_IP];
	return NULL;
}

/* Which devices check: the greater of theirs and of "all" counts (net/ipv4/fib_frontend.c). */
static void read_rp_filter(struct arena *a, struct ip *ip)
{
	const uint64_t all = or_zero(sysctl_number("net/ipv4/conf/all/rp_filter", 0));
	struct src_names names;
	size_t count = 0;

	if (src_list(CONF, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.items[i];
		struct text t;

		if (!strcmp(name, "all") || !strcmp(name, "default") || !strcmp(name, "lo") ||
		    src_readf(&t, CONF "/%s/rp_filter", name) < 0)
			continue;
		uint64_t mode = or_zero(sysctl_parse_number(t, 0));

		mode = mode > all ? mode : all;
		if (!mode)
			continue;
		ip->rp_devices = arena_printf(a, "%s%s%s (%s)", count ? ip->rp_devices : "",
					      count ? ", " : "", name,
					      mode == 1 ? "strict" : "loose");
		ip->rp_device = count++ ? NULL : arena_strdup(a, name);
	}
}

static int read(struct out *out, struct look *look, struct space *s)
{
	struct ip *ip = arena_alloc(&look->arena, sizeof(*ip));
	const struct ip *before = ip_before(s);

	counters_read(out, &ip->counters);
	ip->forwards[0] = sysctl_number("net/ipv4/ip_forward", 0);
	ip->forwards[1] = sysctl_number("net/ipv6/conf/all/forwarding", 0);
	if (addresses_each(take_address, forget_addresses, ip) < 0)
		out_missing(out, "%s", fail_text());
	if (is_some(ip->counters.n[TcpExtIPReversePathFilter]) &&
	    (!before || before->counters.n[TcpExtIPReversePathFilter] !=
	     ip->counters.n[TcpExtIPReversePathFilter]))
		read_rp_filter(&look->arena, ip);
	s->data[LAYER_IP] = ip;
	return 0;
}

/* Packets with a source they can't have; only the whole host counts them. */
static int read_host(struct out *out, struct look *look)
{
	uint64_t *martians = arena_alloc(&look->arena, sizeof(*martians));
	struct text t;

	(void)out;
	*martians = src_read("proc/net/stat/rt_cache", &t) < 0 ? NA_U64 :
		percpu_sum(t, "in_martian_src");
	look->host[LAYER_IP] = martians;
	return 0;
}

/* ---- comparing ---- */

struct comparing {
	struct walk *w;
	size_t space;
	const struct space *s, *was;
	bool is_new;
};

static uint64_t moved(const struct comparing *c, enum counter counter)
{
	return counter_moved(c->s, c->was, c->is_new, counter);
}

static uint64_t total(const struct comparing *c, enum counter counter)
{
	return counters_of(c->s)->n[counter];
}

static struct meter *add(const struct comparing *c, enum counter counter, enum meter_kind kind)
{
	return counter_meter(c->w, c->s, c->was, c->is_new, counter, kind);
}

static void add_detailed(const struct comparing *c, enum counter counter, enum meter_kind kind,
			 enum ip_meter what, unsigned version)
{
	struct ip_detail *d = arena_alloc(c->w->arena, sizeof(*d));
	struct meter *m = add(c, counter, kind);

	*d = (struct ip_detail){ .what = what, .version = version };
	if (m)
		m->detail = d;
}

static uint64_t less(uint64_t n, uint64_t part)
{
	return n == NA_U64 || part == NA_U64 ? n : n > part ? n - part : 0;
}

/* A host without addresses of that kind has no route for it either: programs try and take the other
 * kind (getaddrinfo does, for each name it looks up), and nothing is lost. */
static enum meter_kind route_kind(const struct comparing *c, bool is_ipv6)
{
	const struct ip *ip = c->s->data[LAYER_IP];

	return ip->has_global[is_ipv6] ? METER_IP_TX : METER_NO_LOSS;
}

static void compare_ipv4_in(const struct comparing *c)
{
	const struct ip *ip = c->s->data[LAYER_IP];
	struct block *b = path_add_block(c->w, LAYER_IP, DIR_RX, c->space, "IPv4");

	b->packets_in = moved(c, IpInReceives);
	b->packets_out = add_known(moved(c, IpInDelivers), moved(c, IpForwDatagrams));
	if (ip->forwards[0] == 0)
		b->note = "forwarding is off";
	/* a wrong checksum is a wrong header, too (ip_rcv_core) */
	struct meter *m = add(c, IpInHdrErrors, METER_IP_RX);

	if (m)
		m->count = m->own = less(m->count, moved(c, IpExtInCsumErrors));
	add_detailed(c, IpInAddrErrors, METER_IP_RX, IP_METER_ADDRESS, 4);
	add_detailed(c, IpExtInNoRoutes, METER_IP_RX, IP_METER_IN_ROUTE, 4);
	add_detailed(c, TcpExtIPReversePathFilter, METER_IP_RX, IP_METER_RP_FILTER, 4);
	add(c, IpExtInTruncatedPkts, METER_IP_RX);
	add(c, IpInUnknownProtos, METER_NO_LOSS);
	add(c, IpInDiscards, METER_IP_IN_DISCARDS);
}

static void compare_ipv4_out(const struct comparing *c)
{
	struct block *b = path_add_block(c->w, LAYER_IP, DIR_TX, c->space, "IPv4");

	b->packets_in = add_known(moved(c, IpOutRequests), moved(c, IpForwDatagrams));
	add_detailed(c, IpOutNoRoutes, route_kind(c, false), IP_METER_OUT_ROUTE, 4);
	add_detailed(c, IpFragFails, METER_IP_TX, IP_METER_FRAGMENTATION, 4);
	add(c, IpOutDiscards, METER_IP_OUT_DISCARDS);
}

static void compare_ipv6_in(const struct comparing *c)
{
	const struct ip *ip = c->s->data[LAYER_IP];
	struct block *b = path_add_block(c->w, LAYER_IP, DIR_RX, c->space, "IPv6");

	b->packets_in = moved(c, Ip6InReceives);
	b->packets_out = add_known(moved(c, Ip6InDelivers), moved(c, Ip6OutForwDatagrams));
	if (ip->forwards[1] == 0)
		b->note = "forwarding is off";
	add(c, Ip6InHdrErrors, METER_IP_RX);
	/* neighbours' multicast lands here on a host that does not forward: no loss */
	const bool is_router = is_some(ip->forwards[1]) && ip->has_global[1];

	add_detailed(c, Ip6InAddrErrors, is_router ? METER_IP_RX : METER_NO_LOSS, IP_METER_ADDRESS,
		     6);
	add_detailed(c, Ip6InNoRoutes, is_router ? METER_IP_RX : METER_NO_LOSS, IP_METER_IN_ROUTE,
		     6);
	add(c, Ip6InTruncatedPkts, METER_IP_RX);
	add(c, Ip6InUnknownProtos, METER_NO_LOSS);
	add(c, Ip6InDiscards, METER_NO_LOSS);
}

static void compare_ipv6_out(const struct comparing *c)
{
	struct block *b = path_add_block(c->w, LAYER_IP, DIR_TX, c->space, "IPv6");

	b->packets_in = add_known(moved(c, Ip6OutRequests), moved(c, Ip6OutForwDatagrams));
	add_detailed(c, Ip6OutNoRoutes, route_kind(c, true), IP_METER_OUT_ROUTE, 6);
	add_detailed(c, Ip6FragFails, METER_IP_TX, IP_METER_FRAGMENTATION, 6);
	add(c, Ip6OutDiscards, METER_IP_OUT_DISCARDS);
}

static void compare_reassembly(const struct comparing *c, bool is_ipv6)
{
	const enum counter asked = is_ipv6 ? Ip6ReasmReqds : IpReasmReqds;
	const enum counter failed = is_ipv6 ? Ip6ReasmFails : IpReasmFails;

	if (!is_some(total(c, asked)) && !is_some(total(c, failed)))
		return;
	path_add_block(c->w, LAYER_IP, DIR_RX, c->space,
		       is_ipv6 ? "IPv6 reassembly" : "IPv4 reassembly")->packets_in =
		moved(c, asked);
	add_detailed(c, failed, METER_REASSEMBLY, IP_METER_REASSEMBLY, is_ipv6 ? 6 : 4);
}

/* Counted by each protocol; what a wrong one means is the same for all of them. */
static void compare_checksums(const struct comparing *c)
{
	static const enum counter all[] = { IpExtInCsumErrors, TcpInCsumErrors, UdpInCsumErrors,
		Udp6InCsumErrors, IcmpInCsumErrors, Icmp6InCsumErrors };
	static const char *const names[] = { "IPv4", "TCP", "UDP", "UDP on IPv6", "ICMP",
					     "ICMPv6" };
	uint64_t n[sizeof(all) / sizeof(*all)], sum = NA_U64, ever = NA_U64;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		n[i] = moved(c, all[i]);
		sum = add_known(sum, n[i]);
		ever = add_known(ever, total(c, all[i]));
	}
	if (!is_some(ever))
		return;
	struct ip_detail *d = arena_alloc(c->w->arena, sizeof(*d));

	*d = (struct ip_detail){ .what = IP_METER_CHECKSUM };
	d->parts = counters_text(c->w->arena, names, n, sizeof(n) / sizeof(*n));
	struct block *b = path_add_block(c->w, LAYER_IP, DIR_RX, c->space, "checksums");

	b->packets_in = add_known(moved(c, IpInReceives), moved(c, Ip6InReceives));
	b->note = d->parts;
	path_add_meter(c->w, METER_IP_RX, "InCsumErrors", sum, ever,
		       "cat /proc/net/snmp /proc/net/netstat /proc/net/snmp6")->detail = d;
}

static void compare(struct out *out, struct walk *w, size_t space, const struct space *was,
		    bool is_new)
{
	const struct comparing c = { w, space, &w->now->spaces[space], was, is_new };

	(void)out;
	if (!c.s->data[LAYER_IP])
		return;
	compare_ipv4_in(&c);
	compare_ipv4_out(&c);
	if (total(&c, Ip6InReceives) != NA_U64) {
		compare_ipv6_in(&c);
		compare_ipv6_out(&c);
	}
	compare_reassembly(&c, false);
	compare_reassembly(&c, true);
	compare_checksums(&c);
}

/* Those that rp_filter dropped are among the martians. */
static void compare_host(struct out *out, struct walk *w)
{
	const uint64_t *now = w->now->host[LAYER_IP], *was = w->before->host[LAYER_IP];
	uint64_t count = now ? path_moved(*now, was, false) : NA_U64;

	(void)out;
	if (!now || !is_some(*now))
		return;
	for (size_t i = 0; i < w->now->space_count; i++) {
		const struct space *s = &w->now->spaces[i];

		for (size_t k = 0; k < w->before->space_count; k++)
			if (w->before->spaces[k].ns.inode == s->ns.inode)
				count = less(count, counter_moved(s, &w->before->spaces[k], false,
								  TcpExtIPReversePathFilter));
	}
	path_add_block(w, LAYER_IP, DIR_RX, NO_SPACE, "martian sources")->note =
		"sources that can't be, of all namespaces: loopback, multicast, one of our own";
	path_add_meter(w, METER_IP_RX, "in_martian_src", count, *now,
		       "cat /proc/net/stat/rt_cache");
}

static void history(struct out *out, const struct space *s)
{
	static const enum counter telling[] = { IpOutNoRoutes, IpExtInNoRoutes, IpInAddrErrors,
		TcpExtIPReversePathFilter, IpFragFails, IpReasmFails, IpExtInCsumErrors,
		TcpInCsumErrors, UdpInCsumErrors };
	const struct counters *c = counters_of(s);
	struct arena *a = out_arena(out);
	const char *text = NULL;

	for (size_t i = 0; c && i < sizeof(telling) / sizeof(*telling); i++)
		if (is_some(c->n[telling[i]]))
			text = arena_printf(a, "%s%s%s %s", text ? text : "", text ? ", " : "",
					    counter_name(telling[i]),
					    human_count_u64(a, c->n[telling[i]]));
	if (text && s->ns.is_own)
		out_history(out, "%s", text);
	else if (text)
		out_history(out, "%s in %s", text, s->ns.name);
}

const struct layer layer_ip = {
	.name = "ip",
	.read = read,
	.read_host = read_host,
	.compare = compare,
	.compare_host = compare_host,
	.report = ip_report,
	.history = history,
};
