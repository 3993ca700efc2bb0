/* Replaying a saved run, or a plain tree, frame by frame, without touching the host it runs on. */
#include "common/kernel/source_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME_DIGITS_MAX 9

static struct replay {
	int root;                      /* the run's folder; -1: none */
	const char *dir;               /* its name, for texts; lives in the run's arena */
	const char **folders;          /* the frames' names in order; NULL: root is the one */
	size_t count, next;

	int frame;                     /* the folder of frame `next`; -1: not loaded */
	const char *folder;            /* its name, "" if it is root itself */
	bool has_manifest;             /* only asked of a plain tree: its manifest is a frame's */
	struct src_manifest manifest;
	struct arena arena;            /* the manifest's */

	struct hash values;            /* facts of all frames so far: name -> text */
	unsigned garbled;
	const char *garbled_text;
} replay = { .root = -1, .frame = -1 };

unsigned src_garbled(void)
{
	return replay.garbled;
}

const char *src_garbled_text(void)
{
	return replay.garbled_text ? replay.garbled_text : "";
}

/* ---- files below a folder of the run ---- */

/* Devices and pipes in a tree somebody sent would block or act: only regular files are read. */
static int read_below(int at, const char *path, struct buf *to)
{
	struct stat st;
	int fd = src_open_below(at, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, SRC_IN_ROOT);

	if (fd < 0)
		return fd;
	int err = fstat(fd, &st) ? -errno :
		S_ISDIR(st.st_mode) ? -EISDIR :
		!S_ISREG(st.st_mode) ? -EINVAL : src_read_fd(fd, to);

	close(fd);
	return err;
}

static int open_dir_below(int at, const char *path)
{
	return src_open_below(at, path, O_RDONLY | O_DIRECTORY, SRC_IN_ROOT);
}

int src_saved_record(const char *name, struct text *content)
{
	struct buf b = { 0 };

	if (replay.root < 0)
		return fail(ENOENT, "%s: this is not a saved run", name);
	int err = strchr(name, '/') ? -EINVAL : read_below(replay.root, name, &b);

	if (!err)
		*content = (struct text){ arena_copy(src_run_arena(), b.data, b.len), b.len };
	buf_free(&b);
	if (err == -ENOENT)
		return fail(ENOENT, "%s/%s: not in the saved run", replay.dir, name);
	return err ? fail_errno(-err, "%s/%s", replay.dir, name) : 0;
}

/* ---- the run ---- */

static int by_number(const void *a, const void *b)
{
	const unsigned long x = strtoul(*(const char *const *)a, NULL, 10);
	const unsigned long y = strtoul(*(const char *const *)b, NULL, 10);

	return x < y ? -1 : x > y;
}

/* Folders whose names are numbers, in numeric order; --save's keep leaves gaps. */
static int find_frames(void)
{
	struct src_names names;
	int err = src_list_fd(replay.root, src_run_arena(), &names);

	if (err)
		return err;
	const char **folders = arena_alloc(src_run_arena(), names.count * sizeof(*folders));

	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.items[i];
		const size_t digits = strspn(name, "0123456789");

		if (!name[digits] && digits <= FRAME_DIGITS_MAX)
			folders[replay.count++] = name;
	}
	if (replay.count)
		qsort(folders, replay.count, sizeof(*folders), by_number);
	replay.folders = folders;
	return 0;
}

/* A run says so in its manifest; one made by hand may have no more than its first folder. */
static int find_form(void)
{
	struct buf b = { 0 };
	struct stat st;
	int err = read_below(replay.root, "manifest", &b);
	const struct text manifest = buf_text(&b);
	const bool is_run = text_starts(manifest, SRC_FORMAT);
	const bool is_newer = !is_run && text_starts(manifest, "perfbox-save ");

	replay.has_manifest = !err && !is_run && src_is_frame_manifest(manifest);
	buf_free(&b);
	if (err && err != -ENOENT)
		return fail_errno(-err, "%s/manifest", replay.dir);
	if (is_newer)
		return fail(EPROTONOSUPPORT,
			    "%s/manifest: saved in a form this version does not know", replay.dir);
	if (!is_run && fstatat(replay.root, "000000", &st, AT_SYMLINK_NOFOLLOW)) {
		replay.count = 1;
		return 0;
	}
	err = find_frames();
	if (err)
		return fail_errno(-err, "%s", replay.dir);
	return replay.count ? 0 : fail(ENODATA, "%s: a saved run without a frame", replay.dir);
}

