/* What the files of report/out share among themselves. Nobody else includes this. */
#ifndef REPORT_OUT_IMPL_H
#define REPORT_OUT_IMPL_H

#include <stdarg.h>

#include "common/base/buf.h"
#include "common/report/escape.h"
#include "common/report/out.h"

#define HUMAN_MAX 48                   /* bytes of a number made readable, its NUL included */
#define OUT_REMARKS_MAX 256            /* different remarks a run may make on stderr */

struct out_table {
	const struct table *table;
	char *rows;                    /* count x table_kept_size, in the order they came */
	size_t count, cap;             /* cap in rows */
	const struct column **columns; /* all of them, or those --columns names */
	size_t column_count;
	bool has_choice;               /* --columns chose: people see them whatever they hold */
	const struct column *sort;     /* NULL: as added */
	bool descending;
	bool left_out;                 /* --table or --columns asks for others */
};

struct out_label {
	const char *label, *text;
};

struct out {
	struct out_config config;
	bool collecting;
	bool findings_left_out;
	bool is_terminal, has_color;
	FILE *to;
	struct arena frame, run;       /* until the next frame begins; until out_close */
	struct out_table *tables;
	size_t table_count, table_cap;
	struct finding **findings;
	size_t finding_count, finding_cap;
	const char **histories;
	size_t history_count, history_cap;
	const char **hosts;
	size_t host_count, host_cap;
	struct out_label *lines;
	size_t line_count, line_cap;
	struct out_remark *remarks;
	size_t remark_count, remark_cap;
	const char *unseen;
	uint64_t realtime_ns;
	unsigned states_seen;
	bool incomplete;
	bool wrote_header, wrote_frame;
	int write_error;               /* errno of the first write that failed */
	struct buf buf;                /* composed, not yet written */
};

/* out_select.c: what --table, --columns and --sort name. */
int out_select(struct out *o);
void out_select_default(struct out *o, struct out_table *t);

/* out.c */
struct out_table *out_table_of(struct out *o, const struct table *t);
uint64_t out_limit(const struct out *o, const struct out_table *t);    /* --top; NA_U64: all */
void out_write_if_full(struct out *o);                 /* machines: no frame is held whole */
/* redacted if asked */
const char *out_shown_name(struct out *o, enum name_kind kind, const char *name);

/* All findings of the frame, ranked, in the frame's arena. */
size_t out_ranked_findings(struct out *o, struct finding ***list);

/* One per format: composes the frame in o->buf. */
void out_people(struct out *o);
void out_tsv(struct out *o);
void out_json(struct out *o);
void out_openmetrics(struct out *o);

/* table.c: a row's value. */
const struct column *table_column(const struct table *t, struct text name);
bool column_is_known(const struct column *c, const void *row);     /* infinite counts as unknown */
const char *column_text(const struct column *c, const void *row);
uint64_t column_u64(const struct column *c, const void *row);
int64_t column_i64(const struct column *c, const void *row);
double column_f64(const struct column *c, const void *row);
bool column_bool(const struct column *c, const void *row);
double column_number(const struct column *c, const void *row);     /* any type but text */
bool column_is_estimated(const struct column *c, const void *row);
/* A known number for machines: integers whole, others with the digits they need, bool 0 or 1. */
void column_add_raw(struct buf *to, const struct column *c, const void *row);
void table_add_f64(struct buf *to, double value);
/*
 * Rows in the order they are printed, completed, in memory of `arena`, at most `limit` of them
 * (NA_U64: all); returns how many. Once per frame and table.
 */
size_t table_kept_size(const struct table *t);
size_t table_sorted(struct arena *arena, const struct out_table *t, uint64_t limit,
		    const void ***rows);

/* human.c: a number as people read it in a table cell; a % or /s in the title is not repeated. */
void human_cell(char to[HUMAN_MAX], const struct column *c, const void *row);

/* finding.c */
char *report_vprintf(struct arena *arena, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
void evidence_add_number(struct buf *to, const struct evidence *e, const char *unknown);

#endif
