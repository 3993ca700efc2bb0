/*
 * Processes below a memory limit: what they hold, what they believe they may take, and which of
 * them the kernel would kill first.
 */
#include "applets/oomcheck/processes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/meminfo.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"
#include "common/report/redact.h"

#define FILE_NAME_MAX 48
#define ADJ_NEVER (-1000)              /* OOM_SCORE_ADJ_MIN, include/uapi/linux/oom.h */

static struct {
	struct process *items;                 /* of this look */
	size_t count, cap;
	struct src_dir proc;                   /* open from look to look */
	bool has_proc;
	unsigned looks;
} seen;

bool process_is_limited(const struct process *p)
{
	const struct memgroup *g = p->group;

	return g && (g->limited_by || g->is_limited_above) && g->effective_limit_bytes < MEMCG_NONE;
}

const char *process_name(struct arena *a, const struct process *p)
{
	return arena_printf(a, "%s/%u", redact_name(a, NAME_COMMAND, arena_text(a, p->comm)),
			    p->pid);
}

const char *process_limit_text(struct arena *a, const struct process *p)
{
	const struct memgroup *g = p->group;
	const char *size = human_bytes(a, (double)g->effective_limit_bytes);

	if (g->limited_by)
		return arena_printf(a, "the %s limit of %s", size,
				    redact_name(a, NAME_CGROUP, g->limited_by->path));
	return g->is_limited_above ?
		arena_printf(a, "the %s limit of a group above the namespace", size) :
		arena_printf(a, "the host's %s", size);
}

/* ---- reading ---- */

static int read_file(uint32_t pid, const char *name, struct text *t)
{
	char path[FILE_NAME_MAX];

	snprintf(path, sizeof(path), "%u/%s", pid, name);
	return src_dir_read(&seen.proc, path, t);
}

static uint64_t read_score(uint32_t pid)
{
	struct text t;
	uint64_t score;

	if (read_file(pid, "oom_score", &t) < 0)
		return NA_U64;
	struct scan s = scan_of(t);

	return scan_u64(&s, &score) ? score : NA_U64;
}

static const struct memgroup *read_group(uint32_t pid)
{
	const char *controller = oomcheck.layout.memory.version == 2 ? "" : "memory";
	struct text t, path;

	if (!oomcheck.layout.memory.version || read_file(pid, "cgroup", &t) < 0 ||
	    !task_parse_cgroup(t, controller, &path))
		return NULL;
	return memgroup_find(arena_text(src_arena(), path));
}

/* Name and start; false: it is gone, or a kernel thread. */
static bool read_stat(struct process *p)
{
	struct task_stat stat;
	struct text t;

	if (read_file(p->pid, "stat", &t) < 0 || task_parse_stat(t, &stat) < 0 ||
	    (stat.flags != NA_U64 && stat.flags & TASK_FLAG_KTHREAD) || stat.state == 'Z')
		return false;
	p->comm = (struct text){ arena_text(src_arena(), stat.comm), stat.comm.len };
	p->start_ticks = stat.start_ticks;
	p->threads = stat.threads;
	return true;
}

static bool read_status(struct process *p)
{
	struct task_status status;
	struct text t;
	int cpus;

	if (read_file(p->pid, "status", &t) < 0 || task_parse_status(t, &status) < 0)
		return false;
	p->uid = status.uid;
	p->nspid = (struct text){ arena_text(src_arena(), status.nspid), status.nspid.len };
	p->rss_bytes = meminfo_bytes(t, "VmRSS");
	p->anon_bytes = meminfo_bytes(t, "RssAnon");
	p->file_bytes = meminfo_bytes(t, "RssFile");
	p->shmem_bytes = meminfo_bytes(t, "RssShmem");
	p->swap_bytes = meminfo_bytes(t, "VmSwap");
	p->tables_bytes = meminfo_bytes(t, "VmPTE");
	cpus = scan_cpu_list(status.cpus_allowed, UINT16_MAX, NULL, NULL);
	p->allowed_cpus = cpus > 0 ? (unsigned)cpus : 0;
	/* more may be allowed than there are */
	if (oomcheck.online_cpus && p->allowed_cpus > oomcheck.online_cpus)
		p->allowed_cpus = oomcheck.online_cpus;
	if (read_file(p->pid, "oom_score_adj", &t) >= 0) {
		struct scan s = scan_of(t);

		scan_i64(&s, &p->oom_score_adj);
	}
	return true;
}

static bool is_asked(uint32_t pid)
{
	const struct opt_numbers *pids = &oomcheck.selection.pids;

	for (size_t i = 0; i < pids->count; i++)
		if (pids->items[i] == pid)
			return true;
	return false;
}

