/*
 * Control groups with a memory limit, and those that ran out once: what their files say, and what
 * their ancestors and the host leave them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/oomcheck/oomcheck.h"
#include "common/base/mem.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"
#include "common/report/redact.h"

#define NEAR_RATIO 0.5                 /* usage of the limit from which on all is read */
#define GROWING_NS (3600 * 1000000000ull) /* ... or that would fill up within this */

/* Every group of the look; most of them are nothing but a name. */
struct node {
	const char *path, *folder;
	struct memgroup *group;                /* NULL: nothing asks for it */
	long parent;
	bool has_children;
	uint64_t kills, moved_kills;           /* in it and below; NA_U64 unknown */
};

static struct {
	struct node *nodes;
	size_t count, cap;
	struct hash by_path;                   /* path -> index + 1 */
	struct memgroup **groups;              /* parents first */
	size_t group_count, group_cap;
	struct hash tracks;                    /* path -> struct track */
	struct track **track_list;
	size_t track_count, track_cap;
	unsigned looks;
	bool is_hierarchical; /* the root says that all below it are (v1) */
	const char *asked;                     /* -G as a path; NULL: all */
	const char **pid_groups;               /* of -p, as far as they are there */
	size_t pid_group_count;
} seen;

/* ---- the groups of a look ---- */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_some(uint64_t n)
{
	return n && n != NA_U64;
}

static bool has_history(const struct memcg *m)
{
	return is_some(m->max_events) || is_some(m->high_events) || is_some(m->oom_events) ||
	       is_some(m->oom_kills) || m->under_oom == 1;
}

static struct memgroup *ensure_group(long index)
{
	struct node *n = &seen.nodes[index];

	if (n->group)
		return n->group;
	struct memgroup *parent = n->parent >= 0 ? ensure_group(n->parent) : NULL;
	struct memgroup *g = arena_alloc(src_arena(), sizeof(*g));

	*g = (struct memgroup){
		.path = n->path, .folder = n->folder, .parent = parent, .memory = memcg_unknown,
		.unreclaimable_bytes = NA_U64, .swap_left_bytes = NA_U64, .swappable_bytes = NA_U64,
		.moved_kills = NA_U64, .own_kills = NA_U64, .own_max_events = NA_U64,
		.own_high_events = NA_U64, .own_oom_events = NA_U64, .moved_refaults = NA_U64,
		.some_ns = NA_U64, .full_ns = NA_U64, .node = index,
	};
	g->memory.limit_bytes = MEMCG_NONE;
	n->group = g;
	seen.groups = mem_grow(seen.groups, &seen.group_cap, seen.group_count + 1,
			       sizeof(struct memgroup *));
	seen.groups[seen.group_count++] = g;
	return g;
}

static struct track *find_track(const char *path)
{
	return hash_find_name(&seen.tracks, path);
}

static struct track *ensure_track(const char *path)
{
	struct track *t = find_track(path);

	if (!t) {
		t = mem_alloc(sizeof(*t));
		t->path = mem_strdup(path);
		*hash_name(&seen.tracks, t->path) = t;
		seen.track_list = mem_grow(seen.track_list, &seen.track_cap, seen.track_count + 1,
					   sizeof(struct track *));
		seen.track_list[seen.track_count++] = t;
	}
	t->look = seen.looks;
	return t;
}

/*
 * Is the group far from its limit, and neither filling up nor in trouble? What else its files say
 * matters only to who reads its row.
 */
static bool is_far(const struct memcg *m, const struct counters *before)
{
	if (!seen.is_hierarchical || !memcg_is_limit(m->limit_bytes) || m->usage_bytes == NA_U64 ||
	    m->trouble || m->under_oom == 1 || memcg_is_limit(m->high_bytes) ||
	    (double)m->usage_bytes >= NEAR_RATIO * (double)m->limit_bytes)
		return false;
	if (!before)
		return true;
	double grown = (double)(m->usage_bytes - less(before->usage_bytes, m->usage_bytes));
	double left = (double)(m->limit_bytes - m->usage_bytes);

	return grown * GROWING_NS < left * (double)oomcheck.interval_ns &&
	       m->pressure.some_ns == before->some_ns && m->max_events == before->max_events &&
	       m->oom_events == before->oom_events && m->oom_kills == before->oom_kills;
}

