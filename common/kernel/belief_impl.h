/* Shared by belief.c (JVMs, and what all kinds have in common) and belief_other.c (Node, Go). */
#ifndef KERNEL_BELIEF_IMPL_H
#define KERNEL_BELIEF_IMPL_H

#include "common/kernel/belief.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
/* What any runtime takes besides its heap, with a wide margin. */
#define LEAST_NONHEAP_BYTES MIB

/* "512M", "7.8G": whole where it is */
const char *belief_size_text(struct arena *a, uint64_t bytes);
/* "the host's 7.8G", "the 512M limit" */
const char *belief_seen_text(struct arena *a, uint64_t bytes, bool is_host);
/* Of a limit that may be none and may lie above what there is: what is seen. NA_U64 unknown. */
uint64_t belief_seen_bytes(uint64_t limit_bytes, uint64_t host_bytes, bool *is_host);
bool belief_is_at_least(struct belief_version v, unsigned feature, unsigned update);

void belief_make_node(struct arena *a, const struct belief_options *o, const struct belief_view *v,
		      struct belief *b);
void belief_make_go(struct arena *a, const struct belief_options *o, struct belief *b);

#endif
