/*
 * Names and numbers of any bytes through all formats: no control byte gets out, JSON and
 * OpenMetrics stay valid, TSV keeps its columns. The first byte chooses what is asked for; names
 * end at NUL.
 */
#include <assert.h>
#include <stdlib.h>

#include "common/report/redact.h"
#include "tests/unit/formats.h"
#include "tests/unit/report.h"

#define ROWS_MAX 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const char *at, *end;
};

static const char *next_name(struct input *in)
{
	const char *name = in->at;

	if (in->at >= in->end)
		return NULL;
	in->at += strlen(in->at) + 1;
	return *name == '?' && !name[1] ? NULL : name;
}

static uint64_t next_number(struct input *in)
{
	uint64_t n = 0;
	size_t left = in->at < in->end ? (size_t)(in->end - in->at) : 0;

	memcpy(&n, in->at, left < 8 ? left : 8);
	in->at += left < 8 ? left : 8;
	return n;
}

static double next_double(struct input *in)
{
	uint64_t bits = next_number(in);
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static struct thread_row next_row(struct input *in)
{
	struct thread_row row = {
		.comm = next_name(in), .cgroup = next_name(in), .pod = next_name(in),
		.tid = next_number(in), .wait_ratio = next_double(in),
		.switches_per_second = next_double(in), .used_cpus = next_double(in),
		.wait_ns = next_number(in), .rss_bytes = next_number(in),
	};

	row.runs = row.wait_ns ^ row.rss_bytes;
	row.nice = (int64_t)row.runs;
	row.busy = row.runs & 1;
	row.estimated = row.runs & 2;
	return row;
}

static void add_finding(struct out *o, struct input *in)
{
	struct finding *f = finding_start(out_arena(o), test_kinds, "test.full", STATE_RISK,
					  next_name(in));

	f->netns = next_name(in);
	f->names = next_name(in);
	f->lost = next_double(in);
	finding_u64(f, "n", next_number(in));
	finding_f64(f, "f", f->lost);
	finding_text(f, "comm", NAME_COMMAND, next_name(in));
	finding_line(f, "worst  %s", f->subject ? f->subject : "none");
	finding_proof(f, "%s", f->names ? f->names : "none");
	finding_next(f, "perfbox -C %s", f->netns ? f->netns : "none");
	out_finding(o, f);
}

static void print(struct out *o, struct input in)
{
	for (int frame = 0; frame < 2; frame++) {
		const char *label = next_name(&in);

		out_frame_begin(o, next_number(&in));
		out_host(o, "perfbox  %s", label ? label : "host");
		out_line(o, label, "%s", label ? label : "line");
		out_history(o, "%s 5", label ? label : "counter");
		add_finding(o, &in);
		for (int i = 0; i < ROWS_MAX && in.at < in.end; i++) {
			struct thread_row row = next_row(&in);

			out_row(o, &threads_table, &row);
			out_row(o, &groups_table, &(struct group_row){ row.comm, row.runs });
		}
		assert(out_frame_end(o) == 0);
	}
}

static void check(const struct printed *p, const struct out_config *config)
{
	assert(strlen(p->text) == p->len);
	assert(is_printable(p->text, p->len, config->format == OUT_TSV, config->format != OUT_TSV));
	if (config->format == OUT_PEOPLE)
		assert(is_utf8(p->text, p->len));
	if (config->format == OUT_JSON)
		assert(is_json_lines(p->text, p->len));
	if (config->format == OUT_TSV)
		assert(is_rectangular(p->text));
	if (config->format != OUT_OPENMETRICS)
		return;
	const char *why = openmetrics_error(p->text, p->len);

	if (why)
		fprintf(stderr, "openmetrics: %s in\n%s", why, p->text);
	assert(!why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const tables[] = { NULL, "threads", "groups", "findings" };
	static const char *const columns[] = { NULL, "comm,tid", "+nice", "tid,pod,cgroup" };
	static const char *const sorts[] = { NULL, "comm", "-tid", "-runs" };
	uint8_t choice = size ? data[0] : 0;
	char *bytes = mem_alloc(size + 9);      /* the longest thing read behind the end is a NUL */

	if (size > 1)
		memcpy(bytes, data + 1, size - 1);
	redact_on(choice & 128 ? "fuzz" : NULL);
	for (enum out_format f = OUT_PEOPLE; f <= OUT_OPENMETRICS; f++) {
		struct out_config config = {
			.format = f, .table = tables[choice & 3], .top = NA_U64, .quiet = true,
			.past = choice & 64, .width = choice & 64 ? 1 + choice % 70 : 0,
		};
		struct printed p;

		config.columns = (choice & 3) < 2 ? columns[choice >> 2 & 3] : NULL;
		config.sort = (choice & 3) < 2 && !config.columns ? sorts[choice >> 4 & 3] : NULL;
		print_to_memory(&p, config);
		print(p.out, (struct input){ bytes, bytes + (size ? size - 1 : 0) });
		printed_text(&p);
		check(&p, &config);
		printed_free(&p);
	}
	free(bytes);
	return 0;
}
