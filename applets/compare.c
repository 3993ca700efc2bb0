/*
 * compare: what changed between two saved runs? The same looks over both, side by side: findings
 * gone, new, still there; the load each run had; what else was different about the host.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/parts.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/environment.h"
#include "common/kernel/load.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

#define LOAD_ENOUGH 0.80               /* of the load before: less, and "gone" proves nothing */
#define LOAD_MIN_PER_SECOND \
	10.0 /* a rate below this before is noise: it says nothing about after */

struct change_row {
	const char *change, *id, *netns, *subject, *state_before, *state_after;
	double lost_before, lost_after, factor;
};

static const struct column change_columns[] = {
	COL(struct change_row, change, "CHANGE", ROLE_TEXT, UNIT_TEXT,
	    "gone, new, still or untested"),
	COL(struct change_row, id, "FINDING", ROLE_KEY, UNIT_TEXT, "its id"),
	COL(struct change_row, netns, NULL, ROLE_KEY, UNIT_TEXT, "network namespace"),
	COL(struct change_row, state_before, NULL, ROLE_TEXT, UNIT_TEXT, "state before"),
	COL(struct change_row, state_after, NULL, ROLE_TEXT, UNIT_TEXT, "state after"),
	COL(struct change_row, lost_before, "LOST-BEFORE", ROLE_GAUGE, UNIT_COUNT,
	    "seconds of waiting it caused per second, before"),
	COL(struct change_row, lost_after, "LOST-AFTER", ROLE_GAUGE, UNIT_COUNT, "the same after"),
	COL(struct change_row, factor, "AFTER/BEFORE", ROLE_GAUGE, UNIT_COUNT, "their ratio"),
	COL(struct change_row, subject, "SUBJECT", ROLE_KEY, UNIT_TEXT, "what it is about"),
};

struct number_row {
	const char *id, *subject, *name;
	double before, after, factor;
};

static const struct column number_columns[] = {
	COL(struct number_row, id, "FINDING", ROLE_KEY, UNIT_TEXT, "its id"),
	COL(struct number_row, name, "NUMBER", ROLE_KEY, UNIT_TEXT, "evidence, unit in its name"),
	COL(struct number_row, before, "BEFORE", ROLE_GAUGE, UNIT_COUNT, "value before"),
	COL(struct number_row, after, "AFTER", ROLE_GAUGE, UNIT_COUNT, "value after"),
	COL(struct number_row, factor, "AFTER/BEFORE", ROLE_GAUGE, UNIT_COUNT, "their ratio"),
	COL(struct number_row, subject, "SUBJECT", ROLE_KEY, UNIT_TEXT,
	    "what the finding is about"),
};

struct pair_row {
	const char *name;
	double before, after, factor;
};

static const struct column load_columns[] = {
	COL(struct pair_row, name, "LOAD", ROLE_KEY, UNIT_TEXT,
	    "packets, accepts, switches; CPU share"),
	COL(struct pair_row, before, "BEFORE", ROLE_GAUGE, UNIT_COUNT,
	    "per second (busy: share) before"),
	COL(struct pair_row, after, "AFTER", ROLE_GAUGE, UNIT_COUNT, "after"),
	COL(struct pair_row, factor, "AFTER/BEFORE", ROLE_GAUGE, UNIT_COUNT, "their ratio"),
};

static const struct column workload_columns[] = {
	COL(struct pair_row, name, "WORKLOAD", ROLE_KEY, UNIT_TEXT, "as --workload named it"),
	COL(struct pair_row, before, "BEFORE", ROLE_GAUGE, UNIT_COUNT, "value before"),
	COL(struct pair_row, after, "AFTER", ROLE_GAUGE, UNIT_COUNT, "value after"),
	COL(struct pair_row, factor, "AFTER/BEFORE", ROLE_GAUGE, UNIT_COUNT, "their ratio"),
};

struct environment_row {
	const char *key, *before, *after;
};

