/*
 * Stacks out of text that other tools print: what kind of text it is, and readers for each kind.
 * All of them take pieces of whole lines, of any size, keep nothing of a piece, and put what they
 * read into a fold.
 */
#ifndef STACK_STACKTEXT_H
#define STACK_STACKTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/stack/fold.h"
#include "common/stack/frame.h"

enum root_frame {
	ROOT_COMM, ROOT_PID, ROOT_TID, ROOT_CPU, ROOT_CGROUP, ROOT_NONE,
};

struct stack_options {
	struct frame_options frame;
	enum root_frame by;
	bool weighs_samples;           /* a sample is 1, whatever its period */
	const char *event;             /* only this one; NULL: the first with samples */
	unsigned max_depth;            /* frames nearest to the root that are kept; 0: all */
	unsigned side;                 /* of the fold: 0, or 1 for what a difference compares with */
};

struct stack_event {
	const char *name;              /* "" where the text does not say */
	uint64_t samples;
	bool has_period;               /* the text says how much a sample stands for */
	bool is_folded;
};

#define STACK_EVENTS_MAX 256           /* different event names in one input */

/* What came of an input. Lines count from 1. */
struct stack_result {
	uint64_t samples;              /* stacks that were folded */
	uint64_t skipped_lines, first_skipped_line;
	const char *first_skipped_why;
	uint64_t lost_stacks;          /* limits of fold.h */
	uint64_t cut_stacks;           /* deeper than max_depth */
	struct stack_event events[STACK_EVENTS_MAX];
	size_t event_count;
};

enum stack_kind {
	STACK_UNKNOWN,
	STACK_FOLDED,                  /* a;b;c 12 */
	STACK_FOLDED_TWO,              /* a;b;c 12 15: a difference */
	STACK_PERF_SCRIPT,
	STACK_KINDS
};
const char *stack_kind_name(enum stack_kind k);        /* "folded stacks", "perf script" ... */

/* From the first bytes of an input (64 KiB are enough). */
enum stack_kind stack_kind_of(struct text start);

struct stack_reader;
struct stack_reader *stack_reader_new(enum stack_kind kind, struct fold *f,
				      const struct stack_options *o);
/* Whole lines; the last may lack its newline only at the input's end. */
void stack_reader_feed(struct stack_reader *r, struct text lines);
/* Finishes a stack that no blank line ended. The result lives as long as the reader. */
const struct stack_result *stack_reader_end(struct stack_reader *r);
void stack_reader_free(struct stack_reader *r);

#endif
