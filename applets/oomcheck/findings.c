/*
 * What is wrong with a control group, by the thresholds of the man page; innocent neighbours are
 * never named.
 */
#include <string.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define FULL_RATIO 0.90                /* unreclaimable of the limit */
#define SOME_RISK_MIN 0.01
#define SOME_SHOWN_MIN 0.001
#define STALL_MIN 0.05                 /* full, of the interval */
#define HIGH_EVENTS_MIN 10
#define REFAULT_SHARE_MIN 0.10         /* of the working set, in the interval */
#define SOME_REFAULT_MIN 0.05
#define SOME_WITH_IO_MIN 0.01
#define IO_SOME_MIN 0.05
#define GROWN_BYTES_MIN (1u << 20)
#define GROWN_SHARE_MIN 0.0005         /* of the limit */
#define LEFT_NS_MAX (3600 * 1000000000ull)

const struct finding_kind oomcheck_findings[] = {
	{ "oomcheck.killed", "now, past",
	  "the kernel (or a userspace killer) killed a process for memory: in the interval, or "
	  "dated at most 24 h ago in the kernel log" },
	{ "oomcheck.heap-exceeds-limit", "risk",
	  "what a process believes it may take, its heap and what it measurably has beside it, "
	  "exceeds its effective limit" },
	{ "oomcheck.believes-host-memory", "risk",
	  "the same, because it sizes its heap by the host's memory and not by its limit" },
	{ "oomcheck.no-headroom", "risk",
	  "unreclaimable memory, less what can be swapped out, is >= 90 % of the group's limit, "
	  "and "
	  "the limit was reached in the interval (v2 max event, v1 failcnt) or memory pressure "
	  "some "
	  "was >= 1 %; page cache at the limit is none" },
	{ "oomcheck.growing", "risk",
	  "unreclaimable memory rose in >= 3 looks over >= 30 s, with neither a fall nor a stop of "
	  "20 s, by >= 1 MiB and >= 0.05 % of the limit, and nothing is left in <= 1 h at that "
	  "rate" },
	{ "oomcheck.pressure", "now",
	  "all tasks of a group (or of the host, where no group does) waited for memory >= 5 % of "
	  "the interval" },
	{ "oomcheck.high-throttling", "now",
	  ">= 10 high events and the same task held in mem_cgroup_handle_over_high at two looks" },
	{ "oomcheck.limit-hit", "now",
	  "an allocation found nothing below the group's own limit (oom event; v1: tasks hang with "
	  "the killer turned off), and nobody was killed" },
	{ "oomcheck.host-low", "now",
	  "available memory < 5 %, direct reclaim (allocstall) in the interval, and memory "
	  "pressure "
	  "some >= 1 %" },
	{ "oomcheck.direct-reclaim", "now",
	  "tasks reclaimed for themselves, memory pressure some >= 5 %, and they scanned >= 10 % "
	  "of "
	  "what kswapd did" },
	{ "oomcheck.refault", "now",
	  "pages read again after they were taken away are >= 10 % of the group's working set, "
	  "with "
	  "memory pressure some >= 5 %, or >= 1 % and the host's I/O pressure >= 5 %" },
	{ "oomcheck.numa-imbalance", "risk",
	  ">= 10 % of a node's pages, and >= 1,000/s, were meant for another node" },
	{ NULL, NULL, NULL },
};

static const char *times_text(struct arena *a, uint64_t n)
{
	return n == NA_U64 ? "- times" : n == 1 ? "once" :
		arena_printf(a, "%s times", human_count(a, (double)n));
}

static double share(uint64_t ns)
{
	return ratio_of(ns, oomcheck.interval_ns);
}

struct finding *start_group_finding(struct arena *a, const char *id, enum finding_state state,
				    const struct memgroup *g)
{
	struct finding *f = finding_start(a, oomcheck_findings, id, state,
					  redact_name(a, NAME_CGROUP, g->path));
	struct cgroup_names names = { 0 };

	cgroup_name(a, g->path, &names);
	cgroup_name_from_logs(a, &names);
	f->names = redact_name(a, NAME_CONTAINER, cgroup_names_text(a, &names));
	return f;
}

static void add_next(struct finding *f, const struct memgroup *g)
{
	struct arena *a = f->arena;

	finding_next(f, "perfbox oomcheck -G %s 1",
		     out_shell_word(a, redact_name(a, NAME_CGROUP, g->path)));
}

