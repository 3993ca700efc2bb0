/*
 * What was there before the recording began: the names of threads and the maps of processes, as
 * records made up from /proc when a sample first needs them. What begins later is told by records
 * of the kernel.
 */
#ifndef STACK_PERFLIVE_H
#define STACK_PERFLIVE_H

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/kernel/source.h"
#include "common/stack/perffold.h"

typedef void (*perflive_taker)(void *to, const struct perf_events *es,
			       const struct perf_record *r);

struct perflive {
	perflive_taker take;
	void *to;
	const struct perf_events *events;
	size_t trailer;                /* bytes behind the fields of a record */
	struct hash processes, threads;        /* by number, those that are known */
	struct src_dir proc;
	struct buf record;
	uint64_t gone, refused;        /* processes whose maps could not be read any more, ever */
};

/* Who gets the records; trailer: perfevent_trailer's. 0 or -errno with fail text. */
int perflive_open(struct perflive *l, perflive_taker take, void *to, const struct perf_events *es,
		  size_t trailer);
int perflive_open_fold(struct perflive *l, struct perffold *fold, const struct perf_events *es,
		       size_t trailer);
void perflive_close(struct perflive *l);
/* A record of the rings: what it needs first, then itself. */
void perflive_take(struct perflive *l, const struct perf_record *r);
/* Reads a process before the first sample of it comes. */
void perflive_know(struct perflive *l, uint32_t pid);
/* The paths of all control groups, for --by cgroup. 0 or -errno with fail text. */
int perflive_know_cgroups(struct perflive *l);

#endif
