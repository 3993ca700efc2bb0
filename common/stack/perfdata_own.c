/* What a recording says about itself: feature sections, and records of perf's own. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/na.h"
#include "common/stack/perfdata_impl.h"

enum feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOST = 3,
	FEATURE_OS_RELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_CPUS = 7,
	FEATURE_COMMAND = 11,
	FEATURE_EVENTS = 12,
	FEATURE_COMPRESSED = 27,
};

#define COMPRESSED_ZSTD 1
#define BUILD_ID_BYTES 20
#define BUILD_ID_PATH_AT 36            /* header, pid, 24 bytes of build id and its size */
#define COMMAND_WORDS_MAX 65536
#define UPDATE_NAME 2

/* Up to the first NUL, or all. */
static struct text until_nul(const unsigned char *p, size_t n)
{
	return (struct text){ (const char *)p, strnlen((const char *)p, n) };
}

static void take_bytes(struct text *t, size_t n)
{
	t->data += n;
	t->len -= n;
}

static bool take_u32(struct text *t, uint32_t *v)
{
	if (t->len < 4)
		return false;
	*v = perf_u32((const unsigned char *)t->data);
	take_bytes(t, 4);
	return true;
}

/* u32 size, and so many bytes, NULs at their end */
static bool take_string(struct text *t, struct text *string)
{
	struct text rest = *t;
	uint32_t size;

	if (!take_u32(&rest, &size) || size > rest.len)
		return false;
	*string = until_nul((const unsigned char *)rest.data, size);
	take_bytes(&rest, size);
	*t = rest;
	return true;
}

static void add_build_id(struct perfdata *d, const struct perf_record *r)
{
	struct perfdata_facts *f = &d->facts;
	size_t size = BUILD_ID_BYTES;

	if (r->size <= BUILD_ID_PATH_AT || f->build_id_count >= PERFDATA_BUILD_IDS_MAX)
		return;
	if ((r->misc & MISC_BUILD_ID_SIZE) && r->bytes[32] <= BUILD_ID_BYTES)
		size = r->bytes[32];
	d->build_ids = mem_grow(d->build_ids, &d->build_id_cap, f->build_id_count + 1,
				sizeof(*d->build_ids));
	f->build_ids = d->build_ids;
	struct perfdata_build_id *b = &d->build_ids[f->build_id_count++];

	b->pid = perf_u32(r->bytes + 8);
	b->mode = r->misc & MISC_CPUMODE;
	b->path = arena_text(&d->arena, until_nul(r->bytes + BUILD_ID_PATH_AT,
						  r->size - BUILD_ID_PATH_AT));
	for (size_t i = 0; i < size; i++) {
		static const char digits[] = "0123456789abcdef";

		b->hex[2 * i] = digits[r->bytes[12 + i] >> 4];
		b->hex[2 * i + 1] = digits[r->bytes[12 + i] & 15];
	}
}

/* Records of the same form as HEADER_BUILD_ID, but their types are not set. */
static void take_build_ids(struct perfdata *d, const char *name, struct text t)
{
	while (t.len >= RECORD_HEADER) {
		struct perf_record r = { 0 };

		perf_record_header(&r, (const unsigned char *)t.data);
		if (r.size < RECORD_HEADER || r.size > t.len) {
			perfdata_remark_add(d, "%s: its table of build ids is damaged", name);
			return;
		}
		add_build_id(d, &r);
		take_bytes(&t, r.size);
	}
}

static const char *string_of(struct perfdata *d, struct text t)
{
	struct text s;

	return take_string(&t, &s) ? arena_text(&d->arena, s) : NULL;
}

static const char *command_of(struct perfdata *d, struct text t)
{
	struct buf b = { 0 };
	struct text word;
	uint32_t count;

	if (!take_u32(&t, &count) || count > COMMAND_WORDS_MAX)
		return NULL;
	while (count-- && take_string(&t, &word)) {
		if (b.len)
			buf_add_char(&b, ' ');
		buf_add(&b, word.data, word.len);
	}
	const char *command = arena_text(&d->arena, buf_text(&b));

	buf_free(&b);
	return command;
}

/* The event one of whose ids it has; in a recording without ids the n-th. */
static struct perf_event *described_event(struct perfdata *d, struct text ids, uint32_t n)
{
	if (ids.len >= 8)
		return perf_events_find(&d->events, perf_u64((const unsigned char *)ids.data));
	return n < d->events.count ? d->events.items[n] : NULL;
}

