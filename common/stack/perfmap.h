/*
 * A perf map: where a JIT says that it put its functions. "START SIZE NAME" a line, in hex; a
 * later line is newer, and what it covers is no longer the earlier one's.
 *
 * Format: tools/perf/Documentation/jit-interface.txt.
 */
#ifndef STACK_PERFMAP_H
#define STACK_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

struct perfmap;

#define PERFMAP_BYTES_MAX (512u << 20)
#define PERFMAP_LINES_MAX (16u << 20)  /* later ones are not read */

/* The text is used until perfmap_free. */
struct perfmap *perfmap_new(struct text text);
void perfmap_free(struct perfmap *m);

/* Lines that are none: the rest of a name that holds a newline, a last line still being written. */
size_t perfmap_skipped(const struct perfmap *m);
size_t perfmap_count(const struct perfmap *m);

/* The function that was last put where the address is; start: where it begins. */
bool perfmap_find(const struct perfmap *m, uint64_t address, struct text *name, uint64_t *start);

#endif
