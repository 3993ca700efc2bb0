/*
 * The USE table: of each resource how much of it is used, how much work waits for it, and what went
 * wrong. Here are the table, the two looks it compares, and what its parts share.
 */
#include "applets/triage/use_look.h"

#include <stdlib.h>
#include <string.h>

#include "common/kernel/source.h"

static const struct column columns[] = {
	COL(struct use_row, resource, "RESOURCE", ROLE_KEY, UNIT_TEXT, "what kind of thing it is"),
	COL(struct use_row, instance, "INSTANCE", ROLE_KEY, UNIT_TEXT,
	    "which one: a device, a mount point, a queue; \"host\" is the whole machine"),
	COL_EST(struct use_row, utilization_ratio, is_estimated, "UTIL", ROLE_GAUGE, UNIT_RATIO,
		"the part in use: of the interval if it is busy, of the limit if it fills up"),
	COL(struct use_row, utilization, "UTILIZATION", ROLE_TEXT, UNIT_TEXT,
	    "what is used, in its own unit, and of how much"),
	COL(struct use_row, saturation, "SATURATION", ROLE_TEXT, UNIT_TEXT,
	    "work that had to wait or was turned away"),
	COL(struct use_row, saturation_value, NULL, ROLE_GAUGE, UNIT_COUNT,
	    "the number that says most of it, in saturation_unit"),
	COL(struct use_row, saturation_unit, NULL, ROLE_TEXT, UNIT_TEXT,
	    "its unit, always the same one for a resource"),
	COL(struct use_row, errors, "ERRORS", ROLE_TEXT, UNIT_TEXT,
	    "errors and losses in the interval"),
	COL(struct use_row, errors_count, NULL, ROLE_COUNTER_DELTA, UNIT_COUNT,
	    "how many, in the interval"),
};

const struct table use_table = {
	.name = "use", .help = "a resource: its utilization, saturation and errors (--use)",
	TABLE(struct use_row, columns)
};

static struct use_look looks[2];
static unsigned looks_done;

void use_look(struct out *out)
{
	struct use_look *now = &looks[looks_done % 2], *before = &looks[(looks_done + 1) % 2];

	arena_reset(&now->arena);
	use_read_cpu(out, now);
	use_read_memory(out, now);
	use_read_disk(out, now);
	use_read_files(out, now);
	use_read_net(out, now);
	use_read_limits(out, now);
	if (!looks_done++) {
		if (!src_frame()->is_only)
			return;
		before = now;
	}
	use_show_cpu(out, before, now);
	use_show_memory(out, before, now);
	use_show_net(out, before, now);
	use_show_tcp(out, before, now);
	use_show_disk(out, before, now);
	use_show_files(out, before, now);
	use_show_limits(out, before, now);
}

void use_stop(void)
{
	for (size_t i = 0; i < 2; i++) {
		arena_free(&looks[i].arena);
		cpustat_free(&looks[i].cpu.stat);
		looks[i] = (struct use_look){ 0 };
	}
	looks_done = 0;
}

void use_check_whole(struct out *out, const char *path)
{
	struct text t;
	unsigned line = 1;

	if (src_read(path, &t) < 0 || (t.len && t.data[t.len - 1] == '\n'))
		return;
	for (size_t i = 0; i < t.len; i++)
		line += t.data[i] == '\n';
	out_missing(out, "/%s line %u: cut", path, line);
}

/* ---- rows ---- */

struct use_row use_row(const char *resource, const char *instance)
{
	return (struct use_row){
		.resource = resource, .instance = instance, .utilization_ratio = NA_F64,
		.saturation_value = NA_F64, .errors_count = NA_U64,
	};
}

void use_add(struct out *out, const struct use_row *row)
{
	out_row(out, &use_table, row);
}

static bool has_errors(const struct use_row *row)
{
	return row->errors_count != NA_U64 && row->errors_count > 0;
}

static double known_ratio(const struct use_row *row)
{
	return is_na_f64(row->utilization_ratio) ? -1 : row->utilization_ratio;
}

