/*
 * Processes below a memory limit: what they hold, what they believe they may take, and which of
 * them the kernel would kill first.
 */
#include "applets/oomcheck/processes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/meminfo.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"
#include "common/report/redact.h"

#define FILE_NAME_MAX 48
/* A heap is measured page by page: not oftener than this, and only where it matters. */
#define MEASURE_AGAIN_NS (30 * 1000000000ull)
#define HEAP_ALIGNMENT (2ull << 20)
#define ADJ_NEVER (-1000)              /* OOM_SCORE_ADJ_MIN, include/uapi/linux/oom.h */

/* What was learnt of a process, once; from look to look. */
struct known {
	uint32_t pid;
	uint64_t start_ticks;
	unsigned look;                         /* last seen at */
	struct belief_process process;
	uint64_t measured_ns;                  /* when; 0 never */
	uint64_t heap_resident_bytes;
};

/* Quotas of the groups on the way up, once per look. */
struct quota {
	double own, least;
};

static struct {
	struct hash known;                     /* pid -> struct known */
	struct known **list;
	size_t count, cap;
	struct process *items;                 /* of this look */
	size_t item_count, item_cap;
	struct hash quotas;                    /* path -> struct quota */
	struct src_dir proc;
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

enum belief_kind process_kind(const struct process *p)
{
	return p->known ? p->known->process.options.kind : BELIEF_OTHER;
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
	return groups_find(arena_text(src_arena(), path));
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
	size_t count = groups_all(&list);

	for (size_t i = 0; i < count; i++)
		if (memcg_is_limit(list[i]->memory.limit_bytes) || list[i]->is_limited_above)
			return true;
	return false;
}

static void add_process(struct process p)
{
	if (!read_stat(&p) || !read_status(&p))
		return;
	seen.items = mem_grow(seen.items, &seen.item_cap, seen.item_count + 1,
			      sizeof(*seen.items));
	seen.items[seen.item_count++] = p;
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
		p.is_shown = s->pids.count ? is_here :
			s->cgroup ? p.group && group_is_selected(p.group) : true;
		is_here |= process_is_limited(&p) || (s->cgroup && p.is_shown);
		if (!is_here && p.oom_score != NA_U64 && p.oom_score > top.oom_score)
			top = p;
		if (is_here)
			add_process(p);
	}
	for (size_t i = 0; i < seen.item_count; i++)
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

