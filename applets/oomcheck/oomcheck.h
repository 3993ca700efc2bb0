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
	const char *names;                     /* container, pod; NULL none, or not asked for yet */
	const struct memgroup *parent;         /* NULL: the root */
	struct memcg memory;                   /* what its files say */
	uint64_t effective_limit_bytes;        /* least of its own, its ancestors' and the host's */
	const struct memgroup *limited_by;     /* whose limit that is; NULL: the host's memory */
	uint64_t headroom_low_bytes, /* least left over the same levels: if no cache ... */
		headroom_high_bytes; /* ... and if all reclaimable memory can be freed */
	bool is_listed;                        /* has a limit or OOM history */
	bool is_full; /* all was read; else only what shows that it is far from its limit */
	bool has_unknown_limit; /* its own or an ancestor's can't be read: effective NA_U64 */
	bool is_limited_above; /* ... by a group that can't be seen from here (v1) */
	uint64_t unreclaimable_bytes;          /* NA_U64 unless is_full */
	uint64_t swap_left_bytes;              /* what it can still swap out; NA_U64 unknown */
	uint64_t swappable_bytes;              /* the part of unreclaimable that this could take */
	struct track *track;                   /* listed groups: what earlier looks saw */
	/* moved since the look before; NA_U64 unknown */
	uint64_t moved_kills;                  /* in it and below */
	uint64_t own_kills;                    /* in it, or in a group below that is gone */
	uint64_t own_max_events, own_high_events, own_oom_events, moved_refaults;
	uint64_t some_ns, full_ns;             /* of the interval: pressure */
	bool was_hanging; /* at the look before it was out of memory with the killer off (v1) */
	size_t stuck_twice_count; /* threads held at memory.high, now and at the look before ... */
	uint32_t stuck_twice_tid;              /* ... one of them ... */
	const char *stuck_twice_in;            /* ... and the kernel's function it is in */
	long node;                             /* its place among all groups of the look */
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

/* A NUMA node. */
struct numa_node {
	uint64_t id, total_bytes, free_bytes, file_bytes, anon_bytes;
	uint64_t hits, misses, foreign; /* since boot: pages got here, meant for another ... */
};

/* The host at one look: sizes, and counters since boot. */
struct host {
	uint64_t total_bytes, free_bytes, available_bytes, swap_total_bytes, swap_free_bytes,
		anon_bytes, file_bytes, shmem_bytes, slab_reclaimable_bytes,
		slab_unreclaimable_bytes;
	uint64_t pages_in, pages_out, stalls, kswapd_scanned, direct_scanned, kswapd_taken,
		direct_taken, refaults, kills;
	struct psi memory, io;
	struct numa_node *nodes;
	size_t node_count, node_cap;
	bool is_faked; /* lxcfs makes meminfo up from the container's group */
};

/* track.c: memory that can't be taken back, over the looks. */
struct growth {
	uint64_t first_bytes, last_bytes, elapsed_ns;
	unsigned points;
	double bytes_per_second; /* the lesser of the whole run's and its later half's */
	double some_before_ratio, some_after_ratio;    /* pressure in its two halves; NAN unknown */
};
/* What of a group moves. NA_U64 unknown. */
struct counters {
	uint64_t usage_bytes, max_events, high_events, oom_events, oom_kills, local_max_events,
		local_high_events, local_oom_events, refaults, some_ns, full_ns;
};
struct track {
	char *path;
	unsigned look;                         /* last seen at */
	struct counters before;                /* at the look before */
	bool was_hanging;
	uint32_t *stuck;                       /* threads seen held at memory.high */
	size_t stuck_count;
	bool is_rising;                        /* the latest look was above all before it */
	struct track_point *points;
	size_t point_count, point_cap;
};
void track_add(struct track *t, uint64_t bytes, uint64_t some_ns);
/* Whether it rose in >= 3 looks over >= 30 s, now too, with neither a fall nor a stop of 20 s. */
bool track_growth(const struct track *t, struct growth *g);
void track_free(struct track *t);

