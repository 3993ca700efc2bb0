/* Opening a recording, and its records in order of time out of one file or several. */
#include "common/stack/perfdata.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/perfdata_impl.h"

bool perfdata_is(struct text t)
{
	return text_starts(t, "PERFILE2") || text_starts(t, "2ELIFREP") ||
	       text_starts(t, "PERFFILE");
}

static PRINTF_LIKE(2, 0) void remark(struct perfdata *d, const char *format, va_list args)
{
	char *line;

	if (d->remark_count < PERFDATA_REMARKS_MAX && vasprintf(&line, format, args) >= 0)
		d->remarks[d->remark_count] = line;
	d->remark_count++;
}

void perfdata_remark_add(struct perfdata *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	remark(d, format, args);
	va_end(args);
}

void perfdata_loss_add(struct perfdata *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	remark(d, format, args);
	va_end(args);
	d->lost_records = true;
}

static size_t fill_from_input(void *arg, void *to, size_t n)
{
	return perf_input_read(arg, to, n);
}

struct perf_stream *perfdata_add_stream(struct perfdata *d, const char *name)
{
	struct perf_stream *s = mem_alloc(sizeof(*s));

	s->data = d;
	s->name = arena_strdup(&d->arena, name);
	s->input = (struct perf_input){ .fd = -1, .end = UINT64_MAX, .size = UINT64_MAX };
	s->outer = (struct perf_splitter){ .pool = &d->pool, .fill = fill_from_input,
					   .arg = &s->input, .input = &s->input };
	s->inner = (struct perf_splitter){ .pool = &d->pool, .fill = perf_zstd_fill };
	d->streams = mem_grow(d->streams, &d->stream_cap, d->stream_count + 1,
			      sizeof(*d->streams));
	d->streams[d->stream_count++] = s;
	return s;
}

static void stream_free(struct perf_stream *s, bool owns_fd)
{
	struct perforder_entry e;

	while (perforder_next(&s->order, &e))
		perf_block_release(e.owner);
	perforder_finish(&s->order);
	while (perforder_next(&s->order, &e))
		perf_block_release(e.owner);
	perforder_free(&s->order);
	if (s->has_head)
		perf_block_release(s->head_owner);
	perf_split_free(&s->outer);
	perf_split_free(&s->inner);
	perf_zstd_free(s->zstd);
	if (owns_fd && s->input.fd >= 0)
		close(s->input.fd);
	free(s);
}

static struct perfdata *data_new(void)
{
	struct perfdata *d = mem_alloc(sizeof(*d));

	d->facts.cpus_online = d->facts.cpus_available = NA_U64;
	return d;
}

void perfdata_close(struct perfdata *d)
{
	if (!d)
		return;
	perf_block_release(d->lent);
	for (size_t i = 0; i < d->stream_count; i++)
		stream_free(d->streams[i], d->owns_fds);
	free(d->streams);
	perf_pool_free(&d->pool);
	perf_events_free(&d->events);
	free(d->build_ids);
	buf_free(&d->spool);
	for (size_t i = 0; i < d->remark_count && i < PERFDATA_REMARKS_MAX; i++)
		free(d->remarks[i]);
	arena_free(&d->arena);
	free(d);
}

/* Until the spool holds `until` bytes, or all there is; it takes the place of what was read. */
static void spool(struct perfdata *d, struct perf_stream *s, size_t until)
{
	size_t got;

	s->input.offset = d->spool.len;
	do {
		const size_t missing = until - d->spool.len;
		const size_t piece = missing < BLOCK_BYTES ? missing : BLOCK_BYTES;

		buf_reserve(&d->spool, piece);
		got = perf_input_read(&s->input, d->spool.data + d->spool.len, piece);
		d->spool.len += got;
	} while (got && d->spool.len < until);
	s->input.memory = buf_text(&d->spool);
	s->input.offset = 0;
}

/*
 * A stream's header says that it is 16 bytes long. A file that comes through a pipe is read whole
 * first: its header points back and forth.
 */
