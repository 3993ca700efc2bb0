/* Any bytes as each file of the memory controller. */
#include "common/kernel/memcg.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing is derived that is more than its parts. */
static void check_derived(const struct memcg *m)
{
	uint64_t set = memcg_working_set(m), left = memcg_reclaimable(m);

	assert(set == NA_U64 || set <= m->usage_bytes);
	assert(left == NA_U64 || m->inactive_file_bytes != NA_U64);
	memcg_unreclaimable(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };

	for (int version = 1; version <= 2; version++) {
		struct memcg m = memcg_unknown;
		uint64_t bytes;

		if (!memcg_parse_bytes(t, &bytes)) {
			assert(bytes != NA_U64);
			m.usage_bytes = bytes;
		}
		memcg_parse_stat(t, version, &m);
		memcg_parse_events(t, version == 1, &m);
		memcg_parse_oom_control(t, &m);
		/* a line without its newline says nothing */
		assert(size == 0 || memchr(data, '\n', size) ||
		       !memcmp(&m.limit_bytes, &memcg_unknown.limit_bytes, sizeof(m.limit_bytes)));
		m.usage_bytes = 1u << 20;
		check_derived(&m);
	}
	return 0;
}
