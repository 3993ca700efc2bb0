/* Files that say what a runtime is and holds: hsperfdata, release, node_version.h, smaps. */
#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/belief.h"

#define PROLOGUE_BYTES 32
#define ENTRY_BYTES 20                 /* the fixed part of an entry */
#define STRING_MAX 1024                /* PerfMaxStringConstLength: longer text is cut there */
#define LOW_END ((uint64_t)1 << 40)    /* no mapping that the kernel places is below it */
#define PAGE 4096u                     /* a G1 heap's counters are a few bytes too large */

/* ---- versions ---- */

bool belief_parse_version(struct text t, struct belief_version *version)
{
	struct scan s = scan_of(t);
	uint64_t part[4] = { 0 };
	unsigned n = 0;

	while (n < 4 && s.at < s.end && *s.at >= '0' && *s.at <= '9' && scan_u64(&s, &part[n])) {
		n++;
		if (!scan_literal(&s, ".") && !scan_literal(&s, "_"))
			break;
	}
	if (!n)
		return false;
	struct belief_version new = { (unsigned)part[0], (unsigned)part[n >= 3 ? 2 : 1] };

	if (part[0] == 1 && n >= 2)    /* 1.8.0_181 */
		new = (struct belief_version){ (unsigned)part[1], (unsigned)part[3] };
	for (unsigned i = 0; i < n; i++)
		if (part[i] > 10000)
			return false;
	if (!new.feature)
		return false;
	*version = new;
	return true;
}

/* KEY="VALUE" or KEY=VALUE */
static bool find_setting(struct text t, const char *key, struct text *value)
{
	struct scan lines = scan_of(t);
	struct text line;

	while (scan_line(&lines, &line)) {
		struct scan s = scan_of(line);

		if (!scan_literal(&s, key) || !scan_literal(&s, "="))
			continue;
		if (scan_literal(&s, "\"") && !scan_until(&s, '"', value))
			continue;
		if (s.at > line.data && s.at[-1] != '"')
			*value = scan_rest(&s);
		return true;
	}
	return false;
}

bool belief_parse_release(struct text t, struct belief_version *version, bool *is_other_jvm)
{
	struct text value;
	struct belief_version found;

	if (!find_setting(t, "JAVA_VERSION", &value) || !belief_parse_version(value, &found))
		return false;
	*version = found;
	*is_other_jvm = find_setting(t, "JVM_VARIANT", &value) && value.len &&
		!text_is(value, "Hotspot") && !text_is(value, "HotSpot");
	return true;
}

bool belief_parse_node_header(struct text t, struct belief_version *version)
{
	struct text value;
	uint64_t major, minor, patch;

	if (!scan_find_key(t, "#define NODE_MAJOR_VERSION", &value) ||
	    !scan_all_u64(value, &major) ||
	    !scan_find_key(t, "#define NODE_MINOR_VERSION", &value) ||
	    !scan_all_u64(value, &minor) ||
	    !scan_find_key(t, "#define NODE_PATCH_VERSION", &value) || !scan_all_u64(value, &patch))
		return false;
	if (!major || major > 10000 || minor > 10000)
		return false;
	*version = (struct belief_version){ (unsigned)major, (unsigned)minor };
	return true;
}

/* ---- hsperfdata ---- */

struct reader {
	const unsigned char *data;
	size_t len;
	bool is_big_endian;
};

static uint64_t number_at(const struct reader *r, size_t at, unsigned bytes)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < bytes; i++)
		n = n << 8 | r->data[at + (r->is_big_endian ? i : bytes - 1 - i)];
	return n;
}

/* Sums of what a generation's counter says; the whole heap is in each one of some collectors. */
struct heap {
	uint64_t max[2], committed;
	bool has_max, has_committed, is_sum;
};

static void take_heap(struct heap *h, struct text name, uint64_t value)
{
	struct scan s = scan_of(name);
	uint64_t generation;

	if (!scan_literal(&s, "sun.gc.generation.") || !scan_u64(&s, &generation) ||
	    generation > 1 || value > (uint64_t)1 << 50)
		return;
	if (text_is(scan_rest(&s), ".maxCapacity")) {
		h->max[generation] = value;
		h->has_max = true;
	} else if (text_is(scan_rest(&s), ".capacity")) {
		h->committed += value;
		h->has_committed = true;
	}
}

static void take_number(struct text name, uint64_t value, struct heap *h,
			struct belief_perfdata *p)
{
	if (text_is(name, "sun.gc.metaspace.used"))
		p->metaspace_used_bytes = value;
	else if (text_is(name, "sun.ci.nmethodSize"))
		p->code_used_bytes = value;
	else
		take_heap(h, name, value);
}

static void take_string(struct text name, struct text value, struct heap *h,
			struct belief_perfdata *p)
{
	if (text_is(name, "java.property.java.version"))
		belief_parse_version(value, &p->version);
	else if (text_is(name, "java.rt.vmArgs") && value.len < STRING_MAX - 1)
		p->arguments = value;
	else if (text_is(name, "sun.gc.policy.name"))
		/* "Copy:MSC", "ParScav:MSC", "ParNew:CMS": two collectors, two halves of a heap */
		h->is_sum = value.len && memchr(value.data, ':', value.len);
}

/* The bytes of [at, end) up to the first NUL. */
static struct text string_at(const struct reader *r, size_t at, size_t end)
{
	return (struct text){ (const char *)r->data + at,
			      strnlen((const char *)r->data + at, end - at) };
}

