/* What bpf/sockowner.bpf.c tells of each descriptor: both sides. */
#ifndef BPF_SOCKOWNER_H
#define BPF_SOCKOWNER_H

#include <linux/types.h>

enum sockowner_kind { SOCKOWNER_SOCKET = 1, SOCKOWNER_NAMESPACE };

struct sockowner_row {
	__u64 inode;
	__u32 pid;                     /* of the process, in the reader's pid namespace */
	__u32 fd;
	__u32 kind;
	__u32 zero;
};

#endif
