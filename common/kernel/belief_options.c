/* What was asked of a process: its kind, and the words and variables that decide about memory. */
#include "common/base/scan.h"
#include "common/kernel/belief.h"

#define MIB ((uint64_t)1 << 20)

static struct text last_component(struct text path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (!slash)
		return path;
	return (struct text){ slash + 1, (size_t)(path.data + path.len - slash - 1) };
}

static struct text first_word(struct text cmdline)
{
	struct scan s = scan_of(cmdline);
	struct text word = { "", 0 };

	if (!scan_until(&s, '\0', &word))
		word = cmdline;
	return word;
}

struct text belief_program(const struct belief_texts *texts)
{
	static const char deleted[] = " (deleted)";
	struct text exe = texts->exe;
	size_t n = sizeof(deleted) - 1;

	if (!exe.len)
		return last_component(first_word(texts->cmdline));
	if (exe.len > n && !memcmp(exe.data + exe.len - n, deleted, n))
		exe.len -= n;
	return last_component(exe);
}

bool belief_looks_like_jvm(struct text cmdline)
{
	static const char *const marks[] = { "-Xmx", "-Xms", "-XX:", "-Djava.", "-javaagent:" };
	struct scan s = scan_of(cmdline);
	struct text word;

	while (scan_until(&s, '\0', &word))
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if (text_starts(word, marks[i]))
				return true;
	return false;
}

/* ---- JVM ---- */

struct walk {
	struct arena *arena;
	const struct belief_files *files;
	struct belief_options *options;
	bool wants_value, is_over, has_no_files;
};

/* Words of a variable or options file: blanks part them, quotes of either kind hold them together
 * and are taken away (Arguments::parse_options_buffer, libjli/args.c expand). */
static bool next_option(struct arena *arena, struct belief_argfile *options, struct text *word)
{
	const char *p = options->rest.data, *end = p + options->rest.len;
	char quote = 0;

	while (p < end && (*p == ' ' || (*p >= '\t' && *p <= '\r')))
		p++;
	if (p == end)
		return false;
	if (!options->room)
		options->room = arena_alloc(arena, (size_t)(end - p) + 1);
	char *to = options->room;

	for (; p < end && (quote || !(*p == ' ' || (*p >= '\t' && *p <= '\r'))); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? 0 : *p;
		else
			*to++ = *p;
	}
	*word = (struct text){ options->room, (size_t)(to - options->room) };
	options->room = to;
	options->rest = (struct text){ p, (size_t)(end - p) };
	return true;
}

static void take_flags(struct walk *w, struct text options)
{
	struct belief_argfile words = { options, NULL };
	struct text word;

	while (next_option(w->arena, &words, &word))
		belief_jvm_flag(word, &w->options->jvm);
}

static bool read_file(const struct walk *w, struct text name, struct text *content)
{
	return w->files && w->files->read && w->files->read(w->files->arg, name, content);
}

static void take_options_file(struct walk *w, struct text name)
{
	struct text content;

	if (read_file(w, name, &content))
		take_flags(w, content);
	else
		w->options->jvm.is_incomplete = true;
}

/* The launcher's options whose value is the next word (libjli/java.c IsWhiteSpaceOption). */
static bool has_value_behind(struct text word)
{
	static const char *const names[] = {
		"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path",
		"--add-modules", "--enable-native-access", "--limit-modules", "--add-exports",
		"--add-opens", "--add-reads", "--patch-module", "-d", "--describe-module",
		"--source", "--illegal-native-access",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text_is(word, names[i]))
			return true;
	return false;
}

static void take_launcher_word(struct walk *w, struct text word)
{
	static const char options_file[] = "-XX:VMOptionsFile=";
	size_t n = sizeof(options_file) - 1;

	if (!word.len || word.data[0] != '-') {
		w->is_over = !w->wants_value;  /* the main class, or what -jar or -m names */
		w->wants_value = false;
		return;
	}
	w->wants_value = has_value_behind(word);
	if (text_starts(word, "--module="))
		w->is_over = true;
	else if (text_is(word, "--disable-@files"))
		w->has_no_files = true;
	else if (text_starts(word, options_file))
		take_options_file(w, (struct text){ word.data + n, word.len - n });
	else if (text_starts(word, "-XX:Flags="))
		w->options->jvm.is_incomplete = true;
	else
		belief_jvm_flag(word, &w->options->jvm);
}

