/* Inside oomcheck: processes of limited groups, and what they believe. */
#ifndef APPLETS_OOMCHECK_PROCESSES_H
#define APPLETS_OOMCHECK_PROCESSES_H

#include "applets/oomcheck/oomcheck.h"
#include "common/kernel/belief.h"

struct process {
	uint32_t pid;
	struct text comm;
	const struct memgroup *group;          /* NULL: not known */
	uint64_t start_ticks, uid, threads;
	struct text nspid;
	uint64_t rss_bytes, anon_bytes, file_bytes, shmem_bytes, swap_bytes, tables_bytes;
	unsigned allowed_cpus;                 /* 0 unknown */
	uint64_t oom_score;
	int64_t oom_score_adj;
	bool is_asked;                         /* by -p */
	bool is_shown, is_next_in_group, is_next_on_host;
	struct known *known;                   /* NULL: not looked at closer */
	double quota_cpus;                     /* effective; INFINITY none, NAN unknown */
};

/* What limits it is a control group, its own or one above it. */
bool process_is_limited(const struct process *p);
const char *process_name(struct arena *a, const struct process *p);    /* "java/4242" */
/* "512M limit of /a": what the least limit is and whose */
const char *process_limit_text(struct arena *a, const struct process *p);

/* beliefs.c: between begin and end of a look, each process that is shown. */
void beliefs_begin(void);
/* known and quota_cpus are set; proc is open on "proc" */
void beliefs_find(struct src_dir *proc, struct process *p, struct belief *belief);
void beliefs_end(void);
void beliefs_stop(void);
enum belief_kind process_kind(const struct process *p);
struct belief_version process_version(const struct process *p);

/* findings_process.c */
void findings_process(struct out *out, const struct process *p, const struct belief *b);

#endif
