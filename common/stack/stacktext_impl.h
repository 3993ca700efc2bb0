/* Shared by the readers behind stacktext.h. */
#ifndef STACK_STACKTEXT_IMPL_H
#define STACK_STACKTEXT_IMPL_H

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/stack/stacktext.h"

struct stack_reader {
	enum stack_kind kind;
	struct fold *fold;
	struct stack_filter *filter, *own_filter;
	struct stack_options options;
	struct stack_result result;
	struct arena arena;            /* event names, reasons */
	uint64_t line;                 /* number of the line at hand, from 1 */
	uint32_t *names;               /* the stack at hand, leaf first */
	size_t count, cap;
	bool is_deep;                  /* it has more frames than are kept, and says so */
	struct buf whole;              /* of formats that are read at the end */
	void *own;                     /* the kind's */
};

#define STACK_CERTAIN 1000             /* points of a line that no other kind has */

/* What a kind's reader does; `own` is zeroed memory of own_size. */
struct stack_format {
	const char *name;
	size_t own_size;
	/* How much the line looks like this kind: 0 not at all, 1 it may be, more: hardly others */
	unsigned (*look)(struct text line);
	void (*begin)(struct stack_reader *r);
	void (*line)(struct stack_reader *r, struct text line);
	/* takes more than a line at once: bytes, and counts the lines; 0: nothing taken */
	size_t (*lines)(struct stack_reader *r, struct text rest);
	void (*whole)(struct stack_reader *r, struct text all);        /* instead of line */
	void (*end)(struct stack_reader *r);
	void (*free)(struct stack_reader *r);
	/* a piece begins: what points into the piece before is gone */
	void (*piece)(struct stack_reader *r);
};
extern const struct stack_format stack_format_folded, stack_format_folded_two,
	stack_format_perf_script, stack_format_bpftrace, stack_format_blocks, stack_format_debugger,
	stack_format_proc, stack_format_jstack, stack_format_go_raw, stack_format_go_traces,
	stack_format_go_debug, stack_format_speedscope, stack_format_pprof;

void stack_skip_line(struct stack_reader *r, const char *why);
void stack_skip_line_at(struct stack_reader *r, uint64_t line, const char *why);
/* Reading ends: why. The first one counts. */
void stack_fail(struct stack_reader *r, const char *format, ...) PRINTF_LIKE(2, 3);

/* The event of that name, made if it is new; NULL: there are too many. The first one is folded. */
struct stack_event *stack_event(struct stack_reader *r, struct text name);
/* Counts a sample of the event and says whether it is to be folded. */
bool stack_count_event(struct stack_reader *r, struct text event, bool has_period);

/* Is there no room for another frame? Then the stack gets its "[deeper]", once, and is counted. */
bool stack_is_full(struct stack_reader *r);
/* A frame of the stack at hand, nearer to the root than those before. */
void stack_push(struct stack_reader *r, const struct frame_source *frame);
void stack_push_symbol(struct stack_reader *r, struct text symbol);    /* nothing else known */
/* Folds the stack at hand (names, count) for the task, and forgets it. */
void stack_emit(struct stack_reader *r, const struct stack_task *t, uint64_t weight);

/* Bytes of a profile as protobuf? Its points come from no line. */
bool stack_is_pprof(struct text start);
bool stack_is_speedscope(struct text start);   /* nor do its */

/* ---- text ---- */

/* Without blanks and CR at both ends. */
struct text stack_trimmed(struct text t);
bool stack_is_number(struct text t);           /* digits and nothing else, at least one */
struct text stack_take_word(struct text *t);   /* the first word, taken off with blanks around it */
bool stack_take_prefix(struct text *t, const char *prefix);
static inline bool stack_ends_with(struct text t, char c)
{
	return t.len && t.data[t.len - 1] == c;
}
/* A part of t up to where `word` stands first; false if it does not. rest: behind it. */
bool stack_split(struct text t, const char *word, struct text *before, struct text *rest);
struct text stack_base_name(struct text path);         /* behind the last slash */
/* Where the "(" of the balanced "(...)" that ends t is; t.len if there is none. */
size_t stack_last_bracket(struct text t);

/* "1.5" of units of `unit`: whole ones, rounded; saturates. */
uint64_t stack_scaled(double value, double unit);

#endif
