/* Folded text on stdin to SVG on stdout: what the browser tests look at. Options as words. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/fail.h"
#include "common/base/buf.h"
#include "common/stack/flamegraph.h"
#include "common/stack/stacktext.h"

#define CHUNK (1u << 20)

static const char *const palettes[] = {
	"on-cpu", "off-cpu", "memory", "wakeup", "chain", "kinds",
};

static void take_word(struct flamegraph *g, const char *word)
{
	const struct text t = text_of(word);

	g->is_icicle |= text_is(t, "icicle");
	g->is_negated |= text_is(t, "negated");
	if (text_is(t, "difference"))
		g->sides = FLAMEGRAPH_DIFFERENCE;
	if (text_is(t, "hot-cold"))
		g->sides = FLAMEGRAPH_HOT_COLD;
	if (text_is(t, "fixed"))
		g->width = FLAMEGRAPH_WIDTH;
	if (text_starts(t, "unit="))
		g->unit = word + strlen("unit=");
	if (text_is(t, "everything"))
		g->min_width = -1;
	for (size_t i = 0; i < sizeof(palettes) / sizeof(palettes[0]); i++)
		if (text_is(t, palettes[i]))
			g->palette = (enum flamegraph_palette)i;
}

int main(int argc, char **argv)
{
	struct flamegraph_result result;
	struct flamegraph g = { .result = &result };
	struct stack_options o = { 0 };
	struct buf all = { 0 };
	struct fold *f = fold_new();
	size_t got;

	for (int i = 1; i < argc; i++)
		take_word(&g, argv[i]);
	do {
		buf_reserve(&all, CHUNK);
		got = fread(all.data + all.len, 1, CHUNK, stdin);
		all.len += got;
	} while (got);
	struct stack_reader *r = stack_reader_new(g.sides == FLAMEGRAPH_ONE ? STACK_FOLDED :
						  STACK_FOLDED_TWO, f, &o);

	stack_reader_feed(r, buf_text(&all));
	stack_reader_end(r);
	const int err = flamegraph_write(f, &g, stdout);

	if (err < 0 || fflush(stdout))
		fprintf(stderr, "%s\n", fail_text());
	fprintf(stderr, "%u frames, %u dropped, %u too deep, %u gone, %u rows, %.3f px\n",
		result.frames, result.dropped, result.too_deep, result.gone, result.depth,
		result.min_width);
	stack_reader_free(r);
	fold_free(f);
	buf_free(&all);
	return err < 0 ? 3 : 0;
}
