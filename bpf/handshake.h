/* What bpf/handshake.bpf.c counts: both sides. */
#ifndef BPF_HANDSHAKE_H
#define BPF_HANDSHAKE_H

#include <linux/types.h>

#define HANDSHAKE_PLACES 8192          /* addresses counted at most */

/* Where a client connected to. */
struct handshake_place {
	__u8 address[16];              /* network order; IPv4 in the first four, the rest 0 */
	__u32 netns;                   /* inode; 0: the packet did not say */
	__u16 port;                    /* host order */
	__u16 family;                  /* AF_INET, AF_INET6 */
};

struct handshake_count {
	__u64 arrived;                 /* handshakes that ended: in the accept queue */
	__u64 refused;                 /* whose last packet was dropped: the queue was full */
};

#endif
