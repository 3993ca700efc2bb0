/*
 * Sockets as the kernel dumps them: inet_diag and unix_diag (net/ipv4/inet_diag.c,
 * include/uapi/linux/inet_diag.h, sock_diag(7)). Of the network namespace the program is in.
 *
 * Where the kernel would have to load a module to answer (see module.h), or refuses, the same is
 * read from proc/net/tcp, tcp6, udp, udp6 and unix: without cookies, limits of listen queues,
 * memory and marks, and slower. result->lacks says so and why.
 */
#ifndef KERNEL_SOCKDIAG_H
#define KERNEL_SOCKDIAG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* Kernel's numbers, include/net/tcp_states.h. NEW_SYN_RECV is dumped as SYN_RECV. */
enum sock_state {
	SOCK_ESTABLISHED = 1, SOCK_SYN_SENT, SOCK_SYN_RECV, SOCK_FIN_WAIT1, SOCK_FIN_WAIT2,
	SOCK_TIME_WAIT, SOCK_CLOSE, SOCK_CLOSE_WAIT, SOCK_LAST_ACK, SOCK_LISTEN, SOCK_CLOSING,
	SOCK_NEW_SYN_RECV, SOCK_BOUND_INACTIVE, SOCK_STATES
};
#define SOCK_BIT(state) (1u << (state))
const char *sock_state_name(enum sock_state s);        /* "ESTAB" "TIME-WAIT" as ss has it */

struct sock_end {
	uint8_t address[16];           /* network order; IPv4 in the first four, the rest 0 */
	uint16_t port;                 /* host order */
};

struct sock {
	uint8_t family;                /* AF_INET, AF_INET6 */
	uint8_t protocol;              /* IPPROTO_TCP, _UDP; with is_mptcp IPPROTO_MPTCP & 0xff */
	bool is_mptcp;
	uint8_t state;                 /* enum sock_state */
	uint8_t timer, retransmits;
	uint64_t expires_ns;           /* of the timer; a TIME_WAIT's rest */
	struct sock_end local, remote;
	uint32_t interface;            /* bound to; 0 none */
	uint64_t cookie;               /* NA_U64 unknown */
	uint64_t inode;                /* 0: nobody's (request, TIME_WAIT, not accepted) */
	uint32_t uid;
	uint64_t receive_queue, send_queue;    /* LISTEN: accept queue now, and its limit; NA_U64
	                                          unknown; bytes else */
	uint64_t drops;                /* INET_DIAG_SKMEMINFO; NA_U64 unless asked and told */
	uint64_t rmem_bytes, rcvbuf_bytes, wmem_bytes, sndbuf_bytes;   /* the same */
	uint64_t cgroup_id, mark;      /* NA_U64 unless told */
	int v6only;                    /* 1, 0; -1 unknown or IPv4 */
	int shutdown;                  /* 1 receiving, 2 sending, 3 both ended; -1 unknown */
	/* TCP under an MPTCP socket, which comes with is_mptcp and has the same inode and local
	 * end; of two that listen this one has the drops */
	bool is_subflow;
	struct text info;              /* struct tcp_info, as much as came; empty unless asked */
};

struct sockdiag_query {
	uint8_t protocol;              /* IPPROTO_TCP (MPTCP too if is_mptcp), IPPROTO_UDP */
	bool is_mptcp;
	bool ipv4, ipv6;
	unsigned states;               /* SOCK_BIT()s */
	bool memory, info;             /* ask for INET_DIAG_SKMEMINFO, INET_DIAG_INFO */
	uint16_t local_port;           /* kernel filter; 0: any */
};

struct sockdiag_result {
	uint64_t seen;
	bool is_partial;               /* messages lost or cut: some sockets may be missing */
	/* NULL, or what the answer lacks and why, for a person: "no queue limits, drops per socket:
	 * tcp_diag is not loaded ..." Lives until the frame's end. */
	const char *lacks;
};

/*
 * Calls each for every socket that matches; what s points to lives until it returns. 0 or -errno
 * with fail text. The dump is never begun anew, so none is handed out twice for that; but it is no
 * snapshot: under churn the kernel may miss one, or give one twice. TCP of both families costs one
 * walk of the kernel's tables, of one family as well; LISTEN alone does not walk the connections.
 */
int sockdiag_each(const struct sockdiag_query *q, void (*each)(const struct sock *s, void *arg),
		  void *arg, struct sockdiag_result *result);

/* "10.0.0.1:80" "[::1]:80" "*:80" for ::, "0.0.0.0:80"; v4-mapped: "[::ffff:1.2.3.4]:80". In a. */
const char *sock_end_text(struct arena *a, uint8_t family, const struct sock_end *end);
/* The same of its local end; "[::]:80" where :: takes no IPv4 (IPV6_V6ONLY). */
const char *sock_local_text(struct arena *a, const struct sock *s);

/* UNIX sockets (unix_diag): the same meaning of the queues. All types: look at `type`. */
#define SOCKDIAG_NAME 110              /* bytes: sun_path, a NUL */
struct unix_sock {
	const char *name;              /* path, or "@abstract" (NULs as "@"); NULL: unnamed */
	uint64_t inode, cookie;
	uint8_t type, state;           /* SOCK_STREAM ...; enum sock_state */
	uint64_t receive_queue, send_queue;    /* as above; NA_U64 unknown */
	uint64_t uid;                  /* NA_U64 before 5.3 */
};
int sockdiag_each_unix(unsigned states, void (*each)(const struct unix_sock *s, void *arg),
		       void *arg, struct sockdiag_result *result);

/* One message of an answer, and one of proc/net's files: for tests and the fuzz target. -EINVAL:
 * garbled; *s is set only if 0 is returned. A file's lines that make no sense are passed over. */
int sockdiag_parse(struct text body, struct sock *s);
int sockdiag_parse_unix(struct text body, struct unix_sock *s, char name[SOCKDIAG_NAME]);
void sockdiag_parse_file(struct text t, const struct sockdiag_query *q, uint8_t family,
			 void (*each)(const struct sock *s, void *arg), void *arg,
			 struct sockdiag_result *result);
void sockdiag_parse_unix_file(struct text t, unsigned states,
			      void (*each)(const struct unix_sock *s, void *arg), void *arg,
			      struct sockdiag_result *result);

#endif
