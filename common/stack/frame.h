/*
 * How a frame is called in a folded stack, from what a profiler says of it. Shared by everything
 * that makes stacks, so that the same function reads the same from a recording and from text.
 */
#ifndef STACK_FRAME_H
#define STACK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

struct fold;

struct frame_options {
	bool kernel, jit, inlined;     /* _[k], _[j] and _[i] behind such frames */
	bool addresses;                /* [lib.so <12>], [unknown <12>] where there is no name */
	bool keeps_arguments;          /* f(int) stays f(int) */
	bool simplifies;               /* frame_simplify */
	bool source_lines;             /* where they are known: f:file.c:12 */
	bool inlined_lines;            /* the same for inlined frames only */
};

struct frame_source {
	struct text symbol;            /* mangled names are the caller's to undo; may be empty */
	struct text object;            /* path or [kernel.kallsyms], [vdso]; empty unknown */
	struct text line;              /* file.c:12; empty unknown */
	uint64_t address;
	bool has_address;
	bool is_inlined;               /* into the frame before it, as debug information says */
};

#define FRAME_NAMES_MAX 64             /* a JIT's a->b->c: more links than that are cut */

/*
 * The numbers (fold_name) of the frames that s stands for, outermost first: one, or several for a
 * JIT's chain of inlined functions ("outer->inner"), whose inner ones count as inlined. Returns how
 * many were written to names[FRAME_NAMES_MAX].
 */
size_t frame_names(struct fold *f, const struct frame_options *o, const struct frame_source *s,
		   uint32_t *names);

/* "[kernel.kallsyms]", vmlinux, a .ko, [xfs], [bpf]: the kernel's by its name alone. */
bool frame_object_is_kernel(struct text object);
bool frame_object_is_jit(struct text object);  /* perf-PID.map */

/*
 * The symbol without its trailing argument list at bracket depth 0 ("f(int) const" is f; but not
 * "(anonymous namespace)::f" nor Go's "net/http.(*Client).Do"); a part of t.
 */
struct text frame_without_arguments(struct text t);
/*
 * vector<int>::at becomes vector<...>::at; LazyCompile:*f /x.js:1, as V8 calls it, f /x.js:1.
 * Written to out, at most `size` bytes: how many.
 */
size_t frame_simplify(struct text t, char *out, size_t size);
/* The symbol without "+0x1f" at its end. */
struct text frame_without_offset(struct text t);

#endif
