/*
 * From records to folded stacks: samples of a recording, or of live rings, as they come in order of
 * time. Equal raw stacks of a process are counted first and looked up once.
 */
#ifndef STACK_PERFFOLD_H
#define STACK_PERFFOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stack/perfdata.h"
#include "common/stack/perfsample.h"
#include "common/stack/process.h"
#include "common/stack/stacktext.h"
#include "common/stack/unwind.h"

#define PERFFOLD_RAW_BYTES_MAX (64u << 20) /* of raw stacks that wait to be looked up */
#define PERFFOLD_LIVE_RAW_BYTES_MAX (12u << 20) /* the same while sampling: others need memory */
#define PERFFOLD_NAMES_MAX (1u << 20)  /* addresses whose names are remembered */
#define PERFFOLD_DEFERRED_MAX 4096     /* samples that wait for their user part */

struct perffold_options {
	struct stack_options stack;    /* as for readers of text */
	/* NULL: "[libfoo.so+0x1234]"; and of a stack dump the leaf alone, as it takes unwinding */
	struct symbols *symbols;
	bool inlines;                  /* frames of inlined functions, where symbols have them */
	bool is_live;                  /* files are opened when they are mapped */
	const struct perfdata_facts *facts; /* NULL: nothing is known; looked at when needed */
};

struct perffold_event {
	const char *name;
	uint64_t samples, weight;      /* weight: of all its samples, folded or not; saturates */
	bool has_period, is_folded;
};

struct perffold_result {
	uint64_t samples;              /* that were folded */
	uint64_t damaged;              /* samples that are shorter than their fields */
	const char *damage;            /* of the first one, NULL: none */
	uint64_t without_event;        /* samples whose event nobody described */
	uint64_t truncated;            /* callchains as long as the kernel lets them be */
	uint64_t unwound[UNWIND_ENDS]; /* dumps, by how unwinding ended */
	uint64_t without_user_part;    /* it was to follow and never did */
	uint64_t raw_stacks;           /* different ones that were looked up */
	const struct perffold_event *events; /* those with samples */
	size_t event_count;
	const struct process_counts *counts;
};

struct perffold;

struct perffold *perffold_new(struct fold *f, const struct perffold_options *o);
/*
 * All records of a recording. Its facts are taken where o has none; without o->stack.event the
 * first event with samples is folded, in the order they were asked for where that can be known.
 */
struct perffold *perffold_recording(struct perfdata *d, struct fold *f,
				    const struct perffold_options *o);
void perffold_take(struct perffold *pf, const struct perf_events *es, const struct perf_record *r);
/* Looks up what waits, so that the fold has all that was taken. Taking may go on. */
void perffold_flush(struct perffold *pf);
/* The same at the end of the recording; the result lives as long as pf. */
const struct perffold_result *perffold_end(struct perffold *pf);
void perffold_free(struct perffold *pf);
struct processes *perffold_processes(struct perffold *pf);

#endif
