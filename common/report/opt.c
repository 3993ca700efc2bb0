/* Parsing the command line by tables, and printing those tables as help. */
#include "common/report/opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/report/escape.h"
#include "common/report/wrap.h"

#define LIST_MAX 65536         /* items of one -p */
#define NAME_MAX_COMPARED 48   /* of a word that is compared with names */
#define NAMES_MAX 256          /* long names that are looked at for the closest */
#define HELP_COLUMN 28

static bool is_end(const struct opt *opt)
{
	return !opt || (!opt->letter && !opt->name);
}

/* What the user typed, safe to print: two may be in one message. */
static const char *quoted(const char *word, size_t len)
{
	static struct buf texts[2];
	static unsigned turn;
	struct buf *b = &texts[turn++ % 2];

	buf_reset(b);
	escape_people(b, (struct text){ word, len < 80 ? len : 80 });
	if (len > 80)
		buf_add_text(b, "...");
	return b->data ? b->data : "";
}

static const char *quoted_text(const char *word)
{
	return quoted(word, strlen(word));
}

/* Numbers. */

static uint64_t number_suffix(char c)
{
	switch (c) {
	case 'k':
	case 'K':
		return UINT64_C(1) << 10;
	case 'M':
		return UINT64_C(1) << 20;
	case 'G':
		return UINT64_C(1) << 30;
	default:
		return 0;
	}
}

/* The whole digits at the start; false if they overflow. Moves past them either way. */
static bool take_digits(const char **at, uint64_t *value)
{
	bool fits = true;
	uint64_t n = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++)
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(**at - '0'), &n))
			fits = false;
	*value = n;
	return fits;
}

static int not_a_number(const char *what, const char *text)
{
	if (text[0] == '-' && text[1] >= '0' && text[1] <= '9')
		return fail(EINVAL, "%s: '%s' is negative", what, quoted_text(text));
	return fail(EINVAL, "%s: '%s' is not a number", what, quoted_text(text));
}

static int too_large(const char *what, const char *text)
{
	return fail(EINVAL, "%s: '%s' is too large", what, quoted_text(text));
}

int opt_number(const char *what, const char *text, uint64_t *value)
{
	const char *at = text;
	uint64_t n;
	bool fits = take_digits(&at, &n);

	if (at == text)
		return not_a_number(what, text);
	if (*at == '.' && at[1] >= '0' && at[1] <= '9' && !at[1 + strspn(at + 1, "0123456789")])
		return fail(EINVAL, "%s: '%s' is not a whole number", what, quoted_text(text));
	uint64_t scale = *at ? number_suffix(*at) : 1;

	if (!scale || (*at && at[1]))
		return not_a_number(what, text);
	/* the largest is kept for "unknown" */
	if (!fits || __builtin_mul_overflow(n, scale, &n) || n == UINT64_MAX)
		return too_large(what, text);
	*value = n;
	return 0;
}

static uint64_t duration_suffix(const char *suffix)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} known[] = {
		{ "", 1000000000 }, { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 },
		{ "m", UINT64_C(60000000000) }, { "h", UINT64_C(3600000000000) },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(suffix, known[i].suffix))
			return known[i].ns;
	return 0;
}

static int not_a_duration(const char *what, const char *text)
{
	if (text[0] >= '0' && text[0] <= '9')
		return fail(EINVAL, "%s: '%s' is not a time: seconds, or with ms us s m h behind",
			    what, quoted_text(text));
	return not_a_number(what, text);
}

