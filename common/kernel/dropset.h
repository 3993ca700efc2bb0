/*
 * Packets that the kernel dropped, summed by reason, place, protocol, device and namespace, with
 * names: what a run saves, and all that is told of drops comes from.
 *
 * As text, one record a line; a name is "=NAME", "-" if it is not known:
 *     engine  ENGINE REASONS          what counted; yes: this kernel gives reasons
 *     stack   =FRAME ...              leaf first; numbered from 1
 *     row     COUNT REASON PLACE NETNS IFINDEX DEVICE own|arrival PROTOCOL TRANSPORT STACK
 *     count   NAME N                  seen, passed_over, no_room, no_stack, missed
 *     end
 * Counts grow from when counting began.
 */
#ifndef KERNEL_DROPSET_H
#define KERNEL_DROPSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/kernel/kstack.h"

struct drop_row {
	uint64_t count;
	const char *reason;            /* "NETFILTER_DROP"; NULL: this kernel has none */
	const char *place;             /* the function that dropped it; NULL: not known */
	uint32_t netns;                /* inode; 0: not known */
	uint32_t ifindex;              /* 0: of no device */
	const char *device;            /* its name; NULL: not known */
	bool is_arrival;               /* the device it came by: what it was on is forgotten */
	uint16_t protocol;             /* EtherType, 0: none yet */
	uint8_t transport;             /* IPPROTO_; 255: not known */
	uint32_t stack;                /* of stacks; 0: none */
};

struct drop_counts {
	uint64_t seen;                 /* all drops */
	uint64_t passed_over;          /* of them, what filters left out */
	uint64_t no_room;              /* of them, not counted by row: too many different ones */
	uint64_t no_stack;             /* counted, but without their stack */
	uint64_t missed;               /* not seen at all: a drop within the counting of another, or
					  (perf) more than the rings hold */
};

struct drop_set {
	struct arena arena;
	const char *engine;            /* "bpf", "perf" */
	bool has_reasons;
	struct drop_row *rows;
	size_t count, cap;
	struct named_stacks stacks;
	struct drop_counts counts;
	struct hash known;             /* of dropset_add */
};

/* One more row, or more of one that is there. Strings outlive the set (they are the caller's). */
void dropset_add(struct drop_set *s, const struct drop_row *row);
/* A number that rows of two sets have in common if they are the same but for their counts. */
uint64_t dropset_hash(const struct drop_set *s, const struct drop_row *row);
void dropset_write(const struct drop_set *s, struct buf *to);
/* 0, or -EINVAL with fail text that names the line; *s is zeroed before, dropset_free in either
 * case. */
int dropset_parse(struct text t, struct drop_set *s);
void dropset_free(struct drop_set *s);

#endif
