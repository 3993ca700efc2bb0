/* Shared by waitnames.c, which follows processes and makes rows, and waitnames_stack.c. */
#ifndef STACK_WAITNAMES_IMPL_H
#define STACK_WAITNAMES_IMPL_H

#include "common/base/hash.h"
#include "common/stack/fold.h"
#include "common/stack/perfevent.h"
#include "common/stack/perflive.h"
#include "common/stack/process_maps.h"
#include "common/stack/symbols.h"
#include "common/stack/waitnames.h"

/* What was mapped in a process, until it ended or that changed. */
struct space {
	uint32_t pid;
	struct process_maps *maps;
	struct space *older;           /* of the same pid */
	struct space *next;
};

struct named {                         /* what one address stands for */
	uint32_t first, count;         /* in frame_numbers, innermost first */
};

struct waitnames {
	struct perfevent *events;
	char *blind;
	struct perflive live;
	struct perf_events none;
	struct processes *processes;
	struct symbols *symbols;
	struct fold *fold;             /* names, each once */
	struct arena arena;
	struct hash spaces, groups;    /* by pid */
	struct space *first_space;
	size_t space_count;
	uint64_t spaces_dropped;
	bool wants_cgroups;

	/* while collecting */
	struct waits *waits;
	struct hash addresses, frames, stacks, by_id, threads, chains, rows,
		nameless;
	uint64_t nameless_count;       /* processes whose maps are not known */
	uint32_t *frame_numbers;
	size_t frame_number_count, frame_number_cap;
	uint64_t outside;              /* frames in no map: left out */
};

struct symbols_map waitnames_map(const struct process_map *m, uint32_t pid, const char *comm);

/*
 * The number of the stack that an id of kernel/offcpu.h stands for; 0: none. The same addresses are
 * others' code in another process.
 */
uint32_t waitnames_kernel_stack(struct waitnames *n, uint64_t id);
uint32_t waitnames_user_stack(struct waitnames *n, uint32_t pid, uint64_t id);

#endif
