/*
 * The memory controller of one control group, v1 and v2. Sizes in bytes.
 * Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst; mm/memcontrol.c,
 * mm/memcontrol-v1.c.
 */
#ifndef KERNEL_MEMCG_H
#define KERNEL_MEMCG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/psi.h"
#include "common/kernel/source.h"

/* What a file or line does not say is NA_U64. A limit that is none ("max", v1 >=
 * 0x7FFFFFFFFFFFF000, or no file: the root) is MEMCG_NONE. */
#define MEMCG_NONE (NA_U64 - 1)

static inline bool memcg_is_limit(uint64_t bytes)
{
	return bytes < MEMCG_NONE;
}

struct memcg {
	uint64_t limit_bytes, high_bytes, swap_limit_bytes;
	uint64_t memsw_limit_bytes, kmem_limit_bytes;  /* v1 */
	uint64_t usage_bytes, peak_bytes, swap_bytes;
	uint64_t anon_bytes, file_bytes, shmem_bytes, slab_reclaimable_bytes,
		slab_unreclaimable_bytes, kernel_bytes, unevictable_bytes, sock_bytes;
	uint64_t inactive_file_bytes, active_file_bytes, dirty_bytes, writeback_bytes;
	uint64_t anon_lists_bytes; /* inactive and active anonymous pages, shmem among them: what
				      only swap takes; mlocked pages are in unevictable alone */
	uint64_t refaults;             /* workingset_refault* */
	/* events; v1: max_events are failcnt and memsw.failcnt, oom_kills oom_control's */
	uint64_t max_events, high_events, oom_events, oom_kills, oom_group_kills;
	/* this group's own; v1: oom_kills of the victims in it, as there is no other count */
	uint64_t local_max_events, local_oom_events, local_oom_kills, local_high_events;
	uint64_t failcnt;              /* v1: page cache alone moves it */
	uint64_t hierarchical_limit_bytes, /* v1: the least over all ancestors, hidden ones ... */
		hierarchical_memsw_bytes;  /* ... included; the same of memory and swap */
	int oom_group;                 /* memory.oom.group: 1, 0; -1 unknown */
	int oom_kill_disabled;         /* v1; -1 unknown */
	int under_oom;                 /* v1; -1 unknown */
	int is_hierarchical;           /* v1 use_hierarchy; v2 1; -1 unknown */
	struct psi pressure;
	const char *trouble; /* the first file that is missing or makes no sense and why */
};

/*
 * How much of a group is read. A file costs more than all else about a group, and a node has
 * thousands of groups.
 * LIMIT: has it a limit, or a history of running out? (v2 memory.max and memory.events; v1
 * limit_in_bytes, oom_control)
 * USAGE: how near its limit is it, and did its tasks wait? (also memory.current, memory.high,
 * memory.pressure; v1 usage_in_bytes)
 */
enum memcg_depth { MEMCG_NOTHING, MEMCG_LIMIT, MEMCG_USAGE, MEMCG_ALL };

/* A group that is being read. Opening one when another is still open is a mistake. */
struct memcg_folder {
	struct src_dir dir;
	int version;
	enum memcg_depth done;
};
/* folder: source path below the memory hierarchy h. -errno if it could not be opened (it vanished:
 * -ENOENT or -ENODEV). Close with memcg_close. */
int memcg_open(const struct cgroup_hierarchy *h, const char *folder, struct memcg_folder *f);
/*
 * Adds what is missing up to depth; the first time m is all unknown before. What the depth leaves
 * out is as unknown as what the kernel does not have. trouble lives until the frame's end.
 */
void memcg_read(struct memcg_folder *f, enum memcg_depth depth, struct memcg *m);
void memcg_close(struct memcg_folder *f);
extern const struct memcg memcg_unknown;

/* A file of one limit or size: MEMCG_NONE for "max" and v1's largest number. */
int memcg_parse_bytes(struct text t, uint64_t *bytes);
/* memory.stat by key, v1 and v2; a line cut short says nothing. v1's own part of a group without
 * its children is passed over, its total_* are taken. */
int memcg_parse_stat(struct text t, int version, struct memcg *m);
/* memory.events, or, local, memory.events.local */
int memcg_parse_events(struct text t, bool is_local, struct memcg *m);
int memcg_parse_oom_control(struct text t, struct memcg *m);   /* v1; oom_kill since 4.13 */

/* Derived: unknown if a part that this kernel has is unknown. */
uint64_t memcg_working_set(const struct memcg *m);     /* usage less inactive file pages */
uint64_t memcg_reclaimable(const struct memcg *m);     /* file pages and slab that could go */
/* Anonymous, unevictable and kernel memory: what no reclaim frees without swap. v1 does not say how
 * much of the kernel's can shrink: there it is left out. */
uint64_t memcg_unreclaimable(const struct memcg *m);

#endif
