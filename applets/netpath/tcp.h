/* TCP's sockets that send again: for the layers whose losses they show. */
#ifndef APPLETS_NETPATH_TCP_H
#define APPLETS_NETPATH_TCP_H

#include "applets/netpath/counters.h"
#include "common/kernel/sockdiag.h"
#include "common/kernel/tcpinfo.h"

struct tcp_socket {
	uint64_t cookie, inode;
	uint8_t family, state;
	struct sock_end local, remote;
	struct tcpinfo info;
	uint64_t again;                /* segments sent again in the interval; since it was made if
					  is_since_made; compare */
	bool is_since_made;
};

struct tcp {
	struct tcp_socket *sockets;    /* that sent something again some time */
	size_t count, cap;
	bool is_read;                  /* else there are too many, or they can't be */
	struct sock *listeners;        /* with drops */
	size_t listener_count, listener_cap;
};

/* NULL: not read. */
const struct tcp *tcp_of(const struct space *s);
/* "10.0.0.1:80", redacted as an address. */
const char *tcp_end_text(struct arena *a, const struct tcp_socket *s, const struct sock_end *end);
/* " nginx/12" of the socket's owner, or "". */
const char *tcp_owner_text(struct arena *a, uint64_t inode);

#endif