/* What makes it up, biggest first would need sorting; in the order one asks. */
static void add_parts(struct finding *f, const struct memgroup *g)
{
	const struct memcg *m = &g->memory;
	struct arena *a = f->arena;

	finding_u64(f, "limit_bytes", m->limit_bytes);
	finding_u64(f, "usage_bytes", m->usage_bytes);
	finding_u64(f, "unreclaimable_bytes", g->unreclaimable_bytes);
	finding_u64(f, "anon_bytes", m->anon_bytes);
	finding_u64(f, "file_bytes", m->file_bytes);
	finding_line(f, "holds  anon %s, cache %s (shared %s), kernel %s; swap left %s",
		     human_bytes_u64(a, m->anon_bytes), human_bytes_u64(a, m->file_bytes),
		     human_bytes_u64(a, m->shmem_bytes), human_bytes_u64(a, m->kernel_bytes),
		     human_bytes_u64(a, g->swap_left_bytes));
}

static const char *stat_keys(void)
{
	return oomcheck.layout.memory.version == 2 ?
		"anon, shmem, unevictable, kernel" : "total_*_anon, total_unevictable";
}

/* What neither reclaim nor swap can take of it. */
static uint64_t stuck_bytes(const struct memgroup *g)
{
	return g->unreclaimable_bytes == NA_U64 ? NA_U64 :
		g->unreclaimable_bytes - g->swappable_bytes;
}

static void report_headroom(struct out *out, const struct memgroup *g)
{
	struct arena *a = out_arena(out);
	const struct memcg *m = &g->memory;
	double full = ratio_of(stuck_bytes(g), m->limit_bytes), some = share(g->some_ns);
	bool was_hit = g->own_max_events && g->own_max_events != NA_U64;

	if (!memcg_is_limit(m->limit_bytes) || !(full >= FULL_RATIO) ||
	    !(was_hit || some >= SOME_RISK_MIN))
		return;
	struct finding *f = start_group_finding(a, "oomcheck.no-headroom", STATE_RISK, g);

	finding_line(f, "%s of its limit of %s can't be reclaimed; limit reached %s, memory "
		     "pressure some %s", human_ratio(a, full), human_bytes_u64(a, m->limit_bytes),
		     times_text(a, g->own_max_events), human_ratio(a, some));
	add_parts(f, g);
	finding_u64(f, "max_events", g->own_max_events);
	finding_f64(f, "some_ratio", some);
	finding_u64(f, "interval_ns", oomcheck.interval_ns);
	f->lost = isnan(some) ? 0 : some;
	finding_proof(f, "/%s/memory.stat (%s) of %s", memgroup_folder_text(a, g), stat_keys(),
		      oomcheck.layout.memory.version == 2 ? "memory.max" : "memory.limit_in_bytes");
	add_next(f, g);
	out_finding(out, f);
}

static void add_pressure_trend(struct finding *f, const struct growth *growth)
{
	struct arena *a = f->arena;

	finding_f64(f, "some_before_ratio", growth->some_before_ratio);
	finding_f64(f, "some_after_ratio", growth->some_after_ratio);
	if (isnan(growth->some_before_ratio) || !(growth->some_after_ratio >= SOME_SHOWN_MIN))
		return;
	finding_line(f, "memory pressure some %s, then %s%s",
		     human_ratio(a, growth->some_before_ratio),
		     human_ratio(a, growth->some_after_ratio),
		     growth->some_after_ratio >= 2 * growth->some_before_ratio &&
		     growth->some_after_ratio >= SOME_RISK_MIN ? ": rising" : "");
}

bool growth_is_risk(const struct growth *g, uint64_t limit, uint64_t left_ns)
{
	uint64_t grown = g->last_bytes - g->first_bytes;

	return grown >= GROWN_BYTES_MIN && left_ns <= LEFT_NS_MAX &&
	       (double)grown >= GROWN_SHARE_MIN * (double)limit;
}

void growth_describe(struct finding *f, const struct growth *g, uint64_t left_ns)
{
	struct arena *a = f->arena;

	finding_u64(f, "grown_bytes", g->last_bytes - g->first_bytes);
	finding_u64(f, "window_ns", g->elapsed_ns);
	finding_f64(f, "bytes_per_second", g->bytes_per_second);
	finding_u64(f, "time_left_ns", left_ns);
	finding_line(f, "rose by %s in %s, %s/s at least: nothing is left in %s",
		     human_bytes_u64(a, g->last_bytes - g->first_bytes),
		     human_ns(a, (double)g->elapsed_ns), human_bytes(a, g->bytes_per_second),
		     human_ns(a, (double)left_ns));
	add_pressure_trend(f, g);
}

