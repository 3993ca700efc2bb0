/* Inside the dispatcher: what its parts know of each other. For applets/perfbox alone. */
#ifndef APPLETS_PERFBOX_PERFBOX_H
#define APPLETS_PERFBOX_PERFBOX_H

#include <stdbool.h>

#include "applets/applet.h"
#include "common/base/buf.h"

/* options.c: the options all applets share: for the parser, help, man pages and completion. */
extern const struct opt shared_options_table[];

struct shared_choices {                 /* what the dispatcher alone needs of them */
	bool json, tsv, openmetrics, redact, exit_zero, help, version;
	const char *table, *columns, *sort, *save, *root, *states, *workload;
	uint64_t top;
};
extern struct shared_choices choices;

/* For those who walk through a table of options. */
static inline bool opt_is_end(const struct opt *o)
{
	return !o || (!o->letter && !o->name);
}

static inline bool opt_takes_value(const struct opt *o)
{
	return o->kind != OPT_FLAG && !(o->kind == OPT_NOTHING && !o->arg);
}

/* loop.c: one line on stderr with the last failure's text, escaped; applet NULL: perfbox itself. */
void complain_about(const char *applet, bool with_hint);

/* loop.c: runs one mode: start, frames, formats, saving, exit status. argv[1..] are operands. */
int loop_run(const struct applet *applet, const struct mode *mode, int argc, char **argv);

/*
 * help.c: --help of an applet or of perfbox; the OPTIONS, COLUMNS, FINDINGS and EXIT STATUS regions
 * of a man page in roff (applet NULL: of perfbox(8)).
 */
extern const struct opt box_options_table[];     /* perfbox's own, to be shown; main.c reads them */
void help_print(const struct applet *applet, const struct mode *mode);
void help_print_box(void);
void help_man_regions(const struct applet *applet);

/* install.c: perfbox --install [-s] DIR. Exit status. */
int install_links(bool symbolic, const char *dir);

/* manpage.c: perfbox --man APPLET through $PAGER, less, more, else plain. Exit status. */
int man_show(const char *name);

/* completion.c: perfbox --completion bash|zsh|fish. Exit status. */
int completion_print(const char *shell);

/* doctor.c: perfbox --doctor, an applet of one mode that is not listed. */
extern const struct applet applet_doctor;

#endif
