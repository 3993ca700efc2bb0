/*
 * Kernel stacks with names, each kept once, and how they are saved. The addresses come from
 * bpf/kstack.bpf.h or from perf events; names are for whoever knows symbols.
 */
#ifndef KERNEL_KSTACK_H
#define KERNEL_KSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/scan.h"

/* The function that an address of the kernel is in; NULL: not known. The text outlives the set. A
 * return address stands behind its call. */
typedef const char *(*kstack_namer)(void *arg, uint64_t address, bool is_return_address);

struct named_stack {
	const char *const *frames;     /* leaf first; never NULL */
	uint32_t count;
};

/* Zeroed is empty. Item 0 is no stack. */
struct named_stacks {
	struct named_stack *items;     /* in the arena of who adds */
	size_t count, cap;
	struct hash known;
};

#define NAMED_STACK_FRAMES 512

/* Its number; the same frames have one. frames are copied, what they point at is not. */
uint32_t named_stacks_add(struct named_stacks *s, struct arena *a, const char *const *frames,
			  uint32_t count);
/*
 * The same from addresses, leaf first. What leads to the leaf is left out: with leaf, all before
 * that address; else the tracing itself. 0: no frame is left.
 */
uint32_t named_stacks_add_addresses(struct named_stacks *s, struct arena *a,
				    const uint64_t *frames, uint32_t count, uint64_t leaf,
				    kstack_namer name, void *arg);
void named_stacks_free(struct named_stacks *s);        /* not what is in the arena */

/* "stack =FRAME =FRAME ..." lines, in the order of their numbers. */
void named_stacks_write(const struct named_stacks *s, struct buf *to);
/* What stands behind "stack" in one of them: false: garbled. */
bool named_stacks_parse(struct named_stacks *s, struct arena *a, struct scan *line);

/* A word that may be missing: " =name" or " -"; blanks and control bytes in it become "?". */
void kstack_write_word(struct buf *to, const char *word);
/* The same, read: *word NULL: missing. False (unmoved): there is none, or it is garbled. */
bool kstack_scan_word(struct scan *s, struct arena *a, const char **word);

#endif
