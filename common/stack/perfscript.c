#include "common/stack/perfscript.h"

#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/frame.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct text trimmed(struct text t)
{
	while (t.len && is_blank(t.data[0]))
		t.data++, t.len--;
	while (t.len && (is_blank(t.data[t.len - 1]) || t.data[t.len - 1] == '\r'))
		t.len--;
	return t;
}

static bool is_number(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!is_digit(t.data[i]))
			return false;
	return t.len > 0;
}

/* ---- frames ---- */

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Where the "(" of the last balanced "(...)" is, which must end t; t.len if there is none. */
static size_t last_bracket(struct text t)
{
	size_t depth = 0;

	if (!t.len || t.data[t.len - 1] != ')')
		return t.len;
	for (size_t i = t.len; i-- > 0;) {
		if (t.data[i] == ')')
			depth++;
		else if (t.data[i] == '(' && --depth == 0)
			return i;
	}
	return t.len;
}

bool perfscript_parse_frame(struct text line, struct perfscript_frame *f)
{
	struct text t = trimmed(line);
	size_t digits = 0;
	uint64_t address = 0;

	for (int d; digits < t.len && (d = hex_digit(t.data[digits])) >= 0; digits++)
		address = address << 4 | (uint64_t)d;
	if (!digits || digits > 16 || (digits < t.len && !is_blank(t.data[digits])))
		return false;
	t = trimmed((struct text){ t.data + digits, t.len - digits });
	struct perfscript_frame new = { .address = address };
	const size_t bracket = last_bracket(t);

	/* a symbol's own arguments touch it; the object stands apart */
	if (bracket < t.len && (bracket == 0 || is_blank(t.data[bracket - 1]))) {
		new.object = (struct text){ t.data + bracket + 1, t.len - bracket - 2 };
		t.len = bracket;
		if (text_is(new.object, "inlined")) {
			new.is_inlined = true;
			new.object.len = 0;
		}
	}
	new.symbol = frame_without_offset(trimmed(t));
	*f = new;
	return true;
}

/* ---- the line in front of a stack ---- */

/* "1506.628660:" and where it stands: digits, a point, digits, a colon, blanks around. */
static bool find_time(struct text t, struct text *time)
{
	for (const char *p = t.data; (p = memchr(p, ':', (size_t)(t.data + t.len - p))); p++) {
		const char *end = p, *at = p;

		if (p + 1 < t.data + t.len && !is_blank(p[1]))
			continue;
		while (at > t.data && is_digit(at[-1]))
			at--;
		if (at == end || at == t.data || at[-1] != '.')
			continue;
		const char *point = --at;

		while (at > t.data && is_digit(at[-1]))
			at--;
		if (at == point || (at > t.data && !is_blank(at[-1])))
			continue;
		*time = (struct text){ at, (size_t)(end - at) };
		return true;
	}
	return false;
}

/* The last word of t, taken off it. */
static struct text take_last(struct text *t)
{
	*t = trimmed(*t);
	size_t from = t->len;

	while (from && !is_blank(t->data[from - 1]))
		from--;
	struct text word = { t->data + from, t->len - from };

	t->len = from;
	*t = trimmed(*t);
	return word;
}

static bool is_cpu(struct text word)
{
	return word.len > 2 && word.data[0] == '[' && word.data[word.len - 1] == ']' &&
	       is_number((struct text){ word.data + 1, word.len - 2 });
}

/* perf's "misc" field: letters for the mode of the CPU and the kind of record. */
static bool is_misc(struct text word)
{
	static const char letters[] = "KUHGgMEDSpF";

	for (size_t i = 0; i < word.len; i++)
		if (!memchr(letters, word.data[i], sizeof(letters) - 1))
			return false;
	return word.len > 0 && word.len < 4;
}

/* "1234" or "1234/5678". */
static bool take_ids(struct text word, struct perfscript_header *h)
{
	const char *slash = memchr(word.data, '/', word.len);
	struct text first = { word.data, slash ? (size_t)(slash - word.data) : word.len };

	if (!is_number(first))
		return false;
	h->tid = first;
	if (slash) {
		struct text second = { slash + 1, word.len - first.len - 1 };

		if (!is_number(second))
			return false;
		h->pid = first;
		h->tid = second;
	}
	return true;
}

/*
 * COMM TID [CPU] MISC from the right, as a comm may hold anything. Where nothing stands behind it
 * (no time) a word that is a number may still be the comm's own; then the last number wins.
 */
static void take_task(struct text t, struct perfscript_header *h)
{
	struct text all = trimmed(t), rest = all, word = take_last(&rest);

	if (is_misc(word) && rest.len) {
		struct text before = rest, last = take_last(&before);

		if (is_cpu(last) || take_ids(last, h))
			all = rest, word = last, rest = before;
	}
	if (is_cpu(word)) {
		h->cpu = (struct text){ word.data + 1, word.len - 2 };
		all = rest;
		word = take_last(&rest);
	}
	if (word.len && take_ids(word, h))
		all = rest;
	h->comm = trimmed(all);
}

/* "[PERIOD] EVENT: PAYLOAD"; an event's name may hold colons ("sched:sched_switch", "cycles:ppp")
 * but no blank behind one. */
static void take_event(struct text t, struct perfscript_header *h)
{
	struct scan s = scan_of(trimmed(t));
	struct text word;

	if (text_starts(scan_rest(&s), "PERF_RECORD_")) {
		h->is_task_record = true;
		return;
	}
	struct scan before = s;

	if (scan_word(&s, &word) && is_number(word)) {
		if (!scan_all_u64(word, &h->period))
			h->period = NA_U64;
	} else {
		s = before;
	}
	struct text left = trimmed(scan_rest(&s));
	const char *at = left.data, *end = left.data + left.len;

	while ((at = memchr(at, ':', (size_t)(end - at))) && at + 1 < end && !is_blank(at[1]))
		at++;
	if (!at) {
		h->event = left;
		return;
	}
	h->event = (struct text){ left.data, (size_t)(at - left.data) };
	h->frame = trimmed((struct text){ at + 1, (size_t)(end - at - 1) });
}

/* "comm 123 cycles:": without a time the event's colon ends the line. */
static bool take_without_time(struct text t, struct perfscript_header *h)
{
	struct text rest = t, word = take_last(&rest);

	if (word.len > 1 && word.data[word.len - 1] == ':' && rest.len) {
		h->event = (struct text){ word.data, word.len - 1 };
		struct text before = rest, period = take_last(&before);

		/* "comm 123 1000 cycles:" against "comm 123 cycles:": a number and one before it */
		struct text again = before, tid = take_last(&again);
		struct perfscript_header ids;

		if (is_number(period) && again.len && (take_ids(tid, &ids) || is_cpu(tid))) {
			if (!scan_all_u64(period, &h->period))
				h->period = NA_U64;
			rest = before;
		}
	} else {
		rest = t;
	}
	take_task(rest, h);
	return h->comm.len > 0;
}

bool perfscript_parse_header(struct text line, struct perfscript_header *h)
{
	struct perfscript_header new = { .period = NA_U64, .time = NA_F64 };
	struct text t = trimmed(line), time;

	if (!t.len || t.data[0] == '#')
		return false;
	if (!find_time(t, &time)) {
		if (!take_without_time(t, &new))
			return false;
		*h = new;
		return true;
	}
	new.has_time = scan_all_decimal(time, &new.time);
	take_task((struct text){ t.data, (size_t)(time.data - t.data) }, &new);
	take_event((struct text){ time.data + time.len + 1,
				  (size_t)(t.data + t.len - time.data - time.len - 1) }, &new);
	*h = new;
	return true;
}
