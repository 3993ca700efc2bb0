/* What colours mean, which one a frame gets, and what they look like by day and by night. */
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/stack/flamegraph_impl.h"

/* Degrees and percent, as in CSS's hsl(). Shades of a group spread over the spans. */
struct tint {
	short hue, hue_span;
	short saturation;
	short light, light_span;
};

/* ---- groups ---- */

enum { CHAIN_BLOCKED, CHAIN_WAKER, CHAIN_BETWEEN };
enum { KIND_KERNEL, KIND_JIT, KIND_INLINED, KIND_JAVA, KIND_CXX, KIND_USER, KIND_UNKNOWN };
#define DIFF_STEPS 9u
enum {
	DIFF_SAME, DIFF_GREW, DIFF_SHRANK = DIFF_GREW + DIFF_STEPS,
	DIFF_NEW = DIFF_SHRANK + DIFF_STEPS, DIFF_GONE,
};
#define MIX_STEPS 8u                   /* from all on the CPU to all off it */

static const struct tint by_name[] = {
	[FLAMEGRAPH_ON_CPU] = { 4, 50, 90, 60, 10 },
	[FLAMEGRAPH_OFF_CPU] = { 205, 28, 75, 64, 14 },
	[FLAMEGRAPH_MEMORY] = { 95, 50, 52, 58, 14 },
	[FLAMEGRAPH_WAKEUP] = { 168, 24, 55, 56, 14 },
};

static const struct tint chain[] = {
	[CHAIN_BLOCKED] = { 205, 28, 75, 64, 14 },
	[CHAIN_WAKER] = { 165, 20, 55, 56, 12 },
	[CHAIN_BETWEEN] = { 0, 0, 0, 80, 0 },
};

static const struct tint kinds[] = {
	[KIND_KERNEL] = { 24, 12, 92, 60, 8 },
	[KIND_JIT] = { 120, 20, 50, 60, 10 },
	[KIND_INLINED] = { 172, 14, 55, 58, 10 },
	[KIND_JAVA] = { 88, 18, 52, 58, 10 },
	[KIND_CXX] = { 48, 8, 85, 58, 8 },
	[KIND_USER] = { 352, 14, 80, 66, 8 },
	[KIND_UNKNOWN] = { 220, 0, 8, 76, 8 },
};

static const char *const chain_meanings[] = {
	[CHAIN_BLOCKED] = "blocked", [CHAIN_WAKER] = "waker",
};

static const char *const kind_meanings[] = {
	[KIND_KERNEL] = "kernel", [KIND_JIT] = "JIT", [KIND_INLINED] = "inlined",
	[KIND_JAVA] = "Java", [KIND_CXX] = "C++, Rust", [KIND_USER] = "user",
	[KIND_UNKNOWN] = "no name",
};

static struct tint diff_tint(unsigned group)
{
	if (group == DIFF_SAME)
		return (struct tint){ 220, 0, 6, 86, 5 };
	if (group == DIFF_NEW)
		return (struct tint){ 44, 6, 96, 60, 5 };
	if (group == DIFF_GONE)
		return (struct tint){ 280, 10, 55, 72, 5 };
	const bool shrank = group >= DIFF_SHRANK;
	const short step = (short)(group - (shrank ? DIFF_SHRANK : DIFF_GREW) + 1);

	return (struct tint){ shrank ? 215 : 4, 0, (short)(45 + 5 * step), (short)(90 - 4 * step),
			      3 };
}

static struct tint tint_of(const struct picture *p, unsigned group)
{
	if (p->options->sides == FLAMEGRAPH_DIFFERENCE)
		return diff_tint(group);
	if (p->options->sides == FLAMEGRAPH_HOT_COLD) {
		/* orange, paler to where both are half, then ever bluer */
		const int from_half = abs((int)(2 * group) - (int)MIX_STEPS);

		return (struct tint){ 2 * group < MIX_STEPS ? 22 : 212, 8,
				      (short)(8 + 80 * from_half / (int)MIX_STEPS), 68, 8 };
	}
	if (p->options->palette == FLAMEGRAPH_CHAIN)
		return chain[group];
	if (p->options->palette == FLAMEGRAPH_KINDS)
		return kinds[group];
	return by_name[p->options->palette];
}

