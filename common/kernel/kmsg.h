/*
 * The kernel log: /dev/kmsg (Documentation/ABI/testing/dev-kmsg) or a file, and what in it is
 * evidence.
 */
#ifndef KERNEL_KMSG_H
#define KERNEL_KMSG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

enum kmsg_kind {
	KMSG_OTHER,
	KMSG_OOM,                      /* invoked oom-killer, oom-kill:, Killed process, ... */
	KMSG_CONNTRACK_FULL,           /* nf_conntrack: table full, dropping packet */
	KMSG_SYN_FLOOD,                /* Possible SYN flooding on port */
	KMSG_TIME_WAIT_OVERFLOW,       /* TCP: time wait bucket table overflow */
	KMSG_NEIGHBOUR_FULL,           /* neighbour: arp_cache: neighbor table overflow! */
	KMSG_NETDEV_WATCHDOG,          /* NETDEV WATCHDOG: eth0 (drv): transmit queue 0 timed out */
	KMSG_HUNG_TASK,                /* INFO: task x:1 blocked for more than 120 seconds */
	KMSG_SOFT_LOCKUP, KMSG_HARD_LOCKUP,
	KMSG_MCE,                      /* mce: [Hardware Error] */
	KMSG_IO_ERROR,                 /* I/O error, dev sda, sector / Buffer I/O error */
	KMSG_FILE_SYSTEM,              /* EXT4-fs error, XFS ... Corruption, remounting read-only */
	KMSG_KINDS
};
const char *kmsg_kind_name(enum kmsg_kind k);          /* "hung task" ... */

struct kmsg_record {
	uint64_t sequence;             /* NA_U64 where the format has none */
	uint64_t boot_ns;              /* since boot, kernel's log clock; NA_U64 unknown */
	uint64_t realtime_ns;          /* now - uptime + boot_ns; off by suspended time; NA_U64 */
	unsigned priority;             /* syslog level and facility; 6 if unknown */
	struct text text;              /* unescaped (\xNN undone), may hold any byte */
	struct text raw;               /* as it stood, with its continuation lines */
	enum kmsg_kind kind;
};

/*
 * One record of the raw format "prio,seq,usec,flags;text\n KEY=val\n"; moves past its continuation
 * lines. 1: a record; 0: the end; garbled lines are passed over and counted in garbled. Where
 * nothing looks like the raw format every line is a record: dmesg's "[  12.345678] text", or just
 * text. A record that a program wrote (facility other than the kernel's, which /dev/kmsg does not
 * let it choose) is KMSG_OTHER whatever it says.
 */
struct kmsg_reader {
	struct text left;
	bool is_raw;                   /* has the raw format's headers */
	struct arena *arena;
	uint64_t boot_realtime_ns;     /* realtime at boot; NA_U64 unknown */
	uint64_t last_sequence;        /* NA_U64 before the first */
	uint64_t lost;                 /* records missing in the sequence so far */
	uint64_t garbled;
};
/* Takes the time of boot from the frame's clock and proc/uptime, if there is a frame. */
void kmsg_start(struct kmsg_reader *r, struct arena *arena, struct text content);
int kmsg_next(struct kmsg_reader *r, struct kmsg_record *record);

enum kmsg_kind kmsg_classify(struct text line);

/* For those who read line by line themselves (logline.h). The header "prio,seq,usec,flags[,more];":
 * false, and nothing is set, if it is none. */
struct kmsg_header {
	unsigned priority;
	uint64_t sequence, boot_ns;
	struct text more, text;        /* what stands before and behind the semicolon */
};
bool kmsg_parse_header(struct text line, struct kmsg_header *header);
/* \xNN undone: itself where there is none, else a copy in arena. */
struct text kmsg_unescape(struct arena *arena, struct text t);
/* Adds what is missing between *last (NA_U64: nothing came before) and sequence to *lost. */
void kmsg_count_lost(uint64_t *last, uint64_t *lost, uint64_t sequence);
/* When the machine was started, by the frame's clock and proc/uptime; NA_U64 unknown. The log's
 * clock stands still while it sleeps, uptime's does not. */
uint64_t kmsg_boot_realtime(void);

/*
 * All the log holds now, raw, through the source as the path dev/kmsg. Never blocks. -errno with
 * fail text: EPERM names CAP_SYSLOG and dmesg_restrict. Records overwritten while reading show as
 * gaps in the sequence; those overwritten before are a first sequence above 0.
 */
int kmsg_read(struct text *content);

#endif
