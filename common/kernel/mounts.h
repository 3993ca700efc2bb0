/* Mounted file systems: /proc/self/mountinfo (proc(5), fs/proc_namespace.c) and statfs(2). */
#ifndef KERNEL_MOUNTS_H
#define KERNEL_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

/* lines looked at; the kernel's own limit is 100,000 (fs.mount-max) */
#define MOUNTS_MAX 65536

/* Texts are unescaped, and live in the arena. */
struct mount {
	uint64_t id, parent, major, minor;
	/* what of the file system is mounted: "/", a subvolume, a bind mount's folder */
	const char *root;
	const char *point;             /* seen from this program's root */
	const char *options;           /* of this mount: "rw,relatime" */
	const char *type;              /* "ext4", "fuse.sshfs" */
	const char *source;            /* "/dev/vda1", "server:/export"; may be empty */
	const char *super_options;     /* of the file system: "rw,errors=remount-ro" */
	/* another machine or a program serves it: asking it may never return */
	bool is_remote;
	bool is_visible;               /* its path leads to it: no other mount covers it */
	bool is_behind_remote;         /* the way to it leads through one that is remote */
};

struct mounts {
	struct mount *items;
	size_t count;
	unsigned garbled_line;         /* the first line that makes no sense, from 1; 0: none */
};
void mounts_parse(struct arena *arena, struct text t, struct mounts *mounts);
/* proc/self/mountinfo; 0 or -errno with fail text */
int mounts_read(struct arena *arena, struct mounts *mounts);

bool mount_has_option(const char *options, const char *word);

/*
 * Of what was read, the file systems that hold files people store: on block devices, in memory
 * (tmpfs, devtmpfs), remote, pools (btrfs, zfs ...) and overlays; each once however often it is
 * mounted, by the mount that shows most of it. Left out are kernel interfaces, what can't be
 * written by nature (squashfs, iso9660 ...) and mounts that are covered by others.
 */
void mounts_select(struct arena *arena, const struct mounts *all, struct mounts *real);

/* As df shows it. Bytes and inodes are NA_U64 where the file system does not count them. */
struct mount_usage {
	/* available to users without privilege */
	uint64_t size_bytes, used_bytes, available_bytes;
	uint64_t inodes, inodes_used;
	/* used / (used + available), as df's Use% before it rounds up */
	double used_ratio;
	double inodes_ratio;           /* used / all */
};

/*
 * Through the source as the call "statfs POINT". Remote ones, those behind them and overlays that
 * have nothing of their own are not asked: -EOPNOTSUPP with fail text. -ESTALE: something else is
 * mounted there now.
 */
int mount_read_usage(const struct mount *m, struct mount_usage *usage);
/* "KEY VALUE" lines, statfs's fields; or -EINVAL */
int mount_parse_usage(struct text t, struct mount_usage *usage);

#endif
