/* Stacks and functions as rows. */
#include <stdlib.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/na.h"

struct stack_row {
	const char *stack;
	uint64_t weight;
	double weight_ratio;
};

struct stack_change {
	const char *stack;
	uint64_t before, after;
	double before_ratio, after_ratio, change_ratio;
};

struct function_row {
	const char *function;
	double self_ratio, total_ratio;
	uint64_t self, total;
};

struct function_change {
	const char *function;
	double change_ratio, self_change_ratio;
	uint64_t self_before, self_after, total_before, total_after;
};

static const struct column stack_columns[] = {
	COL_NAME(struct stack_row, stack, "STACK", ROLE_KEY, NAME_COMMAND,
		 "frames from the root to the leaf, ; between them"),
	COL(struct stack_row, weight, "WEIGHT", ROLE_GAUGE, UNIT_COUNT,
	    "of the samples that ended there, in the event's unit"),
	COL(struct stack_row, weight_ratio, "%", ROLE_GAUGE, UNIT_RATIO, "of all weight"),
};

static const struct column stack_change_columns[] = {
	COL_NAME(struct stack_change, stack, "STACK", ROLE_KEY, NAME_COMMAND,
		 "frames from the root to the leaf, ; between them"),
	COL(struct stack_change, before, "BEFORE", ROLE_GAUGE, UNIT_COUNT, "weight in BEFORE"),
	COL(struct stack_change, after, "AFTER", ROLE_GAUGE, UNIT_COUNT, "weight in AFTER"),
	COL(struct stack_change, before_ratio, "BEFORE%", ROLE_GAUGE, UNIT_RATIO,
	    "of all weight in BEFORE"),
	COL(struct stack_change, after_ratio, "AFTER%", ROLE_GAUGE, UNIT_RATIO,
	    "of all weight in AFTER"),
	COL(struct stack_change, change_ratio, "CHANGE%", ROLE_GAUGE, UNIT_RATIO,
	    "after_ratio less before_ratio"),
};

static const struct column function_columns[] = {
	COL(struct function_row, self_ratio, "SELF%", ROLE_GAUGE, UNIT_RATIO,
	    "of all weight: it ran itself"),
	COL(struct function_row, total_ratio, "TOTAL%", ROLE_GAUGE, UNIT_RATIO,
	    "of all weight: it or what it called; recursion counts once"),
	COL(struct function_row, self, "SELF", ROLE_GAUGE, UNIT_COUNT, "in the event's unit"),
	COL(struct function_row, total, "TOTAL", ROLE_GAUGE, UNIT_COUNT, "in the event's unit"),
	COL(struct function_row, function, "FUNCTION", ROLE_KEY, UNIT_TEXT,
	    "as frames are called in folded stacks"),
};

static const struct column function_change_columns[] = {
	COL(struct function_change, change_ratio, "TOTAL+-%", ROLE_GAUGE, UNIT_RATIO,
	    "how much more of all weight went to it and what it called"),
	COL(struct function_change, self_change_ratio, "SELF+-%", ROLE_GAUGE, UNIT_RATIO,
	    "how much more of all weight it used itself"),
	COL(struct function_change, total_before, "BEFORE", ROLE_GAUGE, UNIT_COUNT,
	    "it or what it called, in BEFORE"),
	COL(struct function_change, total_after, "AFTER", ROLE_GAUGE, UNIT_COUNT,
	    "the same in AFTER"),
	COL(struct function_change, self_before, "SELF BEFORE", ROLE_GAUGE, UNIT_COUNT,
	    "it ran itself, in BEFORE"),
	COL(struct function_change, self_after, "SELF AFTER", ROLE_GAUGE, UNIT_COUNT,
	    "the same in AFTER"),
	COL(struct function_change, function, "FUNCTION", ROLE_KEY, UNIT_TEXT,
	    "as frames are called in folded stacks"),
};

static const struct table stack_table = {
	.name = "stacks", .help = "a different stack", .sort = "-weight", .top = true,
	TABLE(struct stack_row, stack_columns),
};
static const struct table stack_change_table = {
	.name = "stacks", .help = "a different stack", .sort = "-change_ratio", .top = true,
	TABLE(struct stack_change, stack_change_columns),
};
static const struct table function_table = {
	.name = "functions", .help = "a function", .sort = "-self_ratio", .top = true,
	TABLE(struct function_row, function_columns),
};
static const struct table function_change_table = {
	.name = "functions", .help = "a function", .sort = "-change_ratio", .top = true,
	TABLE(struct function_change, function_change_columns),
};

const struct table *const fold_tables[] = { &function_table, &stack_table, NULL };
const struct table *const diff_tables[] = { &function_change_table, &stack_change_table, NULL };

