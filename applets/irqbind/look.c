/* One look at what moves: interrupts, softirqs, packets and CPU time, per CPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/irqbind/irqbind.h"
#include "common/kernel/interrupts.h"
#include "common/kernel/netcount.h"
#include "common/kernel/softnet.h"
#include "common/kernel/source.h"

struct irqbind irqbind;

struct look *look_now(void)
{
	return &irqbind.looks[irqbind.look_count % 2];
}

struct look *look_before(void)
{
	return irqbind.look_count > 1 ? &irqbind.looks[(irqbind.look_count - 1) % 2] : NULL;
}

/* ---- reading ---- */

static void keep_counts(struct look *l, struct interrupts *in, const unsigned *cpus,
			const struct interrupts_line *line, uint32_t number)
{
	struct irq_counts *c = arena_alloc(&l->arena, sizeof(*c));
	uint32_t *counts = arena_alloc(src_arena(), in->columns * sizeof(*counts));
	struct text what;

	if (!interrupts_counts(in, line, counts, &what))
		return;
	c->number = number;
	c->name = arena_text(&l->arena, what);
	c->cpus = arena_alloc(&l->arena, irqbind.topo.limit * sizeof(*c->cpus));
	for (unsigned i = 0; i < in->columns; i++)
		c->cpus[cpus[i]] = counts[i];
	*hash_number(&l->counts, number) = c;
}

/* What /proc/interrupts says of one line without reading millions of digits: its name. */
static const char *line_name(struct arena *a, const struct interrupts_line *line)
{
	const char *end = line->rest.data + line->rest.len, *at = end;

	while (at > line->rest.data + 1 && !(at[-1] == ' ' && at[-2] == ' '))
		at--;
	return arena_copy(a, at, (size_t)(end - at));
}

static bool is_wanted(const struct look *l, uint32_t number)
{
	if (!cpumask_is_empty(&irqbind.topo.isolated))
		return true;
	for (size_t i = 0; i < irqbind.wanted_count; i++)
		if (irqbind.wanted[i] == number)
			return true;
	for (size_t i = 0; i < l->nic_count; i++)
		for (size_t k = 0; k < l->nics[i].irq_count; k++)
			if (l->nics[i].irqs[k].irq.number == number)
				return true;
	return false;
}

static bool parse_number(struct text name, uint32_t *number)
{
	uint64_t n;

	if (!scan_all_u64(name, &n) || n > UINT32_MAX)
		return false;
	*number = (uint32_t)n;
	return true;
}

/* Pass 1: names, by which nics.c finds what a device's folder does not list. */
static int read_names(struct look *l, struct interrupts *in)
{
	struct interrupts again = *in;
	struct interrupts_line line;
	uint32_t number;

	while (interrupts_next(&again, &line))
		if (parse_number(line.name, &number))
			*hash_number(&l->all_names, number) = (void *)line_name(&l->arena, &line);
	return 0;
}

static int open_interrupts(struct interrupts *in, unsigned **cpus)
{
	struct text t;
	int err = src_read("proc/interrupts", &t);

	if (err >= 0)
		err = interrupts_start(in, t);
	if (err < 0)
		return err;
	*cpus = arena_alloc(src_arena(), in->columns * sizeof(**cpus));
	return interrupts_cpus(in, irqbind.topo.limit, *cpus);
}

static void read_counts(struct look *l, struct interrupts *in, const unsigned *cpus)
{
	struct interrupts_line line;
	uint32_t number;

	while (interrupts_next(in, &line))
		if (parse_number(line.name, &number) && is_wanted(l, number))
			keep_counts(l, in, cpus, &line, number);
}

