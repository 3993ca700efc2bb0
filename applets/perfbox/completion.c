/*
 * perfbox --completion bash|zsh|fish: scripts made from the tables the parser reads. Each shell has
 * a fixed part that finds out which applet is being typed, and a generated list per applet.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "applets/perfbox/perfbox.h"
#include "common/base/mem.h"

#define WORDS_MAX 1024                 /* choices of one option: columns of all tables */

/* What may stand behind an option. */
enum value_kind { VALUE_NONE, VALUE_ANY, VALUE_CHOICE, VALUE_DIR, VALUE_FILE };

struct value {
	enum value_kind kind;
	const char *choices;           /* of VALUE_CHOICE, separated by spaces */
};

static void add_choice(struct buf *to, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = to->data; at && (at = strstr(at, word)); at += n)
		if ((at == to->data || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return;
	buf_printf(to, "%s%s", to->len ? " " : "", word);
}

/* Names of the tables an applet prints, or of their columns. */
static const char *names_of(struct arena *arena, const struct applet *applet, bool is_columns)
{
	struct buf names = { 0 };

	for (size_t m = 0; applet->modes[m]; m++) {
		const struct table *const *tables = applet->modes[m]->tables;

		for (size_t t = 0; tables && tables[t]; t++) {
			if (!is_columns)
				add_choice(&names, tables[t]->name);
			for (size_t c = 0; is_columns && c < tables[t]->column_count; c++)
				add_choice(&names, tables[t]->columns[c].name);
		}
	}
	if (!is_columns)
		add_choice(&names, "findings");
	const char *copy = arena_text(arena, buf_text(&names));

	buf_free(&names);
	return copy;
}

/* "a|b" as "a b". */
static const char *spaced(struct arena *arena, const char *alternatives)
{
	char *copy = arena_strdup(arena, alternatives);

	for (char *c = copy; *c; c++)
		if (*c == '|')
			*c = ' ';
	return copy;
}

static struct value value_of(struct arena *arena, const struct applet *applet, const struct opt *o)
{
	const char *name = o->name ? o->name : "";

	if (!opt_takes_value(o))
		return (struct value){ VALUE_NONE, NULL };
	if (o->one_of)
		return (struct value){ VALUE_CHOICE, spaced(arena, o->one_of) };
	if (!strcmp(name, "table"))
		return (struct value){ VALUE_CHOICE, names_of(arena, applet, false) };
	if (!strcmp(name, "columns") || !strcmp(name, "sort"))
		return (struct value){ VALUE_CHOICE, names_of(arena, applet, true) };
	if (!strcmp(name, "state"))
		return (struct value){ VALUE_CHOICE, "now risk past" };
	if (o->arg && !strcmp(o->arg, "DIR"))
		return (struct value){ VALUE_DIR, NULL };
	if (o->arg && !strcmp(o->arg, "FILE"))
		return (struct value){ VALUE_FILE, NULL };
	return (struct value){ VALUE_ANY, NULL };
}

/* Are an applet's operands files or folders? BEFORE AFTER are saved runs. */
static bool has_file_operands(const struct applet *applet)
{
	for (size_t m = 0; applet->modes[m]; m++) {
		const char *operands = applet->modes[m]->operands;

		if (operands && (strstr(operands, "FILE") || strstr(operands, "DIR") ||
				 strstr(operands, "BEFORE")))
			return true;
	}
	return false;
}

static void identifier(struct buf *to, const char *name)
{
	for (; *name; name++)
		buf_add_char(to, *name == '-' ? '_' : *name);
}

typedef void add_option(struct buf *to, struct arena *arena, const struct applet *applet,
			const struct opt *o);

/* Adds every option of an applet that is listed: of all its modes, then the shared ones. */
static void each_option(struct buf *to, struct arena *arena, const struct applet *applet,
			add_option *add)
{
	for (size_t m = 0; applet->modes[m]; m++) {
		const struct mode *mode = applet->modes[m];
		bool is_repeated = false;

		if (mode->option) {
			const struct opt as_opt = {
				.name = mode->option + 2, .help = mode->summary, .kind = OPT_FLAG,
			};

			add(to, arena, applet, &as_opt);
		}
		for (size_t before = 0; before < m; before++)
			is_repeated = is_repeated || applet->modes[before]->opts == mode->opts;
		for (const struct opt *o = mode->opts; !is_repeated && !opt_is_end(o); o++)
			if (!o->hidden)
				add(to, arena, applet, o);
	}
	for (const struct opt *o = shared_options_table; !opt_is_end(o); o++)
		if (!o->hidden)
			add(to, arena, applet, o);
}

static void applet_names(struct buf *to)
{
	for (size_t i = 0; applets[i]; i++)
		buf_printf(to, " %s", applets[i]->name);
}

static void box_options(struct buf *to)
{
	for (const struct opt *o = box_options_table; !opt_is_end(o); o++)
		buf_printf(to, " --%s", o->name);
}

/* bash: options are words; what stands behind one is a case "APPLET OPTION". */

static const char bash_head[] =
	"# bash completion for perfbox; load it with: source <(perfbox --completion bash)\n"
	"# or keep it as a file in /etc/bash_completion.d. Needs nothing but bash 4.\n"
	"\n"
	"_perfbox_words() {\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\")\n"
	"}\n"
	"\n"
	"_perfbox_paths() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -A \"$1\" -- \"$2\")\n"
	"}\n"
	"\n";

static const char bash_tail[] =
	"_perfbox() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} applet first=1\n"
	"\n"
	"\tapplet=${COMP_WORDS[0]##*/}\n"
	"\tif [[ $applet == perfbox ]]; then\n"
	"\t\tif ((COMP_CWORD == 1)); then\n"
	"\t\t\t_perfbox_words \"$_perfbox_applets $_perfbox_options\" \"$cur\"\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\t\tapplet=${COMP_WORDS[1]}\n"
	"\t\tfirst=2\n"
	"\tfi\n"
	"\t# bash takes --name=value apart at the =\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur=\n"
	"\telif [[ $prev == = ]] && ((COMP_CWORD > 2)); then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\tif ((COMP_CWORD > first)) && _perfbox_value \"$applet\" \"$prev\" \"$cur\"; then\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $cur == -* ]]; then\n"
	"\t\t_perfbox_option \"$applet\" \"$cur\"\n"
	"\telse\n"
	"\t\t_perfbox_operand \"$applet\" \"$cur\"\n"
	"\tfi\n"
	"}\n"
	"\n";

static void bash_option(struct buf *to, struct arena *arena, const struct applet *applet,
			const struct opt *o)
{
	(void)arena, (void)applet;
	if (o->letter)
		buf_printf(to, " -%c", o->letter);
	if (o->name)
		buf_printf(to, " --%s", o->name);
}

static void bash_value(struct buf *to, struct arena *arena, const struct applet *applet,
		       const struct opt *o)
{
	struct value value = value_of(arena, applet, o);
	const char *name = applet == &applet_doctor ? "--doctor" : applet->name;

	if (value.kind == VALUE_NONE)
		return;
	buf_add_text(to, "\t");
	if (o->letter)
		buf_printf(to, "\"%s -%c\"%s", name, o->letter, o->name ? " | " : "");
	if (o->name)
		buf_printf(to, "\"%s --%s\"", name, o->name);
	buf_add_text(to, ") ");
	if (value.kind == VALUE_CHOICE)
		buf_printf(to, "_perfbox_words \"%s\" \"$3\"", value.choices);
	else if (value.kind == VALUE_ANY)
		buf_add_text(to, ":");
	else
		buf_printf(to, "_perfbox_paths %s \"$3\"",
			   value.kind == VALUE_DIR ? "directory" : "file");
	buf_add_text(to, " ;;\n");
}

static void bash(struct buf *to, struct arena *arena)
{
	buf_add_text(to, bash_head);
	buf_add_text(to, "_perfbox_applets=\"");
	applet_names(to);
	buf_add_text(to, "\"\n_perfbox_options=\"");
	box_options(to);
	buf_add_text(to, "\"\n\n# applet, word\n_perfbox_option() {\n\tcase $1 in\n");
	for (size_t i = 0; applets[i]; i++) {
		buf_printf(to, "\t%s) _perfbox_words \"", applets[i]->name);
		each_option(to, arena, applets[i], bash_option);
		buf_add_text(to, "\" \"$2\" ;;\n");
	}
	buf_add_text(to, "\t--doctor) _perfbox_words \"");
	each_option(to, arena, &applet_doctor, bash_option);
	buf_add_text(to, "\" \"$2\" ;;\n"
			 "\t--install) _perfbox_words \"-s --symbolic\" \"$2\" ;;\n"
			 "\tesac\n}\n\n"
			 "# applet, option, word; false if the option takes no value\n"
			 "_perfbox_value() {\n\tcase \"$1 $2\" in\n");
	for (size_t i = 0; applets[i]; i++)
		each_option(to, arena, applets[i], bash_value);
	each_option(to, arena, &applet_doctor, bash_value);
	buf_add_text(to, "\t*) return 1 ;;\n\tesac\n}\n\n"
			 "# applet, word\n_perfbox_operand() {\n\tcase $1 in\n");
	for (size_t i = 0; applets[i]; i++)
		if (has_file_operands(applets[i]))
			buf_printf(to, "\t%s) _perfbox_paths file \"$2\" ;;\n", applets[i]->name);
	buf_add_text(to, "\t--install) _perfbox_paths directory \"$2\" ;;\n"
			 "\t--man) _perfbox_words \"perfbox $_perfbox_applets\" \"$2\" ;;\n"
			 "\t--completion) _perfbox_words \"bash zsh fish\" \"$2\" ;;\n"
			 "\tesac\n}\n\n");
	buf_add_text(to, bash_tail);
	buf_add_text(to, "complete -F _perfbox perfbox");
	applet_names(to);
	buf_add_char(to, '\n');
}

/* zsh: one _arguments call per applet. */

/* Inside '[...]' of a specification that stands in single quotes. */
static void zsh_text(struct buf *to, const char *s)
{
	for (; s && *s; s++) {
		if (*s == '\'')
			buf_add_text(to, "'\\''");
		else if (strchr("[]:\\", *s))
			buf_printf(to, "\\%c", *s);
		else
			buf_add_char(to, *s);
	}
}

static void zsh_option(struct buf *to, struct arena *arena, const struct applet *applet,
		       const struct opt *o)
{
	struct value value = value_of(arena, applet, o);
	bool is_list = o->kind == OPT_NUMBERS || o->kind == OPT_TEXTS;

	for (unsigned is_long = 0; is_long < 2; is_long++) {
		if (is_long ? !o->name : !o->letter)
			continue;
		buf_add_text(to, " \\\n\t\t'");
		if (is_list)
			buf_add_char(to, '*');
		else if (o->letter && o->name)
			buf_printf(to, "(-%c --%s)", o->letter, o->name);
		if (is_long)
			buf_printf(to, "--%s%s", o->name, value.kind == VALUE_NONE ? "" : "=");
		else
			buf_printf(to, "-%c%s", o->letter, value.kind == VALUE_NONE ? "" : "+");
		buf_add_char(to, '[');
		zsh_text(to, o->help);
		buf_add_char(to, ']');
		if (value.kind != VALUE_NONE) {
			buf_add_char(to, ':');
			zsh_text(to, o->arg ? o->arg : o->name);
			buf_add_char(to, ':');
		}
		if (value.kind == VALUE_CHOICE)
			buf_printf(to, "(%s)", value.choices);
		else if (value.kind == VALUE_DIR || value.kind == VALUE_FILE)
			buf_add_text(to, value.kind == VALUE_DIR ? "_files -/" : "_files");
		buf_add_char(to, '\'');
	}
}

static void zsh_applet(struct buf *to, struct arena *arena, const struct applet *applet)
{
	buf_add_text(to, "_perfbox_applet_");
	identifier(to, applet->name);
	buf_add_text(to, "() {\n\t_arguments -s -S");
	each_option(to, arena, applet, zsh_option);
	if (has_file_operands(applet))
		buf_add_text(to, " \\\n\t\t'*:operand:_files'");
	buf_add_text(to, "\n}\n\n");
}

static const char zsh_tail[] =
	"_perfbox() {\n"
	"\tlocal name=$service\n"
	"\tif [[ $name == perfbox ]]; then\n"
	"\t\tif (( CURRENT == 2 )); then\n"
	"\t\t\tif [[ $PREFIX == -* ]]; then\n"
	"\t\t\t\t_describe -o option _perfbox_options\n"
	"\t\t\telse\n"
	"\t\t\t\t_describe applet _perfbox_applets\n"
	"\t\t\tfi\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\t\tname=$words[2]\n"
	"\t\tshift words\n"
	"\t\t(( CURRENT-- ))\n"
	"\tfi\n"
	"\tcase $name in\n"
	"\t(--install) _arguments '(-s --symbolic)'{-s,--symbolic}'[symbolic links]' \\\n"
	"\t\t'1:DIR:_files -/' ;;\n"
	"\t(--man) (( CURRENT == 2 )) && _describe applet _perfbox_pages ;;\n"
	"\t(--completion) (( CURRENT == 2 )) && compadd bash zsh fish ;;\n"
	"\t(--doctor) _perfbox_applet_doctor ;;\n"
	"\t(*)\n"
	"\t\tname=_perfbox_applet_${name//-/_}\n"
	"\t\t(( $+functions[$name] )) && $name ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"if [[ $funcstack[1] == _perfbox ]]; then\n"
	"\t_perfbox \"$@\"\n"
	"else\n"
	"\tcompdef _perfbox perfbox";

static void zsh(struct buf *to, struct arena *arena)
{
	buf_add_text(to, "#compdef perfbox");
	applet_names(to);
	buf_add_text(to, "\n"
			 "# zsh completion for perfbox; keep it as _perfbox in a $fpath folder,\n"
			 "# or, behind compinit: source <(perfbox --completion zsh)\n\n"
			 "typeset -ga _perfbox_applets _perfbox_options _perfbox_pages\n"
			 "_perfbox_applets=(");
	for (size_t i = 0; applets[i]; i++) {
		buf_printf(to, "\n\t'%s:", applets[i]->name);
		zsh_text(to, applets[i]->summary);
		buf_add_char(to, '\'');
	}
	buf_add_text(to, "\n)\n"
			 "_perfbox_pages=($_perfbox_applets 'perfbox:the program itself')\n"
			 "_perfbox_options=(");
	for (const struct opt *o = box_options_table; !opt_is_end(o); o++) {
		buf_printf(to, "\n\t'--%s:", o->name);
		zsh_text(to, o->help);
		buf_add_char(to, '\'');
	}
	buf_add_text(to, "\n)\n\n");
	for (size_t i = 0; applets[i]; i++)
		zsh_applet(to, arena, applets[i]);
	zsh_applet(to, arena, &applet_doctor);
	buf_add_text(to, zsh_tail);
	applet_names(to);
	buf_add_text(to, "\nfi\n");
}

/* fish: one line per option, once for "perfbox APPLET" and once for the applet's own name. */

/* In single quotes. */
static void fish_text(struct buf *to, const char *s)
{
	buf_add_char(to, '\'');
	for (; s && *s; s++) {
		if (*s == '\'' || *s == '\\')
			buf_add_char(to, '\\');
		buf_add_char(to, *s);
	}
	buf_add_char(to, '\'');
}

static void fish_value(struct buf *to, struct value value)
{
	switch (value.kind) {
	case VALUE_NONE:
		break;
	case VALUE_ANY:
		buf_add_text(to, " -x");
		break;
	case VALUE_CHOICE:
		buf_printf(to, " -x -a '%s'", value.choices);
		break;
	case VALUE_DIR:
		buf_add_text(to, " -x -a '(__fish_complete_directories)'");
		break;
	case VALUE_FILE:
		buf_add_text(to, " -r -F");
		break;
	}
}

static void fish_option(struct buf *to, struct arena *arena, const struct applet *applet,
			const struct opt *o)
{
	bool is_doctor = applet == &applet_doctor;

	for (unsigned is_linked = 0; is_linked < (is_doctor ? 1u : 2u); is_linked++) {
		if (is_linked)
			buf_printf(to, "complete -c %s", applet->name);
		else
			buf_printf(to, "complete -c perfbox -n '__perfbox_is %s%s'",
				   is_doctor ? "--" : "", applet->name);
		if (o->letter)
			buf_printf(to, " -s %c", o->letter);
		if (o->name)
			buf_printf(to, " -l %s", o->name);
		fish_value(to, value_of(arena, applet, o));
		buf_add_text(to, " -d ");
		fish_text(to, o->help);
		buf_add_char(to, '\n');
	}
}

static void fish_operands(struct buf *to, const struct applet *applet)
{
	const char *files = has_file_operands(applet) ? "-F" : "-f";

	buf_printf(to, "complete -c %s %s\n", applet->name, files);
	buf_printf(to, "complete -c perfbox -n '__perfbox_is %s' %s\n", applet->name, files);
}

static const char fish_head[] =
	"# fish completion for perfbox; load it with: perfbox --completion fish | source\n"
	"# or keep it as ~/.config/fish/completions/perfbox.fish.\n"
	"\n"
	"# Is the first word behind perfbox this one?\n"
	"function __perfbox_is\n"
	"    set -l words (commandline -opc)\n"
	"    test (count $words) -ge 2; and test \"$words[2]\" = \"$argv[1]\"\n"
	"end\n"
	"\n"
	"function __perfbox_is_first\n"
	"    test (count (commandline -opc)) -eq 1\n"
	"end\n"
	"\n"
	"complete -c perfbox -f\n";

static const char fish_tail[] =
	"complete -c perfbox -n '__perfbox_is --install' -s s -l symbolic -d 'symbolic links'\n"
	"complete -c perfbox -n '__perfbox_is --install' -x -a '(__fish_complete_directories)'\n"
	"complete -c perfbox -n '__perfbox_is --completion' -x -a 'bash zsh fish'\n"
	"complete -c perfbox -n '__perfbox_is --man' -x -a 'perfbox";

static void fish(struct buf *to, struct arena *arena)
{
	buf_add_text(to, fish_head);
	for (size_t i = 0; applets[i]; i++) {
		buf_printf(to, "complete -c perfbox -n __perfbox_is_first -a %s -d ",
			   applets[i]->name);
		fish_text(to, applets[i]->summary);
		buf_add_char(to, '\n');
	}
	for (const struct opt *o = box_options_table; !opt_is_end(o); o++) {
		buf_add_text(to, "complete -c perfbox -n __perfbox_is_first");
		if (o->letter)
			buf_printf(to, " -s %c", o->letter);
		buf_printf(to, " -l %s -d ", o->name);
		fish_text(to, o->help);
		buf_add_char(to, '\n');
	}
	for (size_t i = 0; applets[i]; i++) {
		fish_operands(to, applets[i]);
		each_option(to, arena, applets[i], fish_option);
	}
	each_option(to, arena, &applet_doctor, fish_option);
	buf_add_text(to, fish_tail);
	applet_names(to);
	buf_add_text(to, "'\n");
}

int completion_print(const char *shell)
{
	static const struct {
		const char *name;
		void (*print)(struct buf *to, struct arena *arena);
	} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
	struct arena arena = { 0 };
	struct buf text = { 0 };
	size_t i = 0;

	while (i < 3 && strcmp(shell, shells[i].name) != 0)
		i++;
	if (i < 3) {
		shells[i].print(&text, &arena);
		fwrite(text.data, 1, text.len, stdout);
	} else {
		fprintf(stderr, "perfbox: --completion: '%s' is none of bash, zsh, fish "
			"(see perfbox --help)\n", out_escape(&arena, shell));
	}
	buf_free(&text);
	arena_free(&arena);
	return i < 3 ? 0 : 2;
}
