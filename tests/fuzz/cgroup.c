/*
 * The files of cgroups of anybody's making: mountinfo and /proc/self/cgroup with a NUL between, the
 * cpu controller's, lists, and the same bytes as a group's path and as a container log's name.
 */
#include "common/kernel/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct arena arena;

/* Slashes that no kernel writes are taken away on the way. */
static bool has_odd_slash(const char *path)
{
	return strstr(path, "//") || path[strlen(path) - 1] == '/';
}

/* Below the mount and back again is where we were. */
static void check_there_and_back(const struct cgroup_hierarchy *h, const char *below)
{
	if (!h->version || !*h->mount || has_odd_slash(h->mount) || has_odd_slash(h->root))
		return;
	const char *path = cgroup_path(&arena, h, below);
	const char *folder = cgroup_folder(&arena, h, path);

	if (folder && !has_odd_slash(path) &&
	    strcmp(cgroup_path(&arena, h, folder + strlen(h->mount)), path) != 0)
		abort();
}

static void try_layout(struct text t, const char *below)
{
	const char *nul = t.len ? memchr(t.data, '\0', t.len) : NULL;
	const size_t n = nul ? (size_t)(nul - t.data) : t.len;
	const struct text mountinfo = { t.data, n };
	const struct text self = { t.data + n, t.len - n };
	struct cgroup_layout l;

	if (cgroup_parse_layout(&arena, mountinfo, self, &l))
		return;
	check_there_and_back(&l.cpu, below);
	check_there_and_back(&l.memory, below);
	check_there_and_back(&l.unified, "a/b");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	const char *path = arena_text(&arena, t);
	struct cgroup_cpu cpu = { 0 };
	struct cgroup_names names;
	struct text pod, namespace, container;
	const uint32_t *tids;
	const uint64_t *ns;
	unsigned cpus;
	size_t count;

	try_layout(t, path);
	cgroup_parse_cpu_stat(t, &cpu);
	cgroup_parse_cpu_local(t, &cpu);
	cgroup_parse_cpu_max(t, &cpu);
	if (!cgroup_parse_threads(&arena, t, &tids, &count) && count > size)
		abort();
	if (!cgroup_parse_percpu(&arena, t, &ns, &cpus) && cpus > size)
		abort();
	cgroup_name(&arena, path, &names);
	if (names.container_id && strlen(names.container_id) != 64)
		abort();
	cgroup_names_text(&arena, &names);
	if (cgroup_parse_log_name(t, "0123", &pod, &namespace, &container) &&
	    (!pod.len || !namespace.len || !container.len))
		abort();
	arena_reset(&arena);
	return 0;
}
