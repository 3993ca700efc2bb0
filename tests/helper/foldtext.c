/*
 * foldtext [OPTION...] [FILE [FILE]]: what a text folds to, on stdout; a line of figures on stderr;
 * of two files their difference. For the comparison with other tools' results (tests/corpus.sh)
 * and for the bench.
 *
 * Options: kernel jit inline all addrs srcline context args samples reverse, by=comm|pid|tid|cpu|
 * cgroup|none, event= include= exclude= skip-after= cpu= depth= from= to=, quiet.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/stack/stackinput.h"

struct arguments {
	struct stack_options stack;
	struct stack_filter_options filter;
	bool is_quiet, has_two;
	const char *paths[2];
	unsigned path_count;
};

static bool take_flag(struct arguments *a, const char *word)
{
	struct frame_options *f = &a->stack.frame;
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "kernel", &f->kernel }, { "jit", &f->jit }, { "inline", &f->inlined },
		{ "addrs", &f->addresses }, { "srcline", &f->source_lines },
		{ "context", &f->inlined_lines }, { "args", &f->keeps_arguments },
		{ "simplify", &f->simplifies },
		{ "samples", &a->stack.weighs_samples }, { "reverse", &a->filter.reverse },
		{ "quiet", &a->is_quiet },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i].name))
			return *flags[i].flag = true;
	if (!strcmp(word, "all"))
		return f->kernel = f->jit = f->inlined = true;
	return false;
}

static bool take_by(struct arguments *a, const char *word)
{
	static const char *const names[] = { "by=comm", "by=pid", "by=tid", "by=cpu", "by=cgroup",
					     "by=none" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(word, names[i])) {
			a->filter.by = (enum root_frame)i;
			return true;
		}
	return false;
}

static bool take_value(struct arguments *a, const char *word)
{
	const char *equals = strchr(word, '=');
	struct stack_filter_options *f = &a->filter;

	if (!equals)
		return false;
	const struct text name = { word, (size_t)(equals - word) };
	const char *value = equals + 1;

	if (text_is(name, "event"))
		a->stack.event = value;
	else if (text_is(name, "include"))
		f->include = value;
	else if (text_is(name, "exclude"))
		f->exclude = value;
	else if (text_is(name, "skip-after"))
		f->skip_after[f->skip_after_count++] = value;
	else if (text_is(name, "cpu"))
		f->cpus = value;
	else if (text_is(name, "depth"))
		f->max_depth = (unsigned)strtoul(value, NULL, 10);
	else if (text_is(name, "from"))
		f->has_from = true, f->from = strtod(value, NULL);
	else if (text_is(name, "to"))
		f->has_to = true, f->to = strtod(value, NULL);
	else
		return false;
	return true;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run(struct arguments *a, struct stack_input *in, struct fold *f)
{
	struct text start;
	uint64_t line;
	int err = stack_input_start(in, &start);

	if (err < 0)
		return err;
	const enum stack_kind kind = stack_kind_of(start);
	const char *what = stack_unknown_is(start, &line);

	if (kind == STACK_UNKNOWN && (err = stack_input_error(in)))
		return err;
	if (kind == STACK_UNKNOWN)
		return fail(22, "line %llu: this looks like %s", (unsigned long long)line,
			    what ? what : "nothing known");
	struct stack_reader *r = stack_reader_new(kind, f, &a->stack);
	const double before = now();

	err = stack_input_feed(in, r);
	const struct stack_result *result = stack_reader_end(r);
	const double seconds = now() - before;

	a->has_two |= kind == STACK_FOLDED_TWO;
	fprintf(stderr, "%s: %llu samples, %llu skipped (line %llu: %s), %u nodes, %zu bytes, "
		"%.4f s\n", stack_kind_name(kind), (unsigned long long)result->samples,
		(unsigned long long)result->skipped_lines,
		(unsigned long long)result->first_skipped_line,
		result->first_skipped_why ? result->first_skipped_why : "-", fold_count(f),
		fold_memory(f), seconds);
	for (size_t i = 0; i < result->event_count; i++)
		fprintf(stderr, "event %s: %llu%s\n", result->events[i].name,
			(unsigned long long)result->events[i].samples,
			result->events[i].is_folded ? " folded" : "");
	if (result->failure)
		err = fail(22, "%s", result->failure);
	stack_reader_free(r);
	return err;
}

static int run_file(struct arguments *a, const char *path, struct fold *f)
{
	const int fd = path ? open(path, O_RDONLY) : STDIN_FILENO;
	struct stack_input *in = stack_input_new(fd);
	const int err = run(a, in, f);

	stack_input_free(in);
	if (path)
		close(fd);
	return err;
}

int main(int argc, char **argv)
{
	struct arguments a = { 0 };
	struct fold *f = fold_new();

	for (int i = 1; i < argc; i++)
		if (!take_flag(&a, argv[i]) && !take_by(&a, argv[i]) && !take_value(&a, argv[i]))
			a.paths[a.path_count++ & 1] = argv[i];
	a.has_two = a.path_count > 1;
	const bool is_pair = a.has_two;
	int err = stack_filter_new(&a.filter, f, &a.stack.filter);

	for (unsigned i = 0; i < 2 && err >= 0 && (!i || is_pair); i++) {
		a.stack.side = i;
		err = run_file(&a, a.paths[i], f);
	}
	if (err < 0)
		fprintf(stderr, "foldtext: %s\n", fail_text());
	if (!a.is_quiet)
		fold_write(f, a.has_two, stdout);
	stack_filter_free(a.stack.filter);
	fold_free(f);
	return err < 0 ? 3 : 0;
}
