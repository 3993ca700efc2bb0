/* Why somebody was killed, in plain words, and no further than the log goes. */
#include <math.h>
#include <string.h>

#include "applets/oomcheck/kills.h"
#include "common/kernel/memcg.h"
#include "common/report/out.h"
#include "common/report/redact.h"

#define AT_LIMIT_BYTES (1u << 20)      /* each CPU may hold a few pages back (MEMCG_CHARGE_BATCH) */
#define MOST 0.5

static bool is_own_limit(const struct oom_kill *k)
{
	return k->cgroup && k->limited_by && !strcmp(k->cgroup, k->limited_by);
}

const char *kill_cause(const struct oom_kill *k)
{
	if (k->killer != OOM_BY_KERNEL)
		return oom_killer_name(k->killer);
	if (k->is_manual)
		return "sysrq";
	switch (k->constraint) {
	case OOM_HOST:
	case OOM_NONE:
		return "host";
	case OOM_CPUSET:
		return "cpuset nodes";
	case OOM_MEMORY_POLICY:
		return "policy nodes";
	case OOM_MEMCG:
		return !k->limited_by ? "a limit" : is_own_limit(k) ? "own limit" :
		       k->cgroup ? "ancestor's limit" : "a limit";
	case OOM_UNKNOWN:
		break;
	}
	return NULL;
}

static bool is_at_limit(const struct oom_usage *u)
{
	return u->usage_bytes != NA_U64 && u->limit_bytes != NA_U64 &&
	       u->limit_bytes != MEMCG_NONE && u->usage_bytes + AT_LIMIT_BYTES >= u->limit_bytes;
}

const char *kill_counter(const struct oom_kill *k, const struct oom_usage **usage)
{
	const struct {
		const char *name;
		const struct oom_usage *usage;
	} all[] = { { "memory", &k->memory }, { "memory+swap", &k->memsw }, { "kmem", &k->kmem } };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (is_at_limit(all[i].usage)) {
			*usage = all[i].usage;
			return all[i].name;
		}
	return NULL;
}

static double share_of(const struct oom_kill *k, uint64_t bytes)
{
	uint64_t all = k->memory.usage_bytes;

	if (all == NA_U64)
		all = sum_u64(k->memcg_anon_bytes, sum_u64(k->memcg_file_bytes,
			      k->memcg_shmem_bytes == NA_U64 ? 0 : k->memcg_shmem_bytes));
	const double share = ratio_of(bytes, all);

	/* the two are not read at one moment */
	return share > 1 && share < 1.1 ? 1 : share;
}

double kill_anon_ratio(const struct oom_kill *k)
{
	return share_of(k, k->memcg_anon_bytes);
}

/* What its memory was; NULL where the log does not say. */
static const char *filled_with(struct arena *a, const struct oom_kill *k)
{
	const double anon = kill_anon_ratio(k), file = share_of(k, k->memcg_file_bytes),
		     shmem = share_of(k, k->memcg_shmem_bytes);

	if (isnan(anon))
		return NULL;
	if (anon >= MOST)
		return arena_printf(a, "%s anonymous: the process asked for it, it is not page "
				    "cache", human_ratio(a, anon));
	if (shmem >= MOST)
		return arena_printf(a, "%s shared memory or tmpfs: nothing that could be dropped",
				    human_ratio(a, shmem));
	if (file >= MOST)
		return arena_printf(a, "%s page cache, which could not be dropped in time",
				    human_ratio(a, file));
	return arena_printf(a, "%s anonymous, %s shared, %s page cache, the rest the kernel's own",
			    human_ratio(a, anon), human_ratio(a, shmem), human_ratio(a, file));
}

static const char *limit_text(struct arena *a, const struct oom_kill *k)
{
	const struct oom_usage *u = &k->memory;
	const char *counter = kill_counter(k, &u);

	if (u->limit_bytes == NA_U64 || u->limit_bytes == MEMCG_NONE)
		return "";
	return arena_printf(a, " %s%s%s", human_bytes(a, (double)u->limit_bytes),
			    counter && strcmp(counter, "memory") != 0 ? " of " : "",
			    counter && strcmp(counter, "memory") != 0 ? counter : "");
}

static const char *memcg_verdict(struct arena *a, const struct oom_kill *k)
{
	const char *filled = filled_with(a, k), *limit = limit_text(a, k), *what;

	if (!k->limited_by)
		what = "a cgroup reached its limit; the log does not say which";
	else if (is_own_limit(k))
		what = arena_printf(a, "the cgroup reached its own limit%s%s", *limit ? " of" : "",
				    limit);
	else if (k->cgroup)
		what = arena_printf(a, "an ancestor's limit (%s%s%s)",
				    redact_name(a, NAME_CGROUP, k->limited_by),
				    *limit ? " at" : "", limit);
	else
		what = arena_printf(a, "the limit of %s%s%s",
				    redact_name(a, NAME_CGROUP, k->limited_by),
				    *limit ? " at" : "", limit);
	return filled ? arena_printf(a, "%s; %s", what, filled) : what;
}

static const char *host_verdict(struct arena *a, const struct oom_kill *k)
{
	const char *nodes = k->nodes ? arena_printf(a, " (%s)", k->nodes) : "";

	switch (k->constraint) {
	case OOM_NONE:
		return "the host ran out";
	case OOM_HOST:
		return "the host ran out, or the memory nodes it may use: the log does not say";
	case OOM_CPUSET:
		return arena_printf(a, "the memory nodes of its cpuset%s ran out, not the whole "
				    "host", nodes);
	case OOM_MEMORY_POLICY:
		return arena_printf(a, "the nodes its memory policy allows%s ran out, not the "
				    "whole host", nodes);
	default:
		return "memory ran out; the log does not say whose";
	}
}

const char *kill_verdict(struct arena *a, const struct oom_kill *k)
{
	const char *why;

	/* the reason names groups as well */
	if (k->killer != OOM_BY_KERNEL)
		return arena_printf(a, "a userspace killer (%s) did it, not the kernel%s%s",
				    oom_killer_name(k->killer),
				    k->reason && !redact_is_on() ? ": " : "",
				    k->reason && !redact_is_on() ? k->reason : "");
	if (k->is_manual)
		return "somebody asked for it (sysrq f), not the kernel";
	why = k->constraint == OOM_MEMCG ? memcg_verdict(a, k) : host_verdict(a, k);
	if (k->is_nobody)
		return arena_printf(a, "nobody was left to kill%s: %s",
				    k->is_deadlock ? ", the kernel gave up" : "", why);
	return why;
}