static int begin(struct perfdata *d, struct perf_stream *s)
{
	const size_t head = 16;

	if (s->input.can_seek || s->input.fd < 0)
		return perfdata_read_header(d, s);
	buf_add(&d->spool, s->input.memory.data, s->input.memory.len);
	if (d->spool.len < head)
		spool(d, s, head);
	s->input.memory = buf_text(&d->spool);
	const unsigned char *bytes = (const unsigned char *)d->spool.data;

	if (d->spool.len < head || !perfdata_is(s->input.memory) || perf_u64(bytes + 8) == head)
		return perfdata_read_header(d, s);
	spool(d, s, PERFDATA_SPOOL_MAX);
	if (d->spool.len >= PERFDATA_SPOOL_MAX)
		return fail(EFBIG, "%s: more than %u MiB through a pipe: name the file", s->name,
			    PERFDATA_SPOOL_MAX >> 20);
	s->input.size = d->spool.len;
	s->input.fd = -1;
	return perfdata_read_header(d, s);
}

static void set_file(struct perf_stream *s, int fd)
{
	struct stat st;

	s->input.fd = fd;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		s->input.can_seek = true;
		s->input.size = (uint64_t)st.st_size;
		s->data->facts.recorded_at = st.st_mtime;
	}
}

static int opened_or_closed(struct perfdata *d, int err, struct perfdata **opened)
{
	if (err)
		perfdata_close(d);
	else
		*opened = d;
	return err;
}

int perfdata_open_memory(struct text t, const char *name, struct perfdata **opened)
{
	struct perfdata *d = data_new();
	struct perf_stream *s = perfdata_add_stream(d, name);

	s->input.memory = t;
	s->input.size = t.len;
	return opened_or_closed(d, begin(d, s), opened);
}

int perfdata_open_fd(int fd, struct text start, const char *name, struct perfdata **opened)
{
	struct perfdata *d = data_new();
	struct perf_stream *s = perfdata_add_stream(d, name);

	set_file(s, fd);
	/* a file that stands where `start` ended is read again from its first byte */
	if (!s->input.can_seek)
		s->input.memory = start;
	return opened_or_closed(d, begin(d, s), opened);
}

static int open_file(struct perfdata *d, const char *path, struct perf_stream **made)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return fail_errno(errno, "%s", path);
	*made = perfdata_add_stream(d, path);
	set_file(*made, fd);
	return 0;
}

static int is_data_file(const struct dirent *e)
{
	uint64_t n;

	return !strncmp(e->d_name, "data.", 5) && scan_all_u64(text_of(e->d_name + 5), &n);
}

static uint64_t number_of_part(const char *name)
{
	uint64_t n = 0;

	scan_all_u64(text_of(name + 5), &n);
	return n;
}

/* perf numbers them from 0 without a gap: one that was not copied along is missed. */
static void miss_parts(struct perfdata *d, const char *folder, uint64_t from, uint64_t to)
{
	if (to > from)
		perfdata_loss_add(d, "%s: %" PRIu64 " file%s missing before data.%" PRIu64, folder,
				  to - from, to - from == 1 ? "" : "s", to);
}

/* DIR/data.0, data.1 ...: records alone, in versionsort's order. */
static int open_parts(struct perfdata *d, const char *folder)
{
	struct dirent **names;
	const int count = scandir(folder, &names, is_data_file, versionsort);
	uint64_t next = 0;
	int err = 0;

	if (count < 0)
		return fail_errno(errno, "%s", folder);
	if (count > PERFDATA_STREAMS_MAX)
		perfdata_loss_add(d, "%s: %d files of records: only the first %d are read", folder,
				  count, PERFDATA_STREAMS_MAX);
	for (int i = 0; i < count; i++) {
		struct perf_stream *s;
		char *path = arena_printf(&d->arena, "%s/%s", folder, names[i]->d_name);

		if (!err && i < PERFDATA_STREAMS_MAX) {
			miss_parts(d, folder, next, number_of_part(names[i]->d_name));
			next = number_of_part(names[i]->d_name) + 1;
			err = open_file(d, path, &s);
			if (!err)
				s->input.end = s->input.size;
		}
		free(names[i]);
	}
	free(names);
	return err;
}

static int open_folder(struct perfdata *d, const char *folder)
{
	struct perf_stream *s;
	int err = open_file(d, arena_printf(&d->arena, "%s/data", folder), &s);

	if (err == -ENOENT)
		return fail(ENOENT, "%s: a folder that is no recording: it has no file data",
			    folder);
	if (!err)
		err = begin(d, s);
	if (!err)
		err = open_parts(d, folder);
	d->facts.folder = arena_strdup(&d->arena, folder);
	return err;
}

