/* Numbers as people read them. */
#include <stdio.h>
#include <string.h>

#include "common/report/out_impl.h"

#define DAY 86400.0

/* To the nearest whole number, for what is not negative; without libm. */
static double whole(double value)
{
	return value < 9e15 ? (double)(uint64_t)(value + 0.5) : value;
}

/* As printed with `decimals`: that 9.96 reads 10.0 must be known before a unit is chosen. */
static double rounded(double value, int decimals)
{
	double scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;

	return whole(value * scale) / scale;
}

/* Two significant digits up to 9.9, whole numbers above. */
static void put_short(char to[HUMAN_MAX], double value, const char *unit)
{
	if (rounded(value, 1) < 10)
		snprintf(to, HUMAN_MAX, "%.1f%s", value, unit);
	else
		snprintf(to, HUMAN_MAX, "%.0f%s", whole(value), unit);
}

/* Writes the sign and returns the magnitude; the caller writes behind it. */
static double take_sign(char to[HUMAN_MAX], double value, size_t *at)
{
	*at = 0;
	if (value >= 0)
		return value;
	to[(*at)++] = '-';
	return -value;
}

static bool put_unknown(char to[HUMAN_MAX], double value)
{
	if (isfinite(value))
		return false;
	memcpy(to, "-", 2);
	return true;
}

static void put_bytes(char to[HUMAN_MAX], double value)
{
	static const char *const units[] = { "", "K", "M", "G", "T", "P", "E" };
	unsigned unit = 0;

	while (unit < 6 && whole(value) >= 1024) {
		value /= 1024;
		unit++;
	}
	if (!unit)
		snprintf(to, HUMAN_MAX, "%.0f", whole(value));
	else if (value < 1e15)
		put_short(to, value, units[unit]);
	else
		snprintf(to, HUMAN_MAX, "%.3gE", value);
}

static void put_long_time(char to[HUMAN_MAX], double seconds)
{
	uint64_t s = seconds < 1e17 ? (uint64_t)whole(seconds) : UINT64_C(100000000000000000);
	uint64_t days = s / 86400, hours = s / 3600 % 24, minutes = s / 60 % 60;

	if (s < 3600)
		snprintf(to, HUMAN_MAX, "%um%02us", (unsigned)minutes, (unsigned)(s % 60));
	else if (!days)
		snprintf(to, HUMAN_MAX, "%uh%02um", (unsigned)hours, (unsigned)minutes);
	else if (days < 10)
		snprintf(to, HUMAN_MAX, "%ud%02uh", (unsigned)days, (unsigned)hours);
	else
		snprintf(to, HUMAN_MAX, "%llud", (unsigned long long)days);
}

static void put_ns(char to[HUMAN_MAX], double ns)
{
	if (whole(ns) == 0)
		memcpy(to, "0", 2);
	else if (whole(ns) < 1000)
		snprintf(to, HUMAN_MAX, "%.0fns", whole(ns));
	else if (whole(ns / 1e3) < 1000)
		put_short(to, ns / 1e3, "us");
	else if (whole(ns / 1e6) < 1000)
		put_short(to, ns / 1e6, "ms");
	else if (rounded(ns / 1e9, 2) < 10)
		snprintf(to, HUMAN_MAX, "%.2fs", ns / 1e9);
	else if (rounded(ns / 1e9, 1) < 60)
		snprintf(to, HUMAN_MAX, "%.1fs", ns / 1e9);
	else
		put_long_time(to, ns / 1e9);
}

static void put_grouped(char to[HUMAN_MAX], double value)
{
	char digits[HUMAN_MAX];

	if (value >= 1e18) {
		snprintf(to, HUMAN_MAX, "%.4g", value);
		return;
	}
	int n = snprintf(digits, sizeof(digits), "%.0f", value);
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = '\0';
}

/* Whole numbers as they are; of others two or three significant digits. */
static void put_count(char to[HUMAN_MAX], double n)
{
	if (n == whole(n) || n >= 99.95)
		put_grouped(to, whole(n));
	else if (rounded(n, 2) >= 10)
		snprintf(to, HUMAN_MAX, "%.1f", n);
	else if (n >= 0.005)
		snprintf(to, HUMAN_MAX, "%.2f", n);
	else
		snprintf(to, HUMAN_MAX, "<0.01");
}

static void put_rate(char to[HUMAN_MAX], double per_second)
{
	if (rounded(per_second, 1) >= 10)
		put_grouped(to, whole(per_second));
	else if (per_second == whole(per_second))
		snprintf(to, HUMAN_MAX, "%.0f", per_second);
	else if (rounded(per_second, 2) >= 0.1)
		snprintf(to, HUMAN_MAX, "%.1f", per_second);
	else if (per_second >= 0.005)
		snprintf(to, HUMAN_MAX, "%.2f", per_second);
	else
		snprintf(to, HUMAN_MAX, "<0.01");
}

static void put_percent(char to[HUMAN_MAX], double percent)
{
	if (rounded(percent, 1) >= 10)
		snprintf(to, HUMAN_MAX, "%.0f", whole(percent));
	else if (percent > 0 && percent < 0.05)
		snprintf(to, HUMAN_MAX, "<0.1");
	else if (percent == whole(percent))
		snprintf(to, HUMAN_MAX, "%.0f", percent);
	else
		snprintf(to, HUMAN_MAX, "%.1f", percent);
}

