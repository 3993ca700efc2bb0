/*
 * Processes of -p that are not there (any more). Who looks for one has usually seen it end with
 * status 137, which is SIGKILL by anybody: what can be said of it from here?
 */
#include <errno.h>
#include <stdlib.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"

static bool *was_there;                /* of -p, at the look before; NULL at the first */

bool gone_is(uint64_t pid)
{
	struct text t;

	return src_readf(&t, "proc/%llu/stat", (unsigned long long)pid) < 0;
}

/* -ESRCH, the fail text says what is known of its end. */
static int explain(uint64_t pid)
{
	const unsigned long long n = pid;
	const uint64_t kills = host_now()->kills;

	/* vmstat's counter has the kills of all groups, and of those that are gone */
	if (kills == 0)
		return fail(ESRCH,
			    "no process %llu; if its status was 137: not by the OOM killer as "
			    "far as can be seen, this host counts no kill since boot",
			    n);
	if (kills_ask(pid, NULL) == KILLS_NO)
		return fail(ESRCH,
			    "no process %llu; if its status was 137: not by the OOM killer as "
			    "far as can be seen, the kernel log is whole and has no kill of it",
			    n);
	return fail(ESRCH,
		    "no process %llu; if its status was 137: by whom can't be told, the kernel "
		    "log has no kill of it but is not whole%s",
		    n, kills == NA_U64 ? "" : ", and this host counts kills since boot");
}

int gone_look(struct out *out)
{
	const struct opt_numbers *pids = &oomcheck.selection.pids;
	const bool is_first = !was_there;
	size_t missing = 0;

	if (!pids->count)
		return 0;
	if (is_first)
		was_there = mem_alloc(pids->count * sizeof(*was_there));
	for (size_t i = 0; i < pids->count; i++) {
		bool is_gone = gone_is(pids->items[i]), is_news = is_first || was_there[i];

		was_there[i] = !is_gone;
		/* killed: kills' rows and findings say all of it */
		if (!is_gone || kills_ask(pids->items[i], NULL) == KILLS_YES || !is_news)
			continue;
		explain(pids->items[i]);
		missing += is_first;
		if (!is_first)
			out_note(out, "%s", fail_text());
		else if (missing < pids->count)
			out_missing(out, "%s", fail_text());
	}
	return missing == pids->count ? -ESRCH : 0;
}

void gone_stop(void)
{
	free(was_there);
	was_there = NULL;
}
