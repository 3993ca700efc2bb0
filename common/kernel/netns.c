#include "common/kernel/netns.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/filenr.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/source.h"

#define OWN_PATH "proc/self/ns/net"

/* NET_NS_INIT_INO of include/uapi/linux/nsfs.h (6.18); before, numbers began at 0xf0000000. */
#define INITIAL_INODE 0xeffffff9u

/* Open files of the host up to which all descriptors are looked through: 4 us each. */
#define FEW_FILES 1000

/* One that was found, and by what. */
struct found {
	uint64_t inode;
	uint32_t pid;
	const char *process, *bound, *docker, *descriptor;     /* paths */
	bool is_by_path;               /* the user's, in `bound` */
};

struct search {
	struct hash seen;              /* inode -> struct found *, of the frame's arena */
	struct found **items;
	size_t count, cap;
	bool is_complete, has_descriptors;
	bool is_first_hidden;          /* PID 1's could not be read */
};

bool netns_parse_link(struct text target, uint64_t *inode)
{
	struct scan s = scan_of(target);
	uint64_t n;

	if (!scan_literal(&s, "net:[") || !scan_u64(&s, &n) || !scan_literal(&s, "]") ||
	    scan_rest(&s).len)
		return false;
	*inode = n;
	return true;
}

/* ---- finding ---- */

static struct found *find(struct search *s, uint64_t inode)
{
	void **slot = hash_number(&s->seen, inode);

	if (!*slot) {
		struct found *f = arena_alloc(src_arena(), sizeof(*f));

		f->inode = inode;
		s->items = mem_grow(s->items, &s->cap, s->count + 1, sizeof(*s->items));
		s->items[s->count++] = f;
		*slot = f;
	}
	return *slot;
}

static void search_free(struct search *s)
{
	hash_free(&s->seen);
	free(s->items);
}

/* A name whose mount is not to be seen from here is an empty file: only nsfs says what it is. */
static int fetch_inode(void *arg, struct buf *reply)
{
	struct stat st;
	struct statfs fs;
	char path[4096];

	if (snprintf(path, sizeof(path), "/%s", (const char *)arg) >= (int)sizeof(path))
		return fail_errno(ENAMETOOLONG, "/%.200s...", (const char *)arg);
	if (stat(path, &st) || statfs(path, &fs))
		return fail_errno(errno, "%s", path);
	if (fs.f_type != NSFS_MAGIC)
		return fail(EINVAL, "%s: not a namespace", path);
	buf_printf(reply, "%llu", (unsigned long long)st.st_ino);
	return 0;
}

static int inode_of(const char *path, uint64_t *inode)
{
	struct text t;
	int err = src_call(arena_printf(src_arena(), "inode %s", path), fetch_inode,
			   arena_strdup(src_arena(), path), &t);

	if (err)
		return err;
	return scan_all_u64(t, inode) ? 0 : fail(EINVAL, "/%s: no inode number", path);
}