static bool has_limits(void)
{
	struct memgroup *const *list;
	size_t count = memgroups_all(&list);

	for (size_t i = 0; i < count; i++)
		if (memcg_is_limit(list[i]->memory.limit_bytes) || list[i]->is_limited_above)
			return true;
	return false;
}

static void add_process(struct process p)
{
	if (!read_stat(&p) || !read_status(&p))
		return;
	seen.items = mem_grow(seen.items, &seen.cap, seen.count + 1,
			      sizeof(*seen.items));
	seen.items[seen.count++] = p;
}

/*
 * One pass: every process's score, and its group where there are limits. Those below a limit are
 * read on, all of them, as any may be the next, and so is the one with the highest score.
 */
static int collect(void)
{
	const struct selection *s = &oomcheck.selection;
	const bool reads_groups = s->pids.count || s->cgroup || has_limits();
	struct process top = { .oom_score = 0 };
	const uint32_t *pids;
	size_t count;
	int err = src_dir_numbers(&seen.proc, &pids, &count);

	if (err < 0)
		return err;
	for (size_t i = 0; i < count; i++) {
		struct process p = {
			.pid = pids[i], .oom_score = read_score(pids[i]), .oom_score_adj = NA_I64,
			.quota_cpus = NA_F64,
		};
		bool is_here = is_asked(p.pid);

		p.group = reads_groups ? read_group(p.pid) : NULL;
		p.is_asked = is_here;
		p.is_shown = s->pids.count ? is_here :
			s->cgroup ? p.group && memgroup_is_selected(p.group) : true;
		is_here |= process_is_limited(&p) || (s->cgroup && p.is_shown);
		if (!is_here && p.oom_score != NA_U64 && p.oom_score > top.oom_score)
			top = p;
		if (is_here)
			add_process(p);
	}
	for (size_t i = 0; i < seen.count; i++)
		if (seen.items[i].oom_score != NA_U64 && seen.items[i].oom_score >= top.oom_score)
			top.oom_score = 0;
	if (top.oom_score) {
		if (!top.group)
			top.group = read_group(top.pid);
		add_process(top);
	}
	return 0;
}

/* ---- who is next ---- */

/*
 * mm/oom_kill.c oom_badness for a limit: pages held, and oom_score_adj thousandths of the limit.
 * /proc/PID/oom_score is the same for all of the host's memory.
 */
static double badness(const struct process *p)
{
	double held = 0;

	if (p->oom_score_adj == NA_I64 || p->oom_score_adj <= ADJ_NEVER || p->rss_bytes == NA_U64)
		return NA_F64;
	held += (double)p->rss_bytes;
	held += p->swap_bytes == NA_U64 ? 0 : (double)p->swap_bytes;
	held += p->tables_bytes == NA_U64 ? 0 : (double)p->tables_bytes;
	return held + (double)p->oom_score_adj * (double)p->group->effective_limit_bytes / 1000;
}

static void mark_next(void)
{
	struct hash worst = { 0 };             /* path of the group that limits -> struct process */
	struct process *top = NULL;

	for (size_t i = 0; i < seen.count; i++) {
		struct process *p = &seen.items[i];

		if (p->oom_score != NA_U64 && p->oom_score &&
		    (!top || p->oom_score > top->oom_score))
			top = p;
		if (!process_is_limited(p) || !p->group->limited_by || isnan(badness(p)))
			continue;
		void **at = hash_name(&worst, p->group->limited_by->path);
		struct process *before = *at;

		if (!before || badness(p) > badness(before)) {
			if (before)
				before->is_next_in_group = false;
			p->is_next_in_group = true;
			*at = p;
		}
	}
	if (top)
		top->is_next_on_host = true;
	hash_free(&worst);
}

/* ---- rows ---- */

struct process_row {
	uint64_t pid;
	const char *comm, *nspid, *cgroup, *names, *runtime, *version;
	uint64_t heap_bytes, initial_heap_bytes, nonheap_bytes, need_bytes, limit_bytes;
	bool is_heap_estimated, is_nonheap_estimated;
	const char *heap_source, *limited_by, *verdict, *sum, *next;
	uint64_t sees_bytes, metaspace_bytes, code_bytes, stacks_bytes, direct_bytes, other_bytes,
		arena_space_bytes;
	uint64_t rss_bytes, anon_bytes, file_bytes, shmem_bytes, swap_bytes, threads, oom_score;
	int64_t oom_score_adj;
	double believed_cpus, quota_cpus;
};

