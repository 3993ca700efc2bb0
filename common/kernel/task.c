#include "common/kernel/task.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"

/*
 * These are parsed ten thousand times per look, so stat and schedstat are walked once, by hand. A
 * number counts only with the blank or newline behind it: without one it may be cut.
 */
static bool is_field_end(const char *p, const char *end)
{
	return p < end && (*p == ' ' || *p == '\n');
}

/* The number at *at; NA_U64, and *at behind the field all the same, if it is none. */
static uint64_t take_u64(const char **at, const char *end)
{
	const char *p = *at;
	uint64_t n = 0;
	bool is_good = p < end && scan_is_digit(*p);

	for (; p < end && scan_is_digit(*p); p++) {
		/* below this no digit can carry it past the largest value */
		if (n >= UINT64_MAX / 10 &&
		    (n > UINT64_MAX / 10 || (uint64_t)(*p - '0') > UINT64_MAX % 10))
			is_good = false;
		n = n * 10 + (uint64_t)(*p - '0');
	}
	is_good = is_good && is_field_end(p, end);
	while (p < end && *p != ' ' && *p != '\n')
		p++;
	*at = p < end && *p == ' ' ? p + 1 : p;
	return is_good ? n : NA_U64;
}

static int64_t take_i64(const char **at, const char *end)
{
	const char *p = *at;
	bool is_negative = p < end && *p == '-';

	*at = p + is_negative;
	uint64_t n = take_u64(at, end);

	if (n > INT64_MAX)
		return NA_I64;
	return is_negative ? -(int64_t)n : (int64_t)n;
}

static void skip_fields(const char **at, const char *end, unsigned n)
{
	const char *p = *at;

	while (n-- && p < end) {
		while (p < end && *p != ' ' && *p != '\n')
			p++;
		if (p == end || *p == '\n')
			break;
		p++;
	}
	*at = p;
}

/* "PID (COMM) S ...": comm is raw and may hold ") R 1 " or a newline; the last ) ends it. */
static bool split_comm(struct text t, struct text *comm, const char **behind)
{
	const char *end = t.data + t.len, *open = t.data;

	while (open < end && scan_is_digit(*open))
		open++;
	if (open == t.data || end - open < 2 || open[0] != ' ' || open[1] != '(')
		return false;
	open += 2;
	const char *close = memrchr(open, ')', (size_t)(end - open));

	if (!close || end - close < 4 || close[1] != ' ' || close[3] != ' ')
		return false;
	*comm = (struct text){ open, (size_t)(close - open) };
	*behind = close + 2;
	return true;
}

int task_parse_stat(struct text t, struct task_stat *stat)
{
	const char *end = t.data + t.len, *at;
	struct task_stat s;

	if (!split_comm(t, &s.comm, &at))
		return fail(EINVAL, "stat: not \"PID (NAME) STATE\"");
	s.state = *at;
	if ((s.state < 'A' || s.state > 'Z') && (s.state < 'a' || s.state > 'z'))
		return fail(EINVAL, "stat: no state");
	at += 2;
	s.ppid = take_u64(&at, end);           /* field 4 */
	skip_fields(&at, end, 4);
	s.flags = take_u64(&at, end);          /* 9 */
	skip_fields(&at, end, 2);
	s.major_faults = take_u64(&at, end);   /* 12 */
	skip_fields(&at, end, 1);
	s.utime_ticks = take_u64(&at, end);    /* 14 */
	s.stime_ticks = take_u64(&at, end);
	skip_fields(&at, end, 3);
	s.nice = take_i64(&at, end);           /* 19 */
	s.threads = take_u64(&at, end);
	skip_fields(&at, end, 1);
	s.start_ticks = take_u64(&at, end);    /* 22 */
	skip_fields(&at, end, 16);
	s.cpu = take_u64(&at, end);            /* 39 */
	s.rt_priority = take_u64(&at, end);
	s.policy = take_u64(&at, end);
	*stat = s;
	return 0;
}

