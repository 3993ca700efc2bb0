/* The report for people: host line, findings, tables, labelled lines, history. */
#include <stdio.h>
#include <string.h>

#include "common/base/scan.h"
#include "common/report/out_impl.h"
#include "common/report/wrap.h"

#define LABEL_WIDTH 12
#define INDENT 6
#define SHORT_ID 12            /* digits of a container id */
#define SHORTEST 12            /* a text column is not cut below this */
#define CUT_MARK "..."

#define BOLD "\033[1m"
#define RED_BOLD "\033[1;31m"
#define PLAIN "\033[0m"

struct cell {
	size_t at;             /* in grid.text */
	uint32_t len, width;   /* bytes, terminal cells */
};

/* A table on its way to the page. */
struct grid {
	const struct column **columns;
	size_t column_count;
	const void **rows;
	size_t row_count;
	struct buf text;
	struct cell *cells;    /* the titles, then row by row */
	size_t *widths;
};

static void add_spaces(struct buf *to, size_t n)
{
	while (n--)
		buf_add_char(to, ' ');
}

static void add_escaped(struct buf *to, const char *text)
{
	escape_people(to, text_of(text));
}

/* Findings. */

static void add_lines(struct buf *to, const char *text)
{
	struct scan s = scan_of(text_of(text));
	struct text line;

	while (scan_line(&s, &line)) {
		add_spaces(to, INDENT);
		escape_people(to, line);
		buf_add_char(to, '\n');
	}
}

static void add_labelled(struct buf *to, const char *label, const char *text)
{
	if (!text)
		return;
	buf_printf(to, "%*s%-7s", INDENT, "", label);
	add_escaped(to, text);
	buf_add_char(to, '\n');
}

static void add_finding(struct out *o, const struct finding *f)
{
	bool is_red = o->has_color && f->state == STATE_NOW;
	struct buf *to = &o->buf;

	buf_printf(to, "%s%-*s%s%s", is_red ? RED_BOLD : "", INDENT, finding_state_name(f->state),
		   is_red ? PLAIN : "", f->kind->id);
	if (f->subject && *f->subject) {
		buf_add_text(to, "  ");
		add_escaped(to, f->subject);
	}
	if (f->netns) {
		buf_add_text(to, "  netns ");
		add_escaped(to, f->netns);
	}
	if (f->names && *f->names) {
		buf_add_text(to, "  (");
		add_escaped(to, f->names);
		buf_add_char(to, ')');
	}
	buf_add_char(to, '\n');
	if (f->text)
		add_lines(to, f->text);
	add_labelled(to, "proof", f->proof);
	add_labelled(to, "next", f->next);
}

/* Tables. */

static bool is_known_anywhere(const struct grid *g, const struct column *c)
{
	for (size_t r = 0; r < g->row_count; r++)
		if (column_is_known(c, g->rows[r]))
			return true;
	return false;
}

static void pick_columns(struct out *o, const struct out_table *t, struct grid *g)
{
	g->columns = arena_alloc(&o->frame, t->column_count * sizeof(*g->columns));
	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = t->columns[i];
		bool shown = t->has_choice ||
			(c->title && !(c->hide_if_empty && !is_known_anywhere(g, c)));

		if (shown)
			g->columns[g->column_count++] = c;
	}
}

static bool is_left(const struct column *c)
{
	return c->type == TYPE_TEXT || c->type == TYPE_BOOL;
}

static void end_cell(struct grid *g, struct cell *cell, size_t at)
{
	struct text t = { g->text.data + at, g->text.len - at };

	*cell = (struct cell){ at, (uint32_t)t.len, (uint32_t)escape_width(t) };
}

static void fill_title(struct grid *g, struct cell *cell, const struct column *c)
{
	size_t at = g->text.len;

	buf_add_text(&g->text, c->title ? c->title : c->name);
	for (size_t i = at; !c->title && i < g->text.len; i++)
		if (g->text.data[i] >= 'a' && g->text.data[i] <= 'z')
			g->text.data[i] = (char)(g->text.data[i] - 'a' + 'A');
	end_cell(g, cell, at);
}

static void fill_cell(struct out *o, struct grid *g, struct cell *cell, const struct column *c,
		      const void *row)
{
	size_t at = g->text.len;
	char number[HUMAN_MAX];

	if (column_is_known(c, row) && column_is_estimated(c, row))
		buf_add_char(&g->text, '~');
	if (c->type != TYPE_TEXT) {
		human_cell(number, c, row);
		buf_add_text(&g->text, number);
	} else if (column_is_known(c, row)) {
		add_escaped(&g->text, out_shown_name(o, c->names, column_text(c, row)));
	} else {
		buf_add_char(&g->text, '-');
	}
	end_cell(g, cell, at);
}