static int by_trouble(const void *a, const void *b)
{
	const struct use_row *x = a, *y = b;

	if (has_errors(x) != has_errors(y))
		return has_errors(x) ? -1 : 1;
	if (known_ratio(x) < known_ratio(y) || known_ratio(x) > known_ratio(y))
		return known_ratio(x) > known_ratio(y) ? -1 : 1;
	return strcmp(x->instance, y->instance);
}

void use_add_some(struct out *out, struct use_row *rows, size_t count, size_t most)
{
	if (count > most)
		qsort(rows, count, sizeof(*rows), by_trouble);
	for (size_t i = 0; i < count && i < most; i++)
		use_add(out, &rows[i]);
	if (count <= most)
		return;
	double fullest = -1;

	for (size_t i = most; i < count; i++)
		if (known_ratio(&rows[i]) > fullest)
			fullest = known_ratio(&rows[i]);
	struct use_row others = use_row(rows[0].resource, "(others)");

	others.utilization = use_text(out, "%zu more", count - most);
	if (fullest >= 0)
		others.utilization = use_text(out, "%zu more, fullest %s", count - most,
					      use_ratio_text(out, fullest));
	use_add(out, &others);
}

/* ---- numbers ---- */

void use_forget(void *counters, size_t size)
{
	memset(counters, 0xff, size);
}

uint64_t use_moved(uint64_t now, uint64_t before)
{
	return src_frame()->elapsed_ns ? delta_u64(now, before) : NA_U64;
}

double use_rate(uint64_t now, uint64_t before)
{
	return rate_of(use_moved(now, before), src_frame()->elapsed_ns);
}

double use_pressure(const struct psi *now, const struct psi *before)
{
	return ratio_of(use_moved(now->some_ns, before->some_ns), src_frame()->elapsed_ns);
}

uint64_t use_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return a == NA_U64 || b == NA_U64 || __builtin_add_overflow(a, b, &sum) ? NA_U64 : sum;
}

uint64_t use_known(uint64_t n)
{
	return n == NA_U64 ? 0 : n;
}

/* ---- texts ---- */

const char *use_count_text(struct out *out, uint64_t n)
{
	return human_count_u64(out_arena(out), n);
}

const char *use_bytes_text(struct out *out, uint64_t bytes)
{
	return human_bytes_u64(out_arena(out), bytes);
}

const char *use_flow_text(struct out *out, double bytes_per_second)
{
	if (is_na_f64(bytes_per_second))
		return "-";
	return use_text(out, "%s/s", human_bytes(out_arena(out), bytes_per_second));
}

const char *use_rate_text(struct out *out, double per_second)
{
	return human_rate(out_arena(out), per_second);
}

const char *use_ratio_text(struct out *out, double ratio)
{
	return human_ratio(out_arena(out), ratio);
}

static void set_used(struct out *out, struct use_row *row, uint64_t used, uint64_t limit,
		     const char *(*text_of_number)(struct out *out, uint64_t n))
{
	if (used == NA_U64)
		return;
	row->utilization_ratio = ratio_of(used, limit);
	row->utilization = text_of_number(out, used);
	if (limit != NA_U64)
		row->utilization = use_text(out, "%s of %s", row->utilization,
					    text_of_number(out, limit));
}

void use_set_used(struct out *out, struct use_row *row, uint64_t used, uint64_t limit)
{
	set_used(out, row, used, limit, use_count_text);
}

void use_set_used_bytes(struct out *out, struct use_row *row, uint64_t used, uint64_t limit)
{
	set_used(out, row, used, limit, use_bytes_text);
}

void use_set_saturation(struct use_row *row, double value, const char *unit, const char *text)
{
	if (is_na_f64(value))
		return;
	row->saturation_value = value;
	row->saturation_unit = unit;
	row->saturation = text;
}

void use_set_errors(struct out *out, struct use_row *row, uint64_t count, const char *what)
{
	if (count == NA_U64)
		return;
	row->errors_count = count;
	row->errors = use_text(out, "%s %s", use_count_text(out, count), what);
}
