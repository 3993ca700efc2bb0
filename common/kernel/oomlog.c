/*
 * Which lines belong together. Since 4.2 a lock keeps reports apart, yet lines may be missing;
 * before, those of two cgroups could mix. With CONFIG_PRINTK_CALLER each says whose it is.
 */
#include "common/kernel/oomlog.h"

#include <stdlib.h>

#include "common/base/scan.h"
#include "common/kernel/kmsg.h"
#include "common/kernel/memcg.h"
#include "common/kernel/oomlog_impl.h"

#define REPORTS_MAX 8                  /* under way at once: callers */
#define CALLER_MAX 16
#define ROWS_MAX (OOM_TASKS_MAX + 1)   /* the victim is one of them */
#define NEAR_NS 10000000000u           /* a report may take that long on a serial console */
#define GROUP_NS 100000000u            /* the members of a group die at once */
#define RECENT 64                      /* kills looked back for the same victim */
#define PAGE_BYTES 4096

struct row {
	uint64_t pid, uid, pages;
	int64_t adj;
	char comm[OOM_NAME_MAX];
	uint8_t comm_len;
};

/* What is known of a report so far. Zeroed is one that has not begun. */
struct oom_report {
	char caller[CALLER_MAX];
	size_t caller_len;
	uint64_t used;                 /* when, for finding the oldest */
	bool is_open;                  /* nobody was killed yet */
	bool is_mixed;                 /* lines of two reports: which is whose can't be told */
	bool may_be_child;             /* "or sacrifice child": the one killed may be another */
	bool is_in_stats;
	uint64_t boot_ns;              /* of its last line */
	const char *invoker;
	uint64_t invoker_pid;          /* 0 unknown */
	const char *cgroup, *limited_by, *stat_path;
	bool has_memory;
	struct oom_usage memory, memsw, swap, kmem;
	struct oom_stat stat;
	struct oom_columns columns;
	struct row rows[ROWS_MAX];     /* most memory first */
	unsigned row_count;
	size_t kill;                   /* index + 1 of its latest; 0 none */
	const char *group;             /* all of it are being killed */
	size_t group_first;            /* index of the first of them */
	uint64_t group_ns;
};

static const struct oom_usage unknown_usage = { NA_U64, NA_U64, NA_U64 };
static const struct oom_stat unknown_stat = { NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 };
static const struct oom_report unbegun = {
	.boot_ns = NA_U64, .memory = unknown_usage, .memsw = unknown_usage, .swap = unknown_usage,
	.kmem = unknown_usage, .stat = unknown_stat,
};

const char *oom_constraint_name(enum oom_constraint c)
{
	static const char *const names[] = {
		[OOM_HOST] = "host", [OOM_NONE] = "none", [OOM_CPUSET] = "cpuset",
		[OOM_MEMORY_POLICY] = "memory policy", [OOM_MEMCG] = "memcg",
	};

	return names[c];
}

const char *oom_killer_name(enum oom_killer k)
{
	static const char *const names[] = { "kernel", "systemd-oomd", "oomd" };

	return names[k];
}

void oomlog_start(struct oomlog *log, struct arena *arena)
{
	*log = (struct oomlog){
		.arena = arena, .page_bytes = PAGE_BYTES, .boot_realtime_ns = NA_U64,
		.now_ns = NA_U64, .first_sequence = NA_U64, .last_sequence = NA_U64,
	};
	log->reports = arena_alloc(arena, REPORTS_MAX * sizeof(*log->reports));
	for (size_t i = 0; i < REPORTS_MAX; i++)
		log->reports[i] = unbegun;
}

void oomlog_free(struct oomlog *log)
{
	free(log->kills);
	*log = (struct oomlog){ 0 };
}

/* ---- reports under way ---- */

static void begin_report(struct oomlog *log, struct oom_report *r, struct text caller)
{
	*r = unbegun;
	r->caller_len = caller.len < CALLER_MAX ? caller.len : CALLER_MAX;
	if (r->caller_len)
		memcpy(r->caller, caller.data, r->caller_len);
	r->used = ++log->report_count;
	r->is_open = true;
}

static bool is_said_by(const struct oom_report *r, struct text caller)
{
	const size_t n = caller.len < CALLER_MAX ? caller.len : CALLER_MAX;

	return r->used && r->caller_len == n && !memcmp(r->caller, caller.data ? caller.data : "", n);
}

