/* Which addresses make a sample's stack: its callchain, hardware's branches, an unwound dump. */
#include "common/base/na.h"
#include "common/stack/perffold_impl.h"

void perffold_chain_add(struct perffold *pf, uint64_t address)
{
	if (pf->chain_count == pf->chain_cap)
		pf->chain = mem_grow(pf->chain, &pf->chain_cap, pf->chain_count + 1,
				     sizeof(*pf->chain));
	pf->chain[pf->chain_count++] = address;
}

static uint64_t context_of(enum cpumode mode)
{
	static const uint64_t contexts[] = {
		[MODE_KERNEL] = CONTEXT_KERNEL,
		[MODE_USER] = CONTEXT_USER,
		[MODE_HYPERVISOR] = CONTEXT_HYPERVISOR,
		[MODE_GUEST_KERNEL] = CONTEXT_GUEST_KERNEL,
		[MODE_GUEST_USER] = CONTEXT_GUEST_USER,
	};

	return mode < sizeof(contexts) / sizeof(*contexts) && contexts[mode] ? contexts[mode] :
									      CONTEXT_MAX;
}

/* Frames of the record's own chain; contexts are none. */
static size_t count_frames(const struct perf_sample *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->chain_count; i++)
		n += s->chain[i] < CONTEXT_MAX;
	return n;
}

static bool is_truncated(const struct perf_sample *s)
{
	const struct perf_attr *a = &s->event->attr;
	const size_t limit = a->max_stack ? a->max_stack : ATTR_MAX_STACK;

	return s->chain_count >= limit && !(a->sample_type & FIELD_STACK_USER) &&
	       count_frames(s) == limit;
}

/* Hardware's call stack is the user's part: where the newest branch led to is the leaf. */
static void add_branches(struct perffold *pf, const struct perf_sample *s)
{
	perffold_chain_add(pf, CONTEXT_USER);
	perffold_chain_add(pf, s->branches[0].to);
	for (size_t i = 0; i < s->branch_count; i++)
		perffold_chain_add(pf, s->branches[i].from);
}

/* The number that perf gives to the instruction pointer of the recorded machine. */
static unsigned ip_register(const struct perffold *pf)
{
	static const struct {
		const char *start;
		unsigned number;
	} machines[] = {
		{ "x86", 8 }, { "i", 8 }, { "aarch64", 32 }, { "arm64", 32 }, { "arm", 15 },
		{ "riscv", 0 }, { "ppc", 32 }, { "s390", 33 }, { "loongarch", 0 }, { "mips", 0 },
	};
	const struct perfdata_facts *f = pf->options.facts;
	const struct text name = text_of(f && f->architecture ? f->architecture : "x86");

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (text_starts(name, machines[i].start))
			return machines[i].number;
	return 64;
}

/* Of a dump that cannot be unwound the leaf is known all the same. */
static void add_register_leaf(struct perffold *pf, const struct perf_sample *s)
{
	const struct perf_regs *regs = &s->user_regs;
	const unsigned ip = ip_register(pf);

	if (ip >= 64 || !(regs->mask >> ip & 1))
		return;
	perffold_chain_add(pf, CONTEXT_USER);
	perffold_chain_add(pf, regs->values[__builtin_popcountll(regs->mask & ((1ull << ip) - 1))]);
	perffold_chain_add(pf, CONTEXT_TRUNCATED);
}

struct map_finder {
	struct perffold *pf;
	const struct process *process;
};

static bool find_map(void *arg, uint64_t address, struct symbols_map *map)
{
	const struct map_finder *f = arg;
	const struct process_map *m = process_find_map(f->process, address);
	struct process_map below;

	if (!m)
		return false;
	if (process_map_covered(m, &below))
		m = &below;
	*map = perffold_symbols_map(f->pf, f->process, m);
	return true;
}

static enum unwind_machine machine_of(const struct perffold *pf)
{
	const struct perfdata_facts *f = pf->options.facts;

	if (!f || !f->architecture)
		return UNWIND_NATIVE;
	return !strcmp(f->architecture, "aarch64") ? UNWIND_ARM64 : UNWIND_X86_64;
}

static void add_unwound(struct perffold *pf, const struct process *p, const struct perf_sample *s)
{
	struct map_finder finder = { pf, p };
	uint64_t addresses[UNWIND_FRAMES_MAX];
	enum unwind_end end;
	const size_t count = unwind_stack(pf->options.symbols, &(struct unwind_sample){
		.machine = machine_of(pf),
		.abi = s->user_regs.abi,
		.mask = s->user_regs.mask,
		.registers = s->user_regs.values,
		.register_count = s->user_regs.count,
		.stack = { (const char *)s->stack, s->stack_size },
	}, find_map, &finder, addresses, UNWIND_FRAMES_MAX, &end);

	pf->result.unwound[end]++;
	if (!count) {
		add_register_leaf(pf, s);
		return;
	}
	perffold_chain_add(pf, CONTEXT_UNWOUND);
	for (size_t i = 0; i < count; i++)
		perffold_chain_add(pf, addresses[i]);
	if (end != UNWIND_WHOLE)
		perffold_chain_add(pf, CONTEXT_TRUNCATED);
}

/* The chain up to its user part; all of it if it has none. */
static void add_until_user(struct perffold *pf, const struct perf_sample *s)
{
	for (size_t i = 0; i < s->chain_count && s->chain[i] != CONTEXT_USER; i++)
		perffold_chain_add(pf, s->chain[i]);
}

static bool has_call_stack(const struct perf_sample *s)
{
	if (!s->branch_count || !(s->event->attr.branch_type & BRANCH_CALL_STACK))
		return false;
	for (size_t i = 0; i < s->chain_count; i++)
		if (s->chain[i] == CONTEXT_USER)
			return true;
	return false;
}

static bool has_dump(const struct perf_sample *s)
{
	return s->user_regs.abi && (s->event->attr.sample_type & FIELD_STACK_USER);
}

void perffold_chain(struct perffold *pf, const struct process *p, const struct perf_sample *s,
		    const uint64_t **chain, size_t *count)
{
	const bool truncated = is_truncated(s);

	pf->chain_count = 0;
	if (has_dump(s)) {
		add_until_user(pf, s);
		if (pf->options.symbols)
			add_unwound(pf, p, s);
		else
			add_register_leaf(pf, s);
	} else if (has_call_stack(s)) {
		add_until_user(pf, s);
		add_branches(pf, s);
	} else if (s->chain_count && s->chain[0] >= CONTEXT_MAX && !truncated) {
		*chain = s->chain;
		*count = s->chain_count;
		return;
	} else if (s->chain_count > 1 || (s->chain_count && s->chain[0] < CONTEXT_MAX)) {
		if (s->chain[0] < CONTEXT_MAX)
			perffold_chain_add(pf, context_of(s->mode));
		for (size_t i = 0; i < s->chain_count; i++)
			perffold_chain_add(pf, s->chain[i]);
		if (truncated)
			perffold_chain_add(pf, CONTEXT_TRUNCATED);
		pf->result.truncated += truncated;
	} else if (s->ip != NA_U64) {
		perffold_chain_add(pf, context_of(s->mode));
		perffold_chain_add(pf, s->ip);
	}
	*chain = pf->chain;
	*count = pf->chain_count;
}
