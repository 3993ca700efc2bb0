/*
 * Which processes hold a socket: one map a frame, made when first asked for. From proc/PID/fd, or
 * with BTF and permission the task_file iterator (bpf/sockowner.bpf.c).
 */
#ifndef KERNEL_SOCKOWNER_H
#define KERNEL_SOCKOWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sock_owner {
	uint32_t pid, fd;
};

/* Makes the frame's map if there is none yet. 0, or -errno with fail text if nothing could be read.
 */
int sockowner_load(void);
/* False: some processes' descriptors could not be read, so "no owner" means unknown. */
bool sockowner_is_complete(void);
/* Processes with the socket open, a descriptor each, by pid; *count 0: none seen. Lives until the
 * frame's end. */
const struct sock_owner *sockowner_find(uint64_t inode, size_t *count);
/* Descriptors pid holds, of any kind; NA_U64: unknown. And its RLIMIT_NOFILE (proc/PID/limits). */
uint64_t sockowner_fd_count(uint32_t pid);
uint64_t sockowner_fd_limit(uint32_t pid);
/* comm of pid (proc/PID/comm), once per frame; NULL gone or unreadable. */
const char *sockowner_comm(uint32_t pid);
const char *sockowner_engine(void);            /* "task_file iterator" or "proc/PID/fd" */

#endif
