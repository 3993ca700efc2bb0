/* What bpf/retransmit.bpf.c and common/kernel/retransmit.c tell each other. */
#ifndef BPF_RETRANSMIT_H
#define BPF_RETRANSMIT_H

#include <linux/types.h>

#define RETRANSMIT_ROWS 16384          /* different keys at most */
#define RETRANSMIT_TOTALS 8192         /* namespaces times kinds */
#define RETRANSMIT_CHOSEN 1024         /* namespaces asked for */

/* Why it was sent again, as far as the socket shows in that moment. */
enum retransmit_kind {
	RETRANSMIT_SYN,                /* connect() was not answered in time */
	RETRANSMIT_SYNACK,             /* nor was our answer */
	RETRANSMIT_TLP,                /* a tail loss probe: a lost tail, or just a late ACK */
	RETRANSMIT_RTO,                /* the timer: nothing was acknowledged for so long */
	RETRANSMIT_SLOW_START,         /* what else was out when the timer ran off */
	RETRANSMIT_FAST,               /* ACKs say that it is missing (SACK, RACK, three duplicates) */
	RETRANSMIT_OTHER,              /* path MTU changed, data of a fast open SYN, ... */
	RETRANSMIT_KINDS
};

struct retransmit_key {
	__u8 remote[16];               /* network order; IPv4 in the first four, the rest 0 */
	__u64 stack;                   /* id, see kstack.h; 0: none */
	__u32 netns;                   /* inode */
	__u16 family;                  /* AF_INET, AF_INET6 */
	__u16 remote_port, local_port; /* host order */
	__u8 state;                    /* the kernel's number, include/net/tcp_states.h */
	__u8 kind;                     /* enum retransmit_kind */
	__u32 reserved;
};

struct retransmit_sum {
	__u64 events;                  /* calls; each sends one or more segments at once */
	__u64 segments;                /* what RetransSegs counts */
	__u64 failed;                  /* events whose packet was not sent (from 6.15 on) */
};

struct retransmit_total {              /* its value is a struct retransmit_sum */
	__u32 netns, kind;
};

struct retransmit_counts {
	__u64 no_room;                 /* segments that are in totals alone: the map was full */
	__u64 no_total;                /* and those that are not even there */
	__u64 no_stack;                /* events without room for their stack */
};

#endif
