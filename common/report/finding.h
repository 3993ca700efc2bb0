/*
 * Findings: what is wrong, with the numbers that prove it. When each kind fires is in the applet's
 * man page.
 */
#ifndef REPORT_FINDING_H
#define REPORT_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/report/table.h"

enum finding_state { STATE_NOW, STATE_PAST, STATE_RISK, STATE_NOTE };

const char *finding_state_name(enum finding_state s);      /* "now" ... */

/* One per id an applet can report; a table of them ends with id NULL. */
struct finding_kind {
	const char *id;        /* "cpuwait.throttled" */
	const char *states;    /* "now" or "now, past" */
	const char *when;      /* when it fires, for the man page and --help */
};

struct evidence {
	const char *name;      /* lower case, unit behind it: throttled_ns */
	enum column_type type; /* TYPE_U64, TYPE_I64, TYPE_F64 or TYPE_TEXT */
	enum name_kind names;  /* of a TYPE_TEXT */
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		const char *text;
	};
};

struct finding {
	const struct finding_kind *kind;
	enum finding_state state;
	const char *netns;         /* NULL: not a network matter */
	const char *subject;       /* as DESIGN.md section 3; already redacted */
	const char *names;         /* container, pod: shown beside the subject; NULL: none */
	struct evidence *evidence;
	size_t evidence_count;
	const char *text;          /* lines for people, joined by \n; may start with a label */
	const char *proof;         /* where to check it with cat, ss or ip */
	const char *next;          /* the command that looks closer; NULL: none */
	double lost;               /* for ranking: seconds of waiting imposed per second (a CPU-s/s
	                              throttled is 1, a dropped SYN >= 1, a retransmit 0.2) */
	/* Ids, blanks between: where one of these is found of the same thing, triage and compare
	 * leave this one out. A constant; NULL: none. */
	const char *covered_by;
	struct arena *arena;       /* where the above lives; set by finding_start */
	size_t evidence_cap;
};

/*
 * A finding to fill: lives in arena (the frame's). Subject is copied. Then finding_* below, then
 * out_finding(out, f) from out.h.
 */
struct finding *finding_start(struct arena *arena, const struct finding_kind *kinds, const char *id,
			      enum finding_state state, const char *subject);
void finding_u64(struct finding *f, const char *name, uint64_t value);     /* NA_U64 becomes null */
void finding_f64(struct finding *f, const char *name, double value);
void finding_text(struct finding *f, const char *name, enum name_kind kind, const char *value);
/* Adds a line to text; a newline inside it came with a name and is escaped. */
void finding_line(struct finding *f, const char *format, ...) PRINTF_LIKE(2, 3);
void finding_proof(struct finding *f, const char *format, ...) PRINTF_LIKE(2, 3);
void finding_next(struct finding *f, const char *format, ...) PRINTF_LIKE(2, 3);

/* A copy that outlives the frame: everything is copied into arena. */
struct finding *finding_copy(struct arena *arena, const struct finding *f);

/* Ranking: now, past, risk, note; then lost, most first; id; subject. For qsort of pointers. */
int finding_compare(const void *a, const void *b);

#endif
