/* Saved waits of anybody's making: what is taken can be written, and read again. */
#include "common/stack/waits.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct waits w = { 0 }, again = { 0 };
	struct buf first = { 0 }, second = { 0 };

	if (!waits_parse((struct text){ (const char *)data, size }, &w)) {
		waits_write(&w, &first);
		if (waits_parse(buf_text(&first), &again))
			abort();
		waits_write(&again, &second);
		if (!text_equals(buf_text(&first), buf_text(&second)))
			abort();
	}
	waits_free(&w);
	waits_free(&again);
	buf_free(&first);
	buf_free(&second);
	return 0;
}
