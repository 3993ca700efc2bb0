/* A JIT's map of anybody's making: what is found is a part of it, and covers what was asked for. */
#include "common/stack/perfmap.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct perfmap *m, struct text all, uint64_t address)
{
	struct text name;
	uint64_t start;

	if (perfmap_find(m, address, &name, &start) &&
	    (start > address || !name.len || name.data < all.data ||
	     name.data + name.len > all.data + all.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text all = { (const char *)data, size };
	struct perfmap *m = perfmap_new(all);
	uint64_t address = 0;

	if (perfmap_count(m) + perfmap_skipped(m) > size)
		abort();
	if (size >= 8)
		memcpy(&address, data + size - 8, 8);
	ask(m, all, address);
	for (unsigned i = 0; i < 64; i += 4)
		ask(m, all, 1ull << i);
	perfmap_free(m);
	return 0;
}
