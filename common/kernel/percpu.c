#include "common/kernel/percpu.h"

#include "common/base/scan.h"

static bool find_column(struct scan names, const char *name, unsigned *at)
{
	struct text word;

	for (unsigned i = 0; scan_word(&names, &word); i++)
		if (text_is(word, name)) {
			*at = i;
			return true;
		}
	return false;
}

uint64_t percpu_sum(struct text t, const char *name)
{
	struct scan lines = scan_of(t);
	struct text line;
	unsigned at;
	uint64_t sum = 0, cpus = 0;

	if (!scan_until(&lines, '\n', &line) || !find_column(scan_of(line), name, &at))
		return NA_U64;
	for (; scan_until(&lines, '\n', &line); cpus++) {
		struct scan s = scan_of(line);
		uint64_t n;

		if (!scan_skip_words(&s, at) || !scan_hex(&s, &n) ||
		    (s.at < s.end && *s.at != ' ') ||
		    __builtin_add_overflow(sum, n, &sum))
			return NA_U64;
	}
	return cpus && lines.at == lines.end ? sum : NA_U64;
}
