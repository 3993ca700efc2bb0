/*
 * The source: the only way to the system. Every byte the program learns from the kernel comes
 * through here, so that --save can keep it and --root can replay it, in the same binary.
 *
 * Paths have no leading slash ("proc/stat") and no "..". What is returned lives until the frame's
 * end unless stated. Errors are negative errnos with fail text that names the file
 * ("/proc/1/stack: Permission denied"). A path is read once per frame: reading it again gives the
 * same bytes. What is read before the first frame belongs to it, between two to the later one.
 *
 * A saved run:
 *     DIR/manifest              "perfbox-save 1", then KEY<TAB>VALUE lines: version, applet,
 *                               command line words, ...
 *     DIR/environment           KEY<TAB>VALUE lines, see environment.h
 *     DIR/workload              what --workload said, if anything
 *     DIR/000000/manifest       one frame; lines TAB-separated, words escaped (\t \n \r \\ \xNN):
 *         clock  REALTIME_NS MONOTONIC_NS
 *         error  PATH ERRNO_NAME [OP]   a read, list, link or value that failed, and not with
 *                                       ENOENT. OP: list, link, value; a line without it answers
 *                                       for every one that has no line of its own
 *         exists PATH                   src_exists said so
 *         dir    PATH NAME ...          what a directory listed, when that is not just what the
 *                                       frame holds
 *         link   PATH TARGET
 *         value  NAME TEXT              page_size, clock_ticks, uid, pid, affinity ..., uname.*
 *         call   KEY ERRNO_NAME|0       a call's reply; its bytes are in calls/N, N counting all
 *                                       call lines from 0 in order. A stream's: pieces, each
 *                                       behind its length (32 bits, little endian)
 *     DIR/000000/proc/stat ...  the files themselves
 *     DIR/000000/netns/INODE/proc/net/snmp   read inside that network namespace
 * Empty lines and lines that start with # are passed over in a frame's manifest.
 * A directory without a manifest is a root of one frame, and so is one frame's folder. A file that
 * is in the frame's folder but not in its manifest is found all the same, so a saved run can be
 * written by hand.
 */
#ifndef KERNEL_SOURCE_H
#define KERNEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#define SRC_FILE_MAX (64u << 20)       /* a file or a reply larger than this fails with EFBIG */

int src_open_live(void);
int src_open_root(const char *dir);    /* a saved run, or a plain tree */
bool src_is_live(void);
void src_close(void);

/*
 * Keep what is read, under dir: made 0700, must not exist or be empty and ours, never through a
 * link. keep: how many of the latest frames stay on disk (0: all); the first frame always stays.
 * Call after src_open_*, before the first frame. The writing itself is reported by src_frame_end; a
 * frame that could not be written whole is taken away again.
 */
int src_save(const char *dir, unsigned keep);
bool src_is_saving(void);
/* DIR/NAME: manifest (its first line may be left out), environment, workload. Again: replaced. */
int src_save_record(const char *name, struct text content);
/* The same, of the run being replayed, as it stands; lives until src_close. */
int src_saved_record(const char *name, struct text *content);

/* Lines of the replayed manifests that could not be understood, and where the first stands:
 * "run/000001/manifest line 7: not understood"; "" if there is none. */
unsigned src_garbled(void);
const char *src_garbled_text(void);

/* A descriptor of the folder that paths are below now, the caller's to close: "/", or that of the
 * frame being replayed. For setting.h, which writes there. -errno with fail text. */
int src_tree_open(void);

struct frame {
	unsigned index;                /* 0, 1, 2 ... also where a saved run has gaps */
	uint64_t realtime_ns, monotonic_ns;
	uint64_t elapsed_ns;           /* since the frame before; 0 in the first */
	bool is_only;                  /* a replayed root of one frame: no rates will ever come */
};

int src_frame_begin(void);             /* 1: there is one; 0: the replay is over */
const struct frame *src_frame(void);
/* A number, never 0, that changes with all that was lent: what was made from it is stale then. */
uint64_t src_generation(void);
/* Frees what the frame lent. -errno with text if saving failed: then nothing more is kept, and each
 * later frame says so again. */
