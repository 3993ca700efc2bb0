/* Where each controller's hierarchy is mounted: proc/self/mountinfo and proc/self/cgroup. */
#include "common/kernel/cgroup.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/mounts.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"

/* The first cgroup namespace's number, include/linux/proc_ns.h PROC_CGROUP_INIT_INO. */
#define INITIAL_NAMESPACE "cgroup:[4026531835]"

/* "looks mounted there" while choosing among several; NULL: all do. */
typedef bool (*exists_fn)(const char *mount);

const char *cgroup_mode_name(enum cgroup_mode m)
{
	static const char *const names[] = {
		[CGROUP_NONE] = "none", [CGROUP_V1] = "v1",
		[CGROUP_HYBRID] = "hybrid", [CGROUP_V2] = "v2",
	};

	return names[m];
}

/* Of a cgroup file system; 0: another one. */
static int version_of(const struct mount *m)
{
	return !strcmp(m->type, "cgroup2") ? 2 : !strcmp(m->type, "cgroup") ? 1 : 0;
}

/* Is path the folder root, or below it? */
static bool is_within(const char *path, const char *root)
{
	size_t n = strcmp(root, "/") != 0 ? strlen(root) : 0;

	return !strncmp(path, root, n) && (!path[n] || path[n] == '/');
}

/* How good a mount is to reach groups by: it exists, it shows all of them, it shows our own. */
static unsigned merit(const struct mount *m, const char *own, exists_fn exists)
{
	unsigned is_there = !exists || exists(m->point + 1), is_whole = !strcmp(m->root, "/");

	return 1 + is_there * 4 + is_whole * 2 + (own && is_within(own, m->root));
}

/* controller "": the unified hierarchy. */
static bool is_candidate(const struct mount *m, const char *controller)
{
	if (!m->is_visible || *m->point != '/' || *m->root != '/')
		return false;
	return *controller ? version_of(m) == 1 && mount_has_option(m->super_options, controller) :
		version_of(m) == 2;
}

static void choose(const struct mounts *mounts, const char *controller, exists_fn exists,
		   struct cgroup_hierarchy *h)
{
	unsigned best = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *m = &mounts->items[i];

		if (!is_candidate(m, controller))
			continue;
		unsigned now = merit(m, h->own, exists);

		if (now <= best)
			continue;
		best = now;
		h->version = version_of(m);
		h->mount = m->point + 1;
		h->root = m->root;
	}
}

static const char *own_group(struct arena *arena, struct text self_cgroup, const char *controller)
{
	struct text path;

	return task_parse_cgroup(self_cgroup, controller, &path) ? arena_text(arena, path) : NULL;
}

/* A controller that no v1 hierarchy has is the unified one's. */
static void find_controller(struct arena *arena, const struct mounts *mounts,
			    struct text self_cgroup, const char *controller, exists_fn exists,
			    const struct cgroup_hierarchy *unified, struct cgroup_hierarchy *h)
{
	h->own = own_group(arena, self_cgroup, controller);
	choose(mounts, controller, exists, h);
	if (!h->version && !h->own)
		*h = *unified;
}

static bool is_partial(const struct cgroup_hierarchy *h)
{
	return h->version && (strcmp(h->root, "/") != 0 || (h->own && !strncmp(h->own, "/..", 3)));
}

static enum cgroup_mode mode_of(const struct mounts *mounts)
{
	bool has[3] = { false, false, false };

	for (size_t i = 0; i < mounts->count; i++)
		has[version_of(&mounts->items[i])] = true;
	if (has[1])
		return has[2] ? CGROUP_HYBRID : CGROUP_V1;
	return has[2] ? CGROUP_V2 : CGROUP_NONE;
}

static int find_layout(struct arena *arena, struct text mountinfo, struct text self_cgroup,
		       exists_fn exists, struct cgroup_layout *layout)
{
	struct mounts mounts;

	mounts_parse(arena, mountinfo, &mounts);
	if (!mounts.count)
		return fail(EINVAL, "mountinfo: no line makes sense");
	struct cgroup_layout l = { .mode = mode_of(&mounts) };

	l.unified.own = own_group(arena, self_cgroup, "");
	choose(&mounts, "", exists, &l.unified);
	find_controller(arena, &mounts, self_cgroup, "cpu", exists, &l.unified, &l.cpu);
	find_controller(arena, &mounts, self_cgroup, "cpuacct", exists, &l.unified, &l.cpuacct);
	find_controller(arena, &mounts, self_cgroup, "memory", exists, &l.unified, &l.memory);
	find_controller(arena, &mounts, self_cgroup, "cpuset", exists, &l.unified, &l.cpuset);
	l.has_namespace = is_partial(&l.cpu) || is_partial(&l.memory) || is_partial(&l.cpuset) ||
		is_partial(&l.unified);
	*layout = l;
	return 0;
}

int cgroup_parse_layout(struct arena *arena, struct text mountinfo, struct text self_cgroup,
			struct cgroup_layout *layout)
{
	return find_layout(arena, mountinfo, self_cgroup, NULL, layout);
}

static bool has_file(const char *mount, const char *name)
{
	return src_exists(arena_printf(src_arena(), "%s/%s", mount, name));
}

static bool is_cgroup_folder(const char *mount)
{
	return has_file(mount, "cgroup.procs");
}

/* cgroup.controllers names what the mount's root was given; a controller not in it is nowhere. */
static void drop_missing(struct cgroup_layout *l)
{
	struct text given, word;
	bool has_cpu = false, has_memory = false, has_cpuset = false;

	if (l->unified.version != 2 ||
	    src_readf(&given, "%s/cgroup.controllers", l->unified.mount) < 0)
		return;
	struct scan s = scan_of(given);

	while (scan_word(&s, &word)) {
		has_cpu = has_cpu || text_is(word, "cpu");
		has_memory = has_memory || text_is(word, "memory");
		has_cpuset = has_cpuset || text_is(word, "cpuset");
	}
	/* cpu.stat, with the time used, is there without the controller (Linux 4.15) */
	if (l->cpu.version == 2 && !has_cpu && !has_file(l->unified.mount, "cpu.stat"))
		l->cpu = (struct cgroup_hierarchy){ .own = l->cpu.own };
	if (l->memory.version == 2 && !has_memory)
		l->memory = (struct cgroup_hierarchy){ .own = l->memory.own };
	if (l->cpuset.version == 2 && !has_cpuset)
		l->cpuset = (struct cgroup_hierarchy){ .own = l->cpuset.own };
}

int cgroup_find(struct arena *arena, struct cgroup_layout *layout)
{
	struct text mountinfo, self_cgroup = { "", 0 };
	struct cgroup_layout l;
	const char *namespace;
	int err = src_read("proc/self/mountinfo", &mountinfo);

	if (err < 0)
		return err;
	/* without it only our own group is unknown */
	if (src_read("proc/self/cgroup", &self_cgroup) < 0)
		self_cgroup = (struct text){ "", 0 };
	err = find_layout(arena, mountinfo, self_cgroup, is_cgroup_folder, &l);
	if (err < 0)
		return fail(EINVAL, "/proc/self/mountinfo: no line makes sense");
	drop_missing(&l);
	if (src_link("proc/self/ns/cgroup", &namespace) >= 0)
		l.has_namespace = l.has_namespace || strcmp(namespace, INITIAL_NAMESPACE) != 0;
	else if (l.unified.version == 2 && has_file(l.unified.mount, "cgroup.events"))
		l.has_namespace = true;        /* a file that the true root does not have */
	*layout = l;
	return 0;
}