#define BYTES(field, title, help) \
	COL(struct process_row, field, title, ROLE_GAUGE, UNIT_BYTES, help)
#define STATED(field, title, help) \
	COL_EST(struct process_row, field, is_nonheap_estimated, title, ROLE_GAUGE, UNIT_BYTES, \
		help)

static const struct column columns[] = {
	COL(struct process_row, pid, "PID", ROLE_KEY, UNIT_ID, "process"),
	COL_NAME_IF_ANY(struct process_row, nspid, NULL, ROLE_TEXT, NAME_PLAIN,
			"its ids in inner pid namespaces, if any"),
	COL_NAME(struct process_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND, "its name"),
	COL(struct process_row, runtime, "KIND", ROLE_TEXT, UNIT_TEXT, "jvm, node, go"),
	COL(struct process_row, version, "VERSION", ROLE_TEXT, UNIT_TEXT,
	    "of the runtime, where a file of its says"),
	COL_EST(struct process_row, heap_bytes, is_heap_estimated, "HEAP", ROLE_GAUGE, UNIT_BYTES,
		"the heap it believes it may take; ~ if its environment, not read, could say "
		"otherwise"),
	STATED(nonheap_bytes, "OTHER", "what it needs besides; ~ if stated, not measured"),
	STATED(need_bytes, "NEED", "heap and the rest"),
	BYTES(limit_bytes, "LIMIT", "the least limit on the way up, or the host's memory"),
	COL(struct process_row, verdict, "VERDICT", ROLE_TEXT, UNIT_TEXT,
	    "need against limit: fits, tight (above nine tenths of it), cannot fit (for certain)"),
	BYTES(rss_bytes, "RSS", "memory it has now"),
	BYTES(anon_bytes, NULL, "the part of it that is its own"),
	BYTES(file_bytes, NULL, "the part of it that is file pages"),
	BYTES(shmem_bytes, NULL, "the part of it that is shared memory"),
	BYTES(swap_bytes, "SWAP", "swapped out"),
	COL(struct process_row, oom_score, "SCORE", ROLE_GAUGE, UNIT_COUNT,
	    "oom_score: the highest is killed first when the host runs out"),
	COL(struct process_row, oom_score_adj, "ADJ", ROLE_GAUGE, UNIT_COUNT,
	    "oom_score_adj: thousandths of all memory added to it; -1000: never"),
	COL(struct process_row, next, "NEXT", ROLE_TEXT, UNIT_TEXT,
	    "first to be killed when the group that limits it, or the host, runs out"),
	COL(struct process_row, believed_cpus, "CPUS", ROLE_GAUGE, UNIT_CPUS,
	    "CPUs it believes it has"),
	COL(struct process_row, quota_cpus, "QUOTA", ROLE_GAUGE, UNIT_CPUS,
	    "least CPU quota on the way up"),
	COL_NAME(struct process_row, cgroup, "CGROUP", ROLE_TEXT, NAME_CGROUP,
		 "its group in the memory controller's hierarchy"),
	COL_NAME_IF_ANY(struct process_row, names, "NAMES", ROLE_TEXT, NAME_CONTAINER,
			"container and pod, as far as path and host tell"),
	COL_NAME(struct process_row, limited_by, NULL, ROLE_TEXT, NAME_CGROUP,
		 "the group whose limit that is"),
	COL(struct process_row, threads, NULL, ROLE_GAUGE, UNIT_COUNT, "threads it has"),
	COL(struct process_row, heap_source, NULL, ROLE_TEXT, UNIT_TEXT,
	    "where the size of the heap comes from"),
	COL(struct process_row, sum, NULL, ROLE_TEXT, UNIT_TEXT, "the need spelled out"),
	BYTES(sees_bytes, NULL, "the memory its default heap is a share of"),
	BYTES(initial_heap_bytes, NULL, "the heap it starts with"),
	BYTES(metaspace_bytes, NULL, "stated for metaspace"),
	BYTES(code_bytes, NULL, "stated for compiled code"),
	BYTES(stacks_bytes, NULL, "stated for stacks: threads times their size"),
	BYTES(direct_bytes, NULL, "direct memory it was allowed"),
	BYTES(other_bytes, NULL, "stated for the runtime itself"),
	BYTES(arena_space_bytes, NULL,
	      "address space that malloc's arenas could take, if it uses glibc's"),
};

const struct table processes_table = {
	.name = "processes",
	.help = "a process below a memory limit, or asked for; and the host's next victim",
	TABLE(struct process_row, columns),
	.sort = "-oom_score",
	.top = true,
};

