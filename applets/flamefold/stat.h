/* --stat: counters. Functions of struct mode. */
#ifndef APPLETS_FLAMEFOLD_STAT_H
#define APPLETS_FLAMEFOLD_STAT_H

#include "applets/flamefold/flamefold.h"

extern const struct table *const stat_tables[];

int stat_start(int argc, char **argv);
int stat_look(struct out *out);
int stat_wait(uint64_t due_ns);
void stat_stop(void);

#endif
