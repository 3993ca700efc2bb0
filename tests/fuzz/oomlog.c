/* Logs of anybody's making: no more kills than lines, each with a victim, and none told twice. */
#include "common/kernel/oomlog.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct arena arena;

static void check_kill(const struct oom_kill *k, const struct oomlog *log)
{
	if (k->line > log->lines || k->task_count > OOM_TASKS_MAX)
		abort();
	if (k->is_nobody ? k->pid != NA_U64 :
	    k->killer == OOM_BY_KERNEL ? k->pid == NA_U64 || !k->comm : !k->cgroup || !k->reason)
		abort();
	for (unsigned i = 0; i < k->task_count; i++)
		if (!k->tasks[i].comm || k->tasks[i].pid == k->pid ||
		    (i > 0 && k->tasks[i].rss_bytes > k->tasks[i - 1].rss_bytes))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct oomlog log;

	oomlog_start(&log, &arena);
	log.now_ns = 1796040000000000000u;
	log.boot_realtime_ns = size;
	oomlog_text(&log, t);
	if (log.count > log.lines || log.stamped > log.lines || log.garbled > log.lines)
		abort();
	for (size_t i = 0; i < log.count; i++)
		check_kill(&log.kills[i], &log);
	oomlog_free(&log);
	arena_reset(&arena);
	return 0;
}