static const char *with_unit(struct arena *a, void (*put)(char *, double), double value,
			     const char *unit)
{
	char text[HUMAN_MAX];
	size_t at;

	if (put_unknown(text, value))
		return arena_strdup(a, text);
	double magnitude = take_sign(text, value, &at);
	char body[HUMAN_MAX];

	put(body, magnitude);
	return arena_printf(a, "%.*s%s%s", (int)at, text, body, unit);
}

const char *human_bytes(struct arena *a, double bytes)
{
	return with_unit(a, put_bytes, bytes, "");
}

const char *human_ns(struct arena *a, double ns)
{
	return with_unit(a, put_ns, ns, "");
}

const char *human_count(struct arena *a, double n)
{
	return with_unit(a, put_count, n, "");
}

const char *human_bytes_u64(struct arena *a, uint64_t bytes)
{
	return bytes == NA_U64 ? "-" : human_bytes(a, (double)bytes);
}

const char *human_count_u64(struct arena *a, uint64_t n)
{
	return n == NA_U64 ? "-" : human_count(a, (double)n);
}

const char *human_ratio(struct arena *a, double ratio)
{
	return with_unit(a, put_percent, ratio * 100, " %");
}

const char *human_rate(struct arena *a, double per_second)
{
	return with_unit(a, put_rate, per_second, "/s");
}

/* Percentages stand under each other: one decimal always, as their digits are compared by eye. */
static void put_cell_percent(char to[HUMAN_MAX], double percent)
{
	snprintf(to, HUMAN_MAX, percent < 1e15 ? "%.1f" : "%.3g", percent);
}

static void put_cpus(char to[HUMAN_MAX], double cpus)
{
	snprintf(to, HUMAN_MAX, cpus < 1e15 ? "%.2f" : "%.3g", cpus);
}

static void put_integer(char to[HUMAN_MAX], const struct column *c, const void *row)
{
	char digits[HUMAN_MAX];
	uint64_t magnitude = c->type == TYPE_U64 ? column_u64(c, row) : 0;
	size_t at = 0;

	if (c->type == TYPE_I64) {
		int64_t value = column_i64(c, row);

		magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
		if (value < 0)
			to[at++] = '-';
	}
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)magnitude);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0 && c->unit != UNIT_ID)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = '\0';
}

static void (*cell_writer(enum column_unit unit))(char *, double)
{
	switch (unit) {
	case UNIT_BYTES:
		return put_bytes;
	case UNIT_NS:
		return put_ns;
	case UNIT_RATIO:
		return put_cell_percent;
	case UNIT_PER_SECOND:
		return put_rate;
	case UNIT_CPUS:
		return put_cpus;
	default:
		return put_count;
	}
}

static const char *cell_unit(const struct column *c)
{
	if (c->unit == UNIT_RATIO && !(c->title && strchr(c->title, '%')))
		return "%";
	if (c->unit == UNIT_PER_SECOND && !(c->title && strstr(c->title, "/s")))
		return "/s";
	return "";
}

void human_cell(char to[HUMAN_MAX], const struct column *c, const void *row)
{
	if (!column_is_known(c, row)) {
		memcpy(to, "-", 2);
	} else if (c->type == TYPE_BOOL) {
		snprintf(to, HUMAN_MAX, "%s", column_bool(c, row) ? "yes" : "no");
	} else if (c->type != TYPE_F64 && (c->unit == UNIT_COUNT || c->unit == UNIT_ID)) {
		put_integer(to, c, row);
	} else {
		size_t at;
		double value = column_number(c, row) * (c->unit == UNIT_RATIO ? 100 : 1);
		double magnitude = take_sign(to, value, &at);
		char body[HUMAN_MAX];

		cell_writer(c->unit)(body, magnitude);
		snprintf(to + at, HUMAN_MAX - at, "%.*s%s", HUMAN_MAX - 8, body, cell_unit(c));
	}
}

const char *out_time(struct arena *a, uint64_t realtime_ns)
{
	/* no gmtime: it reads the host's time zone file, and every read goes through the source */
	uint64_t seconds = realtime_ns / 1000000000, day = seconds / 86400, rest = seconds % 86400;
	/* days from 0000-03-01, in eras of 400 years: the leap day is a year's last */
	uint64_t z = day + 719468, in_era = z % 146097;
	uint64_t year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	uint64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	uint64_t shifted = (5 * in_year + 2) / 153;
	uint64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
	uint64_t year = year_of_era + z / 146097 * 400 + (month <= 2);

	return arena_printf(a, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)year,
			    (unsigned)month, (unsigned)(in_year - (153 * shifted + 2) / 5 + 1),
			    (unsigned)(rest / 3600), (unsigned)(rest / 60 % 60),
			    (unsigned)(rest % 60), (unsigned)(realtime_ns / 1000000 % 1000));
}

const char *out_escape(struct arena *a, const char *name)
{
	struct buf b = { 0 };

	if (!name)
		return "-";
	escape_people(&b, text_of(name));
	const char *text = arena_text(a, buf_text(&b));

	buf_free(&b);
	return text;
}

const char *out_shell_word(struct arena *a, const char *word)
{
	for (const char *p = word; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9') || strchr("/._-:@+=,", *p))) {
			struct buf b = { 0 };

			buf_add_char(&b, '\'');
			for (p = word; *p; p++)
				buf_add_text(&b, *p == '\'' ? "'\\''" : (char[2]){ *p, '\0' });
			buf_add_char(&b, '\'');
			const char *quoted = arena_text(a, buf_text(&b));

			buf_free(&b);
			return quoted;
		}
	return word;
}