/* The report this line is of; begun if there is none. */
static struct oom_report *report_of(struct oomlog *log, const struct logline *l)
{
	struct oom_report *oldest = &log->reports[0];

	for (size_t i = 0; i < REPORTS_MAX; i++) {
		struct oom_report *r = &log->reports[i];

		if (is_said_by(r, l->caller)) {
			if (l->boot_ns != NA_U64)
				r->boot_ns = l->boot_ns;
			return r;
		}
		if (r->used < oldest->used)
			oldest = r;
	}
	begin_report(log, oldest, l->caller);
	oldest->boot_ns = l->boot_ns;
	return oldest;
}

/* The one that is not over; NULL if there is none: the line says nothing then. */
static struct oom_report *open_report(struct oomlog *log, const struct logline *l)
{
	for (size_t i = 0; i < REPORTS_MAX && log->reports[i].used; i++)
		if (log->reports[i].is_open && is_said_by(&log->reports[i], l->caller))
			return &log->reports[i];
	return NULL;
}

/* Records are missing: whatever follows may be of another report. */
static void forget_reports(struct oomlog *log)
{
	for (size_t i = 0; i < REPORTS_MAX; i++)
		log->reports[i] = unbegun;
}

static bool is_near(uint64_t boot_ns, uint64_t before_ns, uint64_t within_ns)
{
	return boot_ns == NA_U64 || before_ns == NA_U64 ||
	       (boot_ns >= before_ns && boot_ns - before_ns <= within_ns);
}

/* ---- kills ---- */

static char *copied(struct oomlog *log, const struct logline *l, struct text t)
{
	return arena_text(log->arena, l->is_escaped ? kmsg_unescape(log->arena, t) : t);
}

static uint64_t realtime_of(const struct oomlog *log, const struct logline *l)
{
	const uint64_t ns = logline_realtime(l, log->now_ns, log->utc_offset_s);

	return ns != NA_U64 ? ns : sum_u64(log->boot_realtime_ns, l->boot_ns);
}

/* NULL beyond the limit. */
static struct oom_kill *add_kill(struct oomlog *log, const struct logline *l)
{
	if (log->count == OOM_KILLS_MAX) {
		log->more++;
		return NULL;
	}
	log->kills = mem_grow(log->kills, &log->cap, log->count + 1, sizeof(*log->kills));
	struct oom_kill *k = &log->kills[log->count++];

	*k = (struct oom_kill){
		.boot_ns = l->boot_ns, .realtime_ns = realtime_of(log, l),
		.sequence = l->sequence, .line = log->lines,
		.invoker_pid = NA_U64, .pid = NA_U64, .uid = NA_U64, .total_vm_bytes = NA_U64,
		.anon_bytes = NA_U64, .file_bytes = NA_U64, .shmem_bytes = NA_U64,
		.pgtables_bytes = NA_U64, .oom_score_adj = NA_I64, .memory = unknown_usage,
		.memsw = unknown_usage, .swap = unknown_usage, .kmem = unknown_usage,
		.memcg_anon_bytes = NA_U64, .memcg_file_bytes = NA_U64,
		.memcg_shmem_bytes = NA_U64,
	};
	return k;
}

/* The file figures of both versions hold shared memory as well. */
static void add_stat(struct oom_kill *k, const struct oom_stat *s)
{
	const bool is_total = s->total_anon_bytes != NA_U64;
	const uint64_t shmem = is_total ? s->total_shmem_bytes : s->shmem_bytes,
		       file = is_total ? s->total_file_bytes : s->file_bytes;

	k->memcg_anon_bytes = is_total ? s->total_anon_bytes : s->anon_bytes;
	k->memcg_shmem_bytes = shmem;
	k->memcg_file_bytes = shmem == NA_U64 ? file : delta_u64(file, shmem);
}

/* Usage is of the group at its limit: of no use where that is another than the line's. */
static void add_memcg(struct oom_kill *k, const struct oom_report *r)
{
	if (!k->limited_by) {
		k->limited_by = r->limited_by ? r->limited_by : r->stat_path;
		k->cgroup = k->cgroup ? k->cgroup : r->cgroup;
	}
	if (r->stat_path && k->limited_by && strcmp(r->stat_path, k->limited_by) != 0)
		return;
	k->memory = r->memory;
	k->memsw = r->memsw;
	k->swap = r->swap;
	k->kmem = r->kmem;
	add_stat(k, &r->stat);
}

