/*
 * Command line options: tables that the parser, --help, the man page and the completions all read.
 * Short options cluster (-tn), take values attached or apart (-p1, -p 1), long ones with = or
 * apart; options and operands mix; -- ends the options.
 */
#ifndef REPORT_OPT_H
#define REPORT_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

enum opt_kind {
	OPT_FLAG,              /* bool */
	OPT_TEXT,              /* const char *: the last one given */
	OPT_NUMBER,            /* uint64_t: decimal, whole, k M G suffixes (powers of 1024) */
	OPT_DURATION,          /* uint64_t ns: seconds, fractions; ms, us, s, m, h suffixes */
	OPT_NUMBERS,           /* struct opt_numbers: comma list, may be given again */
	OPT_TEXTS,             /* struct opt_texts: may be given again */
	OPT_NOTHING,           /* accepted, changes nothing (a habit from the tool replaced) */
};

struct opt_numbers {
	uint64_t *items;
	size_t count, cap;
};

struct opt_texts {
	const char **items;
	size_t count, cap;
};

/* A table ends with an entry whose letter and name are both 0. */
struct opt {
	char letter;           /* 0: none */
	const char *name;      /* NULL: none */
	const char *arg;       /* what --help calls the value; NULL for flags */
	const char *help;      /* fragment: lower case, no full stop, default in parentheses */
	enum opt_kind kind;
	void *value;           /* points at what kind says; NULL for OPT_NOTHING */
	bool hidden;           /* works, but is not listed */
	const char *one_of;    /* allowed values of an OPT_TEXT, "a|b|c"; NULL: any */
};

/*
 * Parse argv[1..] by up to two tables (the applet's own first, then the shared one; either may be
 * NULL). Operands are moved to argv[1..] in order and their number returned; -EINVAL with one line
 * of fail text that names the option and the closest match ("unknown option '--byy': did you mean
 * '--by'?").
 * A number that is not one names itself: "-p: 'x1' is not a number".
 */
int opt_parse(int argc, char **argv, const struct opt *own, const struct opt *shared);

/* Reads one value as OPT_NUMBER/OPT_DURATION would; -EINVAL with fail text that names `what`. */
int opt_number(const char *what, const char *text, uint64_t *value);
int opt_duration(const char *what, const char *text, uint64_t *ns);

/* The nearest of NULL-terminated `names` to `word` if it is near enough to be meant, else NULL. */
const char *opt_closest(const char *word, const char *const *names);

/* Appends the options as --help shows them, two columns wrapped at `width`. */
void opt_help(struct buf *to, const struct opt *table, size_t width);

#endif