int opt_duration(const char *what, const char *text, uint64_t *ns)
{
	const char *at = text;
	uint64_t whole, fraction = 0, fraction_scale = 1, total;
	bool fits = take_digits(&at, &whole), has_digits = at != text;

	if (*at == '.') {
		for (at++; *at >= '0' && *at <= '9'; at++) {
			has_digits = true;
			/* what a 12th digit adds to an hour is below a nanosecond's worth */
			if (fraction_scale == UINT64_C(100000000000))
				continue;
			fraction = fraction * 10 + (uint64_t)(*at - '0');
			fraction_scale *= 10;
		}
	}
	if (!has_digits)
		return not_a_number(what, text);
	uint64_t scale = duration_suffix(at);

	if (!scale)
		return not_a_duration(what, text);
	unsigned __int128 part = (unsigned __int128)fraction * scale / fraction_scale;

	if (!fits || __builtin_mul_overflow(whole, scale, &total) ||
	    __builtin_add_overflow(total, (uint64_t)part, &total) || total == UINT64_MAX)
		return too_large(what, text);
	*ns = total;
	return 0;
}

/* Closest name. */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edits (insert, drop, change, swap neighbours) from a to b. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][NAME_MAX_COMPARED + 1];
	size_t *two_ago = rows[0], *last = rows[1], *now = rows[2];
	size_t n = strlen(a), m = strlen(b);

	if (n > NAME_MAX_COMPARED || m > NAME_MAX_COMPARED)
		return SIZE_MAX;
	for (size_t k = 0; k <= m; k++)
		last[k] = two_ago[k] = k;
	for (size_t i = 1; i <= n; i++) {
		now[0] = i;
		for (size_t k = 1; k <= m; k++) {
			bool same = lower(a[i - 1]) == lower(b[k - 1]);

			now[k] = least(least(last[k], now[k - 1]) + 1, last[k - 1] + !same);
			if (i > 1 && k > 1 && lower(a[i - 1]) == lower(b[k - 2]) &&
			    lower(a[i - 2]) == lower(b[k - 1]))
				now[k] = least(now[k], two_ago[k - 2] + 1);
		}
		size_t *free_row = two_ago;

		two_ago = last;
		last = now;
		now = free_row;
	}
	return last[m];
}