static const struct column environment_columns[] = {
	COL(struct environment_row, key, "DIFFERS", ROLE_KEY, UNIT_TEXT,
	    "a setting or fact that is not the same in both runs"),
	COL(struct environment_row, before, "BEFORE", ROLE_TEXT, UNIT_TEXT, "value before"),
	COL(struct environment_row, after, "AFTER", ROLE_TEXT, UNIT_TEXT, "value after"),
};

static const struct table change_table = { .name = "changes",
					   .help = "a finding of either run",
					   TABLE(struct change_row, change_columns) };
static const struct table number_table = { .name = "numbers",
					   .help = "a finding's evidence, side by side",
					   TABLE(struct number_row, number_columns) };
static const struct table load_table = { .name = "load",
					 .help = "how much work the host did",
					 TABLE(struct pair_row, load_columns) };
static const struct table workload_table = { .name = "workload",
					     .help = "what the load generator said",
					     TABLE(struct pair_row, workload_columns) };
static const struct table environment_table = { .name = "environment",
						.help = "what else was different",
						TABLE(struct environment_row,
						      environment_columns) };
static const struct table *const tables[] = { &change_table,   &number_table,      &load_table,
					      &workload_table, &environment_table, NULL };

/* One saved run, looked over. Everything lives in the arena. */
struct run {
	const char *dir;
	struct arena arena;
	struct finding **findings;
	size_t count, cap;
	unsigned frames;
	uint64_t last_realtime_ns;
	struct load_rates rates;
	struct environment environment;
	const char *workload;
	const char *looked_at; /* "triage", "cpuwait -p 1": applet, mode, and what of the host */
	bool is_incomplete;
};

static struct run runs[2];

static int start(int argc, char **argv)
{
	if (argc != 3)
		return fail(EINVAL, "compare needs two saved runs: BEFORE AFTER");
	for (size_t i = 0; i < 2; i++)
		runs[i].dir = argv[i + 1];
	return 0;
}

static bool is_same(const struct finding *a, const struct finding *b)
{
	return a->kind == b->kind && !strcmp(a->subject, b->subject) &&
	       !strcmp(a->netns ? a->netns : "", b->netns ? b->netns : "");
}

static struct finding *find(const struct run *run, const struct finding *like)
{
	for (size_t i = 0; i < run->count; i++)
		if (is_same(run->findings[i], like))
			return run->findings[i];
	return NULL;
}

/* Of a finding that several frames show, the one that lost most stands for all. */
static void keep_findings(struct run *run, const struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		struct finding **list;
		size_t n = out_findings(parts->items[i].out, &list);

		run->is_incomplete |=
			parts->items[i].refused || out_is_incomplete(parts->items[i].out);
		for (size_t k = 0; k < n; k++) {
			struct finding *kept = find(run, list[k]);

			if (parts_cover(parts, list[k]))
				continue;
			if (kept && kept->lost >= list[k]->lost)
				continue;
			struct finding *copy = finding_copy(&run->arena, list[k]);

			if (kept) {
				*kept = *copy;
				continue;
			}
			run->findings = mem_grow(run->findings, &run->cap, run->count + 1,
						 sizeof(*run->findings));
			run->findings[run->count++] = copy;
		}
	}
}

/* Which looks the run was: an applet's, or all of triage. */
static int start_parts(struct parts *parts, const struct run *run)
{
	struct text manifest, name = { "", 0 }, option = { "", 0 };
	struct arena a = { 0 };

	if (src_saved_record("manifest", &manifest) < 0 ||
	    !scan_find_key(manifest, "applet", &name))
		return fail(ENODATA, "%s: not a saved run (no manifest that names an applet)",
			    run->dir);
	scan_find_key(manifest, "mode", &option);
	const char *applet_name = arena_text(&a, name);
	const struct applet *applet = applet_find(applet_name);
	int err = 0;

	if (!strcmp(applet_name, "triage"))
		err = parts_start(parts, NULL, NULL);
	else if (applet)
		err = parts_start(parts, applet, arena_text(&a, option));
	else
		err = fail(ENODATA, "%s: saved by applet '%s', which this perfbox does not have",
			   run->dir, applet_name);
	arena_free(&a);
	return err;
}

