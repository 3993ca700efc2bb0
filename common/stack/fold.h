/*
 * Folded stacks: a prefix tree of frame names with a weight at each stack's end. A thing is stored
 * once: every name, and every run of frames from the root, however many samples go through it.
 *
 * Folded text, one stack a line, as flame graph tools exchange it: frames from the root to the
 * leaf, `;` between them, one space, the weight as an integer.
 */
#ifndef STACK_FOLD_H
#define STACK_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/text.h"

#define FOLD_NODES_MAX (1u << 27)      /* more different stack prefixes than that are not kept */
#define FOLD_NAMES_BYTES_MAX (3u << 30) /* of all different names together */
#define FOLD_FRAME_MAX 65535           /* bytes of a name that are kept */
#define FOLD_ROOT 0u
#define FOLD_FULL UINT32_MAX           /* instead of a node: a limit was reached */

struct fold;

struct fold *fold_new(void);
void fold_free(struct fold *f);
/* Keeps less than those maxima: where memory is bounded. What is there stays. */
void fold_limit(struct fold *f, uint32_t nodes, uint32_t name_bytes);

/*
 * The node for `name` called from `parent` (a node, or FOLD_ROOT); made if it is new. Any bytes are
 * taken; what folded text can't hold is escaped when it is written. FOLD_FULL: a limit was reached
 * (then so is the answer for any parent FOLD_FULL), and the stack is lost; the caller counts.
 */
uint32_t fold_child(struct fold *f, uint32_t parent, struct text name);
/*
 * The same for a name that fold_name made a number of: for callers that know their names (a symbol
 * cache). FOLD_FULL as above.
 */
uint32_t fold_name(struct fold *f, struct text name);
/* The same for several: numbers[count]. Faster, as large tables are slow to reach. */
void fold_names(struct fold *f, const struct text *names, size_t count, uint32_t *numbers);
uint32_t fold_child_of(struct fold *f, uint32_t parent, uint32_t name);

/* Weight for the stack that ends at node. `side` 0, or 1 for the second profile of a difference.
 * Saturates at UINT64_MAX. */
void fold_add(struct fold *f, uint32_t node, unsigned side, uint64_t weight);
/* A fraction of one, 0 <= part < 1: summed per stack, rounded when read. */
void fold_add_part(struct fold *f, uint32_t node, unsigned side, double part);

/* What there is. Nodes are numbered from 1; a parent's number is lower than its children's. */
uint32_t fold_count(const struct fold *f);             /* nodes, the root included */
uint32_t fold_parent(const struct fold *f, uint32_t node);
struct text fold_text(const struct fold *f, uint32_t node);    /* its name, as it was given */
uint32_t fold_name_of(const struct fold *f, uint32_t node);
struct text fold_name_text(const struct fold *f, uint32_t name);
uint64_t fold_weight(const struct fold *f, uint32_t node, unsigned side);      /* its own */
uint32_t fold_stacks(const struct fold *f);            /* nodes with a weight */
size_t fold_memory(const struct fold *f);              /* bytes held */

/* Each node's children in order of their names' bytes. Owned by the caller: fold_order_free. */
struct fold_order {
	struct {
		uint32_t first, next;  /* child, sibling; 0: none */
	} *link;                       /* by node */
};
void fold_order_make(const struct fold *f, struct fold_order *o);
/* The same among these nodes alone: others are nobody's children. */
void fold_order_of(const struct fold *f, const uint32_t *nodes, uint32_t count,
		   struct fold_order *o);
void fold_order_free(struct fold_order *o);

/*
 * Folded text of all stacks with a weight, in the order of their names. two_sides: both weights
 * ("stack 4 7"), as flame graph tools read differences. A line never looks like a comment: "#" and
 * "//" at its start are escaped, too. What FOLD_ROOT itself weighs has no line. 0 or -errno with
 * fail text.
 */
int fold_write(const struct fold *f, bool two_sides, FILE *to);
/* A name as folded text holds it: `;` becomes `:`, control bytes and DEL \xNN. Appended. */
struct buf;
void fold_escape(struct buf *to, struct text name);

#endif
