/*
 * Which processes hold a socket: one map a frame, made when first asked for. From proc/PID/fd, or
 * with BTF and permission the task_file iterator (bpf/sockowner.bpf.c).
 *
 * Scanning proc costs 4 us a descriptor, every time; the iterator 25 ms once to load and then
 * 0.4 us a descriptor. It is loaded, once a run, when the host has many open files or when scanning
 * has cost as much as loading would have. All may be asked inside another network namespace: proc
 * is the whole host's.
 */
#ifndef KERNEL_SOCKOWNER_H
#define KERNEL_SOCKOWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/sockowner.h"
#include "common/base/text.h"

/* A process by its number in the pid namespace of /proc. */
struct sock_owner {
	uint32_t pid, fd;
};

/* Makes the frame's map if there is none yet. 0, or -errno with fail text if nothing could be read.
 */
int sockowner_load(void);
bool sockowner_is_loaded(void);                /* in this frame */
/* False: some processes' descriptors could not be read, so "no owner" means unknown. True: none has
 * it open; it is the kernel's own, waits to be accepted, or is on its way from one to another. */
bool sockowner_is_complete(void);
/* Processes with the socket open, a descriptor each, by pid; *count 0: none seen. Lives until the
 * frame's end. */
const struct sock_owner *sockowner_find(uint64_t inode, size_t *count);
/* Descriptors that hold a namespace of any kind, found in passing: their links tell which. Lives
 * until the frame's end. */
const struct sock_owner *sockowner_namespaces(size_t *count);
/* Descriptors pid holds, of any kind; NA_U64: unknown. And its RLIMIT_NOFILE (proc/PID/limits), the
 * soft one. */
uint64_t sockowner_fd_count(uint32_t pid);
uint64_t sockowner_fd_limit(uint32_t pid);
/* comm of pid (proc/PID/comm), once per frame; NULL gone or unreadable. */
const char *sockowner_comm(uint32_t pid);
const char *sockowner_engine(void);            /* "task_file iterator" or "proc/PID/fd" */
/* Why the iterator was not used although it would have been quicker; NULL: it was, or there was no
 * need. Lives until sockowner_close. */
const char *sockowner_refusal(void);
void sockowner_close(void);                    /* at the run's end: nothing is left in the kernel */
/* For tests: not by what it costs. */
extern enum sockowner_way { SOCKOWNER_CHEAPEST, SOCKOWNER_SCAN, SOCKOWNER_ITERATE } sockowner_way;

/* "Max open files  1024  524288  files" of proc/PID/limits (fs/proc/base.c): the soft limit; NA_U64
 * if it is not there or unlimited. */
uint64_t sockowner_parse_limit(struct text limits);

/* The iterator's reply, the call "bpf sockowner": rows as they are in memory. -EINVAL with fail
 * text if one is cut or of no known kind; each was called for those before it. */
typedef void (*sockowner_each)(const struct sockowner_row *row, void *arg);
int sockowner_parse_rows(struct text reply, sockowner_each each, void *arg);

#endif
