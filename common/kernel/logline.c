#include "common/kernel/logline.h"

#include "common/base/scan.h"
#include "common/kernel/kmsg.h"

#define NS_PER_SEC 1000000000ull
#define DAY_NS (86400 * NS_PER_SEC)
#define FACILITY_SHIFT 3
#define PRIORITY_MAX 0xffff
#define YEAR_MIN 1970
#define YEAR_MAX 2500
#define SYSLOG_LENGTH 15               /* "Nov 30 12:00:00" */
#define DATE_LENGTH 24                 /* "Mon Nov 30 12:00:00 2026" */
#define ISO_LENGTH 19                  /* "2026-11-30T12:00:00" */
#define YEARS_BACK 8                   /* the 29th of February may be as far as that */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t left(const struct scan *s)
{
	return (size_t)(s->end - s->at);
}

/* ---- priority and facility ---- */

static bool take_priority(struct scan *s, struct logline *l)
{
	struct scan copy = *s;
	uint64_t priority;

	if (!scan_literal(&copy, "<") || !scan_u64(&copy, &priority) || priority > PRIORITY_MAX ||
	    !scan_literal(&copy, ">"))
		return false;
	l->priority = (uint32_t)priority;
	l->is_kernel = !(priority >> FACILITY_SHIFT);
	l->has_prefix = true;
	*s = copy;
	return true;
}

