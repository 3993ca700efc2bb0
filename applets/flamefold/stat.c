/*
 * --stat: counters of the same targets. Where there are more than the processor has room for the
 * kernel takes turns: values are scaled up by the share of time they were counted, which is shown.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "applets/flamefold/stat.h"
#include "applets/flamefold/targets.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/kernel/source.h"

#define EVENTS_MAX 64
#define FOREVER (366ull * 86400 * 1000000000ull)

struct counter_row {
	const char *event;
	uint64_t count;
	double per_second;
	const char *measure;
	double value;
	double counted_ratio;
	bool is_scaled;
	const char *note;
};

static const struct column counter_columns[] = {
	COL(struct counter_row, event, "EVENT", ROLE_KEY, UNIT_TEXT,
	    "as perf calls it; which hardware event that is differs by processor"),
	COL_EST(struct counter_row, count, is_scaled, "COUNT", ROLE_COUNTER_DELTA, UNIT_COUNT,
		"in the interval; ns of a clock; scaled up if it was not counted all the time"),
	COL(struct counter_row, per_second, "/S", ROLE_GAUGE, UNIT_PER_SECOND, "a second"),
	COL(struct counter_row, value, "VALUE", ROLE_GAUGE, UNIT_COUNT,
	    "what measure says: a fraction, or a number per cycle"),
	COL(struct counter_row, measure, "MEASURE", ROLE_TEXT, UNIT_TEXT, "what value is"),
	COL(struct counter_row, counted_ratio, "COUNTED%", ROLE_GAUGE, UNIT_RATIO,
	    "share of the running time it was counted: less than all when counters take turns"),
	COL(struct counter_row, note, "NOTE", ROLE_TEXT, UNIT_TEXT,
	    "why there is no count: not supported here"),
};

static const struct table counter_table = {
	.name = "counters", .help = "an event", TABLE(struct counter_row, counter_columns),
};
const struct table *const stat_tables[] = { &counter_table, NULL };

/* A ratio of two events is a row's measure. */
static const struct {
	const char *event, *by, *measure;
} measures[] = {
	{ "instructions", "cycles", "instructions per cycle" },
	{ "cache-misses", "cache-references", "of cache-references" },
	{ "branch-misses", "branches", "of branches" },
	{ "L1-dcache-load-misses", "L1-dcache-loads", "of L1-dcache-loads" },
	{ "LLC-load-misses", "LLC-loads", "of LLC-loads" },
	{ "dTLB-load-misses", "dTLB-loads", "of dTLB-loads" },
	{ "iTLB-load-misses", "iTLB-loads", "of iTLB-loads" },
};

static const char *const defaults[] = {
	"task-clock", "context-switches", "cpu-migrations", "page-faults", "major-faults",
	"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
	"L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses", "dTLB-loads",
	"dTLB-load-misses", "iTLB-load-misses",
};

struct counter {
	const char *name;
	struct perfname event;
	const char *refused;           /* NULL: it is counted */
	int *fds;                      /* by thread and CPU */
	size_t fd_count, fd_cap;
	uint64_t value, enabled, running;      /* sums at the last look */
	uint64_t delta;                /* of this frame; NA_U64 unknown */
	double counted;
};

static struct {
	struct counter counters[EVENTS_MAX];
	size_t count;
	struct targets targets;
	char **command;
	bool is_over, without_kernel;
	struct arena arena;
} stat_;

/* ---- what was asked ---- */

static int add_counter(struct text name)
{
	struct counter *c = &stat_.counters[stat_.count];

	if (stat_.count == EVENTS_MAX)
		return fail(EINVAL, "-e: more than %u events", EVENTS_MAX);
	*c = (struct counter){ .name = arena_text(&stat_.arena, name) };
	stat_.count++;
	return perfname_parse(c->name, &c->event);
}

static int add_counters(bool has_threads)
{
	struct text word, rest = text_of(typed.event ? typed.event : "");
	int err = 0;

	/* on whole CPUs that clock says how many there are */
	const size_t first = !has_threads ? 1 : 0;

	if (!typed.event)
		for (size_t i = first; i < sizeof(defaults) / sizeof(*defaults) && err >= 0; i++)
			err = add_counter(text_of(defaults[i]));
	while (rest.len && err >= 0) {
		const char *comma = memchr(rest.data, ',', rest.len);

		word = (struct text){ rest.data, comma ? (size_t)(comma - rest.data) : rest.len };
		rest.data += comma ? word.len + 1 : word.len;
		rest.len -= comma ? word.len + 1 : word.len;
		err = add_counter(word);
	}
	return err;
}