/* A word of the command line or of JDK_JAVA_OPTIONS; a file in a file is not read. */
static void take_word(struct walk *w, struct text word)
{
	struct belief_argfile file = { .room = NULL };

	if (w->is_over)
		return;
	if (word.len < 2 || word.data[0] != '@' || w->has_no_files ||
	    w->options->version.feature == 8) {
		take_launcher_word(w, word);
		return;
	}
	struct text name = { word.data + 1, word.len - 1 };

	if (name.data[0] == '@') {
		take_launcher_word(w, name);
		return;
	}
	if (!read_file(w, name, &file.rest)) {
		w->options->jvm.is_incomplete = true;
		return;
	}
	while (!w->is_over && belief_next_argument(w->arena, &file, &word))
		take_launcher_word(w, word);
}

/* As the JVM itself put them together; a blank inside one can't be told. */
static void parse_known_arguments(struct text arguments, struct belief_options *options)
{
	struct scan s = scan_of(arguments);
	struct text word;

	options->has_environment = true;
	while (s.at < s.end) {
		if (!scan_until(&s, ' ', &word)) {
			word = scan_rest(&s);
			s.at = s.end;
		}
		belief_jvm_flag(word, &options->jvm);
	}
}

static void parse_jvm(struct arena *arena, const struct belief_texts *texts,
		      const struct belief_files *files, struct belief_options *options)
{
	struct walk w = { .arena = arena, .files = files, .options = options };
	struct scan s = scan_of(texts->cmdline);
	struct belief_argfile launcher = { .room = NULL };
	struct text word, variable;
	bool is_launcher = text_is(belief_program(texts), "java");

	if (texts->jvm_arguments.data) {
		parse_known_arguments(texts->jvm_arguments, options);
		return;
	}
	variable = belief_environ(texts->environ, "JAVA_TOOL_OPTIONS");
	if (variable.data)
		take_flags(&w, variable);
	launcher.rest = belief_environ(texts->environ, "JDK_JAVA_OPTIONS");
	if (launcher.rest.data && is_launcher && options->version.feature != 8)
		while (next_option(arena, &launcher, &word))
			take_word(&w, word);
	w.wants_value = false;
	scan_until(&s, '\0', &word);
	while (!w.is_over && scan_until(&s, '\0', &word)) {
		/* another launcher's own words are not known: none of them ends the options */
		if (is_launcher)
			take_word(&w, word);
		else
			belief_jvm_flag(word, &options->jvm);
	}
	variable = belief_environ(texts->environ, "_JAVA_OPTIONS");
	if (variable.data)
		take_flags(&w, variable);
}

/* ---- Node ---- */

/* "--max-old-space-size=512", also with _ for -; V8 takes both (flags.cc). */
static bool has_name(struct text word, const char *name, struct text *value)
{
	size_t n = strlen(name);

	if (word.len <= n || word.data[n] != '=' || !text_starts(word, "--"))
		return false;
	for (size_t i = 2; i < n; i++)
		if (word.data[i] != name[i] && !(name[i] == '-' && word.data[i] == '_'))
			return false;
	*value = (struct text){ word.data + n + 1, word.len - n - 1 };
	return true;
}

static void keep_option(char to[BELIEF_OPTION_MAX], struct text word)
{
	memset(to, 0, BELIEF_OPTION_MAX);
	memcpy(to, word.data, word.len < BELIEF_OPTION_MAX ? word.len : BELIEF_OPTION_MAX - 1);
}

static void take_node_option(struct belief_options *o, struct text word)
{
	struct text value;
	uint64_t mib;
	double percent;

	if (has_name(word, "--max-old-space-size", &value) && scan_all_u64(value, &mib) &&
	    mib < NA_U64 / MIB) {
		o->node.old_bytes = mib * MIB;
		o->node.old_percent = NA_F64;
		keep_option(o->node.heap_option, word);
	} else if (has_name(word, "--max-old-space-size-percentage", &value) &&
		   scan_all_decimal(value, &percent) && percent <= 100) {
		o->node.old_percent = percent;
		keep_option(o->node.heap_option, word);
	} else if (has_name(word, "--max-semi-space-size", &value) && scan_all_u64(value, &mib) &&
		   mib < NA_U64 / MIB / 4) {
		o->node.semi_bytes = mib * MIB;
	}
}

static bool node_has_value_behind(struct text word)
{
	static const char *const names[] = {
		"-r", "--require", "--import", "--loader", "--experimental-loader", "-e", "--eval",
		"-p", "--print", "-pe", "-C", "--conditions", "--env-file", "--title",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text_is(word, names[i]))
			return true;
	return false;
}

