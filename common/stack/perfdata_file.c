/* The header of a perf.data file: where its attributes, records and features are. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/fail.h"
#include "common/base/na.h"
#include "common/stack/perfdata_impl.h"

#define HEADER_BYTES 104
#define HEADER_PIPE_BYTES 16
#define SECTION_BYTES 16               /* u64 offset, u64 size */
#define ATTR_BYTES_MAX 4096            /* an attr is 144 bytes in 2025 */
#define FEATURES 256                   /* bits in the header */

struct section {
	uint64_t offset, size;
};

struct header {
	uint64_t attr_size;            /* with the section of its ids behind it */
	struct section attrs, data;
	unsigned char features[FEATURES / 8];
};

static struct section section_of(const unsigned char *p)
{
	return (struct section){ perf_u64(p), perf_u64(p + 8) };
}

static bool section_ends(struct section s, uint64_t *end)
{
	return !__builtin_add_overflow(s.offset, s.size, end);
}

/* What of a section lies inside the file. */
static uint64_t section_bytes(const struct perf_stream *s, struct section x)
{
	const uint64_t size = s->input.size;
	const uint64_t left = x.offset < size ? size - x.offset : 0;

	return x.size < left ? x.size : left;
}

static void read_ids(struct perfdata *d, const struct perf_stream *s, struct perf_event *e,
		     struct section ids)
{
	unsigned char chunk[8 * 512];
	uint64_t left = section_bytes(s, ids) / 8, at = ids.offset;

	if (left < ids.size / 8)
		perfdata_remark_add(d, "%s: the ids of %s are cut", s->name, e->name);
	while (left) {
		const size_t n = left < 512 ? (size_t)left : 512;

		if (!perf_input_at(&s->input, at, chunk, n * 8))
			return;
		for (size_t i = 0; i < n; i++) {
			if (!perf_events_add_id(&d->events, e, perf_u64(chunk + 8 * i))) {
				perfdata_remark_add(d, "%s: more than %u ids of events", s->name,
						    PERF_EVENT_IDS_MAX);
				return;
			}
		}
		left -= n;
		at += n * 8;
	}
}

static int read_attr(struct perfdata *d, const struct perf_stream *s, const struct header *h,
		     uint64_t n)
{
	unsigned char bytes[ATTR_BYTES_MAX];
	const uint64_t at = h->attrs.offset + n * h->attr_size;
	const size_t size = (size_t)h->attr_size - SECTION_BYTES;
	struct perf_attr a;

	if (!perf_input_at(&s->input, at, bytes, (size_t)h->attr_size) ||
	    !perf_attr_decode((struct text){ (char *)bytes, size }, &a))
		return fail(EINVAL, "%s: at byte %" PRIu64 ": attribute %" PRIu64 " is cut",
			    s->name, at, n);
	struct perf_event *e = perf_events_add(&d->events, &a);

	if (!e)
		return fail(E2BIG, "%s: more than %u events", s->name, PERF_EVENTS_MAX);
	read_ids(d, s, e, section_of(bytes + size));
	return 0;
}

static int read_attrs(struct perfdata *d, const struct perf_stream *s, const struct header *h)
{
	if (h->attr_size < ATTR_SIZE_MIN + SECTION_BYTES || h->attr_size > ATTR_BYTES_MAX)
		return fail(EINVAL, "%s: attributes of %" PRIu64 " bytes", s->name, h->attr_size);
	const uint64_t count = h->attrs.size / h->attr_size;

	if (!count)
		return fail(EINVAL, "%s: no event is described", s->name);
	if (h->attrs.offset > INT64_MAX || count > PERF_EVENTS_MAX)
		return fail(EINVAL, "%s: %" PRIu64 " events at byte %" PRIu64, s->name, count,
			    h->attrs.offset);
	for (uint64_t n = 0; n < count; n++) {
		int err = read_attr(d, s, h, n);

		if (err)
			return err;
	}
	return 0;
}

