/*
 * A fold as JSON for speedscope: one profile, its samples in the order of their names.
 * Format: speedscope.app/file-format-schema.json.
 */
#ifndef STACK_SPEEDSCOPE_WRITE_H
#define STACK_SPEEDSCOPE_WRITE_H

#include "common/stack/pprof_write.h"

/* 0 or -errno with fail text. `to` is written, not flushed. */
int speedscope_write(const struct fold *f, const struct profile_name *what, FILE *to);

#endif
