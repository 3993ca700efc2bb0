/* JSON lines: one object per row and per finding, "table" and "time" first. */
#include "common/report/out_impl.h"

static void add_text(struct buf *to, const char *text)
{
	if (text)
		escape_json(to, text_of(text));
	else
		buf_add_text(to, "null");
}

/* Ids and keys are names even when they are made of digits. */
static void add_value(struct out *o, const struct column *c, const void *row)
{
	bool is_name = c->role == ROLE_KEY || c->unit == UNIT_ID;

	if (!column_is_known(c, row)) {
		buf_add_text(&o->buf, "null");
	} else if (c->type == TYPE_TEXT) {
		add_text(&o->buf, out_shown_name(o, c->names, column_text(c, row)));
	} else {
		if (is_name)
			buf_add_char(&o->buf, '"');
		if (c->type == TYPE_BOOL)
			buf_add_text(&o->buf, column_bool(c, row) ? "true" : "false");
		else
			column_add_raw(&o->buf, c, row);
		if (is_name)
			buf_add_char(&o->buf, '"');
	}
}

static void start_object(struct out *o, const char *table, const char *time)
{
	buf_add_text(&o->buf, "{\"table\":");
	escape_json(&o->buf, text_of(table));
	buf_add_text(&o->buf, ",\"time\":");
	escape_json(&o->buf, text_of(time));
}

static void add_key(struct buf *to, const char *name)
{
	buf_add_text(to, ",\"");
	buf_add_text(to, name);
	buf_add_text(to, "\":");
}

static void add_table(struct out *o, const struct out_table *t, const char *time)
{
	const void **rows;
	size_t count = table_sorted(&o->frame, t, out_limit(o, t), &rows);

	for (size_t r = 0; r < count; r++) {
		start_object(o, t->table->name, time);
		for (size_t i = 0; i < t->column_count; i++) {
			const struct column *c = t->columns[i];

			add_key(&o->buf, c->name);
			add_value(o, c, rows[r]);
			if (c->estimated)
				buf_printf(&o->buf, ",\"%s_estimated\":%s", c->name,
					   column_is_estimated(c, rows[r]) ? "true" : "false");
		}
		buf_add_text(&o->buf, "}\n");
		out_write_if_full(o);
	}
}

static void add_evidence(struct out *o, const struct finding *f)
{
	for (size_t i = 0; i < f->evidence_count; i++) {
		const struct evidence *e = &f->evidence[i];

		if (i)
			buf_add_char(&o->buf, ',');
		escape_json(&o->buf, text_of(e->name));
		buf_add_char(&o->buf, ':');
		if (e->type == TYPE_TEXT)
			add_text(&o->buf, out_shown_name(o, e->names, e->text));
		else
			evidence_add_number(&o->buf, e, "null");
	}
}

static void add_member(struct buf *to, const char *name, const char *text)
{
	add_key(to, name);
	add_text(to, text);
}

static void add_finding(struct out *o, const struct finding *f, const char *time)
{
	start_object(o, "findings", time);
	add_member(&o->buf, "id", f->kind->id);
	add_member(&o->buf, "state", finding_state_name(f->state));
	add_member(&o->buf, "netns", f->netns);
	add_member(&o->buf, "subject", f->subject);
	add_key(&o->buf, "evidence");
	buf_add_char(&o->buf, '{');
	add_evidence(o, f);
	buf_add_char(&o->buf, '}');
	add_member(&o->buf, "text", f->text);
	add_member(&o->buf, "proof", f->proof);
	add_member(&o->buf, "next", f->next);
	buf_add_text(&o->buf, "}\n");
}

void out_json(struct out *o)
{
	const char *time = out_time(&o->frame, o->realtime_ns);
	struct finding **list;

	if (!o->findings_left_out) {
		size_t count = out_ranked_findings(o, &list);

		for (size_t i = 0; i < count; i++)
			add_finding(o, list[i], time);
	}
	for (size_t i = 0; i < o->table_count; i++)
		if (!o->tables[i].left_out)
			add_table(o, &o->tables[i], time);
}
