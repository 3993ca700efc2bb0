/* Keeping what a run read: files as the kernel names them, everything else in a manifest. */
#include "common/kernel/source_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_FLUSH 65536
#define FRAME_NAME_MAX 16
#define PENDING_MAX (64u << 20)        /* bytes of files kept before they are written */
#define REMOVE_DEPTH_MAX 512           /* each level holds an fd and a few hundred bytes of stack */

/* A file or folder of the frame that is not written yet. */
struct pending {
	const char *path;
	struct text content;
	bool is_folder;
};

static struct save {
	char *dir;                     /* its name, for texts; NULL: not saving */
	bool is_paused;
	int top;
	unsigned keep;
	int err;                       /* the first trouble; nothing is written after it */
	char *text;

	/* the frame being written; made at its first byte, which may come before src_frame_begin */
	unsigned index;
	int frame;                     /* -1: not made yet */
	int manifest;
	bool has_begun;
	struct buf lines;              /* of the manifest, not yet written */
	unsigned calls;
	struct arena arena;
	struct hash made;              /* folders of this frame */
	struct hash values;            /* facts already in this frame */
	int parent;                    /* the folder last written to, its path in parent_path */
	const char *parent_path;
	struct pending *pending;
	size_t pending_count, pending_cap, pending_bytes;
} save = { .top = -1, .frame = -1, .manifest = -1, .parent = -1 };

bool src_is_saving(void)
{
	return save.dir != NULL && !save.is_paused;
}

void src_save_pause(bool is_paused)
{
	save.is_paused = is_paused;
}

static void frame_name(char name[FRAME_NAME_MAX], unsigned index)
{
	snprintf(name, FRAME_NAME_MAX, "%06u", index);
}

