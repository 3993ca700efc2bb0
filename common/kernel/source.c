/*
 * What source.h promises, for all three ways of looking: live, saving, replaying. It knows frames
 * and what was already read in this one; the rest is in source_*.c.
 */
#include "common/kernel/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/kernel/source_impl.h"

#define SCRATCH_KEPT (1u << 20)        /* a larger buffer is given back at the frame's end */

enum kind { KIND_READ, KIND_LIST, KIND_LINK, KIND_EXISTS, KIND_CALL, KINDS = SRC_KINDS };

/* What was learnt in this frame, trouble included. Lives in the frame's arena. */
struct entry {
	int err;                       /* 0 or -errno */
	const char *why;               /* of a call that failed: its own words */
	struct text content;
	struct src_names names;
	const char *target;
	bool exists;
};

static struct source {
	enum { CLOSED, LIVE, REPLAY } mode;
	int root;                      /* live: "/" */
	struct frame frame;
	unsigned ended;                /* frames so far */
	bool has_begun;
	uint64_t last_monotonic_ns;    /* of the frame before; 0: none or unknown */
	struct arena arena, run;       /* the frame's; until src_close */
	struct hash seen[KINDS];       /* place -> struct entry * */
	uint64_t netns;
	struct buf place, scratch;
} source = { .root = -1 };

static uint64_t generation = 1;        /* goes on from run to run */

static bool is_live(void)
{
	return source.mode == LIVE;
}

bool src_is_live(void)
{
	return is_live();
}

bool src_is_open(void)
{
	return source.mode != CLOSED;
}

struct arena *src_arena(void)
{
	return &source.arena;
}

struct arena *src_run_arena(void)
{
	return &source.run;
}

const struct frame *src_frame(void)
{
	return &source.frame;
}

uint64_t src_netns(uint64_t inode)
{
	const uint64_t before = source.netns;

	source.netns = inode;
	return before;
}

uint64_t src_generation(void)
{
	return generation;
}

void src_forget(void)
{
	generation++;
	for (int kind = 0; kind < KINDS; kind++)
		hash_reset(&source.seen[kind]);
	src_stream_forget();
}

void src_swap_learnt(struct arena *arena, struct hash seen[SRC_KINDS], uint64_t *number)
{
	const struct arena kept = source.arena;
	const uint64_t kept_number = generation;

	generation = *number;
	*number = kept_number;

	source.arena = *arena;
	*arena = kept;
	for (int kind = 0; kind < KINDS; kind++) {
		const struct hash h = source.seen[kind];

		source.seen[kind] = seen[kind];
		seen[kind] = h;
	}
}

/* ---- opening and closing ---- */

int src_open_live(void)
{
	src_close();
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(errno, "/");
	source.root = fd;
	source.mode = LIVE;
	return 0;
}

int src_open_root(const char *dir)
{
	src_close();
	int err = src_replay_open(dir);

	if (err)
		return err;
	source.mode = REPLAY;
	return 0;
}

void src_close(void)
{
	src_sample_close();
	src_save_close();
	src_replay_close();
	src_facts_reset();
	generation++;
	if (source.root >= 0)
		close(source.root);
	for (int kind = 0; kind < KINDS; kind++)
		hash_free(&source.seen[kind]);
	src_stream_forget();
	arena_free(&source.arena);
	arena_free(&source.run);
	buf_free(&source.place);
	buf_free(&source.scratch);
	source = (struct source){ .root = -1 };
}

