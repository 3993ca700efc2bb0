#include "common/stack/process_maps.h"

#include <stdlib.h>

#include "common/base/mem.h"

struct process_maps {
	size_t users, count, cap;
	struct process_map *items;     /* none overlaps another */
};

/* The first one that ends above the address. */
static size_t first_above(const struct process_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps ? maps->count : 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (maps->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address)
{
	const size_t i = first_above(maps, address);

	return maps && i < maps->count && maps->items[i].start <= address ? &maps->items[i] : NULL;
}

/* Every address of both is the same place of the same object. Anonymous memory has no places. */
static bool is_same(const struct process_map *a, const struct process_map *b)
{
	return a->object == b->object &&
	       (!a->object->is_file || a->start - a->pgoff == b->start - b->pgoff);
}

enum map_change process_maps_judge(const struct process_maps *maps, const struct process_map *m)
{
	size_t i = first_above(maps, m->start);

	if (!maps)
		return MAP_ADDS;
	if (i < maps->count && maps->items[i].start <= m->start && m->end <= maps->items[i].end &&
	    is_same(&maps->items[i], m))
		return MAP_KNOWN;
	if (maps->count + 2 > PROCESS_MAPS_MAX)
		return MAP_TOO_MANY;
	for (; i < maps->count && maps->items[i].start < m->end; i++)
		if (!is_same(&maps->items[i], m))
			return MAP_REPLACES;
	return MAP_ADDS;
}

/* What is left of m from an address on. */
static struct process_map rest_of(const struct process_map *m, uint64_t start)
{
	struct process_map rest = *m;

	rest.start = start;
	rest.pgoff += start - m->start;
	rest.covered_pgoff += start - m->start;
	return rest;
}

/* Anonymous memory inside of what a file's map was, or is over it already. */
static void cover(struct process_map *m, const struct process_map *below)
{
	if (m->object->is_file || m->object->path[0] != '/' || m->start < below->start ||
	    m->end > below->end)
		return;
	const struct process_map piece = rest_of(below, m->start);

	m->covered = below->object->is_file ? below->object : piece.covered;
	m->covered_pgoff = below->object->is_file ? piece.pgoff : piece.covered_pgoff;
}

bool process_map_covered(const struct process_map *m, struct process_map *below)
{
	if (!m->covered)
		return false;
	*below = (struct process_map){ .start = m->start, .end = m->end,
				       .pgoff = m->covered_pgoff, .object = m->covered };
	return true;
}

static struct process_maps *maps_new(void)
{
	struct process_maps *maps = mem_alloc(sizeof(*maps));

	maps->users = 1;
	return maps;
}

/* A copy of its own for whoever is going to change it. */
static void unshare(struct process_maps **maps)
{
	struct process_maps *old = *maps;

	if (!old) {
		*maps = maps_new();
		return;
	}
	if (old->users == 1)
		return;
	old->users--;
	*maps = maps_new();
	(*maps)->count = old->count;
	(*maps)->items = mem_grow(NULL, &(*maps)->cap, old->count, sizeof(*old->items));
	memcpy((*maps)->items, old->items, old->count * sizeof(*old->items));
}

/* In place of items[at] up to items[end] come the n of `with`. */
static void replace(struct process_maps *maps, size_t at, size_t end,
		    const struct process_map *with, size_t n)
{
	const size_t behind = maps->count - end;

	maps->items = mem_grow(maps->items, &maps->cap, maps->count + n, sizeof(*maps->items));
	memmove(maps->items + at + n, maps->items + end, behind * sizeof(*maps->items));
	memcpy(maps->items + at, with, n * sizeof(*with));
	maps->count = at + n + behind;
}

void process_maps_add(struct process_maps **shared, const struct process_map *m)
{
	struct process_map parts[3], whole = *m;
	size_t n = 0;

	unshare(shared);
	struct process_maps *maps = *shared;
	const size_t at = first_above(maps, m->start);
	size_t end = at;

	while (end < maps->count && maps->items[end].start < m->end)
		end++;
	if (end > at) {
		const struct process_map first = maps->items[at], last = maps->items[end - 1];

		cover(&whole, &first);
		if (first.start < m->start && is_same(&first, m)) {
			whole.start = first.start;
			whole.pgoff = first.pgoff;
		} else if (first.start < m->start) {
			parts[n] = first;
			parts[n++].end = m->start;
		}
		if (last.end > m->end && is_same(&last, m))
			whole.end = last.end;
		parts[n++] = whole;
		if (last.end > m->end && !is_same(&last, m))
			parts[n++] = rest_of(&last, m->end);
	} else {
		parts[n++] = whole;
	}
	replace(maps, at, end, parts, n);
}

struct process_maps *process_maps_share(struct process_maps *maps)
{
	if (maps)
		maps->users++;
	return maps;
}

void process_maps_release(struct process_maps *maps)
{
	if (!maps || --maps->users)
		return;
	free(maps->items);
	free(maps);
}
