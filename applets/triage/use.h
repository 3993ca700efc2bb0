/* Inside triage: the USE table (utilization, saturation, errors of every resource). */
#ifndef APPLETS_TRIAGE_USE_H
#define APPLETS_TRIAGE_USE_H

#include "applets/applet.h"

extern const struct table use_table;

/* Every frame: reads the counters; with the frame before it adds the rows (nothing at the first).
 */
void use_look(struct out *out);
void use_stop(void);

#endif
