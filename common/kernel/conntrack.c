#include "common/kernel/conntrack.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

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

/* The sum of one column over all lines; NA_U64 if it is not there, or a line is cut or lacks it. */
static uint64_t sum_column(struct text t, const char *name)
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

int conntrack_parse_stat(struct text t, struct conntrack *c)
{
	uint64_t drop = sum_column(t, "drop");

	if (drop == NA_U64)
		return fail(EINVAL, "/proc/net/stat/nf_conntrack: no sum of \"drop\"");
	c->drop = drop;
	c->early_drop = sum_column(t, "early_drop");
	c->insert_failed = sum_column(t, "insert_failed");
	return 0;
}

int conntrack_read(struct conntrack *c)
{
	struct conntrack new = { false, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 };
	struct text t;
	int err = src_read("proc/sys/net/netfilter/nf_conntrack_count", &t);

	if (err == -ENOENT) {
		*c = new;
		return 0;
	}
	if (err < 0)
		return err;
	new.is_in_use = true;
	new.count = sysctl_parse_number(t, 0);
	new.max = sysctl_number("net/netfilter/nf_conntrack_max", 0);
	if (new.count == NA_U64)
		return fail(EINVAL, "/proc/sys/net/netfilter/nf_conntrack_count: no number");
	*c = new;
	if (new.max == NA_U64)
		return fail(EINVAL, "/proc/sys/net/netfilter/nf_conntrack_max: no number");
	/* not there without CONFIG_NF_CONNTRACK_PROCFS */
	err = src_read("proc/net/stat/nf_conntrack", &t);
	if (err >= 0)
		err = conntrack_parse_stat(t, &new);
	*c = new;
	return err == -ENOENT ? 0 : err;
}