static void find_bound(struct search *s, const char *folder, bool is_docker)
{
	struct src_names names;

	if (src_list(folder, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		char *path = arena_printf(src_arena(), "%s/%s", folder, names.items[i]);
		uint64_t inode;

		if (inode_of(path, &inode))
			continue;
		struct found *f = find(s, inode);
		const char **place = is_docker ? &f->docker : &f->bound;

		if (!*place)
			*place = path;
	}
}

static void find_of_process(struct search *s, struct src_dir *proc, uint32_t pid)
{
	const char *target;
	char name[32];
	uint64_t inode;

	snprintf(name, sizeof(name), "%u/ns/net", pid);
	int gone = src_dir_link(proc, name, &target);

	if (gone == -EACCES || gone == -EPERM) {
		s->is_first_hidden |= pid == 1;
		s->is_complete &= pid == 1;
	}
	if (gone < 0 || !netns_parse_link(text_of(target), &inode))
		return;
	struct found *f = find(s, inode);

	if (!f->pid) {
		f->pid = pid;
		f->process = arena_printf(src_arena(), "proc/%s", name);
	}
}

static int find_all(struct search *s)
{
	const uint32_t *pids;
	struct src_dir proc;
	size_t n;
	int err = src_dir_open(&proc, "proc");

	if (err < 0)
		return err;
	s->is_complete = true;
	err = src_dir_numbers(&proc, &pids, &n);
	for (size_t i = 0; err >= 0 && i < n; i++)
		find_of_process(s, &proc, pids[i]);
	src_dir_close(&proc);
	find_bound(s, "run/netns", false);
	find_bound(s, "run/docker/netns", true);
	return err;
}

int netns_count(struct netns_count *count)
{
	struct search s = { 0 };
	int err = find_all(&s);

	if (err >= 0)
		*count = (struct netns_count){ s.count, s.is_complete && !s.is_first_hidden };
	search_free(&s);
	return err;
}

static bool has_few_files(void)
{
	struct file_nr files;

	return !file_nr_read(&files) && files.open <= FEW_FILES;
}

/* The map of sockets is made from all descriptors, so those of namespaces are known with it. */
static void find_descriptors(struct search *s)
{
	const struct sock_owner *held;
	size_t count;

	if (!sockowner_is_loaded() && (!has_few_files() || sockowner_load()))
		return;
	s->has_descriptors = true;
	held = sockowner_namespaces(&count);
	for (size_t i = 0; i < count; i++) {
		const char *path = arena_printf(src_arena(), "proc/%u/fd/%u", held[i].pid,
						held[i].fd);
		const char *target;
		uint64_t inode;

		if (src_link(path, &target) || !netns_parse_link(text_of(target), &inode))
			continue;
		struct found *f = find(s, inode);

		if (!f->descriptor)
			f->descriptor = path;
	}
}

/* ---- names ---- */

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A pod's containers share its namespace: it is the pod's. */
static const char *pod_or_container(struct arena *arena, struct cgroup_names *names)
{
	if (!names->runtime && !names->container_id && !names->pod_uid)
		return NULL;
	cgroup_name_from_logs(arena, names);
	if (names->pod && names->pod_namespace)
		return arena_printf(arena, "%s/%s", names->pod_namespace, names->pod);
	if (names->pod_uid)
		return arena_printf(arena, "pod %s", names->pod_uid);
	return cgroup_names_text(arena, names);
}

static const char *name_by_cgroup(const char *process)
{
	struct arena *arena = src_arena();
	struct text t, line, ignored;

	if (src_readf(&t, "%s/cgroup", process))
		return NULL;
	for (struct scan s = scan_of(t); scan_line(&s, &line);) {
		struct scan of_line = scan_of(line);
		struct cgroup_names names;

		if (!scan_until(&of_line, ':', &ignored) || !scan_until(&of_line, ':', &ignored))
			continue;
		cgroup_name(arena, arena_text(arena, scan_rest(&of_line)), &names);
		const char *name = pod_or_container(arena, &names);

		if (name)
			return name;
	}
	return NULL;
}

static int link_inode(const char *path, uint64_t *inode)
{
	const char *target;
	int err = src_link(path, &target);

	if (err)
		return err;
	return netns_parse_link(text_of(target), inode) ? 0 :
		fail(EINVAL, "/%s: not a network namespace", path);
}

struct host {
	uint64_t own, inode;           /* namespaces: the program's, and the one called "host" */
	bool is_guessed;               /* PID 1's could not be read */
};

/*
 * PID 1's link needs the right to trace it, which a root without all of its capabilities lacks. A
 * setting that only the initial namespace has (net/core/sysctl_net_core.c) tells what ours is.
 */
static struct host find_host(uint64_t own)
{
	struct host h = { .own = own };

	h.is_guessed = link_inode("proc/1/ns/net", &h.inode) != 0;
	if (h.is_guessed)
		h.inode = src_exists("proc/sys/net/core/netdev_max_backlog") ? own : INITIAL_INODE;
	return h;
}

static const char *name_of(const struct found *f, const struct host *h)
{
	const char *name = NULL;

	if (f->inode == h->inode)
		return "host";
	if (f->bound && !f->is_by_path)
		return last_name(f->bound);
	if (f->inode == h->own)
		name = name_by_cgroup("proc/self");
	else if (f->pid)
		name = name_by_cgroup(arena_printf(src_arena(), "proc/%u", f->pid));
	if (name)
		return name;
	if (f->docker)
		return last_name(f->docker);
	if (f->inode == h->own && h->is_guessed)
		return "own";
	return arena_printf(src_arena(), "net:[%llu]", (unsigned long long)f->inode);
}

static void tell_apart(struct netns_list *list, uint64_t host)
{
	struct hash names = { 0 };
	bool is_once, is_again;

	for (size_t i = 0; i < list->count; i++) {
		void **slot = hash_name(&names, list->items[i].name);

		*slot = *slot ? (void *)&is_again : (void *)&is_once;
	}
	for (size_t i = 0; i < list->count; i++) {
		struct netns *ns = &list->items[i];

		if (ns->inode != host && hash_find_name(&names, ns->name) == &is_again)
			ns->name = arena_printf(src_arena(), "%s net:[%llu]", ns->name,
						(unsigned long long)ns->inode);
	}
	hash_free(&names);
}

/* ---- since when ---- */

/* The lists of all that were made in this run, as far as the next one needs them. */
struct first_seen {
	uint64_t inode;
	unsigned frame, last_list;
};
static struct {
	struct first_seen *items;
	size_t count, cap;
	unsigned list;                 /* how many there were; a frame's second is the same one */
	uint64_t generation;           /* of the source, and the frame, of the latest */
	unsigned frame;
	bool has_descriptors, had_descriptors;         /* the latest, and the one before it */
} history;

static void begin_list(bool has_descriptors)
{
	const uint64_t generation = src_generation();
	const unsigned frame = src_frame()->index;

	if (generation != history.generation) {
		if (frame <= history.frame)    /* another run */
			history.count = history.list = 0;
		history.had_descriptors = history.list && history.has_descriptors;
		history.has_descriptors = true;
		history.list++;
	}
	history.generation = generation;
	history.frame = frame;
	history.has_descriptors &= has_descriptors;
}

/* 0 for those that may have been there from the start. */
static unsigned first_frame_of(uint64_t inode)
{
	struct first_seen *f = history.items, *end = f + history.count;

	while (f < end && f->inode != inode)
		f++;
	if (f == end) {
		history.items = mem_grow(history.items, &history.cap, history.count + 1,
					 sizeof(*f));
		f = &history.items[history.count++];
		*f = (struct first_seen){ .inode = inode };
	}
	/* a number that was away is another namespace's now */
	if (!f->last_list || f->last_list + 1 < history.list)
		f->frame = history.had_descriptors ? history.frame : 0;
	f->last_list = history.list;
	return f->frame;
}

bool netns_is_new(const struct netns *ns, unsigned frame)
{
	return ns->first_frame > frame;
}

/* ---- selecting ---- */

static struct netns make(const struct found *f, const struct host *h)
{
	return (struct netns){
		.inode = f->inode,
		.name = name_of(f, h),
		.is_own = f->inode == h->own,
		.pid = f->pid,
		.path = f->inode == h->own ? OWN_PATH :
			f->bound ? f->bound :
			f->docker ? f->docker :
			f->process ? f->process : f->descriptor,
	};
}

static int by_name(const void *a, const void *b)
{
	const struct netns *x = a, *y = b;

	if (x->is_own != y->is_own)
		return x->is_own ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void make_list(const struct search *s, uint64_t own, struct netns_list *list)
{
	const struct host host = find_host(own);

	*list = (struct netns_list){
		.items = arena_alloc(src_arena(), (s->count + 1) * sizeof(*list->items)),
		.is_complete = s->is_complete,
		.has_descriptors = s->has_descriptors,
	};
	for (size_t i = 0; i < s->count; i++)
		list->items[list->count++] = make(s->items[i], &host);
	tell_apart(list, host.inode);
	qsort(list->items, list->count, sizeof(*list->items), by_name);
	if (s->is_first_hidden && !hash_find_number(&s->seen, host.inode))
		list->is_complete = false;
}

/* The user's word, if it can be nothing but an inode's: 1, 0 if it is a name, or -errno. */
static int find_wanted(struct search *s, const char *wanted, uint64_t *inode)
{
	if (netns_parse_link(text_of(wanted), inode))
		return 1;
	if (*wanted != '/')
		return 0;
	const char *path = wanted + strspn(wanted, "/");
	int err = inode_of(path, inode);

	if (err)
		return err;
	struct found *f = find(s, *inode);

	if (!f->bound && !f->docker && !f->process) {
		f->bound = arena_strdup(src_arena(), path);
		f->is_by_path = true;
	}
	return 1;
}

static int find_pid(const char *wanted, uint64_t *inode)
{
	uint64_t pid;
	int err = -ENOENT;

	if (scan_all_u64(text_of(wanted), &pid))
		err = link_inode(arena_printf(src_arena(), "proc/%llu/ns/net",
					      (unsigned long long)pid), inode);
	if (err != -ENOENT)
		return err;
	return fail(ENOENT, "%s: no network namespace has this name or process", wanted);
}

static bool has_name(const struct netns *ns, const char *name)
{
	return !strcmp(ns->name, name);
}

/* Leaves in the list the one that is wanted. */
static int choose(struct netns_list *list, const char *wanted, bool is_inode, uint64_t inode)
{
	size_t i = 0;

	while (!is_inode && i < list->count && !has_name(&list->items[i], wanted))
		i++;
	if (is_inode || i == list->count) {
		int err = is_inode ? 0 : find_pid(wanted, &inode);

		if (err)
			return err;
		for (i = 0; i < list->count && list->items[i].inode != inode; i++)
			;
	}
	if (i == list->count)
		return fail(ENOENT, "%s: there is no such network namespace, or none that can be "
			    "seen from here", wanted);
	list->items[0] = list->items[i];
	list->count = 1;
	return 0;
}

/* Where proc does not say which it is, it is there all the same. */
static void select_own(struct netns_list *list)
{
	struct search s = { .is_complete = true };
	uint64_t own;
	struct found *f = find(&s, link_inode(OWN_PATH, &own) ? 0 : own);
	const uint64_t pid = src_pid();

	find_bound(&s, "run/netns", false);
	f->pid = pid > UINT32_MAX ? 0 : (uint32_t)pid;
	make_list(&s, f->inode, list);
	list->count = 1;
	search_free(&s);
}

int netns_select(const char *wanted, struct netns_list *list)
{
	struct search s = { 0 };
	struct netns_list found = { 0 };
	uint64_t own = 0, inode = 0;
	int err = netns_leave();

	if (err)
		return err;
	if (!wanted) {
		select_own(list);
		return 0;
	}
	const bool is_all = !strcmp(wanted, "all");

	err = link_inode(OWN_PATH, &own);
	if (!err) {
		find(&s, own);
		err = find_all(&s);
	}
	if (!err && is_all)
		find_descriptors(&s);
	int is_inode = err || is_all ? 0 : find_wanted(&s, wanted, &inode);

	if (!err)
		err = is_inode < 0 ? is_inode : 0;
	if (!err)
		make_list(&s, own, &found);
	if (!err && !is_all)
		err = choose(&found, wanted, is_inode, inode);
	search_free(&s);
	if (err)
		return err;
	if (is_all)
		begin_list(found.has_descriptors);
	for (size_t i = 0; is_all && i < found.count; i++)
		found.items[i].first_frame = first_frame_of(found.items[i].inode);
	*list = found;
	return 0;
}
