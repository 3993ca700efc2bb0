#include "common/kernel/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

/* mounts on one another at one point; more are taken to be covered */
#define STACKED_MAX 256

/* ---- lines ---- */

/* Space, tab, newline, backslash and # stand as \ooo (fs/seq_file.c, mangle_path). */
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

static bool is_one_of(const char *type, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(type, *list))
			return true;
	return false;
}

/* Served by another machine, by members of a cluster, by this guest's host, or by a program. */
static bool is_remote_type(const char *type)
{
	static const char *const types[] = {
		"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "afs", "coda",
		"lustre", "gpfs", "beegfs", "glusterfs", "orangefs", "panfs", "ocfs2", "gfs2",
		"ecryptfs", "vboxsf", "vmhgfs", "prl_fs", "fuse", "fuseblk", NULL
	};

	return is_one_of(type, types) || text_starts(text_of(type), "fuse.");
}

/* "36 35 98:0 /root /point rw master:1 - ext4 /dev/sda1 rw,data=x"; the source may be empty. */
static bool parse_line(struct arena *arena, struct text line, struct mount *m)
{
	struct scan s = scan_of(line);
	struct mount new = { 0 };
	struct text root, point, options, word, type, source;

	if (!scan_u64(&s, &new.id) || !scan_u64(&s, &new.parent) || !scan_u64(&s, &new.major) ||
	    !scan_literal(&s, ":") || !scan_u64(&s, &new.minor) ||
	    !scan_word(&s, &root) || !scan_word(&s, &point) || !scan_word(&s, &options))
		return false;
	do {
		if (!scan_word(&s, &word))
			return false;
	} while (!text_is(word, "-"));
	if (!scan_word(&s, &type) || !scan_literal(&s, " ") || !scan_until(&s, ' ', &source) ||
	    !scan_word(&s, &word) || point.data[0] != '/')
		return false;
	new.root = unescape(arena, root);
	new.point = unescape(arena, point);
	new.options = arena_text(arena, options);
	new.type = unescape(arena, type);
	new.source = unescape(arena, source);
	new.super_options = arena_text(arena, word);
	new.is_remote = is_remote_type(new.type);
	*m = new;
	return true;
}

bool mount_has_option(const char *options, const char *word)
{
	struct scan s = scan_of(text_of(options));
	struct text option;

	while (scan_until(&s, ',', &option))
		if (text_is(option, word))
			return true;
	return text_is(scan_rest(&s), word);
}

/* ---- which mount a path leads to ---- */

/* Where a walk steps from one mount onto the next: a folder of a mount has one at most on it. */
struct steps {
	const struct mounts *mounts;
	struct hash by_place, by_id;
};

static uint64_t place_key(uint64_t parent, struct text point)
{
	return hash_keyed(parent, point.data, point.len);
}

static struct mount *find_step(const struct steps *steps, uint64_t parent, struct text point)
{
	struct mount *m = hash_find_number(&steps->by_place, place_key(parent, point));

	return m && m->parent == parent && text_is(point, m->point) ? m : NULL;
}

/* From mount `at`, by its id, onto what is mounted at this point of the way, and on that ... */
static void step_up(const struct steps *steps, struct text point, uint64_t *at, struct mount **now)
{
	for (unsigned i = 0; i < STACKED_MAX; i++) {
		struct mount *next = find_step(steps, *at, point);

		if (!next || next == *now)
			return;
		*now = next;
		*at = next->id;
	}
}

/*
 * Walks m's path as the kernel would: is what it ends on m? `at` is the mount the root is on; that
 * one is listed only if it is mounted on "/" itself (in a chroot it need not be).
 */
static void walk_to(const struct steps *steps, uint64_t at, struct mount *m)
{
	struct mount *now = hash_find_number(&steps->by_id, at);
	const char *p = m->point;

	step_up(steps, TEXT("/"), &at, &now);
	while (*p) {
		p += strspn(p, "/");
		p += strcspn(p, "/");
		if (p - m->point < 2)
			break;
		m->is_behind_remote |= now && now->is_remote && now != m;
		step_up(steps, (struct text){ m->point, (size_t)(p - m->point) }, &at, &now);
	}
	m->is_visible = now == m;
}

