/* Shared by the readers behind stacktext.h. */
#ifndef STACK_STACKTEXT_IMPL_H
#define STACK_STACKTEXT_IMPL_H

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/stack/stacktext.h"

#define STACK_FRAMES_MAX 65536         /* frames of one stack; deeper ones are cut at the root */

struct stack_reader {
	enum stack_kind kind;
	struct fold *fold;
	struct stack_options options;
	struct stack_result result;
	struct arena arena;            /* event names, reasons */
	uint64_t line;                 /* number of the line at hand, from 1 */
	void *own;                     /* the kind's */
};

/* What a kind's reader does; `own` is zeroed memory of own_size. */
struct stack_format {
	const char *name;
	size_t own_size;
	void (*begin)(struct stack_reader *r);
	void (*line)(struct stack_reader *r, struct text line, bool is_whole);
	void (*end)(struct stack_reader *r);
	void (*free)(struct stack_reader *r);
	/* a piece begins: what points into the piece before is gone */
	void (*piece)(struct stack_reader *r);
};
extern const struct stack_format stack_format_folded, stack_format_folded_two,
	stack_format_perf_script;

/* Counts a line that looks like a frame, or like the line in front of a stack. */
void stack_perf_script_look(struct text line, unsigned *frames, unsigned *headers);

void stack_skip_line(struct stack_reader *r, const char *why);
/* Counts a sample of the event and says whether it is to be folded. */
bool stack_count_event(struct stack_reader *r, struct text event, bool has_period);
/* Folds names[count] (fold_name's numbers, leaf first if is_leaf_first) below root. */
void stack_fold(struct stack_reader *r, struct text root, const uint32_t *names, size_t count,
		bool is_leaf_first, uint64_t weight);
/* The root frame by options.by: comm with its spaces as "_", behind it what `by` wants. In to. */
struct text stack_root(const struct stack_options *o, struct buf *to, struct text comm,
		       struct text pid, struct text tid, struct text cpu);

#endif
