/*
 * Reading numbers and words out of text that may be cut, garbled or hostile.
 * A scan never reads past its end, never needs a NUL, and moves only when it succeeds.
 */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

struct scan {
	const char *at, *end;
};

static inline struct scan scan_of(struct text t)
{
	return (struct scan){ t.data, t.data + t.len };
}

static inline bool scan_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* 0 to 15, either case; -1: it is none. */
static inline int scan_hex_digit(char c)
{
	return scan_is_digit(c) ? c - '0' :
		c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The next line without its newline; false at the end. A last line without newline counts. */
bool scan_line(struct scan *s, struct text *line);

/* The next run of bytes that are not blank (space or tab); blanks before it are passed over. */
bool scan_word(struct scan *s, struct text *word);

/* Bytes up to `stop`, which is consumed but not returned; false (unmoved) if it does not occur. */
bool scan_until(struct scan *s, char stop, struct text *out);

/* Numbers: blanks before them are passed over; false (unmoved) if there is none or it overflows. */
bool scan_u64(struct scan *s, uint64_t *value);
bool scan_i64(struct scan *s, int64_t *value);
bool scan_hex(struct scan *s, uint64_t *value);                  /* no 0x expected */
bool scan_decimal(struct scan *s, double *value); /* digits[.digits], no sign, no exponent */

/* The literal itself, consumed; false (unmoved) if something else is there. */
bool scan_literal(struct scan *s, const char *literal);

void scan_blanks(struct scan *s);                                /* spaces and tabs */
bool scan_skip_words(struct scan *s, unsigned n);
struct text scan_rest(const struct scan *s);

/*
 * In text made of "KEY VALUE" or "KEY: VALUE" lines (cpu.stat, status, meminfo, vmstat), find the
 * line whose first word is KEY (with or without the colon) and give what follows, blanks stripped.
 */
bool scan_find_key(struct text lines, const char *key, struct text *value);
bool scan_key_u64(struct text lines, const char *key, uint64_t *value);

/* Whole spans: true only if nothing is left behind the number. */
bool scan_all_u64(struct text t, uint64_t *value);
bool scan_all_decimal(struct text t, double *value);

/*
 * A CPU list as the kernel prints it ("0-3,8"), called back per CPU below `limit`; number of CPUs,
 * or -EINVAL. An empty list has none. Format: lib/bitmap.c,
 * Documentation/admin-guide/cputopology.rst.
 */
int scan_cpu_list(struct text t, unsigned limit, void (*each)(unsigned cpu, void *arg), void *arg);

#endif