static void read_group(long index)
{
	struct node *n = &seen.nodes[index];
	struct memcg_folder folder;
	struct memcg m;

	if (memcg_open(&oomcheck.layout.memory, n->folder, &folder) < 0)
		return;
	memcg_read(&folder, MEMCG_LIMIT, &m);
	n->kills = m.oom_kills;
	if (index == 0)
		seen.is_hierarchical = oomcheck.layout.memory.version == 2;
	if (memcg_is_limit(m.limit_bytes) || has_history(&m) || m.trouble || index == 0) {
		const struct track *t = find_track(n->path);

		memcg_read(&folder, MEMCG_USAGE, &m);
		bool is_full = index == 0 || !is_far(&m, t ? &t->before : NULL);

		if (is_full)
			memcg_read(&folder, MEMCG_ALL, &m);
		if (index == 0)
			seen.is_hierarchical = m.is_hierarchical != 0;
		struct memgroup *g = ensure_group(index);

		g->memory = m;
		g->is_full = is_full;
		g->is_listed = memcg_is_limit(m.limit_bytes) || has_history(&m) || m.trouble;
	}
	memcg_close(&folder);
}

static void add_node(const char *path, const char *folder, unsigned depth, long parent, void *arg)
{
	(void)depth, (void)arg;
	seen.nodes = mem_grow(seen.nodes, &seen.cap, seen.count + 1, sizeof(*seen.nodes));
	seen.nodes[seen.count] = (struct node){
		.path = path, .folder = folder, .parent = parent,
		.kills = NA_U64, .moved_kills = NA_U64,
	};
	if (parent >= 0)
		seen.nodes[parent].has_children = true;
	*hash_name(&seen.by_path, path) = (void *)(uintptr_t)(seen.count + 1);
	read_group((long)seen.count++);
}

/* ---- what follows for each ---- */

/* A group that nobody listed at the look before had no event yet, or was not there. */
static const struct counters unmade = { .refaults = NA_U64, .some_ns = NA_U64, .full_ns = NA_U64 };
static const struct counters unknown = {
	NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64,
};

static uint64_t own(const struct memgroup *g, uint64_t local, uint64_t all)
{
	return local != NA_U64 ? local : seen.nodes[g->node].has_children ? NA_U64 : all;
}

static void find_moves(struct memgroup *g)
{
	const struct memcg *m = &g->memory;
	const struct track *t = find_track(g->path);
	const struct counters *b = t ? &t->before : seen.looks ? &unmade : &unknown;

	g->moved_kills = delta_u64(m->oom_kills, b->oom_kills);
	seen.nodes[g->node].moved_kills = g->moved_kills;
	g->own_kills = g->moved_kills;
	g->own_max_events = own(g, delta_u64(m->local_max_events, b->local_max_events),
				delta_u64(m->max_events, b->max_events));
	g->own_high_events = own(g, delta_u64(m->local_high_events, b->local_high_events),
				 delta_u64(m->high_events, b->high_events));
	g->own_oom_events = own(g, delta_u64(m->local_oom_events, b->local_oom_events),
				delta_u64(m->oom_events, b->oom_events));
	g->moved_refaults = delta_u64(m->refaults, b->refaults);
	g->some_ns = delta_u64(m->pressure.some_ns, b->some_ns);
	g->full_ns = delta_u64(m->pressure.full_ns, b->full_ns);
}

/* v2 counts a kill in every group above the victim's, too. */
static void subtract_children(void)
{
	if (oomcheck.layout.memory.version != 2)
		return;
	for (size_t i = 1; i < seen.count; i++) {
		const struct node *n = &seen.nodes[i];
		struct memgroup *up = seen.nodes[n->parent].group;

		if (up && is_some(n->moved_kills) && up->own_kills != NA_U64)
			up->own_kills -= less(up->own_kills, n->moved_kills);
	}
}

static void remember(struct memgroup *g)
{
	const struct memcg *m = &g->memory;
	struct track *t = ensure_track(g->path);

	g->track = t;
	g->was_hanging = t->was_hanging;
	t->was_hanging = m->under_oom == 1 && m->oom_kill_disabled == 1;
	t->before = (struct counters){
		.usage_bytes = m->usage_bytes, .max_events = m->max_events,
		.high_events = m->high_events, .oom_events = m->oom_events,
		.oom_kills = m->oom_kills, .local_max_events = m->local_max_events,
		.local_high_events = m->local_high_events,
		.local_oom_events = m->local_oom_events, .refaults = m->refaults,
		.some_ns = m->pressure.some_ns, .full_ns = m->pressure.full_ns,
	};
	track_add(t, g->is_full && memcg_is_limit(m->limit_bytes) ? memgroup_committed(g) : NA_U64,
		  m->pressure.some_ns);
}

