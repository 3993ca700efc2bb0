#include "common/stack/unwind.h"

#include <string.h>

#include "common/stack/elfsym_cfi.h"
#include "common/stack/symbols_impl.h"
#include "common/stack/unwind_impl.h"

#define ABI_NONE 0
#define ABI_64 2
#define ENTRY_BYTES 128                /* about as long as the code at an object's entry is */
#define ARM64_ADDRESS ((1ull << 48) - 1)       /* above may stand a signature of the address */

static const uint8_t x86_64_registers[] = {
	0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8,
};

static const uint8_t arm64_registers[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
	25, 26, 27, 28, 29, 30, 31, 32,
};

static const struct machine x86_64 = {
	.perf_number = x86_64_registers, .count = 17, .pc = 16, .sp = 7, .fp = 6,
	.address_mask = UINT64_MAX,
};

static const struct machine arm64 = {
	.perf_number = arm64_registers, .count = 33, .pc = 32, .sp = 31, .fp = 29,
	.address_mask = ARM64_ADDRESS,
};

static const struct machine *machine_of(enum unwind_machine m)
{
#ifdef __aarch64__
	const struct machine *native = &arm64;
#else
	const struct machine *native = &x86_64;
#endif
	return m == UNWIND_X86_64 ? &x86_64 : m == UNWIND_ARM64 ? &arm64 : native;
}

const char *unwind_end_text(enum unwind_end end)
{
	static const char *const texts[UNWIND_ENDS] = {
		[UNWIND_WHOLE] = "whole",
		[UNWIND_NO_REGISTERS] = "no user registers recorded",
		[UNWIND_32_BIT] = "a process of 32 bits",
		[UNWIND_CUT_STACK] = "cut by the size of the stack dump (--call-graph dwarf,SIZE)",
		[UNWIND_TOO_DEEP] = "deeper than is unwound",
		[UNWIND_NO_MAP] = "a return address in no map",
		[UNWIND_NO_FILE] = "through an object whose file is missing or another build",
		[UNWIND_NO_CFI] = "through code without call frame information",
		[UNWIND_BAD_CFI] = "call frame information that leads nowhere",
		[UNWIND_LOOP] = "a frame that calls itself",
	};

	return end < UNWIND_ENDS ? texts[end] : "unknown";
}

static bool load_registers(const struct unwind_sample *u, const struct machine *m,
			   struct frame *f)
{
	for (unsigned i = 0; i < m->count; i++) {
		const uint64_t bit = 1ull << m->perf_number[i];
		const unsigned at = (unsigned)__builtin_popcountll(u->mask & (bit - 1));

		if (!(u->mask & bit) || at >= u->register_count)
			continue;
		f->registers[i] = u->registers[at];
		f->known |= 1ull << i;
	}
	return f->known >> m->pc & f->known >> m->sp & 1;
}

/* What lies outside the recorded piece of stack may stand in an object's file. */
static bool read_from_file(struct walk *w, uint64_t address, uint64_t *value)
{
	struct symbols_map map = { 0 };

	if (!w->find_map(w->process, address, &map) || symbols_is_jit(&map))
		return false;
	const struct object *o = symbols_object(w->symbols, &map);
	const uint64_t offset = address - map.start + map.pgoff;

	if (o->state != OBJECT_GOOD || offset > o->elf.bytes.len ||
	    o->elf.bytes.len - offset < sizeof(*value))
		return false;
	memcpy(value, o->elf.bytes.data + offset, sizeof(*value));
	return true;
}

bool unwind_read(struct walk *w, uint64_t address, uint64_t *value)
{
	const uint64_t offset = address - w->stack_low;
	const struct text stack = w->sample->stack;

	if (offset < stack.len && stack.len - offset >= sizeof(*value)) {
		memcpy(value, stack.data + offset, sizeof(*value));
		return true;
	}
	if (read_from_file(w, address, value))
		return true;
	w->end = address >= w->stack_low ? UNWIND_CUT_STACK : UNWIND_BAD_CFI;
	return false;
}

