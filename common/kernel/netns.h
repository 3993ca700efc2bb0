/* Network namespaces: which there are that can be seen from here, and going into one and back. */
#ifndef KERNEL_NETNS_H
#define KERNEL_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/text.h"

struct netns_count {
	size_t seen;                   /* different ones, our own included */
	bool is_complete;              /* false: some processes' could not be read */
};

/* Through proc/PID/ns/net and the names in run/netns and run/docker/netns. 0 or -errno. */
int netns_count(struct netns_count *count);

/*
 * Names. "host": PID 1's; where that can't be read, the initial namespace if it can be told. Else
 * the name in run/netns; else the pod or container of a process in it, as its cgroup says; else the
 * name in run/docker/netns; else "net:[INODE]". The own one, if PID 1's can't be read and it has
 * none of these names, is "own". Two that would have the same name have " net:[INODE]" behind it.
 */
struct netns {
	uint64_t inode;                /* 0: the own one, and proc does not say which that is */
	const char *name;              /* never NULL */
	bool is_own;                   /* the one the program was started in */
	uint32_t pid;                  /* a process in it (the first found); 0: none seen */
	const char *path;              /* to open it by: "proc/12/ns/net", "run/netns/blue",
	                                  "proc/12/fd/7" */
	unsigned first_frame;          /* see netns_is_new */
};
struct netns_list {
	struct netns *items;           /* own first, then by name */
	size_t count;
	/* False: some processes' could not be read, other than PID 1's, which is in "host". */
	bool is_complete;
	/* those that nothing but a descriptor holds are among them, as far as descriptors may be
	 * read; only for "all" */
	bool has_descriptors;
};

/*
 * wanted: NULL the own alone; "all"; a name as above or "net:[INODE]"; a path ("/run/netns/blue",
 * "/proc/12/ns/net"); a PID. A name wins over a PID. In the frame's arena. -ENOENT with fail text:
 * there is none of that name or PID; -EACCES. Inside another namespace it goes back to the own
 * first. Without descriptors it costs a readlink per process (10 us). Descriptors are looked
 * through, for "all", if the map of sockowner.h is there already (an applet that shows owners makes
 * it before) or the host has so few open files, 1000, that making it costs a few milliseconds.
 */
int netns_select(const char *wanted, struct netns_list *list);

/* For out_unseen, where "all" was looked for and some could not be listed or entered. */
#define NETNS_UNSEEN "of other network namespaces"

/*
 * Was it made after that frame? Then its counters were 0 in it: a rate may start from there. Known
 * only from "all", asked for in that frame too, and with descriptors; else false: unknown.
 */
bool netns_is_new(const struct netns *ns, unsigned frame);

/*
 * Into it (setns in the calling thread, and src_netns), and back to the own. Replaying: src_netns
 * alone. After netns_enter the /sys that is mounted still shows the caller's namespace, and
 * proc/net must be read as proc/thread-self/net or proc/net of the main thread. What is of the
 * whole host (proc/PID, cgroups) is read before, or between src_netns(0) and back. 0 or -errno
 * with fail text (EPERM names CAP_SYS_ADMIN); -ESRCH: it has gone since, which is no error. After a
 * failure the program is in its own.
 */
int netns_enter(const struct netns *ns);
int netns_leave(void);

/* "net:[4026531840]", as the links in proc/PID/ns and proc/PID/fd have it; false: something else */
bool netns_parse_link(struct text target, uint64_t *inode);

#endif
