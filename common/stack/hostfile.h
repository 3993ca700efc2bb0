/*
 * Files of this host that a recording names: anybody may have chosen the name, so nothing but
 * regular files is opened (a device, even to look at it, may act), and nothing waits.
 */
#ifndef STACK_HOSTFILE_H
#define STACK_HOSTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/text.h"

struct buf;

#define HOSTFILE_MAP_MAX (8ull << 30)  /* bytes of a file that is mapped; more: EFBIG */

/*
 * A regular file, for reading. root: NULL, or a folder that the path and every link in it are
 * resolved in, as in a container. A descriptor, or a negative errno with fail text; ENXIO: it is
 * not a regular file.
 */
int hostfile_open(const char *root, const char *path);

/* A file in memory, pages come as they are touched. Empty files have no bytes. */
struct hostfile {
	struct text bytes;
	char *scratch;                 /* the same bytes, which may be written: a private copy */
	uid_t owner;
	ino_t inode;
};
int hostfile_map(const char *root, const char *path, struct hostfile *f);
void hostfile_unmap(struct hostfile *f);

/* All of a file that has no size (/proc, /sys), or -EFBIG beyond max; replaces what `to` held. */
int hostfile_read(const char *root, const char *path, size_t max, struct buf *to);

#endif
