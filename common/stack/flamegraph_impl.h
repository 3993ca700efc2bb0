/* Inside flamegraph*.c: a picture between its layout and its bytes. */
#ifndef STACK_FLAMEGRAPH_IMPL_H
#define STACK_FLAMEGRAPH_IMPL_H

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/stack/flamegraph.h"

/* One frame. A picture's boxes stand as a walk meets them: a parent, then all below it. */
struct box {
	uint64_t at, width;            /* in weight, from the left end */
	uint32_t node;
	uint16_t depth;                /* 0: the root */
	uint16_t colour;
};

struct picture {
	const struct fold *fold;
	const struct flamegraph *options;
	uint64_t *inclusive[2];        /* by node, with all below it; NULL: no such side */
	uint64_t total[2];
	uint64_t *width;               /* by node: one of inclusive, or their sum */
	uint64_t least;                /* what is narrower is not drawn */
	struct box *boxes;
	uint32_t count;
	unsigned depth;                /* of the deepest box */
	struct flamegraph_result result;
};

/* The unit of weights. */
static inline const char *picture_unit(const struct picture *p)
{
	return p->options->unit ? p->options->unit : "samples";
}

/* What the picture's width stands for. */
static inline uint64_t picture_whole(const struct picture *p)
{
	return p->width[FOLD_ROOT];
}

/* A frame's part of a side's total, 0 where there is none. */
static inline double picture_share(const struct picture *p, uint32_t node, unsigned side)
{
	return p->total[side] ? (double)p->inclusive[side][node] / (double)p->total[side] : 0;
}

/* A name without the mark of its kind behind it ("_[k]"), and that kind's letter or 0. */
struct text flamegraph_name(struct text name, char *kind);

/*
 * Colours are numbers, each a class of the style sheet ("c17"): a group, which may mean something,
 * and shades in it by name.
 */
#define FLAMEGRAPH_SHADES 16
#define FLAMEGRAPH_GROUPS 24
void flamegraph_colour(struct picture *p);             /* sets all boxes' */
/* Rules for the groups that are used; then those that mean something, in the order of a legend. */
void flamegraph_style(const struct picture *p, struct buf *to);
struct flamegraph_meaning {
	const char *text;
	unsigned colour;
};
size_t flamegraph_legend(const struct picture *p, struct flamegraph_meaning *to);

/* The picture's bytes: 0 or -errno. */
int flamegraph_draw(const struct picture *p, FILE *to);

/* flamegraph.css and flamegraph.js as they stand beside this file. */
struct text flamegraph_css(void);
struct text flamegraph_js(void);

#endif