/* ---- opening ---- */

static int open_counter(struct counter *c, unsigned cpu, int tid)
{
	const struct perfevent_target *t = &stat_.targets.is;
	struct perf_event_attr a = {
		.type = c->event.type,
		.size = sizeof(a),
		.config = c->event.config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.inherit = !t->is_everything,
		.exclude_kernel = c->event.without_kernel || stat_.without_kernel,
		.exclude_user = c->event.without_user,
		.exclude_guest = c->event.is_hardware,
		.enable_on_exec = stat_.targets.child && !t->is_everything,
	};
	int fd = perfevent_open_one(&a, t, tid, t->is_everything ? (int)cpu : -1);

	if ((fd == -EACCES || fd == -EPERM) && !a.exclude_kernel && !a.exclude_user) {
		stat_.without_kernel = true;
		a.exclude_kernel = 1;
		fd = perfevent_open_one(&a, t, tid, t->is_everything ? (int)cpu : -1);
	}
	if (fd < 0)
		return fd;
	c->fds = mem_grow(c->fds, &c->fd_cap, c->fd_count + 1, sizeof(*c->fds));
	c->fds[c->fd_count++] = fd;
	return 0;
}

static bool is_unsupported(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENXIO ||
	       err == -EINVAL;
}

/* 0 also when this machine cannot count it: then why is kept with it. */
static int open_everywhere(struct counter *c)
{
	const struct perfevent_target *t = &stat_.targets.is;
	const size_t n = t->is_everything ? t->cpu_count : t->tid_count;

	for (size_t i = 0; i < n; i++) {
		const int err = t->is_everything ? open_counter(c, t->cpus[i], -1) :
						   open_counter(c, 0, (int)t->tids[i]);

		if (is_unsupported(err)) {
			c->refused = "not supported here";
			return 0;
		}
		if (err < 0 && !(err == -ESRCH && n > 1))
			return err;
	}
	return 0;
}

int stat_start(int argc, char **argv)
{
	uint64_t ns;
	int err = 0;

	shared.interval_ns = FOREVER;
	if (argc > 1 && opt_duration("interval", argv[1], &ns) < 0) {
		stat_.command = argv + 1;
	} else if (argc > 3) {
		return fail(EINVAL, "unexpected word '%s'", argv[3]);
	} else {
		shared.interval_ns = argc > 1 ? ns : 1000000000ull;
		shared.has_count = argc > 2;
		if (argc > 2)
			err = opt_number("count", argv[2], &shared.count);
		if (err >= 0 && (!shared.interval_ns || !shared.count))
			err = fail(EINVAL, "0 intervals are none");
	}
	if (err >= 0)
		err = targets_check(stat_.command != NULL);
	/* an unknown event is a mistake; tracefs that is not there is not */
	if (err >= 0)
		err = add_counters(typed.cgroup || typed.pids.count || typed.tids.count ||
				   (stat_.command && !typed.all_cpus));
	return err;
}

static int open_all(void)
{
	int err = targets_open(&stat_.targets, stat_.command);

	for (size_t i = 0; i < stat_.count && err >= 0; i++)
		err = open_everywhere(&stat_.counters[i]);
	for (size_t i = 0; i < stat_.count && err >= 0; i++)
		for (size_t k = 0; k < stat_.counters[i].fd_count; k++)
			if (!stat_.targets.child || stat_.targets.is.is_everything)
				ioctl(stat_.counters[i].fds[k], PERF_EVENT_IOC_ENABLE, 0);
	return err;
}

void stat_stop(void)
{
	for (size_t i = 0; i < stat_.count; i++) {
		for (size_t k = 0; k < stat_.counters[i].fd_count; k++)
			close(stat_.counters[i].fds[k]);
		free(stat_.counters[i].fds);
	}
	stat_.count = 0;
	targets_close(&stat_.targets);
	arena_free(&stat_.arena);
}

/* ---- counting ---- */

int stat_wait(uint64_t due_ns)
{
	const uint64_t now_ns = src_now_ns();
	const uint64_t left_ms = due_ns > now_ns ? (due_ns - now_ns) / 1000000 + 1 : 0;
	struct pollfd child = { .fd = stat_.targets.child_fd, .events = POLLIN };

	if (left_ms)
		poll(&child, 1, left_ms < 100 ? (int)left_ms : 100);
	stat_.is_over = targets_are_gone(&stat_.targets);
	return stat_.is_over || src_now_ns() >= due_ns;
}