static void fill(struct out *o, struct grid *g)
{
	size_t n = g->column_count;

	g->cells = arena_alloc(&o->frame, (g->row_count + 1) * n * sizeof(*g->cells));
	g->widths = arena_alloc(&o->frame, n * sizeof(*g->widths));
	buf_reserve(&g->text, 1);
	for (size_t i = 0; i < n && !o->config.no_header; i++)
		fill_title(g, &g->cells[i], g->columns[i]);
	for (size_t r = 0; r < g->row_count; r++)
		for (size_t i = 0; i < n; i++)
			fill_cell(o, g, &g->cells[(r + 1) * n + i], g->columns[i], g->rows[r]);
	for (size_t k = 0; k < (g->row_count + 1) * n; k++)
		if (g->cells[k].width > g->widths[k % n])
			g->widths[k % n] = g->cells[k].width;
}

static size_t total_width(const struct grid *g, size_t gap)
{
	size_t total = gap * (g->column_count - 1);

	for (size_t i = 0; i < g->column_count; i++)
		total += g->widths[i];
	return total;
}

static size_t hex_run(struct text t)
{
	size_t n = 0;

	while (n < t.len && strchr("0123456789abcdef", t.data[n]))
		n++;
	return n;
}

/*
 * A container is known by the first 12 digits of its id. Of a path that ends in one, what follows
 * them is of no use to anybody: returns the path's length up to there, or all of it.
 */
static size_t up_to_short_id(struct text path)
{
	size_t end = path.len;

	for (size_t i = 0; i < path.len;) {
		size_t n = hex_run((struct text){ path.data + i, path.len - i });

		if (n >= 32)
			end = i + SHORT_ID;
		else if (path.data[i] == '/')
			end = path.len;
		i += n ? n : 1;
	}
	return end;
}

/* Of a path the last components say most: as many as fit behind ".../", or the end of the last. */
static void add_short_path(struct buf *to, struct text path, size_t width)
{
	struct text t = { path.data, up_to_short_id(path) };
	bool is_cut = t.len < path.len;

	width -= is_cut ? strlen(CUT_MARK) : 0;
	if (escape_width(t) > width) {
		size_t keep = escape_tail(t, width - strlen(CUT_MARK));
		const char *start = t.data + t.len - keep;
		const char *slash = memchr(start, '/', keep);

		if (slash && slash + 1 < t.data + t.len) {
			start = slash;
		} else if (is_cut) {
			/* part of an id says nothing: its first 12 digits are how it is known */
			buf_add(to, t.data + t.len - SHORT_ID, SHORT_ID);
			return;
		}
		buf_add_text(to, CUT_MARK);
		t = (struct text){ start, (size_t)(t.data + t.len - start) };
	}
	buf_add(to, t.data, t.len);
	buf_add_text(to, is_cut ? CUT_MARK : "");
}

static void cut_cell(struct grid *g, struct cell *cell, const struct column *c, size_t width)
{
	/* adding to g->text may move it */
	struct buf b = { 0 };
	size_t at = g->text.len;

	buf_add(&b, g->text.data + cell->at, cell->len);
	if (c->names == NAME_CGROUP) {
		add_short_path(&g->text, buf_text(&b), width);
	} else {
		buf_add(&g->text, b.data, escape_head(buf_text(&b), width - strlen(CUT_MARK)));
		buf_add_text(&g->text, CUT_MARK);
	}
	buf_free(&b);
	end_cell(g, cell, at);
}

/* The widest text column gives way, the others never: a number that is cut is a wrong number. */
static void fit(struct grid *g, size_t width)
{
	size_t n = g->column_count, widest = n, total = total_width(g, 1);

	for (size_t i = 0; i < n; i++)
		if (g->columns[i]->type == TYPE_TEXT &&
		    (widest == n || g->widths[i] >= g->widths[widest]))
			widest = i;
	if (total <= width || widest == n)
		return;
	size_t over = total - width, least = g->cells[widest].width;

	least = least > SHORTEST ? least : SHORTEST;
	if (g->widths[widest] <= least)
		return;
	size_t target = g->widths[widest] > over + least ? g->widths[widest] - over : least;

	g->widths[widest] = 0;
	for (size_t r = 0; r <= g->row_count; r++) {
		struct cell *cell = &g->cells[r * n + widest];

		if (cell->width > target)
			cut_cell(g, cell, g->columns[widest], target);
		if (cell->width > g->widths[widest])
			g->widths[widest] = cell->width;
	}
}

static void add_grid_row(struct buf *to, const struct grid *g, size_t row, size_t gap)
{
	for (size_t i = 0; i < g->column_count; i++) {
		const struct cell *cell = &g->cells[row * g->column_count + i];
		size_t padding = g->widths[i] - cell->width;
		bool left = is_left(g->columns[i]), last = i + 1 == g->column_count;

		if (!left)
			add_spaces(to, padding);
		buf_add(to, g->text.data + cell->at, cell->len);
		if (left && !last)
			add_spaces(to, padding);
		if (!last)
			add_spaces(to, gap);
	}
}