static void fill_belief(struct arena *a, struct process_row *row, const struct process *p,
			const struct belief *b)
{
	row->runtime = belief_kind_name(process_kind(p));
	row->version = belief_version_text(a, process_kind(p), process_version(p));
	row->heap_bytes = b->heap_bytes;
	row->is_heap_estimated = !b->is_heap_sure;
	row->initial_heap_bytes = b->initial_heap_bytes;
	row->nonheap_bytes = b->nonheap_bytes;
	row->is_nonheap_estimated = !b->is_nonheap_measured;
	row->need_bytes = b->need_bytes;
	row->heap_source = b->heap_source;
	row->sum = b->sum;
	row->sees_bytes = b->sees_bytes;
	row->metaspace_bytes = b->metaspace_bytes;
	row->code_bytes = b->code_bytes;
	row->stacks_bytes = b->stacks_bytes;
	row->direct_bytes = b->direct_bytes;
	row->other_bytes = b->other_bytes;
	row->arena_space_bytes = b->arena_space_bytes;
	row->believed_cpus = b->cpus;
}

static const char *next_text(const struct process *p)
{
	if (p->is_next_in_group)
		return p->is_next_on_host ? "group, host" : "group";
	return p->is_next_on_host ? "host" : NULL;
}

static void show(struct out *out, const struct process *p, const struct belief *b)
{
	struct arena *a = out_arena(out);
	const struct memgroup *g = p->group;
	struct process_row row = {
		.pid = p->pid, .comm = p->comm.data, .cgroup = g ? g->path : NULL,
		.names = g ? g->names : NULL,
		.limit_bytes = g && g->effective_limit_bytes < MEMCG_NONE ?
			g->effective_limit_bytes : NA_U64,
		.limited_by = g && g->limited_by ? g->limited_by->path : NULL,
		.rss_bytes = p->rss_bytes, .anon_bytes = p->anon_bytes,
		.file_bytes = p->file_bytes, .shmem_bytes = p->shmem_bytes,
		.swap_bytes = p->swap_bytes, .threads = p->threads, .oom_score = p->oom_score,
		.oom_score_adj = p->oom_score_adj, .next = next_text(p),
		.quota_cpus = isfinite(p->quota_cpus) ? p->quota_cpus : NA_F64,
	};

	/* one number is the process itself */
	if (p->nspid.len && memchr(p->nspid.data, '\t', p->nspid.len))
		row.nspid = p->nspid.data;
	fill_belief(a, &row, p, b);
	row.verdict = belief_verdict(b, row.limit_bytes);
	out_row(out, &processes_table, &row);
	if (p->is_asked && b->sum)
		out_line(out, "need", "%s %s%s", process_name(a, p), b->sum,
			 g ? arena_printf(a, ", %s; %s", row.verdict ? row.verdict :
					  "its environment may say otherwise (--environ)",
					  process_limit_text(a, p)) : "");
}

/* ---- a look ---- */

/* Those of -p that are there, but have no memory of their own. */
static void report_others(struct out *out)
{
	const struct opt_numbers *pids = &oomcheck.selection.pids;

	for (size_t i = 0; i < pids->count; i++) {
		bool is_there = gone_is(pids->items[i]);

		for (size_t k = 0; k < seen.count; k++)
			is_there |= seen.items[k].pid == pids->items[i];
		if (!is_there)
			out_missing(out, "process %llu: a kernel thread, or a zombie, or not "
				    "readable: nothing is known of its memory",
				    (unsigned long long)pids->items[i]);
	}
}

int processes_look(struct out *out)
{
	bool is_first = !seen.looks++;

	if (is_first && !src_frame()->is_only && !oomcheck.selection.pids.count)
		return 0;
	seen.count = 0;
	if (!seen.has_proc && src_dir_open(&seen.proc, "proc") < 0) {
		out_missing(out, "%s", fail_text());
		return 0;
	}
	seen.has_proc = true;
	if (collect() < 0)
		out_missing(out, "%s", fail_text());
	if (is_first)
		report_others(out);
	if (is_first && !src_frame()->is_only)
		return 0;
	mark_next();
	beliefs_begin();
	for (size_t i = 0; i < seen.count; i++) {
		struct process *p = &seen.items[i];

		if (!p->is_shown)
			continue;
		struct belief belief;

		beliefs_find(&seen.proc, p, &belief);
		show(out, p, &belief);
		findings_process(out, p, &belief);
	}
	beliefs_end();
	return 0;
}

void processes_stop(void)
{
	if (seen.has_proc)
		src_dir_close(&seen.proc);
	free(seen.items);
	beliefs_stop();
	memset(&seen, 0, sizeof(seen));
}
