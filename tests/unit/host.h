/* A folder of files that is replayed as a host of one frame. */
#ifndef TESTS_UNIT_HOST_H
#define TESTS_UNIT_HOST_H

#include "tests/unit/scratch.h"

/* A file and the folders it is in. */
static inline void host_add(const char *path, const char *text)
{
	char folder[256];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		if (!is_there(folder))
			make(folder);
	}
	put_text(path, text);
}

static inline void host_link(const char *path, const char *target)
{
	CHECK(!symlink(target, at(path)));
}

#endif