/* "v20.3.1", "20.3.1" */
static bool parse_node_version(struct text t, struct belief_version *version)
{
	struct scan s = scan_of(t);
	uint64_t major, minor;

	scan_literal(&s, "v");
	if (!scan_u64(&s, &major) || !scan_literal(&s, ".") || !scan_u64(&s, &minor) ||
	    !scan_literal(&s, ".") || !major || major > 10000 || minor > 10000)
		return false;
	*version = (struct belief_version){ (unsigned)major, (unsigned)minor };
	return true;
}

/* "/home/a/.nvm/versions/node/v18.17.0/bin/node", "NODE_VERSION=18.17.0" as images set it */
static void find_node_version(const struct belief_texts *texts, struct belief_version *version)
{
	struct scan s = scan_of(texts->exe);
	struct text part = belief_environ(texts->environ, "NODE_VERSION");

	if (part.data && parse_node_version(part, version))
		return;
	while (scan_until(&s, '/', &part))
		if (text_starts(part, "v") && parse_node_version(part, version))
			return;
}

static void parse_node(struct arena *arena, const struct belief_texts *texts,
		       struct belief_options *options)
{
	struct belief_argfile variable = { belief_environ(texts->environ, "NODE_OPTIONS"), NULL };
	struct text word;
	struct scan s = scan_of(texts->cmdline);
	bool wants_value = false;

	if (!options->version.feature)
		find_node_version(texts, &options->version);
	while (variable.rest.data && next_option(arena, &variable, &word))
		take_node_option(options, word);
	/* process.title overwrites the words; what they said is not to be seen any more */
	options->node.is_incomplete = !scan_until(&s, '\0', &word) || !word.len ||
		memchr(word.data, ' ', word.len);
	while (scan_until(&s, '\0', &word)) {
		bool is_option = word.len && word.data[0] == '-';

		if ((!is_option && !wants_value) || text_is(word, "--"))
			break;
		wants_value = is_option && node_has_value_behind(word);
		take_node_option(options, word);
	}
}

/* ---- Go and others ---- */

/* runtime/string.go parseByteCount: "512MiB", "1073741824", "100B", "off" */
static uint64_t go_size(struct text t)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = { { "", 0 }, { "B", 0 }, { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 },
		      { "TiB", 40 } };
	struct scan s = scan_of(t);
	uint64_t n;

	if (!t.len || t.data[0] == ' ' || !scan_u64(&s, &n))
		return NA_U64;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (text_is(scan_rest(&s), units[i].name) &&
		    (!units[i].shift || !(n >> (63 - units[i].shift))))
			return n << units[i].shift;
	return NA_U64;
}

static uint64_t number_in(struct text environ, const char *name)
{
	struct text t = belief_environ(environ, name);
	uint64_t n;

	return t.data && scan_all_u64(t, &n) ? n : NA_U64;
}

static void parse_other(const struct belief_texts *texts, struct belief_options *options)
{
	struct text limit = belief_environ(texts->environ, "GOMEMLIMIT");
	struct text gc = belief_environ(texts->environ, "GOGC");

	options->arenas = number_in(texts->environ, "MALLOC_ARENA_MAX");
	if (!limit.data)
		return;
	options->kind = BELIEF_GO;
	options->go.limit_bytes = go_size(limit);
	options->go.has_no_gc = gc.data && text_is(gc, "off");
	options->go.cpus = number_in(texts->environ, "GOMAXPROCS");
}

void belief_parse_options(struct arena *arena, const struct belief_texts *texts,
			  const struct belief_files *files, struct belief_options *options)
{
	struct text program = belief_program(texts);
	struct belief_options new = {
		.version = texts->version, .is_other_jvm = texts->is_other_jvm,
		.has_environment = texts->environ.data != NULL,
		.node = { .old_bytes = NA_U64, .semi_bytes = NA_U64, .old_percent = NA_F64 },
		.go = { .limit_bytes = NA_U64, .cpus = NA_U64 }, .arenas = NA_U64,
	};

	belief_jvm_flags_start(&new.jvm);
	if (text_is(program, "node") || text_is(program, "nodejs")) {
		new.kind = BELIEF_NODE;
		parse_node(arena, texts, &new);
	} else if (text_is(program, "java") || texts->has_libjvm) {
		new.kind = BELIEF_JVM;
		parse_jvm(arena, texts, files, &new);
	} else {
		parse_other(texts, &new);
	}
	*options = new;
}