/* Each fd's value is scaled by its own times: threads and CPUs take turns apart from each other. */
static void read_counter(struct counter *c)
{
	uint64_t sums[3] = { 0 }, scaled = 0;

	for (size_t i = 0; i < c->fd_count; i++) {
		uint64_t v[3];

		if (read(c->fds[i], v, sizeof(v)) != sizeof(v))
			continue;
		scaled += v[2] && v[2] < v[1] ?
			(uint64_t)((double)v[0] * ((double)v[1] / (double)v[2])) : v[0];
		sums[1] += v[1];
		sums[2] += v[2];
	}
	sums[0] = scaled;
	const uint64_t enabled = sums[1] - c->enabled, running = sums[2] - c->running;

	c->delta = c->refused || (!running && enabled) ? NA_U64 : delta_u64(sums[0], c->value);
	c->counted = c->refused ? NA_F64 : ratio_of(running, enabled);
	c->value = sums[0];
	c->enabled = sums[1];
	c->running = sums[2];
}

static const struct counter *find(const char *name)
{
	for (size_t i = 0; i < stat_.count; i++)
		if (!strcmp(stat_.counters[i].name, name))
			return &stat_.counters[i];
	return NULL;
}

static void measure(const struct counter *c, uint64_t elapsed_ns, struct counter_row *row)
{
	const struct counter *by;

	row->value = NA_F64;
	if (c->event.is_clock && (!stat_.targets.is.is_everything || typed.cgroup)) {
		row->measure = "CPUs used";
		row->value = ratio_of(c->delta, elapsed_ns);
	}
	for (size_t i = 0; i < sizeof(measures) / sizeof(*measures); i++) {
		if (strcmp(measures[i].event, c->name) != 0)
			continue;
		by = find(measures[i].by);
		if (!by || is_na_u64(by->delta) || is_na_u64(c->delta))
			return;
		row->measure = measures[i].measure;
		row->value = ratio_of(c->delta, by->delta);
	}
}

static void show(struct out *out, uint64_t elapsed_ns)
{
	for (size_t i = 0; i < stat_.count; i++) {
		const struct counter *c = &stat_.counters[i];
		struct counter_row row = {
			.event = c->name,
			.count = c->delta,
			.per_second = rate_of(c->delta, elapsed_ns),
			.counted_ratio = c->counted,
			.is_scaled = c->counted < 0.9995,
			.note = c->refused ? c->refused :
				is_na_u64(c->delta) ? "never counted: no counter was free" : NULL,
		};

		measure(c, elapsed_ns, &row);
		out_row(out, &counter_table, &row);
	}
}

static void tell_limits(struct out *out)
{
	struct text rate;
	bool has_hardware = false;

	for (size_t i = 0; i < stat_.count; i++)
		has_hardware |= stat_.counters[i].event.is_hardware && !stat_.counters[i].refused;
	if (!has_hardware && !typed.event)
		out_note(out, "this machine has no hardware counters (often a virtual one)");
	if (stat_.without_kernel)
		out_note(out, "what happens in the kernel is not counted (perf_event_paranoid)");
	if (shared.verbose && !src_read("proc/sys/kernel/perf_event_max_sample_rate", &rate))
		out_note(out, "perf_event_max_sample_rate: %.*s", (int)rate.len, rate.data);
}

int stat_look(struct out *out)
{
	static uint64_t before_ns;
	static bool is_open;
	int err;

	if (!is_open) {
		err = open_all();
		if (err < 0)
			return err;
		is_open = true;
		tell_limits(out);
		/* before the command begins: what it did so far would be left out */
		for (size_t i = 0; i < stat_.count; i++)
			read_counter(&stat_.counters[i]);
		before_ns = src_now_ns();
		return targets_start(&stat_.targets);
	}
	for (size_t i = 0; i < stat_.count; i++)
		read_counter(&stat_.counters[i]);
	const uint64_t now_ns = src_now_ns();

	show(out, now_ns - before_ns);
	before_ns = now_ns;
	if (stat_.is_over)
		targets_tell_end(out, &stat_.targets);
	return stat_.is_over || (out_format(out) == OUT_OPENMETRICS && !shared.has_count) ?
		LOOK_LAST : 0;
}
