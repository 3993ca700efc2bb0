/*
 * pprof's profile.proto (github.com/google/pprof/proto/profile.proto), and the same as text by
 * `go tool pprof -raw`. A location's lines are inlined functions, the innermost first; of the
 * values of a sample one is folded: the one asked for, else the profile's default, else the last.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/protobuf.h"
#include "common/stack/stacktext_impl.h"

#define PPROF_STRINGS_MAX (16u << 20)
#define PPROF_TYPES_MAX 64

struct value_type {
	struct text name, unit;
};

struct location {
	struct text text;              /* the message, or lines of text */
	uint32_t *names;               /* leaf first; NULL: not looked at yet */
	size_t count;
};

struct pprof {
	struct stack_reader *r;
	struct text *strings;
	size_t string_count, string_cap;
	struct value_type types[PPROF_TYPES_MAX];
	size_t type_count, chosen;
	uint64_t default_type;         /* a string */
	struct hash functions, mappings;       /* by id: struct text of the message */
	struct hash locations;         /* by id: struct location */
	struct arena arena;
};

static const char *base_unit(struct text unit, double *factor)
{
	static const struct {
		const char *name, *base;
		double factor;
	} units[] = {
		{ "nanoseconds", "ns", 1 }, { "microseconds", "ns", 1e3 },
		{ "milliseconds", "ns", 1e6 }, { "seconds", "ns", 1e9 }, { "bytes", "bytes", 1 },
		{ "kilobytes", "bytes", 1024 }, { "count", "count", 1 },
	};

	*factor = 1;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (text_is(unit, units[i].name)) {
			*factor = units[i].factor;
			return units[i].base;
		}
	return NULL;
}

/* Makes an event of each type, and chooses the one to fold. */
static void choose_type(struct pprof *p, struct text preferred)
{
	struct stack_reader *r = p->r;
	double factor;

	p->chosen = p->type_count ? p->type_count - 1 : 0;
	for (size_t i = 0; i < p->type_count; i++)
		if (preferred.len && preferred.len == p->types[i].name.len &&
		    !memcmp(preferred.data, p->types[i].name.data, preferred.len))
			p->chosen = i;
	for (size_t i = p->type_count; i-- > 0 && r->options.weighs_samples;)
		if (text_is(p->types[i].unit, "count"))
			p->chosen = i;
	for (size_t i = 0; i < p->type_count; i++)
		if (r->options.event && text_is(p->types[i].name, r->options.event))
			p->chosen = i;
	for (size_t i = 0; i < p->type_count; i++) {
		struct stack_event *e = stack_event(r, p->types[i].name);

		e->has_period = true;
		e->unit = base_unit(p->types[i].unit, &factor);
		if (!r->options.event)
			e->is_folded = i == p->chosen;
	}
}

/* The stack at hand with its values, one for each type. */
static void fold_sample(struct pprof *p, const struct stack_task *task, const uint64_t *values)
{
	struct stack_reader *r = p->r;
	const struct text none = { "", 0 };
	double factor = 1;

	for (size_t i = 0; i < p->type_count; i++)
		stack_event(r, p->types[i].name)->samples += (int64_t)values[i] > 0;
	if (!p->type_count)
		stack_count_event(r, none, false);
	else
		base_unit(p->types[p->chosen].unit, &factor);
	const uint64_t value = values[p->chosen];
	const struct stack_event *e =
		stack_event(r, p->type_count ? p->types[p->chosen].name : none);

	/* a heap profile has frees as well, of a difference values below 0: nothing to draw */
	if (e->is_folded && (int64_t)value > 0 && stack_filter_wants(r->filter, NA_F64, NA_U64))
		stack_emit(r, task, stack_scaled((double)value, factor));
	r->count = 0;
}

/* ---- protobuf ---- */

static struct text string_at(const struct pprof *p, uint64_t index)
{
	return index < p->string_count ? p->strings[index] : (struct text){ "", 0 };
}

/* A value type, whose fields are numbers of strings; these may come later. */
static void keep_type(struct pprof *p, struct text message)
{
	if (p->type_count < PPROF_TYPES_MAX)
		p->types[p->type_count++].name = message;
}

static uint64_t number_in(struct text message, uint32_t number)
{
	struct protobuf_field f;
	uint64_t value = 0;

	while (protobuf_next(&message, &f))
		if (f.number == number && f.wire == PROTOBUF_VARINT)
			value = f.value;
	return value;
}

