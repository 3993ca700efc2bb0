/* Sampling now: --record, and --functions of what runs. */
#ifndef APPLETS_FLAMEFOLD_RECORD_H
#define APPLETS_FLAMEFOLD_RECORD_H

#include "applets/flamefold/flamefold.h"

int record_start(int argc, char **argv);
int record_start_list(int argc, char **argv);
int record_run(struct out *out);

#endif
