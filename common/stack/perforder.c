#include "common/stack/perforder.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

void perforder_add(struct perforder *o, struct perforder_entry e, uint32_t bytes)
{
	if (o->waiting_count == o->waiting_cap)
		o->waiting = mem_grow(o->waiting, &o->waiting_cap, o->waiting_count + 1,
				      sizeof(*o->waiting));
	o->waiting[o->waiting_count++] = e;
	o->waiting_bytes += bytes + sizeof(e);
	if (e.time > o->newest)
		o->newest = e.time;
	if (e.time < o->given)
		o->late++;
}

/* Where the run that begins at `from` ends: as long as times do not fall. */
static size_t run_end(const struct perforder_entry *e, size_t from, size_t count)
{
	size_t i = from + 1;

	while (i < count && e[i].time >= e[i - 1].time)
		i++;
	return i < count ? i : count;
}

static void merge(const struct perforder_entry *from, size_t first, size_t middle, size_t end,
		  struct perforder_entry *to)
{
	size_t a = first, b = middle;

	for (size_t i = first; i < end; i++)
		to[i] = b >= end || (a < middle && from[a].time <= from[b].time) ? from[a++] :
										  from[b++];
}

/* One pass over all: neighbouring runs become one. Returns how many runs there were before. */
static size_t merge_runs(const struct perforder_entry *from, size_t count,
			 struct perforder_entry *to)
{
	size_t runs = 0;

	for (size_t at = 0; at < count;) {
		const size_t middle = run_end(from, at, count);
		const size_t end = middle < count ? run_end(from, middle, count) : count;

		merge(from, at, middle, end, to);
		runs += middle < count ? 2 : 1;
		at = end;
	}
	return runs;
}

/* Few runs are long and most are few: a merge of what is in order already. */
static void sort_waiting(struct perforder *o)
{
	if (run_end(o->waiting, 0, o->waiting_count) >= o->waiting_count)
		return;
	o->scratch = mem_grow(o->scratch, &o->scratch_cap, o->waiting_count, sizeof(*o->scratch));
	size_t runs;

	do {
		struct perforder_entry *sorted = o->scratch;
		const size_t cap = o->scratch_cap;

		runs = merge_runs(o->waiting, o->waiting_count, o->scratch);
		o->scratch = o->waiting;
		o->scratch_cap = o->waiting_cap;
		o->waiting = sorted;
		o->waiting_cap = cap;
	} while (runs > 2);
}

/* The first n of what waits, which is sorted, become ready. */
static void make_ready(struct perforder *o, size_t n)
{
	o->ready_at = 0;
	o->ready_count = n;
	if (n == o->waiting_count) {
		struct perforder_entry *items = o->ready;
		const size_t cap = o->ready_cap;

		o->ready = o->waiting;
		o->ready_cap = o->waiting_cap;
		o->waiting = items;
		o->waiting_cap = cap;
		o->waiting_count = 0;
		o->waiting_bytes = 0;
		return;
	}
	o->ready = mem_grow(o->ready, &o->ready_cap, n, sizeof(*o->ready));
	if (n)
		memcpy(o->ready, o->waiting, n * sizeof(*o->ready));
	/* what stays behind has about its share of the bytes */
	o->waiting_bytes = (uint64_t)((double)o->waiting_bytes *
				      (double)(o->waiting_count - n) / (double)o->waiting_count);
	o->waiting_count -= n;
	memmove(o->waiting, o->waiting + n, o->waiting_count * sizeof(*o->waiting));
}

void perforder_round(struct perforder *o)
{
	const uint64_t limit = o->round_end;
	size_t n = 0, end = o->waiting_count;

	o->round_end = o->newest;
	if (!end)
		return;
	sort_waiting(o);
	while (n < end) {              /* the first that is newer than the limit */
		const size_t middle = n + (end - n) / 2;

		if (o->waiting[middle].time <= limit)
			n = middle + 1;
		else
			end = middle;
	}
	make_ready(o, n);
}

bool perforder_is_full(const struct perforder *o)
{
	return o->waiting_bytes > PERFORDER_BYTES_MAX;
}

void perforder_flush_half(struct perforder *o)
{
	if (!o->waiting_count)
		return;
	sort_waiting(o);
	o->is_overfull = true;
	make_ready(o, (o->waiting_count + 1) / 2);
}

void perforder_finish(struct perforder *o)
{
	if (!o->waiting_count)
		return;
	sort_waiting(o);
	make_ready(o, o->waiting_count);
}

bool perforder_next(struct perforder *o, struct perforder_entry *e)
{
	if (o->ready_at >= o->ready_count)
		return false;
	*e = o->ready[o->ready_at++];
	if (e->time > o->given)
		o->given = e->time;
	return true;
}

void perforder_free(struct perforder *o)
{
	free(o->waiting);
	free(o->ready);
	free(o->scratch);
	*o = (struct perforder){ 0 };
}
