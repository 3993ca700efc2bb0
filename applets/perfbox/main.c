/*
 * Which applet was meant: by the name it was called with, or by the first operand of perfbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "applets/perfbox/perfbox.h"
#include "common/kernel/bpf.h"
#include "common/kernel/capture.h"
#include "common/stack/elfsym.h"
#include "version.h"

#define APPLET(name) extern const struct applet applet_##name;
#include "applets/applets.def"
#undef APPLET

const struct applet *const applets[] = {
#define APPLET(name) &applet_##name,
#include "applets/applets.def"
#undef APPLET
	NULL,
};

#define APPLETS_MAX 64

const struct applet *applet_find(const char *name)
{
	for (size_t i = 0; applets[i]; i++)
		if (!strcmp(applets[i]->name, name))
			return applets[i];
	return NULL;
}

static int refuse(const char *applet)
{
	complain_about(applet, true);
	return 2;
}

/* "listenq-perfbox" and "listenq.old" are listenq: the longest name that ends where a word does. */
static const struct applet *applet_of_argv0(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	const char *name = slash ? slash + 1 : argv0;
	const struct applet *best = NULL;

	for (size_t i = 0; applets[i]; i++) {
		size_t n = strlen(applets[i]->name);

		if (!strncmp(name, applets[i]->name, n) && strchr("-.", name[n]) &&
		    (!best || n > strlen(best->name)))
			best = applets[i];
	}
	return best;
}

static int unknown_applet(const char *name)
{
	const char *names[APPLETS_MAX + 1] = { 0 };

	for (size_t i = 0; applets[i] && i < APPLETS_MAX; i++)
		names[i] = applets[i]->name;
	const char *closest = opt_closest(name, names);

	if (closest)
		fail(EINVAL, "unknown applet '%s': did you mean '%s'?", name, closest);
	else
		fail(EINVAL, "unknown applet '%s'", name);
	return refuse(NULL);
}

/* For what prints without the loop, which looks after its own output. A closed pipe is no trouble.
 */
static int finish(int status)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
		return status;
	fprintf(stderr, "perfbox: standard output: %s\n", strerror(errno));
	return 3;
}

static int print_version(void)
{
	printf("perfbox %s (commit %s)\n", PERFBOX_VERSION, PERFBOX_COMMIT);
	printf("libbpf %s, elfutils %s, %s\n", bpf_library_version(), elfsym_library_version(),
	       capture_library_version());
	printf("zlib %s, xz %s, bzip2 %s, zstd %s\n", LIBZ_VERSION, LIBLZMA_VERSION,
	       LIBBZ2_VERSION, LIBZSTD_VERSION);
	return 0;
}

static int print_list(void)
{
	for (size_t i = 0; applets[i]; i++)
		printf("%-15s %s\n", applets[i]->name, applets[i]->summary);
	return 0;
}

/* "--log" or "--log=FILE" for "--log": the value, "" or "=FILE". NULL for another word. */
static char *behind_option(char *word, const char *option)
{
	const size_t len = option ? strlen(option) : 0;

	if (!len || strncmp(word, option, len) != 0 || (word[len] && word[len] != '='))
		return NULL;
	return word + len;
}

/* The mode whose option is among the words. It is taken out of them, or leaves its value there as
 * the operand it is. */
static const struct mode *take_mode(const struct applet *applet, int *argc, char **argv)
{
	for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++)
		for (size_t m = 1; applet->modes[m]; m++) {
			char *value = behind_option(argv[i], applet->modes[m]->option);

			if (!value)
				continue;
			if (*value) {
				argv[i] = value + 1;
				return applet->modes[m];
			}
			memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(*argv));
			--*argc;
			return applet->modes[m];
		}
	return applet->modes[0];
}

static int run_applet(const struct applet *applet, int argc, char **argv)
{
	const struct mode *mode = take_mode(applet, &argc, argv);
	int operands = opt_parse(argc, argv, mode->opts, shared_options_table);

	if (operands < 0)
		return refuse(applet->name);
	if (choices.help)
		return help_print(applet, mode), finish(0);
	if (choices.version)
		return finish(print_version());
	return loop_run(applet, mode, operands + 1, argv);
}

static int install(int argc, char **argv)
{
	bool symbolic = false;
	const struct opt options[] = {
		{ 's', "symbolic", NULL, "symbolic links", OPT_FLAG, &symbolic, false, NULL },
		{ 0, NULL, NULL, NULL, OPT_FLAG, NULL, false, NULL },
	};
	int operands = opt_parse(argc, argv, options, NULL);

	if (operands < 0)
		return refuse(NULL);
	if (operands != 1) {
		fail(EINVAL, "--install takes one directory");
		return refuse(NULL);
	}
	return install_links(symbolic, argv[1]);
}

/* What perfbox does itself: argv[0] is the option, the rest its operands. */
static int run_box(int argc, char **argv)
{
	static const char *const names[] = { "--list",   "--help", "--version",    "--install",
					     "--doctor", "--man",  "--completion", NULL };
	const char *what = argv[0];
	const char *operand = argc > 1 ? argv[1] : NULL;

	if (!strcmp(what, "--install"))
		return finish(install(argc, argv));
	if (!strcmp(what, "--doctor"))
		return run_applet(&applet_doctor, argc, argv);
	if (argc > 2) {
		fail(EINVAL, "unexpected word '%s'", argv[2]);
		return refuse(NULL);
	}
	if (!strcmp(what, "--man"))
		return finish(man_show(operand ? operand : "perfbox"));
	if (!strcmp(what, "--completion") && operand)
		return finish(completion_print(operand));
	if (!strcmp(what, "--completion")) {
		fail(EINVAL, "--completion needs the name of a shell: bash, zsh or fish");
		return refuse(NULL);
	}
	if (!strcmp(what, "--man-regions") && operand) {
		const struct applet *applet = applet_find(operand);

		if (!applet && strcmp(operand, "perfbox") != 0)
			return unknown_applet(operand);
		return help_man_regions(applet), finish(0);
	}
	if (operand) {
		fail(EINVAL, "unexpected word '%s'", operand);
		return refuse(NULL);
	}
	if (!strcmp(what, "--list"))
		return finish(print_list());
	if (!strcmp(what, "--version") || !strcmp(what, "-V"))
		return finish(print_version());
	if (!strcmp(what, "--help") || !strcmp(what, "-h"))
		return help_print_box(), finish(0);
	const char *closest = opt_closest(what, names);

	fail(EINVAL, closest ? "unknown option '%s': did you mean '%s'?" : "unknown option '%s'",
	     what, closest);
	return refuse(NULL);
}

/*
 * A program started with a standard stream closed must not write into the next file it opens. What
 * stands in for standard output can't be written to: that the output is lost must not look like
 * success.
 */
static void keep_standard_streams(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	keep_standard_streams();
	if (argc < 1)
		return 2;
	const struct applet *applet = applet_of_argv0(argv[0]);

	if (applet)
		return run_applet(applet, argc, argv);
	if (argc == 1)
		return help_print_box(), finish(0);
	if (argv[1][0] == '-')
		return run_box(argc - 1, argv + 1);
	applet = applet_find(argv[1]);
	return applet ? run_applet(applet, argc - 1, argv + 1) : unknown_applet(argv[1]);
}
