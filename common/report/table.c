/* Tables: looking up columns, a row's values, sorting, and the COLUMNS section. */
#include "common/report/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/report/out_impl.h"
#include "common/report/wrap.h"

const struct column *table_column(const struct table *t, struct text name)
{
	for (size_t i = 0; i < t->column_count; i++)
		if (text_is(name, t->columns[i].name))
			return &t->columns[i];
	return NULL;
}

static const void *field(const struct column *c, const void *row)
{
	return (const char *)row + c->offset;
}

const char *column_text(const struct column *c, const void *row)
{
	return *(const char *const *)field(c, row);
}

uint64_t column_u64(const struct column *c, const void *row)
{
	return *(const uint64_t *)field(c, row);
}

int64_t column_i64(const struct column *c, const void *row)
{
	return *(const int64_t *)field(c, row);
}

double column_f64(const struct column *c, const void *row)
{
	return *(const double *)field(c, row);
}

bool column_bool(const struct column *c, const void *row)
{
	return *(const bool *)field(c, row);
}

bool column_is_known(const struct column *c, const void *row)
{
	switch (c->type) {
	case TYPE_TEXT:
		return column_text(c, row) != NULL;
	case TYPE_U64:
		return column_u64(c, row) != NA_U64;
	case TYPE_I64:
		return column_i64(c, row) != NA_I64;
	case TYPE_F64:
		return isfinite(column_f64(c, row));
	case TYPE_BOOL:
		return true;
	}
	return false;
}

double column_number(const struct column *c, const void *row)
{
	switch (c->type) {
	case TYPE_U64:
		return (double)column_u64(c, row);
	case TYPE_I64:
		return (double)column_i64(c, row);
	case TYPE_F64:
		return column_f64(c, row);
	case TYPE_BOOL:
		return column_bool(c, row);
	case TYPE_TEXT:
		break;
	}
	return NA_F64;
}

bool column_is_estimated(const struct column *c, const void *row)
{
	return c->estimated && *(const bool *)((const char *)row + c->estimated);
}

static void add_u64(struct buf *to, uint64_t value)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buf_add(to, digits + at, sizeof(digits) - at);
}

void table_add_f64(struct buf *to, double value)
{
	char text[40];

	if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value) {
		add_u64(to, (uint64_t)value);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_add_text(to, text);
}

void column_add_raw(struct buf *to, const struct column *c, const void *row)
{
	switch (c->type) {
	case TYPE_U64:
		add_u64(to, column_u64(c, row));
		break;
	case TYPE_I64:
		if (column_i64(c, row) < 0)
			buf_add_char(to, '-');
		add_u64(to, column_i64(c, row) < 0 ? 0 - (uint64_t)column_i64(c, row) :
			(uint64_t)column_i64(c, row));
		break;
	case TYPE_F64:
		table_add_f64(to, column_f64(c, row));
		break;
	case TYPE_BOOL:
		buf_add_char(to, column_bool(c, row) ? '1' : '0');
		break;
	case TYPE_TEXT:
		break;
	}
}

/* A row and what it is sorted by, so that comparing touches nothing else. */
struct sortable {
	uint64_t number;       /* in an order that unsigned comparison gives */
	const char *text;
	const void *at;
	uint32_t row;
	bool unknown;
};

static uint64_t ordered_f64(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static uint64_t ordered(const struct column *c, const void *row)
{
	switch (c->type) {
	case TYPE_U64:
		return column_u64(c, row);
	case TYPE_I64:
		return (uint64_t)column_i64(c, row) ^ UINT64_C(1) << 63;
	case TYPE_F64:
		return ordered_f64(column_f64(c, row) + 0.0);
	case TYPE_BOOL:
		return column_bool(c, row);
	case TYPE_TEXT:
		break;
	}
	return 0;
}

/* Unknown last; equal ones as they were added. */
static int compare(const struct sortable *x, const struct sortable *y, int sign)
{
	if (x->unknown != y->unknown)
		return x->unknown ? 1 : -1;
	if (x->number != y->number)
		return x->number < y->number ? -sign : sign;
	int order = x->text && y->text ? strcmp(x->text, y->text) : 0;

	if (order)
		return order < 0 ? -sign : sign;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_up(const void *a, const void *b)
{
	return compare(a, b, 1);
}

static int compare_down(const void *a, const void *b)
{
	return compare(a, b, -1);
}

static void sort_rows(const struct out_table *t, const void **rows)
{
	struct sortable *items = mem_alloc(t->count * sizeof(*items));

	for (size_t i = 0; i < t->count; i++) {
		bool known = column_is_known(t->sort, rows[i]);

		items[i].row = (uint32_t)i;
		items[i].at = rows[i];
		items[i].unknown = !known;
		items[i].number = known ? ordered(t->sort, rows[i]) : 0;
		if (known && t->sort->type == TYPE_TEXT)
			items[i].text = column_text(t->sort, rows[i]);
	}
	qsort(items, t->count, sizeof(*items), t->descending ? compare_down : compare_up);
	for (size_t i = 0; i < t->count; i++)
		rows[i] = items[i].at;
	free(items);
}

/* The table's own sort column is known before a row is completed, others may not be. */
static bool needs_all_complete(const struct out_table *t)
{
	const char *own = t->table->sort;

	return t->sort && !(own && !strcmp(own + (*own == '-'), t->sort->name));
}

size_t table_kept_size(const struct table *t)
{
	return t->complete && t->kept_size ? t->kept_size : t->row_size;
}

/* Where it stands, if all of it was kept. */
static const void *complete_row(struct arena *arena, const struct table *t, const void *kept)
{
	size_t size = table_kept_size(t);
	void *row = (void *)(uintptr_t)kept;

	if (size < t->row_size) {
		row = arena_alloc(arena, t->row_size);
		memcpy(row, kept, size);
	}
	t->complete(row);
	return row;
}

size_t table_sorted(struct arena *arena, const struct out_table *t, uint64_t limit,
		    const void ***rows)
{
	size_t keep = limit < t->count ? (size_t)limit : t->count;
	const void **list = arena_alloc(arena, t->count * sizeof(*list));
	bool all_first = t->table->complete && needs_all_complete(t);

	for (size_t i = 0; i < t->count; i++) {
		list[i] = t->rows + i * table_kept_size(t->table);
		if (all_first)
			list[i] = complete_row(arena, t->table, list[i]);
	}
	if (t->sort && t->count > 1)
		sort_rows(t, list);
	for (size_t i = 0; t->table->complete && !all_first && i < keep; i++)
		list[i] = complete_row(arena, t->table, list[i]);
	*rows = list;
	return keep;
}

void table_help(struct buf *to, const struct table *t, size_t width)
{
	size_t names = 0, titles = 1;

	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		names = strlen(c->name) > names ? strlen(c->name) : names;
		if (c->title && strlen(c->title) > titles)
			titles = strlen(c->title);
	}
	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		buf_printf(to, "  %-*s  %-*s  ", (int)names, c->name, (int)titles,
			   c->title ? c->title : "-");
		wrap_words(to, c->help ? c->help : "", 2 + names + 2 + titles + 2, width);
	}
}
