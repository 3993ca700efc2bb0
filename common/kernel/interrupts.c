#include "common/kernel/interrupts.h"

#include <errno.h>

#include "common/base/fail.h"

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

int interrupts_start(struct interrupts *i, struct text t)
{
	struct interrupts new = { .lines = scan_of(t), .columns = interrupts_count_cpus(t) };

	if (!new.columns || !scan_until(&new.lines, '\n', &new.header))
		return fail(EINVAL, "interrupts: no line of CPUs");
	*i = new;
	return 0;
}

int interrupts_cpus(const struct interrupts *i, unsigned limit, unsigned *cpus)
{
	struct scan s = scan_of(i->header);
	struct text word;

	for (unsigned n = 0; n < i->columns; n++) {
		uint64_t cpu;

		if (!scan_word(&s, &word) || word.len < 4 ||
		    !scan_all_u64((struct text){ word.data + 3, word.len - 3 }, &cpu) ||
		    cpu >= limit)
			return fail(EINVAL, "interrupts: column %u is no CPU", n + 1);
		cpus[n] = (unsigned)cpu;
	}
	return 0;
}

bool interrupts_next(struct interrupts *i, struct interrupts_line *line)
{
	struct text whole;

	while (scan_until(&i->lines, '\n', &whole)) {
		struct scan s = scan_of(whole);

		scan_blanks(&s);
		if (!scan_until(&s, ':', &line->name) || !line->name.len)
			continue;
		line->rest = scan_rest(&s);
		return true;
	}
	return false;
}

/* "PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0": what is behind the last two blanks. */
static struct text device_names(struct text t)
{
	size_t at = t.len;

	while (t.len && t.data[t.len - 1] == ' ')
		t.len--;
	for (at = t.len; at >= 2; at--)
		if (t.data[at - 1] == ' ' && t.data[at - 2] == ' ')
			break;
	return at >= 2 ? (struct text){ t.data + at, t.len - at } :
		(struct text){ t.data + t.len, 0 };
}

/* Millions of digits: no more than a loop over them. */
bool interrupts_counts(const struct interrupts *i, const struct interrupts_line *line,
		       uint32_t *counts, struct text *what)
{
	const char *at = line->rest.data, *end = at + line->rest.len;

	for (unsigned n = 0; n < i->columns; n++) {
		uint32_t value = 0;

		while (at < end && *at == ' ')
			at++;
		const char *first = at;

		for (; at < end && *at >= '0' && *at <= '9'; at++)
			value = value * 10 + (uint32_t)(*at - '0');
		if (at == first || (at < end && *at != ' '))
			return false;
		counts[n] = value;
	}
	if (what)
		*what = device_names((struct text){ at, (size_t)(end - at) });
	return true;
}
