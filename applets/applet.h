/* What an applet declares. The dispatcher (applets/perfbox) owns options, loop, formats and exit
 * status. */
#ifndef APPLETS_APPLET_H
#define APPLETS_APPLET_H

#include <stdbool.h>

#include "common/report/finding.h"
#include "common/report/opt.h"
#include "common/report/out.h"
#include "common/report/table.h"

enum {
	LOOK_LAST = 1,                 /* it has what it waited for: no more frames */
	LOOK_SILENT = 2,               /* nothing of this frame is worth printing */
};

struct mode {
	const char *option;                /* NULL: the default mode; else "--probe" */
	const char *operands;              /* "[interval [count]]"; shown by --help */
	const char *summary;               /* of a mode that is not the default */
	const struct opt *opts;            /* NULL: none of its own */
	const struct table *const *tables; /* NULL-terminated */
	/* Which table TSV prints unless told, the options being known; NULL: the first. */
	const char *(*first_table)(void);
	/* What of the host the options leave, as they were typed; NULL (also the result): all of
	 * it. */
	const char *(*narrowed)(struct arena *a);
	/* -o: the file that takes the place of standard output (outfile.h); NULL (also the result):
	 * none. */
	const char *(*output)(void);
	bool in_triage;
	bool takes_interval; /* the dispatcher reads [interval [count]] off the operands */
	bool has_no_root; /* what it reads is named by the user: neither --save nor --root */
	/* Of these only the last operands, if they are numbers; those before them go to start. */
	bool takes_words;
	bool once;                         /* one report unless a count is given (triage) */
	uint64_t interval_ns;              /* default; 0: 1 s */

	/* Checks operands and opens what it needs. 0, or -errno with fail text (-EINVAL: status 2,
	 * else 3). */
	int (*start)(int argc, char **argv);
	/* One frame: the first call is the baseline and prints nothing (unless
	 * src_frame()->is_only). 0 or LOOK_ bits; -errno ends the run. */
	int (*look)(struct out *out);
	/*
	 * A sample between two looks (see src_sample_begin), called while the loop waits; never in
	 * a replay. Returns in how many ns the next one is wanted; 0: none before the next look.
	 * NULL: no samples.
	 */
	uint64_t (*poll)(void);
	/*
	 * Live, instead of the loop's own sleep: waits till CLOCK_MONOTONIC is due_ns, half a
	 * second at most. 1: the next frame now; 0: not yet; -1: the last one, then the end. NULL:
	 * the loop sleeps.
	 */
	int (*wait)(uint64_t due_ns);
	/* Whether people at a terminal get a screen redrawn in place (screen.h); NULL: no. */
	bool (*wants_screen)(void);
	/* Or it owns its time: returns 0 or -errno. */
	int (*run)(struct out *out);
	/* Back as before start; may be called after a failed start. */
	void (*stop)(void);
};

struct applet {
	const char *name, *summary;
	const char *area; /* what triage calls it when it is clean: "CPU"; NULL: nothing */
	const struct mode *const *modes;   /* NULL-terminated; the first is the default */
	const struct finding_kind *findings; /* ends with id NULL; NULL: none */
	const char *
		sees_not; /* what it can't see without being asked, for triage's "not seen"; NULL */
};

/* All applets, in the order of applets.def; NULL-terminated. */
extern const struct applet *const applets[];
const struct applet *applet_find(const char *name);

/* The options every applet has, parsed by the dispatcher before start. */
struct shared_options {
	bool past;                         /* --past: list since-boot counters */
	bool verbose;                      /* -v */
	bool quiet;                        /* -q */
	bool no_header;                    /* --no-header */
	uint64_t interval_ns,
		count; /* as asked; count NA_U64: until interrupted; start may change it */
	bool has_count;                    /* count was typed */
	unsigned keep_frames; /* --save keeps only the latest (0: all); start may set it */
};
extern struct shared_options shared;

/* A signal asked for the end: for modes that own their time. */
bool run_is_interrupted(void);

#endif
