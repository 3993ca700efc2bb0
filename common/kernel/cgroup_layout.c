/* Where each controller's hierarchy is mounted: proc/self/mountinfo (proc(5)) and proc/self/cgroup. */
#include "common/kernel/cgroup.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"

/* The first cgroup namespace's number, include/linux/proc_ns.h PROC_CGROUP_INIT_INO. */
#define INITIAL_NAMESPACE "cgroup:[4026531835]"

struct mount {
	uint64_t id, parent;
	struct text root, point, super;        /* still escaped */
	int version;                           /* of a cgroup file system; 0: another one */
};

struct mounts {
	struct mount *items;
	size_t count;
};

/* "looks mounted there" while choosing among several; NULL: all do. */
typedef bool (*exists_fn)(const char *mount);

const char *cgroup_mode_name(enum cgroup_mode m)
{
	static const char *const names[] = {
		[CGROUP_NONE] = "none", [CGROUP_V1] = "v1", [CGROUP_HYBRID] = "hybrid", [CGROUP_V2] = "v2",
	};

	return names[m];
}

/* "36 35 98:0 /root /point rw,noatime master:1 - cgroup cgroup rw,cpu"; the device name may be empty. */
static bool parse_mount(struct text line, struct mount *m)
{
	struct scan s = scan_of(line);
	struct text word, type;

	if (!scan_u64(&s, &m->id) || !scan_u64(&s, &m->parent) || !scan_skip_words(&s, 1) ||
	    !scan_word(&s, &m->root) || !scan_word(&s, &m->point) || !scan_skip_words(&s, 1))
		return false;
	do {
		if (!scan_word(&s, &word))
			return false;
	} while (!text_is(word, "-"));
	if (!scan_word(&s, &type))
		return false;
	m->super = (struct text){ "", 0 };
	while (scan_word(&s, &word))
		m->super = word;
	m->version = text_is(type, "cgroup2") ? 2 : text_is(type, "cgroup") ? 1 : 0;
	return m->root.data[0] == '/' && m->point.data[0] == '/';
}

static struct mounts parse_mounts(struct arena *arena, struct text mountinfo)
{
	struct scan lines = scan_of(mountinfo);
	struct text line;
	size_t count = 0;

	while (scan_line(&lines, &line))
		count++;
	struct mounts list = { arena_alloc(arena, count * sizeof(struct mount)), 0 };

	lines = scan_of(mountinfo);
	while (scan_line(&lines, &line))
		list.count += parse_mount(line, &list.items[list.count]);
	return list;
}

static bool is_same(struct text a, struct text b)
{
	return a.len == b.len && !memcmp(a.data, b.data, a.len);
}

/* Is path below folder? Both escaped: that changes nothing, a slash is never escaped. */
static bool is_below(struct text path, struct text folder)
{
	if (text_is(folder, "/"))
		return path.len > 1;
	return path.len > folder.len && !memcmp(path.data, folder.data, folder.len) &&
		path.data[folder.len] == '/';
}

/* Does another mount stand in the way of a walk to m, whose own mount `child` is on that way? */
static bool is_covered(const struct mounts *list, const struct mount *m, const struct mount *child)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct mount *over = &list->items[i];

		if (over == m || over == child)
			continue;
		if (over->parent == m->id && is_same(over->point, m->point))
			return true;
		if (over->parent != m->parent)
			continue;
		if (is_below(m->point, over->point) || (over > m && is_same(over->point, m->point)))
			return true;
	}
	return false;
}

/* A path leads to m only if neither it nor any mount it stands on is covered. */
static bool is_visible(const struct mounts *list, const struct mount *m)
{
	const struct mount *child = NULL;

	for (size_t depth = 0; depth <= list->count; depth++) {
		if (is_covered(list, m, child))
			return false;
		const struct mount *below = NULL;

		for (size_t i = 0; i < list->count && !below; i++)
			if (list->items[i].id == m->parent)
				below = &list->items[i];
		if (!below || below == m)
			return true;
		child = m;
		m = below;
	}
	return true;
}

