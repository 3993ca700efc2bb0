/*
 * TCP handshakes by the address they were made to, of all network namespaces: bpf/handshake.bpf.c
 * counts in the kernel, this reads.
 */
#ifndef KERNEL_HANDSHAKE_H
#define KERNEL_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/handshake.h"             /* struct handshake_place, struct handshake_count */
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/text.h"

struct handshake_row {
	struct handshake_place place;
	/* since handshake_open; refused: NA_U64 where the kernel has no reason for it, as 6.12 */
	struct handshake_count count;
};

/*
 * Load, attach, count: some 30 ms. 0, or -errno with a text that says what refused and what would
 * unlock it; ENOTSUP built without BPF. Replaying: 0; whether the run had it, handshake_read tells.
 */
int handshake_open(void);

/*
 * Through the source as the call "bpf handshake"; they live until the frame's end. *lost: events of
 * addresses that found no room. -ENOENT: not open, or the replayed run has none.
 */
int handshake_read(const struct handshake_row **rows, size_t *count, uint64_t *lost);

/*
 * The call's reply: "NETNS FAMILY HEX PORT ARRIVED REFUSED" lines, HEX 32 digits of address,
 * REFUSED "-" if unknown, then "lost N". Rows live in arena. -EINVAL if a line is garbled or the
 * last one is missing.
 */
int handshake_parse(struct text reply, struct arena *arena, const struct handshake_row **rows,
		    size_t *count, uint64_t *lost);

void handshake_close(void);            /* detach; nothing of it is left in the kernel */

#endif