static bool find_cfa(struct walk *w, const struct cfi_row *row, const struct frame *f,
		     uint64_t *cfa)
{
	if (row->cfa.count)
		return unwind_evaluate(w, &row->cfa, f, 0, cfa);
	if (!(f->known >> row->cfa_register & 1)) {
		w->end = UNWIND_BAD_CFI;
		return false;
	}
	*cfa = f->registers[row->cfa_register] + (uint64_t)(int64_t)row->cfa_offset;
	return true;
}

/* The caller's value of a register; false: it could not be read (w->end), or is lost. */
static bool apply_rule(struct walk *w, const struct cfi_rule *r, const struct frame *f,
		       uint64_t cfa, uint64_t *value)
{
	const uint64_t at = cfa + (uint64_t)(int64_t)r->offset;
	uint64_t where;

	switch (r->kind) {
	case CFI_SAVED:
		return unwind_read(w, at, value);
	case CFI_VALUE:
		*value = at;
		return true;
	case CFI_REGISTER:
		*value = f->registers[r->offset];
		return f->known >> r->offset & 1;
	case CFI_SAVED_EXPRESSION:
		return unwind_evaluate(w, &r->expression, f, cfa, &where) &&
		       unwind_read(w, where, value);
	case CFI_VALUE_EXPRESSION:
		return unwind_evaluate(w, &r->expression, f, cfa, value);
	default:
		return false;
	}
}

/* A stack grows downwards: a caller's frame lies above, but for one that a signal left. */
static bool is_progress(const struct walk *w, const struct cfi_row *row, const struct frame *f,
			uint64_t cfa, uint64_t pc)
{
	const uint64_t sp = f->registers[w->machine->sp];

	return row->is_signal || cfa > sp || (cfa == sp && pc != f->registers[w->machine->pc]);
}

/* f becomes the caller's. False: there is no caller, or none that can be found (w->end). */
static bool step_by_row(struct walk *w, const struct cfi_row *row, struct frame *f)
{
	const struct machine *m = w->machine;
	uint64_t values[CFI_REGISTERS], cfa, known = f->known | 1ull << m->sp, pc = 0;
	bool is_outermost = false, is_saved = false;

	if (!find_cfa(w, row, f, &cfa))
		return false;
	for (unsigned i = 0; i < row->rule_count; i++) {
		const struct cfi_rule *r = &row->rules[i];
		const bool is_return = r->number == row->return_register;

		w->end = UNWIND_BAD_CFI;
		const bool is_known = apply_rule(w, r, f, cfa, &values[i]);

		if (is_return && !is_known && r->kind != CFI_UNDEFINED)
			return false;
		known = is_known ? known | 1ull << r->number : known & ~(1ull << r->number);
		if (!is_return)
			continue;
		is_saved = is_known;
		is_outermost = !is_known;
		pc = values[i];
	}
	if (!is_saved)
		pc = f->registers[row->return_register];
	pc &= m->address_mask;
	w->end = UNWIND_WHOLE;
	if (is_outermost || !(known >> row->return_register & 1) || !pc)
		return false;
	w->end = UNWIND_LOOP;
	if (!is_progress(w, row, f, cfa, pc))
		return false;
	f->registers[m->sp] = cfa;
	for (unsigned i = 0; i < row->rule_count; i++)
		if (known >> row->rules[i].number & 1)
			f->registers[row->rules[i].number] = values[i];
	f->registers[m->pc] = pc;
	f->known = known | 1ull << m->pc;
	w->is_return = !row->is_signal;
	return true;
}

