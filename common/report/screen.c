#include "common/report/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/scan.h"

#define FRAME_MAX (1u << 20)           /* of a frame larger than this the rest is left out */
#define WAIT_MAX_MS 250
#define STDERR_BYTES 65536
#define ROWS_DEFAULT 24
#define COLUMNS_DEFAULT 80

/* Alternate screen, cursor hidden, long lines cut; and back. */
#define TAKE "\033[?1049h\033[?25l\033[?7l"
#define GIVE_BACK "\033[?7h\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define REVERSE "\033[7m"
#define PLAIN "\033[0m"

static struct screen {
	volatile sig_atomic_t is_taken;
	FILE *file;
	struct termios before, raw;
	struct buf frame;              /* being written */
	struct buf shown;              /* the last one drawn */
	char *footer;
} screen;

static void put(const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

/* ---- taking it and giving it back ---- */

static void take(void)
{
	tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.raw);
	put(TAKE, sizeof(TAKE) - 1);
	screen.is_taken = 1;
}

void screen_restore(void)
{
	if (!screen.is_taken)
		return;
	screen.is_taken = 0;
	put(GIVE_BACK, sizeof(GIVE_BACK) - 1);
	tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
}

/* Ctrl-Z, Ctrl-\: as if we had no handler, on the terminal as it was. */
static void on_stop(int signal)
{
	struct sigaction ours;
	sigset_t just_this, before;
	int err = errno;

	screen_restore();
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, &ours);
	raise(signal);
	sigemptyset(&just_this);
	sigaddset(&just_this, signal);
	sigprocmask(SIG_UNBLOCK, &just_this, &before);
	/* stopped here; going on */
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigaction(signal, &ours, NULL);
	take();
	errno = err;
}

static ssize_t write_frame(void *unused, const char *data, size_t len)
{
	(void)unused;
	if (screen.frame.len + len <= FRAME_MAX)
		buf_add(&screen.frame, data, len);
	return (ssize_t)len;
}

static struct winsize size_now(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = ROWS_DEFAULT, .ws_col = COLUMNS_DEFAULT };
	return size;
}

FILE *screen_open(size_t *width)
{
	const char *term = getenv("TERM");
	static bool is_registered;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term ||
	    !strcmp(term, "dumb") || tcgetattr(STDIN_FILENO, &screen.before))
		return NULL;
	screen.file = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_frame });
	if (!screen.file)
		return NULL;
	screen.raw = screen.before;
	screen.raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	screen.raw.c_cc[VMIN] = 0;
	screen.raw.c_cc[VTIME] = 0;
	setvbuf(stderr, NULL, _IOFBF, STDERR_BYTES);
	if (!is_registered)
		atexit(screen_restore);
	is_registered = true;
	sigaction(SIGTSTP, &(struct sigaction){ .sa_handler = on_stop }, NULL);
	sigaction(SIGQUIT, &(struct sigaction){ .sa_handler = on_stop }, NULL);
	take();
	*width = size_now().ws_col;
	return screen.file;
}

bool screen_is_open(void)
{
	return screen.file;
}

void screen_footer(const char *text)
{
	free(screen.footer);
	screen.footer = mem_strdup(text);
}

/* ---- drawing ---- */

static void draw(void)
{
	const struct winsize size = size_now();
	struct scan s = scan_of(buf_text(&screen.shown));
	struct buf b = { 0 };
	struct text line;
	unsigned row = 1;

	buf_add_text(&b, HOME);
	/* the blank line that parts one frame from the next */
	scan_literal(&s, "\n");
	for (; row < size.ws_row && scan_line(&s, &line); row++) {
		buf_add(&b, line.data, line.len);
		buf_add_text(&b, CLEAR_LINE "\r\n");
	}
	buf_add_text(&b, CLEAR_BELOW);
	buf_printf(&b, "\033[%u;1H" REVERSE "%s%s" PLAIN CLEAR_LINE, size.ws_row,
		   screen.footer ? screen.footer : "", s.at < s.end ? "  (more below)" : "");
	put(b.data, b.len);
	buf_free(&b);
}

static void draw_new(void)
{
	if (!screen.frame.len)
		return;
	struct buf before = screen.shown;

	screen.shown = screen.frame;
	screen.frame = before;
	buf_reset(&screen.frame);
	draw();
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int screen_wait(uint64_t due_ns)
{
	struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
	const uint64_t now = now_ns();
	uint64_t ms = due_ns > now ? (due_ns - now + 999999) / 1000000 : 0;
	unsigned char key;

	draw_new();
	if (poll(&in, 1, ms < WAIT_MAX_MS ? (int)ms : WAIT_MAX_MS) <= 0)
		return 0;
	if (!(in.revents & POLLIN))
		return 'q';
	return read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}

void screen_close(void)
{
	if (!screen.file)
		return;
	fclose(screen.file);
	screen_restore();
	sigaction(SIGTSTP, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	sigaction(SIGQUIT, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	struct text last = buf_text(screen.frame.len ? &screen.frame : &screen.shown);
	size_t blank = last.len && *last.data == '\n';

	put(last.data + blank, last.len - blank);
	fflush(stderr);
	setvbuf(stderr, NULL, _IONBF, 0);
	buf_free(&screen.frame);
	buf_free(&screen.shown);
	free(screen.footer);
	screen.footer = NULL;
	screen.file = NULL;
}