static void keep_by_id(struct pprof *p, struct hash *h, struct text message)
{
	struct text *copy = arena_alloc(&p->arena, sizeof(*copy));

	*copy = message;
	*hash_number(h, number_in(message, 1)) = copy;
}

static void keep_location(struct pprof *p, uint64_t id, struct text text)
{
	struct location *l = arena_alloc(&p->arena, sizeof(*l));

	l->text = text;
	*hash_number(&p->locations, id) = l;
}

static void keep_string(struct pprof *p, struct text t)
{
	if (p->string_count >= PPROF_STRINGS_MAX) {
		stack_fail(p->r, "more than %u strings", PPROF_STRINGS_MAX);
		return;
	}
	p->strings = mem_grow(p->strings, &p->string_cap, p->string_count + 1, sizeof(*p->strings));
	p->strings[p->string_count++] = t;
}

/* Everything but the samples, which need it. */
static void take_tables(struct pprof *p, struct text all)
{
	struct protobuf_field f;

	while (protobuf_next(&all, &f)) {
		if (f.number == 14 && f.wire == PROTOBUF_VARINT)
			p->default_type = f.value;
		if (f.wire != PROTOBUF_BYTES)
			continue;
		switch (f.number) {
		case 1: keep_type(p, f.bytes); break;
		case 3: keep_by_id(p, &p->mappings, f.bytes); break;
		case 4: keep_location(p, number_in(f.bytes, 1), f.bytes); break;
		case 5: keep_by_id(p, &p->functions, f.bytes); break;
		case 6: keep_string(p, f.bytes); break;
		}
	}
	if (all.len)
		stack_fail(p->r, "cut or broken %zu bytes before its end", all.len);
	for (size_t i = 0; i < p->type_count; i++) {
		const struct text message = p->types[i].name;

		p->types[i].name = string_at(p, number_in(message, 1));
		p->types[i].unit = string_at(p, number_in(message, 2));
	}
}

static void push_line(struct pprof *p, struct text message, struct frame_source *frame)
{
	const struct text none = { "", 0 };
	const struct text *function = hash_find_number(&p->functions, number_in(message, 1));
	const uint64_t number = number_in(message, 2);
	char line[280];

	frame->symbol = frame->line = none;
	if (function) {
		const struct text file = stack_base_name(string_at(p, number_in(*function, 4)));

		frame->symbol = string_at(p, number_in(*function, 2));
		if (!frame->symbol.len)
			frame->symbol = string_at(p, number_in(*function, 3));
		if (file.len && number) {
			int n = snprintf(line, sizeof(line), "%.*s:%llu",
					 (int)(file.len < 255 ? file.len : 255), file.data,
					 (unsigned long long)number);

			frame->line = (struct text){ line, (size_t)n };
		}
	}
	stack_push(p->r, frame);
}

static void push_message(struct pprof *p, struct text message)
{
	const struct text none = { "", 0 };
	struct frame_source frame = { .symbol = none, .object = none, .line = none };
	struct protobuf_field f, held = { .number = 0 };
	const struct text *mapping = hash_find_number(&p->mappings, number_in(message, 2));

	if (mapping)
		frame.object = string_at(p, number_in(*mapping, 5));
	frame.address = number_in(message, 3);
	frame.has_address = frame.address != 0;
	/* all but the last line are inlined into the next */
	while (protobuf_next(&message, &f)) {
		if (f.number != 4 || f.wire != PROTOBUF_BYTES)
			continue;
		frame.is_inlined = true;
		if (held.number)
			push_line(p, held.bytes, &frame);
		held = f;
	}
	frame.is_inlined = false;
	if (held.number)
		push_line(p, held.bytes, &frame);
	else
		stack_push(p->r, &frame);
}

/* The names of a location are found once, by `push`. */
static void push_location(struct pprof *p, uint64_t id,
			  void (*push)(struct pprof *p, struct text text))
{
	struct stack_reader *r = p->r;
	struct location *l = hash_find_number(&p->locations, id);
	const size_t before = r->count;

	if (stack_is_full(r))
		return;
	if (!l || !l->names) {
		push(p, l ? l->text : (struct text){ "", 0 });
		if (!l || r->count >= STACK_FRAMES_MAX)
			return;
		l->count = r->count - before;
		l->names = arena_alloc(&p->arena, (l->count + 1) * sizeof(*l->names));
		if (l->count)
			memcpy(l->names, r->names + before, l->count * sizeof(*l->names));
		return;
	}
	const size_t room = STACK_FRAMES_MAX - before, count = l->count < room ? l->count : room;

	r->names = mem_grow(r->names, &r->cap, before + count, sizeof(*r->names));
	memcpy(r->names + before, l->names, count * sizeof(*l->names));
	r->count += count;
}