static void add_tasks(struct oomlog *log, const struct logline *l, struct oom_kill *k,
		      const struct oom_report *r)
{
	for (unsigned i = 0; i < r->row_count && k->task_count < OOM_TASKS_MAX; i++) {
		const struct row *row = &r->rows[i];

		if (row->pid == k->pid) {
			if (k->uid == NA_U64)
				k->uid = row->uid;
			if (k->oom_score_adj == NA_I64)
				k->oom_score_adj = row->adj;
			continue;
		}
		k->tasks[k->task_count++] = (struct oom_task){
			row->pid, row->uid,
			row->pages > UINT64_MAX / log->page_bytes ? NA_U64 :
								    row->pages * log->page_bytes,
			row->adj,
			copied(log, l, (struct text){ row->comm, row->comm_len }),
		};
	}
}

static void add_report(struct oomlog *log, const struct logline *l, struct oom_kill *k,
		       const struct oom_report *r)
{
	if (r->is_mixed)
		return;
	k->invoker = r->invoker;
	k->invoker_pid = r->invoker_pid ? r->invoker_pid : NA_U64;
	if (r->has_memory || r->limited_by || r->stat_path) {
		if (k->constraint == OOM_UNKNOWN)
			k->constraint = OOM_MEMCG;
		add_memcg(k, r);
	}
	add_tasks(log, l, k, r);
}

static void add_victim(struct oomlog *log, const struct logline *l, struct oom_kill *k,
		       const struct oom_victim *v, enum oom_constraint constraint)
{
	const bool is_other = k->pid != v->pid;

	if (is_other || !k->comm)
		k->comm = copied(log, l, v->comm);
	k->pid = v->pid;
	if (is_other || v->uid != NA_U64)
		k->uid = v->uid;
	if (is_other || v->oom_score_adj != NA_I64)
		k->oom_score_adj = v->oom_score_adj;
	k->total_vm_bytes = v->total_vm_bytes;
	k->anon_bytes = v->anon_bytes;
	k->file_bytes = v->file_bytes;
	k->shmem_bytes = v->shmem_bytes;
	k->pgtables_bytes = v->pgtables_bytes;
	k->has_killed_line = !v->is_chosen;
	if (k->constraint == OOM_UNKNOWN)
		k->constraint = constraint;
}

/* A kill that another line told of: index + 1. */
static size_t find_told(const struct oomlog *log, uint64_t pid, uint64_t boot_ns)
{
	for (size_t i = log->count; i > 0 && i + RECENT > log->count; i--) {
		const struct oom_kill *k = &log->kills[i - 1];

		if (k->pid == pid && !k->has_killed_line && !k->is_void && !k->is_nobody &&
		    is_near(boot_ns, k->boot_ns, NEAR_NS))
			return i;
	}
	return 0;
}

static void on_facts(struct oomlog *log, const struct logline *l, struct text text)
{
	struct oom_report *r = report_of(log, l);
	const bool knows = r->is_open && !r->is_mixed && r->stat_path;
	struct oom_facts f;

	if (!oomline_facts(text, knows ? text_of(r->stat_path) : (struct text){ 0 }, &f)) {
		if (!log->garbled++)
			log->garbled_line = log->lines;
		return;
	}
	struct oom_kill *k = add_kill(log, l);

	if (!k)
		return;
	k->pid = f.pid;
	k->uid = f.uid;
	k->comm = copied(log, l, f.comm);
	k->constraint = f.constraint;
	k->cgroup = f.cgroup.len ? copied(log, l, f.cgroup) : NULL;
	k->limited_by = f.limited_by.len ? copied(log, l, f.limited_by) : NULL;
	if (f.constraint == OOM_CPUSET && f.mems_allowed.len)
		k->nodes = copied(log, l, f.mems_allowed);
	if (f.constraint == OOM_MEMORY_POLICY && f.nodemask.len)
		k->nodes = copied(log, l, f.nodemask);
	if (r->is_open)
		add_report(log, l, k, r);
	r->kill = log->count;
	r->may_be_child = r->is_in_stats = false;
	r->group = NULL;
}

