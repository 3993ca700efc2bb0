/*
 * Stacks out of text that other tools print: what kind of text it is, and readers for each kind.
 * All of them take pieces of whole lines, of any size, and put what they read into a fold. Those
 * of kinds that are no lines (JSON, protobuf) keep the pieces and read them at the end.
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
#include "common/stack/stackfilter.h"

struct stack_options {
	struct frame_options frame;
	struct stack_filter *filter;   /* the caller's; NULL: all samples, by comm */
	bool weighs_samples;           /* a sample is 1, whatever its period */
	const char *event;             /* only this one; NULL: the first with samples */
	unsigned side;                 /* of the fold: 0, or 1 for the second of a difference */
};

struct stack_event {
	const char *name;              /* "" where the text does not say */
	const char *unit;              /* of the weights: "ns", "bytes" ...; NULL: not said */
	uint64_t samples;
	bool has_period;               /* the text says how much a sample stands for */
	bool is_folded;
};

#define STACK_EVENTS_MAX 256           /* different event names in one input */
#define STACK_FRAMES_MAX 65536         /* of a stack; for those behind them stands "[deeper]" */
#define STACK_LINE_MAX (16u << 20)     /* bytes of a line; longer ones are skipped */
#define STACK_WHOLE_MAX (1u << 30)     /* bytes of an input that is kept until its end */

/* What came of an input. Lines count from 1. Stacks left out: stack_filter_counts. */
struct stack_result {
	uint64_t samples;              /* stacks that were folded */
	uint64_t deep_stacks;          /* of more frames than STACK_FRAMES_MAX */
	uint64_t lost_samples;         /* before they were text, as the text says */
	uint64_t skipped_lines, first_skipped_line;
	const char *first_skipped_why;
	const char *failure;           /* why reading ended early; NULL: it did not */
	struct stack_event events[STACK_EVENTS_MAX];
	size_t event_count;
};

enum stack_kind {
	STACK_UNKNOWN,
	STACK_FOLDED,                  /* a;b;c 12 */
	STACK_FOLDED_TWO,              /* a;b;c 12 15: a difference */
	STACK_PERF_SCRIPT,
	STACK_BPFTRACE,                /* @[...]: 12 */
	STACK_BLOCKS,                  /* bcc's tools, dtrace: frames, leaf first, and a count */
	STACK_DEBUGGER,                /* gdb, pstack, eu-stack */
	STACK_PROC,                    /* /proc/PID/stack */
	STACK_JSTACK,
	STACK_GO_RAW,                  /* go tool pprof -raw */
	STACK_GO_TRACES,               /* go tool pprof -traces */
	STACK_GO_DEBUG,                /* /debug/pprof/...?debug=1 and 2, a Go program's panic */
	STACK_SPEEDSCOPE,
	STACK_PPROF,                   /* protobuf, not compressed */
	STACK_KINDS
};
const char *stack_kind_name(enum stack_kind k);        /* "folded stacks", "perf script" ... */

/* From the first bytes of an input (STACK_LOOK_BYTES are enough). */
#define STACK_LOOK_BYTES (64u << 10)
enum stack_kind stack_kind_of(struct text start);
/*
 * For STACK_UNKNOWN: what it is instead, in words ("an SVG picture"), or NULL if it looks like
 * nothing known; and the first line with something on it, from 1.
 */
const char *stack_unknown_is(struct text start, uint64_t *line);

struct stack_reader;
struct stack_reader *stack_reader_new(enum stack_kind kind, struct fold *f,
				      const struct stack_options *o);
bool stack_reader_takes_bytes(const struct stack_reader *r);   /* no lines: pieces cut anywhere */
/* Whole lines; the last may lack its newline only at the input's end. */
void stack_reader_feed(struct stack_reader *r, struct text lines);
/* A line that was too long to be fed: counts it. */
void stack_reader_skip_line(struct stack_reader *r);
/* Finishes a stack that no blank line ended. The result lives as long as the reader. */
const struct stack_result *stack_reader_end(struct stack_reader *r);
void stack_reader_free(struct stack_reader *r);

#endif
