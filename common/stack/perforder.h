/*
 * Records in order of time. Each CPU has a buffer of its own, and a recorder empties one after the
 * other: what comes out is in order only in runs. "Finished round" says that all buffers were
 * emptied once: nothing older than what the round before had will come any more.
 */
#ifndef STACK_PERFORDER_H
#define STACK_PERFORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERFORDER_BYTES_MAX (1u << 30) /* of records that wait, where no round is ever finished */

struct perforder_entry {
	uint64_t time;
	const unsigned char *record;
	uint64_t offset;               /* in the file */
	void *owner;                   /* the caller's: whose memory it is */
};

/* Zeroed is empty. */
struct perforder {
	struct perforder_entry *waiting, *ready, *scratch;
	size_t waiting_count, waiting_cap, ready_count, ready_cap, ready_at, scratch_cap;
	uint64_t waiting_bytes;
	uint64_t newest;               /* time seen */
	uint64_t round_end;            /* the newest time when the last round was finished */
	uint64_t given;                /* time of the last record that was handed out */
	uint64_t late;                 /* records that came after a later one was handed out */
	bool is_overfull;              /* the limit was reached: some were handed out too early */
};

void perforder_add(struct perforder *o, struct perforder_entry e, uint32_t bytes);
/* A round is finished. Only when nothing is ready any more. */
void perforder_round(struct perforder *o);
/* More waits than PERFORDER_BYTES_MAX: makes the older half ready. */
bool perforder_is_full(const struct perforder *o);
void perforder_flush_half(struct perforder *o);
/* Nothing more comes: all is made ready. */
void perforder_finish(struct perforder *o);
/* The next one; false: nothing is ready. Stable: of the same time as they were added. */
bool perforder_next(struct perforder *o, struct perforder_entry *e);
void perforder_free(struct perforder *o);

#endif
