/* Why something did not work: one text per program, kept until the next failure. */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

#define PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))

/*
 * Remember why, and return -err, so that a caller can write
 *     return fail(EINVAL, "/%s line %u: no counter", path, line);
 * Functions here return 0 (or a count) on success and a negative errno on failure; what they
 * return through pointers is untouched on failure. Nothing is printed: the applet decides.
 */
int fail(int err, const char *format, ...) PRINTF_LIKE(2, 3);

/* As fail(), with ": " and the system's text for err behind the message. */
int fail_errno(int err, const char *format, ...) PRINTF_LIKE(2, 3);

/* The text of the last failure, never NULL; valid until the next fail(). */
const char *fail_text(void);

#endif
