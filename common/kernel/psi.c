#include "common/kernel/psi.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define NS_PER_USEC 1000u

/* The "total=" word of a line, in ns; NA_U64 if it is not there or makes no sense. */
static uint64_t total_ns(struct scan line)
{
	struct text word;
	uint64_t usec, ns;

	while (scan_word(&line, &word)) {
		if (!text_starts(word, "total="))
			continue;
		if (!scan_all_u64((struct text){ word.data + 6, word.len - 6 }, &usec) ||
		    __builtin_mul_overflow(usec, NS_PER_USEC, &ns))
			return NA_U64;
		return ns;
	}
	return NA_U64;
}

int psi_parse(struct text t, struct psi *p)
{
	struct psi new = { NA_U64, NA_U64 };
	struct scan rest = scan_of(t);
	struct text line;

	/* scan_until, not scan_line: a line without its newline may be cut */
	while (scan_until(&rest, '\n', &line)) {
		struct scan s = scan_of(line);
		struct text kind;

		if (!scan_word(&s, &kind))
			continue;
		if (text_is(kind, "some"))
			new.some_ns = total_ns(s);
		else if (text_is(kind, "full"))
			new.full_ns = total_ns(s);
	}
	if (new.some_ns == NA_U64 && new.full_ns == NA_U64)
		return fail(EINVAL, "pressure: no line with a total");
	*p = new;
	return 0;
}

static int explain(const char *path, int err)
{
	bool is_system = text_starts(text_of(path), "proc/");

	if (err == -EOPNOTSUPP)
		return fail(EOPNOTSUPP, "/%s: pressure stall information is off (boot with psi=1)",
			    path);
	if (err == -ENOENT && is_system && text_is(text_of(path), "proc/pressure/irq"))
		return fail(ENOENT, "/%s: not there (CONFIG_IRQ_TIME_ACCOUNTING, Linux 6.1)", path);
	if (err == -ENOENT && is_system)
		return fail(ENOENT, "/%s: not there (CONFIG_PSI, Linux 4.20; or psi=0)", path);
	if (err == -ENOENT)
		return fail(ENOENT, "/%s: not there (no CONFIG_PSI, turned off by the group's "
			    "cgroup.pressure, or the group is gone)", path);
	return err;
}

int psi_read(const char *path, struct psi *p)
{
	struct text t;
	int err = src_read(path, &t);

	if (err < 0)
		return explain(path, err);
	if (psi_parse(t, p) < 0)
		return fail(EINVAL, "/%s: no line with a total", path);
	return 0;
}
