#include "common/kernel/dropset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fail.h"
#include "common/base/scan.h"

static const struct {
	const char *name;
	size_t offset;
} count_names[] = {
	{ "seen", offsetof(struct drop_counts, seen) },
	{ "passed_over", offsetof(struct drop_counts, passed_over) },
	{ "no_room", offsetof(struct drop_counts, no_room) },
	{ "no_stack", offsetof(struct drop_counts, no_stack) },
	{ "missed", offsetof(struct drop_counts, missed) },
};
#define COUNT_NAMES (sizeof(count_names) / sizeof(*count_names))

static uint64_t *count_at(struct drop_counts *c, size_t i)
{
	return (uint64_t *)((char *)c + count_names[i].offset);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? hash_keyed(hash, text, strlen(text)) : hash_keyed(hash, "", 0) + 1;
}

uint64_t dropset_hash(const struct drop_set *s, const struct drop_row *row)
{
	const uint64_t numbers[] = {
		row->netns, row->ifindex, row->is_arrival, row->protocol, row->transport,
	};
	uint64_t hash = hash_bytes(numbers, sizeof(numbers));

	hash = hash_text(hash, row->reason);
	hash = hash_text(hash, row->place);
	hash = hash_text(hash, row->device);
	if (row->stack && row->stack < s->stacks.count) {
		const struct named_stack *stack = &s->stacks.items[row->stack];

		for (uint32_t i = 0; i < stack->count; i++)
			hash = hash_text(hash, stack->frames[i]);
	}
	return hash;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_same(const struct drop_row *a, const struct drop_row *b)
{
	return a->netns == b->netns && a->ifindex == b->ifindex &&
		a->is_arrival == b->is_arrival && a->protocol == b->protocol &&
		a->transport == b->transport && a->stack == b->stack &&
		is_same_text(a->reason, b->reason) && is_same_text(a->place, b->place) &&
		is_same_text(a->device, b->device);
}

void dropset_add(struct drop_set *s, const struct drop_row *row)
{
	uint64_t hash = dropset_hash(s, row);
	void **slot;

	for (;; hash++) {
		slot = hash_number(&s->known, hash);
		if (!*slot)
			break;
		struct drop_row *there = &s->rows[(uintptr_t)*slot - 1];

		if (is_same(there, row)) {
			there->count += row->count;
			return;
		}
	}
	s->rows = mem_grow(s->rows, &s->cap, s->count + 1, sizeof(*s->rows));
	s->rows[s->count++] = *row;
	*slot = (void *)(uintptr_t)s->count;
}

void dropset_free(struct drop_set *s)
{
	named_stacks_free(&s->stacks);
	hash_free(&s->known);
	free(s->rows);
	arena_free(&s->arena);
	*s = (struct drop_set){ 0 };
}

/* ---- as text ---- */

void dropset_write(const struct drop_set *s, struct buf *to)
{
	buf_printf(to, "engine %s %s\n", s->engine, s->has_reasons ? "yes" : "no");
	named_stacks_write(&s->stacks, to);
	for (size_t i = 0; i < s->count; i++) {
		const struct drop_row *r = &s->rows[i];

		buf_printf(to, "row %" PRIu64, r->count);
		kstack_write_word(to, r->reason);
		kstack_write_word(to, r->place);
		buf_printf(to, " %u %u", r->netns, r->ifindex);
		kstack_write_word(to, r->device);
		buf_printf(to, " %s %u %u %u\n", r->is_arrival ? "arrival" : "own", r->protocol,
			   r->transport, r->stack);
	}
	for (size_t i = 0; i < COUNT_NAMES; i++)
		buf_printf(to, "count %s %" PRIu64 "\n", count_names[i].name,
			   *count_at((struct drop_counts *)&s->counts, i));
	buf_add_text(to, "end\n");
}

static bool is_at_end(struct scan *s)
{
	scan_blanks(s);
	return s->at == s->end;
}

static bool scan_up_to(struct scan *s, uint64_t most, uint64_t *value)
{
	return scan_u64(s, value) && *value <= most;
}

static bool parse_engine(struct scan *s, struct drop_set *set)
{
	struct text name, reasons;

	if (set->engine || !scan_word(s, &name) || !scan_word(s, &reasons) || !is_at_end(s) ||
	    memchr(name.data, '\0', name.len))
		return false;
	set->engine = arena_text(&set->arena, name);
	set->has_reasons = text_is(reasons, "yes");
	return set->has_reasons || text_is(reasons, "no");
}

static bool parse_row(struct scan *s, struct drop_set *set)
{
	struct arena *a = &set->arena;
	uint64_t netns, ifindex, protocol, transport, stack;
	struct drop_row row = { 0 };
	struct text kind;

	if (!scan_u64(s, &row.count) || !kstack_scan_word(s, a, &row.reason) ||
	    !kstack_scan_word(s, a, &row.place) || !scan_up_to(s, UINT32_MAX, &netns) ||
	    !scan_up_to(s, UINT32_MAX, &ifindex) || !kstack_scan_word(s, a, &row.device) ||
	    !scan_word(s, &kind) || !scan_up_to(s, UINT16_MAX, &protocol) ||
	    !scan_up_to(s, UINT8_MAX, &transport) || !scan_up_to(s, UINT32_MAX, &stack) ||
	    !is_at_end(s) || (stack && stack >= set->stacks.count))
		return false;
	row.is_arrival = text_is(kind, "arrival");
	row.netns = (uint32_t)netns;
	row.ifindex = (uint32_t)ifindex;
	row.protocol = (uint16_t)protocol;
	row.transport = (uint8_t)transport;
	row.stack = (uint32_t)stack;
	if (!row.is_arrival && !text_is(kind, "own"))
		return false;
	dropset_add(set, &row);
	return true;
}

/* Names that are new are for readers who know them. */
static bool parse_count(struct scan *s, struct drop_set *set)
{
	struct text name;
	uint64_t value;

	if (!scan_word(s, &name) || !scan_u64(s, &value) || !is_at_end(s))
		return false;
	for (size_t i = 0; i < COUNT_NAMES; i++)
		if (text_is(name, count_names[i].name))
			*count_at(&set->counts, i) = value;
	return true;
}

static bool parse_line(struct scan *s, struct drop_set *set)
{
	struct text kind;

	if (!scan_word(s, &kind))
		return false;
	if (text_is(kind, "engine"))
		return parse_engine(s, set);
	if (text_is(kind, "stack"))
		return named_stacks_parse(&set->stacks, &set->arena, s);
	if (text_is(kind, "row"))
		return parse_row(s, set);
	return text_is(kind, "count") && parse_count(s, set);
}

int dropset_parse(struct text t, struct drop_set *s)
{
	struct scan all = scan_of(t);
	struct text line;
	size_t n = 0;

	while (scan_until(&all, '\n', &line)) {
		struct scan at = scan_of(line);

		n++;
		if (text_is(line, "end")) {
			if (s->engine && all.at == all.end)
				return 0;
			break;
		}
		if (!parse_line(&at, s))
			return fail(EINVAL, "drops, line %zu: not understood", n);
	}
	return fail(EINVAL, "drops, behind line %zu: the end is missing, or is none", n);
}
