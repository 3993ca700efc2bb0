#include "common/kernel/procmaps.h"

#include "common/base/scan.h"

bool procmap_parse(struct text line, struct procmap *m)
{
	struct scan s = scan_of(line);
	struct procmap made;
	struct text perms;

	if (!scan_hex(&s, &made.start) || !scan_literal(&s, "-") || !scan_hex(&s, &made.end) ||
	    !scan_word(&s, &perms) || !scan_hex(&s, &made.pgoff) || !scan_hex(&s, &made.major) ||
	    !scan_literal(&s, ":") || !scan_hex(&s, &made.minor) || !scan_u64(&s, &made.inode))
		return false;
	if (made.end <= made.start || perms.len < 4)
		return false;
	scan_blanks(&s);
	made.is_executable = perms.data[2] == 'x';
	made.path = scan_rest(&s);
	*m = made;
	return true;
}
