#include "common/stack/elfsym_cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/stack/elfsym_impl.h"

#define OPS_MAX 64                     /* longer expressions are not followed */
#define ROWS_MAX (1u << 20)            /* of one object; then those kept are dropped */

struct elfsym_cfi {
	Dwarf_CFI *eh;
	Dwarf_CFI *frame;              /* belongs to its Dwarf */
	struct hash rows;              /* by address; to `none` where there is none */
	struct arena arena;
};

static const struct cfi_row none;

struct elfsym_cfi *elfsym_cfi_new(struct elfsym_file *eh, struct elfsym_file *frame)
{
	struct elfsym_cfi *c = mem_alloc(sizeof(*c));
	Dwarf *dwarf = frame ? elfsym_file_dwarf(frame) : NULL;

	c->eh = eh ? dwarf_getcfi_elf(eh->elf) : NULL;
	c->frame = dwarf ? dwarf_getcfi(dwarf) : NULL;
	return c;
}

void elfsym_cfi_free(struct elfsym_cfi *c)
{
	if (!c)
		return;
	if (c->eh)
		dwarf_cfi_end(c->eh);
	hash_free(&c->rows);
	arena_free(&c->arena);
	free(c);
}

/* ---- rows ---- */

static bool copy_ops(struct elfsym_cfi *c, const Dwarf_Op *ops, size_t count,
		     struct cfi_expression *to)
{
	if (!count || count > OPS_MAX)
		return false;
	struct cfi_op *copy = arena_alloc(&c->arena, count * sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = (struct cfi_op){ ops[i].atom, ops[i].number, ops[i].number2 };
	*to = (struct cfi_expression){ copy, count };
	return true;
}

static bool fits(uint64_t number)
{
	return (int64_t)number >= INT32_MIN && (int64_t)number <= INT32_MAX;
}

/* breg and an offset; everything else is an expression. */
static bool read_cfa(struct elfsym_cfi *c, Dwarf_Frame *frame, struct cfi_row *row)
{
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) || !count)
		return false;
	if (count == 1 && ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31 &&
	    fits(ops->number)) {
		row->cfa_register = (uint8_t)(ops->atom - DW_OP_breg0);
		row->cfa_offset = (int32_t)ops->number;
		return true;
	}
	if (count == 1 && ops->atom == DW_OP_bregx && ops->number < CFI_REGISTERS &&
	    fits(ops->number2)) {
		row->cfa_register = (uint8_t)ops->number;
		row->cfa_offset = (int32_t)ops->number2;
		return true;
	}
	return copy_ops(c, ops, count, &row->cfa);
}

/* The CFA and an offset, as libdw spells it. */
static bool is_cfa_offset(const Dwarf_Op *ops, size_t count, int32_t *offset)
{
	if (!count || count > 2 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (count == 2 && (ops[1].atom != DW_OP_plus_uconst || !fits(ops[1].number)))
		return false;
	*offset = count == 2 ? (int32_t)ops[1].number : 0;
	return true;
}

static bool read_location(struct elfsym_cfi *c, const Dwarf_Op *ops, size_t count,
			  struct cfi_rule *rule)
{
	if (count == 1 && ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31) {
		rule->kind = CFI_REGISTER;
		rule->offset = ops->atom - DW_OP_reg0;
		return true;
	}
	if (count == 1 && ops->atom == DW_OP_regx && ops->number < CFI_REGISTERS) {
		rule->kind = CFI_REGISTER;
		rule->offset = (int32_t)ops->number;
		return true;
	}
	const bool is_value = ops[count - 1].atom == DW_OP_stack_value;

	if (is_value)
		count--;
	rule->kind = is_value ? CFI_VALUE : CFI_SAVED;
	if (is_cfa_offset(ops, count, &rule->offset))
		return true;
	rule->kind = is_value ? CFI_VALUE_EXPRESSION : CFI_SAVED_EXPRESSION;
	return copy_ops(c, ops, count, &rule->expression);
}

/* False: the register keeps its value, which needs no rule. */
static bool read_rule(struct elfsym_cfi *c, Dwarf_Frame *frame, unsigned number,
		      struct cfi_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	*rule = (struct cfi_rule){ .number = (uint8_t)number, .kind = CFI_UNDEFINED };
	if (dwarf_frame_register(frame, (int)number, memory, &ops, &count))
		return true;
	if (!count)
		return ops != NULL;
	if (!read_location(c, ops, count, rule))
		rule->kind = CFI_UNDEFINED;
	return true;
}

static const struct cfi_row *read_row(struct elfsym_cfi *c, Dwarf_Frame *frame)
{
	struct cfi_rule rules[CFI_REGISTERS];
	struct cfi_row row = { 0 };
	Dwarf_Addr start, end;
	const int number = dwarf_frame_info(frame, &start, &end, &row.is_signal);

	if (number < 0 || number >= CFI_REGISTERS || !read_cfa(c, frame, &row))
		return NULL;
	row.return_register = (uint8_t)number;
	for (unsigned i = 0; i < CFI_REGISTERS; i++)
		if (read_rule(c, frame, i, &rules[row.rule_count]))
			row.rule_count++;
	const size_t size = row.rule_count * sizeof(*rules);
	struct cfi_row *kept = arena_alloc(&c->arena, sizeof(row) + size);

	*kept = row;
	memcpy(kept->rules, rules, size);
	return kept;
}

static const struct cfi_row *find_in(struct elfsym_cfi *c, Dwarf_CFI *cfi, uint64_t address)
{
	Dwarf_Frame *frame = NULL;

	if (!cfi || dwarf_cfi_addrframe(cfi, address, &frame))
		return NULL;
	const struct cfi_row *row = read_row(c, frame);

	free(frame);
	return row;
}

const struct cfi_row *elfsym_cfi_find(struct elfsym_cfi *c, uint64_t address)
{
	if (c->rows.used >= ROWS_MAX) {
		hash_reset(&c->rows);
		arena_reset(&c->arena);
	}
	void **slot = hash_number(&c->rows, address);

	if (!*slot) {
		const struct cfi_row *row = find_in(c, c->eh, address);

		if (!row)
			row = find_in(c, c->frame, address);
		*slot = (void *)(row ? row : &none);
	}
	return *slot == &none ? NULL : *slot;
}
