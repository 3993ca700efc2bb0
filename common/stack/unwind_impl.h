/* Shared by unwind.c and unwind_expression.c. */
#ifndef STACK_UNWIND_IMPL_H
#define STACK_UNWIND_IMPL_H

#include "common/stack/elfsym_cfi.h"
#include "common/stack/unwind.h"

/* DWARF's numbers, and which of perf's each is (arch/.../include/uapi/asm/perf_regs.h). */
struct machine {
	const uint8_t *perf_number;
	uint8_t count, pc, sp, fp;
	uint64_t address_mask;
};

struct frame {
	uint64_t registers[CFI_REGISTERS];
	uint64_t known;                /* a bit for each */
};

struct walk {
	struct symbols *symbols;
	const struct unwind_sample *sample;
	unwind_find_map find_map;
	void *process;
	const struct machine *machine;
	uint64_t stack_low;
	bool is_return;                /* the pc is where a call returns to */
	enum unwind_end end;           /* why there is no further step */
};

/* Eight bytes of the process's memory; false: not recorded, and w->end says so. */
bool unwind_read(struct walk *w, uint64_t address, uint64_t *value);
/* The expression's value with the CFA on the stack at first; false: w->end says why. */
bool unwind_evaluate(struct walk *w, const struct cfi_expression *e, const struct frame *f,
		     uint64_t cfa, uint64_t *value);

#endif
