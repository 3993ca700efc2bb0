#include "common/kernel/cpustat.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"

static const struct cpu_times unknown_times = {
	NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, false
};

/* The numbers of a line in the order of the struct; a column an old kernel lacks stays unknown. */
static struct cpu_times take_times(struct scan s)
{
	struct cpu_times t = unknown_times;
	uint64_t *const columns[] = {
		&t.user, &t.nice, &t.system, &t.idle, &t.iowait, &t.irq, &t.softirq, &t.steal,
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (!scan_u64(&s, columns[i]))
			break;
	t.is_online = true;
	return t;
}

/* "cpu12 ": the number behind "cpu", with the blank behind it consumed. */
static bool take_cpu_number(struct scan *s, uint64_t *cpu)
{
	struct scan copy = *s;

	if (!scan_literal(&copy, "cpu") || copy.at == copy.end || *copy.at == ' ')
		return false;
	if (!scan_u64(&copy, cpu) || !scan_literal(&copy, " "))
		return false;
	*s = copy;
	return true;
}

/* Only whole lines are looked at: without its newline the last one may be cut. */
static int find_highest_cpu(struct text t, unsigned *count)
{
	struct scan rest = scan_of(t);
	struct text line;
	bool has_all = false;
	unsigned highest = 0;

	while (scan_until(&rest, '\n', &line)) {
		struct scan s = scan_of(line);
		uint64_t cpu;

		has_all = has_all || text_starts(line, "cpu ");
		if (!take_cpu_number(&s, &cpu))
			continue;
		if (cpu >= CPU_MAX)
			return fail(EINVAL, "/proc/stat: a CPU number beyond %d", CPU_MAX - 1);
		if (cpu >= highest)
			highest = (unsigned)cpu + 1;
	}
	if (!has_all)
		return fail(EINVAL, "/proc/stat: no \"cpu\" line");
	*count = highest;
	return 0;
}

static void take_line(struct text line, struct cpu_stat *s)
{
	const struct {
		const char *key;
		uint64_t *value;
	} counters[] = {
		{ "ctxt ", &s->context_switches },
		{ "intr ", &s->interrupts }, { "softirq ", &s->softirqs },     /* the total leads */
		{ "processes ", &s->forks }, { "btime ", &s->btime_s },
		{ "procs_running ", &s->running }, { "procs_blocked ", &s->blocked },
	};
	struct scan rest = scan_of(line);
	uint64_t cpu;

	if (take_cpu_number(&rest, &cpu)) {
		s->online += !s->cpus[cpu].is_online;
		s->cpus[cpu] = take_times(rest);
		return;
	}
	if (scan_literal(&rest, "cpu ")) {
		s->all = take_times(rest);
		return;
	}
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (scan_literal(&rest, counters[i].key)) {
			scan_u64(&rest, counters[i].value);
			return;
		}
}

/* All unknown; the memory is kept. */
static void forget(struct cpu_stat *s)
{
	*s = (struct cpu_stat){
		.all = unknown_times, .cpus = s->cpus, .cpu_cap = s->cpu_cap,
		.context_switches = NA_U64, .interrupts = NA_U64, .softirqs = NA_U64,
		.forks = NA_U64, .btime_s = NA_U64, .running = NA_U64, .blocked = NA_U64,
	};
}

int cpustat_parse(struct text t, struct cpu_stat *s)
{
	unsigned count = 0;
	int err = find_highest_cpu(t, &count);

	if (err)
		return err;
	struct cpu_times *cpus = mem_grow(s->cpus, &s->cpu_cap, count, sizeof(*cpus));

	s->cpus = cpus;
	forget(s);
	s->cpu_count = count;
	for (unsigned i = 0; i < count; i++)
		cpus[i] = unknown_times;
	struct scan rest = scan_of(t);
	struct text line;

	while (scan_until(&rest, '\n', &line))
		take_line(line, s);
	return 0;
}

int cpustat_read(struct cpu_stat *s)
{
	struct text t;
	int err = src_read("proc/stat", &t);

	if (err >= 0)
		err = cpustat_parse(t, s);
	if (err < 0)
		forget(s);
	return err;
}

void cpustat_free(struct cpu_stat *s)
{
	free(s->cpus);
	*s = (struct cpu_stat){ 0 };
}

/* Time gone by in one column: 0 where it went backwards, as iowait does. */
static uint64_t passed(uint64_t before, uint64_t now)
{
	if (before == NA_U64 || now == NA_U64)
		return NA_U64;
	return now < before ? 0 : now - before;
}

static double known_or_zero(double share)
{
	return is_na_f64(share) ? 0 : share;
}

void cpustat_shares(const struct cpu_times *before, const struct cpu_times *now,
		    struct cpu_shares *shares)
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };
	const uint64_t ticks[COLUMNS] = {
		passed(before->user, now->user), passed(before->nice, now->nice),
		passed(before->system, now->system), passed(before->idle, now->idle),
		passed(before->iowait, now->iowait), passed(before->irq, now->irq),
		passed(before->softirq, now->softirq), passed(before->steal, now->steal),
	};
	uint64_t total = 0;
	double share[COLUMNS];

	for (int i = 0; i < COLUMNS; i++)
		total += ticks[i] == NA_U64 ? 0 : ticks[i];
	for (int i = 0; i < COLUMNS; i++)
		share[i] = ratio_of(ticks[i], total);
	*shares = (struct cpu_shares){
		.user = share[USER] + known_or_zero(share[NICE]), .system = share[SYSTEM],
		.iowait = share[IOWAIT], .irq = share[IRQ], .softirq = share[SOFTIRQ],
		.steal = share[STEAL], .idle = share[IDLE],
		.busy = 1 - share[IDLE] - known_or_zero(share[IOWAIT]),
	};
}