static void print_grid(struct out *o, const struct grid *g)
{
	size_t gap = total_width(g, 2) <= o->config.width ? 2 : 1;

	if (!o->config.no_header) {
		buf_add_text(&o->buf, o->has_color ? BOLD : "");
		add_grid_row(&o->buf, g, 0, gap);
		buf_add_text(&o->buf, o->has_color ? PLAIN "\n" : "\n");
	}
	for (size_t r = 1; r <= g->row_count; r++) {
		add_grid_row(&o->buf, g, r, gap);
		buf_add_char(&o->buf, '\n');
		out_write_if_full(o);
	}
}

/* False if there was nothing to show. */
static bool add_table(struct out *o, const struct out_table *t, bool after_others)
{
	struct grid g = { 0 };

	if (!t->count && !o->config.table)
		return false;
	g.row_count = table_sorted(&o->frame, t, out_limit(o, t), &g.rows);
	pick_columns(o, t, &g);
	if (!g.column_count)
		return false;
	fill(o, &g);
	if (!t->has_choice)
		fit(&g, o->config.width);
	if (after_others)
		buf_add_char(&o->buf, '\n');
	print_grid(o, &g);
	if (g.row_count < t->count)
		buf_printf(&o->buf, "... %s more (--top 0)\n",
			   human_count(&o->frame, (double)(t->count - g.row_count)));
	buf_free(&g.text);
	return true;
}

/* Labelled lines. */

static void add_label_line(struct buf *to, const char *label, const char *text, size_t line_width)
{
	struct buf escaped = { 0 };
	bool has_label = label && *label;

	if (has_label) {
		size_t start = to->len;

		add_escaped(to, label);
		size_t width = escape_width((struct text){ to->data + start, to->len - start });

		add_spaces(to, width + 1 < LABEL_WIDTH ? LABEL_WIDTH - width : 2);
	}
	add_escaped(&escaped, text);
	wrap_words(to, escaped.len ? escaped.data : "", has_label ? LABEL_WIDTH : 0, line_width);
	buf_free(&escaped);
}

static void add_label_lines(struct out *o, bool has_label)
{
	for (size_t i = 0; i < o->line_count; i++)
		if (has_label == (o->lines[i].label && *o->lines[i].label))
			add_label_line(&o->buf, o->lines[i].label, o->lines[i].text,
				       o->config.width);
}

/* As many as fit the line, at least one, and how many more there are. */
static void add_history_line(struct out *o)
{
	struct buf line = { 0 };
	size_t i = 0, room = o->config.width - LABEL_WIDTH, tail = strlen(", 99 more (--past)");

	for (; i < o->history_count; i++) {
		size_t need = strlen(o->histories[i]) + 2;
		bool last = i + 1 == o->history_count;

		if (i && line.len + need + (last ? strlen(" (--past)") : tail) > room)
			break;
		buf_printf(&line, "%s%s", i ? ", " : "", o->histories[i]);
	}
	if (i < o->history_count)
		buf_printf(&line, ", %zu more", o->history_count - i);
	buf_add_text(&line, " (--past)");
	add_label_line(&o->buf, "history", line.data, o->config.width);
	buf_free(&line);
}

static void add_histories(struct out *o)
{
	if (!o->history_count)
		return;
	if (!o->config.past) {
		add_history_line(o);
		return;
	}
	for (size_t i = 0; i < o->history_count; i++)
		add_label_line(&o->buf, i ? " " : "history", o->histories[i], o->config.width);
}

void out_people(struct out *o)
{
	bool tables = false;
	struct finding **list;
	size_t start = o->wrote_frame;

	/* a frame that shows nothing leaves no blank line behind: taken back below */
	if (start)
		buf_add_char(&o->buf, '\n');
	for (size_t i = 0; i < o->host_count && !o->config.quiet; i++) {
		add_escaped(&o->buf, o->hosts[i]);
		buf_add_char(&o->buf, '\n');
	}
	if (!o->findings_left_out) {
		size_t count = out_ranked_findings(o, &list);

		for (size_t i = 0; i < count; i++)
			add_finding(o, list[i]);
	}
	for (size_t i = 0; i < o->table_count; i++)
		if (!o->tables[i].left_out)
			tables |= add_table(o, &o->tables[i], tables || o->buf.len > start);
	if (!o->config.quiet && !o->config.table) {
		if (tables && (o->line_count || o->history_count))
			buf_add_char(&o->buf, '\n');
		/* what has no label sums up, and so comes last */
		add_label_lines(o, true);
		add_histories(o);
		add_label_lines(o, false);
	}
	if (o->buf.len == start && !tables)
		buf_reset(&o->buf);
}