/* Remembers the first trouble only: what comes behind it follows from it. what: a path, or NULL. */
static void give_up(int err, const char *what)
{
	struct buf text = { 0 };

	if (save.err)
		return;
	save.err = err;
	buf_printf(&text, "%s: the run is not kept from frame %06u on", save.dir, save.index);
	if (what)
		buf_printf(&text, ", /%s", what);
	buf_printf(&text, ": %s", strerror(err));
	save.text = text.data;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int create(int at, const char *name)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* A file that could not be written to its end is no file: replayed, it would pass for the truth. */
static int write_file(int at, const char *name, struct text content)
{
	int fd = create(at, name);

	if (fd < 0)
		return fd;
	int err = write_all(fd, content.data, content.len);

	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlinkat(at, name, 0);
	return err;
}

/* ---- removing ---- */

static int remove_tree(int at, const char *name, unsigned depth);

static int remove_inside(int fd, unsigned depth)
{
	struct arena arena = { 0 };
	struct src_names names;
	int err = src_list_fd(fd, &arena, &names);

	for (size_t i = 0; !err && i < names.count; i++)
		if (unlinkat(fd, names.items[i], 0)) {
			/* POSIX says EPERM for a folder, Linux says EISDIR */
			const bool is_folder = errno == EISDIR || errno == EPERM;

			err = is_folder ? remove_tree(fd, names.items[i], depth + 1) : -errno;
		}
	arena_free(&arena);
	return err;
}

/* Never through a link, never onto another file system: only what was written here. */
static int remove_tree(int at, const char *name, unsigned depth)
{
	struct stat st, top;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int err = fstat(fd, &st) || fstat(save.top, &top) ? -errno : 0;

	if (!err && depth > REMOVE_DEPTH_MAX)
		err = -ELOOP;
	if (!err && (st.st_dev != top.st_dev || st.st_uid != geteuid()))
		err = -EPERM;
	if (!err)
		err = remove_inside(fd, depth);
	close(fd);
	if (!err && unlinkat(at, name, AT_REMOVEDIR))
		err = -errno;
	return err;
}

/* ---- the run's folder ---- */

/* Ours, empty and not a link; 0700 from here on. */
static int adopt(int fd)
{
	struct arena arena = { 0 };
	struct src_names names;
	struct stat st;

	if (fstat(fd, &st))
		return fail_errno(errno, "%s", save.dir);
	if (st.st_uid != geteuid())
		return fail(EPERM, "%s: belongs to somebody else", save.dir);
	int err = src_list_fd(fd, &arena, &names);
	const bool is_empty = !err && names.count == 0;

	arena_free(&arena);
	if (err)
		return fail_errno(-err, "%s", save.dir);
	if (!is_empty)
		return fail(ENOTEMPTY, "%s: not empty: a run is saved in a folder of its own",
			    save.dir);
	return fchmod(fd, 0700) ? fail_errno(errno, "%s", save.dir) : 0;
}

static int open_top(void)
{
	struct stat st;
	const bool is_new = !mkdir(save.dir, 0700);

	if (!is_new && errno != EEXIST)
		return fail_errno(errno, "%s: cannot be made", save.dir);
	int fd = open(save.dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = fd < 0 ? errno : 0;

	if (err && !lstat(save.dir, &st) && S_ISLNK(st.st_mode))
		err = fail(err, "%s: is a link; a run is never saved through one", save.dir);
	else
		err = err ? fail_errno(err, "%s", save.dir) : adopt(fd);
	if (!err) {
		save.top = fd;
		err = src_save_record("manifest", TEXT(""));
	}
	if (!err)
		return 0;
	if (fd >= 0)
		close(fd);
	save.top = -1;
	if (is_new)
		rmdir(save.dir);
	return err;
}

int src_save(const char *dir, unsigned keep)
{
	size_t len = strlen(dir);

	if (!src_is_open() || save.dir)
		return fail(EINVAL, "%s: a run is saved once, and not before it is opened", dir);
	/* "link/" would be followed */
	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (!len)
		return fail(EINVAL, "no folder named to save in");
	save.dir = mem_strdup(dir);
	save.dir[len] = '\0';
	save.keep = keep;
	int err = open_top();

	if (err) {
		free(save.dir);
		save.dir = NULL;
		return err;
	}
	/* what was read before is read again, so that it is in the run */
	src_forget();
	return 0;
}

int src_save_record(const char *name, struct text content)
{
	struct buf b = { 0 };
	const bool is_manifest = !strcmp(name, "manifest");

	if (!save.dir)
		return fail(EINVAL, "%s: nothing is being saved", name);
	if (!*name || *name == '.' || strchr(name, '/') || !name[strspn(name, "0123456789")])
		return fail(EINVAL, "%s/%s: no name for a record", save.dir, name);
	if (is_manifest && !text_starts(content, SRC_FORMAT))
		buf_add_text(&b, SRC_FORMAT);
	buf_add(&b, content.data, content.len);
	int err = unlinkat(save.top, name, 0) && errno != ENOENT ? -errno :
		write_file(save.top, name, buf_text(&b));

	buf_free(&b);
	return err ? fail_errno(-err, "%s/%s", save.dir, name) : 0;
}

/* ---- a frame ---- */

static void flush(void)
{
	if (save.err || save.manifest < 0 || !save.lines.len)
		return;
	int err = write_all(save.manifest, save.lines.data, save.lines.len);

	buf_reset(&save.lines);
	if (err)
		give_up(-err, NULL);
}

/* False: not saving, or given up. */
static bool is_ready(void)
{
	char name[FRAME_NAME_MAX];

	if (!save.dir || save.err || save.frame >= 0)
		return save.dir && !save.err;
	frame_name(name, save.index);
	if (mkdirat(save.top, name, 0700)) {
		give_up(errno, NULL);
		return false;
	}
	save.frame = openat(save.top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	save.manifest = save.frame < 0 ? -errno : create(save.frame, "manifest");
	if (save.manifest < 0)
		give_up(-save.manifest, NULL);
	return !save.err;
}

void src_save_begin(const struct frame *frame)
{
	save.has_begun = true;
	if (is_ready() && frame->monotonic_ns)
		buf_printf(&save.lines, "clock\t%llu\t%llu\n",
			   (unsigned long long)frame->realtime_ns,
			   (unsigned long long)frame->monotonic_ns);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void write_pending(void);

static void close_frame(void)
{
	write_pending();
	flush();
	if (save.manifest >= 0 && close(save.manifest) && !save.err)
		give_up(errno, NULL);
	save.manifest = -1;
	close_fd(&save.parent);
	close_fd(&save.frame);
	save.parent_path = NULL;
	buf_reset(&save.lines);
	hash_reset(&save.made);
	hash_reset(&save.values);
	arena_reset(&save.arena);
	save.calls = 0;
	save.has_begun = false;
}

static int remove_frame(unsigned index)
{
	char name[FRAME_NAME_MAX];

	frame_name(name, index);
	return remove_tree(save.top, name, 0);
}

int src_save_end(void)
{
	if (!save.dir)
		return 0;
	const bool was_made = save.frame >= 0;

	close_frame();
	/* a frame with holes would replay as a host where those files are missing */
	if (save.err && was_made)
		remove_frame(save.index);
	const unsigned ended = save.index++;

	/* frame 0 is what everything is compared with: it stays */
	if (!save.err && save.keep && ended > save.keep) {
		int err = remove_frame(ended - save.keep);

		if (err && err != -ENOENT)
			give_up(-err, NULL);
	}
	return save.err ? fail(save.err, "%s", save.text) : 0;
}

/* What was read after the last frame belongs to none: it would replay as one more. */
void src_save_close(void)
{
	if (!save.dir)
		return;
	const bool is_stray = save.frame >= 0 && !save.has_begun && save.index > 0;

	close_frame();
	if (is_stray)
		remove_frame(save.index);
	close(save.top);
	buf_free(&save.lines);
	free(save.pending);
	hash_free(&save.made);
	hash_free(&save.values);
	arena_free(&save.arena);
	free(save.dir);
	free(save.text);
	save = (struct save){ .top = -1, .frame = -1, .manifest = -1, .parent = -1 };
}

/* ---- folders and files ---- */

/* Goes down from the frame, making what is missing. */
static int make_folders(const char *path)
{
	char *prefix = arena_strdup(&save.arena, path);
	int now = save.frame, err = 0;

	for (char *at = prefix; !err && at;) {
		char *slash = strchr(at, '/');

		if (slash)
			*slash = '\0';
		if (!hash_find_name(&save.made, prefix)) {
			if (mkdirat(now, at, 0700) && errno != EEXIST)
				err = -errno;
			else
				*hash_name(&save.made, arena_strdup(&save.arena, prefix)) = prefix;
		}
		int fd = err ? -1 : openat(now, at, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (!err && fd < 0)
			err = -errno;
		if (now != save.frame)
			close(now);
		now = fd;
		if (slash)
			*slash = '/';
		at = slash ? slash + 1 : NULL;
	}
	return err ? err : now;
}

/* The folder `path` of `len` bytes, made if need be; the fd stays ours. "" is the frame itself. */
static int folder(const char *path, size_t len)
{
	if (!len)
		return save.frame;
	if (save.parent_path && !strncmp(save.parent_path, path, len) && !save.parent_path[len])
		return save.parent;
	const char *copy = arena_copy(&save.arena, path, len);

	close_fd(&save.parent);
	save.parent_path = NULL;
	int fd = hash_find_name(&save.made, copy) ?
		src_open_below(save.frame, copy, O_PATH | O_DIRECTORY, SRC_NO_LINKS) :
		make_folders(copy);

	if (fd < 0)
		return fd;
	save.parent = fd;
	save.parent_path = copy;
	return fd;
}

static void write_now(const struct pending *p)
{
	const char *slash = strrchr(p->path, '/');
	int at = p->is_folder ? folder(p->path, strlen(p->path)) :
		folder(p->path, slash ? (size_t)(slash - p->path) : 0);
	int err = at < 0 || p->is_folder ? at :
		write_file(at, slash ? slash + 1 : p->path, p->content);

	if (err < 0)
		give_up(-err, p->path);
}

static void write_pending(void)
{
	for (size_t i = 0; i < save.pending_count && !save.err; i++)
		write_now(&save.pending[i]);
	save.pending_count = save.pending_bytes = 0;
}

/* Kept until the frame's end: writing between reads would spread them over a longer time than the
 * frame's clock says. */
static void keep_pending(const char *path, struct text content, bool is_folder)
{
	if (!is_ready())
		return;
	if (save.pending_bytes + content.len > PENDING_MAX)
		write_pending();
	save.pending = mem_grow(save.pending, &save.pending_cap, save.pending_count + 1,
				sizeof(*save.pending));
	save.pending[save.pending_count++] = (struct pending){
		.path = arena_strdup(&save.arena, path),
		.content = { arena_text(&save.arena, content), content.len },
		.is_folder = is_folder,
	};
	save.pending_bytes += content.len;
}

void src_save_folder(const char *path)
{
	keep_pending(path, (struct text){ "", 0 }, true);
}

void src_save_file(const char *path, struct text content)
{
	keep_pending(path, content, false);
}

/* ---- the manifest ---- */

static struct buf *start_line(const char *kind, const char *word)
{
	if (!is_ready())
		return NULL;
	if (save.lines.len > MANIFEST_FLUSH)
		flush();
	buf_add_text(&save.lines, kind);
	src_add_word(&save.lines, word);
	return &save.lines;
}

static void end_line(struct buf *line)
{
	buf_add_char(line, '\n');
}

/* A path that is not in the frame is not there: ENOENT needs no line, unless it is a fact's. */
void src_save_error(enum src_op op, const char *path, int err)
{
	struct buf *line = err == ENOENT && op != SRC_VALUE ? NULL : start_line("error", path);

	if (!line)
		return;
	src_add_errno(line, err);
	if (op != SRC_READ)
		src_add_word(line, src_op_name(op));
	end_line(line);
}

void src_save_names(const char *path, const struct src_names *names)
{
	struct buf *line = start_line("dir", path);

	if (!line)
		return;
	for (size_t i = 0; i < names->count; i++)
		src_add_word(line, names->items[i]);
	end_line(line);
}

void src_save_link(const char *path, const char *target)
{
	struct buf *line = start_line("link", path);

	if (!line)
		return;
	src_add_word(line, target);
	end_line(line);
}

void src_save_exists(const char *path)
{
	struct buf *line = start_line("exists", path);

	if (line)
		end_line(line);
}

void src_save_value(const char *name, const char *text)
{
	if (!save.dir || hash_find_name(&save.values, name))
		return;
	struct buf *line = start_line("value", name);

	if (!line)
		return;
	src_add_word(line, text);
	end_line(line);
	*hash_name(&save.values, arena_strdup(&save.arena, name)) = save.dir;
}

unsigned src_save_call_line(const char *key, int err)
{
	struct buf *line = start_line("call", key);

	if (!line)
		return save.calls;
	src_add_errno(line, err);
	end_line(line);
	return save.calls++;
}

void src_save_call(const char *key, int err, struct text reply)
{
	char name[32];

	snprintf(name, sizeof(name), "calls/%u", src_save_call_line(key, err));
	if (!err)
		src_save_file(name, reply);
}

int src_save_open_folder(const char *path)
{
	int at = is_ready() ? folder(path, strlen(path)) : -1;

	if (at < 0 && !save.err && save.dir)
		give_up(-at, path);
	return at < 0 ? -1 : at;
}

void src_save_trouble(int err, const char *path)
{
	give_up(err, path);
}
