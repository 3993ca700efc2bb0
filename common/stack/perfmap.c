#include "common/stack/perfmap.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/scan.h"

struct entry {
	uint64_t start, end;
	struct text name;
};

/* Disjoint, sorted: the part of an entry (by its line's number) that no later one covers. */
struct part {
	uint64_t start, end;
	uint32_t entry;
};

struct perfmap {
	struct entry *entries;         /* in the order of the file */
	struct part *parts;
	size_t count, cap, part_count, part_cap, skipped;
};

static bool read_line(struct text line, struct entry *e)
{
	struct scan s = scan_of(line);
	uint64_t size;

	/* the numbers stand at the start of the line, some writers put 0x in front */
	scan_literal(&s, "0x");
	if (!line.len || line.data[0] == ' ' || line.data[0] == '\t' || !scan_hex(&s, &e->start) ||
	    s.at == s.end || *s.at != ' ')
		return false;
	scan_blanks(&s);
	scan_literal(&s, "0x");
	if (!scan_hex(&s, &size) || s.at == s.end || *s.at != ' ')
		return false;
	s.at++;
	e->name = scan_rest(&s);
	if (e->name.len && e->name.data[e->name.len - 1] == '\r')
		e->name.len--;
	e->end = size > UINT64_MAX - e->start ? UINT64_MAX : e->start + size;
	return e->name.len && e->start < e->end;
}

static void read_lines(struct perfmap *m, struct text text)
{
	struct scan s = scan_of(text);
	struct text line;

	while (m->count < PERFMAP_LINES_MAX && scan_line(&s, &line)) {
		struct entry e;

		if (!read_line(line, &e)) {
			m->skipped++;
			continue;
		}
		m->entries = mem_grow(m->entries, &m->cap, m->count + 1, sizeof(e));
		m->entries[m->count++] = e;
	}
}

static int compare_starts(const void *a, const void *b, void *entries)
{
	const struct entry *e = entries;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (e[x].start != e[y].start)
		return e[x].start < e[y].start ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* A heap of the entries that reach an address, the newest on top. */
struct heap {
	uint32_t *at;
	size_t count;
};

static void heap_push(struct heap *h, uint32_t new)
{
	size_t i = h->count++;

	while (i && h->at[(i - 1) / 2] < new) {
		h->at[i] = h->at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->at[i] = new;
}

static void heap_pop(struct heap *h)
{
	const uint32_t last = h->at[--h->count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= h->count)
			break;
		if (child + 1 < h->count && h->at[child + 1] > h->at[child])
			child++;
		if (h->at[child] <= last)
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = last;
}

static void add_part(struct perfmap *m, uint64_t start, uint64_t end, uint32_t entry)
{
	if (start >= end)
		return;
	m->parts = mem_grow(m->parts, &m->part_cap, m->part_count + 1, sizeof(*m->parts));
	m->parts[m->part_count++] = (struct part){ start, end, entry };
}

/* What the newest entries cover from `at` up to `until`. */
static void cover(struct perfmap *m, struct heap *h, uint64_t at, uint64_t until)
{
	while (h->count && at < until) {
		const uint32_t top = h->at[0];
		const uint64_t end = m->entries[top].end;

		if (end <= at) {
			heap_pop(h);
			continue;
		}
		add_part(m, at, end < until ? end : until, top);
		at = end;
	}
}

static void make_parts(struct perfmap *m)
{
	uint32_t *order = mem_alloc(m->count * sizeof(*order));
	struct heap h = { .at = mem_alloc(m->count * sizeof(*order)) };

	for (size_t i = 0; i < m->count; i++)
		order[i] = (uint32_t)i;
	if (m->count)
		qsort_r(order, m->count, sizeof(*order), compare_starts, m->entries);
	for (size_t i = 0; i < m->count; i++) {
		const uint64_t start = m->entries[order[i]].start;

		heap_push(&h, order[i]);
		cover(m, &h, start,
		      i + 1 < m->count ? m->entries[order[i + 1]].start : UINT64_MAX);
	}
	free(order);
	free(h.at);
}

struct perfmap *perfmap_new(struct text text)
{
	struct perfmap *m = mem_alloc(sizeof(*m));

	read_lines(m, text);
	make_parts(m);
	return m;
}

void perfmap_free(struct perfmap *m)
{
	if (!m)
		return;
	free(m->entries);
	free(m->parts);
	free(m);
}

size_t perfmap_skipped(const struct perfmap *m)
{
	return m->skipped;
}

size_t perfmap_count(const struct perfmap *m)
{
	return m->count;
}

bool perfmap_find(const struct perfmap *m, uint64_t address, struct text *name, uint64_t *start)
{
	size_t low = 0, high = m->part_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (m->parts[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= m->parts[low - 1].end)
		return false;
	*name = m->entries[m->parts[low - 1].entry].name;
	*start = m->entries[m->parts[low - 1].entry].start;
	return true;
}
