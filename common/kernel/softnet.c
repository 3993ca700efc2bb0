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
