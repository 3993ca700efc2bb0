/*
 * Which lines belong together. Since 4.2 a lock keeps reports apart, yet lines may be missing;
 * before, those of two cgroups could mix. With CONFIG_PRINTK_CALLER each says whose it is.
 */
#include "common/base/scan.h"
#include "common/kernel/kmsg.h"
#include "common/kernel/oomlog_impl.h"

static const struct oom_report unbegun = {
	.boot_ns = NA_U64, .memory = OOM_USAGE_UNKNOWN, .memsw = OOM_USAGE_UNKNOWN,
	.swap = OOM_USAGE_UNKNOWN, .kmem = OOM_USAGE_UNKNOWN,
	.stat = { NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 },
};

static void begin_report(struct oomlog *log, struct oom_report *r, struct text caller)
{
	*r = unbegun;
	r->caller_len = caller.len < OOM_CALLER_MAX ? caller.len : OOM_CALLER_MAX;
	if (r->caller_len)
		memcpy(r->caller, caller.data, r->caller_len);
	r->used = ++log->report_count;
	r->is_open = true;
}

static bool is_said_by(const struct oom_report *r, struct text caller)
{
	const size_t n = caller.len < OOM_CALLER_MAX ? caller.len : OOM_CALLER_MAX;

	return r->used && r->caller_len == n && (!n || !memcmp(r->caller, caller.data, n));
}

struct oom_report *oomreport_of(struct oomlog *log, const struct logline *l)
{
	struct oom_report *oldest = &log->reports[0];

	for (size_t i = 0; i < OOM_REPORTS_MAX; i++) {
		struct oom_report *r = &log->reports[i];

		if (is_said_by(r, l->caller))
			return r;
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
	for (size_t i = 0; i < OOM_REPORTS_MAX && log->reports[i].used; i++)
		if (log->reports[i].is_open && is_said_by(&log->reports[i], l->caller))
			return &log->reports[i];
	return NULL;
}

void oomreport_forget(struct oomlog *log)
{
	for (size_t i = 0; i < OOM_REPORTS_MAX; i++)
		log->reports[i] = unbegun;
}

void oomreport_init(struct oomlog *log)
{
	log->reports = arena_alloc(log->arena, OOM_REPORTS_MAX * sizeof(*log->reports));
	oomreport_forget(log);
}

/* ---- what they add ---- */

void oomreport_invoked(struct oomlog *log, const struct logline *l, struct text comm,
		       bool is_manual)
{
	struct oom_report *r = oomreport_of(log, l);
	/* one is told of still, and nothing says whose line is whose */
	const bool is_mixed = r->is_open && r->invoker && !r->kill && !l->caller.len &&
			      oomlog_is_near(l->boot_ns, r->boot_ns, OOM_NEAR_NS);

	begin_report(log, r, l->caller);
	r->boot_ns = l->boot_ns;
	r->is_mixed = is_mixed;
	r->is_manual = is_manual;
	r->invoker = oomlog_copy(log, l, comm);
}

static struct oom_report *memcg_report(struct oomlog *log, const struct logline *l)
{
	struct oom_report *r = oomreport_of(log, l);

	/* its beginning is missing */
	if (!r->is_open) {
		begin_report(log, r, l->caller);
		r->boot_ns = l->boot_ns;
	}
	return r;
}

void oomreport_task_in(struct oomlog *log, const struct logline *l)
{
	struct text cgroup, limited_by;

	if (!oomline_task_in(l->text, &cgroup, &limited_by))
		return;
	struct oom_report *r = memcg_report(log, l);

	r->is_mixed |= r->limited_by != NULL;
	r->cgroup = oomlog_copy(log, l, cgroup);
	r->limited_by = oomlog_copy(log, l, limited_by);
}

bool oomreport_usage(struct oomlog *log, const struct logline *l)
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

bool oomreport_stat_path(struct oomlog *log, const struct logline *l)
{
	struct text path, stats;

	if (!oomline_stat_path(l->text, &path, &stats))
		return false;
	struct oom_report *r = memcg_report(log, l);

	if (!r->stat_path)
		r->stat_path = oomlog_copy(log, l, path);
	r->is_in_stats = !oomline_stat_words(stats, &r->stat);
	return true;
}

void oomreport_stats(struct oomlog *log, const struct logline *l)
{
	struct oom_report *r = open_report(log, l);

	if (r && r->is_in_stats)
		oomline_stat_lines(l->is_escaped ? kmsg_unescape(log->arena, l->text) : l->text,
				   &r->stat);
}

static void insert_row(struct oom_report *r, const struct oom_row *row)
{
	unsigned at = r->row_count < OOM_ROWS_MAX ? r->row_count++ : OOM_ROWS_MAX - 1;

	for (; at > 0 && r->rows[at - 1].pages < row->rss_pages; at--)
		r->rows[at] = r->rows[at - 1];
	struct oom_table_row *new = &r->rows[at];

	*new = (struct oom_table_row){ .pid = row->pid, .uid = row->uid, .pages = row->rss_pages,
				       .adj = row->oom_score_adj };
	new->comm_len = (uint8_t)(row->comm.len < OOM_NAME_MAX ? row->comm.len : OOM_NAME_MAX);
	if (new->comm_len)
		memcpy(new->comm, row->comm.data, new->comm_len);
}

void oomreport_table(struct oomlog *log, const struct logline *l)
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
		r->row_count == OOM_ROWS_MAX ? r->rows[OOM_ROWS_MAX - 1].pages + 1 : 0;

	if (oomline_row(l->text, &r->columns, least, &row))
		insert_row(r, &row);
}

void oomreport_cpu(struct oomlog *log, const struct logline *l)
{
	struct oom_report *r = open_report(log, l);

	if (r && r->invoker && !r->invoker_pid)
		oomline_cpu_pid(l->text, &r->invoker_pid);
}