/* The mount the root is on: the one on "/" that stands on nothing listed, else one not listed. */
static uint64_t find_root(const struct steps *steps)
{
	const struct mounts *mounts = steps->mounts;
	const struct mount *first = NULL;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *m = &mounts->items[i];

		if (m->parent != m->id && hash_find_number(&steps->by_id, m->parent))
			continue;
		if (!strcmp(m->point, "/"))
			return m->id;
		if (!first)
			first = m;
	}
	return first ? first->parent : 0;
}

static void find_visible(struct mounts *mounts)
{
	struct steps steps = { .mounts = mounts };

	for (size_t i = 0; i < mounts->count; i++) {
		struct mount *m = &mounts->items[i];

		*hash_number(&steps.by_place, place_key(m->parent, text_of(m->point))) = m;
		*hash_number(&steps.by_id, m->id) = m;
	}
	uint64_t root = find_root(&steps);

	for (size_t i = 0; i < mounts->count; i++)
		walk_to(&steps, root, &mounts->items[i]);
	hash_free(&steps.by_place);
	hash_free(&steps.by_id);
}

void mounts_parse(struct arena *arena, struct text t, struct mounts *mounts)
{
	struct scan lines = scan_of(t);
	struct text line;
	size_t room = 0;
	unsigned number = 0;

	while (room < MOUNTS_MAX && scan_line(&lines, &line))
		room++;
	struct mounts new = { arena_alloc(arena, room * sizeof(*new.items)), 0, 0 };

	lines = scan_of(t);
	while (number < room && scan_line(&lines, &line)) {
		/* without its newline a line may be cut */
		bool is_whole = line.data + line.len < t.data + t.len;

		number++;
		if (is_whole && parse_line(arena, line, &new.items[new.count]))
			new.count++;
		else if (!new.garbled_line)
			new.garbled_line = number;
	}
	find_visible(&new);
	*mounts = new;
}

int mounts_read(struct arena *arena, struct mounts *mounts)
{
	struct text t;
	int err = src_read("proc/self/mountinfo", &t);

	if (err < 0)
		return err;
	struct mounts new;

	mounts_parse(arena, t, &new);
	if (!new.count)
		return fail(EINVAL, "/proc/self/mountinfo: no line makes sense");
	*mounts = new;
	return 0;
}

/* ---- which of them hold files ---- */

static bool is_read_only_type(const char *type)
{
	static const char *const types[] = {
		"squashfs", "iso9660", "erofs", "cramfs", "romfs", NULL
	};

	return is_one_of(type, types);
}

/* File systems without a block device of their own that are not an interface of the kernel's. */
static bool is_pool_type(const char *type)
{
	static const char *const types[] = {
		"tmpfs", "devtmpfs", "overlay", "btrfs", "zfs", "bcachefs", "ubifs", "aufs", NULL
	};

	return is_one_of(type, types);
}

/* Served by a program, but to show something, not to keep files. */
static bool is_fuse_interface(const char *type)
{
	static const char *const types[] = { "fuse.lxcfs", "fuse.portal", "fuse.gvfsd-fuse", NULL };

	return is_one_of(type, types);
}

static bool is_real(const struct mount *m)
{
	if (!m->is_visible || is_read_only_type(m->type) || is_fuse_interface(m->type))
		return false;
	return m->major != 0 || m->is_remote || is_pool_type(m->type);
}

/* Of two mounts of one device the one that shows it from its root; of equals the earlier one. */
static bool is_better(const struct mount *m, const struct mount *than)
{
	return !strcmp(m->root, "/") && strcmp(than->root, "/") != 0;
}

void mounts_select(struct arena *arena, const struct mounts *all, struct mounts *real)
{
	struct mounts new = {
		.items = arena_alloc(arena, all->count * sizeof(*new.items)),
		.garbled_line = all->garbled_line,
	};
	struct hash by_device = { 0 };

	for (size_t i = 0; i < all->count; i++) {
		const struct mount *m = &all->items[i];

		if (!is_real(m))
			continue;
		uint64_t device[2] = { m->major, m->minor };
		void **slot = hash_number(&by_device, hash_bytes(device, sizeof(device)));
		struct mount *known = *slot;

		if (!known)
			*slot = known = &new.items[new.count++], *known = *m;
		else if (is_better(m, known))
			*known = *m;
	}
	hash_free(&by_device);
	*real = new;
}