/* Groups that went away. */
static void drop_tracks(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < seen.track_count; i++)
		kept += seen.track_list[i]->look == seen.looks;
	if (kept == seen.track_count)
		return;
	kept = 0;
	hash_reset(&seen.tracks);
	for (size_t i = 0; i < seen.track_count; i++) {
		struct track *t = seen.track_list[i];

		if (t->look != seen.looks) {
			track_free(t);
			free(t);
			continue;
		}
		*hash_name(&seen.tracks, t->path) = t;
		seen.track_list[kept++] = t;
	}
	seen.track_count = kept;
}

/* -G: a path as in /proc/PID/cgroup, or the folder itself as a shell completes it. */
static void find_asked(void)
{
	const struct cgroup_hierarchy *h = &oomcheck.layout.memory;
	size_t mount = h->mount ? strlen(h->mount) : 0;

	seen.asked = NULL;
	if (!oomcheck.selection.cgroup)
		return;
	char *path = arena_strdup(src_arena(), oomcheck.selection.cgroup);
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	if (mount && path[0] == '/' && !strncmp(path + 1, h->mount, mount) &&
	    strchr("/", path[mount + 1]))
		seen.asked =
			cgroup_path(src_arena(), h, path + mount + 1 + (path[mount + 1] == '/'));
	else
		seen.asked = path[0] == '/' ? path : arena_printf(src_arena(), "/%s", path);
}

static void read_all(struct memgroup *g)
{
	struct memcg_folder folder;

	if (memcg_open(&oomcheck.layout.memory, g->folder, &folder) < 0)
		return;
	memcg_read(&folder, MEMCG_ALL, &g->memory);
	memcg_close(&folder);
	g->is_full = true;
}

static struct memgroup *parent_of(const struct memgroup *g)
{
	long parent = seen.nodes[g->node].parent;

	return parent >= 0 ? seen.nodes[parent].group : NULL;
}

/* What a group has left depends on its ancestors' numbers. */
static void read_ancestors(const struct memgroup *g)
{
	for (struct memgroup *up = parent_of(g); up; up = parent_of(up))
		if (up->is_listed && !up->is_full)
			read_all(up);
}

/* The group of each process of -p. */
static void find_pid_groups(void)
{
	const struct opt_numbers *pids = &oomcheck.selection.pids;
	const char *controller = oomcheck.layout.memory.version == 2 ? "" : "memory";

	seen.pid_groups = arena_alloc(src_arena(), (pids->count + 1) * sizeof(char *));
	seen.pid_group_count = 0;
	for (size_t i = 0; i < pids->count; i++) {
		struct text t, path;

		if (src_readf(&t, "proc/%llu/cgroup", (unsigned long long)pids->items[i]) >= 0 &&
		    task_parse_cgroup(t, controller, &path))
			seen.pid_groups[seen.pid_group_count++] = arena_text(src_arena(), path);
	}
}

void memgroups_look(struct out *out)
{
	seen.count = seen.group_count = 0;
	hash_reset(&seen.by_path);
	find_asked();
	find_pid_groups();
	int err = oomcheck.layout.memory.version ?
		cgroup_walk(&oomcheck.layout.memory, add_node, NULL) : 0;

	if (err < 0)           /* the text names the group */
		out_missing(out, "%s", redact_is_on() ? arena_printf(out_arena(out),
			    "a control group: %s", strerror(-err)) : fail_text());
	for (size_t i = 0; i < seen.group_count; i++)
		if (seen.groups[i]->is_full)
			read_ancestors(seen.groups[i]);
	for (size_t i = 0; i < seen.group_count; i++) {
		memgroup_derive(seen.groups[i]);
		find_moves(seen.groups[i]);
	}
	subtract_children();
	seen.looks++;
	for (size_t i = 0; i < seen.group_count; i++)
		if (seen.groups[i]->is_listed) {
			remember(seen.groups[i]);
			stuck_look(seen.groups[i]);
		}
	drop_tracks();
}

