/* Any bytes as each kind of stacks, and as what they look like. */
#include "tests/fuzz/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	uint64_t line;

	if (!size)
		return 0;
	assert(stack_kind_of(t) < STACK_KINDS);
	stack_unknown_is(t, &line);
	for (enum stack_kind k = 1; k < STACK_KINDS; k++)
		fuzz_kind(k, data, size);
	return 0;
}
