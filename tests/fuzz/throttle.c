/* A saved "bpf throttle" reply of anybody's making: all rows or none. */
#include "common/kernel/throttle.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct throttle_row *rows = NULL;
	struct throttle_counts counts = { 0 };
	struct arena arena = { 0 };
	size_t count = 0;
	uint64_t sum = 0;

	const struct text reply = { (const char *)data, size };

	if (throttle_parse(reply, &arena, &rows, &count, &counts)) {
		if (rows || count)
			abort();
	} else if (!rows || count > size) {
		abort();
	}
	for (size_t i = 0; i < count; i++)
		sum += rows[i].tid + rows[i].wait_ns + rows[i].throttled_ns + rows[i].unsure_ns;
	*(volatile uint64_t *)&sum = sum;
	arena_free(&arena);
	return 0;
}
