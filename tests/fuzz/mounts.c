/* Any bytes as /proc/self/mountinfo and as a statfs reply. */
#include "common/kernel/mounts.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mount(const struct mount *m)
{
	assert(m->point[0] == '/' && m->root && m->type && m->source);
	mount_has_option(m->options, "ro");
	mount_has_option(m->super_options, "pids");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct arena arena = { 0 };
	struct mounts all, real;
	struct mount_usage u;

	if (size > 65536)
		return 0;
	mounts_parse(&arena, t, &all);
	mounts_select(&arena, &all, &real);
	assert(real.count <= all.count);
	for (size_t i = 0; i < all.count; i++)
		check_mount(&all.items[i]);
	for (size_t i = 0; i < real.count; i++)
		assert(real.items[i].is_visible);
	if (mount_parse_usage(t, &u) == 0 && u.size_bytes != NA_U64) {
		assert(u.used_bytes <= u.size_bytes && u.available_bytes <= u.size_bytes);
		assert(!(u.used_ratio < 0) && !(u.used_ratio > 1) && !(u.inodes_ratio > 1));
	}
	arena_free(&arena);
	return 0;
}
