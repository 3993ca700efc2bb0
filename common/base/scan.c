#include "common/base/scan.h"

#include <errno.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool scan_line(struct scan *s, struct text *line)
{
	if (s->at >= s->end)
		return false;
	const char *stop = memchr(s->at, '\n', (size_t)(s->end - s->at));

	*line = (struct text){ s->at, (size_t)((stop ? stop : s->end) - s->at) };
	s->at = stop ? stop + 1 : s->end;
	return true;
}

void scan_blanks(struct scan *s)
{
	while (s->at < s->end && is_blank(*s->at))
		s->at++;
}

bool scan_word(struct scan *s, struct text *word)
{
	const char *p = s->at;

	while (p < s->end && is_blank(*p))
		p++;
	const char *start = p;

	while (p < s->end && !is_blank(*p) && *p != '\n')
		p++;
	if (p == start)
		return false;
	*word = (struct text){ start, (size_t)(p - start) };
	s->at = p;
	return true;
}

bool scan_skip_words(struct scan *s, unsigned n)
{
	struct scan copy = *s;
	struct text word;

	while (n--)
		if (!scan_word(&copy, &word))
			return false;
	*s = copy;
	return true;
}

bool scan_until(struct scan *s, char stop, struct text *out)
{
	const char *p = s->at < s->end ? memchr(s->at, stop, (size_t)(s->end - s->at)) : NULL;

	if (!p)
		return false;
	*out = (struct text){ s->at, (size_t)(p - s->at) };
	s->at = p + 1;
	return true;
}

bool scan_u64(struct scan *s, uint64_t *value)
{
	const char *p = s->at;
	uint64_t n = 0;

	while (p < s->end && is_blank(*p))
		p++;
	if (p == s->end || !scan_is_digit(*p))
		return false;
	for (; p < s->end && scan_is_digit(*p); p++)
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return false;
	*value = n;
	s->at = p;
	return true;
}

bool scan_i64(struct scan *s, int64_t *value)
{
	struct scan copy = *s;
	uint64_t n;

	scan_blanks(&copy);
	bool negative = copy.at < copy.end && *copy.at == '-';

	if (negative)
		copy.at++;
	if (copy.at == copy.end || !scan_is_digit(*copy.at) || !scan_u64(&copy, &n))
		return false;
	if (n > (uint64_t)INT64_MAX + negative)
		return false;
	*value = negative ? (int64_t)(0 - n) : (int64_t)n;
	*s = copy;
	return true;
}

bool scan_hex(struct scan *s, uint64_t *value)
{
	const char *p = s->at;
	uint64_t n = 0;

	while (p < s->end && is_blank(*p))
		p++;
	const char *start = p;

	for (; p < s->end && scan_hex_digit(*p) >= 0; p++) {
		if (n >> 60)
			return false;
		n = n << 4 | (uint64_t)scan_hex_digit(*p);
	}
	if (p == start)
		return false;
	*value = n;
	s->at = p;
	return true;
}

bool scan_decimal(struct scan *s, double *value)
{
	struct scan copy = *s;
	uint64_t whole;
	uint64_t fraction = 0, scale = 1;

	if (!scan_u64(&copy, &whole))
		return false;
	if (copy.at + 1 < copy.end && *copy.at == '.' && scan_is_digit(copy.at[1]))
		for (copy.at++; copy.at < copy.end && scan_is_digit(*copy.at); copy.at++) {
			/* digits past what a double holds change nothing */
			if (scale > UINT64_MAX / 100)
				continue;
			scale *= 10;
			fraction = fraction * 10 + (uint64_t)(*copy.at - '0');
		}
	*value = (double)whole + (double)fraction / (double)scale;
	*s = copy;
	return true;
}

bool scan_literal(struct scan *s, const char *literal)
{
	size_t n = strlen(literal);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, literal, n) != 0)
		return false;
	s->at += n;
	return true;
}

struct text scan_rest(const struct scan *s)
{
	return (struct text){ s->at, (size_t)(s->end - s->at) };
}

bool scan_find_key(struct text lines, const char *key, struct text *value)
{
	size_t n = strlen(key);
	struct scan s = scan_of(lines);
	struct text line;

	while (scan_line(&s, &line)) {
		if (line.len < n || memcmp(line.data, key, n) != 0)
			continue;
		struct scan rest = { line.data + n, line.data + line.len };

		if (rest.at < rest.end && *rest.at == ':')
			rest.at++;
		else if (rest.at < rest.end && !is_blank(*rest.at))
			continue;
		scan_blanks(&rest);
		while (rest.end > rest.at && is_blank(rest.end[-1]))
			rest.end--;
		*value = scan_rest(&rest);
		return true;
	}
	return false;
}

bool scan_key_u64(struct text lines, const char *key, uint64_t *value)
{
	struct text t;

	if (!scan_find_key(lines, key, &t))
		return false;
	struct scan s = scan_of(t);

	return scan_u64(&s, value);
}

bool scan_all_u64(struct text t, uint64_t *value)
{
	struct scan s = scan_of(t);
	uint64_t n;

	if (!t.len || !scan_is_digit(t.data[0]) || !scan_u64(&s, &n) || s.at != s.end)
		return false;
	*value = n;
	return true;
}

bool scan_all_decimal(struct text t, double *value)
{
	struct scan s = scan_of(t);
	double n;

	if (!t.len || !scan_is_digit(t.data[0]) || !scan_decimal(&s, &n) || s.at != s.end)
		return false;
	*value = n;
	return true;
}

int scan_cpu_list(struct text t, unsigned limit, void (*each)(unsigned cpu, void *arg), void *arg)
{
	struct scan s = scan_of(t);
	int count = 0;

	while (s.end > s.at && (s.end[-1] == '\n' || is_blank(s.end[-1])))
		s.end--;
	while (s.at < s.end) {
		uint64_t first, last;

		if (!scan_u64(&s, &first))
			return -EINVAL;
		last = first;
		if (scan_literal(&s, "-") && !scan_u64(&s, &last))
			return -EINVAL;
		if (last < first || last >= limit)
			return -EINVAL;
		for (uint64_t cpu = first; cpu <= last; cpu++, count++)
			if (each)
				each((unsigned)cpu, arg);
		if (s.at < s.end && (!scan_literal(&s, ",") || s.at == s.end))
			return -EINVAL;
	}
	return count;
}
