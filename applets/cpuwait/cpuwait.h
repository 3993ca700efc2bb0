/* Inside cpuwait: threads, control groups, the split between them, and what is found. */
#ifndef APPLETS_CPUWAIT_CPUWAIT_H
#define APPLETS_CPUWAIT_CPUWAIT_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/base/hash.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/cpustat.h"
#include "common/kernel/psi.h"
#include "common/kernel/task.h"

#define CPU_UNKNOWN UINT32_MAX

/* Which threads the person asked for. Empty lists: all. */
struct selection {
	struct opt_numbers pids, tids;
	const char *cgroup, *comm;
	regex_t comm_pattern;
	bool has_idle;                 /* -a */
};
bool selection_is_all(const struct selection *s);
/* Checks what was typed for cpuwait.selection, and that no operand is left; regfree comm_pattern
 * after it. */
int selection_start(int argc, char **argv);
const char *selection_narrowed(struct arena *a);       /* as mode->narrowed */

/* One thread: counters at this look, and what they moved since the look before. */
struct thread {
	uint32_t tid, tgid;
	uint64_t start_ticks;
	char comm[TASK_COMM_MAX];
	uint8_t comm_len;
	char state;
	bool is_kernel, is_realtime;
	bool is_selected; /* false: read only because it shares a quota with one that is */
	int8_t nice;
	uint32_t cpu;                  /* last ran on */
	bool has_moved_cpu;            /* since the look before */
	bool has_changed_group;        /* the same; only where a quota is involved */
	uint64_t run_ns, raw_wait_ns, runs;            /* schedstat; NA_U64 without it */
	uint64_t utime_ticks, stime_ticks;
	uint64_t voluntary, involuntary; /* NA_U64 unless status was read at this look */
	uint64_t voluntary_before, involuntary_before;
	uint64_t credited_ns; /* wait reported already that schedstat will count when it ends */

	bool is_new;                   /* no look before: nothing below is known */
	double user_ns, system_ns;     /* NAN unknown */
	uint64_t ran_ns;               /* in the interval; NA_U64 unknown */
	uint64_t waited_ns;            /* in the interval, pending wait included */
	uint64_t raw_waited_ns;        /* what schedstat's own count moved */
	uint64_t ran_times;
	uint64_t throttled_low_ns, throttled_high_ns;  /* of waited_ns; NA_U64 unknown */
	uint64_t exact_throttled_ns;   /* with --exact: since it began, at least; ... */
	uint64_t exact_unsure_ns;      /* ... at most this much more */
	long group;                    /* index of its group in struct groups; -1 not looked up */
};

struct threads {
	struct thread *items;
	size_t count, cap;
	struct hash by_tid;            /* tid -> index + 1 */
	bool has_schedstat;            /* some thread has a count in it */
	uint32_t missing_schedstat;    /* a thread that has no such file; 0 none */
	unsigned exited, started;      /* since the look before */
	const char *trouble; /* why some could not be read, if not for lack of permission */
	uint64_t inner_of; /* missing_pid is a thread of this process; 0 it is not there */
	unsigned unreadable, garbled;  /* files of this look */
	const char *garbled_text;      /* the first of them and why; lives as long as the frame */
	uint64_t missing_pid, missing_tid;             /* asked for and not there; 0 none */
	uint32_t *group_tids;          /* with -G: whom to collect */
	size_t group_tid_count, group_tid_cap;
};

/* One group with a quota, or that was throttled, or an ancestor of one. */
struct group {
	const char *path, *folder;
	long parent;                   /* index; -1 for the root */
	unsigned depth;
	struct cgroup_cpu cpu;         /* at this look */
	bool is_new, is_gone;
	double quota_cpus, effective_cpus;             /* NAN: none */
	long limited_by;               /* the group whose quota is the effective one; -1 none */
	uint64_t periods, throttled_periods, throttled_ns, local_throttled_ns, used_ns,
		pressure_ns; /* moved; NA_U64 unknown */
	bool is_listed;                /* a row: has a quota or was throttled once */
	const uint64_t *percpu_ns;     /* ran by CPU so far; v1 groups that are listed */
	unsigned percpu_count;
	bool is_under_limit;           /* it or an ancestor is listed: its threads are looked up */
	bool is_under_throttled;
	bool is_under_unknown;         /* it, or an ancestor, has numbers that could not be read */
	bool has_selected;             /* a thread asked for by -p, --tid or -C is in it or below */
	/* filled by split_threads for groups that were throttled in the interval, its children
	 * included */
	size_t members, runnable, arrived;             /* arrived: not in it at the look before */
	bool is_stable;                /* the same threads were in it at both looks */
	uint64_t
		members_waited_ns; /* sum of raw waits, the whole interval for a member not known */
	uint64_t members_ran_ns; /* stands in for used_ns where no cpuacct group has this path */
	struct thread *worst[3];       /* most wait first; NULL: none */
};