/* Of the group that is being killed: true if it was told of already. */
static bool is_repeated(const struct oomlog *log, const struct oom_report *r, uint64_t pid)
{
	for (size_t i = r->group_first; i < log->count; i++)
		if (log->kills[i].pid == pid)
			return true;
	return false;
}

static void add_group_member(struct oomlog *log, struct oom_kill *k, const struct oom_report *r)
{
	const struct oom_kill *first = r->kill ? &log->kills[r->kill - 1] : NULL;

	k->is_by_group = true;
	k->group = r->group;
	k->cgroup = r->group;
	if (!first)
		return;
	k->constraint = first->constraint;
	k->limited_by = first->limited_by;
	k->memory = first->memory;
	k->memsw = first->memsw;
	k->swap = first->swap;
	k->kmem = first->kmem;
	k->memcg_anon_bytes = first->memcg_anon_bytes;
	k->memcg_file_bytes = first->memcg_file_bytes;
	k->memcg_shmem_bytes = first->memcg_shmem_bytes;
}

static void on_killed(struct oomlog *log, const struct logline *l, const struct oom_victim *v,
		      enum oom_constraint constraint)
{
	struct oom_report *r = report_of(log, l);
	size_t told = find_told(log, v->pid, l->boot_ns);

	if (!told && r->may_be_child && !r->is_mixed && r->kill &&
	    !log->kills[r->kill - 1].has_killed_line)
		told = r->kill;
	if (told) {
		add_victim(log, l, &log->kills[told - 1], v, constraint);
	} else {
		const bool is_member = r->group && is_near(l->boot_ns, r->group_ns, GROUP_NS);

		if (is_member && is_repeated(log, r, v->pid))
			return;
		struct oom_kill *k = add_kill(log, l);

		if (!k)
			return;
		add_victim(log, l, k, v, constraint);
		if (is_member) {
			add_group_member(log, k, r);
			return;
		}
		if (r->is_open)
			add_report(log, l, k, r);
		told = log->count;
	}
	r->kill = told;
	r->group = NULL;
	r->is_open = r->may_be_child = false;
}

static void on_chosen(struct oomlog *log, const struct logline *l, const struct oom_victim *v,
		      enum oom_constraint constraint)
{
	struct oom_report *r = report_of(log, l);
	size_t told = find_told(log, v->pid, l->boot_ns);

	if (!told) {
		struct oom_kill *k = add_kill(log, l);

		if (!k)
			return;
		add_victim(log, l, k, v, constraint);
		if (r->is_open)
			add_report(log, l, k, r);
		told = log->count;
	}
	r->kill = told;
	r->may_be_child = true;
	r->is_in_stats = false;
}

static void on_victim(struct oomlog *log, const struct logline *l, struct text text)
{
	const enum oom_constraint constraint = oomline_message(&text);
	struct oom_victim v;
	uint64_t pid;

	if (oomline_exiting(text, &pid)) {
		const size_t told = find_told(log, pid, l->boot_ns);

		if (told)
			log->kills[told - 1].is_void = true;
		report_of(log, l)->is_open = false;
	} else if (!oomline_victim(text, &v)) {
		if ((text_starts(text, "Kill process ") || text_starts(text, "Killed process ")) &&
		    !log->garbled++)
			log->garbled_line = log->lines;
	} else if (v.is_chosen) {
		on_chosen(log, l, &v, constraint);
	} else {
		on_killed(log, l, &v, constraint);
	}
}

static void on_nobody(struct oomlog *log, const struct logline *l, bool is_deadlock)
{
	struct oom_report *r = report_of(log, l);
	struct oom_kill *last = log->count ? &log->kills[log->count - 1] : NULL;

	if (!last || !last->is_nobody || !is_near(l->boot_ns, last->boot_ns, NEAR_NS) ||
	    (r->is_open && r->stat_path)) {
		last = add_kill(log, l);
		if (last) {
			last->is_nobody = true;
			if (r->is_open)
				add_report(log, l, last, r);
		}
	}
	if (last)
		last->is_deadlock |= is_deadlock;
	r->is_open = false;
}

/* ---- lines of a report ---- */

static void on_invoked(struct oomlog *log, const struct logline *l, struct text comm)
{
	struct oom_report *r = report_of(log, l);
	/* one is told of still, and nothing says whose line is whose */
	const bool is_mixed = r->is_open && r->invoker && !r->kill && !l->caller.len;

	begin_report(log, r, l->caller);
	r->boot_ns = l->boot_ns;
	r->is_mixed = is_mixed;
	r->invoker = copied(log, l, comm);
}

