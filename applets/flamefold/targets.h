/* Who is recorded or counted, out of the options: threads, a cgroup, everything, or a command. */
#ifndef APPLETS_FLAMEFOLD_TARGETS_H
#define APPLETS_FLAMEFOLD_TARGETS_H

#include <sys/types.h>

#include "applets/flamefold/flamefold.h"
#include "common/stack/perfevent.h"

struct targets {
	struct perfevent_target is;
	uint32_t *tids;                /* is.tids */
	unsigned *cpus;
	size_t tid_cap;
	const char *text;              /* "pid 12", "the whole machine", "cgroup /x", "sleep" */
	pid_t child;                   /* the command's; 0: none */
	int ended;                     /* its wait status; 0: well, or not yet */
	int go;                        /* a byte here lets it exec */
	int child_fd;                  /* ready when it has ended; -1 */
};

/* Checks -a, -p, --tid and -G against each other and the command: 0 or -EINVAL. */
int targets_check(bool has_command);
/* Finds them; the command is forked and waits. 0 or -errno with fail text; targets_close. */
int targets_open(struct targets *t, char **command);
/* Lets the command begin. -errno with fail text: it could not be executed. */
int targets_start(struct targets *t);
/* All processes asked for have ended. */
bool targets_are_gone(struct targets *t);
/* A remark if the command failed: what was recorded of it may not be what was meant. */
void targets_tell_end(struct out *out, const struct targets *t);
void targets_close(struct targets *t);

#endif
