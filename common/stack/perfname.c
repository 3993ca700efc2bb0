#include "common/stack/perfname.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/base/text.h"
#include "common/kernel/source.h"

#define CACHE(cache, op, result) \
	(PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 | \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)
#define HW PERF_TYPE_HARDWARE
#define SW PERF_TYPE_SOFTWARE
#define HC PERF_TYPE_HW_CACHE

/* Of several names for one event the first is what perf prints. */
static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} events[] = {
	{ "cycles", HW, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", HW, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", HW, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", HW, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", HW, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", HW, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", HW, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", HW, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", HW, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", HW, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "stalled-cycles-frontend", HW, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", HW, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "cpu-clock", SW, PERF_COUNT_SW_CPU_CLOCK },
	{ "dummy", SW, PERF_COUNT_SW_DUMMY },
	{ "task-clock", SW, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", SW, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", SW, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", SW, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", SW, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", SW, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", SW, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", SW, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", SW, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", SW, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", SW, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "L1-dcache-loads", HC, CACHE(L1D, READ, ACCESS) },
	{ "L1-dcache-load-misses", HC, CACHE(L1D, READ, MISS) },
	{ "L1-dcache-stores", HC, CACHE(L1D, WRITE, ACCESS) },
	{ "L1-icache-loads", HC, CACHE(L1I, READ, ACCESS) },
	{ "L1-icache-load-misses", HC, CACHE(L1I, READ, MISS) },
	{ "LLC-loads", HC, CACHE(LL, READ, ACCESS) },
	{ "LLC-load-misses", HC, CACHE(LL, READ, MISS) },
	{ "LLC-stores", HC, CACHE(LL, WRITE, ACCESS) },
	{ "LLC-store-misses", HC, CACHE(LL, WRITE, MISS) },
	{ "dTLB-loads", HC, CACHE(DTLB, READ, ACCESS) },
	{ "dTLB-load-misses", HC, CACHE(DTLB, READ, MISS) },
	{ "iTLB-loads", HC, CACHE(ITLB, READ, ACCESS) },
	{ "iTLB-load-misses", HC, CACHE(ITLB, READ, MISS) },
	{ "branch-loads", HC, CACHE(BPU, READ, ACCESS) },
	{ "branch-load-misses", HC, CACHE(BPU, READ, MISS) },
	{ "node-loads", HC, CACHE(NODE, READ, ACCESS) },
	{ "node-load-misses", HC, CACHE(NODE, READ, MISS) },
};

#define EVENTS (sizeof(events) / sizeof(*events))

const char *const *perfname_list(void)
{
	static const char *names[EVENTS + 1];

	for (size_t i = 0; i < EVENTS; i++)
		names[i] = events[i].name;
	return names;
}

static bool find_plain(struct text name, struct perfname *p)
{
	for (size_t i = 0; i < EVENTS; i++) {
		if (!text_is(name, events[i].name))
			continue;
		p->type = events[i].type;
		p->config = events[i].config;
		p->is_hardware = p->type != SW;
		p->is_clock = p->type == SW && p->config <= PERF_COUNT_SW_TASK_CLOCK;
		return true;
	}
	return false;
}

/* "r1a8": the number a processor's manual gives. */
static bool find_raw(struct text name, struct perfname *p)
{
	struct scan s = { name.data + 1, name.data + name.len };

	if (name.len < 2 || name.data[0] != 'r' || !scan_hex(&s, &p->config) || s.at != s.end)
		return false;
	p->type = PERF_TYPE_RAW;
	p->is_hardware = true;
	return true;
}

static bool is_word(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
			    t.data[i]))
			return false;
	return t.len > 0;
}

static int find_tracepoint(struct text system, struct text name, struct perfname *p)
{
	static const char *const folders[] = { "sys/kernel/tracing", "sys/kernel/debug/tracing" };
	struct text content;
	int err = -ENOENT;

	for (size_t i = 0; i < 2 && err < 0; i++) {
		struct scan s;

		if (i && !src_exists("sys/kernel/debug/tracing/events"))
			break;
		err = src_readf(&content, "%s/events/%.*s/%.*s/id", folders[i], (int)system.len,
				system.data, (int)name.len, name.data);
		s = scan_of(content);
		if (err >= 0 && !scan_u64(&s, &p->config))
			return fail(EINVAL, "/%s: no number for %.*s", folders[i], (int)name.len,
				    name.data);
	}
	if (err == -ENOENT && !src_exists("sys/kernel/tracing/events") &&
	    !src_exists("sys/kernel/debug/tracing/events"))
		return fail(ENOENT, "tracepoints need tracefs, which is not mounted "
				    "(mount -t tracefs tracefs /sys/kernel/tracing)");
	if (err == -ENOENT)
		return fail(EINVAL, "there is no tracepoint %.*s:%.*s", (int)system.len,
			    system.data, (int)name.len, name.data);
	p->type = PERF_TYPE_TRACEPOINT;
	return err < 0 ? err : 0;
}

/* ":u", ":k" at the end, any number of them; taken off. False: none. */
static bool take_modifiers(struct text *name, struct perfname *p)
{
	size_t at = name->len;
	bool user = false, kernel = false;

	while (at && strchr("ukpPH", name->data[at - 1])) {
		user |= name->data[at - 1] == 'u';
		kernel |= name->data[at - 1] == 'k';
		at--;
	}
	if (!at || at == name->len || name->data[at - 1] != ':')
		return false;
	name->len = at - 1;
	p->without_kernel = user && !kernel;
	p->without_user = kernel && !user;
	return true;
}

int perfname_parse(const char *name, struct perfname *p)
{
	struct perfname made = { 0 };
	struct text t = text_of(name);
	const char *colon;

	take_modifiers(&t, &made);
	if (!find_plain(t, &made) && !find_raw(t, &made)) {
		colon = memchr(t.data, ':', t.len);
		const struct text system = { t.data, colon ? (size_t)(colon - t.data) : 0 };
		const struct text own = {
			colon ? colon + 1 : "", colon ? t.len - system.len - 1 : 0,
		};

		if (!is_word(system) || !is_word(own))
			return fail(EINVAL, "unknown event '%s': not one of cycles, cpu-clock, "
				    "page-faults, context-switches, ..., rHEX, SYSTEM:TRACEPOINT",
				    name);
		const int err = find_tracepoint(system, own, &made);

		if (err < 0)
			return err;
	}
	*p = made;
	return 0;
}
