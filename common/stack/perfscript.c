#include "common/stack/perfscript.h"

#include <string.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/frame.h"
#include "common/stack/stacktext_impl.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* ---- frames ---- */

static int hex_digit(char c)
{
	if (scan_is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "(.isra.0)", as some demanglers write it; no path: that is "(./x)". */
static bool is_clone(struct text t)
{
	return t.len > 2 && t.data[1] == '.' && t.data[2] >= 'a' && t.data[2] <= 'z';
}

bool perfscript_parse_frame(struct text line, struct perfscript_frame *f)
{
	struct text t = stack_trimmed(line);
	size_t digits = 0;
	uint64_t address = 0;

	for (int d; digits < t.len && (d = hex_digit(t.data[digits])) >= 0; digits++)
		address = address << 4 | (uint64_t)d;
	if (!digits || digits > 16 || (digits < t.len && !is_blank(t.data[digits])))
		return false;
	t = stack_trimmed((struct text){ t.data + digits, t.len - digits });
	struct perfscript_frame new = { .address = address, .object = { "", 0 } };
	const size_t bracket = stack_last_bracket(t);

	/* a symbol's own arguments touch it, "(.part.0)" belongs to it; the object stands apart */
	if (bracket < t.len && (bracket == 0 || is_blank(t.data[bracket - 1])) &&
	    !is_clone((struct text){ t.data + bracket, t.len - bracket })) {
		new.object = (struct text){ t.data + bracket + 1, t.len - bracket - 2 };
		t.len = bracket;
		if (text_is(new.object, "inlined")) {
			new.is_inlined = true;
			new.object.len = 0;
		}
	}
	new.symbol = frame_without_offset(stack_trimmed(t));
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
		while (at > t.data && scan_is_digit(at[-1]))
			at--;
		if (at == end || at == t.data || at[-1] != '.')
			continue;
		const char *point = --at;

		while (at > t.data && scan_is_digit(at[-1]))
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
	*t = stack_trimmed(*t);
	size_t from = t->len;

	while (from && !is_blank(t->data[from - 1]))
		from--;
	struct text word = { t->data + from, t->len - from };

	t->len = from;
	*t = stack_trimmed(*t);
	return word;
}

static bool is_cpu(struct text word)
{
	return word.len > 2 && word.data[0] == '[' && word.data[word.len - 1] == ']' &&
	       stack_is_number((struct text){ word.data + 1, word.len - 2 });
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

	if (!stack_is_number(first))
		return false;
	h->tid = first;
	if (slash) {
		struct text second = { slash + 1, word.len - first.len - 1 };

		if (!stack_is_number(second))
			return false;
		h->pid = first;
		h->tid = second;
	}
	return true;
}

/* How wide the last word of t is, with the blanks in front of it; rest: t without both. */
static size_t last_width(struct text t, struct text rest)
{
	return (size_t)(t.data + t.len - (rest.data + rest.len));
}

/*
 * COMM TID [CPU] MISC from the right, as a comm may hold anything. Where neither a time nor a CPU
 * stands behind it (is_bare) there may be no tid, and the number is the comm's own: a tid is
 * printed five wide, a blank in front.
 */
static void take_task(struct text t, bool is_bare, struct perfscript_header *h)
{
	struct text all = stack_trimmed(t), rest = all, word = take_last(&rest);

	if (is_misc(word) && rest.len) {
		struct text before = rest, last = take_last(&before);

		if (is_cpu(last) || take_ids(last, h))
			all = rest, word = last, rest = before;
	}
	if (is_cpu(word)) {
		h->cpu = (struct text){ word.data + 1, word.len - 2 };
		all = rest;
		word = take_last(&rest);
		is_bare = false;
	}
	if (is_bare && rest.len && last_width(all, rest) < 6)
		word.len = 0;
	if (word.len && take_ids(word, h))
		all = rest;
	h->comm = stack_trimmed(all);
}

/* What stands behind the event: a cgroup's path, a frame, a tracepoint's text. */
static void take_payload(struct text t, struct perfscript_header *h)
{
	t = stack_trimmed(t);
	if (t.len && t.data[0] == '/')
		h->cgroup = stack_take_word(&t);
	h->frame = t;
}

/* "EVENT: PAYLOAD"; an event's name may hold colons ("sched:sched_switch", "cycles:ppp") but no
 * blank behind one. */
static void take_event(struct text t, struct perfscript_header *h)
{
	const char *at = t.data, *end = t.data + t.len;

	while ((at = memchr(at, ':', (size_t)(end - at))) && at + 1 < end && !is_blank(at[1]))
		at++;
	h->event = at ? (struct text){ t.data, (size_t)(at - t.data) } : t;
	if (at)
		take_payload((struct text){ at + 1, (size_t)(end - at - 1) }, h);
}

/* "PERF_RECORD_LOST lost 12" says more than that it is no sample. */
static void take_record(struct text t, struct perfscript_header *h)
{
	struct text before, rest;
	struct scan s;

	h->is_task_record = true;
	if (!text_starts(t, "PERF_RECORD_LOST") || !stack_split(t, " lost ", &before, &rest))
		return;
	s = scan_of(rest);
	if (!scan_u64(&s, &h->lost))
		h->lost = 0;
}

/* "[PERIOD] EVENT: PAYLOAD" */
static void take_behind_time(struct text t, struct perfscript_header *h)
{
	struct text rest = t;

	if (text_starts(t, "PERF_RECORD_")) {
		take_record(t, h);
		return;
	}
	const struct text word = stack_take_word(&rest);

	if (stack_is_number(word) && scan_all_u64(word, &h->period))
		t = rest;
	else
		h->period = NA_U64;
	take_event(t, h);
}

/*
 * Is the last number of "COMM TID PERIOD" a period? That is printed ten wide, a blank in front;
 * a tid's field is five wide.
 */
static bool take_period(struct text *t, struct perfscript_header *h)
{
	*t = stack_trimmed(*t);
	struct text rest = *t, word = take_last(&rest);

	if (!stack_is_number(word) || last_width(*t, rest) < 11 || !rest.len)
		return false;
	if (!scan_all_u64(word, &h->period)) {
		h->period = NA_U64;
		return false;
	}
	*t = rest;
	return true;
}

static bool is_frame(struct text t)
{
	struct perfscript_frame f;

	return perfscript_parse_frame(t, &f) && f.symbol.len;
}

/* Where the event of a line without time ends: a word's colon with a frame or nothing behind it. */
static bool find_event(struct text t, struct text *before, struct text *event, struct text *behind)
{
	for (size_t i = t.len; i-- > 1;) {
		if (t.data[i] != ':' || is_blank(t.data[i - 1]))
			continue;
		*behind = stack_trimmed((struct text){ t.data + i + 1, t.len - i - 1 });
		if (behind->len && (!is_blank(t.data[i + 1]) || !is_frame(*behind)))
			continue;
		*before = (struct text){ t.data, i };
		*event = take_last(before);
		return true;
	}
	return false;
}

/* "comm 123 [001] 1000 cycles:", any of it */
static bool take_without_time(struct text t, struct perfscript_header *h)
{
	struct text before, behind;

	if (t.len > PERFSCRIPT_BARE_MAX)
		return false;
	if (stack_split(t, " PERF_RECORD_", &before, &behind)) {
		t.data += before.len + 1, t.len -= before.len + 1;
		take_record(t, h);
		return true;
	}
	if (find_event(t, &before, &h->event, &behind)) {
		take_payload(behind, h);
		t = before;
	}
	take_period(&t, h);
	take_task(t, true, h);
	return h->comm.len || h->tid.len || h->cpu.len || h->event.len;
}

struct perfscript_header perfscript_nothing(void)
{
	const struct text none = { "", 0 };

	return (struct perfscript_header){ .comm = none, .pid = none, .tid = none, .cpu = none,
					   .event = none, .cgroup = none, .frame = none,
					   .period = NA_U64, .time = NA_F64 };
}

bool perfscript_parse_header(struct text line, struct perfscript_header *h)
{
	struct perfscript_header new = perfscript_nothing();
	struct text t = stack_trimmed(line), time;

	if (!t.len || t.data[0] == '#')
		return false;
	if (!find_time(t, &time)) {
		if (!take_without_time(t, &new))
			return false;
		*h = new;
		return true;
	}
	new.has_time = scan_all_decimal(time, &new.time);
	take_task((struct text){ t.data, (size_t)(time.data - t.data) }, false,
		  &new);
	take_behind_time(stack_trimmed((struct text){ time.data + time.len + 1,
				 (size_t)(t.data + t.len - time.data - time.len - 1) }), &new);
	*h = new;
	return true;
}
