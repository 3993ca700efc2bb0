/* Findings about IP: route, rp-filter, mtu, reassembly, checksum. */
#include "applets/netpath/ip.h"
#include "applets/netpath/tcp.h"

#define FRAGMENTATION_MIN 5
#define REASSEMBLY_SHARE_MIN 0.01
#define CHECKSUM_SHARE_MIN 0.0001
/* Broadcasts for another subnet on the same wire count as InAddrErrors as well, a few a second. */
#define ADDRESS_RATE_MIN 20.0
#define ADDRESS_SHARE_MIN 0.01
#define TCP_IPV4_HEADERS 40
#define TCP_IPV6_HEADERS 60

static const struct block *block_of(const struct walk *w, const struct meter *m)
{
	return &w->blocks[m->block];
}

static const struct ip *ip_of(const struct walk *w, const struct meter *m)
{
	return w->now->spaces[block_of(w, m)->space].data[LAYER_IP];
}

static struct finding *begin(struct out *out, const struct walk *w, const char *id,
			     const struct meter *m, const char *subject)
{
	struct finding *f = netpath_finding(out, w, id, STATE_NOW, m, subject);

	finding_text(f, "counter", NAME_PLAIN, m->name);
	return f;
}

static void finish(struct out *out, const struct walk *w, const struct meter *m,
		   struct finding *f, const char *command)
{
	finding_next(f, "%s", netpath_command_in(f->arena, w, block_of(w, m)->space, command));
	netpath_finish(out, w, m, f);
}

/* ---- route ---- */

static void report_route(struct out *out, const struct walk *w, const struct meter *m,
			 const struct ip_detail *d)
{
	const bool is_out = d->what == IP_METER_OUT_ROUTE;

	if (!path_is_over(w, m, EVENTS_MIN, SHARE_MIN) ||
	    (d->what == IP_METER_IN_ROUTE && !is_some(ip_of(w, m)->forwards[d->version == 6])))
		return;
	struct finding *f = begin(out, w, "netpath.route", m, NULL);

	finding_line(f, is_out ? "%s: no route to where programs of this host sent to; they were "
			"told (ENETUNREACH)" :
		     "%s: to be forwarded, and there is no route to where they go",
		     netpath_lost_text(f->arena, w, m));
	finish(out, w, m, f, d->version == 6 ? "ip -6 route" : "ip route");
}

static void report_address(struct out *out, const struct walk *w, const struct meter *m,
			   const struct ip_detail *d)
{
	const struct ip *ip = ip_of(w, m);

	if (d->version != 4 || ip->forwards[0] != 0 ||
	    !path_is_over(w, m, EVENTS_MIN, ADDRESS_SHARE_MIN) ||
	    !(rate_of(m->own, w->interval_ns) >= ADDRESS_RATE_MIN))
		return;
	struct finding *f = begin(out, w, "netpath.route", m, NULL);

	finding_u64(f, "ip_forward", ip->forwards[0]);
	finding_line(f, "%s: for addresses that are not this host's, and it does not forward "
			"(net.ipv4.ip_forward 0)", netpath_lost_text(f->arena, w, m));
	finish(out, w, m, f, "ip address");
}

static void report_rp_filter(struct out *out, const struct walk *w, const struct meter *m)
{
	const struct ip *ip = ip_of(w, m);

	if (!path_is_over(w, m, EVENTS_MIN, SHARE_MIN))
		return;
	struct finding *f = begin(out, w, "netpath.rp-filter", m, ip->rp_device);

	finding_text(f, "devices", NAME_PLAIN, ip->rp_devices);
	finding_line(f, "%s: the way back to their source is not the device they came by",
		     netpath_lost_text(f->arena, w, m));
	finding_line(f, "rp_filter checks on %s", ip->rp_devices ? ip->rp_devices : "-");
	finish(out, w, m, f, "ip route get ADDRESS (the source: log_martians shows it)");
}

/* ---- mtu ---- */

static uint64_t smallest_mtu(const struct space *s)
{
	const struct link *links;
	const size_t count = netpath_links(s, &links);
	uint64_t mtu = NA_U64;

	for (size_t i = 0; i < count; i++)
		if (links[i].is_up && !links[i].is_loopback && links[i].mtu < mtu)
			mtu = links[i].mtu;
	return mtu;
}

/* Does it wait for an answer to segments larger than pass there? */
static bool is_stuck(const struct tcp_socket *s, unsigned version, uint64_t mtu)
{
	const bool is_v4 = s->family == 2;
	const uint64_t headers = is_v4 ? TCP_IPV4_HEADERS : TCP_IPV6_HEADERS;
	const bool is_open = s->state == SOCK_ESTABLISHED || s->state == SOCK_FIN_WAIT1 ||
		s->state == SOCK_CLOSE_WAIT || s->state == SOCK_LAST_ACK;

	return is_open && is_v4 == (version == 4) && is_some(s->info.retransmits) &&
		is_some(s->info.unacked) && s->info.send_mss_bytes != NA_U64 && mtu != NA_U64 &&
		s->info.send_mss_bytes + headers > mtu;
}

