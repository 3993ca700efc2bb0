/* Kills in the kernel log, or in a log that somebody named: rows, a finding for each new one. */
#include "applets/oomcheck/kills.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/scan.h"
#include "common/kernel/kmsg.h"
#include "common/kernel/memcg.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define PAST_MAX_AGE_NS (86400ull * 1000000000)
#define NAMED_MAX 3                    /* biggest others in a finding's text */

static struct {
	struct oomlog log;
	struct arena arena;            /* as long as the run: a report may end at the next look */
	bool is_started;
	size_t shown;                  /* kills told of so far */
	size_t fresh;                  /* index of the first that came at this look */
	uint64_t baseline_sequence;    /* the log's last before the first interval; NA_U64 none */
	bool is_read;                  /* at this look */
} kills;

struct kill_row {
	const char *killed_at, *comm, *cgroup, *names, *limited_by, *cause, *verdict, *constraint,
		*invoker, *killer, *group, *counter, *place;
	uint64_t pid, uid, invoker_pid, usage_bytes, limit_bytes, failcnt, memsw_usage_bytes,
		memsw_limit_bytes, kmem_usage_bytes, total_vm_bytes, anon_bytes, file_bytes,
		shmem_bytes, pgtables_bytes, boot_ns, age_ns;
	int64_t oom_score_adj;
	double anon_ratio;
};

static const struct column kill_columns[] = {
	COL(struct kill_row, age_ns, "AGO", ROLE_GAUGE, UNIT_NS,
	    "how long ago; unknown where the log has no date"),
	COL(struct kill_row, killed_at, NULL, ROLE_TEXT, UNIT_TEXT, "when"),
	COL(struct kill_row, pid, "PID", ROLE_KEY, UNIT_ID,
	    "process; unknown if a whole group was"),
	COL_NAME(struct kill_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND, "its name"),
	COL(struct kill_row, uid, NULL, ROLE_TEXT, UNIT_ID, "its user"),
	COL_NAME(struct kill_row, cgroup, "CGROUP", ROLE_KEY, NAME_CGROUP,
		 "its group in the memory controller's hierarchy"),
	COL_NAME_IF_ANY(struct kill_row, names, "NAMES", ROLE_TEXT, NAME_CONTAINER,
			"container and pod, as far as path and host tell"),
	COL(struct kill_row, cause, "CAUSE", ROLE_TEXT, UNIT_TEXT,
	    "own limit, ancestor's limit, host, cpuset or policy nodes, sysrq, or a userspace "
	    "killer"),
	COL_NAME(struct kill_row, limited_by, NULL, ROLE_TEXT, NAME_CGROUP,
		 "the group that was at its limit"),
	COL(struct kill_row, usage_bytes, "USAGE", ROLE_GAUGE, UNIT_BYTES,
	    "memory of the group at its limit"),
	COL(struct kill_row, limit_bytes, "LIMIT", ROLE_GAUGE, UNIT_BYTES, "its limit"),
	COL(struct kill_row, anon_bytes, "ANON", ROLE_GAUGE, UNIT_BYTES,
	    "the victim's anonymous memory"),
	COL(struct kill_row, file_bytes, "FILE", ROLE_GAUGE, UNIT_BYTES, "its file pages"),
	COL(struct kill_row, shmem_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "its shared memory"),
	COL(struct kill_row, oom_score_adj, "ADJ", ROLE_GAUGE, UNIT_COUNT, "its oom_score_adj"),
	COL(struct kill_row, anon_ratio, "%ANON", ROLE_GAUGE, UNIT_RATIO,
	    "anonymous part of the group's memory"),
	COL(struct kill_row, failcnt, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "times the group's limit was hit"),
	COL(struct kill_row, memsw_usage_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "the group's memory and swap (v1)"),
	COL(struct kill_row, memsw_limit_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "the limit of that"),
	COL(struct kill_row, kmem_usage_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "the group's kernel memory (v1)"),
	COL(struct kill_row, counter, NULL, ROLE_TEXT, UNIT_TEXT,
	    "the counter at its limit: memory, memory+swap or kmem"),
	COL(struct kill_row, total_vm_bytes, NULL, ROLE_GAUGE, UNIT_BYTES,
	    "the victim's address space"),
	COL(struct kill_row, pgtables_bytes, NULL, ROLE_GAUGE, UNIT_BYTES, "its page tables"),
	COL(struct kill_row, constraint, NULL, ROLE_TEXT, UNIT_TEXT,
	    "as the kernel puts it: none, cpuset, memory policy, memcg; host: none of the last"),
	COL_NAME(struct kill_row, invoker, NULL, ROLE_TEXT, NAME_COMMAND,
		 "whose allocation failed"),
	COL(struct kill_row, invoker_pid, NULL, ROLE_TEXT, UNIT_ID, "its process"),
	COL_NAME(struct kill_row, group, NULL, ROLE_TEXT, NAME_CGROUP,
		 "the group that was killed whole (memory.oom.group)"),
	COL(struct kill_row, killer, NULL, ROLE_TEXT, UNIT_TEXT, "kernel, systemd-oomd or oomd"),
	COL(struct kill_row, boot_ns, NULL, ROLE_GAUGE, UNIT_NS, "when, since boot"),
	COL(struct kill_row, place, NULL, ROLE_KEY, UNIT_TEXT, "where it stands in the log"),
	COL(struct kill_row, verdict, NULL, ROLE_TEXT, UNIT_TEXT, "why, in words"),
};
const struct table kills_table = {
	.name = "kills", .help = "one process that was killed for lack of memory",
	TABLE(struct kill_row, kill_columns), .top = true,
};

