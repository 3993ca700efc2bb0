/* Kills: each line that names a victim, with what its report said before and says later. */
#include "common/base/scan.h"
#include "common/kernel/memcg.h"
#include "common/kernel/oomlog_impl.h"

#define GROUP_NS 100000000u            /* the next member of a group, on a slow console */
#define GROUP_STAMP_NS 1000000000u     /* the same in a log that has but dates, of whole seconds */
#define RECENT 64                      /* kills looked back for the same victim */

static const struct oom_usage unknown_usage = OOM_USAGE_UNKNOWN;

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
	/* v2 has but one, with all below */
	const uint64_t shmem = is_total && s->total_shmem_bytes != NA_U64 ? s->total_shmem_bytes :
									    s->shmem_bytes,
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
		const struct oom_table_row *row = &r->rows[i];

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
			oomlog_copy(log, l, (struct text){ row->comm, row->comm_len }),
		};
	}
}

static void add_report(struct oomlog *log, const struct logline *l, struct oom_kill *k,
		       const struct oom_report *r)
{
	if (r->is_mixed)
		return;
	k->is_manual = r->is_manual;
	k->invoker = r->invoker;
	k->invoker_pid = r->invoker_pid ? r->invoker_pid : NA_U64;
	if (r->has_memory || r->limited_by || r->stat_path) {
		if (k->constraint == OOM_UNKNOWN)
			k->constraint = OOM_MEMCG;
		add_memcg(k, r);
	}
	add_tasks(log, l, k, r);
}

/*
 * "CGROUP,task=COMM" was split at its last ",task=". This line knows the name for certain: if it
 * has one in it, the group ends before it.
 */
static const char *settle_group(struct oomlog *log, const struct oom_kill *k, const char *comm)
{
	const size_t len = strlen(k->cgroup), right = strlen(comm), guess = strlen(k->comm),
		     word = strlen(",task=");

	if (right < guess + word || right - guess > len)
		return k->cgroup;
	const char *cut = k->cgroup + len - (right - guess);

	if (memcmp(cut, ",task=", word) != 0)
		return k->cgroup;
	return arena_copy(log->arena, k->cgroup, (size_t)(cut - k->cgroup));
}

/* A child went in the place of the one chosen: it is no other any more. */
static void drop_task(struct oom_kill *k, uint64_t pid)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < k->task_count; i++)
		if (k->tasks[i].pid != pid)
			k->tasks[kept++] = k->tasks[i];
	k->task_count = kept;
}

static void add_victim(struct oomlog *log, const struct logline *l, struct oom_kill *k,
		       const struct oom_victim *v, enum oom_constraint constraint)
{
	const bool is_other = k->pid != v->pid;
	const char *comm = oomlog_copy(log, l, v->comm);

	if (!is_other && k->cgroup && k->comm)
		k->cgroup = settle_group(log, k, comm);
	k->comm = comm;
	k->pid = v->pid;
	drop_task(k, v->pid);
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
		    oomlog_is_near(boot_ns, k->boot_ns, OOM_NEAR_NS))
			return i;
	}
	return 0;
}

void oomkill_facts(struct oomlog *log, const struct logline *l, struct text text)
{
	struct oom_report *r = oomreport_of(log, l);
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
	k->comm = oomlog_copy(log, l, f.comm);
	k->constraint = f.constraint;
	k->cgroup = f.cgroup.len ? oomlog_copy(log, l, f.cgroup) : NULL;
	k->limited_by = f.limited_by.len ? oomlog_copy(log, l, f.limited_by) : NULL;
	if (f.constraint == OOM_CPUSET && f.mems_allowed.len)
		k->nodes = oomlog_copy(log, l, f.mems_allowed);
	if (f.constraint == OOM_MEMORY_POLICY && f.nodemask.len)
		k->nodes = oomlog_copy(log, l, f.nodemask);
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

/* Of the group whose members are being killed, one after the other. */
static bool is_next_member(const struct oomlog *log, const struct oom_report *r,
			   const struct logline *l)
{
	if (!r->group || !oomlog_is_near(l->boot_ns, r->group_ns, GROUP_NS))
		return false;
	return l->boot_ns != NA_U64 ||
	       oomlog_is_near(realtime_of(log, l), r->group_realtime_ns, GROUP_STAMP_NS);
}

static void mark_group(const struct oomlog *log, struct oom_report *r, const struct logline *l)
{
	r->group_ns = l->boot_ns;
	r->group_realtime_ns = realtime_of(log, l);
}

static void on_killed(struct oomlog *log, const struct logline *l, const struct oom_victim *v,
		      enum oom_constraint constraint)
{
	struct oom_report *r = oomreport_of(log, l);
	size_t told = find_told(log, v->pid, l->boot_ns);

	if (!told && r->may_be_child && !r->is_mixed && r->kill &&
	    !log->kills[r->kill - 1].has_killed_line)
		told = r->kill;
	if (told) {
		add_victim(log, l, &log->kills[told - 1], v, constraint);
	} else {
		const bool is_member = is_next_member(log, r, l);

		if (is_member)
			mark_group(log, r, l);
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
	struct oom_report *r = oomreport_of(log, l);
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

void oomkill_victim(struct oomlog *log, const struct logline *l, struct text text)
{
	const enum oom_constraint constraint = oomline_message(&text);
	struct oom_victim v;
	uint64_t pid;

	if (oomline_exiting(text, &pid)) {
		const size_t told = find_told(log, pid, l->boot_ns);

		if (told)
			log->kills[told - 1].is_void = true;
		oomreport_of(log, l)->is_open = false;
	} else if (!oomline_victim(text, &v)) {
		if (oomline_is_garbled(text) && !log->garbled++)
			log->garbled_line = log->lines;
	} else if (v.is_chosen) {
		on_chosen(log, l, &v, constraint);
	} else {
		on_killed(log, l, &v, constraint);
	}
}

void oomkill_nobody(struct oomlog *log, const struct logline *l, bool is_deadlock)
{
	struct oom_report *r = oomreport_of(log, l);
	struct oom_kill *last = log->count ? &log->kills[log->count - 1] : NULL;

	if (!last || !last->is_nobody || !oomlog_is_near(l->boot_ns, last->boot_ns, OOM_NEAR_NS) ||
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

void oomkill_group(struct oomlog *log, const struct logline *l, struct text group)
{
	struct oom_report *r = oomreport_of(log, l);

	r->group = oomlog_copy(log, l, group);
	mark_group(log, r, l);
	r->group_first = r->kill ? r->kill - 1 : log->count;
	if (!r->kill)
		return;
	struct oom_kill *first = &log->kills[r->kill - 1];

	first->is_by_group = true;
	first->group = r->group;
	first->cgroup = first->cgroup ? first->cgroup : r->group;
}

void oomkill_user(struct oomlog *log, const struct logline *l)
{
	struct oom_user_kill u;

	if (!oomline_user(l->program, l->text, &u))
		return;
	struct oom_kill *k = add_kill(log, l);

	if (!k)
		return;
	k->killer = u.killer;
	k->cgroup = oomlog_copy(log, l, u.cgroup);
	/* oomd's are relative to where cgroups are mounted */
	if (*k->cgroup != '/')
		k->cgroup = arena_printf(log->arena, "/%s", k->cgroup);
	k->reason = oomlog_copy(log, l, u.reason);
}
