/* Any bytes as perf script's text. */
#include "tests/fuzz/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_kind(STACK_PERF_SCRIPT, data, size);
	return 0;
}
