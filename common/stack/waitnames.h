/*
 * From what kernel/offcpu.h measured, which is addresses, to waits that have names. Follows
 * processes while the window lasts: those that end within it have their names, too.
 */
#ifndef STACK_WAITNAMES_H
#define STACK_WAITNAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stack/waits.h"

#define WAITNAMES_SPACES_MAX 65536     /* address spaces that are gone, and still known */

struct waitnames;

/* 0, or -errno with fail text. A kernel that refuses to tell of new processes is no failure: see
 * waitnames_blind. */
int waitnames_open(struct waitnames **opened);
void waitnames_free(struct waitnames *n);
const char *waitnames_blind(const struct waitnames *n);        /* why; NULL: it tells */

/* A process that is there when the window begins: reads its maps, and with cgroups its group. */
void waitnames_know(struct waitnames *n, uint32_t pid);
void waitnames_want_cgroups(struct waitnames *n);
/* Takes what came, having waited for it up to timeout_ms. */
void waitnames_follow(struct waitnames *n, int timeout_ms);

/* After offcpu_end: all rows, with what they name. w is zeroed before. 0 or -errno with fail text.
 */
int waitnames_collect(struct waitnames *n, struct waits *w);

#endif
