/*
 * A user stack out of a sample that holds the registers and a piece of the stack: each caller's
 * return address, found through the call frame information of the objects the stack runs through.
 */
#ifndef STACK_UNWIND_H
#define STACK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/stack/symbols.h"

#define UNWIND_FRAMES_MAX 2048         /* as many as anybody gets; more: UNWIND_TOO_DEEP */

enum unwind_machine { UNWIND_NATIVE, UNWIND_X86_64, UNWIND_ARM64 };

/* PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER. */
struct unwind_sample {
	enum unwind_machine machine;   /* the recorded host's */
	uint64_t abi;                  /* PERF_SAMPLE_REGS_ABI_*: 0 none, 1 of 32 bits, 2 of 64 */
	uint64_t mask;                 /* the attr's sample_regs_user */
	const uint64_t *registers;     /* one for each bit of mask, in their order */
	size_t register_count;         /* that there are */
	struct text stack;             /* from the stack pointer upwards, dyn_size bytes */
};

/* The map of the sample's process that holds an address, at the sample's time. */
typedef bool (*unwind_find_map)(void *process, uint64_t address, struct symbols_map *map);

enum unwind_end {
	UNWIND_WHOLE,                  /* up to a thread's first function */
	UNWIND_NO_REGISTERS,           /* a kernel thread's sample, or pc or sp were not recorded */
	UNWIND_32_BIT,                 /* not unwound: a process of 32 bits */
	UNWIND_CUT_STACK,              /* the recorded piece ends before the stack does */
	UNWIND_TOO_DEEP,               /* more than max frames */
	UNWIND_NO_MAP,                 /* a return address in no map */
	UNWIND_NO_FILE,                /* an object whose file is not there, or is another build */
	UNWIND_NO_CFI,                 /* code without call frame information */
	UNWIND_BAD_CFI,                /* what it says needs what is not there */
	UNWIND_LOOP,                   /* a frame that calls itself */
	UNWIND_ENDS,
};

/*
 * The addresses that stand for the stack's functions, leaf first: the sampled one, then each return
 * address less one (where its call stands), so that they are looked up as they are. Returns how
 * many, at most max; *end: why there are no more.
 */
size_t unwind_stack(struct symbols *s, const struct unwind_sample *sample,
		    unwind_find_map find_map, void *process, uint64_t *ips, size_t max,
		    enum unwind_end *end);

/* "cut by the size of the stack dump (--call-graph dwarf,SIZE)" */
const char *unwind_end_text(enum unwind_end end);

#endif
