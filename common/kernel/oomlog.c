/* Every line of a log, let go at once or given to who knows it. */
#include "common/kernel/oomlog.h"

#include <stdlib.h>

#include "common/base/scan.h"
#include "common/kernel/kmsg.h"
#include "common/kernel/oomlog_impl.h"

#define PAGE_BYTES 4096

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
	oomreport_init(log);
}

void oomlog_free(struct oomlog *log)
{
	free(log->kills);
	*log = (struct oomlog){ 0 };
}

char *oomlog_copy(struct oomlog *log, const struct logline *l, struct text t)
{
	return arena_text(log->arena, l->is_escaped ? kmsg_unescape(log->arena, t) : t);
}

/* Records of two CPUs may be a little out of order. */
bool oomlog_is_near(uint64_t a_ns, uint64_t b_ns, uint64_t within_ns)
{
	return a_ns == NA_U64 || b_ns == NA_U64 ||
	       (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) <= within_ns;
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

static void on_out_of_memory(struct oomlog *log, const struct logline *l)
{
	if (text_starts(l->text, "Out of memory and no killable processes"))
		oomkill_nobody(log, l, false);
	else
		oomkill_victim(log, l, l->text);
}

static void on_panic(struct oomlog *log, const struct logline *l)
{
	struct scan s = scan_of(l->text);

	if (scan_literal(&s, "Kernel panic - not syncing: ") &&
	    (scan_literal(&s, "Out of memory and no killable processes") ||
	     scan_literal(&s, "System is deadlocked on memory")))
		oomkill_nobody(log, l, true);
	else
		oomkill_victim(log, l, l->text);
}

/* By the first byte: most lines are none of ours, and are let go here. */
static void on_kernel_line(struct oomlog *log, const struct logline *l)
{
	const struct text t = l->text;
	struct text name;
	bool is_manual;

	switch (*t.data) {
	case 'M':
		if (!oomreport_stat_path(log, l))
			oomkill_victim(log, l, t);
		break;
	case 'O':
		on_out_of_memory(log, l);
		break;
	case 'K':
		on_panic(log, l);
		break;
	case 'o':
		if (text_starts(t, "oom-kill:"))
			oomkill_facts(log, l, (struct text){ t.data + 9, t.len - 9 });
		else
			on_suppressed(log, t);
		break;
	case 'T':
		if (oomline_group(t, &name))
			oomkill_group(log, l, name);
		else
			oomreport_task_in(log, l);
		break;
	case 'C':
		oomreport_cpu(log, l);
		break;
	case '[':
		oomreport_table(log, l);
		break;
	case 'm':
	case 's':
	case 'k':
		if (!oomreport_usage(log, l))
			oomreport_stats(log, l);
		break;
	case 'a':
	case 'c':
	case 'f':
	case 'r':
	case 't':
	case ' ':
		oomreport_stats(log, l);
		break;
	}
	if (oomline_invoked(t, &name, &is_manual))
		oomreport_invoked(log, l, name, is_manual);
}

static void count_sequence(struct oomlog *log, uint64_t sequence)
{
	const uint64_t lost = log->lost;

	if (log->first_sequence == NA_U64)
		log->first_sequence = sequence;
	kmsg_count_lost(&log->last_sequence, &log->lost, sequence);
	if (log->lost != lost)
		oomreport_forget(log);
}

static void on_line(struct oomlog *log, const struct logline *l)
{
	log->stamped += l->has_prefix;
	if (l->sequence != NA_U64)
		count_sequence(log, l->sequence);
	if (!l->text.len)
		return;
	/* bare words among lines that name their origin: more of the one before, anybody's */
	if (!l->has_prefix && log->stamped) {
		oomreport_stats(log, l);
		return;
	}
	if (l->is_kernel)
		on_kernel_line(log, l);
	if (!l->is_kernel || *l->text.data == 'o' || *l->text.data == 's')
		oomkill_user(log, l);
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