/* NET_RX and NET_TX of /proc/softirqs, whose columns are all possible CPUs. */
static void read_softirqs(struct out *out, struct look *l)
{
	struct interrupts in;
	struct interrupts_line line;
	struct text t;
	int err = src_read("proc/softirqs", &t);

	if (err >= 0)
		err = interrupts_start(&in, t);
	if (err < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	unsigned *cpus = arena_alloc(src_arena(), in.columns * sizeof(*cpus));
	uint32_t *counts = arena_alloc(src_arena(), in.columns * sizeof(*counts));

	if (interrupts_cpus(&in, CPU_MAX, cpus) < 0) {
		out_missing(out, "/proc/softirqs: %s", fail_text());
		return;
	}
	while (interrupts_next(&in, &line)) {
		const bool is_rx = text_is(line.name, "NET_RX");

		if ((!is_rx && !text_is(line.name, "NET_TX")) ||
		    !interrupts_counts(&in, &line, counts, NULL))
			continue;
		for (unsigned i = 0; i < in.columns; i++)
			if (cpus[i] < irqbind.topo.limit)
				*(is_rx ? &l->cpus[cpus[i]].net_rx : &l->cpus[cpus[i]].net_tx) =
					counts[i];
	}
}

static void read_softnet(struct out *out, struct look *l)
{
	struct softnet_cpu *list;
	struct text t;
	size_t count;
	unsigned online = cpumask_next(&irqbind.topo.online, 0);

	if (src_read("proc/net/softnet_stat", &t) < 0 ||
	    softnet_parse_cpus(src_arena(), t, &list, &count) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const uint64_t cpu = list[i].cpu != NA_U64 ? list[i].cpu : online;

		online = cpumask_next(&irqbind.topo.online, online + 1);
		if (cpu >= irqbind.topo.limit)
			continue;
		struct cpu_look *c = &l->cpus[cpu];

		c->has_softnet = true;
		c->processed = list[i].processed;
		c->dropped = list[i].dropped;
		c->squeezed = list[i].squeezed;
		c->steered = list[i].steered;
		c->backlog = list[i].backlog;
	}
}

static void read_tcp(struct look *l)
{
	struct text t;

	l->retransmitted = l->sent = NA_U64;
	if (src_read("proc/net/snmp", &t) < 0)
		return;
	l->retransmitted = netcount_find(t, "Tcp", "RetransSegs");
	l->sent = netcount_find(t, "Tcp", "OutSegs");
}

static int read_topology(void)
{
	if (irqbind.has_topo)
		return 0;
	int err = cputopo_read(&irqbind.run, &irqbind.topo);

	irqbind.has_topo = err >= 0;
	return err;
}

int look_take(struct out *out, bool has_traffic)
{
	struct interrupts in;
	unsigned *cpus;
	int err = read_topology();

	if (err < 0)
		return err;
	irqbind.look_count++;
	struct look *l = look_now();

	arena_reset(&l->arena);
	hash_reset(&l->counts);
	hash_reset(&l->all_names);
	l->nic_count = 0;
	l->cpus = arena_alloc(&l->arena, irqbind.topo.limit * sizeof(*l->cpus));
	for (unsigned i = 0; i < irqbind.topo.limit; i++)
		l->cpus[i] = (struct cpu_look){ .steered = NA_U64, .backlog = NA_U64,
						.net_rx = NA_U64, .net_tx = NA_U64 };
	const bool has_interrupts = open_interrupts(&in, &cpus) >= 0;

	if (has_interrupts)
		read_names(l, &in);
	else
		out_missing(out, "%s", fail_text());
	err = nics_read(out, l);
	if (err < 0 || !has_traffic)
		return err;
	if (has_interrupts)
		read_counts(l, &in, cpus);
	if (cpustat_read(&l->stat) < 0)
		out_missing(out, "%s", fail_text());
	read_softirqs(out, l);
	read_softnet(out, l);
	read_tcp(l);
	return 0;
}

void look_free_all(void)
{
	for (size_t i = 0; i < 2; i++) {
		struct look *l = &irqbind.looks[i];

		arena_free(&l->arena);
		hash_free(&l->counts);
		hash_free(&l->all_names);
		cpustat_free(&l->stat);
	}
	arena_free(&irqbind.run);
	irqbind = (struct irqbind){ 0 };
}

/* ---- what moved ---- */

/* Counters of 32 bits that wrap; going back by more than half of it is none. */
static uint64_t wrapped(uint32_t now, uint32_t before)
{
	const uint32_t delta = now - before;

	return delta > UINT32_MAX / 2 ? NA_U64 : delta;
}

static const struct irq_counts *counts_of(const struct look *l, uint32_t number)
{
	return l ? hash_find_number(&l->counts, number) : NULL;
}

uint64_t irq_delta(uint32_t number, unsigned cpu)
{
	const struct irq_counts *now = counts_of(look_now(), number);
	const struct irq_counts *before = counts_of(look_before(), number);

	if (!now || !before || cpu >= irqbind.topo.limit)
		return NA_U64;
	return wrapped(now->cpus[cpu], before->cpus[cpu]);
}

uint64_t irq_delta_all(uint32_t number, unsigned *busiest)
{
	uint64_t sum = 0, most = 0;
	unsigned at = CPUMASK_END;

	for (unsigned cpu = 0; cpu < irqbind.topo.limit; cpu++) {
		const uint64_t n = irq_delta(number, cpu);

		sum = sum_u64(sum, n);
		if (n != NA_U64 && n > most)
			most = n, at = cpu;
	}
	if (busiest)
		*busiest = at;
	return irqbind.topo.limit ? sum : NA_U64;
}

static uint64_t softnet_delta(unsigned cpu, size_t at)
{
	const struct look *before = look_before();

	if (!before || cpu >= irqbind.topo.limit)
		return NA_U64;
	const struct cpu_look *x = &look_now()->cpus[cpu], *y = &before->cpus[cpu];
	uint32_t now, was;

	if (!x->has_softnet || !y->has_softnet)
		return NA_U64;
	memcpy(&now, (const char *)x + at, sizeof(now));
	memcpy(&was, (const char *)y + at, sizeof(was));
	return wrapped(now, was);
}

double cpu_processed_rate(unsigned cpu)
{
	return rate_of(softnet_delta(cpu, offsetof(struct cpu_look, processed)),
		       irqbind.interval_ns);
}

double cpu_squeeze_rate(unsigned cpu)
{
	return rate_of(softnet_delta(cpu, offsetof(struct cpu_look, squeezed)),
		       irqbind.interval_ns);
}

uint64_t cpu_dropped(unsigned cpu)
{
	return softnet_delta(cpu, offsetof(struct cpu_look, dropped));
}

void cpu_shares_of(unsigned cpu, struct cpu_shares *s)
{
	static const struct cpu_times unknown = { NA_U64, NA_U64, NA_U64, NA_U64, NA_U64,
						  NA_U64, NA_U64, NA_U64, false };
	const struct look *before = look_before(), *now = look_now();
	const struct cpu_times *x = cpu < now->stat.cpu_count ? &now->stat.cpus[cpu] : &unknown;
	const struct cpu_times *y = before && cpu < before->stat.cpu_count
		? &before->stat.cpus[cpu] : &unknown;

	cpustat_shares(x->is_online && y->is_online ? y : &unknown,
		       x->is_online && y->is_online ? x : &unknown, s);
}

double nic_packet_rate(const struct nic *n)
{
	const struct nic *was = look_before() ? nic_find(look_before(), n->name) : NULL;

	return was ? rate_of(delta_u64(n->rx_packets, was->rx_packets), irqbind.interval_ns)
		   : NA_F64;
}

uint64_t nic_lost(const struct nic *n)
{
	const struct nic *was = look_before() ? nic_find(look_before(), n->name) : NULL;

	return was ? delta_u64(n->rx_lost, was->rx_lost) : NA_U64;
}
