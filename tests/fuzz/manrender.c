/* A man page of anybody's making, at a width its last byte says: what comes out is printable. */
#include "common/report/roff.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text source = { (const char *)data, size };
	struct buf plain = { 0 }, bold = { 0 };
	unsigned width = size ? data[size - 1] : 80;

	roff_render(source, width, false, &plain);
	for (size_t i = 0; i < plain.len; i++)
		if ((unsigned char)plain.data[i] < ' ' && plain.data[i] != '\n')
			abort();
	roff_render(source, width, true, &bold);
	if (bold.len < plain.len)
		abort();
	buf_free(&plain);
	buf_free(&bold);
	return 0;
}
