/* Findings about devices: carrier, link, ring, xdp, cloud-limit. */
#include <string.h>

#include "applets/netpath/devices.h"

#define RING_SHARE_MIN 0.0001

static const struct link *link_of(const struct meter *m)
{
	return m->detail;
}

static const struct block *block_of(const struct walk *w, const struct meter *m)
{
	return &w->blocks[m->block];
}

static const struct link *peer_of(const struct walk *w, const struct meter *m)
{
	const struct block *b = block_of(w, m);
	const struct space *s = &w->now->spaces[b->space];
	size_t space;

	if (b->ifindex)
		return netpath_peer(w->now, s, link_of(m), &space);
	return netpath_link(s, b->peer_ifindex);       /* it is the far end itself */
}

static void add_next(struct finding *f, const struct walk *w, const struct block *b)
{
	finding_next(f, "perfbox netpath%s%s 1", netpath_option_of(f->arena, w, b->space),
		     b->ifindex ? arena_printf(f->arena, " -i %s",
					       out_shell_word(f->arena, b->subject)) : "");
}

static struct finding *begin(struct out *out, const struct walk *w, const char *id,
			     const struct meter *m)
{
	struct finding *f = netpath_finding(out, w, id, STATE_NOW, m, NULL);

	finding_text(f, "counter", NAME_PLAIN, m->name);
	return f;
}

static void finish(struct out *out, const struct walk *w, const struct meter *m, struct finding *f)
{
	add_next(f, w, block_of(w, m));
	netpath_finish(out, w, m, f);
}

/* ---- link ---- */

static void report_carrier(struct out *out, const struct walk *w, const struct meter *m)
{
	struct finding *f = begin(out, w, "netpath.carrier", m);
	const struct link *l = link_of(m);

	f->lost = rate_of(m->count, w->interval_ns);
	finding_u64(f, "carrier_changes", m->count);
	finding_u64(f, "carrier_changes_total", l->carrier_changes);
	finding_line(f, "the carrier came or went %s time%s; it is %s now",
		     human_count_u64(f->arena, m->count), m->count == 1 ? "" : "s",
		     l->has_carrier ? "there" : "gone");
	finish(out, w, m, f);
}

static void report_errors(struct out *out, const struct walk *w, const struct meter *m)
{
	const struct block *b = block_of(w, m);
	const struct space *s = &w->now->spaces[b->space];
	const struct driver *d = devices_driver(s->data[LAYER_LINK], b->ifindex);
	struct finding *f = begin(out, w, "netpath.link", m);
	const struct link_stats *n = &link_of(m)->stats;
	struct arena *a = f->arena;

	finding_line(f, "%s: damaged frames", netpath_lost_text(a, w, m));
	finding_line(f, b->direction == DIR_RX ?
			"since it was made: checksum %s, frame %s, length %s" :
			"since it was made: carrier %s, aborted %s, window %s",
		     human_count_u64(a, b->direction == DIR_RX ? n->rx_crc_errors :
				     n->tx_carrier_errors),
		     human_count_u64(a, b->direction == DIR_RX ? n->rx_frame_errors :
				     n->tx_aborted_errors),
		     human_count_u64(a, b->direction == DIR_RX ? n->rx_length_errors :
				     n->tx_window_errors));
	if (d && d->is_full_duplex == 0)
		finding_line(f, "duplex half: %s collisions since it was made",
			     human_count_u64(a, n->collisions));
	finish(out, w, m, f);
}

/* The receiving end of a veth, as far as the sender's counter agrees. */
static void report_receiver(struct out *out, const struct walk *w, const struct meter *m)
{
	struct finding *f = begin(out, w, "netpath.link", m);
	const struct link *l = link_of(m), *peer = peer_of(w, m);

	finding_u64(f, "mtu_bytes", l->mtu);
	finding_u64(f, "peer_mtu_bytes", peer ? peer->mtu : NA_U64);
	if (!l->is_up)
		finding_line(f, "%s: this end of the veth is down",
			     netpath_lost_text(f->arena, w, m));
	else if (peer && l->mtu < peer->mtu) {
		finding_line(f, "%s: frames larger than its MTU of %llu; the sending end %s has "
			     "%llu", netpath_lost_text(f->arena, w, m), (unsigned long long)l->mtu,
			     peer->name, (unsigned long long)peer->mtu);
		finding_line(f, "what the sender leaves to its device to cut (GSO) passes, "
				"whatever its size: small requests fail, large ones do not");
	} else
		finding_line(f, "%s: this end of the veth refused them; its MTU is %llu",
			     netpath_lost_text(f->arena, w, m), (unsigned long long)l->mtu);
	finish(out, w, m, f);
}

static void report_virtual(struct out *out, const struct walk *w, const struct meter *m)
{
	struct finding *f = begin(out, w, "netpath.link", m);

	finding_line(f, "%s: the %s device dropped what it was given to send",
		     netpath_lost_text(f->arena, w, m), link_of(m)->kind);
	finish(out, w, m, f);
}

