/*
 * Packets that the kernel frees as dropped, counted where it happens: who freed them, why, of which
 * protocol, on which device of which network namespace. What is freed because it was delivered
 * (consume_skb) has a tracepoint of its own and costs nothing here.
 *
 * Only what is counted is looked at: no helper before the filters, and one lookup for a drop whose
 * key is known.
 */
#include "bpf/kernel.h"
#include "bpf/kstack.bpf.h"
#include "bpf/skbdrop.h"

char LICENSE[] SEC("license") = "GPL";

#define ETH_P_IP 0x0800                /* include/uapi/linux/if_ether.h */
#define ETH_P_IPV6 0x86dd

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, SKBDROP_ROWS);
	__type(key, struct skbdrop_key);
	__type(value, __u64);
} drops SEC(".maps");

/* What a device was called when it first dropped something. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SKBDROP_DEVICES);
	__type(key, struct skbdrop_device);
	__type(value, char[16]);
} devices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct skbdrop_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SKBDROP_CHOSEN);
	__type(key, __u32);
	__type(value, __u8);
} chosen_netns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SKBDROP_CHOSEN);
	__type(key, char[16]);
	__type(value, __u8);
} chosen_devices SEC(".maps");

const volatile bool has_netns, has_devices;    /* those two maps are filters */
const volatile bool wants_stacks;
/* Of the tracepoint: packet, location; a reason from 5.17 on, the receiving socket from 6.11 on.
 * Distributions brought the reason to earlier ones, so the prototype says it, not the version. */
const volatile __u32 arguments = 2;
/* Under lockdown=confidentiality no memory may be copied: the transport protocol is unknown. */
const volatile bool may_copy = true;

/* Byte by byte: no helper, which lockdown may forbid. */
static __always_inline void copy_name(char to[16], const struct net_device *dev)
{
#pragma unroll
	for (int i = 0; i < 16; i++)
		to[i] = dev->name[i];
	/* behind the NUL there may be anything */
	bool is_over = false;
#pragma unroll
	for (int i = 0; i < 16; i++) {
		is_over |= !to[i];
		if (is_over)
			to[i] = 0;
	}
}

static __always_inline bool is_chosen(const struct skbdrop_key *key, const struct net_device *dev)
{
	if (has_netns && !bpf_map_lookup_elem(&chosen_netns, &key->netns))
		return false;
	if (has_devices && dev) {
		char name[16];

		copy_name(name, dev);
		return bpf_map_lookup_elem(&chosen_devices, name);
	}
	/* of one that only has the number of a device the reader finds out the name */
	return !has_devices || key->ifindex;
}

static __always_inline __u8 transport_of(const struct sk_buff *skb, __u16 protocol)
{
	unsigned char ip[10];
	const __u16 at = skb->network_header;

	if (!may_copy || !at || at == 0xffff || (protocol != ETH_P_IP && protocol != ETH_P_IPV6))
		return SKBDROP_NO_TRANSPORT;
	if (bpf_probe_read_kernel(ip, sizeof(ip), skb->head + at))
		return SKBDROP_NO_TRANSPORT;
	if (protocol == ETH_P_IP && ip[0] >> 4 == 4)
		return ip[9];
	return protocol == ETH_P_IPV6 && ip[0] >> 4 == 6 ? ip[6] : SKBDROP_NO_TRANSPORT;
}

static __always_inline void note_device(const struct skbdrop_key *key, const struct net_device *dev)
{
	struct skbdrop_device device = { key->netns, key->ifindex };
	char name[16];

	copy_name(name, dev);
	bpf_map_update_elem(&devices, &device, name, BPF_NOEXIST);
}

static __always_inline void count_drop(const struct skbdrop_key *key, const struct net_device *dev,
				       struct skbdrop_counts *all)
{
	const __u64 one = 1;
	__u64 *count = bpf_map_lookup_elem(&drops, key);

	if (count) {
		(*count)++;
		return;
	}
	if (dev)
		note_device(key, dev);
	if (!bpf_map_update_elem(&drops, key, &one, BPF_NOEXIST))
		return;
	count = bpf_map_lookup_elem(&drops, key);      /* another CPU was faster */
	if (count)
		(*count)++;
	else
		all->no_room++;
}

SEC("tp_btf/kfree_skb")
int free_skb(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct skbdrop_key key = { .location = ctx[1], .reason = SKBDROP_NO_REASON };
	const __u32 zero = 0;
	struct skbdrop_counts *all = bpf_map_lookup_elem(&counts, &zero);

	if (!all)
		return 0;
	all->seen++;
	if (arguments >= 3)
		key.reason = (__u32)ctx[2];
	struct net_device *dev = skb_device(skb, &key.netns);

	if (dev) {
		key.ifindex = (__u32)dev->ifindex;
	} else {
		key.ifindex = (__u32)skb->skb_iif;
		key.is_arrival = key.ifindex != 0;
		if (arguments >= 4) {
			const struct sock *receiver = (void *)ctx[3];

			if (receiver)
				key.netns = receiver->__sk_common.skc_net.net->ns.inum;
		}
		if (!key.netns)
			key.netns = skb_netns(skb, may_copy);
	}
	if (!is_chosen(&key, dev)) {
		all->passed_over++;
		return 0;
	}
	key.protocol = bpf_ntohs(skb->protocol);
	key.transport = transport_of(skb, key.protocol);
	if (wants_stacks) {
		key.stack = keep_stack(ctx);
		if (!key.stack)
			all->no_stack++;
	}
	count_drop(&key, dev, all);
	return 0;
}