static struct oom_report *memcg_report(struct oomlog *log, const struct logline *l)
{
	struct oom_report *r = report_of(log, l);

	/* its beginning is missing */
	if (!r->is_open) {
		begin_report(log, r, l->caller);
		r->boot_ns = l->boot_ns;
	}
	return r;
}

static void on_task_in(struct oomlog *log, const struct logline *l)
{
	struct text cgroup, limited_by;

	if (!oomline_task_in(l->text, &cgroup, &limited_by))
		return;
	struct oom_report *r = memcg_report(log, l);

	r->is_mixed |= r->limited_by != NULL;
	r->cgroup = copied(log, l, cgroup);
	r->limited_by = copied(log, l, limited_by);
}

static bool on_usage(struct oomlog *log, const struct logline *l)
{
	static const struct {
		const char *name;
		size_t offset;
	} counters[] = {
		{ "memory: ", offsetof(struct oom_report, memory) },
		{ "memory+swap: ", offsetof(struct oom_report, memsw) },
		{ "swap: ", offsetof(struct oom_report, swap) },
		{ "kmem: ", offsetof(struct oom_report, kmem) },
	};
	struct oom_usage usage;

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		struct scan s = scan_of(l->text);

		if (!scan_literal(&s, counters[i].name))
			continue;
		if (!oomline_usage(scan_rest(&s), &usage))
			return false;
		struct oom_report *r = memcg_report(log, l);

		r->is_mixed |= i == 0 && r->has_memory;
		r->has_memory |= i == 0;
		*(struct oom_usage *)((char *)r + counters[i].offset) = usage;
		return true;
	}
	return false;
}

static bool on_stat_path(struct oomlog *log, const struct logline *l)
{
	struct text path, stats;

	if (!oomline_stat_path(l->text, &path, &stats))
		return false;
	struct oom_report *r = memcg_report(log, l);

	if (!r->stat_path)
		r->stat_path = copied(log, l, path);
	r->is_in_stats = !oomline_stat_words(stats, &r->stat);
	return true;
}

static void on_stats(struct oomlog *log, const struct logline *l)
{
	struct oom_report *r = open_report(log, l);

	if (r && r->is_in_stats)
		oomline_stat_lines(l->is_escaped ? kmsg_unescape(log->arena, l->text) : l->text,
				   &r->stat);
}

static void insert_row(struct oom_report *r, const struct oom_row *row)
{
	unsigned at = r->row_count < ROWS_MAX ? r->row_count++ : ROWS_MAX - 1;

	for (; at > 0 && r->rows[at - 1].pages < row->rss_pages; at--)
		r->rows[at] = r->rows[at - 1];
	struct row *new = &r->rows[at];

	*new = (struct row){ row->pid, row->uid, row->rss_pages, row->oom_score_adj, "", 0 };
	new->comm_len = (uint8_t)(row->comm.len < OOM_NAME_MAX ? row->comm.len : OOM_NAME_MAX);
	if (new->comm_len)
		memcpy(new->comm, row->comm.data, new->comm_len);
}

static void on_table(struct oomlog *log, const struct logline *l)
{
	struct oom_report *r = open_report(log, l);
	struct oom_row row;

	if (!r)
		return;
	if (!r->columns.count) {
		if (oomline_columns(l->text, &r->columns))
			r->is_in_stats = false;
		return;
	}
	const uint64_t least =
		r->row_count == ROWS_MAX ? r->rows[ROWS_MAX - 1].pages + 1 : 0;

	if (oomline_row(l->text, &r->columns, least, &row))
		insert_row(r, &row);
}

static void on_group(struct oomlog *log, const struct logline *l, struct text group)
{
	struct oom_report *r = report_of(log, l);

	r->group = copied(log, l, group);
	r->group_ns = l->boot_ns;
	r->group_first = r->kill ? r->kill - 1 : log->count;
	if (!r->kill)
		return;
	struct oom_kill *first = &log->kills[r->kill - 1];

	first->is_by_group = true;
	first->group = r->group;
	first->cgroup = first->cgroup ? first->cgroup : r->group;
}