/* ---- how full they are ---- */

/*
 * By a descriptor that opened nothing (O_PATH): a path that has become an automount point in the
 * meantime is not mounted by it, and what is found there can be compared with what was listed.
 */
static int fetch_usage(void *arg, struct buf *reply)
{
	const struct mount *m = arg;
	struct stat st;
	struct statfs fs;
	int fd = open(m->point, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(errno, "%s", m->point);
	int err = fstat(fd, &st) || fstatfs(fd, &fs) ? errno : 0;

	close(fd);
	if (err)
		return fail_errno(err, "statfs %s", m->point);
	/* device numbers of btrfs subvolumes and of an overlay's files are not mountinfo's */
	bool is_comparable = S_ISDIR(st.st_mode) && strcmp(m->type, "btrfs") != 0;

	if (is_comparable && (major(st.st_dev) != m->major || minor(st.st_dev) != m->minor))
		return fail(ESTALE, "%s: something else is mounted there", m->point);
	const struct {
		const char *key;
		uint64_t value;
	} lines[] = {
		{ "block_size", (uint64_t)(fs.f_frsize ? fs.f_frsize : fs.f_bsize) },
		{ "blocks", fs.f_blocks }, { "blocks_free", fs.f_bfree },
		{ "blocks_available", fs.f_bavail },
		{ "files", fs.f_files }, { "files_free", fs.f_ffree },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		buf_printf(reply, "%s %llu\n", lines[i].key, (unsigned long long)lines[i].value);
	return 0;
}

static bool take_bytes(struct text t, const char *key, uint64_t block_size, uint64_t *bytes)
{
	uint64_t blocks;

	return scan_key_u64(t, key, &blocks) && !__builtin_mul_overflow(blocks, block_size, bytes);
}

int mount_parse_usage(struct text t, struct mount_usage *usage)
{
	uint64_t block_size, size, unused, available, files, files_free;

	if (!t.len || t.data[t.len - 1] != '\n' ||
	    !scan_key_u64(t, "block_size", &block_size) ||
	    !take_bytes(t, "blocks", block_size, &size) ||
	    !take_bytes(t, "blocks_free", block_size, &unused) || unused > size ||
	    !scan_key_u64(t, "files", &files) || !scan_key_u64(t, "files_free", &files_free))
		return fail(EINVAL, "statfs: a reply that makes no sense");
	/* with more in use than users may have, available is negative: an enormous number */
	if (!take_bytes(t, "blocks_available", block_size, &available) || available > size)
		available = 0;
	bool has_size = size > 0, has_inodes = files > 0 && files_free <= files;
	uint64_t used = size - unused;

	*usage = (struct mount_usage){
		.size_bytes = has_size ? size : NA_U64,
		.used_bytes = has_size ? used : NA_U64,
		.available_bytes = has_size ? available : NA_U64,
		.inodes = has_inodes ? files : NA_U64,
		.inodes_used = has_inodes ? files - files_free : NA_U64,
		.used_ratio = has_size ? ratio_of(used, used + available) : NA_F64,
		.inodes_ratio = has_inodes ? ratio_of(files - files_free, files) : NA_F64,
	};
	return 0;
}

/* An overlay answers with what its upper layer says; without one with a lower's, wherever it is. */
static bool has_upper(const struct mount *m)
{
	return strstr(m->super_options, ",upperdir=") != NULL;
}

int mount_read_usage(const struct mount *m, struct mount_usage *usage)
{
	struct text t;

	if (m->is_remote || m->is_behind_remote)
		return fail(EOPNOTSUPP, "%s: not asked, %s may not answer", m->point,
			    m->is_remote ? m->type : "a remote file system on the way to it");
	if (!strcmp(m->type, "overlay") && !has_upper(m))
		return fail(EOPNOTSUPP, "%s: not asked, an overlay without an upper layer",
			    m->point);
	const char *key = arena_printf(src_arena(), "statfs %s", m->point);
	int err = src_call(key, fetch_usage, (void *)(uintptr_t)m, &t);

	return err < 0 ? err : mount_parse_usage(t, usage);
}
