/* The few lines a unit test needs: it goes on after a failure, and says how many checks it made. */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned check_count, check_failed;

#define CHECK(cond) check_that((cond), #cond, __FILE__, __LINE__)
#define CHECK_STR(a, b) check_str((a), (b), #a, __FILE__, __LINE__)

static inline bool check_that(bool good, const char *what, const char *file, int line)
{
	check_count++;
	if (!good) {
		check_failed++;
		printf("%s:%d: not so: %s\n", file, line, what);
	}
	return good;
}

static inline bool check_str(const char *a, const char *b, const char *what, const char *file,
			     int line)
{
	bool same = a == b || (a && b && !strcmp(a, b));

	check_count++;
	if (!same) {
		check_failed++;
		printf("%s:%d: %s is \"%s\", not \"%s\"\n", file, line, what, a ? a : "(null)",
		       b ? b : "(null)");
	}
	return same;
}

/* What could not be checked here, and why. */
static inline void check_skip(const char *name, const char *why)
{
	printf("skip %s: %s\n", name, why);
}

/* The last line, and main's result. */
static inline int check_done(const char *name)
{
	if (check_failed)
		printf("FAILED %s %u of %u\n", name, check_failed, check_count);
	else
		printf("ok %s %u\n", name, check_count);
	return check_failed != 0;
}

#endif