/* proc(5): space, tab, newline, backslash and # stand as \ooo. */
static const char *unescape(struct arena *arena, struct text t)
{
	char *copy = arena_alloc(arena, t.len + 1), *to = copy;

	for (size_t i = 0; i < t.len; i++) {
		const char *p = t.data + i;

		if (*p == '\\' && t.len - i > 3 && p[1] >= '0' && p[1] <= '3' &&
		    p[2] >= '0' && p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			i += 3;
		} else {
			*to++ = *p;
		}
	}
	return copy;
}

static bool has_option(struct text options, const char *word)
{
	struct scan s = scan_of(options);
	struct text option;

	while (scan_until(&s, ',', &option))
		if (text_is(option, word))
			return true;
	return text_is(scan_rest(&s), word);
}

/* How good a mount is to reach a group by: what exists, then what shows everything, then our own group. */
static unsigned merit(struct arena *arena, const struct mount *m, const char *own, exists_fn exists)
{
	const char *mount = unescape(arena, m->point) + 1, *root = unescape(arena, m->root);
	struct text inner = own ? text_of(own) : (struct text){ "", 0 };
	unsigned is_there = !exists || exists(mount), is_whole = !strcmp(root, "/");

	return 1 + is_there * 4 + is_whole * 2 +
		(is_same(inner, text_of(root)) || is_below(inner, text_of(root)));
}

static void choose(struct arena *arena, const struct mounts *list, const char *controller,
		   exists_fn exists, struct cgroup_hierarchy *h)
{
	const struct mount *best = NULL;
	unsigned best_merit = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct mount *m = &list->items[i];

		if (*controller ? m->version != 1 || !has_option(m->super, controller) : m->version != 2)
			continue;
		if (!is_visible(list, m))
			continue;
		unsigned now = merit(arena, m, h->own, exists);

		if (now > best_merit)
			best = m, best_merit = now;
	}
	if (!best)
		return;
	h->version = best->version;
	h->mount = unescape(arena, best->point) + 1;
	h->root = unescape(arena, best->root);
}

static const char *own_group(struct arena *arena, struct text self_cgroup, const char *controller)
{
	struct text path;

	return task_parse_cgroup(self_cgroup, controller, &path) ? arena_text(arena, path) : NULL;
}

/* A controller that no v1 hierarchy has is the unified one's. */
static struct cgroup_hierarchy find_controller(struct arena *arena, const struct mounts *list,
					       struct text self_cgroup, const char *controller,
					       exists_fn exists, const struct cgroup_hierarchy *unified)
{
	struct cgroup_hierarchy h = { .own = own_group(arena, self_cgroup, controller) };

	choose(arena, list, controller, exists, &h);
	if (!h.version && !h.own)
		return *unified;
	return h;
}

static bool is_partial(const struct cgroup_hierarchy *h)
{
	return h->version && (strcmp(h->root, "/") != 0 || (h->own && !strncmp(h->own, "/..", 3)));
}

static enum cgroup_mode mode_of(const struct mounts *list)
{
	bool has[3] = { false, false, false };

	for (size_t i = 0; i < list->count; i++)
		has[list->items[i].version] = true;
	return has[1] && has[2] ? CGROUP_HYBRID : has[1] ? CGROUP_V1 : has[2] ? CGROUP_V2 : CGROUP_NONE;
}

static int find_layout(struct arena *arena, struct text mountinfo, struct text self_cgroup,
		       exists_fn exists, struct cgroup_layout *layout)
{
	struct mounts list = parse_mounts(arena, mountinfo);
	struct cgroup_layout l = { .mode = mode_of(&list) };

	if (!list.count)
		return fail(EINVAL, "mountinfo: no line makes sense");
	l.unified.own = own_group(arena, self_cgroup, "");
	choose(arena, &list, "", exists, &l.unified);
	l.cpu = find_controller(arena, &list, self_cgroup, "cpu", exists, &l.unified);
	l.cpuacct = find_controller(arena, &list, self_cgroup, "cpuacct", exists, &l.unified);
	l.memory = find_controller(arena, &list, self_cgroup, "memory", exists, &l.unified);
	l.cpuset = find_controller(arena, &list, self_cgroup, "cpuset", exists, &l.unified);
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
