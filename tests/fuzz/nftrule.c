/* Any bytes as a rule of nftables. */
#include "common/kernel/nftrule.h"

#include <assert.h>
#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct nft_rule r;

	if (nft_rule_parse(t, &r) == 0) {
		assert(r.table.data >= t.data && r.table.data + r.table.len <= t.data + t.len);
		assert(r.chain.data >= t.data && r.chain.data + r.chain.len <= t.data + t.len);
		assert(r.is_snat || !r.has_address);
	}
	return 0;
}
