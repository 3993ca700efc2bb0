#include "common/kernel/meminfo.h"

#include "common/base/scan.h"

#define BYTES_PER_KIB 1024u

/* What stands behind the key on its line. A line without its newline may be cut. */
static bool find_line(struct scan *lines, const char *key, struct scan *rest)
{
	struct text line;

	while (scan_until(lines, '\n', &line)) {
		struct scan s = scan_of(line);

		if (!scan_literal(&s, key))
			continue;
		*rest = s;
		return true;
	}
	return false;
}

static bool is_at_end(struct scan *s)
{
	scan_blanks(s);
	return s->at == s->end;
}

/* "   24683620 kB" to the line's end. */
static uint64_t take_bytes(struct scan s)
{
	uint64_t kib, bytes;

	return !scan_u64(&s, &kib) || !scan_literal(&s, " kB") || !is_at_end(&s) ||
		__builtin_mul_overflow(kib, BYTES_PER_KIB, &bytes) ? NA_U64 : bytes;
}

uint64_t meminfo_bytes(struct text t, const char *key)
{
	struct scan lines = scan_of(t), s;

	while (find_line(&lines, key, &s))
		if (scan_literal(&s, ":"))
			return take_bytes(s);
	return NA_U64;
}

uint64_t node_meminfo_bytes(struct text t, const char *key)
{
	struct scan lines = scan_of(t), s;
	struct text number;

	while (find_line(&lines, "Node ", &s))
		if (scan_word(&s, &number) && scan_literal(&s, " ") && scan_literal(&s, key) &&
		    scan_literal(&s, ":"))
			return take_bytes(s);
	return NA_U64;
}

uint64_t vmstat_count(struct text t, const char *key)
{
	struct scan lines = scan_of(t), s;
	uint64_t n;

	while (find_line(&lines, key, &s))
		if (scan_literal(&s, " "))
			return scan_u64(&s, &n) && is_at_end(&s) ? n : NA_U64;
	return NA_U64;
}

uint64_t vmstat_sum(struct text t, const char *key)
{
	struct scan lines = scan_of(t), s;
	struct text zone;
	uint64_t sum = 0, n;
	bool is_there = false;

	while (find_line(&lines, key, &s)) {
		bool is_split = scan_literal(&s, "_") && scan_word(&s, &zone);

		if (!is_split && !(s.at < s.end && *s.at == ' '))
			continue;
		if (!scan_u64(&s, &n) || !is_at_end(&s) || __builtin_add_overflow(sum, n, &sum))
			return NA_U64;
		is_there = true;
	}
	return is_there ? sum : NA_U64;
}
