/* A saved "bpf runqhist" reply of anybody's making: all rows or none, and quantiles that hold. */
#include "common/kernel/runqhist.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/base/na.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text reply = { (const char *)data, size };
	const struct runqhist_row *rows = NULL;
	struct runqhist_counts counts = { 0 };
	struct arena arena = { 0 };
	size_t count = 0;

	if (runqhist_parse(reply, &arena, &rows, &count, &counts)) {
		if (rows || count)
			abort();
	} else if (!rows || count > size) {
		abort();
	}
	for (size_t i = 0; i < count; i++) {
		const uint64_t half = runqhist_quantile(&rows[i], 0.5),
			       most = runqhist_quantile(&rows[i], 1);

		if ((half == NA_U64) != (most == NA_U64) || half > most)
			abort();
	}
	arena_free(&arena);
	return 0;
}
