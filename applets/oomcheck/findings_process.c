/*
 * Processes whose heap can't fit below their limit: because somebody said so, or because they take
 * the host's memory for theirs.
 */
#include "applets/oomcheck/processes.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

/* The file the limit stands in. */
static void prove_limit(struct finding *f, struct arena *a, const struct process *p)
{
	const struct memgroup *by = p->group->limited_by ? p->group->limited_by : p->group;
	const struct cgroup_hierarchy *h = &oomcheck.layout.memory;
	const char *shown = redact_name(a, NAME_CGROUP, by->path);
	const char *folder = cgroup_folder(a, h, shown);
	const char *file = h->version == 2 ? "memory.max" : "memory.limit_in_bytes";

	if (!folder)
		folder = redact_is_on() ? h->mount : by->folder;
	if (!p->group->limited_by)
		file = "memory.stat: hierarchical_memory_limit";
	finding_proof(f, "/proc/%u/cmdline; /%s/%s", p->pid, folder, file);
}

static void add_evidence(struct finding *f, const struct process *p, const struct belief *b)
{
	finding_u64(f, "heap_bytes", b->heap_bytes);
	finding_u64(f, "nonheap_bytes", b->is_nonheap_measured ? b->nonheap_bytes : NA_U64);
	finding_u64(f, "certain_bytes", b->certain_bytes);
	finding_u64(f, "need_bytes", b->need_bytes);
	finding_u64(f, "limit_bytes", p->group->effective_limit_bytes);
	finding_u64(f, "sees_bytes", b->sees_bytes);
	finding_u64(f, "rss_bytes", p->rss_bytes);
	finding_u64(f, "threads", p->threads);
}

static void add_room(struct arena *a, struct finding *f, const struct belief *b, uint64_t limit)
{
	const uint64_t heap = b->heap_bytes;

	if (b->is_nonheap_measured)
		return;
	if (heap > limit)
		finding_line(f, "the heap alone is %s more than the limit",
			     human_bytes(a, (double)(heap - limit)));
	else if (heap == limit)
		finding_line(f, "the heap alone is the whole limit");
	else if (b->certain_bytes > heap)
		finding_line(f, "the heap leaves %s of the limit, %s is needed at least",
			     human_bytes(a, (double)(limit - heap)),
			     human_bytes(a, (double)(b->certain_bytes - heap)));
}

static void report(struct out *out, const struct process *p, const struct belief *b,
		   const char *id)
{
	struct arena *a = out_arena(out);
	struct finding *f = finding_start(a, oomcheck_findings, id, STATE_RISK,
					  process_name(a, p));

	f->names = redact_name(a, NAME_CONTAINER, p->group->names);
	add_evidence(f, p, b);
	finding_text(f, "cgroup", NAME_CGROUP, p->group->path);
	finding_line(f, "%s > %s", b->sum, process_limit_text(a, p));
	add_room(a, f, b, p->group->effective_limit_bytes);
	if (b->sees_host && b->why_host)
		finding_line(f, "%s", b->why_host);
	prove_limit(f, a, p);
	finding_next(f, "perfbox oomcheck -p %u", p->pid);
	out_finding(out, f);
}

void findings_process(struct out *out, const struct process *p, const struct belief *b)
{
	if (!process_is_limited(p) || !b->is_heap_sure || b->certain_bytes == NA_U64 ||
	    !b->sum || b->certain_bytes <= p->group->effective_limit_bytes)
		return;
	if (b->sees_host)
		report(out, p, b, "oomcheck.believes-host-memory");
	else if (b->is_heap_asked)
		report(out, p, b, "oomcheck.heap-exceeds-limit");
}
