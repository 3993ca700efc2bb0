/* Inside offcpu: what was asked, what was seen, and how it is told. */
#ifndef APPLETS_OFFCPU_OFFCPU_H
#define APPLETS_OFFCPU_OFFCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "applets/applet.h"
#include "common/stack/fold.h"
#include "common/stack/waitcause.h"
#include "common/stack/waits.h"

/* Modes: each lives in a file of its own. */
extern const struct mode window_mode, ledger_mode;
extern const struct finding_kind offcpu_findings[];

/* ---- the window: options.c ---- */

enum window_output {
	OUTPUT_TABLES, OUTPUT_FOLDED, OUTPUT_SVG, OUTPUT_PPROF,
};

enum window_root {
	BY_COMM, BY_PID, BY_TID, BY_CGROUP, BY_NONE,
};

/* What of a wait is told: bits. */
enum window_part {
	PART_SLEEPING = 1, PART_RUNNABLE = 2, PART_PREEMPTED = 4,
	PART_ALL = PART_SLEEPING | PART_RUNNABLE | PART_PREEMPTED,
};

struct window_options {
	/* as they were typed */
	struct opt_numbers pids, tids;
	const char *cgroup, *comm, *only_text, *by_text, *state_text, *title, *file;
	bool user_threads, kernel_threads, folded, svg, pprof, user_only, kernel_only, no_idle,
		completed_only, wakers, locks;
	uint64_t least_us, most_us, waker_depth, storage;

	/* what they come to */
	enum window_output output;
	enum window_root by;
	unsigned parts;
	uint32_t state_mask;
	uint64_t window_ns;
};
extern struct window_options window;

extern const struct opt window_opts[];
/* Checks and combines what was typed. 0 or -EINVAL with fail text. */
int window_check(int argc, char **argv);
const char *window_narrowed(struct arena *a);  /* struct mode's narrowed */

/* ---- who: targets.c ---- */

struct targets {
	struct opt_numbers pids, tids; /* that the kernel's program is to look at */
	bool inherits, takes_all_new;
	bool is_all;
};
/* 0, or -errno with fail text: nobody is there. Freed by targets_free. */
int targets_find(struct targets *t);
void targets_free(struct targets *t);
/* Whether a thread's rows are told; comm decides last, since names change. */
bool targets_want(const struct wait_thread *t);

/* ---- measuring: measure.c ---- */

/* The window, or what a saved one was. 0 or -errno with fail text. */
int measure_window(struct out *out, struct waits *w);

/* ---- what was seen: view.c ---- */

/* Rows of equal thread name (or what --by says), stacks and cause. */
struct wait_group {
	const char *root;              /* NULL: --by none */
	uint32_t user, kernel, chain;
	enum wait_cause cause;
	bool is_idle;
	bool is_kernel;                /* of kernel threads */
	uint32_t flags;                /* of any row */
	uint64_t threads, count, sleep_ns, wait_ns, preempted_ns, throttled_ns, max_ns;
	uint64_t total_ns;             /* of the parts that were asked for */
	uint32_t last_thread;          /* to count threads */
};

struct view {
	const struct waits *waits;
	struct arena arena;
	struct wait_group *groups;
	size_t count, cap;
	uint64_t total_ns, busy_ns;    /* all; and what is not idle */
	/* of busy_ns: asleep by its own clock, or all through the window where nobody had to
	 * answer: no measure for what hurts */
	uint64_t resting_ns;
	uint64_t by_cause_ns[CAUSES], by_cause_count[CAUSES];
	uint64_t sleep_ns, wait_ns, preempted_ns, throttled_ns;
	uint64_t threads;
};
void view_make(struct view *v, const struct waits *w);
void view_free(struct view *v);
enum wait_cause view_cause(const struct waits *w, const struct wait_row *r);
/* "read < fetch < main": user frames from the leaf, at most max; "-" without any. */
const char *view_where(struct arena *a, const struct waits *w, uint32_t stack, unsigned max);
/* "comm/pid tid N", redacted. */
const char *view_thread(struct arena *a, const struct wait_thread *t);

/* ---- telling: output.c, tables.c, locks.c, findings.c ---- */

int output_write_window(struct out *out, const struct view *v);
/* The stack of a group as a node of f. */
uint32_t output_place(struct fold *f, const struct waits *w, const struct wait_group *g);

extern const struct table *const window_tables[];
const char *window_first_table(void);
void tables_show(struct out *out, const struct view *v);

/* One futex that threads of one process waited for. */
struct lock_sum {
	uint64_t tgid, address;
	uint32_t thread, user, chain;  /* of the row with most time; chain: likewise */
	uint32_t holder_row;
	uint64_t waited_ns, count, max_ns, waiters, chain_ns;
	bool is_lock;                  /* and not some other futex */
};
size_t locks_find(const struct waits *w, struct arena *a, struct lock_sum **locks);
void locks_show(struct out *out, const struct waits *w);
/* Lines of text about who woke, and what that one waited for itself, however deep it is known. */
void chain_tell(struct arena *a, const struct waits *w, uint32_t chain, struct finding *f);

void window_findings(struct out *out, const struct view *v);

#endif