/* Whether a call ends where the address is; true if that can't be told: code without a file. */
static bool is_behind_call(struct walk *w, uint64_t address)
{
	const uint64_t before = address - sizeof(uint64_t);
	unsigned char code[sizeof(uint64_t)];
	uint64_t value;

	if (w->machine != &x86_64 || !read_from_file(w, before, &value))
		return true;
	memcpy(code, &value, sizeof(value));
	if (code[3] == 0xe8)
		return true;
	/* ff /2 with an operand of two to seven bytes */
	for (unsigned i = 1; i < 7; i++)
		if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10)
			return true;
	return false;
}

/*
 * What JITs make has no call frame information, but often keeps the frame pointer; so does what
 * node has built in. Anywhere else the register may hold anything: the caller has to be plausible.
 */
static bool step_by_frame_pointer(struct walk *w, struct frame *f)
{
	const struct machine *m = w->machine;
	const uint64_t fp = f->registers[m->fp], sp = f->registers[m->sp];
	const enum unwind_end end = w->end;
	struct symbols_map map;
	uint64_t next, pc;

	if (!(f->known >> m->fp & 1) || fp < sp || fp & 7)
		return false;
	if (!unwind_read(w, fp, &next) || !unwind_read(w, fp + 8, &pc) || (next && next <= fp)) {
		w->end = end;
		return false;
	}
	pc &= m->address_mask;
	if (pc && (!w->find_map(w->process, pc - 1, &map) || !is_behind_call(w, pc)))
		return false;
	f->registers[m->fp] = next;
	f->registers[m->sp] = fp + 16;
	f->registers[m->pc] = pc;
	f->known = 1ull << m->fp | 1ull << m->sp | 1ull << m->pc;
	w->is_return = true;
	if (!pc)
		w->end = UNWIND_WHOLE;
	return pc != 0;
}

static bool step(struct walk *w, const struct symbols_map *map, uint64_t lookup, struct frame *f)
{
	const struct cfi_row *row = NULL;
	uint64_t place = lookup - map->start + map->pgoff;

	if (symbols_is_jit(map)) {
		w->end = UNWIND_NO_CFI;
		return step_by_frame_pointer(w, f);
	}
	struct object *o = symbols_object(w->symbols, map);
	struct elfsym_cfi *cfi = object_cfi(o, &w->symbols->places);

	w->end = o->state == OBJECT_GOOD ? UNWIND_NO_CFI : UNWIND_NO_FILE;
	if (cfi && object_address_of(o, place, &place))
		row = elfsym_cfi_find(cfi, place);
	if (row)
		return step_by_row(w, row, f);
	if (o->state != OBJECT_GOOD)
		return false;
	/* the dynamic linker's first function has no information, and no caller */
	if (place - o->elf.entry < ENTRY_BYTES) {
		w->end = UNWIND_WHOLE;
		return false;
	}
	return step_by_frame_pointer(w, f);
}

size_t unwind_stack(struct symbols *s, const struct unwind_sample *sample,
		    unwind_find_map find_map, void *process, uint64_t *ips, size_t max,
		    enum unwind_end *end)
{
	struct walk w = {
		.symbols = s, .sample = sample, .find_map = find_map, .process = process,
		.machine = machine_of(sample->machine),
	};
	struct frame f = { .known = 0 };
	size_t n = 0;

	*end = UNWIND_NO_REGISTERS;
	if (sample->abi == ABI_NONE || !load_registers(sample, w.machine, &f))
		return 0;
	w.stack_low = f.registers[w.machine->sp];
	*end = sample->abi == ABI_64 ? UNWIND_TOO_DEEP : UNWIND_32_BIT;
	while (n < max) {
		const uint64_t lookup = f.registers[w.machine->pc] - w.is_return;
		struct symbols_map map = { 0 };
		const bool is_mapped = find_map(process, lookup, &map);

		if (is_mapped || !n)
			ips[n++] = lookup;
		if (sample->abi != ABI_64)
			break;
		if (!is_mapped || !step(&w, &map, lookup, &f)) {
			*end = is_mapped ? w.end : UNWIND_NO_MAP;
			break;
		}
	}
	return n;
}
