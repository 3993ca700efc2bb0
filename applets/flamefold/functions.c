/* What each function ran itself, and with what it called. */
#include <stdlib.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/mem.h"

void profile_totals(const struct profile *p, uint64_t total[2])
{
	total[0] = total[1] = 0;
	for (uint32_t i = 1; i < fold_count(p->fold); i++)
		for (unsigned side = 0; side < 2; side++)
			total[side] += fold_weight(p->fold, i, side);
}

/*
 * Weights with all that is below them, by node; from the leaves up, a node's number being higher
 * than its parent's.
 */
static uint64_t *inclusive(const struct fold *f, unsigned side)
{
	const uint32_t count = fold_count(f);
	uint64_t *sum = mem_alloc(count * sizeof(*sum));

	for (uint32_t i = count - 1; i > 0; i--) {
		sum[i] += fold_weight(f, i, side);
		sum[fold_parent(f, i)] += sum[i];
	}
	return sum;
}

/* A function that calls itself counts once: at the frame of that name nearest to the root. */
static bool is_outermost(const struct fold *f, uint32_t node)
{
	const uint32_t name = fold_name_of(f, node);

	for (uint32_t up = fold_parent(f, node); up != FOLD_ROOT; up = fold_parent(f, up))
		if (fold_name_of(f, up) == name)
			return false;
	return true;
}

struct function_sums *functions_sum(const struct fold *f, uint32_t *names)
{
	struct function_sums *sums = NULL;
	size_t cap = 0;
	uint64_t *below[2] = { inclusive(f, 0), inclusive(f, 1) };

	*names = 0;
	for (uint32_t i = 1; i < fold_count(f); i++) {
		const uint32_t name = fold_name_of(f, i);

		if (name >= *names)
			*names = name + 1;
		sums = mem_grow(sums, &cap, *names, sizeof(*sums));
		const bool counts = is_outermost(f, i);

		for (unsigned side = 0; side < 2; side++) {
			sums[name].self[side] += fold_weight(f, i, side);
			sums[name].total[side] += counts ? below[side][i] : 0;
		}
	}
	free(below[0]);
	free(below[1]);
	return sums;
}
