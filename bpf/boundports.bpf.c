/*
 * Which ports have a TCP bind bucket that connect() passes over: __inet_hash_connect
 * (net/ipv4/inet_hashtables.c) takes only ports without a bucket, and those whose bucket has
 * neither fastreuse nor fastreuseport set, which is what connect() itself makes. Buckets of
 * listeners, of connections accepted from them, and of sockets bound before they connected have.
 */
#include "bpf/kernel.h"

char LICENSE[] SEC("license") = "GPL";

__u64 ports[65536 / 64];               /* a bit each; emptied by user space before it reads */

static __always_inline void look_at(const struct inet_bind_bucket *bucket)
{
	if (!bucket || (bucket->fastreuse < 0 && bucket->fastreuseport < 0))
		return;
	__u64 port = bucket->port;

	ports[port / 64 & 1023] |= 1ull << (port & 63);
}

/* Of the network namespace of who opened the iterator. */
SEC("iter/tcp")
int each_socket(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;

	if (!common)
		return 0;
	struct tcp_timewait_sock *waiting = bpf_skc_to_tcp_timewait_sock(common);

	if (waiting) {
		look_at(waiting->tw_sk.tw_tb);
		return 0;
	}
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(common);

	if (tcp)
		look_at(tcp->inet_conn.icsk_bind_hash);
	return 0;
}
