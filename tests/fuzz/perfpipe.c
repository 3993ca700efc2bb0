/* A stream of records of anybody's making, as it comes through a pipe: piece by piece. */
#include <stdlib.h>
#include <string.h>

#include "common/stack/perfdata.h"
#include "common/stack/perffold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char header[16] = "PERFILE2\x10";
	const bool has_header = size >= 8 && !memcmp(data, header, 8);
	const size_t head = has_header ? 0 : sizeof(header), whole = head + size;
	char *stream = malloc(whole ? whole : 1);
	struct perf_record r;
	struct perfdata *d;

	if (!stream)
		abort();
	memcpy(stream, header, head);
	memcpy(stream + head, data, size);
	if (perfdata_open_memory((struct text){ stream, whole }, "fuzz", &d)) {
		free(stream);
		return 0;
	}
	struct fold *f = fold_new();
	struct perffold *pf = perffold_new(f, &(struct perffold_options){
		.facts = perfdata_facts(d),
	});
	size_t records = 0;

	while (perfdata_next(d, &r)) {
		if (r.size < RECORD_HEADER || r.type >= RECORD_USER || (uintptr_t)r.bytes % 8)
			abort();
		records++;
		perffold_take(pf, perfdata_events(d), &r);
	}
	if (perffold_end(pf)->samples && !records)
		abort();
	perffold_free(pf);
	fold_free(f);
	perfdata_close(d);
	free(stream);
	return 0;
}
