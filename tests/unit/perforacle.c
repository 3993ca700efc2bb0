/*
 * Recordings read by us and by perf: sample by sample the same. Without arguments the fixtures with
 * the text beside them; "perforacle DATA TEXT [COMM]" compares any other, with the text of
 *     perf script --ns --no-inline -F comm,pid,tid,time,period,event,ip
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check.h"
#include "common/base/buf.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/stack/perffold.h"
#include "common/stack/perfscript.h"

#define TOTALS_MAX 16

struct total {
	char name[64];
	uint64_t samples, weight;
};

/* perf's side: the text, sample by sample. */
struct oracle {
	struct scan at;
	struct perfscript_header head;
	uint64_t ips[1024];
	size_t ip_count, line, samples;
	struct total totals[TOTALS_MAX];
	size_t total_count;
};

static void read_whole(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "rb");
	size_t got;

	if (!CHECK(f != NULL)) {
		printf("%s is not there\n", path);
		return;
	}
	do {
		buf_reserve(b, 65536);
		got = fread(b->data + b->len, 1, 65536, f);
		b->len += got;
	} while (got);
	fclose(f);
}

static void count(struct oracle *o)
{
	size_t i = 0;

	while (i < o->total_count && !text_is(o->head.event, o->totals[i].name))
		i++;
	if (i == TOTALS_MAX)
		return;
	if (i == o->total_count)
		snprintf(o->totals[o->total_count++].name, sizeof(o->totals[i].name), "%.*s",
			 (int)o->head.event.len, o->head.event.data);
	o->totals[i].samples++;
	o->totals[i].weight += o->head.period == NA_U64 ? 1 : o->head.period;
}

static bool next_of_perf(struct oracle *o, bool has_chain)
{
	struct text line;
	uint64_t ip;

	o->ip_count = 0;
	do {
		if (!scan_line(&o->at, &line))
			return false;
		o->line++;
	} while (!line.len || !perfscript_parse_header(line, &o->head));
	/* without a callchain the address stands behind the event, else what a tracepoint says */
	struct scan single = scan_of(o->head.frame);

	if (!has_chain && scan_hex(&single, &ip))
		o->ips[o->ip_count++] = ip;
	while (has_chain && scan_line(&o->at, &line) && line.len) {
		struct scan s = scan_of(line);

		o->line++;
		if (scan_hex(&s, &ip) && o->ip_count < 1024)
			o->ips[o->ip_count++] = ip;
	}
	o->line += has_chain;
	o->samples++;
	count(o);
	return true;
}

/* perf shows an address of a file as where it is in that file. */
static uint64_t as_perf_shows(const struct process *p, uint64_t address, enum cpumode mode)
{
	if (mode == MODE_KERNEL)
		return address;
	const struct process_map *m = process_find_map(p, address);
	static const char *const as_they_are[] = {
		"//anon", "/anon_hugepage", "/dev/zero", "/SYSV", "[stack", "[heap",
	};

	if (!m)
		return address;
	for (size_t i = 0; i < sizeof(as_they_are) / sizeof(*as_they_are); i++)
		if (text_starts(text_of(m->object->path), as_they_are[i]))
			return address;
	return address - m->start + m->pgoff;
}

struct side {
	struct perfdata *data;
	struct perffold *fold;         /* for the processes and the totals */
	struct fold *stacks;
	struct oracle oracle;
	bool compares_user;            /* not where perf unwound a dump */
	const char *path;
};

/* A context that there is not: perf drops the whole stack then, we what stands behind it. */
static bool is_broken(const struct perf_sample *s)
{
	for (size_t i = 0; i < s->chain_count; i++)
		if (s->chain[i] >= CONTEXT_MAX && s->chain[i] != CONTEXT_USER &&
		    s->chain[i] != CONTEXT_KERNEL)
			return true;
	return false;
}

static void compare_stack(struct side *x, const struct perf_sample *s, const struct process *p)
{
	const struct oracle *o = &x->oracle;
	enum cpumode mode = s->mode;
	size_t n = 0;

	if (!s->chain_count && o->ip_count) {
		/* perf shows that one as it is, but not the first of an unwound dump */
		CHECK(!x->compares_user || s->ip == o->ips[0]);
		return;
	}
	if (is_broken(s)) {
		CHECK(o->ip_count == 0);
		return;
	}
	for (size_t i = 0; i < s->chain_count; i++) {
		if (s->chain[i] >= CONTEXT_MAX) {
			mode = s->chain[i] == CONTEXT_KERNEL ? MODE_KERNEL : MODE_USER;
			continue;
		}
		if (mode == MODE_USER && !x->compares_user)
			return;
		const uint64_t shown = as_perf_shows(p, s->chain[i], mode);

		/* perf goes on to show what was mapped before an exec */
		if (n < o->ip_count && shown == s->chain[i] && mode == MODE_USER &&
		    !process_find_map(p, s->chain[i]) && (shown ^ o->ips[n]) % 4096 == 0) {
			n++;
			continue;
		}
		if (n >= o->ip_count || shown != o->ips[n]) {
			CHECK(false);
			printf("%s: text line %zu: frame %zu is %" PRIx64 ", not %" PRIx64 "\n",
			       x->path, o->line, n, shown, n < o->ip_count ? o->ips[n] : 0);
			return;
		}
		n++;
	}
	CHECK(n == o->ip_count || !x->compares_user);
}

