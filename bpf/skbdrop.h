/* What bpf/skbdrop.bpf.c and common/kernel/skbdrop.c tell each other. */
#ifndef BPF_SKBDROP_H
#define BPF_SKBDROP_H

#include <linux/types.h>

#define SKBDROP_ROWS 8192              /* different keys at most */
#define SKBDROP_DEVICES 4096
#define SKBDROP_CHOSEN 1024            /* namespaces, or names of devices, asked for */

/* Drops are summed by this. */
struct skbdrop_key {
	__u64 location;                /* address in the kernel: what freed it */
	__u64 stack;                   /* id, see kstack.h; 0: none */
	__u32 netns;                   /* inode; 0: it can't be told */
	__u32 ifindex;                 /* 0: none yet, or not any more */
	__u32 reason;                  /* this kernel's number; SKBDROP_NO_REASON */
	__u16 protocol;                /* EtherType, host order */
	__u8 transport;                /* IPPROTO_, of IPv4 and IPv6; 255: not known */
	__u8 is_arrival;               /* ifindex is that of the device it came by: its own is
					  forgotten */
};

#define SKBDROP_NO_REASON 0xffffffffu  /* Linux before 5.17 */
#define SKBDROP_NO_TRANSPORT 255

struct skbdrop_device {
	__u32 netns, ifindex;
};

/* By CPU. */
struct skbdrop_counts {
	__u64 seen;                    /* all that were freed as dropped */
	__u64 passed_over;             /* of them, what the filters leave out */
	__u64 no_room;                 /* of them, what found the map of keys full */
	__u64 no_stack;                /* counted, but there was no room for the stack */
};

#endif
