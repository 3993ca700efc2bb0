/* The lines of a saved frame's manifest: words between tabs, escaped, so that any name survives. */
#include "common/kernel/source_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/scan.h"

#define ERRNO_MAX 4095                 /* MAX_ERRNO, include/linux/err.h */
#define ERRNO_NAMED_MAX 256            /* the C library knows names up to about 133 */

static const char *const op_names[SRC_OPS] = { "read", "list", "link", "value", "any" };

const char *src_op_name(enum src_op op)
{
	return op_names[op];
}

/* ---- words ---- */

void src_add_word(struct buf *line, const char *s)
{
	static const char hex[] = "0123456789abcdef";

	buf_add_char(line, '\t');
	for (const char *plain = s;; s++) {
		const unsigned char c = (unsigned char)*s;

		if (c >= ' ' && c < 0x7f && c != '\\')
			continue;
		buf_add(line, plain, (size_t)(s - plain));
		if (!c)
			return;
		plain = s + 1;
		const char *letter = strchr("t\tn\nr\r\\\\", c);

		if (letter)
			buf_add(line, (char[]){ '\\', c == '\\' ? '\\' : letter[-1] }, 2);
		else
			buf_add(line, (char[]){ '\\', 'x', hex[c >> 4], hex[c & 15] }, 4);
	}
}

/* What stands behind a backslash, as one byte; moves past it. False: nothing we write. */
static bool unescape_one(struct scan *s, char *c)
{
	static const char pairs[] = "t\tn\nr\r\\\\";
	uint64_t value;

	if (s->at >= s->end)
		return false;
	for (const char *p = pairs; *p; p += 2)
		if (*s->at == *p) {
			*c = p[1];
			s->at++;
			return true;
		}
	if (*s->at != 'x' || s->end - s->at < 3 || s->at[1] == ' ' || s->at[1] == '\t')
		return false;
	struct scan digits = { s->at + 1, s->at + 3 };

	if (!scan_hex(&digits, &value) || digits.at != digits.end || !value)
		return false;
	*c = (char)value;
	s->at += 3;
	return true;
}

bool src_unescape(struct text word, struct arena *arena, const char **s)
{
	char *copy = arena_alloc(arena, word.len + 1), *to = copy;

	for (struct scan from = scan_of(word); from.at < from.end;) {
		char c = *from.at++;

		if (!c || (c == '\\' && !unescape_one(&from, &c)))
			return false;
		*to++ = c;
	}
	*s = copy;
	return true;
}

void src_add_errno(struct buf *line, int err)
{
	const char *name = err ? strerrorname_np(err) : "0";

	if (name)
		buf_printf(line, "\t%s", name);
	else
		buf_printf(line, "\t%d", err);
}

/* Names, because numbers differ between architectures. */
bool src_parse_errno(const char *word, int *err)
{
	uint64_t number;

	if (scan_all_u64(text_of(word), &number)) {
		if (number > ERRNO_MAX)
			return false;
		*err = (int)number;
		return true;
	}
	for (int e = 1; e < ERRNO_NAMED_MAX; e++) {
		const char *name = strerrorname_np(e);

		if (name && !strcmp(name, word)) {
			*err = e;
			return true;
		}
	}
	return false;
}

/* ---- lines ---- */

struct line {
	struct scan words;             /* what is left of it */
	bool is_over;
	struct arena *arena;
};

/* The next word, unescaped. An empty word is one, too: "value NAME " holds an empty text. */
static bool next_word(struct line *l, const char **word)
{
	struct text raw;

	if (l->is_over)
		return false;
	if (!scan_until(&l->words, '\t', &raw)) {
		raw = scan_rest(&l->words);
		l->is_over = true;
	}
	return src_unescape(raw, l->arena, word);
}

static bool next_path(struct line *l, const char **path)
{
	if (!next_word(l, path))
		return false;
	while (**path == '/')
		++*path;
	return **path != '\0';
}

static bool next_number(struct line *l, uint64_t *value)
{
	const char *word;

	return next_word(l, &word) && scan_all_u64(text_of(word), value);
}

static bool is_name(const char *s)
{
	return *s && strcmp(s, ".") != 0 && strcmp(s, "..") != 0 && !strchr(s, '/');
}

static const char *parse_clock(struct line *l, struct src_manifest *m)
{
	uint64_t realtime, monotonic;

	if (!next_number(l, &realtime) || !next_number(l, &monotonic))
		return "clock needs two numbers";
	m->realtime_ns = realtime;
	m->monotonic_ns = monotonic;
	return NULL;
}

