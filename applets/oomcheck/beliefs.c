/*
 * What processes of limited groups believe: learnt once for each, measured where it decides, beside
 * what their control groups leave them.
 */
#include <math.h>
#include <stdlib.h>

#include "applets/oomcheck/processes.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"

/* A heap is measured page by page: not oftener than this, and only where it matters. */
#define MEASURE_AGAIN_NS (30 * 1000000000ull)
#define HEAP_ALIGNMENT (2ull << 20)
#define DEPTH_MAX 64                   /* groups looked at on the way up */

/* What was learnt of a process, once; from look to look. */
struct known {
	uint32_t pid;
	uint64_t start_ticks;
	unsigned look;                         /* last seen at */
	struct belief_process *process;        /* NULL: no runtime that is known here */
	uint64_t arenas;                       /* then: MALLOC_ARENA_MAX */
	uint64_t measured_ns;                  /* when; 0 never */
	uint64_t heap_resident_bytes;
};

/* Quotas of a group and on the way up from it. */
struct quota {
	double own, least;
};

static struct {
	struct hash by_pid;                    /* pid -> struct known */
	struct known **list;
	size_t count, cap;
	struct hash quotas;                    /* path -> struct quota; of this look */
	unsigned looks;
} learnt;

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
	void **at = hash_name(&learnt.quotas, path);
	const char *folder = cgroup_folder(src_arena(), &oomcheck.layout.cpu, path);
	const char *slash = strrchr(path, '/');

	if (*at)
		return *at;
	struct quota *q = arena_alloc(src_arena(), sizeof(*q));

	*at = q;
	q->own = q->least = folder ? quota_of(folder) : INFINITY;
	if (!folder || !slash || !path[1] || depth > DEPTH_MAX)
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

	if (!h->version || src_readf(&t, "proc/%u/cgroup", p->pid) < 0 ||
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


enum belief_kind process_kind(const struct process *p)
{
	return p->known && p->known->process ? p->known->process->options.kind : BELIEF_OTHER;
}

struct belief_version process_version(const struct process *p)
{
	return p->known && p->known->process ? p->known->process->options.version :
		(struct belief_version){ 0, 0 };
}

static void learn(struct src_dir *proc, const struct process *p, struct known *k)
{
	struct belief_process read;

	belief_read_process(proc, p->pid, p->uid, p->nspid, oomcheck.selection.reads_environment,
			    &read);
	k->arenas = read.options.arenas;
	if (read.options.kind == BELIEF_OTHER)
		return;
	k->process = mem_alloc(sizeof(read));
	*k->process = read;
}

static void look_closer(struct src_dir *proc, struct process *p)
{
	void **at = hash_number(&learnt.by_pid, p->pid);
	struct known *k = *at;

	if (!k) {
		k = *at = mem_alloc(sizeof(*k));
		learnt.list = mem_grow(learnt.list, &learnt.cap, learnt.count + 1,
				       sizeof(*learnt.list));
		learnt.list[learnt.count++] = k;
	}
	if (!k->look || k->start_ticks != p->start_ticks) {
		free(k->process);
		*k = (struct known){ .pid = p->pid, .start_ticks = p->start_ticks,
				     .heap_resident_bytes = NA_U64 };
		learn(proc, p, k);
	}
	k->look = learnt.looks;
	p->known = k;
}

/* Processes that went away. */
static void drop_gone(void)
{
	size_t kept = 0;

	hash_reset(&learnt.by_pid);
	for (size_t i = 0; i < learnt.count; i++) {
		struct known *k = learnt.list[i];

		if (k->look != learnt.looks) {
			free(k->process);
			free(k);
			continue;
		}
		*hash_number(&learnt.by_pid, k->pid) = k;
		learnt.list[kept++] = k;
	}
	learnt.count = kept;
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

/* Whether a stated sum would decide, or be told, where a measured one should. */
static bool is_open(const struct process *p, const struct belief *b)
{
	if (p->is_asked)
		return true;
	const char *verdict = process_is_limited(p) ?
		belief_verdict(b, p->group->effective_limit_bytes) : NULL;

	return verdict && strcmp(verdict, "fits") != 0;
}

static void measure_heap(const struct process *p, uint64_t heap)
{
	struct known *k = p->known;
	uint64_t now = src_frame()->monotonic_ns;
	struct text smaps;

	if (heap == NA_U64 || heap > NA_U64 / 2 ||
	    (k->measured_ns && now - k->measured_ns < MEASURE_AGAIN_NS))
		return;
	k->measured_ns = now;
	heap = (heap + HEAP_ALIGNMENT - 1) / HEAP_ALIGNMENT * HEAP_ALIGNMENT;
	k->heap_resident_bytes = src_readf(&smaps, "proc/%u/smaps", p->pid) < 0 ?
		NA_U64 : belief_heap_resident(smaps, heap);
}

/* A program of no known runtime: only what malloc may do. */
static void believe_other(const struct process *p, const struct belief_view *v, struct belief *b)
{
	const struct belief_options other = { .kind = BELIEF_OTHER, .arenas = p->known->arenas };
	const struct belief_measured unmeasured = { NA_U64, NA_U64, NULL };

	belief_make(src_arena(), &other, v, &unmeasured, b);
}

void beliefs_find(struct src_dir *proc, struct process *p, struct belief *belief)
{
	struct belief_view v = view_of(p);
	struct belief_perfdata perfdata;

	look_closer(proc, p);
	const struct belief_process *b = p->known->process;
	struct belief_measured m = {
		.anon_bytes = p->anon_bytes, .heap_resident_bytes = p->known->heap_resident_bytes,
	};

	if (!b) {
		believe_other(p, &v, belief);
		return;
	}
	if (p->swap_bytes != NA_U64 && m.anon_bytes != NA_U64)
		m.anon_bytes += p->swap_bytes;
	if (belief_read_perfdata(p->pid, b, &perfdata))
		m.perfdata = &perfdata;
	read_cpu(p, &v);
	belief_make(src_arena(), &b->options, &v, &m, belief);
	if (b->options.kind != BELIEF_JVM || !is_open(p, belief))
		return;
	measure_heap(p, belief->heap_bytes);
	m.heap_resident_bytes = p->known->heap_resident_bytes;
	belief_make(src_arena(), &b->options, &v, &m, belief);
}

void beliefs_begin(void)
{
	learnt.looks++;
	hash_reset(&learnt.quotas);
}

void beliefs_end(void)
{
	drop_gone();
	hash_reset(&learnt.quotas);
}

void beliefs_stop(void)
{
	for (size_t i = 0; i < learnt.count; i++) {
		free(learnt.list[i]->process);
		free(learnt.list[i]);
	}
	free(learnt.list);
	hash_free(&learnt.by_pid);
	hash_free(&learnt.quotas);
	memset(&learnt, 0, sizeof(learnt));
}