static void report_link(struct out *out, const struct walk *w, const struct meter *m)
{
	if (!strcmp(m->name, "carrier_changes") && m->count && m->count != NA_U64)
		report_carrier(out, w, m);
	if (m->kind == METER_NO_LOSS || !path_is_over(w, m, EVENTS_MIN, SHARE_MIN))
		return;
	if (m->kind == METER_LINK_ERROR)
		report_errors(out, w, m);
	else if (m->kind == METER_DEVICE_RX)
		report_receiver(out, w, m);
	else
		report_virtual(out, w, m);
}

/* ---- ring ---- */

static void add_ring_size(struct finding *f, const struct walk *w, const struct meter *m)
{
	const struct block *b = block_of(w, m);
	const struct space *s = &w->now->spaces[b->space];
	const struct driver *d = devices_driver(s->data[LAYER_LINK], b->ifindex);
	const struct link *l = link_of(m);
	const bool is_rx = b->direction == DIR_RX;
	uint64_t ring = !d ? NA_U64 : is_rx ? d->rings.rx : d->rings.tx;
	uint64_t max = !d ? NA_U64 : is_rx ? d->rings.rx_max : d->rings.tx_max;

	if (l->kind && !strcmp(l->kind, "tun"))
		ring = l->queue_length;
	finding_u64(f, "ring_size", ring);
	finding_u64(f, "ring_max", max);
	if (ring == NA_U64)
		return;
	if (l->kind && !strcmp(l->kind, "tun"))
		finding_line(f, "ring   %s packets (its queue length) fit; the program that has "
			     "%s open reads them too slowly, or not at all",
			     human_count_u64(f->arena, ring), l->name);
	else
		finding_line(f, "ring   %s descriptors a queue%s", human_count_u64(f->arena, ring),
			     max == NA_U64 ? "" :
			     arena_printf(f->arena, ", %s at most",
					  human_count_u64(f->arena, max)));
}

static void report_pair_ring(struct out *out, const struct walk *w, const struct meter *m)
{
	const struct link *peer = peer_of(w, m);
	struct finding *f = begin(out, w, peer ? "netpath.ring" : "netpath.link", m);

	if (peer)
		finding_line(f, "%s: the ring of the receiving end %s was full (it polls by NAPI), "
			     "or it is down", netpath_lost_text(f->arena, w, m), peer->name);
	else
		finding_line(f, "%s: at the other end of this veth, which can't be seen from here",
			     netpath_lost_text(f->arena, w, m));
	finish(out, w, m, f);
}

static void report_ring(struct out *out, const struct walk *w, const struct meter *m)
{
	const struct link *l = link_of(m);

	if (m->kind == METER_CLOUD || m->kind == METER_NO_LOSS ||
	    !path_is_over(w, m, EVENTS_MIN, RING_SHARE_MIN))
		return;
	if (l->kind && !strcmp(l->kind, "veth")) {
		report_pair_ring(out, w, m);
		return;
	}
	struct finding *f = begin(out, w, "netpath.ring", m);

	finding_line(f, block_of(w, m)->direction == DIR_RX ?
			"%s: they came faster than the host took them off the device" :
			"%s: the device had no room for what it was given to send",
		     netpath_lost_text(f->arena, w, m));
	add_ring_size(f, w, m);
	finish(out, w, m, f);
}

static void report_cloud(struct out *out, const struct walk *w, const struct meter *m)
{
	if (m->kind != METER_CLOUD || !m->own || m->own == NA_U64)
		return;
	struct finding *f = begin(out, w, "netpath.cloud-limit", m);

	finding_line(f, "%s packets were queued or dropped outside of this host: over what the "
		     "provider allows this instance (%s)", human_count_u64(f->arena, m->own),
		     m->name);
	finish(out, w, m, f);
}

static void report_xdp(struct out *out, const struct walk *w, const struct meter *m)
{
	if (m->kind != METER_XDP || !path_is_over(w, m, EVENTS_MIN, SHARE_MIN))
		return;
	struct finding *f = begin(out, w, "netpath.xdp", m);

	finding_line(f, "%s: XDP's own errors (a program that failed, or a send or redirect that "
		     "did), not what a program chose to drop", netpath_lost_text(f->arena, w, m));
	finish(out, w, m, f);
}

void devices_report(struct out *out, struct walk *w)
{
	const struct meter *m;
	size_t at;

	for (at = 0; (m = path_next(w, LAYER_LINK, &at));)
		report_link(out, w, m);
	for (at = 0; (m = path_next(w, LAYER_RING, &at));) {
		report_ring(out, w, m);
		report_cloud(out, w, m);
	}
	for (at = 0; (m = path_next(w, LAYER_XDP, &at));)
		report_xdp(out, w, m);
}
