/* Samples: for a moment the frame's memory of what was read is put aside. */
#include "common/kernel/source_impl.h"

static bool is_sampling;
static struct arena arena;             /* the frame's, while a sample has its own in its place */
static struct hash seen[SRC_KINDS];
static uint64_t generation;
static uint64_t next = 1ull << 63;     /* the samples' own, far from those of frames */

void src_sample_begin(void)
{
	if (!src_is_live() || is_sampling)
		return;
	generation = next++;
	src_swap_learnt(&arena, seen, &generation);
	is_sampling = true;
	src_save_pause(true);
}

void src_sample_end(void)
{
	if (!is_sampling)
		return;
	src_swap_learnt(&arena, seen, &generation);
	is_sampling = false;
	src_save_pause(false);
	for (int kind = 0; kind < SRC_KINDS; kind++)
		hash_reset(&seen[kind]);
	arena_reset(&arena);
}

void src_sample_close(void)
{
	src_sample_end();
	for (int kind = 0; kind < SRC_KINDS; kind++)
		hash_free(&seen[kind]);
	arena_free(&arena);
}
