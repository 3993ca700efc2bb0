/* Inside flamefold: what was asked, what was folded, and how it is told. */
#ifndef APPLETS_FLAMEFOLD_FLAMEFOLD_H
#define APPLETS_FLAMEFOLD_FLAMEFOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/stack/flamegraph.h"
#include "common/stack/fold.h"
#include "common/stack/frame.h"
#include "common/stack/perfdata.h"
#include "common/stack/stackfilter.h"

enum output {
	OUTPUT_FOLDED, OUTPUT_SVG, OUTPUT_PPROF, OUTPUT_SPEEDSCOPE,    /* streams of their own */
	OUTPUT_FUNCTIONS, OUTPUT_STACKS,                               /* tables */
};

/* The options as they were typed; options.c makes the rest of them. */
struct typed {
	bool svg, functions, pprof, speedscope, icicle, negate, hot_cold;
	const char *file;              /* -o */
	const char *title, *subtitle, *unit, *width, *min_width, *palette;
	const char *by, *weight, *event, *include, *exclude, *from, *to, *cpus;
	struct opt_texts skip_after;
	bool kernel, jit, all, inlined, context, addresses, source_lines, keeps_arguments, reverse;
	bool simplifies;
	uint64_t max_depth;
	const char *symfs, *kallsyms, *vmlinux, *buildids;
	/* who is recorded or counted */
	bool all_cpus;
	struct opt_numbers pids, tids;
	const char *cgroup;
	uint64_t frequency, period, pages;
	const char *call_graph;
};
extern struct typed typed;

struct asked {
	enum output output;
	struct stack_filter_options filter;
	struct frame_options frame;
	bool weighs_samples;
	struct flamegraph picture;
};
extern struct asked asked;

/* Checks and combines what was typed. 0 or -EINVAL with fail text. */
int options_check(void);
/* Once out is there: with --json and the like the default output is a table, --table says which. */
void options_choose_output(struct out *out, bool is_difference);
const char *options_first_table(void);         /* struct mode's first_table */
const char *options_output(void);              /* struct mode's output */
/* "1.5", "90s": -EINVAL with fail text that names the option. */
int options_seconds(const char *option, const char *text, double *seconds);

/* The option tables of each mode (options.c). */
extern const struct opt fold_options[], diff_options[], record_options[], stat_options[];

/* What was folded. */
struct profile {
	struct fold *fold;
	struct stack_filter *filter;   /* of the side being read */
	struct arena arena;
	const char *event;             /* that was folded; NULL: nothing was, or it has no name */
	const char *unit;              /* of the weights; NULL: not known; "samples" */
	uint64_t samples;              /* stacks folded */
	uint64_t truncated;            /* of them: without their callers, as far as is known */
	uint64_t taken, lost;          /* samples of recordings, wanted or not; lost on their way */
};

/* input.c: a file, a folder, or "-", added to the side. Only what makes going on senseless is an
 * error; what is wrong with the input is told to out. */
int input_read(struct out *out, struct profile *p, const char *path, unsigned side);
void profile_open(struct profile *p);
void profile_free(struct profile *p);
/* A filter for the next side; the same for both. 0 or -EINVAL. */
int profile_filter(struct profile *p);
/* What the filter left out, told to out once all was read. */
void profile_tell(struct out *out, const struct profile *p);
/* "cpu-clock" has ns; other events count themselves. */
const char *unit_of_event(struct arena *a, const char *event, bool has_period);

/* samples.c: records on their way into a profile: from a perf.data or from live rings. */
struct samples;
struct samples_source {
	const char *name;              /* for messages */
	const char *event;             /* only this one; NULL: the first with samples */
	struct perfdata *recording;    /* taken as a whole; NULL: recorded here and now */
	unsigned side;
};
struct samples *samples_open(struct profile *p, const struct samples_source *from);
struct perffold *samples_fold(struct samples *s);
/* Brings the profile up to what was taken; taking goes on. */
void samples_look_up(struct samples *s);
/* Looks the rest up, adds to p's counts, and tells what was lost. The result lives as long as s. */
const struct perffold_result *samples_end(struct out *out, struct samples *s);
void samples_free(struct samples *s);

/* One line on stderr about the events of an input: which was folded, how to choose. */
struct event_count {
	const char *name;
	uint64_t samples;
	bool is_folded;
};
void events_tell(struct out *out, const char *input, const char *wanted,
		 const struct event_count *events, size_t count);
/* Weights of one unit add up, of two they don't: told to out. */
void profile_take_unit(struct out *out, struct profile *p, const char *input, const char *event,
		       const char *unit);

/* output.c: as asked. 0 or -errno. */
int output_write(struct out *out, const struct profile *p, bool is_difference);

/* functions.c: of each name, by its number (fold_name's): what it ran itself, and with what it
 * called. The caller's to free; [*names]. */
struct function_sums {
	uint64_t self[2], total[2];    /* by side; recursion counts once */
};
struct function_sums *functions_sum(const struct fold *f, uint32_t *names);
void profile_totals(const struct profile *p, uint64_t total[2]);

/* tables.c */
extern const struct table *const fold_tables[], *const diff_tables[];
bool stacks_wanted(struct out *out, bool is_difference);       /* --table did not leave them out */
bool functions_wanted(struct out *out, bool is_difference);
void stacks_show(struct out *out, const struct profile *p, bool is_difference);
void functions_show(struct out *out, const struct profile *p, bool is_difference);
/* Only what came since `before`, which is brought up to now; NULL at first, freed by the caller. */
void functions_show_since(struct out *out, const struct profile *p, struct function_sums **before,
			  uint32_t *names);

/* shape.c: what the profile looks like, in a few lines, and where to look next. */
void shape_tell(struct out *out, const struct profile *p);
/* Findings that any profile can give: frames without names, cut stacks. */
void shape_find(struct out *out, const struct profile *p);

/* A note: with tables a finding, else lines on stderr (output.c). f lives in out_arena. */
extern const struct finding_kind flamefold_findings[];
struct finding *note_start(struct out *out, const char *id, const char *subject);
void note_tell(struct out *out, struct finding *f);

/* hints.c: what looks closer at what the kernel function does; NULL: nothing known. */
struct hint {
	const char *function, *means, *next;
};
const struct hint *hint_of(struct text function);

#endif
