/*
 * What the kernel lets this program do, found out by doing it and undoing it at once. Nothing of it
 * loads a module, sends anything or leaves a trace. 0, or -errno with fail text.
 */
#ifndef KERNEL_PROBE_H
#define KERNEL_PROBE_H

#include "common/base/buf.h"

int probe_netlink(int protocol);       /* a socket of NETLINK_ROUTE or another built-in family */
int probe_packet(void);                /* a deaf socket; see /proc/net/packet first */
int probe_openat2(void);
int probe_netns(void);                 /* enter the network namespace we are in */

int probe_kallsyms(struct buf *first); /* the first lines of /proc/kallsyms: the whole is long */
int probe_self(void);                  /* this program's file, open; the caller closes it */

#endif
