/*
 * One line of a kernel log, whoever wrote it down: where the words begin, who said them, and when.
 *
 *     4,505,1275958780,-,caller=T9;text           /dev/kmsg, Documentation/ABI/testing/dev-kmsg
 *     <4>[   12.345678][   T9] text               syslog(2); dmesg -r
 *     kern  :warn  : [   12.345678] [   T9] text  dmesg -x; each part may be missing
 *     [Mon Nov 30 12:00:00 2026] text             dmesg -T
 *     2026-11-30T12:00:00,123456+01:00 text       dmesg --time-format iso
 *     Nov 30 12:00:00 host kernel: [   12.345678] text       journalctl, RFC 3164, with .usec, too
 *     Nov 30 12:00:00 host kern.info kernel: text            busybox syslogd
 *     2026-11-30T12:00:00.123456+01:00 host kernel: text     journalctl -o short-iso, rsyslog
 *     [   12.345678] host kernel: text                       journalctl -o short-monotonic
 *     <4>1 2026-11-30T12:00:00Z host kernel - - - text       RFC 5424
 */
#ifndef KERNEL_LOGLINE_H
#define KERNEL_LOGLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"

enum logline_stamp {
	STAMP_NONE,                    /* or only a time since boot */
	STAMP_SYSLOG,                  /* "Nov 30 12:00:00.123456": neither year nor zone */
	STAMP_DATE,                    /* "Mon Nov 30 12:00:00 2026": no zone */
	STAMP_ISO,                     /* "2026-11-30T12:00:00.123456+01:00"; a zone or none */
};

#define LOGLINE_PRIORITY_UNKNOWN UINT32_MAX

/* All texts lie in the line. */
struct logline {
	struct text text;              /* the words */
	struct text program;           /* "kernel", "systemd-oomd[612]"; empty: it names none */
	struct text caller;            /* "T9", "C1": the thread or CPU; empty: unknown */
	struct text stamp_text;
	enum logline_stamp stamp;
	uint64_t boot_ns;              /* since boot, the kernel's log clock; NA_U64 unknown */
	uint64_t sequence;             /* NA_U64 where the format has none */
	uint32_t priority;             /* level and facility << 3 */
	bool is_kernel;                /* false: facility or program say it was somebody else */
	bool is_escaped;               /* \xNN stands for what is not printable */
	bool has_prefix;               /* it is more than words */
};

/* Takes the line apart; cheap enough for every line of a large log. */
void logline_split(struct text line, struct logline *l);

/*
 * When it was written by its date, in ns since 1970; NA_U64 without one, or if it makes no sense.
 * now_ns (NA_U64 unknown) tells the year where it is missing: the newest that lies no more than a
 * day ahead. utc_offset_s is what the zone was ahead of UTC where the line does not say it.
 */
uint64_t logline_realtime(const struct logline *l, uint64_t now_ns, int64_t utc_offset_s);

#endif
