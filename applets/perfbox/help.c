/*
 * What --help prints, and the same as roff for the man pages: both from the tables that the parser
 * and the output read, so that neither can promise what is not there.
 */
#include <stdio.h>
#include <string.h>

#include "applets/perfbox/perfbox.h"
#include "common/report/wrap.h"

#define WIDTH 100
#define NAME_COLUMN 18                 /* where an applet's summary starts */
#define USAGE_COLUMN 7                 /* behind "usage: " */

/* The dispatcher's own; main.c reads them itself, each is the first word. To be shown only. */
#define SHOWN(letter_, name_, arg_, choices_, help_) { \
	.letter = (letter_), .name = (name_), .arg = (arg_), .help = (help_), \
	.kind = (arg_) ? OPT_TEXT : OPT_FLAG, .one_of = (choices_) }

const struct opt box_options_table[] = {
	SHOWN(0, "list", NULL, NULL, "one applet a line, name first"),
	SHOWN(0, "install", "[-s] DIR", NULL,
	      "link every applet into DIR: hard links, with -s symbolic ones"),
	SHOWN(0, "doctor", NULL, NULL,
	      "what this host lets the program see, and what unlocks the rest"),
	SHOWN(0, "man", "[APPLET]", NULL,
	      "the manual, which is inside the program (of perfbox)"),
	SHOWN(0, "completion", "SHELL", "bash|zsh|fish",
	      "completion for bash, zsh or fish, as a script"),
	SHOWN('h', "help", NULL, NULL, "this text; behind an applet's name: its own"),
	SHOWN('V', "version", NULL, NULL, "version, commit and libraries"),
	{ .letter = 0 },
};

static const struct { const char *status, *meaning; } statuses[] = {
	{ "0", "looked at everything, nothing found" },
	{ "1", "something was found, in a state that counts (see --state)" },
	{ "2", "the command line was not understood" },
	{ "3", "cannot tell: what was needed could not be read or written; stderr says why" },
};

#define STATUS_COUNT (sizeof(statuses) / sizeof(*statuses))

static const char *value_name(const struct opt *o)
{
	return o->arg ? o->arg : o->one_of ? o->one_of : "VALUE";
}

/* Did one of the modes before have the same options? */
static bool has_shown_options(const struct mode *const *modes, size_t mode)
{
	for (size_t m = 0; m < mode; m++)
		if (modes[m]->opts == modes[mode]->opts)
			return true;
	return false;
}

/* The same of the mode's table t. */
static bool has_shown_table(const struct mode *const *modes, size_t mode, size_t t)
{
	const struct table *table = modes[mode]->tables[t];

	for (size_t m = 0; m < mode; m++)
		for (size_t i = 0; modes[m]->tables && modes[m]->tables[i]; i++)
			if (modes[m]->tables[i] == table)
				return true;
	return false;
}

/* How the applet is called: the one that is not listed is an option of perfbox. */
static const char *called(const struct applet *applet)
{
	return applet == &applet_doctor ? "--doctor" : applet->name;
}

/* For people. */

static void add_usage(struct buf *to, const struct applet *applet, const struct mode *mode)
{
	buf_printf(to, "perfbox %s%s%s [options]%s%s\n", called(applet), mode->option ? " " : "",
		   mode->option ? mode->option : "", mode->operands ? " " : "",
		   mode->operands ? mode->operands : "");
	if (!mode->summary)
		return;
	buf_printf(to, "%*s", USAGE_COLUMN + 4, "");
	wrap_words(to, mode->summary, USAGE_COLUMN + 4, WIDTH);
}

static void add_columns(struct buf *to, const struct table *t)
{
	struct buf line = { 0 };

	buf_printf(&line, "Columns of table %s", t->name);
	if (t->help)
		buf_printf(&line, " (%s)", t->help);
	if (t->sort)
		buf_printf(&line, ", sorted by %s%s", t->sort + (*t->sort == '-'),
			   *t->sort == '-' ? ", largest first" : "");
	buf_add_text(&line, ": name, title, meaning");
	buf_add_char(to, '\n');
	wrap_words(to, line.data, 0, WIDTH);
	table_help(to, t, WIDTH);
	buf_free(&line);
}

static void add_findings(struct buf *to, const struct finding_kind *kinds)
{
	buf_add_text(to, "\nFindings: state, when\n");
	for (; kinds->id; kinds++) {
		buf_printf(to, "  %s: %s\n      ", kinds->id, kinds->states);
		wrap_words(to, kinds->when, 6, WIDTH);
	}
}