int task_parse_schedstat(struct text t, struct task_schedstat *s)
{
	const char *end = t.data + t.len, *at = t.data;
	struct task_schedstat new;

	new.run_ns = take_u64(&at, end);
	new.wait_ns = take_u64(&at, end);
	new.runs = take_u64(&at, end);
	if (new.run_ns == NA_U64 || new.wait_ns == NA_U64 || new.runs == NA_U64)
		return fail(EINVAL, "schedstat: not three numbers and a newline");
	*s = new;
	return 0;
}

/* What follows KEY, blanks passed over. */
static bool line_has(struct text line, const char *key, struct text *value)
{
	if (!text_starts(line, key))
		return false;
	size_t n = strlen(key);
	struct scan s = { line.data + n, line.data + line.len };

	scan_blanks(&s);
	*value = scan_rest(&s);
	return true;
}

static uint64_t whole_number(struct text t)
{
	uint64_t n;

	return scan_all_u64(t, &n) ? n : NA_U64;
}

static uint64_t effective_uid(struct text value)
{
	struct scan s = scan_of(value);
	uint64_t real, effective;

	return scan_u64(&s, &real) && scan_u64(&s, &effective) ? effective : NA_U64;
}

/* One line; the first letter rules out most of the sixty. */
static bool take_status_line(struct text line, struct task_status *s)
{
	struct text value;

	switch (line.len ? line.data[0] : '\0') {
	case 'T':
		if (!line_has(line, "Tgid:", &value))
			return false;
		s->tgid = whole_number(value);
		return true;
	case 'U':
		if (!line_has(line, "Uid:", &value))
			return false;
		s->uid = effective_uid(value);
		return true;
	case 'N':
		return line_has(line, "NSpid:", &s->nspid);
	case 'C':
		return line_has(line, "Cpus_allowed_list:", &s->cpus_allowed);
	case 'v':
		if (!line_has(line, "voluntary_ctxt_switches:", &value))
			return false;
		s->voluntary = whole_number(value);
		return true;
	case 'n':
		if (!line_has(line, "nonvoluntary_ctxt_switches:", &value))
			return false;
		s->involuntary = whole_number(value);
		return true;
	}
	return false;
}

int task_parse_status(struct text t, struct task_status *s)
{
	struct task_status new = {
		.tgid = NA_U64, .voluntary = NA_U64, .involuntary = NA_U64, .uid = NA_U64,
		.cpus_allowed = { "", 0 }, .nspid = { "", 0 },
	};
	struct scan rest = scan_of(t);
	struct text line;
	unsigned known = 0;

	/* scan_until, not scan_line: a line without its newline may be cut */
	while (scan_until(&rest, '\n', &line))
		known += take_status_line(line, &new);
	if (!known)
		return fail(EINVAL, "status: no known line");
	*s = new;
	return 0;
}

static bool list_holds(struct text list, const char *word)
{
	size_t n = strlen(word);
	const char *p = list.data, *end = list.data + list.len;

	for (;;) {
		const char *comma = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
		const char *stop = comma ? comma : end;

		if ((size_t)(stop - p) == n && !memcmp(p, word, n))
			return true;
		if (!comma)
			return false;
		p = comma + 1;
	}
}

bool task_parse_cgroup(struct text t, const char *controller, struct text *path)
{
	struct scan lines = scan_of(t);
	struct text line;

	while (scan_line(&lines, &line)) {
		struct scan s = scan_of(line);
		struct text id, list;

		/* the path is all that follows, colons too; a name can't hold a newline */
		if (!scan_until(&s, ':', &id) || !scan_until(&s, ':', &list))
			continue;
		if (s.at == s.end || *s.at != '/')
			continue;
		if (*controller ? list_holds(list, controller) : !list.len && text_is(id, "0")) {
			*path = scan_rest(&s);
			return true;
		}
	}
	return false;
}
