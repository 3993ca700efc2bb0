/*
 * The memory controller of one control group, v1 and v2. Sizes in bytes.
 * Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst; mm/memcontrol.c.
 */
#ifndef KERNEL_MEMCG_H
#define KERNEL_MEMCG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/na.h"
#include "common/base/text.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/psi.h"

/* What a file or line does not say is NA_U64. A limit that is none ("max", v1 >= 0x7FFFFFFFFFFFF000,
 * or no file: the root) is MEMCG_NONE. */
#define MEMCG_NONE (NA_U64 - 1)

struct memcg {
	uint64_t limit_bytes, high_bytes, swap_limit_bytes;
	uint64_t memsw_limit_bytes, kmem_limit_bytes;  /* v1 */
	uint64_t usage_bytes, peak_bytes, swap_bytes;
	uint64_t anon_bytes, file_bytes, shmem_bytes, slab_reclaimable_bytes,
		slab_unreclaimable_bytes, kernel_bytes, unevictable_bytes, sock_bytes;
	uint64_t inactive_file_bytes, active_file_bytes, dirty_bytes, writeback_bytes;
	uint64_t refaults;             /* workingset_refault* */
	/* events; v1: failcnt and oom_control */
	uint64_t max_events, high_events, oom_events, oom_kills, oom_group_kills;
	uint64_t local_max_events, local_oom_events, local_oom_kills, local_high_events;
	uint64_t failcnt;              /* v1: page cache alone moves it */
	int oom_group;                 /* memory.oom.group: 1, 0; -1 unknown */
	int oom_kill_disabled;         /* v1 */
	int under_oom;
	int is_hierarchical;           /* v1 use_hierarchy; v2 1 */
	struct psi pressure;
	const char *trouble;           /* the first file that is missing or makes no sense and why */
};

#endif
