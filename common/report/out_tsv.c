/* Tab-separated values: one table, raw numbers in base units. */
#include "common/report/out_impl.h"

static void add_text(struct buf *to, const char *text)
{
	if (text)
		escape_tsv(to, text_of(text), 0);
}

static void add_field(struct buf *to, const char *text)
{
	buf_add_char(to, '\t');
	add_text(to, text);
}

static void add_cell(struct out *o, const struct column *c, const void *row)
{
	if (!column_is_known(c, row))
		return;
	if (c->type == TYPE_TEXT)
		add_text(&o->buf, out_shown_name(o, c->names, column_text(c, row)));
	else
		column_add_raw(&o->buf, c, row);
}

static bool takes_header(struct out *o)
{
	bool first = !o->wrote_header;

	o->wrote_header = true;
	return first && !o->config.no_header;
}

static void add_table(struct out *o, const struct out_table *t, const char *time)
{
	const void **rows;

	if (takes_header(o)) {
		buf_add_text(&o->buf, "time");
		for (size_t i = 0; i < t->column_count; i++)
			buf_printf(&o->buf, "\t%s", t->columns[i]->name);
		buf_add_char(&o->buf, '\n');
	}
	size_t count = table_sorted(&o->frame, t, out_limit(o, t), &rows);

	for (size_t r = 0; r < count; r++) {
		buf_add_text(&o->buf, time);
		for (size_t i = 0; i < t->column_count; i++) {
			buf_add_char(&o->buf, '\t');
			add_cell(o, t->columns[i], rows[r]);
		}
		buf_add_char(&o->buf, '\n');
		out_write_if_full(o);
	}
}

/* name=value;name=value, a ';' inside a value as \x3b */
static void add_evidence(struct out *o, const struct finding *f)
{
	for (size_t i = 0; i < f->evidence_count; i++) {
		const struct evidence *e = &f->evidence[i];

		buf_printf(&o->buf, "%s%s=", i ? ";" : "", e->name);
		if (e->type == TYPE_TEXT && e->text)
			escape_tsv(&o->buf, text_of(out_shown_name(o, e->names, e->text)), ';');
		else
			evidence_add_number(&o->buf, e, "");
	}
}

static void add_finding(struct out *o, const struct finding *f, const char *time)
{
	buf_add_text(&o->buf, time);
	add_field(&o->buf, f->kind->id);
	add_field(&o->buf, finding_state_name(f->state));
	add_field(&o->buf, f->netns);
	add_field(&o->buf, f->subject);
	buf_add_char(&o->buf, '\t');
	add_evidence(o, f);
	add_field(&o->buf, f->text);
	add_field(&o->buf, f->proof);
	add_field(&o->buf, f->next);
	buf_add_char(&o->buf, '\n');
}

void out_tsv(struct out *o)
{
	const char *time = out_time(&o->frame, o->realtime_ns);
	struct finding **list;

	for (size_t i = 0; i < o->table_count; i++)
		if (!o->tables[i].left_out)
			add_table(o, &o->tables[i], time);
	if (o->findings_left_out)
		return;
	if (takes_header(o))
		buf_add_text(&o->buf, "time\tid\tstate\tnetns\tsubject\tevidence\ttext\tproof"
			     "\tnext\n");
	size_t count = out_ranked_findings(o, &list);

	for (size_t i = 0; i < count; i++)
		add_finding(o, list[i], time);
}
