/*
 * The processes of a recording as they were at each moment: which thread is called what, what is
 * mapped where. Fed with records in order of time, out of a file or out of live rings.
 *
 * Formats: PERF_RECORD_MMAP2, COMM, FORK ... in include/uapi/linux/perf_event.h.
 */
#ifndef STACK_PROCESS_H
#define STACK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/stack/perfrecord.h"

#define PROCESS_MAPS_MAX 65536         /* of one process; vm.max_map_count is 65530 */
#define PROCESS_THREADS_MAX (1u << 22) /* as PID_MAX_LIMIT */
#define PROCESS_EXITED_KEPT 1024       /* threads that ended and may still have samples */
#define PROCESS_BUILD_ID_HEX 41

struct object;

/* What is mapped: each path, inode and build id once. */
struct process_object {
	const char *path;              /* "/usr/bin/x (deleted)", "//anon", "[vdso]" ... */
	const char *build_id;          /* hex; NULL: its maps did not say */
	uint64_t device, inode, generation; /* 0: not known */
	struct object *slot;           /* for whoever looks for its symbols: symbols.h */
	bool is_file;                  /* the same for all that map it: no //anon, no memfd */
};

struct process_map {
	uint64_t start, end;           /* end is the first address behind it */
	uint64_t pgoff;                /* bytes into the object where start is */
	struct process_object *object;
	/*
	 * Anonymous memory over a piece of a file: most likely that piece, copied to huge pages.
	 * Another map in every other way; NULL: none.
	 */
	struct process_object *covered;
	uint64_t covered_pgoff;
};

struct process_maps;

struct process {
	uint32_t pid;                  /* UINT32_MAX where the recording says -1 */
	const char *comm;              /* of its main thread; NULL: nobody said */
	uint64_t epoch;                /* unique; another one once an address has a new meaning */
	struct process_maps *maps;     /* NULL: none */
	uint64_t mount_namespace, pid_namespace; /* inodes; 0: not told */
	size_t threads;                /* that are known */
	void *own;                     /* the caller's */
	struct process *next, *previous;
};

struct thread {
	uint32_t tid;
	struct process *process;
	const char *comm;              /* ":TID" if nobody said; lives as long as the processes */
	bool has_exited;
	uint32_t root;                 /* the caller's; 0 again when comm changes */
	uint64_t birth;
	struct thread *next, *previous;
};

/* All may be NULL. */
struct process_hooks {
	void *arg;
	/*
	 * Addresses of p (NULL: of the kernel) are about to mean something else, or p is about to
	 * be forgotten: look up what is to be looked up.
	 */
	void (*leaving)(void *arg, struct process *p);
	void (*mapped)(void *arg, struct process *p, const struct process_map *m);
	void (*kernel_symbol)(void *arg, uint64_t address, uint64_t size, struct text name);
};

/* The kernel's first map, "[kernel.kallsyms]_text": where it was. */
struct process_kernel {
	const char *reference;         /* "_text", "_stext"; NULL: not told */
	uint64_t reference_address;    /* 0: hidden by kptr_restrict */
	uint64_t start, end;
	const char *build_id;          /* hex; NULL: its map did not say */
};

struct process_counts {
	uint64_t lost;                 /* records the kernel could not write, samples among them */
	uint64_t lost_samples;         /* more than `lost` already tells of */
	uint64_t throttled;            /* times sampling was stopped: too many samples */
	uint64_t damaged;              /* records that are too short for what they are */
	uint64_t map_timeouts;         /* processes whose maps perf did not read to their end */
	uint64_t over_limit;           /* maps or threads beyond the limits above */
	uint64_t text_pokes;           /* changes of the kernel's code: names stay the same */
};

struct processes;

struct processes *processes_new(const struct process_hooks *hooks);
void processes_free(struct processes *ps);

/* False: it is not a record about processes (a sample). */
bool processes_take(struct processes *ps, const struct perf_events *es,
		    const struct perf_record *r);

/* The thread a sample is of; made if it is new. Valid until the next processes_take. */
struct thread *processes_thread(struct processes *ps, uint32_t pid, uint32_t tid);

/* NULL: nothing is mapped there. Valid until the next processes_take. */
const struct process_map *process_find_map(const struct process *p, uint64_t address);
/* The file's map that m covers. False: it covers none. */
bool process_map_covered(const struct process_map *m, struct process_map *below);
/* The kernel itself or a module. */
const struct process_map *processes_find_kernel_map(const struct processes *ps, uint64_t address,
						    bool is_guest);
const struct process_kernel *processes_kernel(const struct processes *ps);
const struct process_counts *processes_counts(const struct processes *ps);
const char *processes_cgroup(const struct processes *ps, uint64_t id);  /* NULL: no record said */

/* A path (without " (deleted)") that names a file, which others may map too. */
bool process_path_is_file(const char *path);

#endif