struct victim_row {
	const char *place, *comm;
	uint64_t victim_pid, pid, uid, rss_bytes;
	int64_t oom_score_adj;
};

static const struct column victim_columns[] = {
	COL(struct victim_row, victim_pid, "KILLED", ROLE_KEY, UNIT_ID,
	    "the process that was killed instead"),
	COL(struct victim_row, pid, "PID", ROLE_KEY, UNIT_ID, "process"),
	COL_NAME(struct victim_row, comm, "COMM", ROLE_TEXT, NAME_COMMAND, "its name"),
	COL(struct victim_row, uid, NULL, ROLE_TEXT, UNIT_ID, "its user"),
	COL(struct victim_row, rss_bytes, "RSS", ROLE_GAUGE, UNIT_BYTES, "memory it had"),
	COL(struct victim_row, oom_score_adj, "ADJ", ROLE_GAUGE, UNIT_COUNT, "its oom_score_adj"),
	COL(struct victim_row, place, NULL, ROLE_KEY, UNIT_TEXT,
	    "where the kill stands in the log"),
};
const struct table victims_table = {
	.name = "victims",
	.help = "one of the biggest other processes at a kill",
	TABLE(struct victim_row, victim_columns), .top = true,
};

/* ---- rows ---- */

static const char *file_name(void)
{
	const char *log = oomcheck.selection.log;

	return strcmp(log, "-") != 0 ? log : "standard input";
}

static const char *place_of(struct arena *a, const struct oom_kill *k)
{
	if (!oomcheck.selection.log)
		return arena_printf(a, "/dev/kmsg sequence %llu", (unsigned long long)k->sequence);
	return arena_printf(a, "%s line %llu", file_name(), (unsigned long long)k->line);
}

static const char *names_of(struct arena *a, const char *cgroup)
{
	struct cgroup_names names;

	if (!cgroup)
		return NULL;
	cgroup_name(a, cgroup, &names);
	cgroup_name_from_logs(a, &names);
	return cgroup_names_text(a, &names);
}

static uint64_t known_limit(uint64_t limit_bytes)
{
	return limit_bytes == MEMCG_NONE ? NA_U64 : limit_bytes;
}

/* By a clock set back, or one of another host, it may lie ahead: not older than now. */
static uint64_t age_of(const struct oom_kill *k)
{
	const uint64_t now_ns = src_frame()->realtime_ns;

	return k->realtime_ns == NA_U64 ? NA_U64 :
	       k->realtime_ns > now_ns ? 0 : now_ns - k->realtime_ns;
}