int src_frame_end(void);
struct arena *src_arena(void);         /* the frame's */
uint64_t src_now_ns(void);             /* CLOCK_MONOTONIC now; replaying: the frame's */

int src_read(const char *path, struct text *content);
int src_readf(struct text *content, const char *format, ...) PRINTF_LIKE(2, 3);
bool src_exists(const char *path);

/* Names in a directory, without . and .., sorted bytewise; if all are decimal, by number. */
struct src_names {
	const char **items;
	size_t count;
};
int src_list(const char *path, struct src_names *names);
/* Whether a folder of cgroupfs or sysfs is known to hold no other, by its number of links: much
 * cheaper than listing it. false in replay, and while saving: list it. */
bool src_is_leaf(const char *path);

int src_link(const char *path, const char **target);   /* readlink */

/*
 * Many files below one directory, as cheaply as openat, read, close: nothing is cached (unless
 * saving) and what is read lives until the next src_dir_read on the same struct src_dir. It may
 * stay open from frame to frame.
 */
struct src_dir {
	int fd;                        /* -1 in replay */
	const char *path;
	struct buf buf;
	uint64_t netns;                /* src_netns when it was opened */
};
int src_dir_open(struct src_dir *d, const char *path);
/* name may hold slashes */
int src_dir_read(struct src_dir *d, const char *name, struct text *content);
/* lives until the frame's end */
int src_dir_link(struct src_dir *d, const char *name, const char **target);
/* The decimal names in it (pids, tids), always ascending; *list lives until the frame's end. */
int src_dir_numbers(struct src_dir *d, const uint32_t **list, size_t *count);
void src_dir_close(struct src_dir *d);

/*
 * Anything that is not a file: an ioctl, a getsockopt, a netlink dump, statfs, a BPF map already
 * turned into rows. `key` names it and its arguments. Live: fetch fills reply (or returns -errno
 * with fail text); replaying: the saved bytes. Once per key, namespace and frame; same lifetime
 * rules as src_read.
 */
int src_call(const char *key, int (*fetch)(void *arg, struct buf *reply), void *arg,
	     struct text *reply);

/*
 * The same for a reply that is too large to hold: fetch hands over piece by piece what comes, with
 * give(piece, to), and passes up what give returns if that is not 0. `each` gets the pieces and may
 * end it with a -errno, which is returned. Saving, they are written as they come; replaying, they
 * come cut as they were. A fetch that fails half-way has handed over what came before, replayed as
 * well. The same key again in one frame: the same pieces if there is a save or a replay to read
 * them from; otherwise nothing was kept, and fetch is called again.
 */
#define SRC_PIECE_MAX (1u << 20)
typedef int (*src_piece)(struct text piece, void *arg);
int src_stream(const char *key, int (*fetch)(void *arg, src_piece give, void *to), void *arg,
	       src_piece each, void *each_arg);

/*
 * A sample between two frames, live only: what is read until src_sample_end is read anew, is freed
 * there, and is not saved. What the samples come to is kept by a src_call in the frame behind them.
 */
void src_sample_begin(void);
void src_sample_end(void);

/* Small facts, each saved with the frame. */
struct src_uname {
	const char *host, *release, *version, *machine;
};
const struct src_uname *src_uname(void);       /* lives until src_close; a field may be NULL */
uint64_t src_page_size(void);
uint64_t src_clock_ticks(void);                /* per second: unit of utime in /proc/PID/stat */
uint64_t src_uid(void);                        /* effective; NA_U64 if a root does not say */
uint64_t src_pid(void);                        /* of this program, to leave itself out; NA_U64 */
/* The CPUs a thread may run on as a kernel CPU list ("0-3,8"), sched_getaffinity(2); tid 0: this
 * program. -ENODATA if a root does not say. Lives until the frame's end. */
int src_affinity(uint32_t tid, const char **list);

/* What is read and called stands in this network namespace's folder of the save ("netns/INODE/");
 * 0: the caller's own. Live, it is read where the caller is: setns is the caller's. Returns the one
 * before, for those who read of the whole host and go back. */
uint64_t src_netns(uint64_t inode);

#endif