static void add_statuses(struct buf *to)
{
	buf_add_text(to, "\nExit status:\n");
	for (size_t i = 0; i < STATUS_COUNT; i++)
		buf_printf(to, "  %s  %s\n", statuses[i].status, statuses[i].meaning);
}

static void print(struct buf *text)
{
	fwrite(text->data, 1, text->len, stdout);
	buf_free(text);
}

/* Of the default mode: of all modes; of another: of that one. */
void help_print(const struct applet *applet, const struct mode *mode)
{
	bool is_whole = mode == applet->modes[0];
	const struct mode *const alone[] = { mode, NULL };
	const struct mode *const *modes = is_whole ? applet->modes : alone;
	struct buf text = { 0 };

	buf_printf(&text, "perfbox %s: ", called(applet));
	wrap_words(&text, applet->summary, text.len, WIDTH);
	buf_add_char(&text, '\n');
	for (size_t m = 0; modes[m]; m++) {
		buf_add_text(&text, m ? "       " : "usage: ");
		add_usage(&text, applet, modes[m]);
	}
	for (size_t m = 0; modes[m]; m++) {
		if (opt_is_end(modes[m]->opts) || has_shown_options(modes, m))
			continue;
		if (modes[m]->option)
			buf_printf(&text, "\nOptions of %s:\n", modes[m]->option);
		else
			buf_add_text(&text, "\nOptions:\n");
		opt_help(&text, modes[m]->opts, WIDTH);
	}
	buf_add_text(&text, "\nOptions that all applets share:\n");
	opt_help(&text, shared_options_table, WIDTH);
	for (size_t m = 0; modes[m]; m++)
		for (size_t t = 0; modes[m]->tables && modes[m]->tables[t]; t++)
			if (!has_shown_table(modes, m, t))
				add_columns(&text, modes[m]->tables[t]);
	if (applet->findings && applet->findings->id)
		add_findings(&text, applet->findings);
	add_statuses(&text);
	buf_printf(&text, "\nManual: perfbox --man%s%s\n", applet == &applet_doctor ? "" : " ",
		   applet == &applet_doctor ? "" : applet->name);
	print(&text);
}

void help_print_box(void)
{
	struct buf text = { 0 };

	buf_add_text(&text, "perfbox: what is this machine waiting for, and what proves it?\n"
			    "\n"
			    "usage: perfbox APPLET [options] [operands]\n"
			    "       perfbox OPTION\n"
			    "       APPLET [options] [operands]    where it is a link to perfbox\n"
			    "\nApplets:\n");
	for (size_t i = 0; applets[i]; i++) {
		buf_printf(&text, "  %-*s", NAME_COLUMN - 2, applets[i]->name);
		wrap_words(&text, applets[i]->summary, NAME_COLUMN, WIDTH);
	}
	buf_add_text(&text, "\nOptions of perfbox itself:\n");
	opt_help(&text, box_options_table, WIDTH);
	buf_add_text(&text, "\nOptions that all applets share:\n");
	opt_help(&text, shared_options_table, WIDTH);
	add_statuses(&text);
	buf_add_text(&text, "\nMore: perfbox APPLET --help, perfbox --man APPLET, perfbox --man\n");
	print(&text);
}

/* For man(7). */

/* Text that roff takes as it stands: no escape, no request at the start of a line, real dashes. */
static void roff_text(struct buf *to, const char *s)
{
	if (*s == '.' || *s == '\'')
		buf_add_text(to, "\\&");
	for (; *s; s++) {
		if (*s == '\\')
			buf_add_text(to, "\\e");
		else if (*s == '-')
			buf_add_text(to, "\\-");
		else if (*s == '"')
			buf_add_text(to, "\\(dq");
		else if (*s == '\'')
			buf_add_text(to, "\\(aq");
		else if (*s == '`' || *s == '^' || *s == '~')
			buf_add_text(to, *s == '`' ? "\\(ga" : *s == '^' ? "\\(ha" : "\\(ti");
		else
			buf_add_char(to, *s);
	}
}

static void roff_line(struct buf *to, const char *s)
{
	roff_text(to, s);
	buf_add_char(to, '\n');
}

static void roff_in_font(struct buf *to, char font, const char *before, const char *s)
{
	buf_printf(to, "\\f%c", font);
	roff_text(to, before);
	roff_text(to, s);
	buf_add_text(to, "\\fR");
}

static void roff_choices(struct buf *to, const char *one_of)
{
	buf_add_text(to, ".br\nOne of ");
	for (; *one_of; one_of++) {
		char c[] = { *one_of, '\0' };

		if (*one_of == '|')
			buf_add_text(to, ", ");
		else
			roff_text(to, c);
	}
	buf_add_text(to, ".\n");
}