static void report_growing(struct out *out, const struct memgroup *g)
{
	struct arena *a = out_arena(out);
	struct growth growth;

	if (!g->track || !memcg_is_limit(g->memory.limit_bytes) ||
	    !track_growth(g->track, &growth))
		return;
	uint64_t left_ns = memgroup_time_left(g, &growth);

	if (!growth_is_risk(&growth, g->memory.limit_bytes, left_ns))
		return;
	struct finding *f = start_group_finding(a, "oomcheck.growing", STATE_RISK, g);

	growth_describe(f, &growth, left_ns);
	finding_u64(f, "headroom_low_bytes", g->headroom_low_bytes);
	finding_u64(f, "headroom_high_bytes", g->headroom_high_bytes);
	finding_line(f, "limit %s (effective %s), left %s, %s if all cache is freed",
		     human_bytes_u64(a, g->memory.limit_bytes),
		     human_bytes_u64(a, g->effective_limit_bytes),
		     human_bytes_u64(a, g->headroom_low_bytes),
		     human_bytes_u64(a, g->headroom_high_bytes));
	add_parts(f, g);
	finding_proof(f, "/%s/memory.stat (%s), twice", memgroup_folder_text(a, g), stat_keys());
	add_next(f, g);
	out_finding(out, f);
}

static bool is_stalled(const struct memgroup *g)
{
	return share(g->full_ns) >= STALL_MIN;
}

static void report_pressure(struct out *out, const struct memgroup *g)
{
	struct arena *a = out_arena(out);
	double full = share(g->full_ns);
	struct finding *f = start_group_finding(a, "oomcheck.pressure", STATE_NOW, g);

	f->lost = full;
	finding_f64(f, "full_ratio", full);
	finding_f64(f, "some_ratio", share(g->some_ns));
	finding_u64(f, "interval_ns", oomcheck.interval_ns);
	finding_line(f, "all its tasks waited for memory %s of the interval, some of them %s",
		     human_ratio(a, full), human_ratio(a, share(g->some_ns)));
	add_parts(f, g);
	finding_proof(f, "full total +%llu us in /%s/memory.pressure",
		      (unsigned long long)g->full_ns / 1000, memgroup_folder_text(a, g));
	add_next(f, g);
	out_finding(out, f);
}

static void report_high(struct out *out, const struct memgroup *g)
{
	struct arena *a = out_arena(out);

	if (g->own_high_events == NA_U64 || g->own_high_events < HIGH_EVENTS_MIN ||
	    !g->stuck_twice_count)
		return;
	struct finding *f = start_group_finding(a, "oomcheck.high-throttling", STATE_NOW, g);

	f->lost = (double)g->stuck_twice_count;
	finding_u64(f, "high_events", g->own_high_events);
	finding_u64(f, "held_tasks", g->stuck_twice_count);
	finding_u64(f, "high_bytes", g->memory.high_bytes);
	finding_f64(f, "full_ratio", share(g->full_ns));
	finding_u64(f, "interval_ns", oomcheck.interval_ns);
	finding_line(f, "above memory.high of %s %s: %zu task%s held there at both looks (tid %u)",
		     human_bytes_u64(a, g->memory.high_bytes), times_text(a, g->own_high_events),
		     g->stuck_twice_count,
		     g->stuck_twice_count == 1 ? "" : "s", g->stuck_twice_tid);
	add_parts(f, g);
	finding_proof(f,
		      "high in /%s/memory.events; /proc/%u/wchan %s",
		      memgroup_folder_text(a, g), g->stuck_twice_tid, g->stuck_twice_in);
	add_next(f, g);
	out_finding(out, f);
}

static void report_limit_hit(struct out *out, const struct memgroup *g)
{
	struct arena *a = out_arena(out);
	const struct memcg *m = &g->memory;
	bool is_hanging = m->under_oom == 1 && m->oom_kill_disabled == 1 && g->was_hanging;
	bool was_hit = g->own_oom_events && g->own_oom_events != NA_U64 && g->moved_kills == 0;

	if (!is_hanging && !was_hit)
		return;
	struct finding *f = start_group_finding(a, "oomcheck.limit-hit", STATE_NOW, g);

	f->lost = 1;
	finding_u64(f, "oom_events", is_hanging ? NA_U64 : g->own_oom_events);
	finding_u64(f, "interval_ns", oomcheck.interval_ns);
	if (is_hanging)
		finding_line(f, "out of memory with the killer turned off "
				"(memory.oom_control): tasks hang until somebody frees memory");
	else
		finding_line(f, "an allocation found nothing below its limit %s, and nobody was "
			     "killed: it failed (ENOMEM) or its task was going already",
			     times_text(a, g->own_oom_events));
	add_parts(f, g);
	finding_proof(f, is_hanging ? "under_oom in /%s/memory.oom_control" :
		      m->local_oom_events != NA_U64 ? "oom in /%s/memory.events.local" :
						      "oom in /%s/memory.events",
		      memgroup_folder_text(a, g));
	add_next(f, g);
	out_finding(out, f);
}

