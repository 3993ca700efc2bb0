/*
 * Flame graphs: the stacks of a fold as one SVG that a browser shows, zooms and searches without
 * anything else, and that any SVG viewer shows still. A frame's width is its share of all weight
 * with everything it called; frames of one parent stand in the order of their names.
 *
 * The picture is well-formed XML whatever bytes the names hold: invalid UTF-8 reads U+FFFD, control
 * bytes \xNN. Names stand in <title> and <text> alone, never in script or style.
 */
#ifndef STACK_FLAMEGRAPH_H
#define STACK_FLAMEGRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/stack/fold.h"

#define FLAMEGRAPH_DEPTH_MAX 2000      /* frames above the root; deeper ones are not drawn */
#define FLAMEGRAPH_NAME_MAX 2000       /* bytes of a name that are written */
#define FLAMEGRAPH_WIDTH 1200          /* pixels that a fluid picture is laid out for */
#define FLAMEGRAPH_BYTES 2400000       /* of frames, about: what a min_width of 0 keeps to */

enum flamegraph_palette {
	FLAMEGRAPH_ON_CPU,             /* reds to yellows by name */
	FLAMEGRAPH_OFF_CPU,            /* blues */
	FLAMEGRAPH_MEMORY,             /* greens */
	FLAMEGRAPH_WAKEUP,             /* aquas */
	FLAMEGRAPH_CHAIN,              /* blues, and aquas for wakers (_[w]) */
	/* kernel (_[k]), JIT (_[j]), inlined (_[i]), Java, C++ and Rust (::), other user code,
	 * what has no name */
	FLAMEGRAPH_KINDS,
};

enum flamegraph_sides {
	FLAMEGRAPH_ONE,                /* the fold's side 0 */
	/*
	 * Side 0 is before, side 1 after. Widths are after's; a frame's colour is how its share of
	 * all weight changed, so that a longer run alone changes nothing.
	 */
	FLAMEGRAPH_DIFFERENCE,
	FLAMEGRAPH_HOT_COLD,           /* side 0 on the CPU, side 1 off it, in one unit: sums */
};

/* What became of the frames. */
struct flamegraph_result {
	uint64_t total[2];             /* of each side */
	uint32_t frames;               /* drawn, the root included */
	uint32_t dropped;              /* narrower than min_width */
	uint32_t too_deep;             /* wide enough, but below FLAMEGRAPH_DEPTH_MAX */
	uint32_t gone;                 /* of the side that is not drawn alone: see is_negated */
	unsigned depth;                /* rows drawn, the root's included */
	double min_width;              /* pixels, as applied */
};

struct flamegraph {
	const char *title;             /* NULL: by what is drawn. Any bytes, as all text here */
	const char *subtitle;          /* NULL: none */
	const char *unit;              /* of the weights; NULL: "samples" */
	unsigned width;                /* pixels; 0: as wide as the window */
	/*
	 * Frames narrower than that many pixels, at `width` or FLAMEGRAPH_WIDTH, are not drawn.
	 * 0: as many as FLAMEGRAPH_BYTES hold, the widest, so that a zoom shows what a pixel hid.
	 * Below 0: all are drawn.
	 */
	double min_width;
	bool is_icicle;                /* the root on top */
	/* FLAMEGRAPH_DIFFERENCE: widths are before's, so that frames that vanished are seen. */
	bool is_negated;
	enum flamegraph_sides sides;
	enum flamegraph_palette palette;       /* for FLAMEGRAPH_ONE */
	struct flamegraph_result *result;      /* NULL: nobody asks */
};

/* 0, or -errno with fail text. `to` is written, not flushed. */
int flamegraph_write(const struct fold *f, const struct flamegraph *options, FILE *to);

#endif
