/* Any bytes as folded stacks, with one weight and with two. */
#include "tests/fuzz/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_kind(STACK_FOLDED, data, size);
	fuzz_kind(STACK_FOLDED_TWO, data, size);
	return 0;
}
