/* Reading one input, whatever it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "applets/flamefold/flamefold.h"
#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/stack/perffold.h"
#include "common/stack/stackinput.h"

void events_tell(struct out *out, const char *input, const char *wanted,
		 const struct event_count *events, size_t count)
{
	struct arena *a = out_arena(out);
	struct buf list = { 0 };
	bool has_folded = false;

	for (size_t i = 0; i < count; i++) {
		const struct event_count *e = &events[i];

		has_folded |= e->is_folded;
		buf_printf(&list, "%s%s %s%s", i ? ", " : "", *e->name ? e->name : "(no name)",
			   human_count(a, (double)e->samples), e->is_folded ? " (folded)" : "");
	}
	if (count && !has_folded)
		out_missing(out, "%s: no samples of %s; it has samples of %s", input,
			    wanted ? wanted : "it", list.data);
	else if (count > 1)
		out_note(out, "%s: several events, samples of each: %s; another one: --event NAME",
			 input, list.data);
	buf_free(&list);
}

static void tell_skipped(struct out *out, const char *name, enum stack_kind kind,
			 const struct stack_result *r)
{
	if (r->skipped_lines && !r->event_count) {
		out_missing(out, "%s: this looks like nothing known (line %llu): no stacks in it, "
			    "read as %s: %s", name, (unsigned long long)r->first_skipped_line,
			    stack_kind_name(kind), r->first_skipped_why);
		return;
	}
	if (r->skipped_lines)
		out_missing(out, "%s: skipped %s line%s, the first is line %llu: %s", name,
			    human_count(out_arena(out), (double)r->skipped_lines),
			    r->skipped_lines == 1 ? "" : "s",
			    (unsigned long long)r->first_skipped_line, r->first_skipped_why);
	if (r->failure)
		out_missing(out, "%s: %s", name, r->failure);
	if (!r->event_count)
		out_missing(out, "%s: no stacks in it", name);
}

static void tell_result(struct out *out, struct profile *p, const char *name, const char *wanted,
			enum stack_kind kind, const struct stack_result *r)
{
	struct event_count *events = mem_alloc((r->event_count + 1) * sizeof(*events));

	tell_skipped(out, name, kind, r);
	for (size_t i = 0; i < r->event_count; i++) {
		const struct stack_event *e = &r->events[i];

		events[i] = (struct event_count){ e->name, e->samples, e->is_folded };
		if (e->is_folded)
			profile_take_unit(out, p, name, e->name,
					  e->unit && !asked.weighs_samples ? e->unit :
					  unit_of_event(out_arena(out), e->name, e->has_period));
	}
	events_tell(out, name, wanted, events, r->event_count);
	free(events);
	p->samples += r->samples;
}

/* Text that is nothing we know. */
static void tell_unknown(struct out *out, const char *name, struct text start)
{
	uint64_t line = 1;
	const char *what = stack_unknown_is(start, &line);

	if (!start.len)
		out_missing(out, "%s: empty", name);
	else if (start.len > STACK_LINE_MAX && !memchr(start.data, '\n', start.len))
		out_missing(out, "%s: this looks like nothing known (line 1 is longer than %u MiB)",
			    name, STACK_LINE_MAX >> 20);
	else if (what)
		out_missing(out, "%s: this looks like %s (line %llu)", name, what,
			    (unsigned long long)line);
	else
		out_missing(out, "%s: this looks like nothing known (line %llu)", name,
			    (unsigned long long)line);
}

static int read_text(struct out *out, struct profile *p, const char *name, struct stack_input *in,
		     struct text start, unsigned side)
{
	const enum stack_kind kind = stack_kind_of(start);
	const struct stack_options options = {
		.frame = asked.frame,
		.filter = p->filter,
		.weighs_samples = asked.weighs_samples,
		/* a second input adds to what the first one gave */
		.event = typed.event ? typed.event : p->event,
		.side = side,
	};

	if (kind == STACK_UNKNOWN) {
		tell_unknown(out, name, start);
		return 0;
	}
	if (shared.verbose)
		out_note(out, "%s: %s", name, stack_kind_name(kind));
	struct stack_reader *r = stack_reader_new(kind, p->fold, &options);

