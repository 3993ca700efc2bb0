/* Inside oomlog: what single lines say, and which of them belong together. */
#ifndef KERNEL_OOMLOG_IMPL_H
#define KERNEL_OOMLOG_IMPL_H

#include "common/kernel/oomlog.h"

#define OOM_NAME_MAX 64                /* a comm of 15 bytes, each as \xNN */
#define OOM_COLUMNS_MAX 16
#define OOM_USAGE_UNKNOWN { NA_U64, NA_U64, NA_U64 }

/* ---- oomlog_line.c: single lines; all texts lie in the line ---- */

/* "Out of memory: ", "Memory cgroup out of memory: ": taken off; OOM_UNKNOWN if none is there. */
enum oom_constraint oomline_message(struct text *text);

/* "Killed process 9 (a) total-vm:..", "Kill process 9 (a) score 9 or sacrifice child" */
struct oom_victim {
	uint64_t pid, uid;
	struct text comm;
	uint64_t total_vm_bytes, anon_bytes, file_bytes, shmem_bytes, pgtables_bytes;
	int64_t oom_score_adj;
	bool is_chosen;                /* Kill, not Killed: a child may go in its place */
};
bool oomline_victim(struct text text, struct oom_victim *v);
/* It began as one, with an id or the end of the line behind its words. */
bool oomline_is_garbled(struct text text);
/* "OOM victim 9 (a) is already exiting. Skip killing the task" */
bool oomline_exiting(struct text text, uint64_t *pid);

/* What follows "oom-kill:". limited_by and cgroup may be empty. known: the group at its limit, from
 * another line; empty if unknown. */
struct oom_facts {
	enum oom_constraint constraint;
	struct text nodemask, mems_allowed, limited_by, cgroup, comm;
	uint64_t pid, uid;
};
bool oomline_facts(struct text text, struct text known, struct oom_facts *f);

/* "x invoked oom-killer: gfp_mask=0xd0" -> x; order=-1 in it: sysrq asked for it (since 4.2) */
bool oomline_invoked(struct text text, struct text *comm, bool *is_manual);
/* "CPU: 0 UID: 0 PID: 202 Comm: x" */
bool oomline_cpu_pid(struct text text, uint64_t *pid);
/* "Task in /v killed as a result of limit of /l" */
bool oomline_task_in(struct text text, struct text *cgroup, struct text *limited_by);
/* "usage 49152kB, limit 49152kB, failcnt 60" */
bool oomline_usage(struct text text, struct oom_usage *u);
/* "Tasks in /g are going to be killed due to memory.oom.group set" */
bool oomline_group(struct text text, struct text *group);

/* Of the group at its limit: with all below it (v1 total_*, v2), or its own. NA_U64 unknown. */
struct oom_stat {
	uint64_t anon_bytes, file_bytes, shmem_bytes;
	uint64_t total_anon_bytes, total_file_bytes, total_shmem_bytes;
};
/* "Memory cgroup stats for /x:", and what stands behind it on kernels before 5.2 */
bool oomline_stat_path(struct text text, struct text *path, struct text *stats);
/* "cache:0KB rss:12KB ..." is added; false if there is nothing of interest */
bool oomline_stat_words(struct text text, struct oom_stat *stat);
/* "anon 4096" or many of them in one record */
void oomline_stat_lines(struct text text, struct oom_stat *stat);

/* The task table: which column is which, from its title line. */
struct oom_columns {
	unsigned count;                /* numbers behind "[ pid ]"; 0: no table is open */
	unsigned uid, rss, adj;        /* their places, from 0; adj may be count: none */
};
bool oomline_columns(struct text text, struct oom_columns *c);
struct oom_row {
	uint64_t pid, uid, rss_pages;
	int64_t oom_score_adj;
	struct text comm;
};
/* false if it is no row, or one below at_least pages */
bool oomline_row(struct text text, const struct oom_columns *c, uint64_t at_least,
		 struct oom_row *row);

/* What user space says: its program and words, or for oomd the words alone. */
struct oom_user_kill {
	enum oom_killer killer;
	struct text cgroup, reason;
};
bool oomline_user(struct text program, struct text text, struct oom_user_kill *k);

/* ---- oomlog_report.c: reports under way, and what their lines add ---- */

#define OOM_REPORTS_MAX 8                  /* under way at once: callers */
#define OOM_CALLER_MAX 16
#define OOM_ROWS_MAX (OOM_TASKS_MAX + 1)       /* the victim is one of them */
#define OOM_NEAR_NS 10000000000u       /* a report may take that long on a serial console */

struct oom_table_row {
	uint64_t pid, uid, pages;
	int64_t adj;
	char comm[OOM_NAME_MAX];
	uint8_t comm_len;
};

/* What is known of a report so far. Zeroed is one that has not begun. */
struct oom_report {
	char caller[OOM_CALLER_MAX];
	size_t caller_len;
	uint64_t used;                 /* when, for finding the oldest */
	bool is_open;                  /* nobody was killed yet */
	bool is_mixed;                 /* lines of two reports: which is whose can't be told */
	bool may_be_child;             /* "or sacrifice child": the one killed may be another */
	bool is_in_stats;
	uint64_t boot_ns;              /* of its first line */
	const char *invoker;
	uint64_t invoker_pid;          /* 0 unknown */
	bool is_manual;
	const char *cgroup, *limited_by, *stat_path;
	bool has_memory;
	struct oom_usage memory, memsw, swap, kmem;
	struct oom_stat stat;
	struct oom_columns columns;
	struct oom_table_row rows[OOM_ROWS_MAX];     /* most memory first */
	unsigned row_count;
	size_t kill;                   /* index + 1 of its latest; 0 none */
	const char *group;             /* all of it are being killed */
	size_t group_first;            /* index of the first of them */
	uint64_t group_ns, group_realtime_ns;  /* of the latest of them */
};

void oomreport_init(struct oomlog *log);
/* Records are missing: whatever follows may be of another report. */
void oomreport_forget(struct oomlog *log);
/* The report this line is of; begun if there is none. */
struct oom_report *oomreport_of(struct oomlog *log, const struct logline *l);
void oomreport_invoked(struct oomlog *log, const struct logline *l, struct text comm,
		       bool is_manual);
void oomreport_cpu(struct oomlog *log, const struct logline *l);
void oomreport_task_in(struct oomlog *log, const struct logline *l);
bool oomreport_usage(struct oomlog *log, const struct logline *l);
bool oomreport_stat_path(struct oomlog *log, const struct logline *l);
void oomreport_stats(struct oomlog *log, const struct logline *l);
void oomreport_table(struct oomlog *log, const struct logline *l);

/* ---- oomlog_kill.c: lines that name a victim ---- */

void oomkill_facts(struct oomlog *log, const struct logline *l, struct text text);
void oomkill_victim(struct oomlog *log, const struct logline *l, struct text text);
void oomkill_group(struct oomlog *log, const struct logline *l, struct text group);
void oomkill_nobody(struct oomlog *log, const struct logline *l, bool is_deadlock);
void oomkill_user(struct oomlog *log, const struct logline *l);

/* A copy that lives as long as the log's arena, unescaped. */
char *oomlog_copy(struct oomlog *log, const struct logline *l, struct text t);
/* Whether two times, if known, are no further apart than this. */
bool oomlog_is_near(uint64_t a_ns, uint64_t b_ns, uint64_t within_ns);

#endif