/* ---- frames ---- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t src_now_ns(void)
{
	return is_live() ? clock_ns(CLOCK_MONOTONIC) : source.frame.monotonic_ns;
}

int src_frame_begin(void)
{
	struct frame next = { .index = source.ended };

	if (!src_is_open())
		return fail(EINVAL, "no system and no saved run is open");
	if (source.has_begun)
		src_frame_end(), next.index = source.ended;
	if (is_live()) {
		next.realtime_ns = clock_ns(CLOCK_REALTIME);
		next.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	} else {
		int more = src_replay_begin(&next);

		if (more <= 0)
			return more;
	}
	if (source.last_monotonic_ns && next.monotonic_ns > source.last_monotonic_ns)
		next.elapsed_ns = next.monotonic_ns - source.last_monotonic_ns;
	source.frame = next;
	source.has_begun = true;
	src_save_begin(&source.frame);
	return 1;
}

int src_frame_end(void)
{
	if (!source.has_begun)
		return 0;
	source.has_begun = false;
	source.ended++;
	source.last_monotonic_ns = source.frame.monotonic_ns;
	src_forget();
	arena_reset(&source.arena);
	if (source.scratch.cap > SCRATCH_KEPT)
		buf_free(&source.scratch);
	src_replay_end();
	return src_save_end();
}

/* ---- what is told ---- */

/* Valid until the next call: the buffer is reused. */
static int find_place(uint64_t netns, const char *below, const char *path, struct src_place *p)
{
	if (!src_is_open())
		return fail(EINVAL, "no system and no saved run is open");
	int err = src_find_place(&source.place, netns, below, path, p);

	if (err)
		return fail(-err, "/%s%s%.200s: not a path that can be read", below ? below : "",
			    below ? "/" : "", path + strspn(path, "/"));
	return 0;
}

static int report(const char *plain, int err)
{
	if (err == -ENOENT && !is_live())
		return fail(ENOENT, "/%s: not in the saved run", plain);
	if (err == -EFBIG)
		return fail(EFBIG, "/%s: larger than %u MiB", plain, SRC_FILE_MAX >> 20);
	return fail_errno(-err, "/%s", plain);
}

/* ---- the cache ---- */

static struct entry *find_entry(enum kind kind, const char *key)
{
	return hash_find_name(&source.seen[kind], key);
}

static struct entry *new_entry(enum kind kind, const char *key, int err)
{
	struct entry *e = arena_alloc(&source.arena, sizeof(*e));

	e->err = err;
	*hash_name(&source.seen[kind], arena_strdup(&source.arena, key)) = e;
	return e;
}

static struct text keep_content(const struct buf *b)
{
	return (struct text){ arena_copy(&source.arena, b->data, b->len), b->len };
}

/* ---- files ---- */

/* Live: `name` below fd `at`. */
static const struct entry *read_entry(const struct src_place *p, int at, const char *name)
{
	struct entry *e = find_entry(KIND_READ, p->path);
	struct buf *b = &source.scratch;

	if (e)
		return e;
	buf_reset(b);
	e = new_entry(KIND_READ, p->path,
		      is_live() ? src_live_read(at, name, b) : src_replay_read(p->path, b));
	if (!e->err)
		e->content = keep_content(b);
	if (src_is_saving() && e->err)
		src_save_error(SRC_READ, p->path, -e->err);
	else if (src_is_saving())
		src_save_file(p->path, e->content);
	return e;
}

int src_read(const char *path, struct text *content)
{
	struct src_place p;
	int err = find_place(source.netns, NULL, path, &p);

	if (err)
		return err;
	const struct entry *e = read_entry(&p, source.root, p.plain);

	if (e->err)
		return report(p.plain, e->err);
	*content = e->content;
	return 0;
}

int src_readf(struct text *content, const char *format, ...)
{
	char path[SRC_PATH_MAX];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(path, sizeof(path), format, args);

	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(path))
		return fail(ENAMETOOLONG, "/%.200s...: not a path that can be read", path);
	return src_read(path, content);
}

bool src_exists(const char *path)
{
	struct src_place p;
	struct stat st;

	if (find_place(source.netns, NULL, path, &p))
		return false;
	struct entry *e = find_entry(KIND_EXISTS, p.path);

	if (!e) {
		e = new_entry(KIND_EXISTS, p.path, 0);
		e->exists = is_live() ? !fstatat(source.root, p.plain, &st, 0) :
			src_replay_exists(p.path);
		if (e->exists && src_is_saving())
			src_save_exists(p.path);
	}
	return e->exists;
}