/* One entry at `at`; how long it is, or 0: garbled. */
static size_t take_entry(const struct reader *r, size_t at, struct heap *h,
			 struct belief_perfdata *p)
{
	if (r->len - at < ENTRY_BYTES)
		return 0;
	uint64_t length = number_at(r, at, 4), name_at = number_at(r, at + 4, 4),
		 count = number_at(r, at + 8, 4), data_at = number_at(r, at + 16, 4);
	char type = (char)r->data[at + 12];

	if (length < ENTRY_BYTES || length > r->len - at || name_at < ENTRY_BYTES ||
	    name_at >= length || data_at > length)
		return 0;
	struct text name = string_at(r, at + name_at, at + length);

	if (type == 'J' && !count && length - data_at >= 8)
		take_number(name, number_at(r, at + data_at, 8), h, p);
	else if (type == 'B' && count && count <= length - data_at)
		take_string(name, string_at(r, at + data_at, at + data_at + count), h, p);
	return length;
}

int belief_parse_perfdata(struct text t, struct belief_perfdata *perfdata)
{
	static const unsigned char magic[] = { 0xca, 0xfe, 0xc0, 0xc0 };
	struct reader r = { (const unsigned char *)t.data, t.len, false };
	struct belief_perfdata p = { NA_U64, NA_U64, NA_U64, NA_U64, { 0, 0 }, { NULL, 0 } };
	struct heap h = { .committed = 0 };

	if (t.len < PROLOGUE_BYTES || memcmp(t.data, magic, sizeof(magic)) != 0 || r.data[4] > 1 ||
	    r.data[5] != 2)
		return fail(EINVAL, "hsperfdata: not its format");
	r.is_big_endian = r.data[4] == 0;
	uint64_t at = number_at(&r, 24, 4), entries = number_at(&r, 28, 4);

	for (; entries && at < r.len; entries--) {
		size_t length = take_entry(&r, at, &h, &p);

		if (!length)
			return fail(EINVAL, "hsperfdata: an entry makes no sense");
		at += length;
	}
	if (h.has_max)
		p.heap_max_bytes = (h.is_sum           ? h.max[0] + h.max[1]
				    : h.max[0] > h.max[1] ? h.max[0]
							  : h.max[1]) / PAGE * PAGE;
	if (h.has_committed)
		p.heap_committed_bytes = h.committed / PAGE * PAGE;
	if (p.heap_max_bytes == 0)
		p.heap_max_bytes = NA_U64;
	*perfdata = p;
	return 0;
}

/* ---- smaps ---- */

struct run {
	uint64_t start, end, resident;
};

struct heap_search {
	uint64_t heap_bytes, found, found_at;  /* of the first match */
	unsigned matches;
	struct run runs[64];           /* ends of adjacent mappings so far, the latest last */
	unsigned count;
	uint64_t resident;             /* of the mapping being read */
	uint64_t start, end;
	bool is_heap_like, has_shared_heap;
};

/* The mapping just read joins those in front of it; is some end of them the heap? */
static void close_mapping(struct heap_search *s)
{
	if (s->end <= s->start)
		return;
	if (!s->is_heap_like) {
		s->count = 0;
		return;
	}
	if (s->count && s->runs[s->count - 1].end != s->start)
		s->count = 0;
	if (s->count == sizeof(s->runs) / sizeof(s->runs[0])) {
		memmove(s->runs, s->runs + 1, sizeof(s->runs) - sizeof(s->runs[0]));
		s->count--;
	}
	s->runs[s->count++] = (struct run){ s->start, s->end, s->resident };
	uint64_t resident = 0;

	for (unsigned i = s->count; i-- > 0;) {
		resident += s->runs[i].resident;
		if (s->end - s->runs[i].start != s->heap_bytes)
			continue;
		if (s->matches++)
			continue;
		s->found = resident;
		s->found_at = s->runs[i].start;
	}
}

/* "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 [heap]" */
static void parse_mapping(struct text line, struct heap_search *s)
{
	struct scan c = scan_of(line);
	uint64_t start, end;

	s->start = s->end = s->resident = 0;
	if (!scan_hex(&c, &start) || !scan_literal(&c, "-") || !scan_hex(&c, &end) ||
	    !scan_skip_words(&c, 4))
		return;
	scan_blanks(&c);
	struct text name = scan_rest(&c);

	s->start = start;
	s->end = end;
	/* G1 maps objects of the class data archive into its heap */
	s->is_heap_like = !name.len || text_ends(name, ".jsa");
	/* ZGC's is shared memory, no part of RssAnon */
	s->has_shared_heap |= text_starts(name, "/memfd:java_heap");
}

static uint64_t kilobytes(struct text t)
{
	struct scan s = scan_of(t);
	uint64_t n;

	return scan_u64(&s, &n) && n <= NA_U64 >> 20 ? n << 10 : 0;
}

uint64_t belief_heap_resident(struct text smaps, uint64_t heap_bytes)
{
	struct heap_search s = { .heap_bytes = heap_bytes };
	struct scan lines = scan_of(smaps);
	struct text line;

	while (scan_until(&lines, '\n', &line)) {
		bool is_mapping = line.len && (unsigned)(line.data[0] - 'A') > 'Z' - 'A';

		if (is_mapping) {
			close_mapping(&s);
			parse_mapping(line, &s);
		} else if (text_starts(line, "Anonymous:")) {
			s.resident += kilobytes((struct text){ line.data + 10, line.len - 10 });
		} else if (text_starts(line, "Swap:")) {
			s.resident += kilobytes((struct text){ line.data + 5, line.len - 5 });
		}
	}
	close_mapping(&s);
	if (s.has_shared_heap)
		return 0;
	/* a heap of compressed pointers is below all else; up there malloc's arenas, 64M each and
	 * adjacent, may be as large together */
	return s.matches == 1 || (s.matches && s.found_at < LOW_END) ? s.found : NA_U64;
}
