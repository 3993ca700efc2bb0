/*
 * An input of the command line: plain or compressed as a whole (gzip, zstd, xz), text in UTF-8 or
 * UTF-16 (with a byte order mark), from a file or a pipe, of any length and with lines of any
 * length. Holds one piece of it at a time.
 */
#ifndef STACK_STACKINPUT_H
#define STACK_STACKINPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/text.h"
#include "common/stack/stacktext.h"

struct stack_input;

/* fd stays the caller's. */
struct stack_input *stack_input_new(int fd);
void stack_input_free(struct stack_input *in);

/*
 * The first bytes, decompressed, at most STACK_LOOK_BYTES of them and fewer only at the end, or the
 * first line if that is longer (or as much of it as is more than STACK_LINE_MAX): for
 * stack_kind_of, and to see a perf.data file. Valid until the next call; they are read again. 0 or
 * -errno with fail text (also when there is something broken behind the bytes given).
 */
int stack_input_start(struct stack_input *in, struct text *start);
/* Did what was read so far end early? 0 or -errno with fail text; for a start of unknown kind. */
int stack_input_error(const struct stack_input *in);
bool stack_input_is_plain(const struct stack_input *in);       /* the file's own bytes */

/* Of a plain input: all that was read of it and not handed out yet. For who goes on with the fd. */
struct text stack_input_waiting(const struct stack_input *in);

/* The next bytes: how many, 0 at the end, -errno with fail text. For what is no text. */
long stack_input_read(struct stack_input *in, void *to, size_t size);

/*
 * Feeds the rest to r, in pieces of whole lines; lines longer than STACK_LINE_MAX are counted and
 * passed over. Does not call stack_reader_end. 0, or -errno with fail text: what came before the
 * trouble has been fed.
 */
int stack_input_feed(struct stack_input *in, struct stack_reader *r);

#endif
