/* What was folded, in the form that was asked for. */
#include <errno.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/fail.h"
#include "common/report/redact.h"
#include "common/stack/pprof_write.h"
#include "common/stack/speedscope_write.h"
#include "version.h"

static int write_svg(struct out *out, const struct profile *p, bool is_difference)
{
	struct flamegraph g = asked.picture;
	struct flamegraph_result result = { 0 };

	g.unit = typed.unit ? typed.unit : p->unit;
	g.result = &result;
	if (is_difference)
		g.sides = typed.hot_cold ? FLAMEGRAPH_HOT_COLD : FLAMEGRAPH_DIFFERENCE;
	const int err = flamegraph_write(p->fold, &g, out_stream(out));

	if (err < 0)
		return err;
	if (result.too_deep)
		out_missing(out, "picture: frames deeper than %u are not drawn: %u of them",
			    FLAMEGRAPH_DEPTH_MAX, result.too_deep);
	if (result.gone && !typed.negate)
		out_note(out, "picture: %u frames that vanished have no width here: --negate shows "
			      "them", result.gone);
	if (result.dropped && result.frames <= 1)
		out_note(out, "picture: no frame is wide enough: %u of them are narrower than %.3g "
			      "pixels (--min-width)", result.dropped, result.min_width);
	else if (result.dropped && shared.verbose)
		out_note(out, "picture: %u frames narrower than %.3g pixels left out (--min-width)",
			 result.dropped, result.min_width);
	return 0;
}

/* Nanoseconds and bytes have names of their own in both formats. */
static const char *weight_unit(const struct profile *p)
{
	return typed.unit ? typed.unit : p->unit ? p->unit : "samples";
}

int output_write(struct out *out, const struct profile *p, bool is_difference)
{
	const struct profile_name what = {
		.name = p->event, .unit = weight_unit(p), .program = "perfbox " PERFBOX_VERSION,
	};

	if (redact_is_on() && asked.output < OUTPUT_FUNCTIONS)
		return fail(EPERM, "--redact: a profile is made of names: only tables are "
			    "redacted");
	switch (asked.output) {
	case OUTPUT_FOLDED:
		return fold_write(p->fold, is_difference, out_stream(out));
	case OUTPUT_SVG:
		return write_svg(out, p, is_difference);
	case OUTPUT_PPROF:
		return pprof_write(p->fold, &what, out_stream(out));
	case OUTPUT_SPEEDSCOPE:
		return speedscope_write(p->fold, &what, out_stream(out));
	case OUTPUT_FUNCTIONS:
		functions_show(out, p, is_difference);
		return 0;
	case OUTPUT_STACKS:
		stacks_show(out, p, is_difference);
		return 0;
	}
	return 0;
}

struct finding *note_start(struct out *out, const char *id, const char *subject)
{
	return finding_start(out_arena(out), flamefold_findings, id, STATE_NOTE, subject);
}

void note_tell(struct out *out, struct finding *f)
{
	if (asked.output >= OUTPUT_FUNCTIONS)
		out_finding(out, f);
	else
		out_note(out, "%s: %s: %s%s%s", f->kind->id, f->subject, f->text,
			 f->next ? "; next: " : "", f->next ? f->next : "");
}
