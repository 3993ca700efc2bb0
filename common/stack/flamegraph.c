/* Which frames a picture shows and where they lie. */
#include "common/stack/flamegraph.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "common/stack/flamegraph_impl.h"

#define FRAME_BYTES 115                /* of one side */

static uint64_t sum_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* One pass from the last node to the first: a parent's number is lower than its children's. */
static void sum_side(struct picture *p, unsigned side)
{
	const uint32_t nodes = fold_count(p->fold);
	uint64_t *sums = mem_alloc(nodes * sizeof(*sums));

	for (uint32_t i = nodes - 1; i > 0; i--) {
		const uint32_t parent = fold_parent(p->fold, i);

		sums[i] = sum_saturated(sums[i], fold_weight(p->fold, i, side));
		sums[parent] = sum_saturated(sums[parent], sums[i]);
	}
	sums[FOLD_ROOT] = sum_saturated(sums[FOLD_ROOT], fold_weight(p->fold, FOLD_ROOT, side));
	p->inclusive[side] = sums;
	p->total[side] = p->result.total[side] = sums[FOLD_ROOT];
}

static void sum_all(struct picture *p)
{
	const uint32_t nodes = fold_count(p->fold);

	sum_side(p, 0);
	p->width = p->inclusive[0];
	if (p->options->sides == FLAMEGRAPH_ONE)
		return;
	sum_side(p, 1);
	if (p->options->sides == FLAMEGRAPH_DIFFERENCE) {
		p->width = p->inclusive[p->options->is_negated ? 0 : 1];
		return;
	}
	p->width = mem_alloc(nodes * sizeof(*p->width));
	for (uint32_t i = 0; i < nodes; i++)
		p->width[i] = sum_saturated(p->inclusive[0][i], p->inclusive[1][i]);
}

static unsigned nominal_width(const struct picture *p)
{
	return p->options->width ? p->options->width : FLAMEGRAPH_WIDTH;
}

/* ---- what is too narrow ---- */

/* Widths by size, 64 steps to a power of two. */
#define STEP_BITS 6
#define STEPS (64u << STEP_BITS)

static unsigned step_of(uint64_t width)
{
	const unsigned power = 63 - (unsigned)__builtin_clzll(width);
	const uint64_t part = power < STEP_BITS ? width << (STEP_BITS - power) :
		width >> (power - STEP_BITS);

	return (power << STEP_BITS) + (unsigned)(part - (1u << STEP_BITS));
}

/* The narrowest width that is in a step, or in one above it. */
static uint64_t step_start(unsigned step)
{
	const unsigned power = step >> STEP_BITS;
	const uint64_t part = (1u << STEP_BITS) + step % (1u << STEP_BITS);

	return power < STEP_BITS ? (part + (1u << (STEP_BITS - power)) - 1) >> (STEP_BITS - power) :
		part << (power - STEP_BITS);
}

/* Markup and numbers of a frame, about. */
static unsigned frame_bytes(const struct picture *p)
{
	switch (p->options->sides) {
	case FLAMEGRAPH_DIFFERENCE: return FRAME_BYTES + 75;
	case FLAMEGRAPH_HOT_COLD: return FRAME_BYTES + 40;
	default: return FRAME_BYTES;
	}
}

/*
 * The narrowest width at which all frames of at least that take FLAMEGRAPH_BYTES; those deeper than
 * are drawn take none. What takes more than half of the whole is one path: it is drawn whatever it
 * takes.
 */
static uint64_t least_within_bytes(const struct picture *p)
{
	const uint32_t nodes = fold_count(p->fold);
	const unsigned markup = frame_bytes(p);
	uint64_t bytes[STEPS] = { 0 }, sum = 0;
	uint16_t *depth = mem_alloc(nodes * sizeof(*depth));
	unsigned step = STEPS;

	for (uint32_t i = 1; i < nodes; i++) {
		const unsigned below = depth[fold_parent(p->fold, i)];

		depth[i] = (uint16_t)(below < FLAMEGRAPH_DEPTH_MAX ? below + 1 : below);
		if (!p->width[i] || below == FLAMEGRAPH_DEPTH_MAX)
			continue;
		size_t len = fold_text(p->fold, i).len;

		if (len > FLAMEGRAPH_NAME_MAX)
			len = FLAMEGRAPH_NAME_MAX;
		bytes[step_of(p->width[i])] += markup + len + len / 8;
	}
	free(depth);
	while (step > 0 && (sum + bytes[step - 1] <= FLAMEGRAPH_BYTES ||
			    step_start(step - 1) > picture_whole(p) / 2))
		sum += bytes[--step];
	return step == STEPS ? UINT64_MAX : step_start(step);
}

