/*
 * Strict readers of what report/out prints, for unit tests and fuzzing: each says whether a text is
 * valid, and if not, why. They share no code with the writers.
 */
#ifndef TESTS_UNIT_FORMATS_H
#define TESTS_UNIT_FORMATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at s, 0 if it is none. */
static inline size_t utf8_length(const unsigned char *s, const unsigned char *end)
{
	size_t n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 :
		*s >= 0xf0 && *s < 0xf5 ? 4 : 0;

	if (!n || n > (size_t)(end - s))
		return 0;
	for (size_t i = 1; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static inline bool is_utf8(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;

	while (s < end) {
		size_t n = utf8_length(s, end);

		if (!n)
			return false;
		s += n;
	}
	return true;
}

/* No byte below space but newline (tab if allowed), no DEL; `strict`: no C1, no bidi override. */
static inline bool is_printable(const char *text, size_t len, bool tab, bool strict)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && c != '\n' && !(tab && c == '\t')) || c == 0x7f)
			return false;
		if (!strict || i + 2 >= len)
			continue;
		unsigned char d = (unsigned char)text[i + 1], e = (unsigned char)text[i + 2];

		if ((c == 0xc2 && d < 0xa0) || (c == 0xe2 && d == 0x80 && e >= 0xaa && e <= 0xae))
			return false;
	}
	return true;
}

/* JSON (RFC 8259): a reader that moves `at` behind a value or says no. */
static inline bool json_value(const char **at, unsigned depth);

static inline bool json_string(const char **at)
{
	const char *p = *at;

	if (*p++ != '"')
		return false;
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < 0x20)
			return false;
		if (*p != '\\')
			continue;
		p++;
		if (!*p || !strchr("\"\\/bfnrtu", *p))
			return false;
		if (*p == 'u') {
			if (strspn(p + 1, "0123456789abcdefABCDEF") < 4)
				return false;
			p += 4;
		}
	}
	*at = p + 1;
	return true;
}

static inline bool json_number(const char **at)
{
	const char *p = *at + (**at == '-');
	size_t n = strspn(p, "0123456789");

	if (!n || (n > 1 && *p == '0'))
		return false;
	p += n;
	if (*p == '.') {
		n = strspn(p + 1, "0123456789");
		if (!n)
			return false;
		p += 1 + n;
	}
	if (*p == 'e' || *p == 'E') {
		p += 1 + (p[1] == '-' || p[1] == '+');
		n = strspn(p, "0123456789");
		if (!n)
			return false;
		p += n;
	}
	*at = p;
	return true;
}

static inline bool json_object(const char **at, unsigned depth)
{
	(*at)++;
	if (**at == '}')
		return (*at)++, true;
	for (;;) {
		if (!json_string(at) || *(*at)++ != ':' || !json_value(at, depth + 1))
			return false;
		char c = *(*at)++;

		if (c == '}')
			return true;
		if (c != ',')
			return false;
	}
}

static inline bool json_value(const char **at, unsigned depth)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < 3; i++)
		if (!strncmp(*at, words[i], strlen(words[i])))
			return *at += strlen(words[i]), true;
	if (depth > 4)
		return false;
	return **at == '{' ? json_object(at, depth) : **at == '"' ? json_string(at) :
		json_number(at);
}

/* Lines that are one object each, UTF-8; we print no blank between tokens. */
static inline bool is_json_lines(const char *text, size_t len)
{
	const char *at = text;

	if (strlen(text) != len || !is_utf8(text, len))
		return false;
	while (*at) {
		if (*at != '{' || !json_value(&at, 0) || *at++ != '\n')
			return false;
	}
	return true;
}

/* OpenMetrics 1.0. The families seen so far, to find one that comes in two pieces. */
#define FAMILIES_MAX 256
#define SAMPLES_MAX 16384

struct exposition {
	const char *at;
	char families[FAMILIES_MAX][200];
	size_t family_count;
	bool has_type, is_counter, has_help, has_unit;
	char *samples[SAMPLES_MAX];      /* name and labels of each */
	size_t sample_count;
	const char *why;
};

static inline bool no(struct exposition *e, const char *why)
{
	e->why = e->why ? e->why : why;
	return false;
}