static bool is_facility(struct text t)
{
	static const char *const names[] = {
		"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron",
		"authpriv", "ftp", "local0", "local1", "local2", "local3", "local4", "local5",
		"local6", "local7",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (text_is(t, names[i]))
			return true;
	return false;
}

/* "kern  :warn  : " */
static void take_facility(struct scan *s, struct logline *l)
{
	struct scan copy = *s;
	struct text facility, level;

	if (left(s) < 12 || !is_letter(*s->at) || !memchr(s->at, ':', 12))
		return;
	scan_until(&copy, ':', &facility);
	while (facility.len && facility.data[facility.len - 1] == ' ')
		facility.len--;
	if (!is_facility(facility) || !scan_until(&copy, ':', &level) || level.len > 8)
		return;
	scan_literal(&copy, " ");
	l->is_kernel = text_is(facility, "kern");
	l->has_prefix = true;
	*s = copy;
}

/* ---- stamps: where they end; what they say is asked of few lines only ---- */

static bool looks_syslog(const char *p, size_t len)
{
	return len > SYSLOG_LENGTH && is_letter(p[0]) && p[3] == ' ' && scan_is_digit(p[5]) &&
	       p[6] == ' ' && scan_is_digit(p[7]) && p[9] == ':' && p[12] == ':' &&
	       scan_is_digit(p[14]);
}

static bool looks_date(const char *p, size_t len)
{
	return len > DATE_LENGTH && p[3] == ' ' && p[19] == ' ' && looks_syslog(p + 4, len - 4);
}

static bool looks_iso(const char *p, size_t len)
{
	return len > ISO_LENGTH && scan_is_digit(p[0]) && p[4] == '-' && p[7] == '-' &&
	       (p[10] == 'T' || p[10] == ' ') && p[13] == ':' && p[16] == ':' &&
	       scan_is_digit(p[18]);
}

static void take_digits(struct scan *s)
{
	while (s->at < s->end && scan_is_digit(*s->at))
		s->at++;
}

/* "+01:00", "+0100", "Z" */
static void take_zone(struct scan *s)
{
	if (scan_literal(s, "Z") || s->at == s->end || (*s->at != '+' && *s->at != '-'))
		return;
	s->at++;
	take_digits(s);
	if (scan_literal(s, ":"))
		take_digits(s);
}

static void end_stamp(struct scan *s, const char *start, struct logline *l,
		      enum logline_stamp stamp)
{
	l->stamp = stamp;
	l->stamp_text = (struct text){ start, (size_t)(s->at - start) };
	l->has_prefix = true;
	scan_literal(s, " ");
}

/* A date that stands free. Sets has_source if a host or program follows. */
static bool take_stamp(struct scan *s, struct logline *l, bool *has_source)
{
	const char *start = s->at;
	const size_t n = left(s);

	if (looks_syslog(start, n)) {
		s->at += SYSLOG_LENGTH;
		if (scan_literal(s, "."))
			take_digits(s);
		*has_source = true;
		end_stamp(s, start, l, STAMP_SYSLOG);
	} else if (looks_iso(start, n)) {
		s->at += ISO_LENGTH;
		*has_source = *s->at != ',';   /* dmesg's own */
		if (scan_literal(s, ".") || scan_literal(s, ","))
			take_digits(s);
		take_zone(s);
		end_stamp(s, start, l, STAMP_ISO);
	} else if (looks_date(start, n)) {
		s->at += DATE_LENGTH;
		*has_source = true;
		end_stamp(s, start, l, STAMP_DATE);
	} else {
		return false;
	}
	return true;
}

/* "12.345678": seconds, and as many digits of their fraction as somebody left. */
static bool take_seconds(struct scan *s, uint64_t *ns)
{
	uint64_t seconds, fraction = 0, unit = NS_PER_SEC;

	if (!scan_u64(s, &seconds) || !scan_literal(s, "."))
		return false;
	for (; s->at < s->end && scan_is_digit(*s->at); s->at++) {
		unit /= 10;
		fraction += (uint64_t)(*s->at - '0') * unit;
	}
	*ns = seconds < UINT64_MAX / NS_PER_SEC ? seconds * NS_PER_SEC + fraction : NA_U64;
	return true;
}

/* "[   12.345678]" or "[Mon Nov 30 12:00:00 2026]", with the blank behind it. */
static bool take_bracket(struct scan *s, struct logline *l)
{
	struct scan copy = *s;
	uint64_t ns;

	if (!scan_literal(&copy, "["))
		return false;
	if (take_seconds(&copy, &ns) && scan_literal(&copy, "]")) {
		l->boot_ns = ns;
	} else {
		copy.at = s->at + 1;
		if (!looks_date(copy.at, left(&copy)) || copy.at[DATE_LENGTH] != ']')
			return false;
		l->stamp = STAMP_DATE;
		l->stamp_text = (struct text){ copy.at, DATE_LENGTH };
		copy.at += DATE_LENGTH + 1;
	}
	l->has_prefix = true;
	*s = copy;
	return true;
}

/* "[    T9]" or "[    C1]", right behind the time or a blank away: CONFIG_PRINTK_CALLER. */
static void take_caller(struct scan *s, struct logline *l)
{
	struct scan copy = *s;

	scan_literal(&copy, " ");
	if (!scan_literal(&copy, "["))
		return;
	scan_blanks(&copy);
	const char *start = copy.at;

	if (!scan_literal(&copy, "T") && !scan_literal(&copy, "C"))
		return;
	take_digits(&copy);
	if (copy.at - start < 2 || !scan_literal(&copy, "]"))
		return;
	l->caller = (struct text){ start, (size_t)(copy.at - 1 - start) };
	*s = copy;
}

/* ---- who ---- */

static bool is_tag(struct text word)
{
	return word.len > 1 && word.data[word.len - 1] == ':';
}

static void set_program(struct logline *l, struct text tag)
{
	l->program = tag;
	l->is_kernel = l->is_kernel && text_is(tag, "kernel");
}

/* "host kernel: ", "kernel: ", "host kern.info kernel: " */
static void take_source(struct scan *s, struct logline *l)
{
	struct scan copy = *s;
	struct text word, facility;

	for (int i = 0; i < 3 && scan_word(&copy, &word); i++) {
		struct scan w = scan_of(word);

		if (is_tag(word)) {
			set_program(l, (struct text){ word.data, word.len - 1 });
			scan_literal(&copy, " ");
			*s = copy;
			return;
		}
		if (scan_until(&w, '.', &facility) && is_facility(facility) &&
		    !text_is(facility, "kern"))
			l->is_kernel = false;
	}
	l->is_kernel = false;                  /* nobody says so */
}

/* "host kernel: " behind a time since boot; what the kernel itself says never looks like that. */
static void take_monotonic_source(struct scan *s, struct logline *l)
{
	struct scan copy = *s;
	struct text host, tag;

	if (left(s) < 4 || !scan_word(&copy, &host) || is_tag(host) || !scan_literal(&copy, " ") ||
	    copy.at == copy.end || (*copy.at != 'k' && *copy.at != 's') || !scan_word(&copy, &tag))
		return;
	if (!text_is(tag, "kernel:") && !(text_starts(tag, "systemd-oomd[") && is_tag(tag)))
		return;
	set_program(l, (struct text){ tag.data, tag.len - 1 });
	scan_literal(&copy, " ");
	*s = copy;
}

/* "1 STAMP HOST APP PROCID MSGID SD MSG" behind "<PRI>". */
static bool take_rfc5424(struct scan *s, struct logline *l)
{
	struct scan copy = *s;
	struct text app, more;
	bool has_source;

	if (!scan_literal(&copy, "1 ") || !looks_iso(copy.at, left(&copy)) ||
	    !take_stamp(&copy, l, &has_source) || !scan_skip_words(&copy, 1) ||
	    !scan_word(&copy, &app) || !scan_skip_words(&copy, 2))
		return false;
	set_program(l, app);
	scan_blanks(&copy);
	if (copy.at < copy.end && *copy.at == '[') {
		if (!scan_until(&copy, ']', &more))
			return false;
	} else {
		scan_literal(&copy, "-");
	}
	scan_literal(&copy, " ");
	*s = copy;
	return true;
}

static bool split_raw(struct text line, struct logline *l)
{
	struct kmsg_header h;

	if (!kmsg_parse_header(line, &h))
		return false;
	const char *caller = memmem(h.more.data, h.more.len, ",caller=", strlen(",caller="));

	l->priority = h.priority;
	l->is_kernel = !(h.priority >> FACILITY_SHIFT);
	l->sequence = h.sequence;
	l->boot_ns = h.boot_ns;
	l->has_prefix = l->is_escaped = true;
	l->text = h.text;
	if (caller) {
		struct scan s = { caller + strlen(",caller="), h.more.data + h.more.len };

		if (!scan_until(&s, ',', &l->caller))
			l->caller = scan_rest(&s);
	}
	return true;
}

void logline_split(struct text line, struct logline *l)
{
	/* a serial console's lines end with a carriage return as well */
	while (line.len && line.data[line.len - 1] == '\r')
		line.len--;
	struct scan s = scan_of(line);
	bool has_source = false;

	*l = (struct logline){ .boot_ns = NA_U64, .sequence = NA_U64, .is_kernel = true,
			       .priority = LOGLINE_PRIORITY_UNKNOWN };
	if (line.len && scan_is_digit(*line.data) && split_raw(line, l))
		return;
	const bool has_priority = take_priority(&s, l);

	if (has_priority && take_rfc5424(&s, l)) {
		has_source = true;
	} else {
		take_facility(&s, l);
		if (take_stamp(&s, l, &has_source) && has_source)
			take_source(&s, l);
	}
	if (take_bracket(&s, l)) {
		take_caller(&s, l);
		scan_literal(&s, " ");
		if (!has_source)
			take_monotonic_source(&s, l);
	}
	l->is_escaped = !has_source && !l->program.len;
	l->text = scan_rest(&s);
}

/* ---- dates ---- */

static bool is_leap(unsigned year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days since 1970-01-01, Gregorian. No timegm: it reads the host's time zone file, and every read
 * goes through the source. */
static uint64_t days_before(unsigned year)
{
	const unsigned y = year - 1;

	return y * 365ull + y / 4 - y / 100 + y / 400 - 719162;
}

/* NA_U64 for a date that is none. */
static uint64_t date_ns(unsigned year, unsigned month, unsigned day, const unsigned clock[3])
{
	static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	uint64_t since;

	if (year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 || day < 1 ||
	    day > days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u) || clock[0] > 23 ||
	    clock[1] > 59 || clock[2] > 60)
		return NA_U64;
	since = days_before(year) + day - 1 + (month > 2 && is_leap(year));
	for (unsigned i = 0; i + 1 < month; i++)
		since += days[i];
	return (since * 86400 + clock[0] * 3600 + clock[1] * 60 + clock[2]) * NS_PER_SEC;
}

static bool take_number(struct scan *s, unsigned max, unsigned *n)
{
	uint64_t value;

	if (!scan_u64(s, &value) || value > max)
		return false;
	*n = (unsigned)value;
	return true;
}

static bool take_clock(struct scan *s, unsigned clock[3])
{
	return take_number(s, 99, &clock[0]) && scan_literal(s, ":") &&
	       take_number(s, 99, &clock[1]) && scan_literal(s, ":") &&
	       take_number(s, 99, &clock[2]);
}

static uint64_t take_fraction(struct scan *s)
{
	uint64_t ns = 0, unit = NS_PER_SEC;

	if (scan_literal(s, ".") || scan_literal(s, ","))
		for (; s->at < s->end && scan_is_digit(*s->at); s->at++) {
			unit /= 10;
			ns += (uint64_t)(*s->at - '0') * unit;
		}
	return ns;
}

static unsigned month_of(struct scan *s)
{
	static const char *const names[] = { "Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ",
					     "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec " };

	for (unsigned i = 0; i < 12; i++)
		if (scan_literal(s, names[i]))
			return i + 1;
	return 0;
}

static uint64_t shifted(uint64_t ns, int64_t by_s)
{
	const uint64_t by_ns = (uint64_t)(by_s < 0 ? -by_s : by_s) * NS_PER_SEC;

	if (ns == NA_U64 || (by_s > 0 && by_ns > ns))
		return NA_U64;
	return by_s > 0 ? ns - by_ns : ns + by_ns;
}

static unsigned year_of(uint64_t ns)
{
	const uint64_t day = ns / DAY_NS;
	unsigned year = YEAR_MIN + (unsigned)(day / 366);

	while (days_before(year + 1) <= day)
		year++;
	return year;
}

/* "Nov 30 12:00:00.5", or with the year behind it */
static uint64_t syslog_ns(struct scan *s, bool has_year, uint64_t now_ns, int64_t utc_offset_s)
{
	const unsigned month = month_of(s);
	unsigned day, clock[3], year;

	if (!take_number(s, 31, &day) || !take_clock(s, clock))
		return NA_U64;
	if (has_year) {
		uint64_t ns = take_number(s, YEAR_MAX, &year) ? date_ns(year, month, day, clock) :
								NA_U64;

		return shifted(ns, utc_offset_s);
	}
	if (now_ns > UINT64_MAX - DAY_NS)
		return NA_U64;
	const uint64_t fraction = take_fraction(s), latest = now_ns + DAY_NS;
	const unsigned newest = year_of(latest);

	for (year = newest; year + YEARS_BACK > newest; year--) {
		const uint64_t ns = shifted(date_ns(year, month, day, clock), utc_offset_s);

		if (ns != NA_U64 && ns <= latest)
			return ns + fraction;
	}
	return NA_U64;
}

/* What the zone is ahead of UTC; false: nothing there, or no zone. */
static bool take_offset(struct scan *s, int64_t *offset_s)
{
	const bool is_behind = s->at < s->end && *s->at == '-';
	uint64_t n;
	unsigned minutes = 0;

	if (scan_literal(s, "Z")) {
		*offset_s = 0;
		return true;
	}
	if ((!scan_literal(s, "+") && !scan_literal(s, "-")) || !scan_u64(s, &n) || n > 2400)
		return false;
	if (scan_literal(s, ":") && !take_number(s, 59, &minutes))
		return false;
	if (n > 24) {
		minutes = (unsigned)(n % 100);
		n /= 100;
	}
	*offset_s = (int64_t)(n * 3600 + minutes * 60) * (is_behind ? -1 : 1);
	return true;
}

static uint64_t iso_ns(struct scan *s, int64_t utc_offset_s)
{
	unsigned year, month, day, clock[3];

	if (!take_number(s, YEAR_MAX, &year) || !scan_literal(s, "-") ||
	    !take_number(s, 12, &month) || !scan_literal(s, "-") || !take_number(s, 31, &day) ||
	    (!scan_literal(s, "T") && !scan_literal(s, " ")) || !take_clock(s, clock))
		return NA_U64;
	const uint64_t fraction = take_fraction(s), ns = date_ns(year, month, day, clock);

	take_offset(s, &utc_offset_s);
	return ns == NA_U64 ? NA_U64 : shifted(ns + fraction, utc_offset_s);
}

uint64_t logline_realtime(const struct logline *l, uint64_t now_ns, int64_t utc_offset_s)
{
	if (!l->stamp_text.len)
		return NA_U64;
	struct scan s = scan_of(l->stamp_text);

	switch (l->stamp) {
	case STAMP_SYSLOG:
		return syslog_ns(&s, false, now_ns, utc_offset_s);
	case STAMP_DATE:
		s.at += strlen("Mon ");
		return syslog_ns(&s, true, now_ns, utc_offset_s);
	case STAMP_ISO:
		return iso_ns(&s, utc_offset_s);
	case STAMP_NONE:
		break;
	}
	return NA_U64;
}
