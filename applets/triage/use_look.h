/* Inside the USE table: what one look keeps for the next, and how its parts add rows. */
#ifndef APPLETS_TRIAGE_USE_LOOK_H
#define APPLETS_TRIAGE_USE_LOOK_H

#include "applets/triage/use.h"
#include "common/base/mem.h"
#include "common/kernel/conntrack.h"
#include "common/kernel/cpustat.h"
#include "common/kernel/disk.h"
#include "common/kernel/edac.h"
#include "common/kernel/filenr.h"
#include "common/kernel/mounts.h"
#include "common/kernel/netcount.h"
#include "common/kernel/pids.h"
#include "common/kernel/ports.h"
#include "common/kernel/psi.h"
#include "common/kernel/sockstat.h"
#include "common/kernel/softnet.h"
#include "common/kernel/thermal.h"

struct use_row {
	const char *resource, *instance;
	double utilization_ratio;
	bool is_estimated;
	const char *utilization, *saturation, *saturation_unit, *errors;
	double saturation_value;
	uint64_t errors_count;
};

struct use_cpu {
	struct cpu_stat stat;
	bool has_stat;
	struct psi pressure;
	struct thermal thermal;
	uint64_t machine_checks, bad_interrupts;
};

struct use_memory {
	uint64_t total_bytes, available_bytes, swap_bytes, swap_free_bytes, corrupted_bytes;
	uint64_t pages_in, pages_out, reclaims, oom_kills;
	struct psi pressure;
	struct edac edac;
};

struct use_disk {
	struct disks disks;
	uint64_t *errors;              /* one each */
	struct psi pressure;
};

struct use_files {
	struct mounts mounts;          /* one for each file system */
	uint64_t *errors;              /* one each */
};

struct use_net {
	struct net_device *devices;
	size_t device_count;
	struct softnet softnet;
	bool has_softnet;
	struct {
		uint64_t accepted, overflows, listen_drops, in, out, sent_again, timeouts;
		uint64_t prunes, pruned, backlog_drops, queue_drops;
		uint64_t time_wait_overflows, aborted, pressures;
	} tcp;
	struct {
		uint64_t in, full, errors;
	} udp;
	struct sockstat sockets;
	struct ports ports;
	struct conntrack conntrack;
};

struct use_limits {
	struct file_nr files;
	struct pids_host host;
	struct pids_group group;
};

struct use_look {
	struct arena arena;            /* until this look is taken anew */
	struct use_cpu cpu;
	struct use_memory memory;
	struct use_disk disk;
	struct use_files files;
	struct use_net net;
	struct use_limits limits;
};

/*
 * Each part: reads, saying what it could not; then adds its rows. In the only frame of a saved root
 * before is the same look as now: what moved is unknown (use_moved).
 */
void use_read_cpu(struct out *out, struct use_look *now);
void use_read_memory(struct out *out, struct use_look *now);
void use_read_disk(struct out *out, struct use_look *now);
void use_read_files(struct out *out, struct use_look *now);
void use_read_net(struct out *out, struct use_look *now);
void use_read_limits(struct out *out, struct use_look *now);
void use_show_cpu(struct out *out, const struct use_look *before, const struct use_look *now);
void use_show_memory(struct out *out, const struct use_look *before, const struct use_look *now);
void use_show_disk(struct out *out, const struct use_look *before, const struct use_look *now);
void use_show_files(struct out *out, const struct use_look *before, const struct use_look *now);
void use_show_net(struct out *out, const struct use_look *before, const struct use_look *now);
void use_show_tcp(struct out *out, const struct use_look *before, const struct use_look *now);
void use_show_limits(struct out *out, const struct use_look *before, const struct use_look *now);

/* A row that knows nothing yet. */
struct use_row use_row(const char *resource, const char *instance);
void use_add(struct out *out, const struct use_row *row);

/*
 * Up to `most` rows as they are; of more, those with errors, then the fullest, and one that counts
 * the others.
 */
void use_add_some(struct out *out, struct use_row *rows, size_t count, size_t most);

/*
 * Says so if a file that was read does not end where a line does: what is behind the cut is
 * unknown. Of one that could not be read nothing is said.
 */
void use_check_whole(struct out *out, const char *path);

/* Makes a struct of uint64_t unknown: NA_U64 has all bits set. */
void use_forget(void *counters, size_t size);

/* Between the looks; unknown in a frame that has none before it. */
uint64_t use_moved(uint64_t now, uint64_t before);
double use_rate(uint64_t now, uint64_t before);        /* per second of measured time */
double use_pressure(const struct psi *now, const struct psi *before);
uint64_t use_sum(uint64_t a, uint64_t b);              /* unknown if one of them is */
/* 0 for unknown: only of counters that need not exist */
uint64_t use_known(uint64_t n);

/* Text for people, "-" for unknown. Lives as long as the frame. */
#define use_text(out, ...) arena_printf(out_arena(out), __VA_ARGS__)
const char *use_count_text(struct out *out, uint64_t n);               /* "241,172" */
const char *use_bytes_text(struct out *out, uint64_t bytes);           /* "1.9G" */
const char *use_flow_text(struct out *out, double bytes_per_second);   /* "1.9M/s" */
const char *use_rate_text(struct out *out, double per_second);         /* "44/s" */
const char *use_ratio_text(struct out *out, double ratio);             /* "87 %" */

/* "12 of 28,232" and the ratio; "12" if no limit is known, nothing if what is used is not. */
void use_set_used(struct out *out, struct use_row *row, uint64_t used, uint64_t limit);
/* "800M of 24G" in the same way. */
void use_set_used_bytes(struct out *out, struct use_row *row, uint64_t used, uint64_t limit);
/* The value for machines, and the text; neither if the value is unknown. */
void use_set_saturation(struct use_row *row, double value, const char *unit, const char *text);
/* "0 WHAT"; nothing if the count is unknown. */
void use_set_errors(struct out *out, struct use_row *row, uint64_t count, const char *what);

#endif