/* Labels that say whose stack it is, as perf_data_converter and others name them. */
static void take_label(struct pprof *p, struct text message, struct stack_task *task)
{
	const struct text key = string_at(p, number_in(message, 1)),
			  value = string_at(p, number_in(message, 2));

	if (text_is(key, "comm") || text_is(key, "thread_comm") || text_is(key, "thread"))
		task->comm = value;
	else if (text_is(key, "pid"))
		task->pid = value;
	else if (text_is(key, "tid"))
		task->tid = value;
}

static void take_sample(struct pprof *p, struct text message)
{
	const struct text none = { "", 0 };
	struct stack_task task = { none, none, none, none, none };
	uint64_t values[PPROF_TYPES_MAX] = { 0 }, number;
	struct protobuf_field f;
	size_t value_count = 0;

	p->r->count = 0;
	while (protobuf_next(&message, &f)) {
		bool state = false;

		if (f.number == 1)
			while (protobuf_number(&f, &state, &number))
				push_location(p, number, push_message);
		else if (f.number == 2)
			while (value_count < PPROF_TYPES_MAX &&
			       protobuf_number(&f, &state, &number))
				values[value_count++] = number;
		else if (f.number == 3 && f.wire == PROTOBUF_BYTES)
			take_label(p, f.bytes, &task);
	}
	fold_sample(p, &task, values);
}

static void release(struct pprof *p)
{
	free(p->strings);
	hash_free(&p->functions);
	hash_free(&p->locations);
	hash_free(&p->mappings);
	arena_free(&p->arena);
}

static void pprof_whole(struct stack_reader *r, struct text all)
{
	struct pprof p = { .r = r };
	struct protobuf_field f;

	take_tables(&p, all);
	choose_type(&p, string_at(&p, p.default_type));
	while (protobuf_next(&all, &f))
		if (f.number == 2 && f.wire == PROTOBUF_BYTES)
			take_sample(&p, f.bytes);
	release(&p);
}

/* A type first, of numbers alone, then fields that a profile has, each as it is there. */
bool stack_is_pprof(struct text start)
{
	struct protobuf_field f, inner;
	unsigned fields = 0;

	while (protobuf_next(&start, &f)) {
		const bool is_number = f.number >= 7 && f.number != 11 && f.number != 13;

		if (f.number > 15 || (f.number < 7 && f.wire != PROTOBUF_BYTES) ||
		    (is_number && f.wire != PROTOBUF_VARINT))
			return false;
		if (!fields++ && f.number != 1)
			return false;
		if (f.number != 1)
			continue;
		while (protobuf_next(&f.bytes, &inner))
			if (inner.number > 2 || inner.wire != PROTOBUF_VARINT)
				return false;
		if (f.bytes.len)
			return false;
	}
	return fields > 1;
}

const struct stack_format stack_format_pprof = {
	.name = "pprof",
	.whole = pprof_whole,
};

/* ---- go tool pprof -raw ---- */

static unsigned raw_look(struct text line)
{
	return text_starts(line, "PeriodType: ") ? STACK_CERTAIN : 0;
}

/* "samples/count cpu/nanoseconds[dflt]" */
static void take_raw_types(struct pprof *p, struct text line)
{
	struct text preferred = { "", 0 }, rest;

	while (stack_trimmed(line).len && p->type_count < PPROF_TYPES_MAX) {
		struct text word = stack_take_word(&line), name, unit;
		const bool is_default = stack_split(word, "[dflt]", &name, &rest);

		if (is_default)
			word = name;
		if (!stack_split(word, "/", &name, &unit))
			name = word, unit = (struct text){ "", 0 };
		if (is_default)
			preferred = name;
		p->types[p->type_count++] = (struct value_type){ name, unit };
	}
	choose_type(p, preferred);
}

