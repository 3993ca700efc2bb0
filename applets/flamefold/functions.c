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

/* The children of each node, as a list; in any order. */
struct tree {
	uint32_t *first, *next;        /* by node; 0: none */
};

static struct tree tree_of(const struct fold *f)
{
	const uint32_t count = fold_count(f);
	struct tree t = {
		mem_alloc(count * sizeof(*t.first)), mem_alloc(count * sizeof(*t.next)),
	};

	for (uint32_t i = count - 1; i > 0; i--) {
		t.next[i] = t.first[fold_parent(f, i)];
		t.first[fold_parent(f, i)] = i;
	}
	return t;
}

/*
 * A function that calls itself counts once: at the frame of that name nearest to the root. So the
 * tree is walked, and for each name is known how many frames of it are on the way.
 */
static void sum_totals(const struct fold *f, uint32_t names, struct function_sums *sums)
{
	struct tree t = tree_of(f);
	uint64_t *below[2] = { inclusive(f, 0), inclusive(f, 1) };
	uint32_t *on_way = mem_alloc(names * sizeof(*on_way));

	for (uint32_t node = t.first[FOLD_ROOT]; node;) {
		const uint32_t name = fold_name_of(f, node);

		for (unsigned side = 0; side < 2 && !on_way[name]; side++)
			sums[name].total[side] += below[side][node];
		if (t.first[node]) {
			on_way[name]++;
			node = t.first[node];
			continue;
		}
		while (node && !t.next[node]) {
			node = fold_parent(f, node);
			if (node)
				on_way[fold_name_of(f, node)]--;
		}
		node = node ? t.next[node] : 0;
	}
	free(t.first);
	free(t.next);
	free(below[0]);
	free(below[1]);
	free(on_way);
}

struct function_sums *functions_sum(const struct fold *f, uint32_t *names)
{
	uint32_t count = 1;

	for (uint32_t i = 1; i < fold_count(f); i++)
		if (fold_name_of(f, i) >= count)
			count = fold_name_of(f, i) + 1;
	struct function_sums *sums = mem_alloc(count * sizeof(*sums));

	for (uint32_t i = 1; i < fold_count(f); i++)
		for (unsigned side = 0; side < 2; side++)
			sums[fold_name_of(f, i)].self[side] += fold_weight(f, i, side);
	sum_totals(f, count, sums);
	*names = count;
	return sums;
}
