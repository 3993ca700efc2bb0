/*
 * In which counters a lost packet shows a second time. Where from: the kernel functions named, and
 * measured by provoking each loss alone.
 */
#include "applets/netpath/netpath.h"

enum where {
	SAME_DEVICE,
	PEER,          /* the other end of a veth */
	BOND,          /* a bond's counters are its members' sums */
	SAME_SPACE,
	ANYWHERE,      /* a veth's receiver works in the sender's context: another namespace */
};

static const struct relation {
	enum meter_kind cause, echo;
	enum where where;
} relations[] = {
	/* A driver adds what its rings had no room for to the device's drops. */
	{ METER_RING_RX, METER_DEVICE_RX, SAME_DEVICE },
	{ METER_RING_TX, METER_DEVICE_TX, SAME_DEVICE },
	/* Each XDP error is a packet that the driver drops. */
	{ METER_XDP, METER_DEVICE_RX, SAME_DEVICE },
	/* enqueue_to_backlog(), then veth_xmit() and ip_send_skb() by their return values */
	{ METER_SOFTNET, METER_DEVICE_RX, ANYWHERE },
	{ METER_SOFTNET, METER_DEVICE_TX, ANYWHERE },
	{ METER_SOFTNET, METER_IP_OUT_DISCARDS, ANYWHERE },
	{ METER_SOFTNET, METER_UDP_SNDBUF, ANYWHERE },
	/* __dev_forward_skb2() counts at the receiver, veth_xmit() at the sender */
	{ METER_DEVICE_RX, METER_DEVICE_TX, PEER },
	{ METER_DEVICE_RX, METER_IP_OUT_DISCARDS, ANYWHERE },
	{ METER_DEVICE_RX, METER_UDP_SNDBUF, ANYWHERE },
	/* a full ring of the receiving veth is only in the sender's tx_dropped */
	{ METER_RING_TX, METER_IP_OUT_DISCARDS, SAME_SPACE },
	{ METER_RING_TX, METER_UDP_SNDBUF, SAME_SPACE },
	{ METER_DEVICE_TX, METER_IP_OUT_DISCARDS, SAME_SPACE },
	{ METER_DEVICE_TX, METER_UDP_SNDBUF, SAME_SPACE },
	/* __dev_xmit_skb(): NET_XMIT_DROP goes up to a local sender */
	{ METER_QDISC, METER_IP_OUT_DISCARDS, SAME_SPACE },
	{ METER_QDISC, METER_UDP_SNDBUF, SAME_SPACE },
	{ METER_TC, METER_IP_OUT_DISCARDS, SAME_SPACE },
	{ METER_TC, METER_UDP_SNDBUF, SAME_SPACE },
	/* ip_send_skb(): what a rule in OUTPUT drops comes back as an error */
	{ METER_FILTER, METER_IP_OUT_DISCARDS, SAME_SPACE },
	{ METER_CONNTRACK, METER_IP_OUT_DISCARDS, SAME_SPACE },
	/* a bond sums its members */
	{ METER_LINK_ERROR, METER_LINK_ERROR, BOND },
	{ METER_RING_RX, METER_RING_RX, BOND },
	{ METER_RING_TX, METER_RING_TX, BOND },
	{ METER_DEVICE_RX, METER_DEVICE_RX, BOND },
	{ METER_DEVICE_TX, METER_DEVICE_TX, BOND },
};

static bool is_near(enum where where, const struct block *cause, const struct block *echo)
{
	switch (where) {
	case SAME_DEVICE:
		return cause->space == echo->space && cause->ifindex == echo->ifindex;
	case PEER:
		return cause->peer_ifindex && cause->peer_ifindex == echo->ifindex &&
			cause->peer_space == echo->space;
	case BOND:
		return cause->space == echo->space && cause->master_ifindex &&
			cause->master_ifindex == echo->ifindex;
	case SAME_SPACE:
		return cause->space == echo->space;
	case ANYWHERE:
		return true;
	}
	return false;
}

/* Is a namespace's traffic also that of another's? A lost packet is sent again where it came from,
 * which may be elsewhere; so any loss but a damaged row explains retransmits. */
static bool is_cause_of_retransmits(enum meter_kind kind)
{
	return kind != METER_NO_LOSS && kind < METER_TCP_RETRANS && kind != METER_IP_OUT_DISCARDS &&
		kind != METER_UDP_RX && kind != METER_UDP_SNDBUF && kind != METER_REASSEMBLY;
}

bool echo_is_possible(const struct walk *w, const struct meter *cause, const struct meter *echo)
{
	const struct block *from = &w->blocks[cause->block], *to = &w->blocks[echo->block];

	if (echo->kind == METER_TCP_RETRANS && is_cause_of_retransmits(cause->kind))
		return true;
	/* any loss may be a fragment's */
	if (echo->kind == METER_REASSEMBLY && cause->kind != METER_NO_LOSS &&
	    cause->kind < METER_IP_TX)
		return true;
	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++) {
		const struct relation *r = &relations[i];

		if (r->cause == cause->kind && r->echo == echo->kind && is_near(r->where, from, to))
			return true;
	}
	return false;
}
