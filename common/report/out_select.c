/* What --table, --columns and --sort name, checked before anything is looked at. */
#include <errno.h>
#include <string.h>

#include "common/report/opt.h"
#include "common/report/out_impl.h"

#define NAMES_MAX 512          /* names offered when one is unknown */

struct names {
	const char *items[NAMES_MAX + 1];      /* ends with NULL */
	size_t count;
};

static void names_add(struct names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (!strcmp(n->items[i], name))
			return;
	if (n->count < NAMES_MAX)
		n->items[n->count++] = name;
	n->items[n->count] = NULL;
}

/* "unknown column 'pdi': did you mean 'pid'? columns: pid, comm" */
static int unknown(const char *what, const char *plural, struct text name,
		   const struct names *known)
{
	struct buf word = { 0 }, list = { 0 };

	escape_people(&word, name);
	const char *closest = opt_closest(word.len ? word.data : "", known->items);

	for (size_t i = 0; i < known->count; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", known->items[i]);
	int err = closest ?
		fail(EINVAL, "unknown %s '%s': did you mean '%s'? %s: %s", what,
		     word.len ? word.data : "", closest, plural, list.len ? list.data : "none") :
		fail(EINVAL, "unknown %s '%s'; %s: %s", what, word.len ? word.data : "", plural,
		     list.len ? list.data : "none");

	buf_free(&word);
	buf_free(&list);
	return err;
}

static int select_table(struct out *o)
{
	const char *name = o->config.table;
	struct names known = { .count = 0 };
	bool found = false;

	if (!name && o->config.format != OUT_TSV)
		return 0;
	if (!name)
		name = o->config.first_table;
	if (!name)
		name = o->table_count ? o->tables[0].table->name : "findings";
	for (size_t i = 0; i < o->table_count; i++) {
		struct out_table *t = &o->tables[i];

		t->left_out = found || strcmp(t->table->name, name) != 0;
		found = found || !t->left_out;
		names_add(&known, t->table->name);
	}
	names_add(&known, "findings");
	o->findings_left_out = strcmp(name, "findings") != 0;
	if (found || !o->findings_left_out)
		return 0;
	return unknown("table", "tables", text_of(name), &known);
}

static int unknown_column(const struct out *o, const char *what, struct text name)
{
	struct names known = { .count = 0 };

	if (o->config.table && !strcmp(o->config.table, "findings"))
		return fail(EINVAL, "the columns of findings can't be chosen or sorted by");
	for (size_t i = 0; i < o->table_count; i++) {
		const struct table *t = o->tables[i].table;

		for (size_t k = 0; !o->tables[i].left_out && k < t->column_count; k++)
			names_add(&known, t->columns[k].name);
	}
	return unknown(what, "columns", name, &known);
}

static bool is_chosen(const struct out_table *t, size_t count, const struct column *c)
{
	for (size_t i = 0; i < count; i++)
		if (t->columns[i] == c)
			return true;
	return false;
}

/* The next of a comma list; a '+' in front is taken off. */
static bool next_name(const char **list, struct text *name, bool *adds)
{
	if (!*list)
		return false;
	size_t n = strcspn(*list, ",");

	*adds = **list == '+';
	*name = (struct text){ *list + *adds, n - *adds };
	*list = (*list)[n] ? *list + n + 1 : NULL;
	return true;
}

/* Columns people see unasked, machines all. */
static bool is_default(const struct out *o, const struct column *c)
{
	return o->config.format != OUT_PEOPLE || c->title;
}

static void choose_columns(const struct out *o, struct out_table *t, bool from_default)
{
	const char *list = o->config.columns;
	size_t count = 0;
	struct text name;
	bool adds, named = false;

	for (size_t i = 0; from_default && i < t->table->column_count; i++)
		if (is_default(o, &t->table->columns[i]))
			t->columns[count++] = &t->table->columns[i];
	while (next_name(&list, &name, &adds)) {
		const struct column *c = table_column(t->table, name);

		named = named || c;
		if (c && !is_chosen(t, count, c))
			t->columns[count++] = c;
	}
	t->column_count = count;
	t->has_choice = named;
	t->left_out = !from_default && !named;
}

static int select_columns(struct out *o)
{
	const char *list = o->config.columns;
	bool adds, from_default = true;
	struct text name;

	if (!list)
		return 0;
	while (next_name(&list, &name, &adds)) {
		bool found = false;

		for (size_t i = 0; i < o->table_count; i++)
			found = found || (!o->tables[i].left_out &&
					  table_column(o->tables[i].table, name));
		if (!found)
			return unknown_column(o, "column", name);
		from_default = from_default && adds;
	}
	for (size_t i = 0; i < o->table_count; i++)
		if (!o->tables[i].left_out)
			choose_columns(o, &o->tables[i], from_default);
	return 0;
}

static void sort_by(struct out_table *t, const char *name)
{
	const struct column *c = table_column(t->table, text_of(name + (*name == '-')));

	if (!c)
		return;
	t->sort = c;
	t->descending = *name == '-';
}

static int select_sort(struct out *o)
{
	const char *name = o->config.sort;
	bool found = false;

	if (!name)
		return 0;
	struct text column = text_of(name + (*name == '-'));

	for (size_t i = 0; i < o->table_count; i++) {
		if (o->tables[i].left_out || !table_column(o->tables[i].table, column))
			continue;
		found = true;
		sort_by(&o->tables[i], name);
	}
	return found ? 0 : unknown_column(o, "column to sort by", column);
}

void out_select_default(struct out *o, struct out_table *t)
{
	t->columns = arena_alloc(&o->run, t->table->column_count * sizeof(*t->columns));
	t->column_count = t->table->column_count;
	for (size_t i = 0; i < t->column_count; i++)
		t->columns[i] = &t->table->columns[i];
	if (t->table->sort)
		sort_by(t, t->table->sort);
}

int out_select(struct out *o)
{
	int err = select_table(o);

	if (!err)
		err = select_columns(o);
	return err ? err : select_sort(o);
}

bool out_shows(struct out *o, const struct table *t, const char *column)
{
	const struct out_table *slot = out_table_of(o, t);

	if (o->collecting || slot->left_out)
		return false;
	if (slot->sort && !strcmp(slot->sort->name, column))
		return true;
	for (size_t i = 0; i < slot->column_count; i++)
		if (!strcmp(slot->columns[i]->name, column))
			return slot->has_choice || is_default(o, slot->columns[i]);
	return false;
}
