/* Inside oomcheck's kills: where they come from, and what is to be said of each. */
#ifndef APPLETS_OOMCHECK_KILLS_H
#define APPLETS_OOMCHECK_KILLS_H

#include "common/base/mem.h"
#include "common/kernel/oomlog.h"

/* kills_file.c: all of a file ("-": standard input), line by line. 0, or -errno with fail text that
 * names it and the line it got to. */
int kills_read_file(struct oomlog *log, const char *name);

/* kills_verdict.c: all texts are in arena, names in them redacted. */
const char *kill_cause(const struct oom_kill *k);      /* "own limit", "ancestor's limit" ... */
const char *kill_verdict(struct arena *a, const struct oom_kill *k);
/* The counter that was at its limit: "memory", "memory+swap", "kmem"; NULL unknown. */
const char *kill_counter(const struct oom_kill *k, const struct oom_usage **usage);
/* Of the group's usage; NAN unknown. */
double kill_anon_ratio(const struct oom_kill *k);

#endif
