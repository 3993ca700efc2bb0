/*
 * One PERF_RECORD_SAMPLE taken apart: every field of every sample type and read format. Spans point
 * into the record. Format: include/uapi/linux/perf_event.h, perf_output_sample() in
 * kernel/events/core.c.
 */
#ifndef STACK_PERFSAMPLE_H
#define STACK_PERFSAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/stack/perfrecord.h"

/* In a callchain a value from here up is no address but says in what mode the next ones ran. */
#define CONTEXT_MAX ((uint64_t)-4095)
#define CONTEXT_HYPERVISOR ((uint64_t)-32)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)
/* a cookie follows; a CALLCHAIN_DEFERRED with the same one has the rest */
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define CONTEXT_GUEST ((uint64_t)-2048)
#define CONTEXT_GUEST_KERNEL ((uint64_t)-2176)
#define CONTEXT_GUEST_USER ((uint64_t)-2560)

/* Registers as the sampled thread had them, lowest bit of the mask first. */
struct perf_regs {
	uint64_t abi;                  /* 0: none (a kernel thread); 1: 32 bit; 2: 64 bit */
	uint64_t mask;                 /* bit N: perf's register N of the architecture */
	const uint64_t *values;
	size_t count;
};

struct perf_branch {
	uint64_t from, to, flags;
};

/* A counter of a group, or of the event alone. */
struct perf_read {
	uint64_t value, id;            /* id NA_U64: not recorded */
};

struct perf_sample {
	const struct perf_event *event;
	enum cpumode mode;
	/* NA_U64: not recorded */
	uint64_t ip, pid, tid, time, address, id, stream_id, cpu, period, cgroup;
	uint64_t physical_address, data_source, transaction, weight, data_page, code_page;

	const uint64_t *chain;         /* leaf first, contexts among the addresses */
	size_t chain_count;
	bool has_chain;
	const struct perf_branch *branches;    /* newest first */
	size_t branch_count;
	uint64_t branch_index;         /* NA_U64 */

	struct perf_regs user_regs, intr_regs;
	const unsigned char *stack;    /* a copy of the thread's stack from its stack pointer up */
	size_t stack_size;             /* what of it was really copied */
	size_t stack_asked;            /* the room there was: equal: the stack is deeper */
	struct text raw, aux;

	/* the READ field, to be gone through with perf_sample_read */
	const unsigned char *reads;
	size_t read_count;
};

/*
 * 0; -EINVAL with fail text: it is shorter than its event says. The sample lives as long as the
 * record.
 */
int perf_sample_decode(const struct perf_event *e, const struct perf_record *r,
		       struct perf_sample *s);
/* The n-th counter of its READ field, n < read_count. */
struct perf_read perf_sample_read(const struct perf_sample *s, size_t n);

#endif
