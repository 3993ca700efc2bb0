/*
 * Segments that TCP sends again, counted in the kernel by peer: bpf/retransmit.bpf.c counts, this
 * asks for it, reads it, and knows how it is saved. As text, one record a line, names as in
 * kstack.h:
 *     engine ENGINE                   what counted
 *     stack  =FRAME ...               leaf first; numbered from 1
 *     row    SEGMENTS EVENTS FAILED NETNS FAMILY HEX REMOTE-PORT LOCAL-PORT STATE KIND STACK
 *     total  SEGMENTS EVENTS FAILED NETNS KIND
 *     count  NAME N                   no_room, no_total, no_stack, missed
 *     end
 * HEX are the 32 digits of an address, KIND is a name or "-". Counts grow from when counting began.
 */
#ifndef KERNEL_RETRANSMIT_H
#define KERNEL_RETRANSMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/retransmit.h"            /* enum retransmit_kind */
#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/kernel/kstack.h"
#include "common/kernel/sockdiag.h"

#define RETRANSMIT_UNKNOWN RETRANSMIT_KINDS    /* a kind: the engine does not see it */

struct retransmit_row {
	uint64_t segments, events, failed;
	uint32_t netns;                /* inode; 0: not known */
	uint8_t family;                /* AF_INET, AF_INET6 */
	uint8_t state;                 /* enum sock_state */
	uint8_t kind;
	struct sock_end remote;
	uint16_t local_port;
	uint32_t stack;                /* of stacks; 0: none */
};

struct retransmit_set {
	struct arena arena;
	const char *engine;            /* "bpf", "perf" */
	struct retransmit_row *rows;
	/* of all, rows without room included: of them only netns, kind and counts are set */
	struct retransmit_row *totals;
	size_t count, cap, total_count, total_cap;
	struct named_stacks stacks;
	struct {
		uint64_t no_room;      /* segments without a row: too many different ones */
		uint64_t no_total;     /* and of too many namespaces */
		uint64_t no_stack;     /* events without their stack */
		uint64_t missed;       /* events that were not seen */
	} counts;
};

struct retransmit_options {
	const uint64_t *netns;         /* inodes; none: all */
	size_t netns_count;
	bool wants_stacks;
};

/* As skbdrop.h's. */
int retransmit_open(const struct retransmit_options *o);
int retransmit_read(kstack_namer name, void *arg, struct retransmit_set *set);
void retransmit_close(void);

const char *retransmit_kind_name(uint8_t kind);        /* "fast"; NULL: not known */

void retransmit_write(const struct retransmit_set *s, struct buf *to);
/* 0, or -EINVAL with fail text; *s zeroed before, retransmit_free in either case. */
int retransmit_parse(struct text t, struct retransmit_set *s);
void retransmit_free(struct retransmit_set *s);

#endif
