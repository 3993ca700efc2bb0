#include "common/stack/json.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/base/scan.h"

struct json json_of(struct text t)
{
	return (struct json){ t.data, t.data + t.len, false };
}

static void pass_blanks(struct json *j)
{
	while (j->at < j->end &&
	       (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
		j->at++;
}

char json_peek(struct json *j)
{
	pass_blanks(j);
	return j->is_broken || j->at == j->end ? 0 : *j->at;
}

static bool refuse(struct json *j)
{
	j->is_broken = true;
	return false;
}

bool json_enter(struct json *j, char open)
{
	if (json_peek(j) != open)
		return false;
	j->at++;
	return true;
}

bool json_next(struct json *j, char close)
{
	const char c = json_peek(j);

	if (c == close) {
		j->at++;
		return false;
	}
	if (!c)
		return refuse(j);
	if (c == ',') {
		j->at++;
		if (json_peek(j) == close)
			return refuse(j);
	}
	return !j->is_broken;
}

bool json_string(struct json *j, struct text *raw)
{
	if (json_peek(j) != '"')
		return false;
	const char *from = j->at + 1;

	for (const char *p = from; p < j->end; p++) {
		if (*p == '\\') {
			p++;
		} else if (*p == '"') {
			*raw = (struct text){ from, (size_t)(p - from) };
			j->at = p + 1;
			return true;
		}
	}
	return refuse(j);
}

bool json_key(struct json *j, struct text *key)
{
	if (!json_string(j, key) || json_peek(j) != ':')
		return refuse(j);
	j->at++;
	return true;
}

bool json_number(struct json *j, double *value)
{
	const char c = json_peek(j);
	const bool is_negative = c == '-';
	uint64_t digits;
	double number;

	if (!is_negative && !(c >= '0' && c <= '9'))
		return false;
	struct scan s = { j->at + is_negative, j->end };

	if (!scan_decimal(&s, &number)) {
		/* more digits than 64 bits hold: their number is enough */
		for (number = 0; s.at < s.end && *s.at >= '0' && *s.at <= '9'; s.at++)
			number = number * 10 + (*s.at - '0');
	}
	if (s.at < s.end && (*s.at == 'e' || *s.at == 'E')) {
		s.at++;
		const bool is_small = scan_literal(&s, "-");

		scan_literal(&s, "+");
		if (!scan_u64(&s, &digits))
			return refuse(j);
		number *= pow(10, is_small ? -(double)digits : (double)digits);
	}
	j->at = s.at;
	*value = is_negative ? -number : number;
	return true;
}

bool json_index(struct json *j, size_t limit, size_t *index)
{
	double value;

	if (!json_number(j, &value) || !(value >= 0) || value >= (double)limit)
		return refuse(j);
	*index = (size_t)value;
	return true;
}

void json_skip(struct json *j)
{
	struct text ignored;
	size_t depth = 0;

	do {
		const char c = json_peek(j);

		if (!c) {
			refuse(j);
			return;
		}
		if (c == '"') {
			if (!json_string(j, &ignored))
				return;
			continue;
		}
		if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (!depth) {
				refuse(j);
				return;
			}
			depth--;
		} else if (c != ',' && c != ':') {
			while (j->at + 1 < j->end && !memchr(" \t\r\n,:]}[{\"", j->at[1], 11))
				j->at++;
		}
		j->at++;
	} while (depth);
}

static bool take_hex(struct scan *s, uint32_t *unit)
{
	struct scan four = { s->at, s->end - s->at > 4 ? s->at + 4 : s->end };
	uint64_t value;

	if (s->end - s->at < 4 || s->at[0] == ' ' || s->at[0] == '\t' || !scan_hex(&four, &value) ||
	    four.at != s->at + 4)
		return false;
	s->at += 4;
	*unit = (uint32_t)value;
	return true;
}

static void add_utf8(struct buf *to, uint32_t c)
{
	if (c < 0x80) {
		buf_add_char(to, (char)c);
		return;
	}
	if (c < 0x800) {
		buf_add_char(to, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			buf_add_char(to, (char)(0xe0 | c >> 12));
		} else {
			buf_add_char(to, (char)(0xf0 | c >> 18));
			buf_add_char(to, (char)(0x80 | (c >> 12 & 63)));
		}
		buf_add_char(to, (char)(0x80 | (c >> 6 & 63)));
	}
	buf_add_char(to, (char)(0x80 | (c & 63)));
}

/* "uXXXX", or two of them for what is beyond 16 bits. */
static void unescape_unicode(struct buf *to, struct scan *s)
{
	uint32_t c, low;

	if (!take_hex(s, &c)) {
		add_utf8(to, 0xfffd);
		return;
	}
	struct scan next = *s;

	if (c >= 0xd800 && c < 0xdc00 && scan_literal(&next, "\\u") && take_hex(&next, &low) &&
	    low >= 0xdc00 && low < 0xe000) {
		*s = next;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xd800 && c < 0xe000) {
		c = 0xfffd;
	}
	add_utf8(to, c);
}

void json_unescape(struct buf *to, struct text raw)
{
	static const char from[] = "bfnrt", into[] = "\b\f\n\r\t";
	struct scan s = scan_of(raw);

	while (s.at < s.end) {
		const char *slash = memchr(s.at, '\\', (size_t)(s.end - s.at));
		const char *stop = slash ? slash : s.end;

		buf_add(to, s.at, (size_t)(stop - s.at));
		if (!slash || slash + 1 == s.end)
			return;
		s.at = slash + 2;
		const char *known = memchr(from, slash[1], sizeof(from) - 1);

		if (slash[1] == 'u')
			unescape_unicode(to, &s);
		else
			buf_add_char(to, known ? into[known - from] : slash[1]);
	}
}