static const char *parse_error(struct line *l, struct src_manifest *m)
{
	const char *path, *name, *op_name;
	enum src_op op = SRC_ANY;
	int err;

	if (!next_path(l, &path))
		return "error needs a path";
	if (!next_word(l, &name) || !src_parse_errno(name, &err) || !err)
		return "error needs the name of an errno";
	if (next_word(l, &op_name)) {
		for (op = 0; op < SRC_ANY && strcmp(op_names[op], op_name) != 0;)
			op++;
		if (op == SRC_ANY)
			return "no such kind of error";
	}
	int *copy = arena_alloc(l->arena, sizeof(*copy));

	*copy = err;
	*hash_name(&m->errors[op], path) = copy;
	return NULL;
}

static const char *parse_dir(struct line *l, struct src_manifest *m)
{
	const char *path, *name;

	if (!next_path(l, &path))
		return "dir needs a path";
	struct src_names *names = arena_alloc(l->arena, sizeof(*names));
	size_t most = 0;

	for (const char *p = l->words.at; !l->is_over && p <= l->words.end; p++)
		most += p == l->words.end || *p == '\t';
	names->items = arena_alloc(l->arena, most * sizeof(*names->items));
	while (!l->is_over) {
		if (!next_word(l, &name) || !is_name(name))
			return "no name for a file";
		names->items[names->count++] = name;
	}
	*hash_name(&m->dirs, path) = names;
	return NULL;
}

static const char *parse_link(struct line *l, struct src_manifest *m)
{
	const char *path, *target;

	if (!next_path(l, &path) || !next_word(l, &target))
		return "link needs a path and a target";
	*hash_name(&m->links, path) = (void *)(uintptr_t)target;
	return NULL;
}

static const char *parse_exists(struct line *l, struct src_manifest *m)
{
	const char *path;

	if (!next_path(l, &path))
		return "exists needs a path";
	*hash_name(&m->exists, path) = (void *)(uintptr_t)path;
	return NULL;
}

static const char *parse_value(struct line *l, struct src_manifest *m)
{
	struct src_value_line *v = arena_alloc(l->arena, sizeof(*v));

	if (!next_word(l, &v->name) || !next_word(l, &v->text))
		return "value needs a name and a text";
	v->next = m->first_value;
	m->first_value = v;
	*hash_name(&m->values, v->name) = v;
	return NULL;
}

static const char *parse_call(struct line *l, struct src_manifest *m)
{
	struct src_call_line *c = arena_alloc(l->arena, sizeof(*c));
	const char *key, *name;

	/* counted whatever comes: the replies of those behind it are found by number */
	c->number = m->call_count++;
	if (!next_word(l, &key) || !next_word(l, &name) || !src_parse_errno(name, &c->err))
		return "call needs a key and 0 or the name of an errno";
	*hash_name(&m->calls, key) = c;
	return NULL;
}

static const struct kind {
	const char *name;
	const char *(*parse)(struct line *l, struct src_manifest *m);  /* NULL, or what is wrong */
} kinds[] = {
	{ "clock", parse_clock }, { "error", parse_error }, { "dir", parse_dir },
	{ "link", parse_link }, { "exists", parse_exists }, { "value", parse_value },
	{ "call", parse_call },
};

static const struct kind *find_kind(struct text line)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (text_starts(line, kinds[i].name) && line.len > strlen(kinds[i].name) &&
		    line.data[strlen(kinds[i].name)] == '\t')
			return &kinds[i];
	return NULL;
}

bool src_is_frame_manifest(struct text content)
{
	struct scan s = scan_of(content);
	struct text line;

	return scan_line(&s, &line) && find_kind(line);
}

static const char *parse_line(struct text text, struct arena *arena, struct src_manifest *m)
{
	if (!text.len || text.data[0] == '#')
		return NULL;
	const struct kind *kind = find_kind(text);

	if (!kind)
		return "not understood";
	const size_t skip = strlen(kind->name) + 1;
	struct line l = {
		.words = { text.data + skip, text.data + text.len },
		.arena = arena,
	};
	const char *why = kind->parse(&l, m);

	return !why && !l.is_over ? "too many words" : why;
}

void src_parse_manifest(struct text content, struct arena *arena, struct src_manifest *m)
{
	struct scan s = scan_of(content);
	struct text text;

	for (unsigned number = 1; scan_line(&s, &text); number++) {
		/* no newline: the disk was full, and a number may have lost its last digits */
		const bool is_cut = s.at == s.end && s.end[-1] != '\n';
		const char *why = is_cut ? "cut short" : parse_line(text, arena, m);

		if (why && !m->garbled++) {
			m->garbled_line = number;
			m->garbled_why = why;
		}
	}
}

void src_manifest_free(struct src_manifest *m)
{
	for (int op = 0; op < SRC_OPS; op++)
		hash_free(&m->errors[op]);
	hash_free(&m->dirs);
	hash_free(&m->links);
	hash_free(&m->exists);
	hash_free(&m->values);
	hash_free(&m->calls);
	*m = (struct src_manifest){ 0 };
}
