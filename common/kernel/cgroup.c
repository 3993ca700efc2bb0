#include "common/kernel/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fail.h"
#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

#define DEPTH_MAX 512                  /* of nested groups; a path has at most 4096 bytes */
#define KNOWN_FILES_MAX 4096           /* names remembered as files; there are a few hundred */

/* folder + "/" + name, where folder may be "" and name start with a slash or be empty. */
static char *join(struct arena *arena, const char *folder, const char *name)
{
	size_t n = strlen(folder);

	while (n && folder[n - 1] == '/')
		n--;
	while (*name == '/')
		name++;
	size_t m = strlen(name);
	char *p = arena_alloc(arena, n + m + 2);

	memcpy(p, folder, n);
	if (n && m)
		p[n++] = '/';
	memcpy(p + n, name, m);
	return p;
}

const char *cgroup_folder(struct arena *arena, const struct cgroup_hierarchy *h, const char *path)
{
	if (!h->version || *path != '/')
		return NULL;
	size_t n = strlen(h->root);

	if (n == 1)
		n = 0;
	if (strncmp(path, h->root, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	const char *below = path + n;

	/* "/.." leads out: to the group above the mount's, or to what a namespace does not hold */
	if (!strncmp(below, "/..", 3) && (!below[3] || below[3] == '/'))
		return NULL;
	return join(arena, h->mount, below);
}

const char *cgroup_path(struct arena *arena, const struct cgroup_hierarchy *h, const char *below)
{
	const char *path = join(arena, h->root ? h->root : "/", below);

	return *path == '/' ? path : arena_printf(arena, "/%s", path);
}

struct walk {
	const struct cgroup_hierarchy *h;
	cgroup_each each;
	void *arg;
	long count;
	int first_error;
	const char *first_text;
};

/* Names with a dot that turned out to be files: the kernel puts the same ones into every group. */
static struct hash known_files;

static bool is_known_file(const char *name)
{
	static const char *const without_dot[] = { "tasks", "notify_on_release", "release_agent" };

	for (size_t i = 0; i < sizeof(without_dot) / sizeof(*without_dot); i++)
		if (!strcmp(name, without_dot[i]))
			return true;
	return !strncmp(name, "cgroup.", 7) || hash_find_name(&known_files, name);
}

static void remember_file(const char *name)
{
	if (known_files.used < KNOWN_FILES_MAX) {
		char *copy = mem_strdup(name);

		*hash_name(&known_files, copy) = copy;
	}
}

static bool has_unit_suffix(const char *name)
{
	static const char *const suffixes[] = {
		".slice", ".scope", ".service", ".mount", ".socket", ".swap"
	};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (!strcmp(dot, suffixes[i]))
			return true;
	return false;
}

/*
 * Is this name in a group's folder a group? Files have a dot in their name, but so have groups:
 * where the name does not settle it, only a folder can be listed.
 */
static bool is_group(const char *folder, const char *name)
{
	struct src_names names;

	if (is_known_file(name))
		return false;
	if (!strchr(name, '.') || has_unit_suffix(name))
		return true;
	int err = src_list(folder, &names);

	if (err == -ENOTDIR)
		remember_file(name);
	return err >= 0;
}

/* How many groups there are below one; NA_U64 where the kernel does not say (v1, before 4.14). */
static uint64_t count_below(const struct cgroup_hierarchy *h, const char *folder)
{
	struct text t;
	uint64_t below;

	return h->version == 2 && src_readf(&t, "%s/cgroup.stat", folder) >= 0 &&
		scan_key_u64(t, "nr_descendants", &below) ? below : NA_U64;
}

static void keep_error(struct walk *w, int err)
{
	/* a group that went away while we looked is no error */
	if (w->first_error || err == -ENOENT || err == -ENODEV || err == -ENOTDIR)
		return;
	w->first_error = err;
	w->first_text = arena_strdup(src_arena(), fail_text());
}

struct child {
	const char *name, *folder;
};

/* The groups among what a folder holds; *children lives until the frame's end. */
static size_t list_children(struct walk *w, const char *folder, struct child **children)
{
	struct src_names names;
	size_t count = 0;
	int err = src_list(folder, &names);

	if (err < 0) {
		keep_error(w, err);
		return 0;
	}
	struct child *list = arena_alloc(src_arena(), names.count * sizeof(*list));

	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.items[i];

		if (is_known_file(name))
			continue;
		const char *below = join(src_arena(), folder, name);

		if (is_group(below, name))
			list[count++] = (struct child){ name, below };
	}
	*children = list;
	return count;
}

/*
 * Listing a group's eighty files costs more than all that is read of it, and most groups are
 * leaves. Where the kernel counts what is below: as many groups as children, and no child has any.
 */
static void visit(struct walk *w, const char *path, const char *folder, unsigned depth, long parent,
		  bool is_leaf)
{
	const struct cgroup_hierarchy here = { .root = path };
	struct child *children;
	long self = w->count++;

	w->each(path, folder, depth, parent, w->arg);
	if (is_leaf || depth >= DEPTH_MAX || src_is_leaf(folder))
		return;
	uint64_t below = count_below(w->h, folder);
	size_t count = below ? list_children(w, folder, &children) : 0;

	for (size_t i = 0; i < count; i++) {
		const char *name = cgroup_path(src_arena(), &here, children[i].name);

		visit(w, name, children[i].folder, depth + 1, self, below == count);
	}
}

int cgroup_walk(const struct cgroup_hierarchy *h, cgroup_each each, void *arg)
{
	struct walk w = { .h = h, .each = each, .arg = arg };
	struct src_names names;

	if (!h->version)
		return fail(ENOENT, "cgroups: no hierarchy with this controller is mounted");
	int err = src_list(h->mount, &names);

	if (err < 0)
		return err;
	visit(&w, h->root, h->mount, 0, -1, false);
	return w.first_error ? fail(-w.first_error, "%s", w.first_text) : 0;
}

int cgroup_parse_threads(struct arena *arena, struct text t, const uint32_t **tids, size_t *count)
{
	struct scan s = scan_of(t);
	struct text line;
	size_t lines = 0;

	while (scan_until(&s, '\n', &line))
		lines++;
	uint32_t *list = arena_alloc(arena, lines * sizeof(*list));
	size_t n = 0;

	s = scan_of(t);
	while (scan_until(&s, '\n', &line)) {
		uint64_t tid;

		if (!scan_all_u64(line, &tid) || tid > UINT32_MAX)
			return fail(EINVAL, "not a list of thread ids");
		list[n++] = (uint32_t)tid;
	}
	*tids = list;
	*count = n;
	return 0;
}

int cgroup_read_threads(const struct cgroup_hierarchy *h, const char *folder, const uint32_t **tids,
			size_t *count)
{
	const char *name = h->version == 2 ? "cgroup.threads" : "tasks";
	struct text t;
	int err = src_readf(&t, "%s/%s", folder, name);

	if (err < 0)
		return err;
	if (cgroup_parse_threads(src_arena(), t, tids, count) < 0)
		return fail(EINVAL, "/%s/%s: not a list of thread ids", folder, name);
	return 0;
}

static int fetch_id(void *arg, struct buf *reply)
{
	const char *folder = arg;
	struct stat st;
	int root = src_tree_open();

	if (root < 0)
		return root;
	int err = fstatat(root, folder, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;

	close(root);
	if (err)
		return fail_errno(err, "/%s", folder);
	buf_printf(reply, "%" PRIu64, (uint64_t)st.st_ino);
	return 0;
}

uint64_t cgroup_id(const char *folder)
{
	struct text reply;
	uint64_t id;

	if (src_call(arena_printf(src_arena(), "inode %s", folder), fetch_id, (void *)folder,
		     &reply) < 0 || !scan_all_u64(reply, &id))
		return NA_U64;
	return id;
}