const char *memgroup_names(struct memgroup *g)
{
	struct cgroup_names names = { 0 };

	if (g->names)
		return g->names;
	cgroup_name(src_arena(), g->path, &names);
	cgroup_name_from_logs(src_arena(), &names);
	g->names = cgroup_names_text(src_arena(), &names);
	return g->names;
}

const char *memgroup_folder_text(struct arena *a, const struct memgroup *g)
{
	const char *folder = cgroup_folder(a, &oomcheck.layout.memory,
					   redact_name(a, NAME_CGROUP, g->path));

	return folder ? folder : g->folder;
}

static struct memgroup *group_at(uintptr_t at)
{
	size_t known = seen.group_count;
	struct memgroup *g = at ? ensure_group((long)at - 1) : NULL;

	for (size_t i = known; i < seen.group_count; i++)
		memgroup_derive(seen.groups[i]);
	return g;
}

const struct memgroup *memgroup_find(const char *path)
{
	struct memgroup *g = group_at((uintptr_t)hash_find_name(&seen.by_path, path));

	if (g)
		memgroup_names(g);
	return g;
}

struct memgroup *memgroup_nearest(const char *path)
{
	char *left = arena_strdup(src_arena(), path);
	size_t len = strlen(left);

	while (len && !hash_find_name(&seen.by_path, left)) {
		while (len && left[len - 1] != '/')
			len--;
		left[len ? --len : 0] = '\0';
	}
	return group_at((uintptr_t)hash_find_name(&seen.by_path, len ? left : "/"));
}

size_t memgroups_all(struct memgroup *const **list)
{
	*list = seen.groups;
	return seen.group_count;
}

bool memgroup_is_within(const struct memgroup *inner, const struct memgroup *outer)
{
	while (inner && inner != outer)
		inner = inner->parent;
	return inner;
}

void memgroup_read_all(struct memgroup *g)
{
	if (g->is_full || !g->is_listed)
		return;
	read_all(g);
	read_ancestors(g);
	for (size_t i = 0; i < seen.group_count; i++)
		if (memgroup_is_within(g, seen.groups[i]))
			memgroup_derive(seen.groups[i]);
}

int memgroups_check_asked(void)
{
	if (!seen.asked || hash_find_name(&seen.by_path, seen.asked))
		return 0;
	return fail(ENOENT, "-G: no control group %s",
		    redact_name(src_arena(), NAME_CGROUP, seen.asked));
}

bool memgroup_has_children(const struct memgroup *g)
{
	return seen.nodes[g->node].has_children;
}

size_t memgroup_threads(const struct memgroup *g, size_t max, const uint32_t **tids)
{
	uint32_t *all = arena_alloc(src_arena(), max * sizeof(*all));
	size_t count = 0;

	/* what is below a group follows it */
	for (size_t i = (size_t)g->node; i < seen.count && count < max; i++) {
		const uint32_t *list;
		size_t n;

		if (i > (size_t)g->node && seen.nodes[i].parent < g->node)
			break;
		if (cgroup_read_threads(&oomcheck.layout.memory, seen.nodes[i].folder, &list, &n) <
		    0)
			continue;
		for (size_t k = 0; k < n && count < max; k++)
			if (list[k])
				all[count++] = list[k];
	}
	*tids = all;
	return count;
}

static bool is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return !strcmp(top, "/") || (!strncmp(path, top, n) && (!path[n] || path[n] == '/'));
}

/* Of -p the groups its processes are in, of -G the group, what is in it and what it is in: their
 * limits are its own, too. */
bool memgroup_is_selected(const struct memgroup *g)
{
	if (seen.asked)
		return is_below(g->path, seen.asked) || is_below(seen.asked, g->path);
	if (!oomcheck.selection.pids.count)
		return true;
	for (size_t i = 0; i < seen.pid_group_count; i++)
		if (is_below(seen.pid_groups[i], g->path))
			return true;
	return false;
}

void memgroups_stop(void)
{
	for (size_t i = 0; i < seen.track_count; i++) {
		track_free(seen.track_list[i]);
		free(seen.track_list[i]);
	}
	free(seen.track_list);
	free(seen.nodes);
	free(seen.groups);
	hash_free(&seen.by_path);
	hash_free(&seen.tracks);
	memset(&seen, 0, sizeof(seen));
}
