/*
 * Tables: a row is a plain struct, a column is a field of it, declared once. From that declaration
 * come the table for people, TSV, JSON, OpenMetrics, and the COLUMNS section of --help and the man
 * page.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/na.h"

enum column_role {
	ROLE_KEY,              /* names the row: label in OpenMetrics, always a string in JSON */
	ROLE_TEXT,             /* describes it: text that is no label */
	ROLE_COUNTER,          /* grows since some start: TYPE counter */
	ROLE_GAUGE,            /* a number now, or over the interval */
	ROLE_COUNTER_DELTA,    /* how much a counter grew in the interval: gauge in OpenMetrics */
};

enum column_type { TYPE_TEXT, TYPE_U64, TYPE_I64, TYPE_F64, TYPE_BOOL };

enum column_unit {
	UNIT_TEXT,             /* const char * */
	UNIT_ID,               /* uint64_t that is a name (pid, cpu): JSON string */
	UNIT_COUNT,            /* any number; human: 1,234,567 */
	UNIT_BYTES,            /* field ends in _bytes; human: 1.9G */
	UNIT_NS,               /* _ns; human: 1.2ms; OpenMetrics: _seconds */
	UNIT_RATIO,            /* _ratio, fraction of 1; human: percent, one decimal, no clamp */
	UNIT_PER_SECOND,       /* _per_second */
	UNIT_CPUS,             /* _cpus: number of CPUs, may be a fraction */
	UNIT_YES,              /* bool */
};

/* What a text column's value is, so that --redact knows what to replace (redact.h). */
enum name_kind {
	NAME_PLAIN, NAME_HOST, NAME_USER, NAME_COMMAND, NAME_CGROUP, NAME_CONTAINER, NAME_ADDRESS,
};

struct column {
	const char *name;      /* the field's: lower case, stable, a promise to scripts */
	const char *title;     /* for people; NULL: only for machines and on --columns */
	const char *help;      /* fragment, for the COLUMNS section */
	enum column_type type;
	enum column_role role;
	enum column_unit unit;
	enum name_kind names;
	size_t offset;
	size_t estimated;      /* offset of a bool field: true prints ~ in front; 0: never */
	bool hide_if_empty;    /* people see it only if some row knows it */
};

struct table {
	const char *name;      /* [a-z_]+, "table" in JSON */
	const char *help;      /* what one row is */
	size_t row_size;
	const struct column *columns;
	size_t column_count;
	const char *sort;      /* unless --sort says otherwise; "-name": descending; NULL: none */
	bool top;              /* --top applies; people get the first 20 rows, machines all */
	/*
	 * Called once for each row that will be printed, before it is, to fill what only those need
	 * (NULL: nothing). With --sort by something else than the table's own column it is called
	 * for all rows, before sorting.
	 */
	void (*complete)(void *row);
	/* With complete: bytes of a row's start that are kept until then, the sort column among
	 * them; what is behind them is zero when complete is called. 0: all of the row. */
	size_t kept_size;
};

/* A field's type decides; a field of any other type does not compile. */
#define COLUMN_TYPE_OF(row, field) _Generic(((row *)0)->field, \
	const char *: TYPE_TEXT, char *: TYPE_TEXT, uint64_t: TYPE_U64, int64_t: TYPE_I64, \
	double: TYPE_F64, bool: TYPE_BOOL)

/* A unit that does not fit its field's type does not compile either. */
#define COLUMN_IS(row, field, ctype) _Generic(((row *)0)->field, ctype: 1, default: 0)
#define COLUMN_FITS(row, field, unit) \
	((unit) == UNIT_TEXT ? \
		COLUMN_IS(row, field, const char *) || COLUMN_IS(row, field, char *) : \
	 (unit) == UNIT_YES ? COLUMN_IS(row, field, bool) : \
	 (unit) == UNIT_ID ? COLUMN_IS(row, field, uint64_t) : \
	 (unit) == UNIT_RATIO || (unit) == UNIT_PER_SECOND || (unit) == UNIT_CPUS ? \
		COLUMN_IS(row, field, double) : \
		COLUMN_IS(row, field, uint64_t) || COLUMN_IS(row, field, int64_t) || \
		COLUMN_IS(row, field, double))
#define COLUMN_CHECKED(row, field, unit) \
	(0 * sizeof(struct { \
		_Static_assert(COLUMN_FITS(row, field, unit), "unit does not fit the field"); \
		int x; \
	}))

#define COL(row, field, title_, role_, unit_, help_) { \
	.name = #field, .title = (title_), .help = (help_), .type = COLUMN_TYPE_OF(row, field), \
	.role = (role_), .unit = (unit_), \
	.offset = offsetof(row, field) + COLUMN_CHECKED(row, field, unit_) }

/* With a bool field that says the value is estimated (~). */
#define COL_EST(row, field, bool_field, title_, role_, unit_, help_) { \
	.name = #field, .title = (title_), .help = (help_), .type = COLUMN_TYPE_OF(row, field), \
	.role = (role_), .unit = (unit_), .estimated = offsetof(row, bool_field), \
	.offset = offsetof(row, field) + COLUMN_CHECKED(row, field, unit_) }

/* A text whose value is a name that --redact must replace. */
#define COL_NAME(row, field, title_, role_, kind_, help_) { \
	.name = #field, .title = (title_), .help = (help_), .type = COLUMN_TYPE_OF(row, field), \
	.role = (role_), .unit = UNIT_TEXT, .names = (kind_), \
	.offset = offsetof(row, field) + COLUMN_CHECKED(row, field, UNIT_TEXT) }

/* As COL_NAME, but people see the column only if some row has it. */
#define COL_NAME_IF_ANY(row, field, title_, role_, kind_, help_) { \
	.name = #field, .title = (title_), .help = (help_), .type = COLUMN_TYPE_OF(row, field), \
	.role = (role_), .unit = UNIT_TEXT, .names = (kind_), .hide_if_empty = true, \
	.offset = offsetof(row, field) + COLUMN_CHECKED(row, field, UNIT_TEXT) }

#define TABLE(row, columns_) .row_size = sizeof(row), .columns = (columns_), \
	.column_count = sizeof(columns_) / sizeof((columns_)[0])

#endif
