/* Any bytes as a file of speedscope's. */
#include "tests/fuzz/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_kind(STACK_SPEEDSCOPE, data, size);
	return 0;
}