int src_replay_open(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(errno, "%s", dir);
	replay.root = fd;
	replay.dir = arena_strdup(src_run_arena(), dir);
	int err = find_form();

	if (err)
		src_replay_close();
	return err;
}

void src_replay_end(void)
{
	if (replay.frame < 0)
		return;
	close(replay.frame);
	src_manifest_free(&replay.manifest);
	arena_reset(&replay.arena);
	replay.frame = -1;
	replay.next++;
}

void src_replay_close(void)
{
	src_replay_end();
	if (replay.root >= 0)
		close(replay.root);
	arena_free(&replay.arena);
	hash_free(&replay.values);
	replay = (struct replay){ .root = -1, .frame = -1 };
}

/* ---- a frame ---- */

/* A fact holds for the whole run, wherever it was asked for; where a thread may run does not. */
static void keep_values(void)
{
	struct arena *arena = src_run_arena();

	for (const struct src_value_line *v = replay.manifest.first_value; v; v = v->next) {
		if (!strncmp(v->name, "affinity", 8) || hash_find_name(&replay.values, v->name))
			continue;
		void **text = hash_name(&replay.values, arena_strdup(arena, v->name));

		*text = arena_strdup(arena, v->text);
	}
}

static int load_manifest(void)
{
	struct buf b = { 0 };
	struct src_manifest *m = &replay.manifest;
	int err = read_below(replay.frame, "manifest", &b);

	if (!err)
		src_parse_manifest(buf_text(&b), &replay.arena, m);
	buf_free(&b);
	if (m->garbled && !replay.garbled)
		replay.garbled_text = arena_printf(src_run_arena(), "%s/%s%smanifest line %u: %s",
			replay.dir, replay.folder, *replay.folder ? "/" : "", m->garbled_line,
			m->garbled_why);
	replay.garbled += m->garbled;
	keep_values();
	return err == -ENOENT ? 0 : err;
}

