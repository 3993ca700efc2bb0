/* A saved "bpf handshake" reply of anybody's making: all rows or none. */
#include "common/kernel/handshake.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct handshake_row *rows = NULL;
	struct arena arena = { 0 };
	size_t count = 0;
	uint64_t lost = 0, sum = 0;

	const struct text reply = { (const char *)data, size };

	if (handshake_parse(reply, &arena, &rows, &count, &lost)) {
		if (rows || count)
			abort();
	} else if (!rows || count > size) {
		abort();
	}
	for (size_t i = 0; i < count; i++)
		sum += rows[i].place.netns + rows[i].place.port + rows[i].count.arrived;
	*(volatile uint64_t *)&sum = sum;
	arena_free(&arena);
	return 0;
}