static void show_kill(struct out *out, const struct oom_kill *k)
{
	struct arena *a = out_arena(out);
	const struct oom_usage *at_limit;
	const struct kill_row row = {
		.age_ns = age_of(k),
		.killed_at = k->realtime_ns == NA_U64 ? NULL : out_time(a, k->realtime_ns),
		.boot_ns = k->boot_ns, .pid = k->pid, .comm = k->comm, .uid = k->uid,
		.cgroup = k->cgroup, .names = names_of(a, k->cgroup), .limited_by = k->limited_by,
		.cause = kill_cause(k), .verdict = kill_verdict(a, k),
		.constraint = oom_constraint_name(k->constraint),
		.counter = kill_counter(k, &at_limit),
		.invoker = k->invoker, .invoker_pid = k->invoker_pid,
		.killer = oom_killer_name(k->killer), .group = k->group, .place = place_of(a, k),
		.usage_bytes = k->memory.usage_bytes, .failcnt = k->memory.failcnt,
		.limit_bytes = known_limit(k->memory.limit_bytes),
		.memsw_usage_bytes = k->memsw.usage_bytes,
		.memsw_limit_bytes = known_limit(k->memsw.limit_bytes),
		.kmem_usage_bytes = k->kmem.usage_bytes, .total_vm_bytes = k->total_vm_bytes,
		.anon_bytes = k->anon_bytes, .file_bytes = k->file_bytes,
		.shmem_bytes = k->shmem_bytes, .pgtables_bytes = k->pgtables_bytes,
		.oom_score_adj = k->oom_score_adj, .anon_ratio = kill_anon_ratio(k),
	};

	out_row(out, &kills_table, &row);
	for (unsigned i = 0; i < k->task_count; i++) {
		const struct oom_task *t = &k->tasks[i];
		const struct victim_row other = { row.place, t->comm, k->pid, t->pid, t->uid,
						  t->rss_bytes, t->oom_score_adj };

		out_row(out, &victims_table, &other);
	}
}

/* ---- findings ---- */

static const char *who(struct arena *a, const struct oom_kill *k)
{
	if (k->pid == NA_U64)
		return "all of it";
	return arena_printf(a, "%s/%llu", redact_name(a, NAME_COMMAND, k->comm ? k->comm : "?"),
			    (unsigned long long)k->pid);
}

static bool is_of_host(const struct oom_kill *k)
{
	return k->killer == OOM_BY_KERNEL && k->constraint != OOM_MEMCG &&
	       k->constraint != OOM_UNKNOWN;
}

static void add_evidence(struct finding *f, const struct oom_kill *k)
{
	finding_u64(f, "pid", k->pid);
	finding_text(f, "comm", NAME_COMMAND, k->comm);
	finding_u64(f, "uid", k->uid);
	finding_text(f, "cause", NAME_PLAIN, kill_cause(k));
	finding_text(f, "limited_by", NAME_CGROUP, k->limited_by);
	finding_u64(f, "usage_bytes", k->memory.usage_bytes);
	finding_u64(f, "limit_bytes", known_limit(k->memory.limit_bytes));
	finding_u64(f, "failcnt", k->memory.failcnt);
	finding_u64(f, "anon_bytes", k->anon_bytes);
	finding_u64(f, "file_bytes", k->file_bytes);
	finding_u64(f, "shmem_bytes", k->shmem_bytes);
	finding_f64(f, "oom_score_adj", k->oom_score_adj == NA_I64 ? NA_F64 :
								     (double)k->oom_score_adj);
	finding_f64(f, "group_anon_ratio", kill_anon_ratio(k));
}

static void add_sizes(struct arena *a, struct finding *f, const struct oom_kill *k)
{
	if (k->anon_bytes != NA_U64)
		finding_line(
			f, "had    anon %s, file %s, shmem %s%s", human_bytes_u64(a, k->anon_bytes),
			human_bytes_u64(a, k->file_bytes), human_bytes_u64(a, k->shmem_bytes),
			k->oom_score_adj == NA_I64 ? ""
						   : arena_printf(a, "; oom_score_adj %lld",
								  (long long)k->oom_score_adj));
	if (k->is_by_group)
		finding_line(f, "group  all of %s were killed with it (memory.oom.group)",
			     redact_name(a, NAME_CGROUP, k->group));
	const char *others = NULL;

	for (unsigned i = 0; i < k->task_count && i < NAMED_MAX; i++)
		others = arena_printf(a, "%s%s%s/%llu %s", others ? others : "", others ? ", " : "",
				      redact_name(a, NAME_COMMAND, k->tasks[i].comm),
				      (unsigned long long)k->tasks[i].pid,
				      human_bytes_u64(a, k->tasks[i].rss_bytes));
	if (others)
		finding_line(f, "others %s", others);
}