static bool is_refaulting(const struct memgroup *g)
{
	const struct host *h = host_now(), *b = host_before();
	uint64_t bytes;

	if (g->moved_refaults == NA_U64 ||
	    __builtin_mul_overflow(g->moved_refaults, src_page_size(), &bytes))
		return false;
	double some = share(g->some_ns), io = share(delta_u64(h->io.some_ns, b->io.some_ns));

	/* v1's groups have no pressure of their own */
	if (isnan(some))
		some = share(delta_u64(h->memory.some_ns, b->memory.some_ns));
	return ratio_of(bytes, memcg_working_set(&g->memory)) >= REFAULT_SHARE_MIN &&
	       (some >= SOME_REFAULT_MIN || (some >= SOME_WITH_IO_MIN && io >= IO_SOME_MIN));
}

/* Whether it is its own limit that takes its pages away, not the host or a group above. */
static bool is_at_own_limit(const struct memgroup *g)
{
	const struct memcg *m = &g->memory;

	return (g->own_max_events && g->own_max_events != NA_U64) ||
	       (g->own_high_events && g->own_high_events != NA_U64) ||
	       (memcg_is_limit(m->limit_bytes) &&
		ratio_of(m->usage_bytes, m->limit_bytes) >= FULL_RATIO);
}

static void report_refault(struct out *out, const struct memgroup *g)
{
	struct arena *a = out_arena(out);
	uint64_t bytes = g->moved_refaults * src_page_size();
	double ratio = ratio_of(bytes, memcg_working_set(&g->memory));
	struct finding *f = start_group_finding(a, "oomcheck.refault", STATE_NOW, g);

	f->lost = share(g->some_ns) > 0 ? share(g->some_ns) : 0;
	finding_u64(f, "refaults", g->moved_refaults);
	finding_u64(f, "refault_bytes", bytes);
	finding_u64(f, "working_set_bytes", memcg_working_set(&g->memory));
	finding_f64(f, "refault_ratio", ratio);
	finding_f64(f, "some_ratio", share(g->some_ns));
	finding_u64(f, "interval_ns", oomcheck.interval_ns);
	finding_line(f,
		     "%s came back soon after it was taken away, %s of its working set: it needs "
		     "more page cache than %s",
		     human_bytes_u64(a, bytes), human_ratio(a, ratio),
		     is_at_own_limit(g) ? "its limit leaves" :
					  "the host or a group above leaves it");
	add_parts(f, g);
	finding_proof(f, "workingset_refault_* +%llu in /%s/memory.stat",
		      (unsigned long long)g->moved_refaults, memgroup_folder_text(a, g));
	add_next(f, g);
	out_finding(out, f);
}

/* Counts of a group hold those of the groups in it: only the innermost is named. */
static void report_innermost(struct out *out, struct memgroup *const *list, size_t count,
			     bool (*is_so)(const struct memgroup *),
			     void (*report)(struct out *, const struct memgroup *))
{
	struct hash explained = { 0 };

	for (size_t i = count; i-- > 0;) {
		const struct memgroup *g = list[i];

		if (!g->is_listed || !is_so(g) || hash_find_number(&explained, (uintptr_t)g))
			continue;
		if (memgroup_is_selected(g))
			report(out, g);
		for (; g; g = g->parent)
			*hash_number(&explained, (uintptr_t)g) = list[i];
	}
	hash_free(&explained);
}

void oomcheck_findings_report(struct out *out)
{
	struct memgroup *const *list;
	size_t count = memgroups_all(&list);
	bool is_any_stalled = false;

	for (size_t i = 0; i < count; i++) {
		const struct memgroup *g = list[i];

		is_any_stalled = is_any_stalled || (g->is_listed && is_stalled(g));
		if (!g->is_listed || !memgroup_is_selected(g))
			continue;
		report_headroom(out, g);
		report_growing(out, g);
		report_high(out, g);
		report_limit_hit(out, g);
	}
	report_innermost(out, list, count, is_stalled, report_pressure);
	report_innermost(out, list, count, is_refaulting, report_refault);
	findings_report_kills(out);
	if (!oomcheck.selection.cgroup && !oomcheck.selection.pids.count)
		findings_report_host(out, is_any_stalled);
}
