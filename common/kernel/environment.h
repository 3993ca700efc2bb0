/* What must be the same for two measurements to be comparable: a saved run starts with it. */
#ifndef KERNEL_ENVIRONMENT_H
#define KERNEL_ENVIRONMENT_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/text.h"

struct environment_item {
	const char *key;       /* "kernel", "sysctl net.core.somaxconn", "nic eth0 driver" */
	const char *value;
};
struct environment {
	struct environment_item *items;
	size_t count;
};

/* Reads it through the source, in the current frame. What can't be read is left out. In arena. */
void environment_read(struct arena *arena, struct environment *e);
/* KEY<TAB>VALUE lines, escaped */
void environment_write(const struct environment *e, struct buf *to);
/* -EINVAL names the line */
int environment_parse(struct arena *arena, struct text t, struct environment *e);

#endif
