/* Blocks and meters, and the attribution of each loss to one of them. */
#include "applets/netpath/netpath.h"

#include <stdlib.h>

static void *grow(struct arena *a, void *items, size_t *cap, size_t count, size_t size)
{
	if (count < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 16;
	void *new = arena_alloc(a, *cap * size);

	if (count)
		memcpy(new, items, count * size);
	return new;
}

struct block *path_add_block(struct walk *w, enum layer_id layer, enum direction d, size_t space,
			     const char *subject)
{
	w->blocks = grow(w->arena, w->blocks, &w->block_cap, w->block_count, sizeof(*w->blocks));
	struct block *b = &w->blocks[w->block_count++];

	*b = (struct block){ .layer = layer, .direction = d, .space = space, .subject = subject,
			     .peer_space = NO_SPACE, .packets_in = NA_U64, .packets_out = NA_U64,
			     .drops = NA_U64 };
	return b;
}

struct meter *path_add_meter(struct walk *w, enum meter_kind kind, const char *name, uint64_t count,
			     uint64_t total, const char *proof)
{
	w->meters = grow(w->arena, w->meters, &w->meter_cap, w->meter_count, sizeof(*w->meters));
	struct meter *m = &w->meters[w->meter_count++];

	*m = (struct meter){ .kind = kind, .block = w->block_count - 1, .name = name,
			     .count = count, .own = count, .total = total, .proof = proof };
	return m;
}

uint64_t path_moved(uint64_t now, const uint64_t *was, bool is_new)
{
	return was ? delta_u64(now, *was) : is_new ? now : NA_U64;
}

/* ---- attribution ---- */

static bool has_some(uint64_t n)
{
	return n && n != NA_U64;
}

static void add_echo(struct walk *w, struct meter *cause, size_t echo, uint64_t count)
{
	cause->echoes = grow(w->arena, cause->echoes, &cause->echo_cap, cause->echo_count,
			     sizeof(*cause->echoes));
	cause->echoes[cause->echo_count++] = (struct echo){ echo, count };
}

/* Takes from what `at` counts the part that is a known loss seen again. A cause has no more of it
 * in all meters of one kind than it lost. */
static void take_echoes(struct walk *w, size_t at, const size_t *order, size_t done)
{
	struct meter *m = &w->meters[at];

	for (size_t i = 0; i < done && has_some(m->own); i++) {
		struct meter *cause = &w->meters[order[i]];

		if (!has_some(cause->own) || !echo_is_possible(w, cause, m))
			continue;
		if (!cause->spent)
			cause->spent = arena_alloc(w->arena, METER_KINDS * sizeof(*cause->spent));
		uint64_t spent = cause->spent[m->kind];
		uint64_t left = cause->own > spent ? cause->own - spent : 0;
		uint64_t taken = left < m->own ? left : m->own;

		if (!taken)
			continue;
		cause->spent[m->kind] += taken;
		m->own -= taken;
		add_echo(w, cause, at, taken);
	}
}

/* Once all tx_dropped have been looked at. */
static void set_unproven(struct walk *w)
{
	for (size_t i = 0; i < w->meter_count; i++) {
		struct meter *m = &w->meters[i];
		uint64_t proven = m->spent ? m->spent[METER_DEVICE_TX] : 0;

		if (!m->needs_echo || !has_some(m->own) || proven >= m->own)
			continue;
		m->unproven = m->own - proven;
		m->own = proven;
	}
}

static void sum_block(struct walk *w, struct block *b, size_t at)
{
	bool has_past = false, has_now = false;

	b->state = b->is_unknown ? BLOCK_UNKNOWN : BLOCK_OK;
	for (size_t i = 0; i < w->meter_count; i++) {
		const struct meter *m = &w->meters[i];

		if (m->block != at || m->kind == METER_NO_LOSS || m->is_wanted)
			continue;
		if (m->own != NA_U64)
			b->drops = (b->drops == NA_U64 ? 0 : b->drops) + m->own;
		has_now |= has_some(m->own);
		has_past |= has_some(m->total) && m->total > m->count && !m->needs_echo;
		if (m->unproven && b->state == BLOCK_OK)
			b->state = BLOCK_UNKNOWN;
	}
	if (has_now)
		b->state = BLOCK_NOW;
	else if (has_past && b->state == BLOCK_OK)
		b->state = BLOCK_PAST;
}

/* Insertion sort by kind: stable, so a layer's order (members before their bond) is kept. */
static size_t *in_order(struct walk *w)
{
	size_t *order = arena_alloc(w->arena, (w->meter_count + 1) * sizeof(*order)), n = 0;

	for (int kind = 0; kind < METER_KINDS; kind++)
		for (size_t i = 0; i < w->meter_count; i++)
			if ((int)w->meters[i].kind == kind)
				order[n++] = i;
	return order;
}

void path_attribute(struct walk *w)
{
	const size_t *order = in_order(w);

	bool has_devices = false;

	for (size_t i = 0; i < w->meter_count; i++) {
		if (w->meters[order[i]].kind > METER_DEVICE_TX && !has_devices) {
			set_unproven(w);
			has_devices = true;
		}
		take_echoes(w, order[i], order, i);
	}
	if (!has_devices)
		set_unproven(w);
	for (size_t i = 0; i < w->block_count; i++)
		sum_block(w, &w->blocks[i], i);
}

/* ---- for reports ---- */

double path_share(const struct walk *w, const struct meter *m)
{
	const struct block *b = &w->blocks[m->block];
	uint64_t of = b->packets_in;

	if (of == NA_U64 && b->packets_out != NA_U64)
		of = sum_u64(b->packets_out, b->drops);
	/* counted at different moments, a loss can be more than what came */
	if (of != NA_U64 && m->own != NA_U64 && of < m->own)
		of = m->own;
	return ratio_of(m->own, of);
}

bool path_is_over(const struct walk *w, const struct meter *m, uint64_t events, double share)
{
	double of = path_share(w, m);

	return m->own != NA_U64 && m->own >= events && (is_na_f64(of) || of >= share);
}

struct meter *path_next(struct walk *w, enum layer_id layer, size_t *at)
{
	while (*at < w->meter_count) {
		struct meter *m = &w->meters[(*at)++];

		if (w->blocks[m->block].layer == layer)
			return m;
	}
	return NULL;
}
