/* Building, copying and ranking findings. */
#include "common/report/finding.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/report/out_impl.h"

const char *finding_state_name(enum finding_state s)
{
	static const char *const names[] = {
		[STATE_NOW] = "now", [STATE_PAST] = "past", [STATE_RISK] = "risk",
		[STATE_NOTE] = "note",
	};

	return names[s];
}

char *report_vprintf(struct arena *arena, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, args);
	char *text = arena_alloc(arena, n < 0 ? 1 : (size_t)n + 1);

	if (n > 0)
		vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	return text;
}

struct finding *finding_start(struct arena *arena, const struct finding_kind *kinds, const char *id,
			      enum finding_state state, const char *subject)
{
	const struct finding_kind *kind = kinds;

	while (kind->id && strcmp(kind->id, id) != 0)
		kind++;
	assert(kind->id);      /* every id is declared: the man page is made of them */
	struct finding *f = arena_alloc(arena, sizeof(*f));

	f->kind = kind;
	f->state = state;
	f->subject = arena_strdup(arena, subject);
	f->arena = arena;
	return f;
}

static struct evidence *add_evidence(struct finding *f, const char *name, enum column_type type)
{
	if (f->evidence_count == f->evidence_cap) {
		size_t cap = f->evidence_cap ? f->evidence_cap * 2 : 8;
		struct evidence *more = arena_alloc(f->arena, cap * sizeof(*more));

		if (f->evidence_count)
			memcpy(more, f->evidence, f->evidence_count * sizeof(*more));
		f->evidence = more;
		f->evidence_cap = cap;
	}
	struct evidence *e = &f->evidence[f->evidence_count++];

	*e = (struct evidence){ .name = name, .type = type };
	return e;
}

void finding_u64(struct finding *f, const char *name, uint64_t value)
{
	add_evidence(f, name, TYPE_U64)->u64 = value;
}

void finding_f64(struct finding *f, const char *name, double value)
{
	add_evidence(f, name, TYPE_F64)->f64 = value;
}

void finding_text(struct finding *f, const char *name, enum name_kind kind, const char *value)
{
	struct evidence *e = add_evidence(f, name, TYPE_TEXT);

	e->names = kind;
	e->text = arena_strdup(f->arena, value);
}

/* A newline inside a line came with somebody's name: it must not look like a line of ours. */
static const char *one_line(struct arena *arena, const char *text)
{
	struct buf b = { 0 };

	if (!strchr(text, '\n'))
		return text;
	for (; *text; text++) {
		if (*text == '\n')
			buf_add_text(&b, "\\x0a");
		else
			buf_add_char(&b, *text);
	}
	const char *line = arena_text(arena, buf_text(&b));

	buf_free(&b);
	return line;
}

void finding_line(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const char *line = one_line(f->arena, report_vprintf(f->arena, format, args));

	va_end(args);
	f->text = f->text ? arena_printf(f->arena, "%s\n%s", f->text, line) : line;
}

void finding_proof(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const char *proof = one_line(f->arena, report_vprintf(f->arena, format, args));

	va_end(args);
	f->proof = f->proof ? arena_printf(f->arena, "%s; %s", f->proof, proof) : proof;
}

void finding_next(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	f->next = one_line(f->arena, report_vprintf(f->arena, format, args));
	va_end(args);
}

struct finding *finding_copy(struct arena *arena, const struct finding *f)
{
	struct finding *copy = arena_alloc(arena, sizeof(*copy));

	*copy = *f;
	copy->arena = arena;
	copy->netns = arena_strdup(arena, f->netns);
	copy->subject = arena_strdup(arena, f->subject);
	copy->names = arena_strdup(arena, f->names);
	copy->text = arena_strdup(arena, f->text);
	copy->proof = arena_strdup(arena, f->proof);
	copy->next = arena_strdup(arena, f->next);
	copy->evidence_cap = f->evidence_count;
	copy->evidence = arena_alloc(arena, f->evidence_count * sizeof(*copy->evidence));
	for (size_t i = 0; i < f->evidence_count; i++) {
		struct evidence *e = &copy->evidence[i];

		*e = f->evidence[i];
		e->name = arena_strdup(arena, e->name);
		if (e->type == TYPE_TEXT)
			e->text = arena_strdup(arena, e->text);
	}
	return copy;
}

void evidence_add_number(struct buf *to, const struct evidence *e, const char *unknown)
{
	if (e->type == TYPE_U64 && e->u64 != NA_U64)
		buf_printf(to, "%llu", (unsigned long long)e->u64);
	else if (e->type == TYPE_I64 && e->i64 != NA_I64)
		buf_printf(to, "%lld", (long long)e->i64);
	else if (e->type == TYPE_F64 && isfinite(e->f64))
		table_add_f64(to, e->f64);
	else
		buf_add_text(to, unknown);
}

static double lost_of(const struct finding *f)
{
	return is_na_f64(f->lost) ? 0 : f->lost;
}

int finding_compare(const void *a, const void *b)
{
	const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;

	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (lost_of(x) != lost_of(y))
		return lost_of(x) > lost_of(y) ? -1 : 1;
	int order = strcmp(x->kind->id, y->kind->id);

	return order ? order : strcmp(x->subject ? x->subject : "", y->subject ? y->subject : "");
}