	for (size_t i = 0; i < seen.item_count; i++) {
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

/* ---- quotas ---- */

static double quota_of(const char *folder)
{
	struct cgroup_cpu cpu;

	if (cgroup_read_quota(&oomcheck.layout, folder, &cpu) < 0)
		return NA_F64;
	if (cpu.quota_ns == NA_U64)
		return cpu.trouble && cpu.has_quota_file ? NA_F64 : INFINITY;
	return ratio_of(cpu.quota_ns, cpu.period_ns);
}

static const struct quota *find_quota(const char *path, unsigned depth)
{
	void **at = hash_name(&seen.quotas, path);
	const char *folder = cgroup_folder(src_arena(), &oomcheck.layout.cpu, path);
	const char *slash = strrchr(path, '/');

	if (*at)
		return *at;
	struct quota *q = arena_alloc(src_arena(), sizeof(*q));

	*at = q;
	q->own = q->least = folder ? quota_of(folder) : INFINITY;
	if (!folder || !slash || !path[1] || depth > 64)
		return q;
	const struct quota *up = find_quota(
		slash == path ? "/" : arena_copy(src_arena(), path, (size_t)(slash - path)),
		depth + 1);

	if (!isnan(q->least) && !(up->least >= q->least))
		q->least = up->least;
	return q;
}

static void read_cpu(struct process *p, struct belief_view *v)
{
	const struct cgroup_hierarchy *h = &oomcheck.layout.cpu;
	struct text t, path;

	if (!h->version || read_file(p->pid, "cgroup", &t) < 0 ||
	    !task_parse_cgroup(t, h->version == 2 ? "" : "cpu", &path))
		return;
	const char *group = arena_text(src_arena(), path);
	const struct quota *q = find_quota(group, 0);
	const char *folder = cgroup_folder(src_arena(), h, group);

	v->own_quota_cpus = q->own;
	v->least_quota_cpus = p->quota_cpus = q->least;
	v->has_weight = h->version == 2;
	if (!folder || process_kind(p) != BELIEF_JVM ||
	    src_readf(&t, "%s/%s", folder, v->has_weight ? "cpu.weight" : "cpu.shares") < 0)
		return;
	struct scan s = scan_of(t);
	uint64_t shares;

	if (scan_u64(&s, &shares) && shares <= 1u << 20)
		v->shares = shares;
}

/* ---- beliefs ---- */

static void look_closer(struct process *p)
{
	void **at = hash_number(&seen.known, p->pid);
	struct known *k = *at;

	if (!k) {
		k = *at = mem_alloc(sizeof(*k));
		seen.list = mem_grow(seen.list, &seen.cap, seen.count + 1, sizeof(*seen.list));
		seen.list[seen.count++] = k;
	}
	if (!k->look || k->start_ticks != p->start_ticks) {
		*k = (struct known){ .pid = p->pid, .start_ticks = p->start_ticks,
				     .heap_resident_bytes = NA_U64 };
		belief_read_process(p->pid, p->uid, p->nspid, oomcheck.selection.reads_environment,
				    &k->process);
	}
	k->look = seen.looks;
	p->known = k;
}

/* Processes that went away. */
static void forget(void)
{
	size_t kept = 0;

	hash_reset(&seen.known);
	for (size_t i = 0; i < seen.count; i++) {
		struct known *k = seen.list[i];

		if (k->look != seen.looks) {
			free(k);
			continue;
		}
		*hash_number(&seen.known, k->pid) = k;
		seen.list[kept++] = k;
	}
	seen.count = kept;
}

static struct belief_view view_of(const struct process *p)
{
	const struct memgroup *g = p->group;
	bool is_limited = process_is_limited(p);

	return (struct belief_view){
		.host_bytes = host_now()->is_faked ? NA_U64 : oomcheck.total_bytes,
		.cgroup_version = oomcheck.layout.memory.version,
		.own_limit_bytes = g ? g->memory.limit_bytes : NA_U64,
		.least_limit_bytes = !g ? NA_U64 : is_limited ? g->effective_limit_bytes
							      : MEMCG_NONE,
		.allowed_cpus = p->allowed_cpus, .threads = p->threads,
		.own_quota_cpus = NA_F64, .least_quota_cpus = NA_F64, .shares = NA_U64,
	};
}

/* Whether the stated allowances would decide what only a measurement should. */
static bool is_open(const struct process *p)
{
	const struct belief *b = &p->belief;

	if (is_asked(p->pid))
		return true;
	return process_is_limited(p) && b->need_bytes != NA_U64 &&
		b->certain_bytes <= p->group->effective_limit_bytes &&
		strcmp(belief_verdict(b->need_bytes, p->group->effective_limit_bytes), "fits") != 0;
}

static void measure_heap(struct process *p)
{
	struct known *k = p->known;
	uint64_t now = src_frame()->monotonic_ns, heap = p->belief.heap_bytes;
	struct text smaps;

	if (heap == NA_U64 || heap > NA_U64 / 2 ||
	    (k->measured_ns && now - k->measured_ns < MEASURE_AGAIN_NS))
		return;
	k->measured_ns = now;
	heap = (heap + HEAP_ALIGNMENT - 1) / HEAP_ALIGNMENT * HEAP_ALIGNMENT;
	k->heap_resident_bytes = src_readf(&smaps, "proc/%u/smaps", p->pid) < 0 ?
		NA_U64 : belief_heap_resident(smaps, heap);
}

static void believe(struct process *p)
{
	const struct belief_process *b = &p->known->process;
	struct belief_view v = view_of(p);
	struct belief_perfdata perfdata;
	struct belief_measured m = {
		.anon_bytes = p->anon_bytes, .heap_resident_bytes = p->known->heap_resident_bytes,
	};

	if (p->swap_bytes != NA_U64 && m.anon_bytes != NA_U64)
		m.anon_bytes += p->swap_bytes;
	if (belief_read_perfdata(p->pid, b, &perfdata))
		m.perfdata = &perfdata;
	if (b->options.kind != BELIEF_OTHER)
		read_cpu(p, &v);
	belief_make(src_arena(), &b->options, &v, &m, &p->belief);
	if (b->options.kind != BELIEF_JVM || !is_open(p))
		return;
	measure_heap(p);
	m.heap_resident_bytes = p->known->heap_resident_bytes;
	belief_make(src_arena(), &b->options, &v, &m, &p->belief);
}