/* False: it ends behind the file's end. */
static bool read_feature(struct perfdata *d, const struct perf_stream *s, unsigned feature,
			 struct section x)
{
	if (section_bytes(s, x) < x.size)
		return false;
	if (x.size > PERFDATA_FEATURE_MAX) {
		perfdata_remark_add(d, "%s: at byte %" PRIu64 ": feature %u of %" PRIu64
				    " bytes is too long", s->name, x.offset, feature, x.size);
		return true;
	}
	char *bytes = mem_alloc((size_t)x.size);

	if (perf_input_at(&s->input, x.offset, bytes, (size_t)x.size))
		perfdata_take_feature(d, s->name, feature, (struct text){ bytes, (size_t)x.size });
	free(bytes);
	return true;
}

/* One section for each bit, in their order, behind the records. */
static void read_features(struct perfdata *d, const struct perf_stream *s, const struct header *h)
{
	unsigned char bytes[SECTION_BYTES];
	uint64_t at;
	bool is_cut = false;

	if (!section_ends(h->data, &at))
		return;
	for (unsigned f = 0; f < FEATURES && !is_cut; f++) {
		if (!(h->features[f / 8] >> f % 8 & 1))
			continue;
		is_cut = !perf_input_at(&s->input, at, bytes, sizeof(bytes)) ||
			 !read_feature(d, s, f, section_of(bytes));
		at += sizeof(bytes);
	}
	if (is_cut)
		perfdata_remark_add(d, "%s: what it says of itself is cut (build ids, names of "
				    "events)", s->name);
}

static int read_file_header(struct perfdata *d, struct perf_stream *s)
{
	unsigned char bytes[HEADER_BYTES];

	if (!perf_input_at(&s->input, 0, bytes, sizeof(bytes)))
		return fail(EINVAL, "%s: its header is cut", s->name);
	struct header h = {
		.attr_size = perf_u64(bytes + 16),
		.attrs = section_of(bytes + 24),
		.data = section_of(bytes + 40),
	};
	uint64_t end;

	memcpy(h.features, bytes + 72, sizeof(h.features));
	int err = read_attrs(d, s, &h);

	if (err)
		return err;
	if (!section_ends(h.data, &end))
		return fail(EINVAL, "%s: %" PRIu64 " bytes of records at byte %" PRIu64, s->name,
			    h.data.size, h.data.offset);
	s->input.offset = s->outer.offset = h.data.offset;
	if (!h.data.size) {
		perfdata_remark_add(d, "%s: the recorder did not finish it (no size of the data): "
				    "read to its end", s->name);
		return 0;
	}
	s->input.end = end;
	if (end > s->input.size)
		perfdata_loss_add(d, "%s: cut: %" PRIu64 " bytes are there, %" PRIu64
				  " bytes of records should be", s->name, s->input.size, end);
	read_features(d, s, &h);
	return 0;
}

static int check_magic(const struct perf_stream *s, const unsigned char *magic)
{
	if (!memcmp(magic, "PERFILE2", 8))
		return 0;
	if (!memcmp(magic, "2ELIFREP", 8))
		return fail(ENOTSUP, "%s: recorded on a machine of the other byte order", s->name);
	if (!memcmp(magic, "PERFFILE", 8))
		return fail(ENOTSUP, "%s: perf.data of version 1 (before Linux 2.6.32)", s->name);
	return fail(EINVAL, "%s: no perf.data", s->name);
}

int perfdata_read_header(struct perfdata *d, struct perf_stream *s)
{
	unsigned char bytes[HEADER_PIPE_BYTES];

	if (perf_input_read(&s->input, bytes, 8) != 8)
		return fail(EINVAL, "%s: no perf.data: %" PRIu64 " bytes", s->name,
			    s->input.offset);
	int err = check_magic(s, bytes);

	if (err)
		return err;
	if (perf_input_read(&s->input, bytes + 8, 8) != 8)
		return fail(EINVAL, "%s: its header is cut", s->name);
	if (perf_u64(bytes + 8) != HEADER_PIPE_BYTES)
		return read_file_header(d, s);
	d->facts.is_pipe = true;
	s->outer.offset = s->input.offset;
	return 0;
}