static inline size_t name_length(const char *s, bool colon)
{
	size_t n = strspn(s, colon ?
			  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:" :
			  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return *s >= '0' && *s <= '9' ? 0 : n;
}

/* The family of a # line becomes the one that is open. */
static inline bool open_family(struct exposition *e, const char *name, size_t len)
{
	char copy[200];

	if (!len || len >= sizeof(copy))
		return no(e, "family name");
	memcpy(copy, name, len);
	copy[len] = '\0';
	if (e->family_count && !strcmp(e->families[e->family_count - 1], copy))
		return true;
	for (size_t i = 0; i < e->family_count; i++)
		if (!strcmp(e->families[i], copy))
			return no(e, "family in two pieces");
	if (e->family_count == FAMILIES_MAX)
		return no(e, "too many families for this checker");
	memcpy(e->families[e->family_count++], copy, len + 1);
	e->has_type = e->has_help = e->has_unit = e->is_counter = false;
	return true;
}

static inline bool read_help(struct exposition *e, const char *text, const char *end)
{
	if (e->has_help)
		return no(e, "two HELP");
	e->has_help = true;
	for (; text < end; text++) {
		if (*text == '"')
			return no(e, "quote in HELP");
		if (*text == '\\' && *++text != '\\' && *text != 'n')
			return no(e, "escape in HELP");
	}
	return true;
}

static inline bool read_comment(struct exposition *e, const char *end)
{
	char kind[5] = "";
	const char *family = e->at + 7;

	if (end - e->at < 8 || e->at[1] != ' ' || e->at[6] != ' ')
		return no(e, "# line");
	memcpy(kind, e->at + 2, 4);
	size_t n = name_length(family, true);

	if (!open_family(e, family, n) || family[n] != ' ')
		return no(e, "# line without text");
	const char *rest = family + n + 1;
	size_t left = (size_t)(end - rest);

	if (!strcmp(kind, "HELP"))
		return read_help(e, rest, end);
	if (!strcmp(kind, "TYPE")) {
		if (e->has_type)
			return no(e, "two TYPE");
		e->has_type = true;
		e->is_counter = left == 7 && !memcmp(rest, "counter", 7);
		return e->is_counter || (left == 5 && !memcmp(rest, "gauge", 5)) || no(e, "TYPE");
	}
	if (strcmp(kind, "UNIT") != 0 || e->has_unit)
		return no(e, "# line of no known kind, or twice");
	e->has_unit = true;
	return (n > left && family[n - left - 1] == '_' &&
		!memcmp(family + n - left, rest, left)) ||
		no(e, "UNIT is not the end of the name");
}

/* {name="value",...}: moves behind it. */
static inline bool read_labels(struct exposition *e, const char **at)
{
	const char *p = *at + 1;

	for (;;) {
		size_t n = name_length(p, false);

		if (!n || p[n] != '=' || p[n + 1] != '"')
			return no(e, "label");
		for (p += n + 2; *p != '"'; p++) {
			if (*p == '\n' || !*p)
				return no(e, "label value without end");
			if (*p == '\\' && *++p != '\\' && *p != '"' && *p != 'n')
				return no(e, "escape in a label");
		}
		p++;
		if (*p == '}')
			return *at = p + 1, true;
		if (*p++ != ',')
			return no(e, "labels");
	}
}

static inline bool read_sample(struct exposition *e, const char *end)
{
	const char *at = e->at, *family = e->family_count ? e->families[e->family_count - 1] : "";
	size_t n = name_length(at, true), f = strlen(family);
	char *number_end;

	if (!e->has_type || n < f || strncmp(at, family, f) != 0)
		return no(e, "sample outside its family");
	if (e->is_counter ? n != f + 6 || strncmp(at + f, "_total", 6) != 0 : n != f)
		return no(e, "suffix of a sample");
	at += n;
	if (*at == '{' && !read_labels(e, &at))
		return false;
	if (e->sample_count == SAMPLES_MAX)
		return no(e, "too many samples for this checker");
	char *key = strndup(e->at, (size_t)(at - e->at));

	e->samples[e->sample_count++] = key;
	for (size_t i = 0; i + 1 < e->sample_count; i++)
		if (!strcmp(e->samples[i], key))
			return no(e, "sample twice");
	if (*at++ != ' ' || at == end || !strchr("-0123456789", *at))
		return no(e, "value");
	double value = strtod(at, &number_end);

	if (number_end != end)
		return no(e, "text behind the value");
	return !e->is_counter || value >= 0 || no(e, "negative counter");
}

/* NULL if text is a valid exposition, else what is wrong with it. */
static inline const char *openmetrics_error(const char *text, size_t len)
{
	struct exposition *e = calloc(1, sizeof(*e));
	bool good = is_utf8(text, len) && strlen(text) == len, ended = false;

	if (!good)
		no(e, "not UTF-8");
	for (e->at = text; good && *e->at;) {
		const char *end = strchr(e->at, '\n');

		if (!end || ended) {
			good = no(e, ended ? "text behind # EOF" : "no newline at the end");
		} else if (end - e->at == 5 && !memcmp(e->at, "# EOF", 5)) {
			ended = true;
		} else if (*e->at == '#') {
			good = read_comment(e, end);
		} else {
			good = read_sample(e, end);
		}
		e->at = end ? end + 1 : "";
	}
	if (good && !ended)
		no(e, "no # EOF");
	const char *why = e->why;

	for (size_t i = 0; i < e->sample_count; i++)
		free(e->samples[i]);
	free(e);
	return why;
}

/* True if every line has the same number of tabs. */
static inline bool is_rectangular(const char *text)
{
	size_t first = SIZE_MAX, tabs = 0;

	for (; *text; text++) {
		tabs += *text == '\t';
		if (*text != '\n')
			continue;
		if (first != SIZE_MAX && tabs != first)
			return false;
		first = tabs;
		tabs = 0;
	}
	return !tabs;
}

#endif
