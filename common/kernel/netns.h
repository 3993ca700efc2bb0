/* Network namespaces: which there are that can be seen from here, and going into one and back. */
#ifndef KERNEL_NETNS_H
#define KERNEL_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"

struct netns_count {
	size_t seen;                   /* different ones, our own included */
	bool is_complete;              /* false: some processes' could not be read */
};

/* Through proc/PID/ns/net and the names in run/netns and run/docker/netns. 0 or -errno. */
int netns_count(struct netns_count *count);

struct netns {
	uint64_t inode;
	const char *name;              /* "host": PID 1's; else of run/netns, else the container or
	                                  pod, else "net:[INODE]". Never NULL. */
	bool is_own;                   /* the one the program was started in */
	uint32_t pid;                  /* a process in it (the first found); 0: none seen */
	const char *path;              /* to open it by: "proc/12/ns/net", "run/netns/blue",
	                                  "proc/12/fd/7" */
};
struct netns_list {
	struct netns *items;           /* own first, then by name */
	size_t count;
	bool is_complete;
};

/*
 * wanted: NULL the own alone; "all"; a name; a path; a PID. In the frame's arena. -ENOENT with fail
 * text: there is none of that name or PID; -EACCES.
 */
int netns_select(const char *wanted, struct netns_list *list);

/*
 * Into it (setns in the calling thread, and src_netns), and back to the own. Replaying: src_netns
 * alone. After netns_enter the /sys that is mounted still shows the caller's namespace, and
 * proc/net must be read as proc/thread-self/net or proc/net of the main thread. 0 or -errno with
 * fail text (EPERM names CAP_SYS_ADMIN); after a failure the program is in its own.
 */
int netns_enter(const struct netns *ns);
int netns_leave(void);

#endif