static void read_records(struct run *run)
{
	struct text t;

	if (src_saved_record("manifest", &t) >= 0) {
		struct text applet = { "", 0 }, option = { "", 0 }, narrowed = { "", 0 };

		scan_find_key(t, "applet", &applet);
		scan_find_key(t, "mode", &option);
		scan_find_key(t, "narrowed", &narrowed);
		run->looked_at =
			arena_printf(&run->arena, "%.*s%s%.*s%s%.*s", (int)applet.len, applet.data,
				     option.len ? " " : "", (int)option.len, option.data,
				     narrowed.len ? " " : "", (int)narrowed.len, narrowed.data);
	}
	if (src_saved_record("environment", &t) >= 0 &&
	    environment_parse(&run->arena, t, &run->environment) < 0)
		run->is_incomplete = true;
	if (src_saved_record("workload", &t) >= 0)
		run->workload = arena_text(&run->arena, t);
}

static int look_over(struct run *run)
{
	struct load first = { 0 }, last = { 0 };
	uint64_t first_ns = 0, last_ns = 0;
	struct parts parts;
	int err = src_open_root(run->dir);

	if (err < 0)
		return err;
	err = start_parts(&parts, run);
	if (err < 0)
		goto out;
	read_records(run);
	while ((err = src_frame_begin()) > 0) {
		load_read(&last);
		last_ns = src_frame()->monotonic_ns;
		run->last_realtime_ns = src_frame()->realtime_ns;
		if (!run->frames++) {
			first = last;
			first_ns = last_ns;
		}
		parts_look(&parts);
		keep_findings(run, &parts);
		src_frame_end();
	}
	parts_stop(&parts);
	load_rates(&first, &last, last_ns - first_ns, &run->rates);
	if (err >= 0 && run->frames < 2)
		err = fail(ENODATA, "%s: %u frame%s, a comparison needs two", run->dir, run->frames,
			   run->frames == 1 ? "" : "s");
out:
	src_close();
	return err;
}

static double factor_of(double before, double after)
{
	return before != 0 ? after / before : NA_F64;
}

static void show_load(struct out *out, const struct load_rates *before,
		      const struct load_rates *after)
{
	const struct pair_row rows[] = {
		{ "packets_in_per_second", before->packets_per_second, after->packets_per_second,
		  0 },
		{ "accepts_per_second", before->accepts_per_second, after->accepts_per_second, 0 },
		{ "switches_per_second", before->switches_per_second, after->switches_per_second,
		  0 },
		{ "cpu_busy_ratio", before->busy_ratio, after->busy_ratio, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair_row row = rows[i];

		row.factor = factor_of(row.before, row.after);
		out_row(out, &load_table, &row);
	}
}

/*
 * How much of the load before there was after: the least of accepts and packets, which are work;
 * switches, which a cure may well reduce, only where there was neither. NAN if nothing says that
 * the load came back.
 */
static double load_factor(const struct load_rates *before, const struct load_rates *after)
{
	const double pairs[][2] = {
		{ before->accepts_per_second, after->accepts_per_second },
		{ before->packets_per_second, after->packets_per_second },
		{ before->switches_per_second, after->switches_per_second },
	};
	double least = NA_F64;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		double factor = factor_of(pairs[i][0], pairs[i][1]);

		if (!(pairs[i][0] >= LOAD_MIN_PER_SECOND) || isnan(factor) ||
		    (i == 2 && !isnan(least)))
			continue;
		if (isnan(least) || factor < least)
			least = factor;
	}
	return least;
}

static double evidence_number(const struct evidence *e)
{
	switch (e->type) {
	case TYPE_U64: return e->u64 == NA_U64 ? NA_F64 : (double)e->u64;
	case TYPE_I64: return e->i64 == NA_I64 ? NA_F64 : (double)e->i64;
	case TYPE_F64: return e->f64;
	default: return NA_F64;
	}
}

