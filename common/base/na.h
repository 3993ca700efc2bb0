/* "Unknown" is a value of its own, never 0: each type a column can have has one. */
#ifndef BASE_NA_H
#define BASE_NA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define NA_U64 UINT64_MAX
#define NA_I64 INT64_MIN
#define NA_F64 ((double)NAN)
/* unknown text is NULL */

static inline bool is_na_u64(uint64_t v)
{
	return v == NA_U64;
}

static inline bool is_na_f64(double v)
{
	return isnan(v);
}

/* now - before of a counter; unknown if either is, or if it went backwards (it was reset). */
static inline uint64_t delta_u64(uint64_t now, uint64_t before)
{
	return now == NA_U64 || before == NA_U64 || now < before ? NA_U64 : now - before;
}

/* a + b; unknown if either is. */
static inline uint64_t sum_u64(uint64_t a, uint64_t b)
{
	return a == NA_U64 || b == NA_U64 ? NA_U64 : a + b;
}

/* value / by as a fraction; unknown if value is or if by is 0 or unknown. */
static inline double ratio_of(uint64_t value, uint64_t by)
{
	return value == NA_U64 || by == NA_U64 || by == 0 ? NA_F64 : (double)value / (double)by;
}

/* A counter's delta over a measured time, per second. */
static inline double rate_of(uint64_t delta, uint64_t elapsed_ns)
{
	return delta == NA_U64 || elapsed_ns == NA_U64 || elapsed_ns == 0 ? NA_F64 :
		(double)delta * 1e9 / (double)elapsed_ns;
}

#endif