/* host.c */
extern const struct table host_table, node_table;
const struct host *host_now(void);
const struct host *host_before(void);          /* all unknown at the first look */
const struct numa_node *host_node_before(uint64_t id);
/* Growth of what is not available; false: it is not rising. */
bool host_growth(struct growth *g, uint64_t *left_ns);
void host_look(struct out *out);
void host_show(struct out *out);
void host_stop(void);

/* groups.c: the groups of this look; NULL: no such group, or not seen. */
extern const struct table group_table;
const struct memgroup *memgroup_find(const char *path);
/* The group itself or the nearest above it that is there; NULL: none. */
struct memgroup *memgroup_nearest(const char *path);
const char *memgroup_names(struct memgroup *g);
/* Its folder, redacted where the path would be. */
const char *memgroup_folder_text(struct arena *a, const struct memgroup *g);
size_t memgroups_all(struct memgroup *const **list);      /* those that matter, parents first */
void memgroups_look(struct out *out);
void memgroups_show(struct out *out);
void memgroups_stop(void);
/* All its files, and its ancestors'; those that show it is far from its limit were read before. */
void memgroup_read_all(struct memgroup *g);
int memgroups_check_asked(void); /* -G names a group that is there; else -ENOENT with fail text */
/* Whether -p or -G leave this group. */
bool memgroup_is_selected(const struct memgroup *g);
bool memgroup_is_within(const struct memgroup *inner, const struct memgroup *outer);
bool memgroup_has_children(const struct memgroup *g);
/* Threads in it and below, at most `max`; they live until the frame's end. */
size_t memgroup_threads(const struct memgroup *g, size_t max, const uint32_t **tids);

/* limits.c: fills what follows from a group's memory, its parent being done */
void memgroup_derive(struct memgroup *g);
uint64_t memgroup_committed(const struct memgroup *g); /* unreclaimable, and what is swapped out */
uint64_t memgroup_time_left(const struct memgroup *g, const struct growth *growth); /* ns; NA_U64 */

/* stuck.c: which of its threads are held at memory.high */
void stuck_look(struct memgroup *g);

/* kills.c: kills in the log since the look before (the first: all that it holds), and findings. */
extern const struct table kills_table, victims_table;
int kills_look(struct out *out);
void kills_stop(void);
/* Whether the log has a kill by the kernel of this process (0: any) in this group or below (NULL:
 * any). KILLS_NO only of a log that is whole: from its first record on, and none missing. */
enum kills_answer { KILLS_NO, KILLS_YES, KILLS_UNKNOWN };
enum kills_answer kills_ask(uint64_t pid, const char *cgroup);
/* Each kill by the kernel that came at this look; cgroup: the victim's, NULL if not in the log. */
void kills_each_new(void (*each)(const char *cgroup, void *arg), void *arg);

/* gone.c: what is known of the end of those of -p that are not there; after kills_look. -ESRCH with
 * fail text if none of them ever was, nor was killed. */
int gone_look(struct out *out);
bool gone_is(uint64_t pid);
void gone_stop(void);

/* processes.c: what processes believe, for -p or every process in a limited group. */
extern const struct table processes_table;
int processes_look(struct out *out);
void processes_stop(void);

/* findings.c */
extern const struct finding_kind oomcheck_findings[];
void oomcheck_findings_report(struct out *out);
struct finding *start_group_finding(struct arena *a, const char *id, enum finding_state state,
				    const struct memgroup *g);
bool growth_is_risk(const struct growth *g, uint64_t limit, uint64_t left_ns);
void growth_describe(struct finding *f, const struct growth *g, uint64_t left_ns);

/* findings_host.c; is_explained: a group's stall is what the host's pressure shows */
void findings_report_host(struct out *out, bool is_explained);
/* findings_kills.c */
void findings_report_kills(struct out *out);
void findings_kills_stop(void);

#endif
