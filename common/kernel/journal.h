/*
 * The journal of settings that were written: what stood there before, on disk before each write, so
 * that after a kill or a power loss at any moment it can all be put back. DIR/journal:
 *
 *     perfbox-irqbind-journal 1
 *     begin  BOOT_ID HOST REALTIME_NS WHAT
 *     step   N REALTIME_NS BOOT_ID PATH OLD NEW     then, and not before, NEW is written
 *     done   N REALTIME_NS VALUE                    what was read back
 *     failed N REALTIME_NS ERRNO_NAME               the kernel did not take it: nothing changed
 *     applied  REALTIME_NS
 *     undone N REALTIME_NS VALUE                    what stood there, before OLD was put back
 *     rolled-back REALTIME_NS                       all is as before: the journal is closed
 *
 * TAB-separated, words escaped as in a saved run's manifest. A last line without its newline was
 * being written when the power went: what it announces did not happen.
 */
#ifndef KERNEL_JOURNAL_H
#define KERNEL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#define JOURNAL_STEPS_MAX 65536u

struct journal_step {
	uint64_t realtime_ns;
	const char *path, *old, *new;
	const char *now;               /* read back behind the write; NULL: it is not known that it
	                                  was written */
	int err;                       /* errno it failed with; 0 */
	bool is_undone;
};
struct journal {
	const char *boot_id, *host, *what;
	uint64_t realtime_ns;
	struct journal_step *steps;    /* 1, 2, 3 ... */
	size_t count;
	bool is_applied, is_rolled_back;
};

/* In arena. -EINVAL with fail text: not a journal, or a line that makes no sense. */
int journal_parse(struct arena *arena, struct text t, struct journal *j);

/* ---- the file ---- */

enum journal_use { JOURNAL_READ, JOURNAL_APPEND, JOURNAL_CREATE };
struct journal_file {
	int dir, fd;
};

/*
 * The folder is made 0700 to create in, must be ours, closed to others and no link; nor is any link
 * followed in it. Creating: one that was rolled back is kept as journal.old; -EEXIST with fail
 * text: one is in force there. Writing takes a lock, -EBUSY if another has it, and cuts off a last
 * line that is not whole. *content in arena; empty if created.
 */
int journal_open(struct journal_file *f, const char *dir, enum journal_use use, struct arena *arena,
		 struct text *content);
void journal_close(struct journal_file *f);

/* Appends and waits until it is on disk. -errno with fail text. */
int journal_append(struct journal_file *f, const struct buf *line);

/* The lines, newline included, appended to a buffer. */
void journal_add_begin(struct buf *to, const char *boot_id, const char *host, uint64_t realtime_ns,
		       const char *what);
void journal_add_step(struct buf *to, size_t number, const char *boot_id,
		      const struct journal_step *s);
/* word: "done" or "undone" */
void journal_add_value(struct buf *to, const char *word, size_t number, uint64_t realtime_ns,
		       const char *value);
void journal_add_failed(struct buf *to, size_t number, uint64_t realtime_ns, int err);
/* word: "applied" or "rolled-back" */
void journal_add_end(struct buf *to, const char *word, uint64_t realtime_ns);

#endif