struct groups {
	struct arena arena;
	struct group *items;
	size_t count, cap;
	struct hash by_path;           /* path -> index + 1 */
};

/* Everything of one look; two of them alternate. */
struct look {
	struct threads threads;
	struct groups groups;
	struct cpu_stat cpus;
	struct psi pressure;
};

struct host {
	uint64_t interval_ns;
	unsigned online;
	unsigned allowed;              /* by affinity and cpuset; 0 unknown */
	double usable_cpus;            /* allowed, or the effective quota if that is less */
	double quota_cpus;             /* this program's own group's; NAN none */
	struct cpu_shares shares;
	double usable_idle;            /* share of the allowed CPUs' time that was idle or iowait */
	double *cpu_busy, *cpu_idle;   /* by CPU; NAN for one that is offline or did not move */
	bool *cpu_isolated;
	double steal_of_demand;
	double pressure_ratio;
	double switches_per_second;
	uint64_t running;
	uint64_t blocked;              /* threads seen in state D */
	const char *blocked_where;     /* "2 folio_wait_bit_common, 1 io_schedule"; NULL none */
};

/* What the parts share: the two latest looks and what was asked. */
struct state {
	struct look *now, *before;
	struct cgroup_layout layout;
	struct host host;
	struct selection selection;
	bool is_by_process;            /* --by process: all threads are shown, summed */
	long selected_group;           /* with -G: its index in now->groups; -1 none */
};
extern struct state cpuwait;

extern const struct mode cpuwait_hist_mode;    /* hist.c */

/* rows.c */
extern const struct table *const cpuwait_tables[];
void show_host(struct out *out);
void show_threads(struct out *out);
void show_processes(struct out *out);
void show_groups(struct out *out);
bool group_is_selected(size_t i); /* whether -p, --tid, -C or -G leave group i of cpuwait.now */

/* threads.c */
int threads_collect(struct threads *now, const struct selection *selection);
void threads_add(struct threads *now,
		 uint32_t tid); /* one more, not selected; no error if it is gone */
void threads_move(struct look *now, const struct look *before, uint64_t interval_ns);
struct thread *threads_find(const struct threads *t, uint32_t tid);
void threads_read_switches(
	struct thread *t); /* voluntary, involuntary, if not read at this look yet */
void threads_free(struct threads *t);
uint64_t thread_ran_ns(const struct thread *t); /* in the interval; all it ever ran if it is new */
bool thread_split_is_known(const struct thread *t,
			   uint64_t interval_ns); /* bounds at most 10 % of it apart */

/* groups.c */
int groups_read(struct groups *now, const struct groups *before,
		const struct cgroup_layout *layout);
struct group *groups_find(const struct groups *g, const char *path);
bool group_was_throttled(
	const struct group *group); /* in the interval, by itself or (where known) an ancestor */
bool group_is_within(const struct groups *g, size_t inner, size_t outer);
void groups_free(struct groups *g);

/* split.c: which part of each thread's wait was throttling. */
void split_find_members(struct look *now, const struct look *before,
			const struct cgroup_layout *layout, uint64_t interval_ns);
void split_threads(struct look *now, const struct look *before, uint64_t interval_ns);
void split_mark_selected(struct look *now, const struct cgroup_layout *layout);
void split_add_members(struct look *now, const struct cgroup_layout *layout);
int split_exact_read(struct look *now); /* --exact, at every look; throttle_open first */
void split_exact(struct look *now, const struct look *before);

/* findings.c */
extern const struct finding_kind cpuwait_findings[];
void findings_report(struct out *out, const struct look *now, const struct host *host,
		     const struct cgroup_layout *layout, const struct selection *selection);

#endif