static void roff_options(struct buf *to, const struct opt *table)
{
	for (const struct opt *o = table; !opt_is_end(o); o++) {
		char letter[] = { o->letter, '\0' };

		if (o->hidden)
			continue;
		buf_add_text(to, ".TP\n");
		if (o->letter)
			roff_in_font(to, 'B', "-", letter);
		if (o->letter && o->name)
			buf_add_text(to, ", ");
		if (o->name)
			roff_in_font(to, 'B', "--", o->name);
		if (opt_takes_value(o))
			roff_in_font(to, 'I', " ", value_name(o));
		buf_add_char(to, '\n');
		roff_line(to, o->help ? o->help : "");
		if (opt_takes_value(o) && o->arg && o->one_of)
			roff_choices(to, o->one_of);
	}
}

static void roff_table(struct buf *to, const struct table *t)
{
	buf_add_text(to, ".SS ");
	roff_line(to, t->name);
	if (t->help)
		roff_line(to, t->help);
	if (t->sort) {
		buf_add_text(to, t->help ? ".br\nSorted by " : "Sorted by ");
		roff_text(to, t->sort + (*t->sort == '-'));
		buf_add_text(to, *t->sort == '-' ? ", largest first.\n" : ".\n");
	}
	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		buf_add_text(to, ".TP\n");
		roff_in_font(to, 'B', "", c->name);
		if (c->title) {
			buf_add_text(to, " (");
			roff_text(to, c->title);
			buf_add_char(to, ')');
		}
		buf_add_char(to, '\n');
		roff_line(to, c->help ? c->help : "");
	}
}

static void begin_region(struct buf *to, const char *name)
{
	buf_printf(to, ".\\\" BEGIN %s\n.SH %s\n", name, name);
}

static void end_region(struct buf *to, const char *name)
{
	buf_printf(to, ".\\\" END %s\n", name);
}

static void roff_applet_options(struct buf *to, const struct applet *applet)
{
	bool has_own = false;

	for (size_t m = 0; applet->modes[m]; m++) {
		const struct mode *mode = applet->modes[m];

		if (opt_is_end(mode->opts) || has_shown_options(applet->modes, m))
			continue;
		has_own = true;
		if (mode->option) {
			buf_add_text(to, ".SS Options of ");
			roff_line(to, mode->option);
		}
		roff_options(to, mode->opts);
	}
	buf_add_text(to, has_own ? ".SS Options that all applets share\n" : "");
	roff_options(to, shared_options_table);
}

static void roff_columns(struct buf *to, const struct applet *applet)
{
	for (size_t m = 0; applet->modes[m]; m++) {
		const struct table *const *tables = applet->modes[m]->tables;

		for (size_t t = 0; tables && tables[t]; t++)
			if (!has_shown_table(applet->modes, m, t))
				roff_table(to, tables[t]);
	}
}

static void roff_findings(struct buf *to, const struct finding_kind *kinds)
{
	for (; kinds->id; kinds++) {
		buf_add_text(to, ".TP\n");
		roff_in_font(to, 'B', "", kinds->id);
		buf_add_text(to, " (");
		roff_text(to, kinds->states);
		buf_add_text(to, ")\n");
		roff_line(to, kinds->when);
	}
}

static void roff_statuses(struct buf *to)
{
	for (size_t i = 0; i < STATUS_COUNT; i++) {
		buf_printf(to, ".TP 4\n%s\n", statuses[i].status);
		roff_line(to, statuses[i].meaning);
	}
}

void help_man_regions(const struct applet *applet)
{
	struct buf text = { 0 };

	begin_region(&text, "OPTIONS");
	if (applet) {
		roff_applet_options(&text, applet);
	} else {
		roff_options(&text, box_options_table);
		buf_add_text(&text, ".SS Options that all applets share\n");
		roff_options(&text, shared_options_table);
	}
	end_region(&text, "OPTIONS");
	if (applet) {
		begin_region(&text, "COLUMNS");
		roff_columns(&text, applet);
		end_region(&text, "COLUMNS");
	}
	if (applet && applet->findings && applet->findings->id) {
		begin_region(&text, "FINDINGS");
		roff_findings(&text, applet->findings);
		end_region(&text, "FINDINGS");
	}
	begin_region(&text, "EXIT STATUS");
	roff_statuses(&text);
	end_region(&text, "EXIT STATUS");
	print(&text);
}