static const char *meaning_of(const struct picture *p, unsigned group)
{
	if (p->options->sides == FLAMEGRAPH_DIFFERENCE)
		return group == DIFF_SAME ? "same share" : group == DIFF_GREW + 6 ? "larger share" :
		       group == DIFF_SHRANK + 6 ? "smaller share" :
		       group == DIFF_NEW && !p->options->is_negated ? "new" :
		       group == DIFF_GONE && p->options->is_negated ? "gone" : NULL;
	if (p->options->sides == FLAMEGRAPH_HOT_COLD)
		return group == 0 ? "on the CPU" : group == MIX_STEPS / 2 ? "half" :
		       group == MIX_STEPS ? "off the CPU" : NULL;
	if (p->options->palette == FLAMEGRAPH_CHAIN)
		return group < CHAIN_BETWEEN ? chain_meanings[group] : NULL;
	return p->options->palette == FLAMEGRAPH_KINDS && group <= KIND_UNKNOWN ?
		kind_meanings[group] : NULL;
}

/* ---- a frame's group ---- */

/* Class names as JVM profilers print them: slashes, an L before them, or dots. */
static bool is_java(struct text name)
{
	static const char *const packages[] = {
		"java", "javax", "jdk", "sun", "org", "com", "scala", "kotlin", "akka", "clojure",
	};

	if (name.len && name.data[0] == 'L' && memchr(name.data, '/', name.len))
		name = (struct text){ name.data + 1, name.len - 1 };
	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
		const size_t len = strlen(packages[i]);

		if (text_starts(name, packages[i]) && name.len > len &&
		    (name.data[len] == '/' || name.data[len] == '.'))
			return true;
	}
	return false;
}

static unsigned kind_of(struct text name, char mark)
{
	if (mark)
		return mark == 'k' ? KIND_KERNEL : mark == 'j' ? KIND_JIT :
		       mark == 'i' ? KIND_INLINED : KIND_USER;
	if (!name.len || name.data[0] == '[')
		return KIND_UNKNOWN;
	if (memmem(name.data, name.len, "::", 2))
		return KIND_CXX;
	return is_java(name) ? KIND_JAVA : KIND_USER;
}

/* How much larger a part of after's weight the frame is than of before's. */
static double change_of(const struct picture *p, uint32_t node)
{
	return picture_share(p, node, 1) - picture_share(p, node, 0);
}

static double size_of(double change)
{
	return change < 0 ? -change : change;
}

static unsigned change_group(const struct picture *p, uint32_t node, double most)
{
	const double change = change_of(p, node);

	if (!p->inclusive[0][node])
		return p->inclusive[1][node] ? DIFF_NEW : DIFF_SAME;
	if (!p->inclusive[1][node])
		return DIFF_GONE;
	/* what reads 0.00 % is no change */
	if (size_of(change) < 0.00005)
		return DIFF_SAME;
	unsigned step = 0;

	/* by the square, so that small ones are seen beside a large one */
	while (step < DIFF_STEPS - 1 && size_of(change) * (DIFF_STEPS * DIFF_STEPS) >
	       most * ((step + 1) * (step + 1)))
		step++;
	return (change > 0 ? DIFF_GREW : DIFF_SHRANK) + step;
}

static unsigned mix_group(const struct picture *p, uint32_t node)
{
	const double hot = (double)p->inclusive[0][node], cold = (double)p->inclusive[1][node];

	return hot + cold > 0 ? (unsigned)(cold / (hot + cold) * MIX_STEPS + 0.5) : 0;
}

static unsigned group_of(const struct picture *p, uint32_t node, struct text name, char mark,
			 double most)
{
	if (p->options->sides == FLAMEGRAPH_DIFFERENCE)
		return change_group(p, node, most);
	if (p->options->sides == FLAMEGRAPH_HOT_COLD)
		return mix_group(p, node);
	if (p->options->palette == FLAMEGRAPH_CHAIN)
		return mark == 'w' ? CHAIN_WAKER :
		       text_is(name, "-") || text_is(name, "--") ? CHAIN_BETWEEN : CHAIN_BLOCKED;
	return p->options->palette == FLAMEGRAPH_KINDS ? kind_of(name, mark) : 0;
}