bool stacks_wanted(struct out *out, bool is_difference)
{
	return out_rows_wanted(out, is_difference ? &stack_change_table : &stack_table) > 0;
}

bool functions_wanted(struct out *out, bool is_difference)
{
	return out_rows_wanted(out, is_difference ? &function_change_table : &function_table) > 0;
}

/* A name as text of the frame, as folded stacks have it. */
static const char *shown(struct arena *a, struct buf *scratch, struct text name)
{
	buf_reset(scratch);
	fold_escape(scratch, name);
	return arena_text(a, buf_text(scratch));
}

/* ---- stacks ---- */

static const char *stack_text(struct arena *a, struct buf *b, const struct profile *p,
			      uint32_t node)
{
	uint32_t *path = NULL;
	size_t depth = 0, cap = 0;

	for (; node != FOLD_ROOT; node = fold_parent(p->fold, node)) {
		path = mem_grow(path, &cap, depth + 1, sizeof(*path));
		path[depth++] = node;
	}
	buf_reset(b);
	while (depth) {
		fold_escape(b, fold_text(p->fold, path[--depth]));
		if (depth)
			buf_add_char(b, ';');
	}
	free(path);
	return arena_text(a, buf_text(b));
}

static void show_stack(struct out *out, const struct profile *p, uint32_t node,
		       const char *text, const uint64_t total[2], bool is_difference)
{
	const uint64_t before = fold_weight(p->fold, node, 0);
	const uint64_t after = fold_weight(p->fold, node, 1);

	if (!is_difference) {
		out_row(out, &stack_table, &(struct stack_row){
			.stack = text, .weight = before, .weight_ratio = ratio_of(before, total[0]),
		});
		return;
	}
	struct stack_change row = {
		.stack = text, .before = before, .after = after,
		.before_ratio = ratio_of(before, total[0]),
		.after_ratio = ratio_of(after, total[1]),
	};

	row.change_ratio = row.after_ratio - row.before_ratio;
	out_row(out, &stack_change_table, &row);
}

void stacks_show(struct out *out, const struct profile *p, bool is_difference)
{
	struct buf b = { 0 };
	uint64_t total[2];

	profile_totals(p, total);
	for (uint32_t i = 1; i < fold_count(p->fold); i++)
		if (fold_weight(p->fold, i, 0) || fold_weight(p->fold, i, 1))
			show_stack(out, p, i, stack_text(out_arena(out), &b, p, i), total,
				   is_difference);
	buf_free(&b);
}

/* ---- functions ---- */

static void show_function(struct out *out, const char *name, const struct function_sums *s,
			  const uint64_t total[2], bool is_difference)
{
	if (!is_difference) {
		out_row(out, &function_table, &(struct function_row){
			.function = name,
			.self = s->self[0], .self_ratio = ratio_of(s->self[0], total[0]),
			.total = s->total[0], .total_ratio = ratio_of(s->total[0], total[0]),
		});
		return;
	}
	out_row(out, &function_change_table, &(struct function_change){
		.function = name,
		.self_before = s->self[0], .self_after = s->self[1],
		.total_before = s->total[0], .total_after = s->total[1],
		.change_ratio = ratio_of(s->total[1], total[1]) - ratio_of(s->total[0], total[0]),
		.self_change_ratio = ratio_of(s->self[1], total[1]) -
				     ratio_of(s->self[0], total[0]),
	});
}

void functions_show(struct out *out, const struct profile *p, bool is_difference)
{
	struct buf b = { 0 };
	uint64_t total[2];
	uint32_t names;
	struct function_sums *sums = functions_sum(p->fold, &names);

	profile_totals(p, total);
	for (uint32_t i = 1; i < names; i++)
		if (sums[i].total[0] || sums[i].total[1])
			show_function(out, shown(out_arena(out), &b, fold_name_text(p->fold, i)),
				      &sums[i], total, is_difference);
	free(sums);
	buf_free(&b);
}

void functions_show_since(struct out *out, const struct profile *p, struct function_sums **before,
			  uint32_t *names)
{
	struct buf b = { 0 };
	uint64_t total[2] = { 0, 0 };
	uint32_t count;
	struct function_sums *now = functions_sum(p->fold, &count);

	for (uint32_t i = 1; i < count; i++)
		total[0] += now[i].self[0] - (i < *names ? (*before)[i].self[0] : 0);
	for (uint32_t i = 1; i < count; i++) {
		struct function_sums since = now[i];

		if (i < *names) {
			since.self[0] -= (*before)[i].self[0];
			since.total[0] -= (*before)[i].total[0];
		}
		if (since.total[0])
			show_function(out, shown(out_arena(out), &b, fold_name_text(p->fold, i)),
				      &since, total, false);
	}
	free(*before);
	*before = now;
	*names = count;
	buf_free(&b);
}