static const struct tcp_socket *find_stuck(const struct walk *w, unsigned version, uint64_t mtu,
					   size_t *space, size_t *count)
{
	const struct tcp_socket *found = NULL;

	*count = 0;
	for (size_t i = 0; i < w->now->space_count; i++) {
		const struct tcp *t = tcp_of(&w->now->spaces[i]);

		for (size_t k = 0; t && k < t->count; k++) {
			const struct tcp_socket *s = &t->sockets[k];

			if (!is_stuck(s, version, mtu))
				continue;
			++*count;
			if (!found || s->info.retransmits > found->info.retransmits) {
				found = s;
				*space = i;
			}
		}
	}
	return found;
}

static void report_fragmentation(struct out *out, const struct walk *w, const struct meter *m,
				 const struct ip_detail *d)
{
	const struct block *b = block_of(w, m);
	const uint64_t mtu = smallest_mtu(&w->now->spaces[b->space]);
	size_t space = 0, count;

	if (m->own == NA_U64 || m->own < FRAGMENTATION_MIN)
		return;
	const struct tcp_socket *s = find_stuck(w, d->version, mtu, &space, &count);

	if (!s)
		return;
	struct arena *a = out_arena(out);
	const char *peer = tcp_end_text(a, s, &s->remote);
	struct finding *f = begin(out, w, "netpath.mtu", m, peer);
	const char *in = netpath_space_name(a, w, space);

	finding_u64(f, "mtu_bytes", mtu);
	finding_u64(f, "send_mss_bytes", s->info.send_mss_bytes);
	finding_u64(f, "path_mtu_bytes", s->info.path_mtu_bytes);
	finding_u64(f, "retransmits", s->info.retransmits);
	finding_u64(f, "sockets", count);
	finding_line(f, "%s: larger than the MTU of the next link (the smallest here is %llu) and "
			"not to be fragmented",
		     netpath_lost_text(a, w, m), (unsigned long long)mtu);
	finding_line(f, "%s to %s%s%s still sends segments of %llu bytes and is at timeout %llu: "
			"it does not learn the smaller MTU", tcp_end_text(a, s, &s->local), peer,
		     in ? ", in " : "", in ? in : "", (unsigned long long)s->info.send_mss_bytes,
		     (unsigned long long)s->info.retransmits);
	finish(out, w, m, f, d->version == 6 ? "ip -6 route get ADDRESS" : "ip route get ADDRESS");
}

/* ---- reassembly, checksums ---- */

static void report_reassembly(struct out *out, const struct walk *w, const struct meter *m)
{
	if (!path_is_over(w, m, EVENTS_MIN, REASSEMBLY_SHARE_MIN))
		return;
	struct finding *f = begin(out, w, "netpath.reassembly", m, NULL);

	f->lost = rate_of(m->own, w->interval_ns);
	finding_line(f, "%s datagrams were not put together again, of fragments that came (%s): "
			"one was lost on the way, or came too late",
		     human_count_u64(f->arena, m->own),
		     human_count_u64(f->arena, block_of(w, m)->packets_in));
	finish(out, w, m, f, "nstat -az | grep -E 'Reasm|Frag'");
}

static void report_checksum(struct out *out, const struct walk *w, const struct meter *m,
			    const struct ip_detail *d)
{
	if (!path_is_over(w, m, EVENTS_MIN, CHECKSUM_SHARE_MIN))
		return;
	struct finding *f = begin(out, w, "netpath.checksum", m, NULL);

	finding_text(f, "protocols", NAME_PLAIN, d->parts);
	finding_line(f, "%s: wrong checksum (%s). Something on the way, or a device that was to "
			"fill it in, changes packets",
		     netpath_lost_text(f->arena, w, m), d->parts ? d->parts : "-");
	finish(out, w, m, f, "nstat -az | grep Csum");
}

void ip_report(struct out *out, struct walk *w)
{
	size_t at = 0;

	for (struct meter *m; (m = path_next(w, LAYER_IP, &at)); ) {
		const struct ip_detail *d = m->detail;

		if (!d || m->kind == METER_NO_LOSS || !is_some(m->own))
			continue;
		switch (d->what) {
		case IP_METER_ADDRESS: report_address(out, w, m, d); break;
		case IP_METER_IN_ROUTE:
		case IP_METER_OUT_ROUTE: report_route(out, w, m, d); break;
		case IP_METER_RP_FILTER: report_rp_filter(out, w, m); break;
		case IP_METER_REASSEMBLY: report_reassembly(out, w, m); break;
		case IP_METER_CHECKSUM: report_checksum(out, w, m, d); break;
		case IP_METER_FRAGMENTATION: report_fragmentation(out, w, m, d); break;
		}
	}
}
