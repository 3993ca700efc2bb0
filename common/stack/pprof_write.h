/*
 * A fold as a pprof profile, gzip: a location and a function for each name, a sample for each stack
 * with a weight. No addresses and no mappings: they were folded away. The same fold gives the same
 * bytes.
 *
 * Format: github.com/google/pprof/blob/main/proto/profile.proto.
 */
#ifndef STACK_PPROF_WRITE_H
#define STACK_PPROF_WRITE_H

#include <stdio.h>

#include "common/stack/fold.h"

/* What a profile is of. */
struct profile_name {
	const char *name;              /* of the event; NULL: none */
	const char *unit;              /* of the weights: "samples", "ns", "bytes", "cycles" */
	const char *program;           /* that writes it, with its version */
};

/* 0 or -errno with fail text. `to` is written, not flushed. */
int pprof_write(const struct fold *f, const struct profile_name *what, FILE *to);

#endif