/* u32 events, u32 bytes of an attr; each: attr, u32 ids, name, u64 ids */
static void take_event_names(struct perfdata *d, const char *name, struct text t)
{
	uint32_t events, attr_size, ids;
	struct text title;

	if (!take_u32(&t, &events) || !take_u32(&t, &attr_size))
		return;
	for (uint32_t i = 0; i < events; i++) {
		if (attr_size > t.len)
			goto cut;
		take_bytes(&t, attr_size);
		if (!take_u32(&t, &ids) || !take_string(&t, &title) || ids > t.len / 8)
			goto cut;
		struct text list = { t.data, (size_t)ids * 8 };
		struct perf_event *e = described_event(d, list, i);

		take_bytes(&t, list.len);
		if (e && title.len && !e->is_named)
			perf_events_set_name(e, title);
	}
	return;
cut:
	perfdata_remark_add(d, "%s: its list of events is cut", name);
}

static void take_compression(struct perfdata *d, const char *name, struct text t)
{
	uint32_t version, type;

	if (!take_u32(&t, &version) || !take_u32(&t, &type))
		return;
	d->facts.is_compressed = true;
	if (type != COMPRESSED_ZSTD)
		perfdata_remark_add(d, "%s: compressed in a way we do not know (%u)", name, type);
}

void perfdata_take_feature(struct perfdata *d, const char *name, unsigned feature, struct text t)
{
	struct perfdata_facts *f = &d->facts;
	uint32_t online, available;

	switch (feature) {
	case FEATURE_BUILD_ID:
		take_build_ids(d, name, t);
		break;
	case FEATURE_HOST:
		f->host = string_of(d, t);
		break;
	case FEATURE_OS_RELEASE:
		f->os_release = string_of(d, t);
		break;
	case FEATURE_VERSION:
		f->perf_version = string_of(d, t);
		break;
	case FEATURE_ARCH:
		f->architecture = string_of(d, t);
		break;
	case FEATURE_CPUS:
		if (take_u32(&t, &available) && take_u32(&t, &online)) {
			f->cpus_available = available;
			f->cpus_online = online;
		}
		break;
	case FEATURE_COMMAND:
		f->command = command_of(d, t);
		break;
	case FEATURE_EVENTS:
		take_event_names(d, name, t);
		break;
	case FEATURE_COMPRESSED:
		take_compression(d, name, t);
		break;
	default:                       /* of no use to us, or newer than we are */
		break;
	}
}

/* HEADER_ATTR: the attr, as long as it says, and the ids of its counters */
static void take_attr(struct perfdata *d, const struct perf_stream *s, const struct perf_record *r)
{
	const unsigned char *p = r->bytes + RECORD_HEADER;
	const uint32_t left = r->size - RECORD_HEADER;
	uint32_t size = left >= ATTR_SIZE_MIN ? perf_u32(p + 4) : 0;
	struct perf_attr a;

	if (size == 0)
		size = ATTR_SIZE_MIN;
	if (size > left || !perf_attr_decode((struct text){ (const char *)p, size }, &a)) {
		perfdata_loss_add(d, "%s: at byte %" PRIu64 ": an event's attribute is cut",
				  s->name, r->offset);
		return;
	}
	struct perf_event *e = perf_events_add(&d->events, &a);

	if (!e) {
		perfdata_loss_add(d, "%s: more than %u events", s->name, PERF_EVENTS_MAX);
		return;
	}
	for (uint32_t at = size; left - at >= 8; at += 8)
		if (!perf_events_add_id(&d->events, e, perf_u64(p + at)))
			return;
}

/* u64 what, u64 id, and a name */
static void take_update(struct perfdata *d, const struct perf_record *r)
{
	if (r->size <= 24 || perf_u64(r->bytes + 8) != UPDATE_NAME)
		return;
	struct perf_event *e = perf_events_find(&d->events, perf_u64(r->bytes + 16));

	if (e)
		perf_events_set_name(e, until_nul(r->bytes + 24, r->size - 24));
}

void perfdata_take_own(struct perfdata *d, struct perf_stream *s, struct perf_splitter *from,
		       const struct perf_record *r)
{
	switch (r->type) {
	case RECORD_HEADER_ATTR:
		if (d->facts.is_pipe)
			take_attr(d, s, r);
		break;
	case RECORD_EVENT_UPDATE:
		take_update(d, r);
		break;
	case RECORD_HEADER_BUILD_ID:
		add_build_id(d, r);
		break;
	case RECORD_HEADER_FEATURE:
		if (r->size >= 16 && perf_u64(r->bytes + 8) < 256)
			perfdata_take_feature(d, s->name, (unsigned)perf_u64(r->bytes + 8),
					      (struct text){ (const char *)r->bytes + 16,
							     r->size - 16 });
		break;
	case RECORD_HEADER_TRACING_DATA: /* u32 size: so many bytes behind it, padded to 8 */
		if (r->size >= 12)
			from->skip = ((uint64_t)perf_u32(r->bytes + 8) + 7) & ~(uint64_t)7;
		break;
	case RECORD_AUXTRACE:          /* u64 size: the same */
		if (r->size >= 16)
			from->skip = perf_u64(r->bytes + 8);
		break;
	default:
		break;
	}
}
