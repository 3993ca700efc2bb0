/* The record itself: writing and parsing its lines. What goes into it is in environment_read.c. */
#include "common/kernel/environment.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/fail.h"
#include "common/base/scan.h"

/* As in the manifests of a save: \t \n \r \\, and \xNN for other control bytes. */
static void add_escaped(struct buf *to, const char *s)
{
	static const char hex[] = "0123456789abcdef";

	for (; *s; s++) {
		const unsigned char c = (unsigned char)*s;
		const char *letter = c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\r' ? "\\r" :
			c == '\\' ? "\\\\" : NULL;

		if (letter) {
			buf_add_text(to, letter);
		} else if (c < ' ' || c == 0x7f) {
			buf_add_text(to, "\\x");
			buf_add_char(to, hex[c >> 4]);
			buf_add_char(to, hex[c & 15]);
		} else {
			buf_add_char(to, *s);
		}
	}
}

void environment_write(const struct environment *e, struct buf *to)
{
	for (size_t i = 0; i < e->count; i++) {
		add_escaped(to, e->items[i].key);
		buf_add_char(to, '\t');
		add_escaped(to, e->items[i].value);
		buf_add_char(to, '\n');
	}
}

static bool take_escape(struct scan *s, char *c)
{
	static const char letters[] = "tnr\\", bytes[] = "\t\n\r\\";
	const char *letter = s->at < s->end && *s->at ? strchr(letters, *s->at) : NULL;
	uint64_t n;

	if (letter) {
		*c = bytes[letter - letters];
		s->at++;
		return true;
	}
	if (!scan_literal(s, "x") || s->end - s->at < 2)
		return false;
	struct scan two = { s->at, s->at + 2 };

	/* a scan passes over blanks before a number */
	if (*s->at <= ' ' || !scan_hex(&two, &n) || two.at != two.end || !n)
		return false;
	s->at += 2;
	*c = (char)n;
	return true;
}

/* NULL if it is garbled: an unknown escape, or a NUL, which no value has. */
static const char *unescape(struct arena *arena, struct text t)
{
	char *copy = arena_alloc(arena, t.len + 1), *to = copy;
	struct scan s = scan_of(t);

	while (s.at < s.end) {
		char c = *s.at++;

		if (!c || (c == '\\' && !take_escape(&s, &c)))
			return NULL;
		*to++ = c;
	}
	return copy;
}

int environment_parse(struct arena *arena, struct text t, struct environment *e)
{
	struct scan lines = scan_of(t);
	struct text line, key;
	size_t room = 0;

	while (scan_line(&lines, &line))
		room++;
	struct environment new = { arena_alloc(arena, room * sizeof(*new.items)), 0 };

	lines = scan_of(t);
	for (unsigned number = 1; lines.at < lines.end; number++) {
		if (!scan_until(&lines, '\n', &line))
			return fail(EINVAL, "environment line %u: cut off", number);
		struct scan s = scan_of(line);

		if (!scan_until(&s, '\t', &key) || !key.len)
			return fail(EINVAL, "environment line %u: no key", number);
		struct environment_item *item = &new.items[new.count++];

		item->key = unescape(arena, key);
		item->value = unescape(arena, scan_rest(&s));
		if (!item->key || !item->value)
			return fail(EINVAL, "environment line %u: garbled", number);
	}
	*e = new;
	return 0;
}