/* ---- directories ---- */

static int list_live(int at, const char *name, struct src_names *names)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int err = src_list_fd(fd, &source.arena, names);

	close(fd);
	return err;
}

static const struct entry *list_entry(const struct src_place *p, int at, const char *name)
{
	struct entry *e = find_entry(KIND_LIST, p->path);
	struct src_names names = { 0 };

	if (e)
		return e;
	e = new_entry(KIND_LIST, p->path, is_live() ? list_live(at, name, &names) :
		      src_replay_list(p->path, &source.arena, &names));
	e->names = names;
	if (src_is_saving() && e->err)
		src_save_error(SRC_LIST, p->path, -e->err);
	else if (src_is_saving())
		src_save_names(p->path, &e->names);
	return e;
}

int src_list(const char *path, struct src_names *names)
{
	struct src_place p;
	int err = find_place(source.netns, NULL, path, &p);

	if (err)
		return err;
	const struct entry *e = list_entry(&p, source.root, p.plain);

	if (e->err)
		return report(p.plain, e->err);
	*names = e->names;
	return 0;
}

/* fs/kernfs/inode.c counts a folder's own two links and one for each folder in it. */
bool src_is_leaf(const char *path)
{
	struct src_place p;
	struct stat st;

	return is_live() && !src_is_saving() && !find_place(source.netns, NULL, path, &p) &&
	       !fstatat(source.root, p.plain, &st, 0) && S_ISDIR(st.st_mode) && st.st_nlink == 2;
}

/* ---- links ---- */

static int link_entry(const struct src_place *p, int at, const char *name, const char **target)
{
	struct entry *e = find_entry(KIND_LINK, p->path);

	if (!e) {
		const char *found = NULL;

		e = new_entry(KIND_LINK, p->path,
			      is_live() ? src_link_at(at, name, &source.arena, &found) :
			      src_replay_link(p->path, &source.arena, &found));
		e->target = found;
		if (src_is_saving() && e->err)
			src_save_error(SRC_LINK, p->path, -e->err);
		else if (src_is_saving())
			src_save_link(p->path, e->target);
	}
	if (e->err)
		return report(p->plain, e->err);
	*target = e->target;
	return 0;
}

int src_link(const char *path, const char **target)
{
	struct src_place p;
	int err = find_place(source.netns, NULL, path, &p);

	return err ? err : link_entry(&p, source.root, p.plain, target);
}

/* ---- many files below one directory ---- */

