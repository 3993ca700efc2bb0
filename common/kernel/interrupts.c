#include "common/kernel/interrupts.h"

#include <stdbool.h>

#include "common/base/scan.h"

/* "     CPU0       CPU1": so many columns are counts, and what follows them is a description. */
unsigned interrupts_count_cpus(struct text t)
{
	struct scan s = scan_of(t);
	struct text header, word;
	unsigned n = 0;

	if (!scan_until(&s, '\n', &header))
		return 0;
	s = scan_of(header);
	while (scan_word(&s, &word) && text_starts(word, "CPU"))
		n++;
	return n;
}

uint64_t interrupts_sum(struct text t, const char *name)
{
	struct scan lines = scan_of(t);
	struct text line, word;
	const unsigned columns = interrupts_count_cpus(t);
	uint64_t sum = 0, n;

	while (scan_until(&lines, '\n', &line)) {
		struct scan s = scan_of(line);
		unsigned known = 0;

		scan_blanks(&s);
		if (!scan_literal(&s, name) || !scan_literal(&s, ":"))
			continue;
		for (; known < columns && scan_word(&s, &word) && scan_all_u64(word, &n); known++)
			if (__builtin_add_overflow(sum, n, &sum))
				return NA_U64;
		return known ? sum : NA_U64;
	}
	return NA_U64;
}
