/*
 * Shared by the files behind source.h and by their tests: where a path stands in a run
 * (source_place), reading the live system (source_live), the manifest's words and lines
 * (source_manifest), keeping a run (source_save), replaying one (source_replay), replies in pieces
 * (source_stream), facts (source_facts). Functions here return 0 or -errno and leave the text to
 * source.c unless they say otherwise.
 */
#ifndef KERNEL_SOURCE_IMPL_H
#define KERNEL_SOURCE_IMPL_H

#include "common/base/hash.h"
#include "common/kernel/source.h"

#define SRC_PATH_MAX 4096              /* PATH_MAX, linux/limits.h: a longer one can't be opened */
#define SRC_NAMES_MAX (1u << 23)       /* in one directory: twice the most pids there can be */

/*
 * What can be asked about a path. One path may fail differently for each: reading a directory is
 * EISDIR, listing it is not.
 */
enum src_op {
	SRC_READ, SRC_LIST, SRC_LINK,
	SRC_VALUE,                     /* a fact that could not be had */
	SRC_ANY,                       /* only in a manifest: an error line that names no op */
	SRC_OPS
};
const char *src_op_name(enum src_op op);

/* ---- source_place.c ---- */

struct src_place {
	const char *path;              /* in the run and in the cache: netns/INODE/proc/net/snmp */
	const char *plain;             /* the end of it that is the path itself: proc/net/snmp */
	const char *name;              /* the end of that which is below `below`; else the same */
};
/*
 * -EINVAL: "..", nothing, or a name that is not the kernel's; -ENAMETOOLONG. below: a folder that
 * is already a plain path, or NULL. What p points to is b.
 */
int src_find_place(struct buf *b, uint64_t netns, const char *below, const char *path,
		   struct src_place *p);

/* ---- source_live.c: any fd, so a replayed folder as well ---- */

/* Opens, appends all of it, closes. */
int src_live_read(int at, const char *path, struct buf *to);
/* The same with the fewest calls; not for dev/kmsg. */
int src_live_read_quick(int at, const char *name, struct buf *to);
int src_read_fd(int fd, struct buf *to);
/* In the order src_list promises. */
int src_list_fd(int fd, struct arena *arena, struct src_names *names);
int src_numbers_fd(int fd, struct arena *arena, const uint32_t **list, size_t *count);
int src_link_at(int at, const char *path, struct arena *arena, const char **target);
/* Decimal, no zeros before it, fits. */
bool src_name_is_number(const char *name, uint32_t *number);
void src_sort_numbers(uint32_t *list, size_t count);
void src_sort_names(struct src_names *names);

/*
 * Open path below `at`. SRC_IN_ROOT: links are followed as if `at` were "/". SRC_NO_LINKS: none is.
 * Without openat2(2) (before 5.6, or a seccomp filter) no link is followed either way: -ELOOP.
 */
enum src_resolve { SRC_IN_ROOT, SRC_NO_LINKS };
int src_open_below(int at, const char *path, int flags, enum src_resolve how);
extern bool src_without_openat2;       /* for tests; set by itself when the kernel has none */

/* ---- source_manifest.c ---- */

#define SRC_FORMAT "perfbox-save 1\n"  /* the first line of a saved run's manifest */

void src_add_word(struct buf *line, const char *s);              /* a tab and the word, escaped */
/* False: garbled, or holds a NUL. */
bool src_unescape(struct text word, struct arena *arena, const char **s);
void src_add_errno(struct buf *line, int err);                   /* the same for "EACCES", or "0" */
bool src_parse_errno(const char *word, int *err);                /* a name or a number */

struct src_call_line {
	unsigned number;               /* its reply is calls/NUMBER */
	int err;
};
struct src_value_line {
	struct src_value_line *next;
	const char *name, *text;
};
struct src_manifest {
	uint64_t realtime_ns, monotonic_ns;     /* 0: no clock line */
	struct hash errors[SRC_OPS];            /* path -> int * */
	struct hash dirs;                       /* path -> struct src_names * */
	struct hash links;                      /* path -> target */
	struct hash exists;                     /* path -> path */
	struct hash values;                     /* name -> struct src_value_line * */
	struct hash calls;                      /* key -> struct src_call_line * */
	struct src_value_line *first_value;     /* the same as values, latest first */
	unsigned call_count;
	unsigned garbled;                       /* lines that could not be understood */
	unsigned garbled_line;                  /* the first of them, from 1 */
	const char *garbled_why;
};
/* Fills a zeroed m; what it points to lives in arena. Garbled lines are counted and passed over. */
void src_parse_manifest(struct text content, struct arena *arena, struct src_manifest *m);
bool src_is_frame_manifest(struct text content);                 /* by its first line */
void src_manifest_free(struct src_manifest *m);

/* ---- source_save.c: nothing fails here, the first trouble is kept for src_frame_end ---- */

void src_save_file(const char *path, struct text content);
void src_save_folder(const char *path);
/* err > 0. ENOENT leaves no line: a path that is not in the frame is not there. */
void src_save_error(enum src_op op, const char *path, int err);
void src_save_names(const char *path, const struct src_names *names);
void src_save_link(const char *path, const char *target);
void src_save_exists(const char *path);
void src_save_value(const char *name, const char *text);         /* once per frame */
void src_save_call(const char *key, int err, struct text reply);
/* For a reply that is written while it comes (source_stream): a folder of the frame, its fd stays
 * source_save's; -1: nothing is kept. The call's line, which gives its number. Trouble, err > 0. */
int src_save_open_folder(const char *path);
unsigned src_save_call_line(const char *key, int err);
void src_save_trouble(int err, const char *path);
void src_save_begin(const struct frame *frame);
int src_save_end(void);                /* with fail text */
void src_save_close(void);
void src_save_pause(bool is_paused);   /* meanwhile src_is_saving() is false */

/* ---- source_replay.c ---- */

int src_replay_open(const char *dir);                            /* with fail text */
/* 1; 0: the replay is over; -errno with fail text. */
int src_replay_begin(struct frame *frame);
void src_replay_end(void);
void src_replay_close(void);
int src_replay_read(const char *path, struct buf *to);
int src_replay_list(const char *path, struct arena *arena, struct src_names *names);
int src_replay_link(const char *path, struct arena *arena, const char **target);
int src_replay_dir(const char *path);                            /* is there such a directory? */
bool src_replay_exists(const char *path);
int src_replay_call(const char *key, struct buf *reply);
/* *fd: -1 if there are no bytes; the result is the call's own. */
int src_replay_stream(const char *key, int *fd);
/* -ENODATA if the run does not say; lives until the frame's end. */
int src_replay_value(const char *name, const char **text);

/* ---- source_sample.c ---- */

void src_sample_close(void);

/* ---- source.c ---- */

#define SRC_KINDS 5                    /* of questions whose answers a frame remembers */
/* What this frame has learnt, and its src_generation, for what the caller keeps. */
void src_swap_learnt(struct arena *arena, struct hash seen[SRC_KINDS], uint64_t *generation);

bool src_is_open(void);
const char *src_call_place(const char *key);    /* with its namespace; lives as long as the frame */
/* With fail text: why, or what err means. */
int src_call_failed(const char *key, int err, const char *why);
struct arena *src_run_arena(void);     /* lives until src_close */
void src_forget(void);                 /* what was read so far in this frame is read again */
void src_facts_reset(void);            /* source_facts.c */
void src_stream_forget(void);          /* source_stream.c */

#endif
