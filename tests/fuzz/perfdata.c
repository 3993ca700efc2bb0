/* A perf.data file of anybody's making: it ends, and no sample is folded that was not there. */
#include "common/stack/perfdata.h"

#include <stdlib.h>

#include "common/stack/perffold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfdata *d;
	uint64_t sum = 0;

	if (perfdata_open_memory((struct text){ (const char *)data, size }, "fuzz", &d))
		return 0;
	struct fold *f = fold_new();
	struct perffold *pf = perffold_recording(d, f, &(struct perffold_options){ 0 });
	const struct perffold_result *r = perffold_end(pf);

	for (size_t i = 0; i < r->event_count; i++)
		sum += r->events[i].samples;
	if (r->samples > sum || r->raw_stacks > sum)
		abort();
	for (size_t i = 0; i < perfdata_remark_count(d); i++)
		if (i < PERFDATA_REMARKS_MAX && !perfdata_remark(d, i))
			abort();
	if (perfdata_remark_count(d) == 0 && !perfdata_is_whole(d))
		abort();
	perffold_free(pf);
	fold_free(f);
	perfdata_close(d);
	return 0;
}
