/*
 * Segments that TCP sends again, summed where it happens by peer, state and kind.
 *
 * RetransSegs, the kernel's counter, grows by what one call sends (a call sends a buffer, which may
 * be several segments), and by one for each SYN-ACK. Both have a tracepoint; before 6.15 that of
 * the first fires only if the packet could be handed down.
 */
#include "bpf/kernel.h"
#include "bpf/kstack.bpf.h"
#include "bpf/retransmit.h"

char LICENSE[] SEC("license") = "GPL";

#define AF_INET6 10                    /* include/linux/socket.h */
#define TCP_SYN_SENT 2                 /* include/net/tcp_states.h */
#define TCP_SYN_RECV 3
#define TCP_NEW_SYN_RECV 12
#define TCP_CA_RECOVERY 3              /* include/uapi/linux/tcp.h */
#define TCP_CA_LOSS 4
#define ICSK_TIME_LOSS_PROBE 5         /* include/net/inet_connection_sock.h */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RETRANSMIT_ROWS);
	__type(key, struct retransmit_key);
	__type(value, struct retransmit_sum);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RETRANSMIT_TOTALS);
	__type(key, struct retransmit_total);
	__type(value, struct retransmit_sum);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RETRANSMIT_CHOSEN);
	__type(key, __u32);
	__type(value, __u8);
} chosen_netns SEC(".maps");

const volatile bool has_netns;         /* chosen_netns is a filter */
const volatile bool wants_stacks;
const volatile __u32 arguments = 2;    /* of tcp_retransmit_skb: 3 with the error, from 6.15 on */

struct retransmit_counts counts;

static const struct retransmit_sum none;

static __always_inline bool add_to(void *map, const void *key, __u64 segments, bool has_failed)
{
	struct retransmit_sum *sum = bpf_map_lookup_elem(map, key);

	if (!sum) {
		bpf_map_update_elem(map, key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(map, key);
	}
	if (!sum)
		return false;
	__sync_fetch_and_add(&sum->events, 1);
	__sync_fetch_and_add(&sum->segments, segments);
	if (has_failed)
		__sync_fetch_and_add(&sum->failed, 1);
	return true;
}

static __always_inline void count(void *ctx, struct retransmit_key *key, __u64 segments,
				  bool has_failed)
{
	const struct retransmit_total total = { key->netns, key->kind };

	if (!add_to(&totals, &total, segments, has_failed))
		__sync_fetch_and_add(&counts.no_total, segments);
	if (wants_stacks) {
		key->stack = keep_stack(ctx);
		if (!key->stack)
			__sync_fetch_and_add(&counts.no_stack, 1);
	}
	if (!add_to(&rows, key, segments, has_failed))
		__sync_fetch_and_add(&counts.no_room, segments);
}

/* False: it is of a namespace that nobody asked for. */
static __always_inline bool take_peer(struct retransmit_key *key, const struct sock_common *c)
{
	key->netns = c->skc_net.net->ns.inum;
	if (has_netns && !bpf_map_lookup_elem(&chosen_netns, &key->netns))
		return false;
	key->family = c->skc_family;
	key->remote_port = bpf_ntohs(c->skc_dport);
	key->local_port = c->skc_num;
	key->state = c->skc_state;
	if (key->family == AF_INET6)
		bpf_core_read(key->remote, 16, &c->skc_v6_daddr);
	else
		bpf_core_read(key->remote, 4, &c->skc_daddr);
	return true;
}

/*
 * The timer that runs off has its mark taken away before it sends again, but for the loss probe,
 * whose mark stays until it was sent (tcp_write_timer_handler, tcp_send_loss_probe). After a
 * timeout the state is Loss; what ACKs make it send then, the kernel counts as slow start.
 */
static __always_inline __u8 kind_of(const struct sock *sk, __u8 socket_state)
{
	const struct inet_connection_sock *c = (const void *)sk;
	const __u8 pending = BPF_CORE_READ(c, icsk_pending);
	const __u8 state = congestion_state(c);

	if (socket_state == TCP_SYN_SENT)
		return RETRANSMIT_SYN;
	if (socket_state == TCP_SYN_RECV)
		return RETRANSMIT_SYNACK;
	if (pending == ICSK_TIME_LOSS_PROBE)
		return RETRANSMIT_TLP;
	if (state == TCP_CA_LOSS)
		return pending ? RETRANSMIT_SLOW_START : RETRANSMIT_RTO;
	return state == TCP_CA_RECOVERY ? RETRANSMIT_FAST : RETRANSMIT_OTHER;
}

SEC("tp_btf/tcp_retransmit_skb")
int retransmit(__u64 *ctx)
{
	const struct sock *sk = (void *)ctx[0];
	const struct sk_buff *skb = (void *)ctx[1];
	struct retransmit_key key = {};
	bool has_failed = false;
	__u16 segments = 0;

	if (arguments >= 3)
		has_failed = (int)ctx[2] != 0;
	if (!take_peer(&key, &sk->__sk_common))
		return 0;
	key.kind = kind_of(sk, key.state);
	bpf_probe_read_kernel(&segments, sizeof(segments), (const char *)&skb->cb +
			      bpf_core_field_offset(struct tcp_skb_cb, tcp_gso_segs));
	count(ctx, &key, segments ? segments : 1, has_failed);
	return 0;
}

SEC("tp_btf/tcp_retransmit_synack")
int retransmit_synack(__u64 *ctx)
{
	const struct request_sock *request = (void *)ctx[1];
	struct retransmit_key key = {};

	if (!take_peer(&key, &request->__req_common))
		return 0;
	key.state = TCP_NEW_SYN_RECV;
	key.kind = RETRANSMIT_SYNACK;
	count(ctx, &key, 1, false);
	return 0;
}