int perfdata_open(const char *path, struct perfdata **opened)
{
	struct perfdata *d = data_new();
	struct perf_stream *s;
	struct stat st;

	d->owns_fds = true;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return opened_or_closed(d, open_folder(d, path), opened);
	int err = open_file(d, path, &s);

	if (!err)
		err = begin(d, s);
	return opened_or_closed(d, err, opened);
}

/* The way is lost, or it ends inside a record: all before it counts. */
static void say_cut(struct perf_stream *s, enum perf_split how, const struct perf_record *r)
{
	if (s->input.error) {
		errno = s->input.error;
		perfdata_loss_add(s->data, "%s: at byte %" PRIu64 ": %m", s->name, r->offset);
	} else if (perf_split_is_at(&s->outer, TEXT("[ perf record:"))) {
		perfdata_remark_add(s->data, "%s: at byte %" PRIu64 ": perf's messages went into "
				    "the recording (2>&1)", s->name, r->offset);
	} else if (how == SPLIT_BAD) {
		perfdata_loss_add(s->data, "%s: at byte %" PRIu64 ": a record of %u bytes: what "
				  "follows cannot be read", s->name, r->offset, r->size);
	} else {
		perfdata_loss_add(s->data, "%s: at byte %" PRIu64 ": cut inside a record (%" PRIu64
				  " bytes of it are there)", s->name, r->offset,
				  perf_split_left(&s->outer));
	}
}

/* False: its content is lost, and says so. */
static bool unpack(struct perf_stream *s, const struct perf_record *r)
{
	const size_t head = r->type == RECORD_COMPRESSED2 ? 16 : RECORD_HEADER;

	if (s->is_zstd_lost)
		return false;
	if (r->size < head) {
		perfdata_loss_add(s->data, "%s: at byte %" PRIu64 ": a compressed record of %u "
				  "bytes", s->name, r->offset, r->size);
		return false;
	}
	size_t len = r->size - head;

	if (r->type == RECORD_COMPRESSED2 && perf_u64(r->bytes + 8) < len)
		len = (size_t)perf_u64(r->bytes + 8);
	if (!s->zstd)
		s->inner.arg = s->zstd = perf_zstd_new();
	s->data->facts.is_compressed = true;
	perf_zstd_feed(s->zstd, (struct text){ (const char *)r->bytes + head, len });
	s->carrier = r->offset;
	return true;
}

/* The next record that was compressed; false: the one it came in is used up. */
static bool next_unpacked(struct perf_stream *s, struct perf_record *r, struct perf_block **owner)
{
	const enum perf_split how = perf_split_next(&s->inner, r, owner);

	r->offset = s->carrier;
	if (how == SPLIT_RECORD)
		return true;
	s->is_unpacking = false;
	if (how == SPLIT_BAD) {
		perfdata_loss_add(s->data, "%s: at byte %" PRIu64 ": a record of %u bytes among "
				  "the compressed ones: the others are lost", s->name, r->offset,
				  r->size);
		s->is_zstd_lost = true;
	} else if (perf_zstd_error(s->zstd)) {
		perfdata_loss_add(s->data, "%s: at byte %" PRIu64 ": compressed records are "
				  "damaged (%s): they and later ones are lost", s->name, r->offset,
				  perf_zstd_error(s->zstd));
		s->is_zstd_lost = true;
	}
	return false;
}

/* The next record as it stands in the file. */
static bool next_in_file(struct perf_stream *s, struct perf_record *r, struct perf_block **owner,
			 struct perf_splitter **from)
{
	for (;;) {
		if (s->is_unpacking && next_unpacked(s, r, owner)) {
			*from = &s->inner;
			return true;
		}
		const enum perf_split how = perf_split_next(&s->outer, r, owner);

		*from = &s->outer;
		if (how != SPLIT_RECORD) {
			if (how != SPLIT_NOTHING || s->input.error)
				say_cut(s, how, r);
			return false;
		}
		if (r->type != RECORD_COMPRESSED && r->type != RECORD_COMPRESSED2)
			return true;
		s->is_unpacking = unpack(s, r);
	}
}

