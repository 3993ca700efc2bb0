#include "common/kernel/softnet.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

static bool take_column(struct scan *s, uint32_t *sum)
{
	struct text word;
	uint64_t n;

	if (!scan_word(s, &word))
		return false;
	struct scan digits = scan_of(word);

	if (!scan_hex(&digits, &n) || digits.at != digits.end)
		return false;
	*sum += (uint32_t)n;
	return true;
}

int softnet_parse(struct text t, struct softnet *s)
{
	struct softnet new = { 0 };
	struct scan lines = scan_of(t);
	struct text line;

	while (scan_until(&lines, '\n', &line)) {
		struct scan columns = scan_of(line);

		new.cpus++;
		if (!take_column(&columns, &new.processed) ||
		    !take_column(&columns, &new.dropped) ||
		    !take_column(&columns, &new.squeezed))
			return fail(EINVAL, "/proc/net/softnet_stat line %u: not understood",
				    new.cpus);
	}
	if (!new.cpus || lines.at != lines.end)
		return fail(EINVAL, "/proc/net/softnet_stat line %u: cut", new.cpus + 1);
	*s = new;
	return 0;
}

int softnet_read(struct softnet *s)
{
	struct text t;
	int err = src_read("proc/net/softnet_stat", &t);

	return err < 0 ? err : softnet_parse(t, s);
}

/* More than half of the range in one interval is not a wrap but something that started over. */
static uint64_t wrapping_delta(uint32_t now, uint32_t before)
{
	uint32_t delta = now - before;

	return delta > UINT32_MAX / 2 ? NA_U64 : delta;
}

void softnet_subtract(const struct softnet *before, const struct softnet *now,
		      struct softnet_delta *delta)
{
	*delta = (struct softnet_delta){ NA_U64, NA_U64, NA_U64 };
	if (!now->cpus || now->cpus != before->cpus)
		return;
	delta->processed = wrapping_delta(now->processed, before->processed);
	delta->dropped = wrapping_delta(now->dropped, before->dropped);
	delta->squeezed = wrapping_delta(now->squeezed, before->squeezed);
}

#define COLUMNS 13                     /* read; later kernels have more */

static int take_line(struct text line, struct softnet_cpu *cpu)
{
	struct scan s = scan_of(line);
	uint64_t columns[COLUMNS];
	struct text word;

	for (unsigned i = 0; i < COLUMNS; i++) {
		columns[i] = NA_U64;
		if (!scan_word(&s, &word))
			continue;
		struct scan digits = scan_of(word);

		if (!scan_hex(&digits, &columns[i]) || digits.at != digits.end ||
		    columns[i] > UINT32_MAX)
			return -EINVAL;
	}
	if (columns[2] == NA_U64)
		return -EINVAL;
	*cpu = (struct softnet_cpu){
		.processed = (uint32_t)columns[0],
		.dropped = (uint32_t)columns[1],
		.squeezed = (uint32_t)columns[2],
		.steered = columns[9],
		.flow_limited = columns[10],
		.backlog = columns[11],
		.cpu = columns[12],
	};
	return 0;
}

int softnet_parse_cpus(struct arena *arena, struct text t, struct softnet_cpu **list,
		       size_t *count)
{
	struct scan lines = scan_of(t);
	struct text line;
	size_t n = 0, lines_total = 0;

	for (size_t i = 0; i < t.len; i++)
		lines_total += t.data[i] == '\n';
	if (!lines_total || t.data[t.len - 1] != '\n')
		return fail(EINVAL, "/proc/net/softnet_stat: cut");
	struct softnet_cpu *new = arena_alloc(arena, lines_total * sizeof(*new));

	while (scan_until(&lines, '\n', &line))
		if (take_line(line, &new[n++]) < 0)
			return fail(EINVAL, "/proc/net/softnet_stat line %zu: not understood", n);
	*list = new;
	*count = n;
	return 0;
}