static uint64_t round_up(double weight)
{
	const uint64_t below = (uint64_t)weight;

	return (double)below < weight ? below + 1 : below;
}

static void choose_least(struct picture *p)
{
	const double whole = (double)picture_whole(p), wanted = p->options->min_width;
	const double weight = whole * wanted / nominal_width(p);

	if (wanted > 0)
		p->least = weight < whole ? round_up(weight) : picture_whole(p);
	else
		p->least = wanted < 0 ? 1 : least_within_bytes(p);
	if (!p->least)
		p->least = 1;
	p->result.min_width = p->least > 1 ? (double)p->least * nominal_width(p) / whole : 0;
}

/* The nodes that are wide enough. All of a node's parents are at least as wide as it is. */
static uint32_t *list_wide(struct picture *p, uint32_t *count)
{
	const uint32_t nodes = fold_count(p->fold);
	const bool has_other = p->options->sides == FLAMEGRAPH_DIFFERENCE;
	const uint64_t *other = p->inclusive[p->options->is_negated ? 1 : 0];
	uint32_t wide = 0;

	for (uint32_t i = 1; i < nodes; i++) {
		wide += p->width[i] >= p->least;
		p->result.dropped += p->width[i] && p->width[i] < p->least;
		p->result.gone += has_other && !p->width[i] && other[i];
	}
	uint32_t *list = mem_alloc((wide + 1ull) * sizeof(*list));

	wide = 0;
	for (uint32_t i = 1; i < nodes; i++)
		if (p->width[i] >= p->least)
			list[wide++] = i;
	*count = wide;
	return list;
}

/* ---- where frames lie ---- */

/* Where the next frame at each depth begins. */
static void add_box(struct picture *p, uint64_t *next_at, uint32_t node, unsigned depth)
{
	const uint64_t at = next_at[depth], left = picture_whole(p) - at;
	const uint64_t width = p->width[node] < left ? p->width[node] : left;

	p->boxes[p->count++] = (struct box){ .at = at, .width = width, .node = node,
					     .depth = (uint16_t)depth };
	next_at[depth] = at + width;
	next_at[depth + 1] = at;
	if (depth > p->depth)
		p->depth = depth;
}

/* A walk over the wide ones; own weight and what is too narrow is left free on the right. */
static void lay_out(struct picture *p)
{
	static const unsigned deepest = FLAMEGRAPH_DEPTH_MAX;
	uint64_t *next_at = mem_alloc((deepest + 2) * sizeof(*next_at));
	struct fold_order o;
	uint32_t wide, node;
	uint32_t *list = list_wide(p, &wide);
	unsigned depth = 1;

	fold_order_of(p->fold, list, wide, &o);
	free(list);
	p->boxes = mem_alloc((wide + 1ull) * sizeof(*p->boxes));
	add_box(p, next_at, FOLD_ROOT, 0);
	for (node = o.link[FOLD_ROOT].first; node;) {
		add_box(p, next_at, node, depth);
		if (o.link[node].first && depth < deepest) {
			node = o.link[node].first;
			depth++;
			continue;
		}
		while (node && !o.link[node].next) {
			node = fold_parent(p->fold, node);
			depth--;
		}
		if (node)
			node = o.link[node].next;
	}
	fold_order_free(&o);
	free(next_at);
	p->result.frames = p->count;
	p->result.too_deep = wide + 1 - p->count;
	p->result.depth = p->depth + 1;
}

static void free_picture(struct picture *p)
{
	if (p->width != p->inclusive[0] && p->width != p->inclusive[1])
		free(p->width);
	free(p->inclusive[0]);
	free(p->inclusive[1]);
	free(p->boxes);
}

int flamegraph_write(const struct fold *f, const struct flamegraph *options, FILE *to)
{
	struct picture p = { .fold = f, .options = options };

	sum_all(&p);
	choose_least(&p);
	lay_out(&p);
	flamegraph_colour(&p);
	const int err = flamegraph_draw(&p, to);

	if (options->result)
		*options->result = p.result;
	free_picture(&p);
	return err;
}

/* ---- names ---- */

struct text flamegraph_name(struct text name, char *kind)
{
	const char *end = name.data + name.len;

	*kind = 0;
	if (name.len > 4 && end[-4] == '_' && end[-3] == '[' && end[-1] == ']' && end[-2] &&
	    strchr("kijw", end[-2])) {
		*kind = end[-2];
		name.len -= 4;
	}
	return name;
}
