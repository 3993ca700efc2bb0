/* Stacks as folded text, pictures and profiles. */
#include <errno.h>
#include <string.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/report/redact.h"
#include "common/stack/flamegraph.h"
#include "common/stack/pprof_write.h"
#include "version.h"

#define CHAIN_MAX 32

static uint32_t add_text(struct fold *f, uint32_t at, const char *text)
{
	return fold_child(f, at, text_of(text));
}

static uint32_t add_stack(struct fold *f, uint32_t at, const struct waits *w, uint32_t stack)
{
	const struct wait_stack *s = &w->stacks[stack];

	for (uint32_t i = stack ? s->count : 0; i > 0; i--)
		at = add_text(f, at, w->frames[s->frames[i - 1]].name);
	return at;
}

static uint32_t add_waker_text(struct fold *f, uint32_t at, const char *text)
{
	struct buf b = { 0 };

	buf_printf(&b, "%s_[w]", text);
	at = fold_child(f, at, buf_text(&b));
	buf_free(&b);
	return at;
}

/* The other way round, so that what woke stands next to what was woken. */
static uint32_t add_waker_stack(struct fold *f, uint32_t at, const struct waits *w, uint32_t stack)
{
	const struct wait_stack *s = &w->stacks[stack];

	for (uint32_t i = 0; stack && i < s->count; i++)
		at = add_waker_text(f, at, w->frames[s->frames[i]].name);
	return at;
}

static uint32_t add_chain(struct fold *f, uint32_t at, const struct waits *w, uint32_t chain)
{
	for (unsigned n = 0; chain && n < CHAIN_MAX; n++) {
		const struct wait_chain *c = &w->chains[chain];

		at = add_text(f, at, "--");
		at = add_waker_stack(f, at, w, c->kernel);
		at = add_waker_stack(f, at, w, c->user);
		at = add_waker_text(f, at, c->thread ? w->threads[c->thread].comm : "[interrupt]");
		chain = c->parent;
	}
	return at;
}

static uint32_t add_root(struct fold *f, uint32_t at, const char *root)
{
	struct buf b = { 0 };

	buf_add_text(&b, root);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == ' ')
			b.data[i] = '_';
	at = fold_child(f, at, buf_text(&b));
	buf_free(&b);
	return at;
}

uint32_t output_place(struct fold *f, const struct waits *w, const struct wait_group *g)
{
	uint32_t at = FOLD_ROOT;

	if (g->is_idle) {
		at = add_text(f, at, "idle");
		at = add_text(f, at, wait_cause_name(g->cause));
	}
	if (g->root)
		at = add_root(f, at, g->root);
	if (!g->user && !g->is_kernel && !window.kernel_only && !(g->flags & WAIT_NEW))
		at = add_text(f, at, g->flags & WAIT_NO_USER ? "[lost]" : "[missed]");
	at = add_stack(f, at, w, g->user);
	if (!g->kernel && !window.user_only)
		at = add_text(f, at, g->flags & WAIT_NO_KERNEL ? "[lost]" : "[missed]");
	at = add_stack(f, at, w, g->kernel);
	return add_chain(f, at, w, g->chain);
}

/* unit_ns: what a weight of 1 is. */
static void weigh(struct fold *f, uint32_t node, uint64_t ns, uint64_t unit_ns)
{
	if (!ns || node == FOLD_FULL)
		return;
	fold_add(f, node, 0, ns / unit_ns);
	if (ns % unit_ns)
		fold_add_part(f, node, 0, (double)(ns % unit_ns) / (double)unit_ns);
}

static void weigh_part(struct fold *f, uint32_t node, const char *part, uint64_t ns,
		       uint64_t unit_ns)
{
	/* one part alone needs no name */
	if (ns && window.parts == PART_ALL)
		node = add_text(f, node, part);
	weigh(f, node, ns, unit_ns);
}

static void add_group(struct fold *f, const struct view *v, const struct wait_group *g,
		      uint64_t unit_ns)
{
	const uint32_t node = output_place(f, v->waits, g);
	const uint64_t waited = g->wait_ns + g->preempted_ns;
	/* throttled is a part of one of the two; which one it is, rows do not mix */
	uint64_t throttled = g->throttled_ns < waited ? g->throttled_ns : waited;
	uint64_t woken = g->wait_ns, preempted = g->preempted_ns;

	if (window.parts != PART_ALL)
		throttled = 0;
	if (throttled <= preempted)
		preempted -= throttled;
	else if (throttled <= woken)
		woken -= throttled;
	else
		woken -= throttled - preempted, preempted = 0;
	weigh(f, node, g->sleep_ns, unit_ns);
	weigh_part(f, node, "[runnable]", woken, unit_ns);
	weigh_part(f, node, "[preempted]", preempted, unit_ns);
	weigh_part(f, node, "[throttled]", throttled, unit_ns);
}

static int write_svg(struct out *out, const struct fold *f)
{
	const struct flamegraph g = {
		.title = window.title ? window.title : "Off-CPU time", .unit = "us",
		.palette = window.wakers ? FLAMEGRAPH_CHAIN : FLAMEGRAPH_OFF_CPU,
	};

	return flamegraph_write(f, &g, out_stream(out));
}

int output_write_window(struct out *out, const struct view *v)
{
	const struct profile_name what = {
		.name = "off-cpu", .unit = "ns", .program = "perfbox " PERFBOX_VERSION,
	};
	const uint64_t unit_ns = window.output == OUTPUT_PPROF ? 1 : 1000;

	if (redact_is_on())
		return fail(EPERM, "--redact: a profile is made of names: only tables are "
			    "redacted");
	struct fold *f = fold_new();
	int err;

	for (size_t i = 0; i < v->count; i++)
		add_group(f, v, &v->groups[i], unit_ns);
	if (window.output == OUTPUT_FOLDED)
		err = fold_write(f, false, out_stream(out));
	else if (window.output == OUTPUT_SVG)
		err = write_svg(out, f);
	else
		err = pprof_write(f, &what, out_stream(out));
	fold_free(f);
	return err;
}
