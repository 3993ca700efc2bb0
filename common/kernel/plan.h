/*
 * A plan: settings to write, in order, as irqbind --plan --tsv prints it: a header of column names,
 * of which path, old_value and new_value are needed and all others passed over, and a line for each
 * step, values escaped with backslashes.
 */
#ifndef KERNEL_PLAN_H
#define KERNEL_PLAN_H

#include <stddef.h>

#include "common/base/mem.h"
#include "common/base/text.h"

#define PLAN_STEPS_MAX 65536u

struct plan_step {
	const char *path;              /* as setting.h has it, without a leading slash */
	const char *old, *new;
	const char *subject, *why;     /* for people; NULL in a plan that was read */
};
struct plan {
	struct plan_step *steps;
	size_t count, cap;             /* cap: plan_add's; steps is in the arena it was given */
};

void plan_add(struct arena *arena, struct plan *p, const struct plan_step *step);

/*
 * All strings in arena. -EINVAL with fail text that names the line: no such columns, a path that is
 * no setting, a value that is none of its kind, the last line cut. A file with a header alone is an
 * empty plan.
 */
int plan_parse(struct arena *arena, struct text t, struct plan *p);

#endif