	if (stack_input_feed(in, r) < 0)
		out_missing(out, "%s: %s", name, fail_text());
	tell_result(out, p, name, options.event, kind, stack_reader_end(r));
	stack_reader_free(r);
	return 0;
}

/* ---- recordings ---- */

static void tell_recording(struct out *out, const char *name, const struct perfdata *d)
{
	const size_t count = perfdata_remark_count(d);
	size_t kept = 0;

	for (; kept < count && perfdata_remark(d, kept); kept++)
		out_note(out, "%s", perfdata_remark(d, kept));
	if (kept < count)
		out_note(out, "%s: %zu more remarks of that kind", name, count - kept);
	if (!perfdata_is_whole(d))
		out_missing(out, "%s: not all of it could be read", name);
}

static void read_records(struct out *out, struct profile *p, const char *name,
			 struct perfdata *d, unsigned side)
{
	const struct samples_source from = {
		.name = name, .event = typed.event ? typed.event : p->event,
		.recording = d, .side = side,
	};
	struct samples *s = samples_open(p, &from);

	tell_recording(out, name, d);
	if (!samples_end(out, s)->event_count)
		out_missing(out, "%s: no samples in it", name);
	samples_free(s);
}

/* Decompressed into memory, as a file without a name. */
static int unpack(struct stack_input *in)
{
	const int fd = memfd_create("perf.data", MFD_CLOEXEC);
	char piece[1 << 16];
	long n = fd < 0 ? fail_errno(errno, "memfd_create") : 1;

	while (n > 0 && (n = stack_input_read(in, piece, sizeof(piece))) > 0)
		if (write(fd, piece, (size_t)n) != n)
			n = fail_errno(errno, "unpacking");
	if (n < 0) {
		if (fd >= 0)
			close(fd);
		return (int)n;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* What the input read of a plain fd already is handed on. */
static int read_recording(struct out *out, struct profile *p, const char *path, const char *name,
			  struct stack_input *in, int fd, unsigned side)
{
	struct perfdata *d;
	struct stat s;
	int err, unpacked = -1;

	if (!stack_input_is_plain(in)) {
		unpacked = unpack(in);
		err = unpacked < 0 ? unpacked :
			perfdata_open_fd(unpacked, (struct text){ "", 0 }, name, &d);
	} else if (!fstat(fd, &s) && S_ISREG(s.st_mode) && strcmp(path, "-") != 0) {
		err = perfdata_open(path, &d);
	} else {
		err = perfdata_open_fd(fd, stack_input_waiting(in), name, &d);
	}
	if (err < 0) {
		out_missing(out, "%s", fail_text());
	} else {
		read_records(out, p, name, d, side);
		perfdata_close(d);
	}
	if (unpacked >= 0)
		close(unpacked);
	return 0;
}

static int read_fd(struct out *out, struct profile *p, const char *path, const char *name, int fd,
		   unsigned side)
{
	struct stack_input *in = stack_input_new(fd);
	struct text start;
	int err = stack_input_start(in, &start);

	if (err < 0)
		out_missing(out, "%s: %s", name, fail_text());
	else if (perfdata_is(start))
		err = read_recording(out, p, path, name, in, fd, side);
	else
		err = read_text(out, p, name, in, start, side);
	stack_input_free(in);
	return err < 0 && err != -EINVAL ? 0 : err;
}

int input_read(struct out *out, struct profile *p, const char *path, unsigned side)
{
	const bool is_stdin = !strcmp(path, "-");
	const char *name = is_stdin ? "standard input" : path;
	const int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(errno, "%s", path);
	int err = 0;
	struct stat s;
	struct perfdata *d;

	if (!fstat(fd, &s) && S_ISDIR(s.st_mode)) {
		err = perfdata_open(path, &d);
		if (err >= 0) {
			read_records(out, p, name, d, side);
			perfdata_close(d);
		}
	} else {
		err = read_fd(out, p, path, name, fd, side);
	}

	if (!is_stdin)
		close(fd);
	return err;
}
