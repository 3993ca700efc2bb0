/*
 * JSON (RFC 8259) read where it lies, one value after the other. A cursor stands in front of a
 * value, or is broken: then everything is refused, and `at` is where it went wrong. What is skipped
 * is not validated beyond its strings and brackets.
 */
#ifndef STACK_JSON_H
#define STACK_JSON_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/text.h"

struct json {
	const char *at, *end;
	bool is_broken;
};

struct json json_of(struct text t);
char json_peek(struct json *j);                /* the next value's first byte; 0: none */

/*
 * if (json_enter(&j, '[')) while (json_next(&j, ']')) { take or skip one value }
 * In an object json_key comes before each value. json_enter: false, unmoved, if it's another kind.
 */
bool json_enter(struct json *j, char open);
bool json_next(struct json *j, char close);
bool json_key(struct json *j, struct text *key);               /* escapes as they are */

bool json_string(struct json *j, struct text *raw);            /* false, unmoved: another kind */
bool json_number(struct json *j, double *value);               /* as above */
bool json_index(struct json *j, size_t limit, size_t *index);  /* a whole number below limit */
void json_skip(struct json *j);                                /* any value */

/* What raw stands for, as UTF-8; half surrogates become U+FFFD. Appended. */
void json_unescape(struct buf *to, struct text raw);

#endif