static void end_stream(struct perf_stream *s)
{
	s->has_ended = true;
	if (s->zstd && !s->is_zstd_lost && perf_split_left(&s->inner))
		perfdata_loss_add(s->data, "%s: at byte %" PRIu64 ": the compressed records end "
				  "inside one", s->name, s->carrier);
	perforder_finish(&s->order);
	if (s->order.is_overfull)
		perfdata_remark_add(s->data, "%s: rounds of more than %u MiB: %" PRIu64
				    " records are out of order", s->name,
				    PERFORDER_BYTES_MAX >> 20, s->order.late);
}

/* *owner has one user more: the caller's. */
static bool stream_next(struct perf_stream *s, struct perf_record *r, struct perf_block **owner)
{
	struct perforder_entry e;
	struct perf_splitter *from;

	for (;;) {
		if (perforder_next(&s->order, &e)) {
			perf_record_header(r, e.record);
			r->has_time = true;
			r->time = e.time;
			r->offset = e.offset;
			*owner = e.owner;
			return true;
		}
		if (s->has_ended)
			return false;
		if (!next_in_file(s, r, owner, &from)) {
			end_stream(s);
		} else if (r->type == RECORD_FINISHED_ROUND) {
			perforder_round(&s->order);
		} else if (r->type >= RECORD_USER) {
			perfdata_take_own(s->data, s, from, r);
		} else {
			perf_record_find_time(&s->data->events, r);
			(*owner)->users++;
			if (!r->has_time)
				return true;
			perforder_add(&s->order, (struct perforder_entry){ r->time, r->bytes,
				      r->offset, *owner }, r->size);
			if (perforder_is_full(&s->order))
				perforder_flush_half(&s->order);
		}
	}
}

/* The stream whose next record comes first; NULL: all have ended. */
static struct perf_stream *earliest(struct perfdata *d)
{
	struct perf_stream *best = NULL;

	for (size_t i = 0; i < d->stream_count; i++) {
		struct perf_stream *s = d->streams[i];

		if (!s->has_head)
			s->has_head = stream_next(s, &s->head, &s->head_owner);
		if (s->has_head && !s->head.has_time)
			return s;
		if (s->has_head && (!best || s->head.time < best->head.time))
			best = s;
	}
	return best;
}

bool perfdata_next(struct perfdata *d, struct perf_record *r)
{
	perf_block_release(d->lent);
	d->lent = NULL;
	if (d->stream_count == 1)
		return stream_next(d->streams[0], r, &d->lent);
	struct perf_stream *s = earliest(d);

	if (!s)
		return false;
	*r = s->head;
	d->lent = s->head_owner;
	s->has_head = false;
	return true;
}

/* The lowest index of an event with samples in one stream; `best` if there is no lower one. */
static uint32_t look_ahead(const struct perf_events *es, const struct perf_stream *s,
			   uint32_t best)
{
	struct perfdata *other = data_new();
	struct perf_stream *copy = perfdata_add_stream(other, s->name);
	struct perf_splitter *from;
	struct perf_block *owner;
	struct perf_record r;

	copy->input = s->input;
	while (best && next_in_file(copy, &r, &owner, &from)) {
		const struct perf_event *e = NULL;

		if (r.type == RECORD_SAMPLE)
			e = perf_record_event(es, &r);
		else if (r.type >= RECORD_USER)
			perfdata_take_own(other, copy, from, &r);
		if (e && e->index < best)
			best = e->index;
	}
	perfdata_close(other);
	return best;
}

const struct perf_event *perfdata_first_event(struct perfdata *d)
{
	uint32_t best = UINT32_MAX;

	if (d->facts.is_pipe || d->events.count < 2)
		return NULL;
	for (size_t i = 0; i < d->stream_count; i++)
		best = look_ahead(&d->events, d->streams[i], best);
	return best < d->events.count ? d->events.items[best] : NULL;
}

const struct perf_events *perfdata_events(const struct perfdata *d)
{
	return &d->events;
}

const struct perfdata_facts *perfdata_facts(const struct perfdata *d)
{
	return &d->facts;
}

size_t perfdata_remark_count(const struct perfdata *d)
{
	return d->remark_count;
}

const char *perfdata_remark(const struct perfdata *d, size_t i)
{
	return i < d->remark_count && i < PERFDATA_REMARKS_MAX ? d->remarks[i] : NULL;
}

bool perfdata_is_whole(const struct perfdata *d)
{
	return !d->lost_records;
}
