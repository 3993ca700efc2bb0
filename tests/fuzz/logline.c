/* Lines of anybody's making: what is taken from one lies in it, and dates are dates. */
#include "common/kernel/logline.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/base/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct text part, struct text line)
{
	if (part.len && (part.data < line.data || part.data + part.len > line.data + line.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan s = scan_of((struct text){ (const char *)data, size });
	struct text line;
	struct logline l;

	while (scan_line(&s, &line)) {
		logline_split(line, &l);
		check_inside(l.text, line);
		check_inside(l.program, line);
		check_inside(l.caller, line);
		check_inside(l.stamp_text, line);
		if (l.text.data + l.text.len != line.data + line.len ||
		    (!l.has_prefix && l.text.len != line.len))
			abort();
		const uint64_t now_ns = 1796040000000000000u,
			       at_ns = logline_realtime(&l, now_ns, -3600);

		if (l.stamp == STAMP_NONE ? at_ns != NA_U64 :
		    l.stamp == STAMP_SYSLOG && at_ns != NA_U64 &&
			    at_ns > now_ns + 86400000000000u + 1000000000u)
			abort();
	}
	return 0;
}
