#include "applets/parts.h"

#include <errno.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/kernel/source.h"

static void refuse(struct part *part)
{
	part->refused = mem_strdup(fail_text());
}

static void add(struct parts *p, const struct applet *applet, const struct mode *mode)
{
	char *argv[] = { (char *)applet->name, NULL };

	if (p->count == PARTS_MAX)
		return;
	struct part *part = &p->items[p->count++];

	*part = (struct part){ .applet = applet, .mode = mode, .out = out_collect(applet->name) };
	if (mode->start && mode->start(1, argv) < 0)
		refuse(part);
	part->is_started = true;
}

int parts_start(struct parts *p, const struct applet *only, const char *option)
{
	*p = (struct parts){ 0 };
	for (size_t i = 0; applets[i]; i++)
		for (size_t m = 0; applets[i]->modes[m]; m++) {
			const struct mode *mode = applets[i]->modes[m];
			bool is_wanted =
				only ? applets[i] == only &&
						!strcmp(mode->option ? mode->option : "", option)
				     : mode->in_triage;

			if (is_wanted && mode->look)
				add(p, applets[i], mode);
		}
	return p->count ? 0
			: fail(ENOENT, "%s %s has no looks to run", only ? only->name : "triage",
			       option ? option : "");
}

void parts_look(struct parts *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct part *part = &p->items[i];

		out_frame_begin(part->out, src_frame()->realtime_ns);
		if (!part->refused && part->mode->look(part->out) < 0)
			refuse(part);
		part->poll_ns = part->refused || !part->mode->poll ? NA_U64 : 0;
	}
}

uint64_t parts_poll(struct parts *p)
{
	uint64_t first_ns = NA_U64, now_ns;

	for (size_t i = 0; i < p->count; i++) {
		struct part *part = &p->items[i];

		if (part->poll_ns <= src_now_ns() && part->poll_ns != NA_U64) {
			uint64_t next_ns = part->mode->poll();

			part->poll_ns = next_ns ? src_now_ns() + next_ns : NA_U64;
		}
		if (part->poll_ns < first_ns)
			first_ns = part->poll_ns;
	}
	now_ns = src_now_ns();
	if (first_ns == NA_U64)
		return 0;
	return first_ns > now_ns ? first_ns - now_ns : 1;
}

void parts_stop(struct parts *p)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->items[i].mode->stop && p->items[i].is_started)
			p->items[i].mode->stop();
		out_close(p->items[i].out);
	}
	p->count = 0;
}