/* What looks closer, unless the log may be another host's: the group, if it is there still. */
static void add_next(struct finding *f, const struct oom_kill *k)
{
	const char *path = k->cgroup && memgroup_find(k->cgroup)         ? k->cgroup :
			   k->limited_by && memgroup_find(k->limited_by) ? k->limited_by :
									   NULL;

	if (oomcheck.selection.log)
		return;
	if (path)
		finding_next(f, "perfbox oomcheck -G %s 1",
			     out_shell_word(f->arena, redact_name(f->arena, NAME_CGROUP, path)));
	else
		finding_next(f, "perfbox oomcheck 1");
}

static void report_kill(struct out *out, const struct oom_kill *k, enum finding_state state)
{
	struct arena *a = out_arena(out);
	const bool is_host = is_of_host(k);
	const char *cgroup = redact_name(a, NAME_CGROUP, k->cgroup);
	struct finding *f = finding_start(a, oomcheck_findings, "oomcheck.killed", state,
					  is_host ? "host" : cgroup ? cgroup : "unknown cgroup");

	f->names = is_host ? NULL : redact_name(a, NAME_CONTAINER, names_of(a, k->cgroup));
	f->lost = 1;
	add_evidence(f, k);
	finding_line(f, "killed %s%s%s: %s", who(a, k), k->realtime_ns == NA_U64 ? "" : " at ",
		     k->realtime_ns == NA_U64 ? "" : out_time(a, k->realtime_ns),
		     kill_verdict(a, k));
	add_sizes(a, f, k);
	finding_proof(f, "%s", place_of(a, k));
	add_next(f, k);
	out_finding(out, f);
}

/* Whether it is a finding, and of which state: a kill without a date, or an older one, is a row. */
static bool state_of(const struct oom_kill *k, enum finding_state *state)
{
	const uint64_t age_ns = age_of(k);

	if (k->is_nobody)
		return false;
	if (!oomcheck.selection.log && k->sequence != NA_U64 &&
	    kills.baseline_sequence != NA_U64 && k->sequence > kills.baseline_sequence) {
		*state = STATE_NOW;
		return true;
	}
	if (age_ns > PAST_MAX_AGE_NS)
		return false;
	*state = oomcheck.interval_ns && age_ns <= oomcheck.interval_ns ? STATE_NOW : STATE_PAST;
	return true;
}

static bool is_selected(const struct oom_kill *k)
{
	const struct selection *s = &oomcheck.selection;

	if (s->cgroup && !(k->cgroup && oom_is_within(k->cgroup, s->cgroup)) &&
	    !(k->limited_by && oom_is_within(k->limited_by, s->cgroup)))
		return false;
	for (size_t i = 0; i < s->pids.count; i++)
		if (s->pids.items[i] == k->pid)
			return true;
	return !s->pids.count;
}

static const char *some(struct arena *a, uint64_t n, const char *what)
{
	return arena_printf(a, "%s %s%s", human_count(a, (double)n), what, n == 1 ? "" : "s");
}

static void show_kills(struct out *out)
{
	struct arena *a = out_arena(out);
	const struct oom_kill *last = NULL;
	uint64_t old = 0;

	for (; kills.shown < kills.log.count; kills.shown++) {
		const struct oom_kill *k = &kills.log.kills[kills.shown];
		enum finding_state state;

		if (k->is_void || !is_selected(k))
			continue;
		show_kill(out, k);
		if (state_of(k, &state)) {
			report_kill(out, k, state);
		} else if (!k->is_nobody) {
			old++;
			last = k;
		}
	}
	if (!last)
		return;
	out_history(out, "%s in the log, older than 24 h or without a date (the last: %s%s%s)",
		    some(a, old, "kill"), who(a, last), last->cgroup ? " in " : "",
		    last->cgroup ? redact_name(a, NAME_CGROUP, last->cgroup) : "");
}

/* ---- the log ---- */

static int fetch_offset(void *arg, struct buf *reply)
{
	const time_t now = (time_t)(src_frame()->realtime_ns / 1000000000);
	struct tm t;

	(void)arg;
	if (!localtime_r(&now, &t))
		return -ENODATA;
	buf_printf(reply, "%ld\n", t.tm_gmtoff);
	return 0;
}

