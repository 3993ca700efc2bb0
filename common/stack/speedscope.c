/*
 * speedscope's files (speedscope.app/file-format-schema.json): frames shared by profiles, of which
 * each is a list of stacks with weights ("sampled") or of frames that open and close ("evented").
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/na.h"
#include "common/stack/json.h"
#include "common/stack/stacktext_impl.h"

#define SPEEDSCOPE_FRAMES_MAX (64u << 20)

struct speedscope {
	struct stack_reader *r;
	uint32_t *frames;              /* the name of each */
	size_t frame_count, cap;
	struct buf text;
	bool is_named;                 /* several profiles: their names tell them apart */
};

struct profile {
	struct text type, name, unit;
	struct json samples, weights, events;  /* in front of each; a broken one: not there */
	double start;
};

bool stack_is_speedscope(struct text start)
{
	struct json j = json_of(start);

	return json_enter(&j, '{') && (json_peek(&j) == '"' || json_peek(&j) == '}') &&
	       (memmem(start.data, start.len, "speedscope", 10) ||
		(memmem(start.data, start.len, "\"shared\"", 8) &&
		 memmem(start.data, start.len, "\"frames\"", 8)));
}

/* {"name": "main", "file": "main.c", "line": 12} */
static void take_frame(struct speedscope *p, struct json *j)
{
	const struct text none = { "", 0 };
	struct text key, name = none, file = none;
	double line = NA_F64;
	uint32_t names[FRAME_NAMES_MAX];

	if (!json_enter(j, '{')) {
		json_skip(j);
		j->is_broken = true;
		return;
	}
	while (json_next(j, '}') && json_key(j, &key)) {
		if (!(text_is(key, "name") && json_string(j, &name)) &&
		    !(text_is(key, "file") && json_string(j, &file)) &&
		    !(text_is(key, "line") && json_number(j, &line)))
			json_skip(j);
	}
	buf_reset(&p->text);
	json_unescape(&p->text, name);
	const size_t name_len = p->text.len;
	file = stack_base_name(file);
	json_unescape(&p->text, file);
	if (file.len && line >= 1 && line < 1e9)
		buf_printf(&p->text, ":%.0f", line);
	const struct text all = buf_text(&p->text);

	frame_names(p->r->fold, &p->r->options.frame,
		    &(struct frame_source){ .symbol = { all.data, name_len },
					    .object = none,
					    .line = { all.data + name_len, all.len - name_len } },
		    names);
	p->frames = mem_grow(p->frames, &p->cap, p->frame_count + 1, sizeof(*p->frames));
	p->frames[p->frame_count++] = names[0];
}

static void take_shared(struct speedscope *p, struct json *j)
{
	struct text key;

	if (!json_enter(j, '{')) {
		json_skip(j);
		return;
	}
	while (json_next(j, '}') && json_key(j, &key)) {
		if (!text_is(key, "frames") || !json_enter(j, '[')) {
			json_skip(j);
			continue;
		}
		while (json_next(j, ']') && p->frame_count < SPEEDSCOPE_FRAMES_MAX)
			take_frame(p, j);
	}
}

/* What one of the unit counts for, and what is counted. */
static double factor_of(struct text unit, const char **base)
{
	static const struct {
		const char *name, *base;
		double factor;
	} units[] = {
		{ "nanoseconds", "ns", 1 }, { "microseconds", "ns", 1e3 },
		{ "milliseconds", "ns", 1e6 }, { "seconds", "ns", 1e9 }, { "bytes", "bytes", 1 },
	};

	*base = NULL;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (text_is(unit, units[i].name)) {
			*base = units[i].base;
			return units[i].factor;
		}
	return 1;
}

/* Folds the stack at hand, which is in the reader's names. */
static void fold_stack(struct speedscope *p, const struct profile *f, double weight)
{
	struct stack_reader *r = p->r;
	const struct text none = { "", 0 };
	struct stack_task task = { none, none, none, none, none };
	const char *base;
	const double factor = factor_of(f->unit, &base);

	buf_reset(&p->text);
	json_unescape(&p->text, f->name);
	if (p->is_named)
		task.comm = buf_text(&p->text);
	if (stack_count_event(r, TEXT(""), true) && stack_filter_wants(r->filter, NA_F64, NA_U64)) {
		stack_event(r, TEXT(""))->unit = base;
		stack_emit(r, &task,
			   r->options.weighs_samples ? 1 : stack_scaled(weight, factor));
	}
	r->count = 0;
}

/* [0, 1, 2], root first, into the reader's names, leaf first. */
static bool take_stack(struct speedscope *p, struct json *j)
{
	struct stack_reader *r = p->r;
	size_t index;

	r->count = 0;
	if (!json_enter(j, '[')) {
		j->is_broken = true;
		return false;
	}
	while (json_next(j, ']')) {
		if (!json_index(j, p->frame_count, &index))
			return false;
		if (stack_is_full(r))
			continue;
		r->names = mem_grow(r->names, &r->cap, r->count + 1, sizeof(*r->names));
		r->names[r->count++] = p->frames[index];
	}
	for (size_t i = 0; i < r->count / 2; i++) {
		const uint32_t name = r->names[i];

		r->names[i] = r->names[r->count - 1 - i];
		r->names[r->count - 1 - i] = name;
	}
	return !j->is_broken;
}

