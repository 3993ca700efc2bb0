/* perfbox --man NAME: a page that is inside the program, through a pager if a person looks. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "applets/perfbox/manpages.h"
#include "applets/perfbox/perfbox.h"
#include "common/base/mem.h"
#include "common/report/roff.h"

#define WIDTH_MAX 100
#define WIDTH_DEFAULT 80
#define PAGES_MAX 64
#define NOT_FOUND 127                  /* the shell's status for a command it does not find */

static const struct man_page *find_page(const char *name)
{
	for (size_t i = 0; i < man_page_count; i++)
		if (!strcmp(man_pages[i].name, name))
			return &man_pages[i];
	return NULL;
}

static int refuse(const char *name)
{
	const char *names[PAGES_MAX + 1] = { 0 };
	struct arena arena = { 0 };

	for (size_t i = 0; i < man_page_count && i < PAGES_MAX; i++)
		names[i] = man_pages[i].name;
	const char *closest = opt_closest(name, names);

	fprintf(stderr, "perfbox: no man page '%s'%s%s%s (see perfbox --list)\n",
		out_escape(&arena, name), closest ? ": did you mean '" : "", closest ? closest : "",
		closest ? "'?" : "");
	arena_free(&arena);
	return 2;
}

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return WIDTH_DEFAULT;
	return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

static void render(const struct man_page *page, unsigned width, bool bold, struct buf *to)
{
	struct text source = { page->data, (size_t)(page->end - page->data) };

	roff_render(source, width, bold, to);
}

struct pager {
	pid_t pid;
	int input;                     /* what it reads is written here */
};

/* -errno if the command can't be started. */
static int start_pager(struct pager *pager, char *const words[])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t ours;
	int ends[2];

	if (pipe(ends) < 0)
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	posix_spawnattr_init(&attributes);
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGQUIT);
	posix_spawnattr_setsigdefault(&attributes, &ours);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	int err = posix_spawnp(&pager->pid, words[0], &actions, &attributes, words, environ);

	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[0]);
	pager->input = ends[1];
	if (err)
		close(ends[1]);
	return -err;
}

/* A pager that is closed before it has read all is no failure. False: there was no such pager. */
static bool feed(const struct pager *pager, struct text t)
{
	int status = 0;

	while (t.len) {
		ssize_t n = write(pager->input, t.data, t.len);

		if (n < 0 && errno != EINTR)
			break;
		t.data += n > 0 ? n : 0;
		t.len -= n > 0 ? (size_t)n : 0;
	}
	close(pager->input);
	while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
		;
	return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_FOUND;
}

/* less shows bold and underlined text if told to let its sequences through. */
static void prepare_less(void)
{
	const char *own = getenv("LESS");
	struct buf options = { 0 };

	buf_printf(&options, "-R%s%s", own && *own ? " " : "", own ? own : "");
	setenv("LESS", options.data, 1);
	buf_free(&options);
}

/* Is the first word of a shell command less, in whatever folder? */
static bool runs_less(const char *command)
{
	size_t len;

	command += strspn(command, " \t");
	len = strcspn(command, " \t");
	while (len && memchr(command, '/', len))
		command++, len--;
	return len == 4 && !memcmp(command, "less", 4);
}

static bool show_paged(const struct man_page *page)
{
	char sh[] = "/bin/sh", c[] = "-c", less[] = "less", more[] = "more";
	char *command = mem_strdup(getenv("PAGER"));
	bool has_command = command && command[strspn(command, " \t")];
	bool is_less = has_command ? runs_less(command) : true, is_shown = false;
	char *const shell_words[] = { sh, c, command, NULL };
	char *const less_words[] = { less, NULL }, *const more_words[] = { more, NULL };
	const char *no_color = getenv("NO_COLOR");
	struct pager pager;
	struct buf text = { 0 };

	if (is_less)
		prepare_less();
	int err = start_pager(&pager, has_command ? shell_words : less_words);

	if (err && !has_command) {
		is_less = false;
		err = start_pager(&pager, more_words);
	}
	if (!err) {
		render(page, terminal_width(), is_less && !(no_color && *no_color), &text);
		is_shown = feed(&pager, buf_text(&text));
	}
	buf_free(&text);
	free(command);
	return is_shown;
}

int man_show(const char *name)
{
	const struct man_page *page = find_page(name);
	bool is_terminal = isatty(STDOUT_FILENO);
	struct buf text = { 0 };

	if (!page)
		return refuse(name);
	signal(SIGPIPE, SIG_IGN);
	if (is_terminal) {
		/* Ctrl-C is the pager's */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		if (show_paged(page))
			return 0;
	}
	render(page, is_terminal ? terminal_width() : WIDTH_DEFAULT, false, &text);
	fwrite(text.data, 1, text.len, stdout);
	buf_free(&text);
	return 0;
}
