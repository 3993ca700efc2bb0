/* Expressions in call frame information: of stubs, and of what the kernel saves for a signal. */
#include <dwarf.h>

#include "common/stack/unwind_impl.h"

#define DEPTH 32

struct stack {
	uint64_t values[DEPTH];
	unsigned count;
};

static bool push(struct stack *s, uint64_t value)
{
	if (s->count == DEPTH)
		return false;
	s->values[s->count++] = value;
	return true;
}

static bool binary(struct stack *s, uint8_t atom)
{
	if (s->count < 2)
		return false;
	const uint64_t b = s->values[--s->count];
	uint64_t *a = &s->values[s->count - 1];
	const int64_t x = (int64_t)*a, y = (int64_t)b;

	switch (atom) {
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_mul:
		*a *= b;
		return true;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_or:
		*a |= b;
		return true;
	case DW_OP_xor:
		*a ^= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_shr:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case DW_OP_shra:
		*a = (uint64_t)(x >> (b < 64 ? b : 63));
		return true;
	case DW_OP_eq:
		*a = x == y;
		return true;
	case DW_OP_ne:
		*a = x != y;
		return true;
	case DW_OP_lt:
		*a = x < y;
		return true;
	case DW_OP_le:
		*a = x <= y;
		return true;
	case DW_OP_gt:
		*a = x > y;
		return true;
	case DW_OP_ge:
		*a = x >= y;
		return true;
	default:
		return false;
	}
}

static bool unary(struct walk *w, struct stack *s, const struct cfi_op *op)
{
	if (!s->count)
		return false;
	uint64_t *a = &s->values[s->count - 1];

	switch (op->atom) {
	case DW_OP_deref:
		return unwind_read(w, *a, a);
	case DW_OP_plus_uconst:
		*a += op->number;
		return true;
	case DW_OP_neg:
		*a = -*a;
		return true;
	case DW_OP_not:
		*a = ~*a;
		return true;
	case DW_OP_dup:
		return push(s, *a);
	case DW_OP_drop:
		s->count--;
		return true;
	default:
		return binary(s, op->atom);
	}
}

static bool push_register(struct stack *s, const struct frame *f, uint64_t number, uint64_t offset)
{
	return number < CFI_REGISTERS && f->known >> number & 1 &&
	       push(s, f->registers[number] + offset);
}

static bool apply(struct walk *w, struct stack *s, const struct cfi_op *op, const struct frame *f,
		  uint64_t cfa)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(s, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(s, f, op->atom - DW_OP_breg0, op->number);
	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(s, op->number);
	case DW_OP_bregx:
		return push_register(s, f, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(s, cfa);
	case DW_OP_nop:
		return true;
	default:
		return unary(w, s, op);
	}
}

bool unwind_evaluate(struct walk *w, const struct cfi_expression *e, const struct frame *f,
		     uint64_t cfa, uint64_t *value)
{
	struct stack s = { .count = 0 };

	w->end = UNWIND_BAD_CFI;
	for (size_t i = 0; i < e->count; i++)
		if (!apply(w, &s, &e->ops[i], f, cfa))
			return false;
	if (!s.count)
		return false;
	*value = s.values[s.count - 1];
	return true;
}
