/*
 * How to get from a function to its caller, at each address of an object: call frame information of
 * .eh_frame and .debug_frame as rows, kept by address.
 *
 * Format: DWARF 5, section 6.4; the System V ABI's x86-64 and Arm's AADWARF64 supplements.
 */
#ifndef STACK_ELFSYM_CFI_H
#define STACK_ELFSYM_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stack/elfsym_file.h"

#define CFI_REGISTERS 33               /* DWARF's numbers: x86-64 has 17, arm64 32 and the pc */

enum cfi_kind {
	CFI_UNDEFINED,                 /* lost; of the return address: the outermost frame */
	CFI_SAVED,                     /* in memory, offset from the CFA */
	CFI_VALUE,                     /* the CFA and offset */
	CFI_REGISTER,                  /* in register `offset` */
	CFI_SAVED_EXPRESSION,          /* in memory where the expression says */
	CFI_VALUE_EXPRESSION,
};

struct cfi_op {                        /* one operation of DWARF 5, section 2.5 */
	uint8_t atom;
	uint64_t number, number2;
};

struct cfi_expression {
	const struct cfi_op *ops;
	size_t count;
};

struct cfi_rule {                      /* registers without one keep their value */
	uint8_t number, kind;
	int32_t offset;
	struct cfi_expression expression;
};

struct cfi_row {
	struct cfi_expression cfa;     /* count 0: register cfa_register and cfa_offset */
	int32_t cfa_offset;
	uint8_t cfa_register, return_register, rule_count;
	bool is_signal;                /* its caller was interrupted, not called */
	struct cfi_rule rules[];
};

struct elfsym_cfi;

/*
 * eh: a file with .eh_frame (with or without its header), frame: one with .debug_frame, which may
 * be the same; either may be NULL. Both are used until elfsym_cfi_free.
 */
struct elfsym_cfi *elfsym_cfi_new(struct elfsym_file *eh, struct elfsym_file *frame);
void elfsym_cfi_free(struct elfsym_cfi *c);

/* The row for an address, counted as the file's symbols are; NULL if there is none. Valid until the
 * next call. */
const struct cfi_row *elfsym_cfi_find(struct elfsym_cfi *c, uint64_t address);

#endif