static size_t common_start(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* A slip of the finger seldom hits the first letter; a word cut short is often meant as one. */
const char *opt_closest(const char *word, const char *const *names)
{
	size_t len = strlen(word), allowed = len <= 2 ? 1 : len <= 6 ? 2 : 3, best = SIZE_MAX;
	const char *closest = NULL, *begun = NULL;

	for (; *names; names++) {
		size_t edits = distance(word, *names);

		if (edits != SIZE_MAX && edits + (lower(*word) != lower(**names)) < best) {
			best = edits + (lower(*word) != lower(**names));
			closest = *names;
		}
		if (!begun && len >= 2 && common_start(word, *names) >= (len > 3 ? len - 1 : len))
			begun = *names;
	}
	if (best > 1 && begun)
		return begun;
	return best == 0 || (best <= allowed && best < len) ? closest : NULL;
}

/* Parsing. */

struct parse {
	const struct opt *tables[2];
	int argc, at;          /* at: the argument being read */
	char **argv;
};

static const struct opt *find(const struct parse *p, char letter, struct text name)
{
	for (size_t t = 0; t < 2; t++)
		for (const struct opt *o = p->tables[t]; !is_end(o); o++)
			if (letter ? o->letter == letter : o->name && text_is(name, o->name))
				return o;
	return NULL;
}

static const char *closest_long(const struct parse *p, struct text name)
{
	const char *names[NAMES_MAX + 1];
	char word[NAME_MAX_COMPARED + 1];
	size_t count = 0;

	if (name.len > NAME_MAX_COMPARED)
		return NULL;
	memcpy(word, name.data, name.len);
	word[name.len] = '\0';
	for (size_t t = 0; t < 2; t++)
		for (const struct opt *o = p->tables[t]; !is_end(o) && count < NAMES_MAX; o++)
			if (o->name && !o->hidden)
				names[count++] = o->name;
	names[count] = NULL;
	return opt_closest(word, names);
}

static int unknown_long(const struct parse *p, struct text name)
{
	const char *closest = closest_long(p, name), *shown = quoted(name.data, name.len);

	if (!closest)
		return fail(EINVAL, "unknown option '--%s'", shown);
	return fail(EINVAL, "unknown option '--%s': did you mean '--%s'?", shown, closest);
}

/* -json for --json is a habit from other tools; -1 may have been meant as an operand. */
static int unknown_letter(const struct parse *p, const char *word, const char *at)
{
	struct text name = text_of(word + 1);
	size_t equals = strcspn(word + 1, "=");

	name.len = least(name.len, equals);
	if (name.len >= 2 && find(p, 0, name))
		return fail(EINVAL, "unknown option '%s': did you mean '--%.*s'?",
			    quoted_text(word), (int)name.len, name.data);
	if (word[1] >= '0' && word[1] <= '9')
		return fail(EINVAL, "unknown option '%s': no number here can be negative",
			    quoted_text(word));
	uint32_t code;
	size_t n = utf8_decode(at, strlen(at), &code);
	const char *shown = quoted(at, n ? n : 1);

	if (at == word + 1 && !at[n ? n : 1])
		return fail(EINVAL, "unknown option '-%s'", shown);
	return fail(EINVAL, "unknown option '-%s' in '%s'", shown, quoted_text(word));
}

static int add_number(struct opt_numbers *list, const char *what, struct text item)
{
	uint64_t value;

	if (!scan_all_u64(item, &value) || value == UINT64_MAX) {
		struct scan digits = scan_of(item);

		while (digits.at < digits.end && *digits.at >= '0' && *digits.at <= '9')
			digits.at++;
		return fail(EINVAL, item.len && digits.at == digits.end ? "%s: '%s' is too large" :
			    "%s: '%s' is not a number", what, quoted(item.data, item.len));
	}
	if (list->count == LIST_MAX)
		return fail(EINVAL, "%s: more than %d numbers", what, LIST_MAX);
	list->items = mem_grow(list->items, &list->cap, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = value;
	return 0;
}

static int add_numbers(struct opt_numbers *list, const char *what, const char *text)
{
	for (;;) {
		size_t n = strcspn(text, ",");
		int err = add_number(list, what, (struct text){ text, n });

		if (err || !text[n])
			return err;
		text += n + 1;
	}
}

/* Whether value is one of "a|b|c"; if not, says which there are. */
static int check_one_of(const struct opt *o, const char *what, const char *value)
{
	const char *names[NAMES_MAX + 1];
	size_t count = 0;
	int err = 0;
	char *copy = mem_strdup(o->one_of);

	for (char *at = copy; at && count < NAMES_MAX;) {
		char *bar = strchr(at, '|');

		if (bar)
			*bar++ = '\0';
		names[count++] = at;
		at = bar;
	}
	names[count] = NULL;
	bool found = false;

	for (size_t i = 0; i < count; i++)
		found = found || !strcmp(value, names[i]);
	const char *closest = found ? NULL : opt_closest(value, names);

	if (closest)
		err = fail(EINVAL, "%s: '%s' is none of %s: did you mean '%s'?", what,
			   quoted_text(value), o->one_of, closest);
	else if (!found)
		err = fail(EINVAL, "%s: '%s' is none of %s", what, quoted_text(value), o->one_of);
	free(copy);
	return err;
}

static int set_text(const struct opt *o, const char *what, const char *text)
{
	if (o->one_of) {
		int err = check_one_of(o, what, text);

		if (err)
			return err;
	}
	if (o->kind == OPT_TEXT) {
		*(const char **)o->value = text;
		return 0;
	}
	struct opt_texts *list = o->value;

	if (list->count == LIST_MAX)
		return fail(EINVAL, "%s: given more than %d times", what, LIST_MAX);
	list->items = mem_grow(list->items, &list->cap, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = text;
	return 0;
}

static int set_value(const struct opt *o, const char *what, const char *text)
{
	switch (o->kind) {
	case OPT_TEXT:
	case OPT_TEXTS:
		return set_text(o, what, text);
	case OPT_NUMBER:
		return opt_number(what, text, o->value);
	case OPT_DURATION:
		return opt_duration(what, text, o->value);
	case OPT_NUMBERS:
		return add_numbers(o->value, what, text);
	case OPT_FLAG:
	case OPT_NOTHING:
		break;
	}
	return 0;
}

static bool takes_value(const struct opt *o)
{
	return o->kind != OPT_FLAG && !(o->kind == OPT_NOTHING && !o->arg);
}

static void set_flag(const struct opt *o)
{
	if (o->kind == OPT_FLAG)
		*(bool *)o->value = true;
}

/* The value behind the option, or the next argument. */
static int take_value(struct parse *p, const struct opt *o, const char *what, const char *attached)
{
	if (attached)
		return set_value(o, what, attached);
	if (p->at + 1 >= p->argc)
		return fail(EINVAL, "%s needs a value (%s)", what,
			    o->arg ? o->arg : o->one_of ? o->one_of : "VALUE");
	return set_value(o, what, p->argv[++p->at]);
}

static int parse_long(struct parse *p, const char *word)
{
	size_t n = strcspn(word + 2, "=");
	const char *value = word[2 + n] ? word + 2 + n + 1 : NULL;
	const struct opt *o = find(p, 0, (struct text){ word + 2, n });
	char what[NAME_MAX_COMPARED + 3];

	if (!o)
		return unknown_long(p, (struct text){ word + 2, n });
	snprintf(what, sizeof(what), "--%s", o->name);
	if (takes_value(o))
		return take_value(p, o, what, value);
	if (value)
		return fail(EINVAL, "%s takes no value", what);
	set_flag(o);
	return 0;
}

static int parse_letters(struct parse *p, const char *word)
{
	for (const char *at = word + 1; *at; at++) {
		const struct opt *o = find(p, *at, TEXT(""));
		char what[] = { '-', *at, '\0' };

		if (!o)
			return unknown_letter(p, word, at);
		if (takes_value(o))
			return take_value(p, o, what, at[1] ? at + 1 : NULL);
		set_flag(o);
	}
	return 0;
}

int opt_parse(int argc, char **argv, const struct opt *own, const struct opt *shared)
{
	struct parse p = { { own, shared }, argc, 1, argv };
	int operands = 0, err = 0;
	bool options_ended = false;

	for (; p.at < argc && !err; p.at++) {
		char *word = argv[p.at];

		if (options_ended || word[0] != '-' || !word[1])
			argv[1 + operands++] = word;
		else if (!strcmp(word, "--"))
			options_ended = true;
		else
			err = word[1] == '-' ? parse_long(&p, word) : parse_letters(&p, word);
	}
	if (err)
		return err;
	if (1 + operands < argc)
		argv[1 + operands] = NULL;
	return operands;
}

/* Help. */

static void add_names(struct buf *to, const struct opt *o)
{
	if (o->letter)
		buf_printf(to, "-%c%s", o->letter, o->name ? ", " : "");
	else
		buf_add_text(to, "    ");
	if (o->name)
		buf_printf(to, "--%s", o->name);
	if (takes_value(o))
		buf_printf(to, " %s", o->arg ? o->arg : o->one_of ? o->one_of : "VALUE");
}

void opt_help(struct buf *to, const struct opt *table, size_t width)
{
	for (const struct opt *o = table; !is_end(o); o++) {
		size_t start = to->len;

		if (o->hidden)
			continue;
		buf_add_text(to, "  ");
		add_names(to, o);
		size_t used = to->len - start;

		if (used + 2 > HELP_COLUMN) {
			buf_add_char(to, '\n');
			used = 0;
		}
		buf_printf(to, "%*s", (int)(HELP_COLUMN - used), "");
		wrap_words(to, o->help ? o->help : "", HELP_COLUMN, width);
	}
}