static void on_suppressed(struct oomlog *log, struct text text)
{
	struct scan s = scan_of(text);
	uint64_t n;

	if (scan_literal(&s, "oom_kill_process: ") && scan_u64(&s, &n) &&
	    scan_literal(&s, " callbacks suppressed") && n < NA_U64 - 1 - log->suppressed)
		log->suppressed += n;
}

/* ---- which line is what ---- */

static void on_cpu(struct oomlog *log, const struct logline *l)
{
	struct oom_report *r = open_report(log, l);

	if (r && r->invoker && !r->invoker_pid)
		oomline_cpu_pid(l->text, &r->invoker_pid);
}

static void on_out_of_memory(struct oomlog *log, const struct logline *l)
{
	if (text_starts(l->text, "Out of memory and no killable processes"))
		on_nobody(log, l, false);
	else
		on_victim(log, l, l->text);
}

static void on_panic(struct oomlog *log, const struct logline *l)
{
	struct scan s = scan_of(l->text);

	if (scan_literal(&s, "Kernel panic - not syncing: ") &&
	    (scan_literal(&s, "Out of memory and no killable processes") ||
	     scan_literal(&s, "System is deadlocked on memory")))
		on_nobody(log, l, true);
	else
		on_victim(log, l, l->text);
}

/* By the first byte: most lines are none of ours, and are let go here. */
static void on_kernel_line(struct oomlog *log, const struct logline *l)
{
	const struct text t = l->text;
	struct text name;

	switch (*t.data) {
	case 'M':
		if (!on_stat_path(log, l))
			on_victim(log, l, t);
		break;
	case 'O':
		on_out_of_memory(log, l);
		break;
	case 'K':
		on_panic(log, l);
		break;
	case 'o':
		if (text_starts(t, "oom-kill:"))
			on_facts(log, l, (struct text){ t.data + 9, t.len - 9 });
		else
			on_suppressed(log, t);
		break;
	case 'T':
		if (oomline_group(t, &name))
			on_group(log, l, name);
		else
			on_task_in(log, l);
		break;
	case 'C':
		on_cpu(log, l);
		break;
	case '[':
		on_table(log, l);
		break;
	case 'm':
	case 's':
	case 'k':
		if (on_usage(log, l))
			break;
		/* fall through */
	case 'a':
	case 'c':
	case 'f':
	case 'r':
	case 't':
	case ' ':
		on_stats(log, l);
		break;
	}
	if (oomline_invoked(t, &name))
		on_invoked(log, l, name);
}

static void on_user_line(struct oomlog *log, const struct logline *l)
{
	struct oom_user_kill u;

	if (!oomline_user(l->program, l->text, &u))
		return;
	struct oom_kill *k = add_kill(log, l);

	if (!k)
		return;
	k->killer = u.killer;
	k->cgroup = copied(log, l, u.cgroup);
	k->reason = copied(log, l, u.reason);
}

static void count_sequence(struct oomlog *log, uint64_t sequence)
{
	const uint64_t lost = log->lost;

	if (log->first_sequence == NA_U64)
		log->first_sequence = sequence;
	kmsg_count_lost(&log->last_sequence, &log->lost, sequence);
	if (log->lost != lost)
		forget_reports(log);
}

static void on_line(struct oomlog *log, const struct logline *l)
{
	log->stamped += l->has_prefix;
	if (l->sequence != NA_U64)
		count_sequence(log, l->sequence);
	if (!l->text.len)
		return;
	/* bare words among lines that name their origin: a continuation of the one before, anybody's */
	if (!l->has_prefix && log->stamped) {
		on_stats(log, l);
		return;
	}
	if (l->is_kernel)
		on_kernel_line(log, l);
	if (!l->is_kernel || *l->text.data == 'o' || *l->text.data == 's')
		on_user_line(log, l);
}

void oomlog_line(struct oomlog *log, struct text line)
{
	struct logline l;

	log->lines++;
	logline_split(line, &l);
	on_line(log, &l);
}

void oomlog_text(struct oomlog *log, struct text lines)
{
	struct scan s = scan_of(lines);
	const uint64_t seen = log->last_sequence;
	struct text line;
	struct logline l;

	while (scan_line(&s, &line)) {
		logline_split(line, &l);
		if (l.sequence != NA_U64 && seen != NA_U64 && l.sequence <= seen)
			continue;
		log->lines++;
		on_line(log, &l);
	}
}
