/* Saved sums of polls of anybody's making: all of them or none, and what is read can be written. */
#include "common/kernel/acceptq.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct acceptq q = { 0 }, again = { 0 };
	struct arena arena = { 0 };
	struct buf b = { 0 };

	if (acceptq_parse((struct text){ (const char *)data, size }, &arena, &q)) {
		if (q.queues || q.workers)
			abort();
	} else {
		if (q.queue_count + q.worker_count > size)
			abort();
		acceptq_write(&q, &b);
		if (acceptq_parse(buf_text(&b), &arena, &again) ||
		    again.queue_count != q.queue_count || again.worker_count != q.worker_count)
			abort();
	}
	buf_free(&b);
	arena_free(&arena);
	return 0;
}
