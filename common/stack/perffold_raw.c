/* Raw stacks: counted while they come, looked up once when their addresses lose their meaning. */
#include <stdlib.h>

#include "common/stack/perffold_impl.h"

#define SLOTS_FIRST 4096
#define FORGET_BYTES (1u << 20)        /* less of what was looked up may stay a while */

static uint64_t hash_chain(uint64_t seed, const uint64_t *p, size_t n)
{
	uint64_t a = seed ^ 0x2d358dccaa6c78a5ull, b = n ^ 0x8bb84b93962eacc9ull;

	for (; n >= 4; n -= 4, p += 4) {
		a = perffold_mix(a ^ p[0], p[1] ^ 0x4b33a62ed433d4a3ull);
		b = perffold_mix(b ^ p[2], p[3] ^ 0x4d5a2da51de1aa47ull);
	}
	for (; n; n--, p++)
		a = perffold_mix(a ^ p[0], 0xa0761d6478bd642full ^ b);
	return perffold_mix(a ^ 0xe7037ed1a0b428dbull, b ^ 0x589965cc75374cc3ull);
}

static void grow(struct raw_table *t)
{
	const size_t size = t->size ? t->size * 2 : SLOTS_FIRST;
	struct raw_slot *slots = mem_alloc(size * sizeof(*slots));

	t->used = 0;
	for (size_t i = 0; i < t->size; i++) {
		/* what was looked up is found no more */
		if (!t->slots[i].stack || !t->slots[i].stack->process)
			continue;
		size_t at = t->slots[i].hash & (size - 1);

		while (slots[at].stack)
			at = (at + 1) & (size - 1);
		slots[at] = t->slots[i];
		t->used++;
	}
	free(t->slots);
	t->slots = slots;
	t->size = size;
}

static struct raw_stack *raw_new(struct perffold *pf, struct process *p, uint32_t root,
				 const uint64_t *chain, size_t count)
{
	const size_t bytes = sizeof(struct raw_stack) + count * sizeof(*chain);
	struct raw_stack *s = arena_alloc(&pf->raw.arena, bytes);

	s->next = p->own;
	p->own = s;
	s->next_of_all = pf->raw.all;
	pf->raw.all = s;
	s->process = p;
	s->root = root;
	s->count = (uint32_t)count;
	memcpy(s->chain, chain, count * sizeof(*chain));
	pf->raw.bytes += bytes;
	pf->result.raw_stacks++;
	return s;
}

void perffold_raw_add(struct perffold *pf, struct process *p, uint32_t root,
		      const uint64_t *chain, size_t count, uint64_t weight)
{
	struct raw_table *t = &pf->raw;

	if (t->bytes > (pf->options.is_live ? PERFFOLD_LIVE_RAW_BYTES_MAX : PERFFOLD_RAW_BYTES_MAX))
		perffold_raw_flush(pf, NULL);
	if ((t->used + 1) * 2 > t->size)
		grow(t);
	const uint64_t hash = hash_chain(p->epoch ^ (uint64_t)root << 40, chain, count);
	size_t at = hash & (t->size - 1);

	for (; t->slots[at].stack; at = (at + 1) & (t->size - 1)) {
		const struct raw_stack *s = t->slots[at].stack;

		if (t->slots[at].hash == hash && s->process == p && s->root == root &&
		    s->count == count && !memcmp(s->chain, chain, count * sizeof(*chain)))
			break;
	}
	struct raw_slot *slot = &t->slots[at];

	if (!slot->stack) {
		*slot = (struct raw_slot){ hash, raw_new(pf, p, root, chain, count) };
		t->used++;
	}
	slot->stack->samples++;
	if (__builtin_add_overflow(slot->stack->weight, weight, &slot->stack->weight))
		slot->stack->weight = UINT64_MAX;
}

/* Where in a stack the addresses behind a context stand. */
struct part {
	enum cpumode mode;
	bool is_leaf;                  /* the next address is where the code was, not a return */
	bool is_exact;                 /* all are */
};

static bool take_context(uint64_t context, struct part *part)
{
	part->is_leaf = true;
	part->is_exact = false;
	switch (context) {
	case CONTEXT_HYPERVISOR:
		part->mode = MODE_HYPERVISOR;
		return true;
	case CONTEXT_KERNEL:
		part->mode = MODE_KERNEL;
		return true;
	case CONTEXT_USER:
		part->mode = MODE_USER;
		return true;
	case CONTEXT_UNWOUND:
		part->mode = MODE_USER;
		part->is_exact = true;
		return true;
	case CONTEXT_GUEST:
	case CONTEXT_GUEST_USER:
		part->mode = MODE_GUEST_USER;
		return true;
	case CONTEXT_GUEST_KERNEL:
		part->mode = MODE_GUEST_KERNEL;
		return true;
	default:                       /* one we do not know: nor whose the addresses are */
		part->mode = MODE_UNKNOWN;
		return true;
	}
}

static void name_chain(struct perffold *pf, const struct raw_stack *s)
{
	struct part part = { .mode = MODE_UNKNOWN, .is_leaf = true };
	bool is_truncated = false, is_guest = false;

	pf->name_count = 0;
	for (size_t i = 0; i < s->count; i++) {
		const uint64_t address = s->chain[i];

		if (address == CONTEXT_TRUNCATED) {
			is_truncated = true;
		} else if (address >= CONTEXT_MAX) {
			take_context(address, &part);
			is_guest |= part.mode >= MODE_GUEST_KERNEL;
		} else {
			perffold_name(pf, s->process, address, part.mode,
				      !part.is_leaf && !part.is_exact);
			part.is_leaf = false;
		}
	}
	if (is_truncated)
		perffold_name_text(pf, TEXT("[truncated]"));
	if (is_guest)
		perffold_name_text(pf, TEXT("[guest]"));
}

static void fold_stack(struct perffold *pf, const struct raw_stack *s)
{
	bool is_cut, is_wanted = false;

	name_chain(pf, s);
	const uint32_t node = stack_filter_place(pf->filter, s->root, pf->names, pf->name_count,
						 true, &is_cut);

	for (uint64_t i = 0; i < s->samples; i++)
		is_wanted = stack_filter_count(pf->filter, node, is_cut);
	if (!is_wanted)
		return;
	fold_add(pf->fold, node, pf->options.stack.side, s->weight);
	pf->result.samples += s->samples;
}

static void flush_all(struct perffold *pf)
{
	struct raw_table *t = &pf->raw;

	for (struct raw_stack *s = t->all; s; s = s->next_of_all) {
		if (!s->process)
			continue;
		fold_stack(pf, s);
		s->process->own = NULL;
		s->process = NULL;
	}
	t->all = NULL;
	if (t->bytes < FORGET_BYTES)   /* not worth the walk over all slots */
		return;
	memset(t->slots, 0, t->size * sizeof(*t->slots));
	arena_reset(&t->arena);
	t->used = t->bytes = 0;
}

void perffold_raw_flush(struct perffold *pf, struct process *p)
{
	if (!p) {
		flush_all(pf);
		return;
	}
	for (struct raw_stack *s = p->own; s; s = s->next) {
		fold_stack(pf, s);
		s->process = NULL;
	}
	p->own = NULL;
}
