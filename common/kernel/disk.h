/* Block devices: /proc/diskstats (block/genhd.c, Documentation/admin-guide/iostats.rst). */
#ifndef KERNEL_DISK_H
#define KERNEL_DISK_H

#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

#define DISKS_MAX 65536                /* lines looked at */

/*
 * Counters since boot. Discards came with Linux 4.18 (18 fields), flushes with 5.5 (20): NA_U64
 * before. The kernel prints times as 32 bits of milliseconds: busy_ms wraps after 49 busy days.
 */
struct disk {
	const char *name;
	uint64_t major, minor;
	uint64_t reads, reads_merged, read_sectors, read_ms;
	uint64_t writes, writes_merged, write_sectors, write_ms;
	uint64_t in_flight;            /* now, not a counter */
	uint64_t busy_ms;              /* time with at least one request in flight */
	uint64_t weighted_ms;          /* time summed over requests */
	uint64_t discards, discards_merged, discard_sectors, discard_ms;
	uint64_t flushes, flush_ms;
};

struct disks {
	struct disk *items;            /* in arena, as are the names */
	size_t count;
	unsigned garbled_line;         /* the first line that makes no sense, from 1; 0: none */
};
void disk_parse(struct arena *arena, struct text t, struct disks *disks);

/*
 * Whole disks: those in sys/block, all if that can't be listed. Left out are devices of kinds that
 * exist without being used (ram, loop, nbd, sr, fd) unless they did I/O. 0 or -errno with fail
 * text.
 */
int disk_read(struct arena *arena, struct disks *disks);

/*
 * Errors a SCSI or ATA disk has seen since it was found (sys/block/NAME/device/ioerr_cnt); NA_U64:
 * not counted.
 */
uint64_t disk_read_errors(const char *name);

/* Between two looks. Unknown where a counter is, or went backwards. */
struct disk_rates {
	double busy_ratio;
	double queue;                  /* requests, on average: waiting and in service */
	/* queued and in service, of those that completed */
	double await_ns, read_await_ns, write_await_ns;
	double reads_per_second, writes_per_second;
	double read_bytes_per_second, write_bytes_per_second;
};
void disk_measure(const struct disk *before, const struct disk *now, uint64_t elapsed_ns,
		  struct disk_rates *rates);

#endif
