/* Between tcp.c and tcp_sockets.c. */
#ifndef APPLETS_NETPATH_TCP_LAYER_H
#define APPLETS_NETPATH_TCP_LAYER_H

#include "applets/netpath/tcp.h"

int tcp_read_sockets(struct out *out, struct look *look, struct space *s);
/* Fills `again`; was NULL: not looked at before. */
void tcp_compare_sockets(struct tcp *now, const struct tcp *was);

#endif
