/*
 * Output: rows and findings in, one of the formats out, a frame at a time. Nothing is printed
 * before out_frame_end. Names are escaped here, before they are measured or printed: control bytes
 * as \xNN, invalid UTF-8 as U+FFFD in JSON, and redacted when asked (redact.h).
 */
#ifndef REPORT_OUT_H
#define REPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/report/finding.h"
#include "common/report/table.h"

enum out_format { OUT_PEOPLE, OUT_TSV, OUT_JSON, OUT_OPENMETRICS };

struct out_config {
	const char *applet;            /* prefix of OpenMetrics names, name in messages */
	enum out_format format;
	const struct table *const *tables;  /* the mode's, to NULL; the first is TSV's default */
	const char *table;             /* --table: only this; "findings" is one too; NULL: all */
	const char *first_table;       /* what TSV prints without --table; NULL: the first */
	const char *columns;           /* --columns a,b,c; +name adds one; NULL: default */
	const char *sort;              /* --sort name or -name; NULL: the table's own */
	uint64_t top;                  /* --top; NA_U64: 20 for people, all for machines; 0: all */
	bool no_header;
	bool quiet;                    /* -q: findings and rows only, no host line, no notes */
	bool past;                     /* --past: since-boot counters one by one */
	unsigned states;               /* bit per finding_state that counts for the exit status
	                                  (--state); 0: now, past, risk; a note never counts */
	size_t width;                  /* people's width; 0: terminal's or 100 */
	FILE *to;                      /* NULL: stdout */
};

struct out;

/* -EINVAL with fail text: unknown table or column (closest match named). Free with out_close. */
int out_open(const struct out_config *config, struct out **out);

/*
 * An out that prints nothing and keeps what it is given (triage, compare): findings, histories and
 * remarks; rows, host and lines are dropped. Only what out_missing says goes to stderr at once.
 */
struct out *out_collect(const char *applet);

void out_frame_begin(struct out *o, uint64_t realtime_ns);
enum out_format out_format(const struct out *o);
/*
 * For modes whose output is not rows (folded stacks, pictures): where it goes. Written before the
 * first out_frame_end and flushed there; what failed is an error of the caller or of out_close.
 */
FILE *out_stream(struct out *o);
struct arena *out_arena(struct out *o);         /* strings of rows; until the next frame begins */
/* False: rows are dropped (out_collect), so only what findings need must be read. */
bool out_wants_rows(const struct out *o);
/* people only: a line in front of everything */
void out_host(struct out *o, const char *format, ...) PRINTF_LIKE(2, 3);
void out_row(struct out *o, const struct table *t, const void *row);   /* copied; strings are not */
/*
 * How many rows of t will be printed if they come in the order of their printing; NA_U64: all, or
 * they are put in order here (--sort, the table's own).
 */
uint64_t out_rows_wanted(struct out *o, const struct table *t);
void out_finding(struct out *o, struct finding *f);    /* f lives in out_arena or longer */
/* Is that column of t printed, or sorted by? What only it needs is read only then. */
bool out_shows(struct out *o, const struct table *t, const char *column);
/* people only, behind everything: "clean       memory, ports"; label "": the text alone */
void out_line(struct out *o, const char *label, const char *format, ...) PRINTF_LIKE(3, 4);
/* since-boot counters that moved some time: one "history" line for people, all with --past */
void out_history(struct out *o, const char *format, ...) PRINTF_LIKE(2, 3);
/* a remark on stderr, once per text in a run, prefixed "perfbox APPLET: "; unless quiet */
void out_note(struct out *o, const char *format, ...) PRINTF_LIKE(2, 3);
/* something needed could not be read: out_note even when quiet; status 3 unless a finding counts */
void out_missing(struct out *o, const char *format, ...) PRINTF_LIKE(2, 3);
/* Prints the frame. -errno with fail text when writing failed (EPIPE, ENOSPC): the caller ends. */
int out_frame_end(struct out *o);

/* What came since out_frame_begin, in order (for triage and compare); valid until the next one. */
size_t out_findings(const struct out *o, struct finding ***list);
size_t out_histories(const struct out *o, const char *const **list);

/* What out_note and out_missing were told in the whole run, each text once. */
struct out_remark {
	const char *text;
	bool is_missing;
};
size_t out_remarks(const struct out *o, const struct out_remark **list);
/* What could not be seen and nobody asked for by name ("of other network namespaces"): triage says
 * so behind the applet's area; the status stays. A constant; NULL: nothing was told. */
void out_unseen(struct out *o, const char *what);
const char *out_unseen_text(const struct out *o);
void out_mark_incomplete(struct out *o);        /* as out_missing, when another has said what */
bool out_is_incomplete(const struct out *o);          /* out_missing was called, in any frame */
unsigned out_states_seen(const struct out *o);        /* bit per finding_state seen in any frame */

int out_status(const struct out *o);                  /* 0, 1 or 3 as DESIGN.md section 3 says */
int out_close(struct out *o);                   /* writes what is left; -errno as out_frame_end */

/* For people: for tables and the texts of findings, so that a number reads the same in both. */
const char *human_bytes(struct arena *a, double bytes);        /* 1.9G, 512M, 0 */
const char *human_ns(struct arena *a, double ns);              /* 1.2ms, 3.48s, 2m10s, 41d */
const char *human_count(struct arena *a, double n);            /* 241,172 */
const char *human_bytes_u64(struct arena *a, uint64_t bytes);  /* the same; NA_U64: "-" */
const char *human_count_u64(struct arena *a, uint64_t n);
const char *human_ratio(struct arena *a, double ratio);        /* 87 %, 0.4 % */
const char *human_rate(struct arena *a, double per_second);    /* 44/s, 0.3/s */
const char *out_escape(struct arena *a, const char *name);     /* for terminals; NULL: "-" */
const char *out_shell_word(struct arena *a, const char *word); /* quoted if a shell needs it */
const char *out_time(struct arena *a, uint64_t realtime_ns);   /* 2026-11-30T03:12:07.123Z */

/* Appends the columns as --help and the man page show them. */
void table_help(struct buf *to, const struct table *t, size_t width);

#endif
