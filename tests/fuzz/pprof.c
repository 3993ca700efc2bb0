/* Any bytes as pprof's protobuf. */
#include "tests/fuzz/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_kind(STACK_PPROF, data, size);
	return 0;
}
