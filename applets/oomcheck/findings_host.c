/* What is wrong with the host's memory. */
#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define AVAILABLE_MIN 0.05
#define SOME_LOW_MIN 0.01
#define STALL_MIN 0.05
#define SOME_RECLAIM_MIN 0.05
#define BEHIND_SHARE 0.10              /* of kswapd's scanning */
#define MISS_SHARE_MIN 0.10
#define MISSES_PER_SECOND_MIN 1000.0

struct moved {
	double some, full, available;
	uint64_t stalls, direct, kswapd;
};

static struct moved host_moved(void)
{
	const struct host *h = host_now(), *b = host_before();
	uint64_t ns = oomcheck.interval_ns;

	return (struct moved){
		.some = ratio_of(delta_u64(h->memory.some_ns, b->memory.some_ns), ns),
		.full = ratio_of(delta_u64(h->memory.full_ns, b->memory.full_ns), ns),
		.available = ratio_of(h->available_bytes, h->total_bytes),
		.stalls = delta_u64(h->stalls, b->stalls),
		.direct = delta_u64(h->direct_scanned, b->direct_scanned),
		.kswapd = delta_u64(h->kswapd_scanned, b->kswapd_scanned),
	};
}

static bool is_some(uint64_t n)
{
	return n && n != NA_U64;
}

static struct finding *start(struct out *out, const char *id, enum finding_state state,
			     const struct moved *m)
{
	struct arena *a = out_arena(out);
	const struct host *h = host_now();
	struct finding *f = finding_start(a, oomcheck_findings, id, state, "host");

	f->lost = m->some > 0 ? m->some : 0;
	finding_u64(f, "total_bytes", h->total_bytes);
	finding_u64(f, "available_bytes", h->available_bytes);
	finding_u64(f, "stalls", m->stalls);
	finding_u64(f, "direct_scanned", m->direct);
	finding_u64(f, "kswapd_scanned", m->kswapd);
	finding_f64(f, "some_ratio", m->some);
	finding_f64(f, "full_ratio", m->full);
	finding_u64(f, "interval_ns", oomcheck.interval_ns);
	return f;
}

static void end(struct out *out, struct finding *f)
{
	finding_next(f, "perfbox oomcheck 1");
	out_finding(out, f);
}

static void report_low(struct out *out, const struct moved *m)
{
	struct arena *a = out_arena(out);
	const struct host *h = host_now();

	if (!(m->available < AVAILABLE_MIN) || !is_some(m->stalls) || !(m->some >= SOME_LOW_MIN))
		return;
	struct finding *f = start(out, "oomcheck.host-low", STATE_NOW, m);

	finding_line(f, "%s of %s available (%s), and tasks freed memory themselves %s times; "
		     "memory pressure some %s", human_bytes(a, (double)h->available_bytes),
		     human_bytes(a, (double)h->total_bytes), human_ratio(a, m->available),
		     human_count_u64(a, m->stalls), human_ratio(a, m->some));
	finding_proof(f, "MemAvailable in /proc/meminfo; allocstall_* in /proc/vmstat");
	end(out, f);
}

static void report_reclaim(struct out *out, const struct moved *m)
{
	struct arena *a = out_arena(out);

	if ((!is_some(m->stalls) && !is_some(m->direct)) || !(m->some >= SOME_RECLAIM_MIN))
		return;
	if (!is_some(m->direct) || m->kswapd == NA_U64 ||
	    (double)m->direct < BEHIND_SHARE * (double)m->kswapd)
		return;
	struct finding *f = start(out, "oomcheck.direct-reclaim", STATE_NOW, m);

	finding_line(f,
		     "kswapd is behind: it looked at %s pages, tasks that wanted memory at %s, in "
		     "%s stalls; memory pressure some %s",
		     human_count_u64(a, m->kswapd), human_count_u64(a, m->direct),
		     human_count_u64(a, m->stalls), human_ratio(a, m->some));
	finding_proof(f, "pgscan_direct, pgscan_kswapd, allocstall_* in /proc/vmstat");
	end(out, f);
}

static void report_stall(struct out *out, const struct moved *m)
{
	struct arena *a = out_arena(out);

	if (!(m->full >= STALL_MIN))
		return;
	struct finding *f = start(out, "oomcheck.pressure", STATE_NOW, m);

	f->lost = m->full;
	finding_line(f, "all tasks that had something to do waited for memory %s of the interval, "
		     "some of them %s", human_ratio(a, m->full), human_ratio(a, m->some));
	finding_proof(f, "full total in /proc/pressure/memory");
	end(out, f);
}

static void report_growing(struct out *out, const struct moved *m)
{
	struct growth growth;
	const struct host *h = host_now();
	uint64_t left_ns;

	if (!host_growth(&growth, &left_ns) ||
	    !growth_is_risk(&growth, h->total_bytes, left_ns))
		return;
	struct finding *f = start(out, "oomcheck.growing", STATE_RISK, m);

	growth_describe(f, &growth, left_ns);
	finding_line(f, "%s of %s available", human_bytes(f->arena, (double)h->available_bytes),
		     human_bytes(f->arena, (double)h->total_bytes));
	finding_proof(f, "MemAvailable in /proc/meminfo, twice");
	end(out, f);
}

static void report_node(struct out *out, const struct numa_node *n, const struct numa_node *b)
{
	struct arena *a = out_arena(out);
	uint64_t hits = delta_u64(n->hits, b->hits), misses = delta_u64(n->misses, b->misses);
	double ratio = ratio_of(misses, sum_u64(hits, misses));
	double rate = rate_of(misses, oomcheck.interval_ns);

	if (!(ratio >= MISS_SHARE_MIN) || !(rate >= MISSES_PER_SECOND_MIN))
		return;
	struct finding *f = finding_start(a, oomcheck_findings, "oomcheck.numa-imbalance",
					  STATE_RISK,
					  arena_printf(a, "node %llu", (unsigned long long)n->id));

	finding_u64(f, "misses", misses);
	finding_u64(f, "hits", hits);
	finding_f64(f, "miss_ratio", ratio);
	finding_f64(f, "misses_per_second", rate);
	finding_u64(f, "interval_ns", oomcheck.interval_ns);
	finding_line(f, "%s of the pages it gave were meant for another node, %s: that one is full",
		     human_ratio(a, ratio), human_rate(a, rate));
	for (size_t i = 0; i < host_now()->node_count; i++) {
		const struct numa_node *o = &host_now()->nodes[i];

		if (o->total_bytes != NA_U64 && o->free_bytes != NA_U64)
			finding_line(f, "node %llu  %s of %s free", (unsigned long long)o->id,
				     human_bytes(a, (double)o->free_bytes),
				     human_bytes(a, (double)o->total_bytes));
	}
	finding_proof(f, "numa_miss +%llu in /sys/devices/system/node/node%llu/numastat",
		      (unsigned long long)misses, (unsigned long long)n->id);
	finding_next(f, "perfbox oomcheck --table nodes --tsv 1");
	out_finding(out, f);
}

void findings_report_host(struct out *out, bool is_explained)
{
	const struct host *h = host_now();
	const struct moved m = host_moved();

	report_low(out, &m);
	report_reclaim(out, &m);
	if (!is_explained)
		report_stall(out, &m);
	report_growing(out, &m);
	for (size_t i = 0; i < h->node_count; i++) {
		const struct numa_node *b = host_node_before(h->nodes[i].id);

		if (b)
			report_node(out, &h->nodes[i], b);
	}
}
