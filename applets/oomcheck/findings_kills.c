/*
 * Kills that only a counter tells of: the log was not readable, or had been overwritten. Each is
 * told once: what the log has is told by kills.c. The log is read after the counters, so it may be
 * ahead of them by a kill or two until the next look.
 */
#include <stdlib.h>
#include <string.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

/* Groups that the log knew more kills of than their counters, at the look before. */
static char **ahead;
static size_t ahead_count, ahead_cap;
static uint64_t host_ahead;

struct logged {
	struct hash by_group;                  /* group -> uint64_t *, of the frame */
	uint64_t total, unknown;               /* unknown: the log does not say whose */
};

/* A group that is gone counts in what is left above it. */
static void count(const char *cgroup, void *arg)
{
	struct logged *l = arg;
	struct memgroup *g = cgroup ? memgroup_nearest(cgroup) : NULL;

	l->total++;
	if (!g) {
		l->unknown++;
		return;
	}
	void **at = hash_number(&l->by_group, (uintptr_t)g);

	if (!*at)
		*at = arena_alloc(src_arena(), sizeof(uint64_t));
	++*(uint64_t *)*at;
}

static uint64_t logged_of(const struct memgroup *g, const struct logged *l)
{
	const uint64_t *here = hash_find_number(&l->by_group, (uintptr_t)g);

	return here ? *here : 0;
}

/* Of its kills in the interval. */
static uint64_t unlogged_kills(const struct memgroup *g, const struct logged *l)
{
	if (!g->own_kills || g->own_kills == NA_U64 || logged_of(g, l) || l->unknown)
		return 0;
	/* memory.oom.group counts the first victim twice: more than the log has means nothing */
	for (size_t i = 0; i < ahead_count; i++)
		if (!strcmp(ahead[i], g->path))
			return 0;
	return g->own_kills;
}

static void forget_ahead(void)
{
	for (size_t i = 0; i < ahead_count; i++)
		free(ahead[i]);
	ahead_count = 0;
}

static void remember_ahead(struct memgroup *const *list, size_t count, const struct logged *l)
{
	forget_ahead();
	for (size_t i = 0; i < count; i++) {
		uint64_t logged = logged_of(list[i], l), counted = list[i]->own_kills;

		if (!logged || (counted != NA_U64 && counted >= logged))
			continue;
		ahead = mem_grow(ahead, &ahead_cap, ahead_count + 1, sizeof(*ahead));
		ahead[ahead_count++] = mem_strdup(list[i]->path);
	}
}

static void finish(struct out *out, struct finding *f, uint64_t kills)
{
	f->lost = 1;
	finding_u64(f, "kills", kills);
	finding_u64(f, "pid", NA_U64);
	finding_text(f, "comm", NAME_COMMAND, NULL);
	finding_u64(f, "interval_ns", oomcheck.interval_ns);
	finding_next(f, "perfbox --doctor");
	out_finding(out, f);
}

static void report_group(struct out *out, const struct memgroup *g, uint64_t kills)
{
	struct arena *a = out_arena(out);
	struct finding *f = start_group_finding(a, "oomcheck.killed", STATE_NOW, g);

	finding_line(f,
		     "%s killed in it%s; the kernel log has no line for it, so who it was is not "
		     "known",
		     human_count_u64(a, kills),
		     memgroup_has_children(g) ? " or in a group below that is gone" : "");
	finding_proof(f, "oom_kill +%llu in /%s/memory.%s", (unsigned long long)kills,
		      memgroup_folder_text(a, g),
		      oomcheck.layout.memory.version == 2 ? "events" : "oom_control");
	finish(out, f, kills);
}

/* Of groups that are gone, or the host's own: only the host counted it. */
static void report_host(struct out *out, uint64_t kills)
{
	struct arena *a = out_arena(out);
	struct finding *f =
		finding_start(a, oomcheck_findings, "oomcheck.killed", STATE_NOW, "host");

	finding_line(f,
		     "%s killed, and no group that is left counted it; the kernel log has no line "
		     "for it, so who it was is not known",
		     human_count_u64(a, kills));
	finding_proof(f, "oom_kill +%llu in /proc/vmstat", (unsigned long long)kills);
	finish(out, f, kills);
}

void findings_report_kills(struct out *out)
{
	struct memgroup *const *list;
	struct logged logged = { 0 };
	uint64_t counted = 0, of_host = delta_u64(host_now()->kills, host_before()->kills);

	kills_each_new(count, &logged);
	size_t n = memgroups_all(&list);

	for (size_t i = 0; i < n; i++) {
		uint64_t kills = unlogged_kills(list[i], &logged);

		counted += list[i]->own_kills == NA_U64 ? 0 : list[i]->own_kills;
		if (kills && memgroup_is_selected(list[i]))
			report_group(out, list[i], kills);
	}
	remember_ahead(list, n, &logged);
	if (of_host != NA_U64 && of_host && !counted && !logged.total && !host_ahead &&
	    !oomcheck.selection.cgroup && !oomcheck.selection.pids.count)
		report_host(out, of_host);
	host_ahead = of_host != NA_U64 && logged.total > of_host ? logged.total - of_host : 0;
	hash_free(&logged.by_group);
}

void findings_kills_stop(void)
{
	forget_ahead();
	free(ahead);
	ahead = NULL;
	ahead_cap = 0;
	host_ahead = 0;
}