static void take_samples(struct speedscope *p, struct profile *f)
{
	const bool has_weights = json_enter(&f->weights, '[');
	double weight = 1;

	if (!json_enter(&f->samples, '['))
		return;
	while (json_next(&f->samples, ']') && take_stack(p, &f->samples)) {
		if (has_weights &&
		    (!json_next(&f->weights, ']') || !json_number(&f->weights, &weight))) {
			stack_fail(p->r, "fewer weights than samples");
			return;
		}
		fold_stack(p, f, weight);
	}
}

/* {"type": "O", "frame": 0, "at": 1.5} */
static bool take_event(struct speedscope *p, struct json *j, bool *opens, size_t *frame, double *at)
{
	struct text key, type = { "", 0 };
	bool has_frame = false, has_at = false;

	if (!json_enter(j, '{')) {
		j->is_broken = true;
		return false;
	}
	while (json_next(j, '}') && json_key(j, &key)) {
		if (text_is(key, "frame"))
			has_frame = json_index(j, p->frame_count, frame);
		else if (text_is(key, "at"))
			has_at = json_number(j, at);
		else if (!(text_is(key, "type") && json_string(j, &type)))
			json_skip(j);
	}
	*opens = text_is(type, "O");
	if (!has_frame || !has_at || (!*opens && !text_is(type, "C")))
		j->is_broken = true;
	return !j->is_broken;
}

static void take_events(struct speedscope *p, struct profile *f)
{
	struct stack_reader *r = p->r;
	uint32_t *open = NULL;
	size_t depth = 0, cap = 0, frame;
	double last = f->start, at;
	bool opens;

	if (!json_enter(&f->events, '['))
		return;
	while (json_next(&f->events, ']') && take_event(p, &f->events, &opens, &frame, &at)) {
		if (depth && at > last) {
			r->names = mem_grow(r->names, &r->cap, depth, sizeof(*r->names));
			for (r->count = 0; r->count < depth; r->count++)
				r->names[r->count] = open[depth - 1 - r->count];
			fold_stack(p, f, at - last);
		}
		last = at;
		r->result.deep_stacks += opens && depth == STACK_FRAMES_MAX;
		if (opens && depth < STACK_FRAMES_MAX) {
			open = mem_grow(open, &cap, depth + 1, sizeof(*open));
			open[depth++] = p->frames[frame];
			continue;
		}
		/* one that closes under others closes them, too */
		for (size_t i = depth; !opens && i-- > 0;)
			if (open[i] == p->frames[frame]) {
				depth = i;
				break;
			}
	}
	free(open);
}

static void take_profile(struct speedscope *p, struct json *j)
{
	const struct json absent = { "", "", true };
	const struct text none = { "", 0 };
	struct profile f = { none, none, none, absent, absent, absent, 0 };
	struct text key;

	if (!json_enter(j, '{')) {
		json_skip(j);
		return;
	}
	while (json_next(j, '}') && json_key(j, &key)) {
		struct json *list = text_is(key, "samples") ? &f.samples :
			text_is(key, "weights") ? &f.weights :
			text_is(key, "events") ? &f.events : NULL;

		if (list) {
			*list = *j;
			json_skip(j);
		} else if (!(text_is(key, "type") && json_string(j, &f.type)) &&
			   !(text_is(key, "name") && json_string(j, &f.name)) &&
			   !(text_is(key, "unit") && json_string(j, &f.unit)) &&
			   !(text_is(key, "startValue") && json_number(j, &f.start))) {
			json_skip(j);
		}
	}
	if (j->is_broken)
		return;
	const bool is_evented = text_is(f.type, "evented");
	struct json *read = is_evented ? &f.events : &f.samples;

	if (is_evented)
		take_events(p, &f);
	else
		take_samples(p, &f);
	if (read->is_broken) {
		/* where it went wrong is where reading ends */
		j->is_broken = true;
		if (read->at != absent.at)
			j->at = read->at;
	}
}

/* Calls take for each value of the list or object behind `name`; how many there were. */
static size_t each_profile(struct speedscope *p, struct json *j,
			   void (*take)(struct speedscope *p, struct json *j))
{
	size_t n = 0;

	if (!json_enter(j, '[')) {
		json_skip(j);
		return 0;
	}
	for (; json_next(j, ']'); n++) {
		if (take)
			take(p, j);
		else
			json_skip(j);
	}
	return n;
}

/* All keys of the file's object: frames and how many profiles first, then the profiles. */
static void take_file(struct speedscope *p, struct json *j, bool is_second)
{
	struct text key;
	size_t profiles = 0;

	if (!json_enter(j, '{')) {
		j->is_broken = true;
		return;
	}
	while (json_next(j, '}') && json_key(j, &key)) {
		if (text_is(key, "profiles"))
			profiles += each_profile(p, j, is_second ? take_profile : NULL);
		else if (text_is(key, "shared") && !is_second)
			take_shared(p, j);
		else
			json_skip(j);
	}
	p->is_named = profiles > 1 || (is_second && p->is_named);
}

static void whole(struct stack_reader *r, struct text all)
{
	struct speedscope p = { .r = r };
	struct json first = json_of(all), second = first;
	uint64_t line = 1;

	take_file(&p, &first, false);
	take_file(&p, &second, true);
	if (first.is_broken || second.is_broken) {
		const char *at = second.is_broken ? second.at : first.at;

		for (const char *c = all.data; c < at && c < all.data + all.len; c++)
			line += *c == '\n';
		stack_fail(r, "line %llu: not as speedscope writes it",
			   (unsigned long long)line);
	}
	free(p.frames);
	buf_free(&p.text);
}

const struct stack_format stack_format_speedscope = {
	.name = "speedscope",
	.whole = whole,
};
