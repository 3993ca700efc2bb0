/* What the applets may need of a host, probed by use. */
#ifndef APPLETS_PERFBOX_CAPABILITY_H
#define APPLETS_PERFBOX_CAPABILITY_H

#include <stdbool.h>
#include <stddef.h>

/* Texts live until the frame's end. */
struct capability {
	const char *capability;
	const char *state;             /* ok limited refused off absent; NULL: not saved */
	const char *why;
	const char *unlock;            /* NULL: nothing to unlock, or nothing known to */
	const char *affects;           /* the doctor's to fill */
	bool usable;                   /* ok or limited */
	bool is_own;                   /* of the program, whatever the host */
};

/* The i-th, counting from 0, in one frame and in order; false: there are no more. */
bool capability_probe(size_t i, struct capability *row);

#endif