void flamegraph_colour(struct picture *p)
{
	double most = 0;

	for (uint32_t i = 1; i < p->count && p->inclusive[1]; i++)
		if (size_of(change_of(p, p->boxes[i].node)) > most)
			most = size_of(change_of(p, p->boxes[i].node));
	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t node = p->boxes[i].node;
		char mark = 0;
		const struct text name = node == FOLD_ROOT ? TEXT("all") :
			flamegraph_name(fold_text(p->fold, node), &mark);
		const uint64_t hash = hash_bytes(name.data, name.len);

		const unsigned group = group_of(p, node, name, mark, most);

		p->boxes[i].colour = (uint16_t)(group * FLAMEGRAPH_SHADES +
						(hash >> 32) % FLAMEGRAPH_SHADES);
	}
}

/* ---- the style sheet ---- */

/* Whole numbers all the way: the same bytes everywhere. */
static unsigned rgb_of(int hue, int saturation, int light)
{
	const int full = (100 - abs(2 * light - 100)) * saturation;
	const int part = full * (60 - abs(hue % 120 - 60)) / 60, low = light * 100 - full / 2;
	static const unsigned char order[6][3] = {
		{ 2, 1, 0 }, { 1, 2, 0 }, { 0, 2, 1 }, { 0, 1, 2 }, { 1, 0, 2 }, { 2, 0, 1 },
	};
	const int parts[3] = { 0, part, full };
	unsigned rgb = 0;

	for (int i = 0; i < 3; i++)
		rgb = rgb << 8 | (unsigned)((parts[order[hue / 60][i]] + low) * 255 + 5000) / 10000;
	return rgb;
}

static unsigned shade_of(const struct tint *t, unsigned shade, bool is_dark)
{
	const int last = FLAMEGRAPH_SHADES - 1;
	const int hue = (t->hue + t->hue_span * (int)shade / last) % 360;
	/* 7 shares no factor with the number of shades: neighbours in hue differ in light */
	const int light = t->light + t->light_span * (int)(shade * 7 % FLAMEGRAPH_SHADES) / last;

	return rgb_of(hue, t->saturation, is_dark ? 16 + (100 - light) / 5 : light);
}

struct used {
	bool is_used[FLAMEGRAPH_GROUPS * FLAMEGRAPH_SHADES];
};

static bool is_group_used(const struct used *u, unsigned group)
{
	return memchr(u->is_used + group * FLAMEGRAPH_SHADES, true, FLAMEGRAPH_SHADES) != NULL;
}

static void find_used(const struct picture *p, uint32_t first, struct used *u)
{
	*u = (struct used){ 0 };
	for (uint32_t i = first; i < p->count; i++)
		u->is_used[p->boxes[i].colour] = true;
}

size_t flamegraph_legend(const struct picture *p, struct flamegraph_meaning *to)
{
	struct used u;
	size_t count = 0;

	/* the root is of no kind */
	find_used(p, 1, &u);
	/* of one side's kinds those that are there; steps of two sides stand for those between */
	for (unsigned group = 0; group < FLAMEGRAPH_GROUPS; group++)
		if (meaning_of(p, group) &&
		    (p->options->sides != FLAMEGRAPH_ONE || is_group_used(&u, group)))
			to[count++] = (struct flamegraph_meaning){ meaning_of(p, group),
								   group * FLAMEGRAPH_SHADES + 7 };
	return count;
}

static void add_rules(const struct picture *p, const struct used *u, bool is_dark, struct buf *to)
{
	for (unsigned i = 0; i < FLAMEGRAPH_GROUPS * FLAMEGRAPH_SHADES; i++) {
		if (!u->is_used[i])
			continue;
		const struct tint t = tint_of(p, i / FLAMEGRAPH_SHADES);

		buf_printf(to, ".flamegraph .c%u{fill:#%06x}\n", i,
			   shade_of(&t, i % FLAMEGRAPH_SHADES, is_dark));
	}
}

void flamegraph_style(const struct picture *p, struct buf *to)
{
	struct flamegraph_meaning legend[FLAMEGRAPH_GROUPS];
	struct used u;

	find_used(p, 0, &u);
	for (size_t i = flamegraph_legend(p, legend); i-- > 0;)
		u.is_used[legend[i].colour] = true;
	add_rules(p, &u, false, to);
	buf_add_text(to, "@media (prefers-color-scheme:dark){\n");
	add_rules(p, &u, true, to);
	buf_add_text(to, "}\n");
}
