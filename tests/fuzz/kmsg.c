/* A kernel log of anybody's making, raw or dmesg's: it ends, and every record lies inside it. */
#include "common/kernel/kmsg.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct arena arena;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct kmsg_reader r;
	struct kmsg_record m;
	size_t records = 0;

	kmsg_start(&r, &arena, t);
	r.boot_realtime_ns = size;
	while (kmsg_next(&r, &m) == 1) {
		if (++records > size || m.raw.data < t.data || !m.raw.len ||
		    m.raw.data + m.raw.len > t.data + t.len || m.text.len > m.raw.len ||
		    m.kind >= KMSG_KINDS)
			abort();
		if (m.priority >> 3 && m.kind != KMSG_OTHER)
			abort();
	}
	if (r.left.len || r.garbled > size || r.lost == NA_U64)
		abort();
	arena_reset(&arena);
	return 0;
}
