/*
 * Inside oomcheck: the host's memory, control groups and their limits, kills in the kernel log, and
 * what processes believe they may take.
 */
#ifndef APPLETS_OOMCHECK_OOMCHECK_H
#define APPLETS_OOMCHECK_OOMCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/base/hash.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/memcg.h"

/* One group of the memory hierarchy at this look. */
struct memgroup {
	const char *path, *folder;             /* as in /proc/PID/cgroup; source path */
	const char *names;                     /* container, pod; NULL none */
	const struct memgroup *parent;         /* NULL: the root */
	struct memcg memory;                   /* what its files say */
	uint64_t effective_limit_bytes;        /* least of its own, its ancestors' and the host's */
	const struct memgroup *limited_by;     /* whose limit that is; NULL: the host's memory */
	uint64_t headroom_low_bytes,           /* least left over the same levels: if no cache ... */
		headroom_high_bytes;           /* ... and if all reclaimable memory can be freed */
	bool is_listed;                        /* has a limit or OOM history */
};

struct selection {
	struct opt_numbers pids;               /* -p */
	const char *cgroup;                    /* -G */
	const char *log;                       /* --log FILE or "-"; NULL: the kernel's */
	bool reads_environment;                /* --environ */
};

/* What the parts share. */
struct state {
	struct selection selection;
	struct cgroup_layout layout;
	uint64_t interval_ns;                  /* 0 at the first look */
	uint64_t total_bytes, available_bytes; /* the host's; NA_U64 unknown */
	unsigned online_cpus;                  /* 0 unknown */
};
extern struct state oomcheck;

/* groups.c: the groups of this look; NULL: no such group, or not seen. */
const struct memgroup *groups_find(const char *path);

/* kills.c: kills in the log since the look before (the first: all that it holds), and findings. */
extern const struct table kills_table, victims_table;
int kills_look(struct out *out);
void kills_stop(void);

/* processes.c: what processes believe, for -p or every process in a limited group. */
extern const struct table processes_table;
int processes_look(struct out *out);
void processes_stop(void);

/* findings.c */
extern const struct finding_kind oomcheck_findings[];

#endif
