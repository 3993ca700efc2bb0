#include "common/kernel/pids.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/mounts.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"
#include "common/kernel/task.h"

#define DEPTH_MAX 64                   /* groups looked at on the way up */

/* ---- the host ---- */

int pids_parse_loadavg(struct text t, struct pids_host *p)
{
	struct scan s = scan_of(t);
	struct text line;
	uint64_t runnable, threads;

	if (!scan_until(&s, '\n', &line))
		return fail(EINVAL, "/proc/loadavg: cut");
	s = scan_of(line);
	if (!scan_skip_words(&s, 3) || !scan_u64(&s, &runnable) || !scan_literal(&s, "/") ||
	    !scan_u64(&s, &threads))
		return fail(EINVAL, "/proc/loadavg: not understood");
	p->runnable = runnable;
	p->threads = threads;
	return 0;
}

int pids_read_host(struct pids_host *p)
{
	struct pids_host new = { NA_U64, NA_U64, NA_U64, NA_U64, NA_U64 };
	struct text t;
	int err = src_read("proc/loadavg", &t);

	if (err >= 0)
		err = pids_parse_loadavg(t, &new);
	if (err < 0)
		return err;
	new.pid_max = sysctl_number("kernel/pid_max", 0);
	if (new.pid_max != NA_U64)
		new.threads_max = sysctl_number("kernel/threads-max", 0);
	if (new.pid_max == NA_U64 || new.threads_max == NA_U64)
		err = -EINVAL;
	else
		new.limit = new.pid_max < new.threads_max ? new.pid_max : new.threads_max;
	*p = new;
	return err < 0 ? err : 0;
}

/* ---- a group ---- */

bool pids_parse_max(struct text t, bool *has_limit, uint64_t *max)
{
	if (text_is(t, "max\n")) {
		*has_limit = false;
		*max = NA_U64;
		return true;
	}
	uint64_t n = sysctl_parse_number(t, 0);

	if (n == NA_U64)
		return false;
	*has_limit = true;
	*max = n;
	return true;
}

uint64_t pids_parse_events(struct text t)
{
	struct scan s = scan_of(t);
	struct text line;
	uint64_t n;

	while (scan_until(&s, '\n', &line)) {
		struct scan words = scan_of(line);

		if (scan_literal(&words, "max "))
			return scan_u64(&words, &n) && words.at == words.end ? n : NA_U64;
	}
	return NA_U64;
}

static bool read_group(const char *folder, struct pids_group *g)
{
	struct text t;

	if (src_readf(&t, "%s/pids.max", folder) < 0 || !pids_parse_max(t, &g->has_limit, &g->max))
		return false;
	if (src_readf(&t, "%s/pids.current", folder) >= 0)
		g->current = sysctl_parse_number(t, 0);
	if (src_readf(&t, "%s/pids.events", folder) >= 0)
		g->forks_refused = pids_parse_events(t);
	return true;
}

/* Where the pids controller is mounted, and our own group in it. */
static bool find_hierarchy(struct arena *arena, struct text self_cgroup,
			   const struct mounts *mounts, struct cgroup_hierarchy *h)
{
	struct text path;
	bool is_v1 = task_parse_cgroup(self_cgroup, "pids", &path);

	if (!is_v1 && !task_parse_cgroup(self_cgroup, "", &path))
		return false;
	*h = (struct cgroup_hierarchy){ .own = arena_text(arena, path) };
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *m = &mounts->items[i];
		bool is_it = !strcmp(m->type, is_v1 ? "cgroup" : "cgroup2") &&
			(!is_v1 || mount_has_option(m->super_options, "pids"));

		if (!is_it || !m->is_visible || (h->version && strcmp(m->root, "/") != 0))
			continue;
		h->version = is_v1 ? 1 : 2;
		h->mount = m->point + 1;
		h->root = m->root;
	}
	return h->version != 0;
}

static double fullness(const struct pids_group *g)
{
	double ratio = g->has_limit ? ratio_of(g->current, g->max) : NA_F64;

	return is_na_f64(ratio) ? -1 : ratio;
}

/* "/a/b" becomes "/a", "/a" becomes "/", "/" is the end. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

int pids_read_own_group(struct arena *arena, struct pids_group *g)
{
	const struct pids_group unknown = { NULL, NA_U64, false, NA_U64, NA_U64 };
	struct pids_group best = unknown;
	struct mounts mounts;
	struct cgroup_hierarchy h;
	struct text self_cgroup;
	uint64_t own_refused = NA_U64;
	int err = src_read("proc/self/cgroup", &self_cgroup);

	if (err >= 0)
		err = mounts_read(src_arena(), &mounts);
	if (err < 0)
		return err;
	if (!find_hierarchy(arena, self_cgroup, &mounts, &h)) {
		*g = unknown;
		return 0;
	}
	char *path = arena_strdup(src_arena(), h.own);

	best.path = h.own;
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		struct pids_group here = unknown;
		const char *folder = cgroup_folder(src_arena(), &h, path);

		if (!folder)
			break;
		bool is_known = read_group(folder, &here);

		here.path = arena_strdup(arena, path);
		if (!depth)
			own_refused = here.forks_refused;
		if (is_known && (!depth || fullness(&here) > fullness(&best)))
			best = here;
		if (!go_up(path))
			break;
	}
	if (own_refused != NA_U64 &&
	    (best.forks_refused == NA_U64 || own_refused > best.forks_refused))
		best.forks_refused = own_refused;
	*g = best;
	return 0;
}
