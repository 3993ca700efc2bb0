/*
 * Who was killed for lack of memory, from a kernel log: mm/oom_kill.c and mm/memcontrol.c of Linux
 * 3.10 to 6.18, systemd-oomd (src/oom/oomd-manager.c) and Meta's oomd.
 *
 * A report is many lines, of which any may be missing: the kernel prints at most 10 reports in 5 s,
 * yet a "Killed process" line for each kill; a log is cut at both ends; records are overwritten. So
 * each line is taken for itself, and one that names a victim ("oom-kill:", "Kill process", "Killed
 * process") is a kill alone. What the others of its report say is added where it is certain that
 * they belong to it. What is not known is NA_*, NULL or ..._UNKNOWN.
 */
#ifndef KERNEL_OOMLOG_H
#define KERNEL_OOMLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"
#include "common/kernel/logline.h"

#define OOM_TASKS_MAX 5
#define OOM_KILLS_MAX 100000           /* more are counted only */

enum oom_constraint {
	OOM_UNKNOWN,
	OOM_HOST,                      /* not a cgroup; more an old kernel does not say */
	OOM_NONE,                      /* the whole host */
	OOM_CPUSET,                    /* the nodes of a cpuset ... */
	OOM_MEMORY_POLICY,             /* ... or of a memory policy */
	OOM_MEMCG,                     /* a memory cgroup's limit */
};

enum oom_killer { OOM_BY_KERNEL, OOM_BY_SYSTEMD_OOMD, OOM_BY_OOMD };

/* A counter of the cgroup at its limit. limit_bytes MEMCG_NONE (memcg.h): no limit. */
struct oom_usage {
	uint64_t usage_bytes, limit_bytes, failcnt;
};

struct oom_task {
	uint64_t pid, uid, rss_bytes;
	int64_t oom_score_adj;
	const char *comm;
};

struct oom_kill {
	enum oom_killer killer;
	bool is_nobody;                /* memory ran out, and there was nobody to kill */
	bool is_deadlock;              /* ... and the kernel gave up */
	/* of the first line that named the victim */
	uint64_t boot_ns, realtime_ns; /* NA_U64 unknown */
	uint64_t sequence, line;       /* of /dev/kmsg; in the file, from 1 */

	enum oom_constraint constraint;
	bool is_manual;                /* by sysrq f: memory had not run out */
	const char *nodes;             /* "0-1": what the constraint left; NULL */
	const char *invoker;           /* whose allocation failed */
	uint64_t invoker_pid;

	uint64_t pid, uid;
	const char *comm;              /* may hold any byte but NUL */
	uint64_t total_vm_bytes, anon_bytes, file_bytes, shmem_bytes, pgtables_bytes;
	int64_t oom_score_adj;

	const char *cgroup;            /* the victim's, in the memory controller's hierarchy */
	const char *limited_by;        /* the one at its limit: the same or an ancestor */
	struct oom_usage memory, memsw, swap, kmem;    /* of that; memsw and kmem are v1's */
	uint64_t memcg_anon_bytes, memcg_file_bytes, memcg_shmem_bytes;

	struct oom_task tasks[OOM_TASKS_MAX];  /* the biggest of the report but the victim */
	unsigned task_count;

	bool is_by_group;              /* killed with its group: memory.oom.group */
	const char *group;             /* whose oom.group that was */
	bool has_killed_line;          /* the kernel said "Killed process" */
	bool is_void;                  /* it was exiting already: no kill, passed over */
	const char *reason;            /* the user space killer's words */
};

struct oom_report;

struct oomlog {
	struct arena *arena;           /* strings; as long as the kills are wanted */
	uint64_t page_bytes;           /* of the machine that wrote it */
	uint64_t boot_realtime_ns;     /* NA_U64: times since boot have no date */
	uint64_t now_ns;               /* for dates without a year */
	int64_t utc_offset_s;          /* for dates without a zone */

	struct oom_kill *kills;        /* in the order of the log; pass over is_void */
	size_t count, cap;
	uint64_t lines;                /* fed so far */
	uint64_t stamped;              /* of them, had more than words: time, priority, host ... */
	uint64_t first_sequence, last_sequence;        /* NA_U64 none */
	uint64_t lost;                 /* records missing in between */
	uint64_t suppressed;           /* reports the kernel left out, as it says itself */
	uint64_t garbled, garbled_line;/* lines that began as a kill and made no sense; the first */
	uint64_t more;                 /* kills beyond OOM_KILLS_MAX */
	struct oom_report *reports;    /* under way */
	uint64_t report_count;         /* for finding the one not used for longest */
};

/* Sets page size 4096, and all times unknown: change them before the first line. */
void oomlog_start(struct oomlog *log, struct arena *arena);
/* A line without its newline; need not live on. */
void oomlog_line(struct oomlog *log, struct text line);
/* Lines that end with a newline, or the text; what has a sequence up to last_sequence already is
 * passed over, so that /dev/kmsg can be read again and again. */
void oomlog_text(struct oomlog *log, struct text lines);
void oomlog_free(struct oomlog *log);  /* not the arena */

const char *oom_constraint_name(enum oom_constraint c);        /* "memcg" ...; NULL unknown */
const char *oom_killer_name(enum oom_killer k);                /* "kernel" "systemd-oomd" "oomd" */
/* Whether group is the same as, or below, above. */
bool oom_is_within(const char *group, const char *above);

#endif