int src_dir_open(struct src_dir *d, const char *path)
{
	struct src_place p;
	int err = find_place(source.netns, NULL, path, &p);
	int fd = -1;

	if (err)
		return err;
	if (!is_live())
		err = src_replay_dir(p.path);
	else if ((fd = openat(source.root, p.plain, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		err = -errno;
	if (src_is_saving() && err)
		src_save_error(SRC_LIST, p.path, -err);
	else if (src_is_saving())
		src_save_folder(p.path);
	if (err)
		return report(p.plain, err);
	*d = (struct src_dir){ .fd = fd, .path = mem_strdup(p.plain), .netns = source.netns };
	return 0;
}

/* No leading slash and no "..": safe to hand to openat as it is. */
static bool is_below(const char *name)
{
	if (*name == '/' || !*name)
		return false;
	for (; *name; name++)
		if (name[0] == '.' && name[1] == '.')
			return false;
	return true;
}

/*
 * The bare case is openat, read, close and nothing else: there may be tens of thousands of them.
 * A name with ".." in it may still be fine, so it is looked at properly.
 */
int src_dir_read(struct src_dir *d, const char *name, struct text *content)
{
	struct src_place p;
	int err;

	if (is_live() && !src_is_saving() && is_below(name)) {
		d->buf.len = 0;
		err = src_live_read_quick(d->fd, name, &d->buf);
		if (!err) {
			*content = (struct text){ d->buf.data, d->buf.len };
			return 0;
		}
		int bad = find_place(d->netns, d->path, name, &p);

		return bad ? bad : report(p.plain, err);
	}
	err = find_place(d->netns, d->path, name, &p);
	if (err)
		return err;
	if (!is_live() && !src_is_saving()) {
		buf_reset(&d->buf);
		err = src_replay_read(p.path, &d->buf);
		if (err)
			return report(p.plain, err);
		*content = buf_text(&d->buf);
		return 0;
	}
	const struct entry *e = read_entry(&p, d->fd, p.name);

	if (e->err)
		return report(p.plain, e->err);
	*content = e->content;
	return 0;
}

int src_dir_link(struct src_dir *d, const char *name, const char **target)
{
	struct src_place p;

	/* bare for the same reason: a descriptor table has as many links */
	const bool is_bare = is_live() && !src_is_saving() && is_below(name);
	int err = is_bare ? src_link_at(d->fd, name, &source.arena, target) : 0;

	if (is_bare && !err)
		return 0;
	int bad = find_place(d->netns, d->path, name, &p);

	if (bad)
		return bad;
	return err ? report(p.plain, err) : link_entry(&p, d->fd, p.name, target);
}

int src_dir_numbers(struct src_dir *d, const uint32_t **list, size_t *count)
{
	struct src_place p;

	if (is_live() && !src_is_saving()) {
		int err = src_numbers_fd(d->fd, &source.arena, list, count);

		return err ? report(d->path, err) : 0;
	}
	int err = find_place(d->netns, NULL, d->path, &p);

	if (err)
		return err;
	const struct entry *e = list_entry(&p, d->fd, ".");

	if (e->err)
		return report(p.plain, e->err);
	uint32_t *numbers = arena_alloc(&source.arena, e->names.count * sizeof(*numbers));
	size_t n = 0;

	for (size_t i = 0; i < e->names.count; i++)
		n += src_name_is_number(e->names.items[i], &numbers[n]);
	src_sort_numbers(numbers, n);
	*list = numbers;
	*count = n;
	return 0;
}

void src_dir_close(struct src_dir *d)
{
	/* a zeroed one was never opened, and its fd is not ours */
	if (d->path && d->fd >= 0)
		close(d->fd);
	free((void *)(uintptr_t)d->path);
	buf_free(&d->buf);
	*d = (struct src_dir){ .fd = -1 };
}

/* ---- calls ---- */

static void make_call(struct entry *e, const char *key, int (*fetch)(void *, struct buf *),
		      void *arg)
{
	struct buf reply = { 0 };

	if (is_live()) {
		int err = fetch(arg, &reply);

		e->err = err > 0 ? 0 : err;
		if (e->err)
			e->why = arena_strdup(&source.arena, fail_text());
	} else {
		e->err = src_replay_call(key, &reply);
	}
	if (!e->err && reply.len > SRC_FILE_MAX)
		e->err = -EFBIG;
	if (!e->err)
		e->content = keep_content(&reply);
	buf_free(&reply);
}

const char *src_call_place(const char *key)
{
	return source.netns ? arena_printf(&source.arena, "netns/%llu/%s",
					   (unsigned long long)source.netns, key) :
		arena_strdup(&source.arena, key);
}

int src_call(const char *key, int (*fetch)(void *arg, struct buf *reply), void *arg,
	     struct text *reply)
{
	const char *place = src_call_place(key);
	struct entry *e = find_entry(KIND_CALL, place);

	if (!e) {
		struct entry made = { 0 };

		/* fetch may ask for more, so the entry is added behind it */
		make_call(&made, place, fetch, arg);
		e = new_entry(KIND_CALL, place, made.err);
		*e = made;
		if (src_is_saving())
			src_save_call(place, -e->err, e->content);
	}
	if (e->err)
		return src_call_failed(key, e->err, e->why);
	*reply = e->content;
	return 0;
}
