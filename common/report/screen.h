/*
 * A terminal that is redrawn in place and listens to single keys. Taken over when opened: alternate
 * screen, no echo, no waiting for a newline; Ctrl-C and Ctrl-Z work as ever. Given back by
 * screen_close, at exit, when stopped (Ctrl-Z) and by screen_restore from a signal handler.
 */
#ifndef REPORT_SCREEN_H
#define REPORT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Where to write frames, for out_config.to. NULL, and nothing is changed, unless standard input and
 * output are terminals that can move the cursor (TERM set and not dumb): then write plain text to
 * stdout. What goes to stderr meanwhile is shown by screen_close. *width: its columns.
 */
FILE *screen_open(size_t *width);
bool screen_is_open(void);

/* The last line, which says the keys; copied. */
void screen_footer(const char *text);

/*
 * Draws what was written since the last call, if anything, as much as fits, and waits until
 * CLOCK_MONOTONIC is due_ns, a quarter of a second at most. The key that was pressed; 0: none. The
 * end of input (the terminal is gone) is a 'q'.
 */
int screen_wait(uint64_t due_ns);

void screen_restore(void);             /* async-signal-safe */
void screen_close(void);               /* the last frame stays, whole, on the normal screen */

#endif
