/*
 * TCP handshakes by the address they were made to: those that ended, and those whose last packet
 * was thrown away because the accept queue was full, which no counter of a socket or namespace
 * tells from other drops.
 */
#include "bpf/handshake.h"
#include "bpf/kernel.h"

char LICENSE[] SEC("license") = "GPL";

#define AF_INET 2                      /* include/linux/socket.h */
#define AF_INET6 10
#define TCP_ESTABLISHED 1              /* include/net/tcp_states.h */
#define TCP_SYN_RECV 3

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HANDSHAKE_PLACES);
	__type(key, struct handshake_place);
	__type(value, struct handshake_count);
} places SEC(".maps");

__u64 lost;                            /* events of addresses that found no room */
__u32 tells_overflow;                  /* set by the first event where this kernel has the reason */

static __always_inline struct handshake_count *count_of(const struct handshake_place *place)
{
	static const struct handshake_count none;
	struct handshake_count *count = bpf_map_lookup_elem(&places, place);

	if (count)
		return count;
	bpf_map_update_elem(&places, place, &none, BPF_NOEXIST);
	count = bpf_map_lookup_elem(&places, place);
	if (!count)
		__sync_fetch_and_add(&lost, 1);
	return count;
}

/* Its number differs between kernels. Linux 6.12 has none, 6.18 has it. */
static __always_inline bool has_overflow_reason(void)
{
	return bpf_core_enum_value_exists(enum skb_drop_reason,
					  SKB_DROP_REASON_TCP_LISTEN_OVERFLOW);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(set_state, const struct sock *sk, int before, int after)
{
	struct handshake_place place = {};

	/* a connection of a listener's; one that connect() made comes from SYN_SENT */
	if (before != TCP_SYN_RECV || after != TCP_ESTABLISHED)
		return 0;
	if (has_overflow_reason())
		tells_overflow = 1;
	place.family = sk->__sk_common.skc_family;
	place.port = sk->__sk_common.skc_num;
	place.netns = sk->__sk_common.skc_net.net->ns.inum;
	if (place.family == AF_INET6)
		bpf_core_read(place.address, 16, &sk->__sk_common.skc_v6_rcv_saddr);
	else
		bpf_core_read(place.address, 4, &sk->__sk_common.skc_rcv_saddr);
	struct handshake_count *count = count_of(&place);

	if (count)
		__sync_fetch_and_add(&count->arrived, 1);
	return 0;
}

static __always_inline bool is_overflow(int reason)
{
	return has_overflow_reason() &&
		reason == (int)bpf_core_enum_value(enum skb_drop_reason,
						   SKB_DROP_REASON_TCP_LISTEN_OVERFLOW);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(free_skb, struct sk_buff *skb, void *location, int reason)
{
	struct handshake_place place = {};
	__u8 version = 0;
	__u16 port = 0;

	if (!is_overflow(reason))
		return 0;
	tells_overflow = 1;
	const unsigned char *ip = skb->head + skb->network_header;

	bpf_probe_read_kernel(&version, sizeof(version), ip);
	bpf_probe_read_kernel(&port, sizeof(port), skb->head + skb->transport_header + 2);
	if (version >> 4 == 6) {
		place.family = AF_INET6;
		bpf_probe_read_kernel(place.address, 16, ip + 24);
	} else {
		place.family = AF_INET;
		bpf_probe_read_kernel(place.address, 4, ip + 16);
	}
	place.port = bpf_ntohs(port);
	place.netns = BPF_CORE_READ(skb, dev, nd_net.net, ns.inum);
	struct handshake_count *count = count_of(&place);

	if (count)
		__sync_fetch_and_add(&count->refused, 1);
	return 0;
}
