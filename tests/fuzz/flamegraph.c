/*
 * Folded text of anybody's making to a picture: it is well-formed XML. The first two bytes choose
 * what is drawn; the title is the text as well.
 */
#include "common/stack/flamegraph.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/stack/flamegraph_impl.h"
#include "common/stack/stacktext.h"
#include "tests/unit/xml.h"

#define TITLE_MAX 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(const struct fold *f, const struct flamegraph *g)
{
	char *svg = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&svg, &len);

	if (!to || flamegraph_write(f, g, to) || fclose(to) ||
	    !xml_is_well_formed((struct text){ svg, len }))
		abort();
	/* a name that looks like one is escaped, and the script itself holds none */
	const char *script = memmem(svg, len, "<script", 7);

	if (!script || memmem(script + 1, (size_t)(svg + len - script - 1), "<script", 7))
		abort();
	if (g->result->frames + (uint64_t)g->result->dropped + g->result->too_deep +
	    g->result->gone > fold_count(f))
		abort();
	free(svg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char title[TITLE_MAX + 1] = "";
	struct flamegraph_result result;
	struct stack_options o = { 0 };

	if (size < 2)
		return 0;
	const struct text t = { (const char *)data + 2, size - 2 };

	memcpy(title, t.data, t.len < TITLE_MAX ? t.len : TITLE_MAX);
	const struct flamegraph g = {
		.title = title, .subtitle = data[0] & 1 ? title : NULL,
		.unit = data[0] & 2 ? title : NULL,
		.width = data[0] & 4 ? 300 : 0, .min_width = (data[0] >> 3 & 3) - 1,
		.is_icicle = data[0] & 32, .is_negated = data[0] & 64,
		.sides = data[1] % 3, .palette = data[1] / 3 % (FLAMEGRAPH_KINDS + 1),
		.result = &result,
	};
	struct fold *f = fold_new();
	struct stack_reader *r = stack_reader_new(g.sides == FLAMEGRAPH_ONE ? STACK_FOLDED :
						  STACK_FOLDED_TWO, f, &o);

	stack_reader_feed(r, t);
	stack_reader_end(r);
	draw(f, &g);
	stack_reader_free(r);
	fold_free(f);
	return 0;
}
