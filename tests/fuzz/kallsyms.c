/* A list of kernel symbols of anybody's making: what is found lies below the address asked for. */
#include "common/stack/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct kallsyms *k, uint64_t address)
{
	struct kallsyms_symbol found;

	if (kallsyms_find(k, address, &found) &&
	    (found.start > address || !*found.name ||
	     (found.module.len && *found.module.data != '[')))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = { 0 };
	uint64_t address = 0;

	buf_add(&text, data, size);
	struct kallsyms *k = kallsyms_new(&text);

	if (text.data || kallsyms_skipped(k) > size || kallsyms_state(k) > KALLSYMS_HIDDEN)
		abort();
	if (size >= 8)
		memcpy(&address, data + size - 8, 8);
	ask(k, address);
	ask(k, 0);
	ask(k, UINT64_MAX);
	kallsyms_mark(k, "_text", &address);
	ask(k, address);
	kallsyms_free(k);
	return 0;
}
