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

/* Is word one of the words of list? */
static bool has_word(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

/* A path and what is below it. */
static bool is_within(const char *inner, const char *outer)
{
	const size_t len = strlen(outer);

	return !strcmp(outer, "/") ||
	       (!strncmp(inner, outer, len) && (!inner[len] || inner[len] == '/'));
}

static bool is_same_thing(const struct finding *f, const struct finding *other)
{
	const char *group = NULL;
	const size_t len = strlen(f->subject);

	for (size_t i = 0; i < f->evidence_count; i++)
		if (f->evidence[i].type == TYPE_TEXT && !strcmp(f->evidence[i].name, "cgroup"))
			group = f->evidence[i].text;
	if (other->subject[0] == '/')
		return !group || is_within(group, other->subject);
	/* comm/pid, and its threads: comm/pid tid N */
	return !strcmp(other->subject, "host") ||
	       (!strncmp(other->subject, f->subject, len) &&
		(!other->subject[len] || other->subject[len] == ' '));
}

bool parts_cover(const struct parts *p, const struct finding *f)
{
	for (size_t i = 0; f->covered_by && i < p->count; i++) {
		struct finding **list;
		const size_t n = out_findings(p->items[i].out, &list);

		for (size_t k = 0; k < n; k++)
			if (has_word(f->covered_by, list[k]->kind->id) &&
			    list[k]->state == STATE_NOW && is_same_thing(f, list[k]))
				return true;
	}
	return false;
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
