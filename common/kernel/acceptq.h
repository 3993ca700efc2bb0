/*
 * What was seen of accept queues, and of those who should empty them, in the polls between two
 * frames: sums that stand in the later frame as the call "acceptq polls".
 */
#ifndef KERNEL_ACCEPTQ_H
#define KERNEL_ACCEPTQ_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* One listening socket. Counts are numbers of polls. */
struct acceptq_queue {
	uint64_t netns, cookie;        /* the namespace's inode */
	uint64_t polls;                /* it was seen in */
	uint64_t max;                  /* the longest queue */
	uint64_t waiting;              /* somebody waited to be accepted */
	uint64_t over;                 /* longer than its limit: full */
	uint64_t near_run;             /* most in a row in which it was nearly full */
	uint64_t stalled;              /* nearly full while its group's others were nearly empty */
};

/* One process that has the socket; only of sockets with somebody waiting. */
struct acceptq_worker {
	uint64_t netns, cookie;
	uint64_t pid, parent;          /* parent NA_U64: unknown */
	uint64_t polls;                /* it could be looked at */
	uint64_t accepting;            /* a thread sat in accept */
	uint64_t listening;            /* none did, but one waited for events (epoll, poll ...) */
	/* what all its threads did between its first and last poll; NA_U64 unknown */
	uint64_t span_ns, ran_ns, queued_ns;
	uint64_t throttled_ns;         /* its control group, summed over CPUs */
};

struct acceptq {
	uint64_t polls, cost_ns;       /* CPU time of all of them */
	struct acceptq_queue *queues;
	size_t queue_count;
	struct acceptq_worker *workers;
	size_t worker_count;
};

void acceptq_write(const struct acceptq *q, struct buf *to);

/*
 * "polls N NS", then "queue" and "worker" lines with their fields in order, "-" for unknown, then
 * "end". What it fills lives in arena. -EINVAL with fail text: garbled or cut.
 */
int acceptq_parse(struct text t, struct arena *arena, struct acceptq *q);

/*
 * This frame's: live, the sums of now; replaying, what the run has. -ENOENT: the run has none.
 */
int acceptq_read(const struct acceptq *now, struct acceptq *q);

#endif