/* The frame that is next, if it isn't loaded yet: a read before src_frame_begin needs it, too. */
static int load(void)
{
	int err = 0;

	if (replay.frame >= 0)
		return 1;
	if (replay.root < 0 || replay.next >= replay.count)
		return 0;
	replay.folder = replay.folders ? replay.folders[replay.next] : "";
	replay.frame = openat(replay.root, replay.folders ? replay.folder : ".",
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (replay.frame < 0)
		err = -errno;
	else if (replay.folders || replay.has_manifest)
		err = load_manifest();
	if (!err)
		return 1;
	src_replay_end();
	return fail_errno(-err, "%s/%s", replay.dir, replay.folder);
}

int src_replay_begin(struct frame *frame)
{
	int loaded = load();

	if (loaded <= 0)
		return loaded;
	frame->realtime_ns = replay.manifest.realtime_ns;
	frame->monotonic_ns = replay.manifest.monotonic_ns;
	frame->is_only = replay.count == 1;
	return 1;
}

static int need_frame(void)
{
	int loaded = load();

	return loaded > 0 ? 0 : loaded ? loaded : -ENOENT;
}

int src_tree_open(void)
{
	if (replay.root < 0) {
		int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		return fd < 0 ? fail_errno(errno, "/") : fd;
	}
	int err = need_frame();

	if (err)
		return fail_errno(-err, "%s", replay.dir);
	int fd = fcntl(replay.frame, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? fail_errno(errno, "%s", replay.dir) : fd;
}

/* What the manifest says went wrong; 0: nothing. */
static int recorded_error(enum src_op op, const char *path)
{
	const int *err = hash_find_name(&replay.manifest.errors[op], path);

	if (!err)
		err = hash_find_name(&replay.manifest.errors[SRC_ANY], path);
	return err ? -*err : 0;
}

/* ---- what is asked ---- */

int src_replay_read(const char *path, struct buf *to)
{
	int err = need_frame();

	if (!err)
		err = recorded_error(SRC_READ, path);
	return err ? err : read_below(replay.frame, path, to);
}

static struct src_names copy_names(const struct src_names *from, struct arena *arena)
{
	struct src_names copy = { arena_alloc(arena, from->count * sizeof(*copy.items)), 0 };

	for (; copy.count < from->count; copy.count++)
		copy.items[copy.count] = arena_strdup(arena, from->items[copy.count]);
	return copy;
}

int src_replay_list(const char *path, struct arena *arena, struct src_names *names)
{
	int err = need_frame();

	if (err)
		return err;
	const struct src_names *recorded = hash_find_name(&replay.manifest.dirs, path);

	if (!recorded)
		err = recorded_error(SRC_LIST, path);
	if (err)
		return err;
	if (recorded) {
		*names = copy_names(recorded, arena);
		return 0;
	}
	int fd = open_dir_below(replay.frame, path);

	if (fd < 0)
		return fd;
	err = src_list_fd(fd, arena, names);
	close(fd);
	return err;
}

int src_replay_dir(const char *path)
{
	int err = need_frame();

	if (err || hash_find_name(&replay.manifest.dirs, path))
		return err;
	err = recorded_error(SRC_LIST, path);
	if (err)
		return err;
	int fd = open_dir_below(replay.frame, path);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int src_replay_link(const char *path, struct arena *arena, const char **target)
{
	int err = need_frame();

	if (err)
		return err;
	const char *recorded = hash_find_name(&replay.manifest.links, path);

	if (!recorded)
		err = recorded_error(SRC_LINK, path);
	if (err)
		return err;
	if (recorded) {
		*target = arena_strdup(arena, recorded);
		return 0;
	}
	/* not recorded: a link in a tree that was copied with its links */
	const char *slash = strrchr(path, '/');
	char *parent = slash ? arena_copy(arena, path, (size_t)(slash - path)) : NULL;
	int at = !parent ? replay.frame :
		src_open_below(replay.frame, parent, O_PATH | O_DIRECTORY, SRC_IN_ROOT);

	if (at < 0)
		return at;
	err = src_link_at(at, slash ? slash + 1 : path, arena, target);
	if (parent)
		close(at);
	return err;
}

bool src_replay_exists(const char *path)
{
	if (load() <= 0)
		return false;
	const struct src_manifest *m = &replay.manifest;

	if (hash_find_name(&m->exists, path) || hash_find_name(&m->dirs, path) ||
	    hash_find_name(&m->links, path))
		return true;
	int err = recorded_error(SRC_READ, path);

	if (err)
		return err != -ENOENT && err != -ENOTDIR;
	int fd = src_open_below(replay.frame, path, O_PATH, SRC_IN_ROOT);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int src_replay_call(const char *key, struct buf *reply)
{
	char name[32];
	int err = need_frame();

	if (err)
		return err;
	const struct src_call_line *call = hash_find_name(&replay.manifest.calls, key);

	if (!call)
		return -ENOENT;
	if (call->err)
		return -call->err;
	snprintf(name, sizeof(name), "calls/%u", call->number);
	return read_below(replay.frame, name, reply);
}

int src_replay_stream(const char *key, int *fd)
{
	char name[32];
	struct stat st;
	int err = need_frame();
	const struct src_call_line *call = err ? NULL :
		hash_find_name(&replay.manifest.calls, key);

	*fd = -1;
	if (!call)
		return err ? err : -ENOENT;
	snprintf(name, sizeof(name), "calls/%u", call->number);
	*fd = src_open_below(replay.frame, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, SRC_IN_ROOT);
	if (*fd >= 0 && (fstat(*fd, &st) || !S_ISREG(st.st_mode))) {
		close(*fd);
		*fd = -1;
	}
	/* one that failed may have handed over something before */
	return call->err ? -call->err : *fd < 0 ? -ENOENT : 0;
}

int src_replay_value(const char *name, const char **text)
{
	if (need_frame())
		return -ENODATA;
	const struct src_value_line *v = hash_find_name(&replay.manifest.values, name);
	int err = v ? 0 : recorded_error(SRC_VALUE, name);

	if (err)
		return err;
	const char *known = v ? v->text : hash_find_name(&replay.values, name);

	if (!known)
		return -ENODATA;
	*text = known;
	return 0;
}
