#include "common/kernel/sysctl.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

uint64_t sysctl_parse_number(struct text t, unsigned index)
{
	struct scan s = scan_of(t);
	struct text line, word;
	uint64_t n;

	/* a line without its newline may be cut */
	if (!scan_until(&s, '\n', &line))
		return NA_U64;
	s = scan_of(line);
	if (!scan_skip_words(&s, index) || !scan_word(&s, &word) || !scan_all_u64(word, &n))
		return NA_U64;
	return n;
}

uint64_t sysctl_number(const char *name, unsigned index)
{
	struct text t;

	if (src_readf(&t, "proc/sys/%s", name) < 0)
		return NA_U64;
	uint64_t n = sysctl_parse_number(t, index);

	if (n == NA_U64)
		fail(EINVAL, "/proc/sys/%s: no number %u", name, index + 1);
	return n;
}