/* What this host's zone is ahead of UTC: syslog and dmesg -T write local time and do not say so. */
static int64_t utc_offset(void)
{
	struct text t;
	int64_t offset_s;

	if (src_call("utc_offset", fetch_offset, NULL, &t) < 0)
		return 0;
	struct scan s = scan_of(t);

	return scan_i64(&s, &offset_s) && offset_s > -86400 && offset_s < 86400 ? offset_s : 0;
}

static void start(void)
{
	if (kills.is_started)
		return;
	oomlog_start(&kills.log, &kills.arena);
	kills.is_started = true;
	kills.baseline_sequence = NA_U64;
	kills.log.now_ns = src_frame()->realtime_ns ? src_frame()->realtime_ns : NA_U64;
	if (oomcheck.selection.log) {
		kills.log.utc_offset_s = utc_offset();
		return;
	}
	kills.log.page_bytes = src_page_size() ? src_page_size() : kills.log.page_bytes;
}

static void say_gaps(struct out *out)
{
	struct arena *a = out_arena(out);
	const struct oomlog *log = &kills.log;

	if (log->lost)
		out_note(out, "kernel log: %s missing: kills in them are not seen",
			 some(a, log->lost, "record"));
	if (log->garbled)
		out_note(out, "kernel log: %s of kills not understood, the first is line %llu",
			 some(a, log->garbled, "line"), (unsigned long long)log->garbled_line);
	if (log->more)
		out_note(out, "kernel log: %s beyond the first %u left out",
			 some(a, log->more, "kill"), OOM_KILLS_MAX);
	if (log->suppressed)
		out_note(out, "kernel log: %s left out by the kernel's rate limit: groups and "
			 "limits of those kills are unknown", some(a, log->suppressed, "report"));
}

/* A host that counts no kill since boot has none in its log either. */
static void say_unreadable(struct out *out)
{
	if (host_now()->kills == 0)
		out_note(out, "kernel log: %s; this host counts no kill since boot", fail_text());
	else
		out_missing(out, "kernel log: %s", fail_text());
}

static int look_at_file(struct out *out)
{
	if (kills.is_started)
		return 0;
	start();
	int err = kills_read_file(&kills.log, oomcheck.selection.log);

	if (err < 0)
		return err;
	kills.is_read = true;
	if (!kills.log.lines)
		out_missing(out, "%s: empty", file_name());
	else if (!kills.log.stamped && !kills.log.count)
		out_missing(out, "%s: no line of it looks like a kernel log's", file_name());
	say_gaps(out);
	show_kills(out);
	return 0;
}

int kills_look(struct out *out)
{
	struct text content;

	if (oomcheck.selection.log)
		return look_at_file(out);
	const bool is_baseline = !kills.is_started;

	start();
	kills.fresh = kills.log.count;
	kills.is_read = kmsg_read(&content) >= 0;
	if (!kills.is_read) {
		say_unreadable(out);
		return 0;
	}
	kills.log.boot_realtime_ns = kmsg_boot_realtime();
	oomlog_text(&kills.log, content);
	say_gaps(out);
	if (is_baseline) {
		/* an empty log has a last record, too: before the first */
		kills.baseline_sequence = kills.log.last_sequence;
		if (!src_frame()->is_only)
			return 0;
	}
	show_kills(out);
	return 0;
}

void kills_each_new(void (*each)(const char *cgroup, void *arg), void *arg)
{
	for (size_t i = kills.fresh; i < kills.log.count; i++) {
		const struct oom_kill *k = &kills.log.kills[i];

		if (k->killer == OOM_BY_KERNEL && !k->is_void && !k->is_nobody)
			each(k->cgroup, arg);
	}
}

enum kills_answer kills_ask(uint64_t pid, const char *cgroup)
{
	const struct oomlog *log = &kills.log;

	for (size_t i = 0; i < log->count; i++) {
		const struct oom_kill *k = &log->kills[i];

		if (k->killer == OOM_BY_KERNEL && !k->is_void && !k->is_nobody &&
		    (!pid || k->pid == pid) &&
		    (!cgroup || (k->cgroup && oom_is_within(k->cgroup, cgroup))))
			return KILLS_YES;
	}
	const bool is_whole = log->first_sequence == 0 && !log->lost && !log->more;

	return kills.is_read && is_whole ? KILLS_NO : KILLS_UNKNOWN;
}

void kills_stop(void)
{
	oomlog_free(&kills.log);
	arena_free(&kills.arena);
	memset(&kills, 0, sizeof(kills));
}
