/*
 * TCP ports that connect() is never given because a socket is, or was, bound to them: listeners,
 * connections accepted from one, and sockets bound before they connected. What sock_diag shows is
 * the same for the latter and for ordinary ones; bpf/boundports.bpf.c asks their bind buckets.
 */
#ifndef KERNEL_BOUNDPORTS_H
#define KERNEL_BOUNDPORTS_H

#include "common/kernel/ports.h"

/*
 * Loads the program. 0, or -errno with a text that says what refused: ENOTSUP built without BPF;
 * EPERM a capability is missing; EINVAL this kernel can't (no TCP iterator: before 5.9). Replaying:
 * 0; whether the run had it, boundports_read tells.
 */
int boundports_open(void);

/*
 * All such ports of the network namespace the program is in, not only those of the range. Walks all
 * its TCP sockets. Taken through the source as the call "bpf bound ports", a list like that of
 * ip_local_reserved_ports. 0 or -errno with fail text; -ENOENT: not open, or the replayed run has
 * none.
 */
int boundports_read(struct port_set *s);
void boundports_close(void);

#endif
