/*
 * How long threads wait for a CPU, as a histogram: bpf/runqhist.bpf.c counts in the kernel at each
 * switch, this chooses whom it counts, reads it and takes differences.
 */
#ifndef KERNEL_RUNQHIST_H
#define KERNEL_RUNQHIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/runqhist.h"              /* enum runqhist_by, RUNQHIST_BUCKETS */
#include "common/base/mem.h"
#include "common/base/text.h"

struct runqhist_config {
	enum runqhist_by by;
	bool has_woken, has_preempted; /* which waits */
	bool is_unified;               /* control groups by version 2's hierarchy */
	const uint64_t *pids, *tids;   /* as in the caller's pid namespace */
	size_t pid_count, tid_count;   /* both 0: all */
	bool has_groups;               /* only those told by runqhist_choose_groups */
	/* Only threads of whose name it says yes; NULL: all. Live only. */
	bool (*is_chosen)(const char *comm);
};

/* The waits of one key that ended in the interval, and those that go on. */
struct runqhist_row {
	uint64_t id; /* CPU; id of a control group (cgroup_id); else to tell apart only */
	uint32_t tgid, tid;            /* in the reader's pid namespace; 0: none, or not known */
	char comm[16];                 /* the latest seen */
	uint64_t count[RUNQHIST_KINDS], sum_ns[RUNQHIST_KINDS];
	uint64_t max_ns;
	uint64_t pending, oldest_ns;   /* threads that wait now, and the longest since when */
	const uint32_t *buckets;       /* RUNQHIST_BUCKETS */
};

/*
 * Load, attach and start counting: 0.1 s or so. 0, or -errno with a text that says what refused and
 * what would unlock it, as throttle_open; ESRCH: no such process or thread; E2BIG: more ids than
 * the kernel program holds. Replaying: 0.
 */
int runqhist_open(const struct runqhist_config *config);
/* What has_groups waits for; live only, before the first runqhist_read and again when there are new
 * ones. */
void runqhist_choose_groups(const uint64_t *ids, size_t count);
/* Asks is_chosen about names that came up since: what waits under these is lost till then. */
void runqhist_judge_names(void);

/*
 * What came since the read before (the first: since runqhist_open), in no order; also what was
 * missed meanwhile. Through the source as the call "bpf runqhist BY KINDS" ("bpf runqhist all
 * woken,preempted"), so that a saved run is not taken for another; lives until the frame's end.
 * -ENOENT: not open, or the replayed run has none.
 */
int runqhist_read(const struct runqhist_config *asked, const struct runqhist_row **rows,
		  size_t *count, const struct runqhist_counts **counts);

/*
 * The call's reply: for each key "ID TGID TID COMM_HEX WOKEN WOKEN_NS PREEMPTED PREEMPTED_NS MAX_NS
 * PENDING OLDEST_NS" and a "BUCKET:COUNT" for each bucket that is not empty (32 digits of COMM),
 * ascending; then "counts" and the four of struct runqhist_counts. In arena. -EINVAL if a line is
 * garbled or the last one is missing.
 */
int runqhist_parse(struct text reply, struct arena *arena, const struct runqhist_row **rows,
		   size_t *count, struct runqhist_counts *counts);

/* The least ns that bucket holds; of RUNQHIST_BUCKETS: where the last one ends. */
uint64_t runqhist_bucket_low(unsigned bucket);
/*
 * The wait that so many of the row's are at most as long as (0 < share <= 1), by straight lines
 * through its bucket: at most an eighth off. NA_U64 if nothing was counted.
 */
uint64_t runqhist_quantile(const struct runqhist_row *row, double share);

void runqhist_close(void);             /* detach all; nothing of it is left in the kernel */

#endif