static void compare_sample(struct side *x, const struct perf_sample *s, bool is_of_group)
{
	const struct perfscript_header *h = &x->oracle.head;
	struct thread *t = processes_thread(perffold_processes(x->fold), (uint32_t)s->pid,
					    (uint32_t)s->tid);
	uint64_t pid = NA_U64, tid = NA_U64;

	if (!scan_all_u64(h->tid, &tid))
		scan_all_u64(h->pid, &tid);
	if (!h->pid.len || !h->tid.len || !scan_all_u64(h->pid, &pid))
		pid = s->pid;          /* only one number is shown */
	CHECK(text_is(h->comm, t->comm) && pid == s->pid && tid == s->tid);
	if (!text_is(h->comm, t->comm))
		printf("%s: text line %zu: %s is %.*s\n", x->path, x->oracle.line, t->comm,
		       (int)h->comm.len, h->comm.data);
	CHECK((uint64_t)(h->time * 1e6 + 0.0005) == s->time / 1000);
	if (!is_of_group) {
		CHECK(text_is(h->event, s->event->name));
		CHECK(h->period == NA_U64 || s->period == NA_U64 || h->period == s->period);
	}
	compare_stack(x, s, t->process);
}

static void take_sample(struct side *x, const struct perf_record *r)
{
	const struct perf_event *e = perf_record_event(perfdata_events(x->data), r);
	struct perf_sample s;

	if (!CHECK(e && !perf_sample_decode(e, r, &s)))
		return;
	const bool is_of_group = e->attr.sample_type & FIELD_READ;

	x->compares_user = !(e->attr.sample_type & FIELD_STACK_USER);
	/* members of a group that did not count have no sample */
	for (size_t i = 0; i < (is_of_group ? s.read_count : 1); i++) {
		struct scan before = x->oracle.at;

		if (!next_of_perf(&x->oracle, e->attr.sample_type & FIELD_CALLCHAIN)) {
			CHECK(is_of_group && i);
			return;
		}
		if (is_of_group && i &&
		    (uint64_t)(x->oracle.head.time * 1e6 + 0.0005) != s.time / 1000) {
			x->oracle.at = before;
			x->oracle.totals[0].samples--;
			CHECK(text_is(x->oracle.head.event, x->oracle.totals[0].name));
			x->oracle.totals[0].weight -= x->oracle.head.period;
			return;
		}
		compare_sample(x, &s, is_of_group);
	}
}

static void compare_totals(const struct perffold_result *r, const struct oracle *o)
{
	CHECK(r->event_count == o->total_count);
	for (size_t i = 0; i < r->event_count; i++) {
		size_t n = 0;

		while (n < o->total_count && strcmp(r->events[i].name, o->totals[n].name) != 0)
			n++;
		if (!CHECK(n < o->total_count))
			continue;
		CHECK(r->events[i].samples == o->totals[n].samples);
		CHECK(r->events[i].weight == o->totals[n].weight);
	}
}

static void compare(const char *data, const char *text)
{
	struct side x = { .path = data };
	struct buf script = { 0 };
	struct perf_record r;

	read_whole(text, &script);
	x.oracle.at = scan_of(buf_text(&script));
	if (perfdata_open(data, &x.data)) {
		CHECK(false);
		printf("%s\n", fail_text());
		buf_free(&script);
		return;
	}
	x.stacks = fold_new();
	x.fold = perffold_new(x.stacks, &(struct perffold_options){ 0 });
	while (perfdata_next(x.data, &r)) {
		if (r.type == RECORD_SAMPLE)
			take_sample(&x, &r);
		perffold_take(x.fold, perfdata_events(x.data), &r);
	}
	CHECK(!next_of_perf(&x.oracle, true));
	CHECK(x.oracle.samples > 0);
	CHECK(perfdata_is_whole(x.data));
	compare_totals(perffold_end(x.fold), &x.oracle);
	perffold_free(x.fold);
	fold_free(x.stacks);
	perfdata_close(x.data);
	buf_free(&script);
}

static void compare_fixture(const char *name)
{
	const char *tests = getenv("tests");
	struct buf data = { 0 }, text = { 0 };

	buf_printf(&data, "%s/fixtures/perf/%s.data", tests ? tests : "tests", name);
	buf_printf(&text, "%s/fixtures/perf/%s.txt", tests ? tests : "tests", name);
	compare(data.data, text.data);
	buf_free(&data);
	buf_free(&text);
}

int main(int argc, char **argv)
{
	static const char *const fixtures[] = {
		"fp", "dwarf", "zstd", "several", "group", "pipe", "zpipe", "threads", "nochain",
	};

	if (argc == 3) {
		compare(argv[1], argv[2]);
		return check_done(argv[1]);
	}
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(*fixtures); i++)
		compare_fixture(fixtures[i]);
	return check_done("perforacle");
}
