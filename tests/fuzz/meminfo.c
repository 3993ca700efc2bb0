/* Any bytes as /proc/meminfo and /proc/vmstat, asked for every word that is in them. */
#include "common/kernel/meminfo.h"

#include <assert.h>

#include "common/base/mem.h"
#include "common/base/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct scan s = scan_of(t);
	struct arena arena = { 0 };
	struct text word;
	unsigned words = 0;

	if (size > 65536)
		return 0;
	meminfo_bytes(t, "MemAvailable");
	vmstat_sum(t, "allocstall");
	for (; words < 64 && s.at < s.end; s.at++)
		for (; words < 64 && scan_word(&s, &word); words++) {
			const char *key = arena_text(&arena, word);
			uint64_t bytes = meminfo_bytes(t, key), count = vmstat_count(t, key);

			assert(bytes == NA_U64 || bytes % 1024 == 0);
			vmstat_sum(t, key);
			/* a line without its newline says nothing */
			assert(memchr(data, '\n', size) || (bytes == NA_U64 && count == NA_U64));
		}
	arena_free(&arena);
	return 0;
}
