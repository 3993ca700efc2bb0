/* Any bytes as ctnetlink's message of a flow, and as lines of /proc/net/nf_conntrack. */
#include "common/kernel/flow.h"

#include <assert.h>
#include <stddef.h>

#include "common/base/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct flow *f)
{
	struct arena a = { 0 };
	struct flow_filter filter = { .status_mask = FLOW_ASSURED };

	assert(flow_state_name(flow_state(f)));
	assert(flow_protocol_name(&a, f->protocol));
	assert(flow_address_text(&a, f->family, f->original.src));
	assert(flow_matches(&filter, f) == !(f->status & FLOW_ASSURED));
	filter.src = (struct flow_net){ true, f->family, 128, { 0 } };
	flow_matches(&filter, f);
	assert(flow_fingerprint(f) == flow_fingerprint(f));
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct text t = { (const char *)data, size };
	struct scan s = scan_of(t);
	struct text line;
	struct flow f;

	if (flow_parse_message(t, &f) == 0)
		look(&f);
	while (scan_line(&s, &line))
		if (flow_parse_line(line, &f) == 0)
			look(&f);
	return 0;
}
