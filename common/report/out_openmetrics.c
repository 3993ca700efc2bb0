/*
 * OpenMetrics 1.0 text that the older Prometheus text format takes as well: one exposition, its
 * families together, no time stamps, only the escapes both know.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/report/out_impl.h"

struct family {
	const char *name;              /* without _total */
	const char *unit;              /* the end of name, or NULL */
	bool is_counter;
};

static const char *metric_name(struct arena *a, const char *applet, const char *rest)
{
	char *name = arena_printf(a, "perfbox_%s_%s", applet ? applet : "perfbox", rest);

	for (char *p = name; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9'))
			*p = '_';
	return name;
}

/* name without `suffix`, if it ends with it. */
static char *without(struct arena *a, const char *name, const char *suffix)
{
	size_t n = strlen(name), s = strlen(suffix);

	return arena_copy(a, name, n > s && !strcmp(name + n - s, suffix) ? n - s : n);
}

/* A family's name ends in its unit, and a counter's has no _total: its sample has. */
static struct family family_of(struct arena *a, const char *applet, const struct table *t,
			       const struct column *c)
{
	struct family f = { .is_counter = c->role == ROLE_COUNTER };
	const char *name = f.is_counter ? without(a, c->name, "_total") : c->name;

	if (c->unit == UNIT_NS) {
		f.unit = "seconds";
		name = without(a, name, "_ns");
	} else if (c->unit == UNIT_BYTES) {
		f.unit = "bytes";
		name = without(a, name, "_bytes");
	} else if (c->unit == UNIT_RATIO) {
		f.unit = "ratio";
		name = without(a, name, "_ratio");
	}
	const char *rest = arena_printf(a, "%s_%s%s%s", t->name, name, f.unit ? "_" : "",
					f.unit ? f.unit : "");

	f.name = metric_name(a, applet, rest);
	return f;
}

/* The text format has no escape for a quote here, OpenMetrics demands one. */
static void add_help(struct buf *to, const char *help)
{
	for (; *help; help++) {
		if (*help == '"')
			buf_add_char(to, '\'');
		else
			escape_label(to, (struct text){ help, 1 });
	}
}

static void add_family(struct buf *to, const struct family *f, const char *help)
{
	buf_printf(to, "# HELP %s ", f->name);
	add_help(to, help ? help : "");
	buf_printf(to, "\n# TYPE %s %s\n", f->name, f->is_counter ? "counter" : "gauge");
	if (f->unit)
		buf_printf(to, "# UNIT %s %s\n", f->name, f->unit);
}

static void add_label(struct buf *to, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(to, "%s%s=\"", to->len ? "," : "", name);
	escape_label(to, text_of(value));
	buf_add_char(to, '"');
}

static void add_key(struct out *o, struct buf *to, const struct column *c, const void *row)
{
	struct buf number = { 0 };

	if (c->role != ROLE_KEY || !column_is_known(c, row))
		return;
	if (c->type == TYPE_TEXT) {
		add_label(to, c->name, out_shown_name(o, c->names, column_text(c, row)));
		return;
	}
	column_add_raw(&number, c, row);
	add_label(to, c->name, number.data);
	buf_free(&number);
}

/* The labels of each row; NULL if another row has them: that would void the whole exposition. */
static const char **row_labels(struct out *o, const struct table *t, const void **rows,
			       size_t count)
{
	const char **labels = arena_alloc(&o->frame, count * sizeof(*labels));
	struct hash seen = { 0 };
	struct buf b = { 0 };
	size_t doubles = 0;

	for (size_t r = 0; r < count; r++) {
		buf_reset(&b);
		for (size_t i = 0; i < t->column_count; i++)
			add_key(o, &b, &t->columns[i], rows[r]);
		const char *text = arena_text(&o->frame, buf_text(&b));
		void **known = hash_name(&seen, text);

		labels[r] = *known ? NULL : text;
		doubles += *known != NULL;
		*known = &seen;
	}
	if (doubles)
		out_note(o, "openmetrics: %zu rows of %s left out: other rows have the same keys",
			 doubles, t->name);
	hash_free(&seen);
	buf_free(&b);
	return labels;
}

/* Nanoseconds as seconds, without rounding whole ones through a double. */
static void add_seconds(struct buf *to, const struct column *c, const void *row)
{
	uint64_t ns = c->type == TYPE_U64 ? column_u64(c, row) : 0;

	if (c->type == TYPE_I64) {
		int64_t value = column_i64(c, row);

		ns = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
		if (value < 0)
			buf_add_char(to, '-');
	} else if (c->type == TYPE_F64) {
		table_add_f64(to, column_f64(c, row) / 1e9);
		return;
	}
	buf_printf(to, "%llu", (unsigned long long)(ns / 1000000000));
	if (ns % 1000000000) {
		buf_printf(to, ".%09u", (unsigned)(ns % 1000000000));
		while (to->data[to->len - 1] == '0')
			to->data[--to->len] = '\0';
	}
}

static bool is_metric(const struct column *c)
{
	return c->role != ROLE_KEY && c->role != ROLE_TEXT && c->type != TYPE_TEXT &&
		c->unit != UNIT_ID;
}

static void add_samples(struct out *o, const struct table *t, const struct column *c,
			const void **rows, const char **labels, size_t count)
{
	struct family f = family_of(&o->frame, o->config.applet, t, c);
	bool started = false;

	for (size_t r = 0; r < count; r++) {
		if (!labels[r] || !column_is_known(c, rows[r]) ||
		    (f.is_counter && column_number(c, rows[r]) < 0))
			continue;
		if (!started)
			add_family(&o->buf, &f, c->help);
		started = true;
		buf_add_text(&o->buf, f.name);
		buf_add_text(&o->buf, f.is_counter ? "_total" : "");
		if (*labels[r])
			buf_printf(&o->buf, "{%s}", labels[r]);
		buf_add_char(&o->buf, ' ');
		if (c->unit == UNIT_NS)
			add_seconds(&o->buf, c, rows[r]);
		else
			column_add_raw(&o->buf, c, rows[r]);
		buf_add_char(&o->buf, '\n');
	}
}

static void add_table(struct out *o, const struct out_table *t)
{
	const void **rows;
	size_t count = table_sorted(&o->frame, t, out_limit(o, t), &rows);
	const char **labels = row_labels(o, t->table, rows, count);

	for (size_t i = 0; i < t->column_count; i++)
		if (is_metric(t->columns[i]))
			add_samples(o, t->table, t->columns[i], rows, labels, count);
}

static void add_findings(struct out *o)
{
	struct family f = { .name = metric_name(&o->frame, o->config.applet, "finding") };
	struct finding **list;
	size_t count = out_ranked_findings(o, &list);
	struct hash seen = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct buf b = { 0 };

		add_label(&b, "id", list[i]->kind->id);
		add_label(&b, "state", finding_state_name(list[i]->state));
		add_label(&b, "netns", list[i]->netns);
		add_label(&b, "subject", list[i]->subject);
		void **known = hash_name(&seen, arena_text(&o->frame, buf_text(&b)));

		if (!i)
			add_family(&o->buf, &f, "what is wrong now, was lately, or soon will be");
		if (!*known)
			buf_printf(&o->buf, "%s{%s} 1\n", f.name, b.data);
		*known = &seen;
		buf_free(&b);
	}
	hash_free(&seen);
}

void out_openmetrics(struct out *o)
{
	if (!o->findings_left_out)
		add_findings(o);
	for (size_t i = 0; i < o->table_count; i++)
		if (!o->tables[i].left_out)
			add_table(o, &o->tables[i]);
}