static const struct evidence *find_evidence(const struct finding *f, const char *name)
{
	for (size_t i = 0; f && i < f->evidence_count; i++)
		if (!strcmp(f->evidence[i].name, name))
			return &f->evidence[i];
	return NULL;
}

static void show_numbers(struct out *out, const struct finding *before, const struct finding *after)
{
	const struct finding *either = after ? after : before;

	for (size_t i = 0; i < either->evidence_count; i++) {
		const char *name = either->evidence[i].name;
		const struct evidence *b = find_evidence(before, name),
				      *a = find_evidence(after, name);

		if (either->evidence[i].type == TYPE_TEXT)
			continue;
		struct number_row row = { either->kind->id,
					  either->subject,
					  name,
					  b ? evidence_number(b) : NA_F64,
					  a ? evidence_number(a) : NA_F64,
					  NA_F64 };

		row.factor = factor_of(row.before, row.after);
		out_row(out, &number_table, &row);
	}
}

static void show_change(struct out *out, const char *change, const struct finding *before,
			const struct finding *after)
{
	const struct finding *either = after ? after : before;
	struct change_row row = {
		.change = change,
		.id = either->kind->id,
		.netns = either->netns,
		.subject = either->subject,
		.state_before = before ? finding_state_name(before->state) : NULL,
		.state_after = after ? finding_state_name(after->state) : NULL,
		.lost_before = before ? before->lost : NA_F64,
		.lost_after = after ? after->lost : NA_F64,
	};

	row.factor = factor_of(row.lost_before, row.lost_after);
	out_row(out, &change_table, &row);
	show_numbers(out, before, after);
}

/* What is new or still there is a finding of this comparison too: exit status 1. */
static void show_findings(struct out *out, const struct run *before, const struct run *after,
			  unsigned counts[4])
{
	double factor = load_factor(&before->rates, &after->rates);
	bool is_same_look = before->looked_at && after->looked_at &&
			    !strcmp(before->looked_at, after->looked_at);
	bool is_tested = is_same_look && factor >= LOAD_ENOUGH;

	for (size_t i = 0; i < after->count; i++) {
		struct finding *was = find(before, after->findings[i]);

		show_change(out, was ? "still" : "new", was, after->findings[i]);
		counts[was ? 1 : 0]++;
		out_finding(out, after->findings[i]);
	}
	for (size_t i = 0; i < before->count; i++) {
		if (find(after, before->findings[i]))
			continue;
		show_change(out, is_tested ? "gone" : "untested", before->findings[i], NULL);
		counts[is_tested ? 2 : 3]++;
	}
	if (counts[3] && !is_same_look)
		out_missing(out, "untested: the runs looked at different things: %s, %s",
			    redact_name(out_arena(out), NAME_CONTAINER, before->looked_at),
			    redact_name(out_arena(out), NAME_CONTAINER, after->looked_at));
	else if (counts[3] && isnan(factor))
		out_missing(out, "untested: the load of the two runs can't be compared");
	else if (counts[3])
		out_missing(out, "untested: load %+.0f %%", (factor - 1) * 100);
}

static const char *environment_find(const struct environment *e, const char *key)
{
	for (size_t i = 0; i < e->count; i++)
		if (!strcmp(e->items[i].key, key))
			return e->items[i].value;
	return NULL;
}

/* The kernel's command line may name hosts, disks and addresses. */
static const char *shown_value(struct out *out, const char *key, const char *value)
{
	return redact_name(out_arena(out),
			   !strcmp(key, "kernel_command_line") ? NAME_HOST : NAME_PLAIN, value);
}

static unsigned show_difference(struct out *out, const char *key, const char *before,
				const char *after)
{
	if (before && after && !strcmp(before, after))
		return 0;
	struct environment_row row = { key, shown_value(out, key, before),
				       shown_value(out, key, after) };

	out_row(out, &environment_table, &row);
	return 1;
}