/* "name file:12:0 s=7", what is behind the name optional */
static void push_raw_line(struct pprof *p, struct text t, struct frame_source *frame)
{
	const struct text none = { "", 0 };
	struct text before, rest;
	const char *place;

	frame->line = none;
	t = stack_trimmed(t);
	if (stack_split(t, " s=", &before, &rest))
		t = before;
	place = memrchr(t.data, ' ', t.len);
	if (place && memchr(place, ':', (size_t)(t.data + t.len - place))) {
		struct text file = { place + 1, (size_t)(t.data + t.len - place - 1) };

		t.len = (size_t)(place - t.data);
		file = stack_base_name(file);
		const char *column = memrchr(file.data, ':', file.len);

		/* "x.go:12:5": the last number is a column if there are two */
		if (column && memchr(file.data, ':', (size_t)(column - file.data)))
			file.len = (size_t)(column - file.data);
		frame->line = file;
	}
	frame->symbol = t;
	stack_push(p->r, frame);
}

/* "  12: 0x45dfa1 M=1 name file:12:0 s=7" and lines of callers it is inlined into, indented */
static void push_raw(struct pprof *p, struct text text)
{
	const struct text none = { "", 0 };
	struct frame_source frame = { .symbol = none, .object = none, .line = none };
	struct scan s = scan_of(text);
	struct text line, next;
	bool has_line = scan_line(&s, &line);

	if (!has_line) {
		stack_push(p->r, &frame);
		return;
	}
	struct text word = stack_take_word(&line);
	struct scan address = scan_of(word);

	if (scan_literal(&address, "0x") && scan_hex(&address, &frame.address))
		frame.has_address = frame.address != 0;
	if (text_starts(line, "M="))
		stack_take_word(&line);
	if (text_starts(line, "[F]"))
		stack_take_word(&line);
	for (; has_line; line = next) {
		has_line = scan_line(&s, &next);
		frame.is_inlined = has_line;
		push_raw_line(p, line, &frame);
	}
}

/* "   1   10000000: 1 2 3" */
static bool take_raw_sample(struct pprof *p, struct text line)
{
	static const struct stack_task nobody = {
		{ "", 0 }, { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 }
	};
	uint64_t values[PPROF_TYPES_MAX] = { 0 }, id;
	struct scan s = scan_of(line);
	size_t count = 0;

	while (count < PPROF_TYPES_MAX && scan_u64(&s, &values[count]))
		count++;
	if (!count || !scan_literal(&s, ":"))
		return false;
	p->r->count = 0;
	while (scan_u64(&s, &id))
		push_location(p, id, push_raw);
	fold_sample(p, &nobody, values);
	return true;
}

/* Where each location's text is, up to the next. */
static void take_raw_locations(struct pprof *p, struct scan s)
{
	struct text line;
	struct location *last = NULL;
	uint64_t id;

	while (scan_line(&s, &line) && !text_starts(line, "Mappings")) {
		struct scan in = scan_of(line);

		if (scan_u64(&in, &id) && scan_literal(&in, ":")) {
			keep_location(p, id, (struct text){ in.at, (size_t)(in.end - in.at) });
			last = hash_find_number(&p->locations, id);
		} else if (last && stack_trimmed(line).len) {
			last->text.len = (size_t)(line.data + line.len - last->text.data);
		}
	}
}

static void raw_whole(struct stack_reader *r, struct text all)
{
	struct pprof p = { .r = r };
	struct scan s = scan_of(all), samples = { NULL, NULL };
	struct text line;
	uint64_t number = 0, samples_line = 0;

	while (scan_line(&s, &line)) {
		number++;
		line = stack_trimmed(line);
		if (text_is(line, "Samples:")) {
			samples = s;
			samples_line = number;
		} else if (text_is(line, "Locations")) {
			take_raw_locations(&p, s);
			break;
		}
	}
	if (!samples.at || !scan_line(&samples, &line))
		stack_fail(r, "no samples in it");
	else
		take_raw_types(&p, line);
	r->line = samples_line + 1;
	while (!r->result.failure && scan_line(&samples, &line) &&
	       !text_is(stack_trimmed(line), "Locations")) {
		r->line++;
		/* "key:[value]" lines are labels */
		if (!take_raw_sample(&p, line) && !memchr(line.data, ':', line.len))
			stack_skip_line(r, "no sample");
	}
	release(&p);
}

const struct stack_format stack_format_go_raw = {
	.name = "go tool pprof -raw",
	.look = raw_look,
	.whole = raw_whole,
};
