/* struct tcp_info (include/uapi/linux/tcp.h, tcp_get_info() in net/ipv4/tcp.c), as INET_DIAG_INFO
 * and TCP_INFO give it: as much of it as the kernel knew. */
#ifndef KERNEL_TCPINFO_H
#define KERNEL_TCPINFO_H

#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

/* NA_U64: this kernel's is shorter. Counters are of the socket's whole life. */
struct tcpinfo {
	uint64_t ca_state;             /* TCP_CA_Open 0 ... Recovery 3, Loss 4 */
	uint64_t retransmits;          /* of the segment that is waited for, without an answer */
	uint64_t probes;               /* of a closed window, without an answer */
	uint64_t backoff;              /* times the timeout was doubled */
	uint64_t rto_ns, rtt_ns, rtt_variance_ns, min_rtt_ns;
	uint64_t send_mss_bytes, path_mtu_bytes;
	uint64_t unacked, lost, retransmitted; /* segments, now */
	uint64_t cwnd;                 /* segments */
	uint64_t total_retransmits;    /* segments sent again */
	uint64_t segments_out;         /* with those */
	uint64_t busy_ns, window_limited_ns, sndbuf_limited_ns;
	uint64_t send_window_bytes;    /* the peer's */
	uint64_t duplicates;           /* sent again for nothing: DSACKs */
};

/* Whatever its length. */
void tcpinfo_parse(struct text info, struct tcpinfo *t);

#endif
