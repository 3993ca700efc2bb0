/* Debug information of anybody's making: what is asked of it is answered, within bounds. */
#include "common/stack/elfsym_inline.h"

#include <stdlib.h>
#include <string.h>

#define FOUND 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct elfsym_inline *i, uint64_t address)
{
	struct inlined_function found[FOUND];
	const size_t n = elfsym_inline_find(i, address, found, FOUND);

	if (n > FOUND)
		abort();
	for (size_t k = 0; k < n; k++)
		if ((found[k].name && strlen(found[k].name) == SIZE_MAX) ||
		    (found[k].file && strlen(found[k].file) == SIZE_MAX))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *image = malloc(size + 1);
	uint64_t address = 0;

	memcpy(image, data, size);
	if (size >= 8)
		memcpy(&address, data + size - 8, 8);
	struct elfsym_file *f = elfsym_file_new(image, size);
	struct elfsym_inline *i = f ? elfsym_inline_new(f, NULL) : NULL;

	if (i)
		for (uint64_t at = 0x280; at < 0x1400; at += 0x30)
			ask(i, at);
	if (i)
		ask(i, address);
	elfsym_inline_free(i);
	elfsym_file_free(f);
	free(image);
	return 0;
}
