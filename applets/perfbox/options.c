#include "applets/perfbox/perfbox.h"

#include "common/base/na.h"

struct shared_options shared = { .count = NA_U64 };
struct shared_choices choices = { .top = NA_U64 };

const struct opt shared_options_table[] = {
	{ 'j', "json", NULL, "JSON lines: every table and finding", OPT_FLAG, &choices.json, false,
	  NULL },
	{ 'J', NULL, NULL, "the same", OPT_FLAG, &choices.json, true, NULL },
	{ 0, "tsv", NULL, "one table, tab separated, raw integers in base units", OPT_FLAG,
	  &choices.tsv, false, NULL },
	{ 0, "openmetrics", NULL, "one look as an OpenMetrics exposition", OPT_FLAG,
	  &choices.openmetrics, false, NULL },
	{ 0, "table", "NAME", "only this table (findings is one too)", OPT_TEXT, &choices.table,
	  false, NULL },
	{ 0, "columns", "NAMES", "only these columns, in this order; +NAME adds one", OPT_TEXT,
	  &choices.columns, false, NULL },
	{ 0, "sort", "NAME", "sort by this column; -NAME: largest first", OPT_TEXT, &choices.sort,
	  false, NULL },
	{ 0, "top", "N", "at most N rows of a table, 0 for all (20 for people, all for scripts)",
	  OPT_NUMBER, &choices.top, false, NULL },
	{ 0, "no-header", NULL, "no column names", OPT_FLAG, &shared.no_header, false, NULL },
	{ 0, "save", "DIR", "keep all that is read in DIR, for --root and compare", OPT_TEXT,
	  &choices.save, false, NULL },
	{ 0, "workload", "TEXT",
	  "with --save: what the load generator said (\"qps=189,p99_ms=812\")", OPT_TEXT,
	  &choices.workload, false, NULL },
	{ 0, "root", "DIR", "replay a saved run, or look at a tree, instead of this host", OPT_TEXT,
	  &choices.root, false, NULL },
	{ 0, "state", "LIST", "findings that count for the exit status (now,risk,past)", OPT_TEXT,
	  &choices.states, false, NULL },
	{ 0, "past", NULL, "list counters that moved since boot but have no date", OPT_FLAG,
	  &shared.past, false, NULL },
	{ 0, "redact", NULL,
	  "replace addresses, host, user, container and command names by pseudonyms", OPT_FLAG,
	  &choices.redact, false, NULL },
	{ 0, "exit-zero", NULL, "exit 0 even if something was found", OPT_FLAG, &choices.exit_zero,
	  false, NULL },
	{ 'q', "quiet", NULL, "rows and findings only: no host line, no remarks", OPT_FLAG,
	  &shared.quiet, false, NULL },
	{ 'v', "verbose", NULL, "more remarks on stderr", OPT_FLAG, &shared.verbose, false, NULL },
	{ 'h', "help", NULL, "this text", OPT_FLAG, &choices.help, false, NULL },
	{ 'V', "version", NULL, "version, commit and libraries", OPT_FLAG, &choices.version, false,
	  NULL },
	{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
};
