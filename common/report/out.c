/* Collecting a frame, remarks on stderr, writing, exit status. The formats are in out_*.c. */
#include "common/report/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/report/out_impl.h"
#include "common/report/redact.h"

#define WIDTH_DEFAULT 100
#define PEOPLE_TOP 20
#define WRITE_AT 65536                 /* composed bytes written before the frame is whole */
#define STATES_COUNTED (1u << STATE_NOW | 1u << STATE_PAST | 1u << STATE_RISK)

static struct out_table *add_table(struct out *o, const struct table *t)
{
	o->tables = mem_grow(o->tables, &o->table_cap, o->table_count + 1, sizeof(*o->tables));
	struct out_table *slot = &o->tables[o->table_count++];

	*slot = (struct out_table){ .table = t };
	out_select_default(o, slot);
	return slot;
}

static void look_at_terminal(struct out *o)
{
	int fd = fileno(o->to);
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	struct winsize size;

	o->is_terminal = fd >= 0 && isatty(fd);
	o->has_color = o->is_terminal && !(no_color && *no_color) &&
		!(term && !strcmp(term, "dumb"));
	if (o->config.width)
		return;
	o->config.width = WIDTH_DEFAULT;
	if (o->is_terminal && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		o->config.width = size.ws_col;
}

int out_open(const struct out_config *config, struct out **out)
{
	struct out *o = mem_alloc(sizeof(*o));

	o->config = *config;
	for (size_t i = 0; config->tables && config->tables[i]; i++)
		add_table(o, config->tables[i]);
	int err = out_select(o);

	if (err) {
		out_close(o);
		return err;
	}
	if (!o->config.states)
		o->config.states = STATES_COUNTED;
	if (!config->to)
		setvbuf(stdout, NULL, _IOLBF, 0);
	o->to = config->to ? config->to : stdout;
	look_at_terminal(o);
	*out = o;
	return 0;
}

struct out *out_collect(const char *applet)
{
	struct out *o = mem_alloc(sizeof(*o));

	o->collecting = true;
	o->config.applet = applet;
	o->config.states = STATES_COUNTED;
	return o;
}

struct out_table *out_table_of(struct out *o, const struct table *t)
{
	for (size_t i = 0; i < o->table_count; i++)
		if (o->tables[i].table == t)
			return &o->tables[i];
	/* not declared by the mode; --table can't have asked for it */
	struct out_table *slot = add_table(o, t);

	slot->left_out = o->config.table || o->config.columns || o->config.format == OUT_TSV;
	return slot;
}

void out_frame_begin(struct out *o, uint64_t realtime_ns)
{
	arena_reset(&o->frame);
	for (size_t i = 0; i < o->table_count; i++)
		o->tables[i].count = 0;
	o->finding_count = o->history_count = o->host_count = o->line_count = 0;
	o->realtime_ns = realtime_ns;
}

enum out_format out_format(const struct out *o)
{
	return o->config.format;
}

FILE *out_stream(struct out *o)
{
	/* not by line: nothing was written yet */
	setvbuf(o->to, NULL, _IOFBF, WRITE_AT);
	return o->to;
}

struct arena *out_arena(struct out *o)
{
	return &o->frame;
}

bool out_wants_rows(const struct out *o)
{
	return !o->collecting;
}

void out_host(struct out *o, const char *format, ...)
{
	va_list args;

	if (o->collecting || o->config.format != OUT_PEOPLE)
		return;
	va_start(args, format);
	o->hosts = mem_grow(o->hosts, &o->host_cap, o->host_count + 1, sizeof(*o->hosts));
	o->hosts[o->host_count++] = report_vprintf(&o->frame, format, args);
	va_end(args);
}

void out_row(struct out *o, const struct table *t, const void *row)
{
	if (o->collecting)
		return;
	struct out_table *slot = out_table_of(o, t);

	if (slot->left_out)
		return;
	size_t kept = table_kept_size(t);

	slot->rows = mem_grow(slot->rows, &slot->cap, slot->count + 1, kept);
	memcpy(slot->rows + slot->count++ * kept, row, kept);
}

void out_finding(struct out *o, struct finding *f)
{
	o->findings = mem_grow(o->findings, &o->finding_cap, o->finding_count + 1,
			       sizeof(*o->findings));
	o->findings[o->finding_count++] = f;
	o->states_seen |= 1u << f->state;
}

void out_line(struct out *o, const char *label, const char *format, ...)
{
	va_list args;

	if (o->collecting || o->config.format != OUT_PEOPLE)
		return;
	va_start(args, format);
	o->lines = mem_grow(o->lines, &o->line_cap, o->line_count + 1, sizeof(*o->lines));
	o->lines[o->line_count++] = (struct out_label){
		arena_strdup(&o->frame, label), report_vprintf(&o->frame, format, args),
	};
	va_end(args);
}

void out_history(struct out *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	o->histories = mem_grow(o->histories, &o->history_cap, o->history_count + 1,
				sizeof(*o->histories));
	o->histories[o->history_count++] = report_vprintf(&o->frame, format, args);
	va_end(args);
}

static void print_remark(const struct out *o, const char *text)
{
	struct buf line = { 0 };

	buf_printf(&line, "perfbox%s%s: ", o->config.applet ? " " : "",
		   o->config.applet ? o->config.applet : "");
	escape_people(&line, text_of(text));
	buf_add_char(&line, '\n');
	fwrite(line.data, 1, line.len, stderr);
	buf_free(&line);
}

static void remark(struct out *o, bool is_missing, const char *text)
{
	bool prints = is_missing || (!o->collecting && !o->config.quiet);

	for (size_t i = 0; i < o->remark_count; i++)
		if (o->remarks[i].is_missing == is_missing && !strcmp(o->remarks[i].text, text))
			return;
	if (o->remark_count > OUT_REMARKS_MAX)
		return;
	if (o->remark_count == OUT_REMARKS_MAX)
		text = "more remarks than fit here: the rest is left out";
	o->remarks = mem_grow(o->remarks, &o->remark_cap, o->remark_count + 1, sizeof(*o->remarks));
	o->remarks[o->remark_count++] = (struct out_remark){
		arena_strdup(&o->run, text), is_missing,
	};
	if (prints)
		print_remark(o, text);
}

/* A text said before is freed at once: a frame may repeat it for each of 10,000 threads. */
static void remark_vprintf(struct out *o, bool is_missing, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static void remark_vprintf(struct out *o, bool is_missing, const char *format, va_list args)
{
	struct arena scratch = { 0 };

	remark(o, is_missing, redact_remark(&scratch, report_vprintf(&scratch, format, args)));
	arena_free(&scratch);
}

void out_note(struct out *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	remark_vprintf(o, false, format, args);
	va_end(args);
}

void out_missing(struct out *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	remark_vprintf(o, true, format, args);
	va_end(args);
	o->incomplete = true;
}

const char *out_shown_name(struct out *o, enum name_kind kind, const char *name)
{
	return redact_name(&o->frame, kind, name);
}

uint64_t out_limit(const struct out *o, const struct out_table *t)
{
	uint64_t top = o->config.top;

	if (!t->table->top || !top)
		return NA_U64;
	if (top != NA_U64)
		return top;
	return o->config.format == OUT_PEOPLE ? PEOPLE_TOP : NA_U64;
}

uint64_t out_rows_wanted(struct out *o, const struct table *t)
{
	if (o->collecting)
		return 0;
	const struct out_table *slot = out_table_of(o, t);

	return slot->left_out ? 0 : slot->sort ? NA_U64 : out_limit(o, slot);
}

size_t out_ranked_findings(struct out *o, struct finding ***list)
{
	struct finding **ranked = arena_alloc(&o->frame, o->finding_count * sizeof(*ranked));

	if (o->finding_count) {
		memcpy(ranked, o->findings, o->finding_count * sizeof(*ranked));
		qsort(ranked, o->finding_count, sizeof(*ranked), finding_compare);
	}
	*list = ranked;
	return o->finding_count;
}

static void write_composed(struct out *o)
{
	if (o->buf.len && !o->write_error) {
		errno = 0;
		/* glibc may count what it failed to write: ask while errno knows why */
		if (fwrite(o->buf.data, 1, o->buf.len, o->to) != o->buf.len || ferror(o->to))
			o->write_error = errno ? errno : EIO;
		o->wrote_frame = true;
	}
	buf_reset(&o->buf);
}

void out_write_if_full(struct out *o)
{
	if (o->buf.len >= WRITE_AT)
		write_composed(o);
}

static int flush(struct out *o)
{
	write_composed(o);
	if (!o->write_error) {
		errno = 0;
		if (fflush(o->to) || ferror(o->to))
			o->write_error = errno ? errno : EIO;
	}
	return o->write_error ? fail_errno(o->write_error, "writing the output") : 0;
}

int out_frame_end(struct out *o)
{
	if (o->collecting)
		return 0;
	switch (o->config.format) {
	case OUT_PEOPLE:
		out_people(o);
		break;
	case OUT_TSV:
		out_tsv(o);
		break;
	case OUT_JSON:
		out_json(o);
		break;
	case OUT_OPENMETRICS:
		buf_reset(&o->buf);     /* one exposition: the last frame's, written by out_close */
		out_openmetrics(o);
		return 0;
	}
	return flush(o);
}

size_t out_findings(const struct out *o, struct finding ***list)
{
	*list = o->findings;
	return o->finding_count;
}

size_t out_histories(const struct out *o, const char *const **list)
{
	*list = o->histories;
	return o->history_count;
}

size_t out_remarks(const struct out *o, const struct out_remark **list)
{
	*list = o->remarks;
	return o->remark_count;
}

void out_unseen(struct out *o, const char *what)
{
	o->unseen = what;
}

const char *out_unseen_text(const struct out *o)
{
	return o->unseen;
}

void out_mark_incomplete(struct out *o)
{
	o->incomplete = true;
}

bool out_is_incomplete(const struct out *o)
{
	return o->incomplete;
}

unsigned out_states_seen(const struct out *o)
{
	return o->states_seen;
}

int out_status(const struct out *o)
{
	if (o->write_error && o->write_error != EPIPE)
		return 3;
	if (o->states_seen & o->config.states & ~(1u << STATE_NOTE))
		return 1;
	return o->incomplete ? 3 : 0;
}

int out_close(struct out *o)
{
	int err = 0;

	if (!o)
		return 0;
	if (o->to && o->config.format == OUT_OPENMETRICS)
		buf_add_text(&o->buf, "# EOF\n");
	if (o->to)
		err = flush(o);
	for (size_t i = 0; i < o->table_count; i++)
		free(o->tables[i].rows);
	free(o->tables);
	free(o->findings);
	free(o->histories);
	free(o->hosts);
	free(o->lines);
	free(o->remarks);
	buf_free(&o->buf);
	arena_free(&o->frame);
	arena_free(&o->run);
	free(o);
	return err;
}
