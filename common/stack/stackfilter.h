/*
 * Which samples and which of their frames go into a fold, and under which root frame: for stacks of
 * any source (text, recordings, live sampling).
 */
#ifndef STACK_STACKFILTER_H
#define STACK_STACKFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/stack/fold.h"

enum root_frame {
	ROOT_COMM, ROOT_PID, ROOT_TID, ROOT_CPU, ROOT_CGROUP, ROOT_NONE,
};

#define STACK_CPUS_MAX 65536
#define STACK_SKIP_AFTER_MAX 64        /* names of functions */

struct stack_filter_options {
	enum root_frame by;
	/*
	 * POSIX extended expressions, NULL: all. Stacks are kept that have (that have no) frame
	 * which matches, the root frame among them.
	 */
	const char *include, *exclude;
	/* the match nearest to the leaf becomes the outermost frame below the root */
	const char *skip_after[STACK_SKIP_AFTER_MAX];
	size_t skip_after_count;
	bool has_from, has_to;
	double from, to;               /* seconds on the recording's clock, both inclusive */
	const char *cpus;              /* "0-3,8"; NULL: all */
	unsigned max_depth;            /* frames nearest to the root that are kept; 0: all */
	bool reverse;                  /* the leaf at the root of the tree: who calls it above it */
};

struct stack_filter_counts {
	uint64_t excluded;             /* by include, exclude, cpus, from or to */
	uint64_t without_time;         /* from or to was asked, and nothing says when it was: out */
	uint64_t without_cpu;          /* as above */
	uint64_t cut;                  /* deeper than max_depth */
	uint64_t lost;                 /* limits of fold.h */
};

struct stack_filter;

/* 0, or -EINVAL with fail text (a bad expression or CPU list). Owned by the caller. */
int stack_filter_new(const struct stack_filter_options *o, struct fold *f,
		     struct stack_filter **made);
void stack_filter_free(struct stack_filter *s);
const struct stack_filter_counts *stack_filter_counts(const struct stack_filter *s);

/* Time and CPU; NA_F64 and NA_U64 where they are not known. Counts what is not wanted. */
bool stack_filter_wants(struct stack_filter *s, double time, uint64_t cpu);
enum root_frame stack_filter_by(const struct stack_filter *s);
bool stack_filter_asks_frames(const struct stack_filter *s); /* any option that looks at frames */

struct stack_task {
	struct text comm, pid, tid, cpu, cgroup;       /* empty: unknown */
};
/* The number (fold_name's) of the root frame for it, by options.by; 0: none. */
uint32_t stack_filter_root(struct stack_filter *s, const struct stack_task *t);

#define STACK_DROPPED (UINT32_MAX - 1) /* instead of a node: the stack is not wanted */

/*
 * Where names[count] (fold_name's numbers) below root (0: none) belong: a node, FOLD_FULL or
 * STACK_DROPPED. Counts neither: stack_filter_count does, so that a caller can remember the answer
 * for a stack that comes again. is_cut: deeper than max_depth.
 */
uint32_t stack_filter_place(struct stack_filter *s, uint32_t root, const uint32_t *names,
			    size_t count, bool is_leaf_first, bool *is_cut);
/* Counts a sample that belongs there; true: fold_add it. */
bool stack_filter_count(struct stack_filter *s, uint32_t node, bool is_cut);

#endif