static unsigned show_environment(struct out *out, const struct environment *before,
				 const struct environment *after)
{
	unsigned differ = 0;

	for (size_t i = 0; i < before->count; i++)
		differ += show_difference(out, before->items[i].key, before->items[i].value,
					  environment_find(after, before->items[i].key));
	for (size_t i = 0; i < after->count; i++)
		if (!environment_find(before, after->items[i].key))
			differ += show_difference(out, after->items[i].key, NULL,
						  after->items[i].value);
	return differ;
}

/* "qps=189,errors=1910": the next pair; false at the end. A value that is no number is unknown. */
static bool next_pair(struct scan *s, struct text *name, double *value)
{
	struct text pair;

	if (s->at >= s->end)
		return false;
	if (!scan_until(s, ',', &pair)) {
		pair = scan_rest(s);
		s->at = s->end;
	}
	struct scan p = scan_of(pair);

	*value = NA_F64;
	if (!scan_until(&p, '=', name)) {
		*name = pair;
		return true;
	}
	scan_all_decimal(scan_rest(&p), value);
	return true;
}

static double workload_value(const char *workload, struct text wanted)
{
	struct scan s = scan_of(text_of(workload ? workload : ""));
	struct text name;
	double value;

	while (next_pair(&s, &name, &value))
		if (text_equals(name, wanted))
			return value;
	return NA_F64;
}

static void show_workload(struct out *out, const char *before, const char *after)
{
	const char *const sides[] = { before, after };

	for (size_t side = 0; side < 2; side++) {
		struct scan s = scan_of(text_of(sides[side] ? sides[side] : ""));
		struct text name;
		double value;

		while (next_pair(&s, &name, &value)) {
			struct pair_row row = { arena_text(out_arena(out), name),
						workload_value(before, name),
						workload_value(after, name), NA_F64 };

			if (side == 1 && !isnan(row.before))
				continue;
			row.factor = factor_of(row.before, row.after);
			out_row(out, &workload_table, &row);
		}
	}
}

static int run(struct out *out)
{
	unsigned counts[4] = { 0 };

	src_frame_end();
	src_close();
	for (size_t i = 0; i < 2; i++) {
		int err = look_over(&runs[i]);

		if (err < 0)
			return err;
		if (runs[i].is_incomplete)
			out_missing(out, "%s: not all of it could be read", runs[i].dir);
	}
	const struct run *before = &runs[0], *after = &runs[1];

	/* nothing here depends on when it is compared */
	out_frame_begin(out, after->last_realtime_ns);
	show_findings(out, before, after, counts);
	show_load(out, &before->rates, &after->rates);
	show_workload(out, before->workload, after->workload);
	unsigned differ = show_environment(out, &before->environment, &after->environment);

	out_host(out, "perfbox compare  %s (%u frames)  %s (%u frames)", before->dir,
		 before->frames, after->dir, after->frames);
	if (differ > 1)
		out_note(out,
			 "%u settings or facts differ: what changed the result can't be told from "
			 "these two runs",
			 differ);
	out_line(out, NULL,
		 "%u new, %u still there, %u gone, %u untested; %u setting%s differ%s; exit %d",
		 counts[0], counts[1], counts[2], counts[3], differ, differ == 1 ? "" : "s",
		 differ == 1 ? "s" : "", out_status(out));
	return 0;
}

static void stop(void)
{
	for (size_t i = 0; i < 2; i++) {
		free(runs[i].findings);
		arena_free(&runs[i].arena);
		runs[i] = (struct run){ 0 };
	}
}

static const struct mode mode = {
	.operands = "BEFORE AFTER", .tables = tables, .start = start, .run = run, .stop = stop
};
static const struct mode *const modes[] = { &mode, NULL };

const struct applet applet_compare = {
	.name = "compare",
	.summary = "what changed between two saved runs: gone, new, still there, and what else "
		   "differs",
	.modes = modes,
};
