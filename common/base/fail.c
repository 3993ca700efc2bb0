#include "common/base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FAIL_TEXT_MAX 1024

static char last_text[FAIL_TEXT_MAX];

__attribute__((format(printf, 1, 0)))
static size_t keep(const char *format, va_list args)
{
	/* the message may quote the one before it, so it is built aside */
	char text[FAIL_TEXT_MAX];
	int n = vsnprintf(text, sizeof(text), format, args);
	size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;

	memcpy(last_text, text, len);
	last_text[len] = '\0';
	return len;
}

int fail(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(format, args);
	va_end(args);
	return -err;
}

int fail_errno(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	size_t len = keep(format, args);
	va_end(args);
	snprintf(last_text + len, sizeof(last_text) - len, ": %s", strerror(err));
	return -err;
}

const char *fail_text(void)
{
	return last_text;
}
