/* What is wrong with who takes the packets. When each fires is in the man page. */
#include <string.h>

#include "applets/irqbind/irqbind.h"
#include "common/kernel/source.h"

#define PACKETS_MIN 20000.0            /* per second: below it nobody is hurt */
#define ONE_CPU_SHARE 0.80
#define ONE_CPU_SOFTIRQ 0.50
#define ONE_CPU_OTHERS_IDLE 0.50
#define DEVICE_SHARE 0.50              /* of the packets: what devices gave, not loopback */
#define LOST_MIN 10
#define SOFTIRQ_MIN 0.30
#define SQUEEZE_MIN 10.0
#define SQUEEZE_SHARE 0.05
#define ISOLATED_MIN 100.0

const struct finding_kind irqbind_findings[] = {
	{ "irqbind.one-cpu", "risk, now",
	  "one CPU handles >= 80 % of >= 20,000 packets/s (softnet processed), half of them from "
	  "devices at least, spends >= 50 % of its time in softirq, and the others are >= 50 % "
	  "idle; now: and >= 10 packets were lost to a full ring or backlog" },
	{ "irqbind.remote-node", "risk",
	  "interrupts of a device with >= 20,000 packets/s come in on CPUs of another NUMA node, "
	  "which handle >= 20,000 packets/s and spend >= 30 % of their time in softirq" },
	{ "irqbind.squeeze", "risk",
	  "a CPU's polls ended with work left >= 10 times/s and in >= 5 % of its receive softirqs, "
	  "and it spends >= 30 % of its time in softirq" },
	{ "irqbind.affinity-not-effective", "now",
	  "an interrupt that is not managed comes in, and none of the CPUs it may go to is among "
	  "those it goes to" },
	{ "irqbind.isolated-cpu", "risk",
	  "an interrupt that is known not to be managed comes in >= 100 times/s on an isolated "
	  "CPU" },
	{ "irqbind.irqbalance-conflict", "now",
	  "with --journal or --verify: a plan is in force, and something has changed what it set" },
	{ NULL, NULL, NULL },
};

struct finding *irqbind_finding(struct out *out, const char *id, enum finding_state state,
				const char *subject)
{
	return finding_start(out_arena(out), irqbind_findings, id, state, subject);
}

static double known(double x)
{
	return isnan(x) ? 0 : x;
}

/* ---- one CPU ---- */

/* The device that received most, and what all of them did. */
static const struct nic *busiest_nic(double *all, uint64_t *lost)
{
	const struct look *l = look_now();
	const struct nic *best = NULL;

	*all = 0, *lost = 0;
	for (size_t i = 0; i < l->nic_count; i++) {
		const struct nic *n = &l->nics[i];
		const uint64_t gone = nic_lost(n);

		*all += known(nic_packet_rate(n));
		*lost += gone == NA_U64 ? 0 : gone;
		if (n->device &&
		    (!best || known(nic_packet_rate(n)) > known(nic_packet_rate(best))))
			best = n;
	}
	return best;
}

/* Mean idle time of the others that may do its work. */
static double others_idle(unsigned but)
{
	double sum = 0;
	unsigned count = 0;

	CPUMASK_EACH(cpu, &irqbind.topo.online) {
		struct cpu_shares s;

		if (cpu == but || cpumask_has(&irqbind.topo.isolated, cpu))
			continue;
		cpu_shares_of(cpu, &s);
		if (isnan(s.idle))
			return NA_F64;
		sum += s.idle;
		count++;
	}
	return count ? sum / count : NA_F64;
}

static void report_one_cpu(struct out *out, unsigned cpu, double rate, double all)
{
	struct arena *a = out_arena(out);
	double received;
	uint64_t lost;
	const struct nic *n = busiest_nic(&received, &lost);
	const uint64_t dropped = cpu_dropped(cpu);
	const double idle = others_idle(cpu);
	struct cpu_shares s;

	cpu_shares_of(cpu, &s);
	if (!n || received < DEVICE_SHARE * all || !(s.softirq >= ONE_CPU_SOFTIRQ) ||
	    !(idle >= ONE_CPU_OTHERS_IDLE))
		return;
	lost += dropped == NA_U64 ? 0 : dropped;
	struct finding *f = irqbind_finding(out, "irqbind.one-cpu",
					    lost >= LOST_MIN ? STATE_NOW : STATE_RISK, n->name);

	finding_u64(f, "cpu", cpu);
	finding_f64(f, "packets_per_second", rate);
	finding_f64(f, "packets_ratio", rate / all);
	finding_f64(f, "softirq_ratio", s.softirq);
	finding_f64(f, "others_idle_ratio", idle);
	finding_u64(f, "lost", lost);
	finding_u64(f, "rx_queues", n->rx_queues);
	finding_u64(f, "interval_ns", irqbind.interval_ns);
	finding_line(f, "CPU %u handles %s of %s packets/s and is %s in softirq; the others are "
			"%s idle", cpu, human_ratio(a, rate / all), human_count(a, round(all)),
		     human_ratio(a, s.softirq), human_ratio(a, idle));
	if (lost)
		finding_line(f, "lost  %s packets that a ring or the CPU's backlog had no room for",
			     human_count(a, (double)lost));
	if (n->rx_queues < 2)
		finding_line(f, "queues  one receive queue: only RPS brings packets to other CPUs");
	else
		finding_line(f, "queues  %u receive queues, interrupts of all on the same CPU",
			     n->rx_queues);
	finding_proof(f, "/proc/net/softnet_stat, column 1, line of CPU %u; /proc/stat; "
			 "/proc/interrupts", cpu);
	finding_next(f, "perfbox irqbind --plan spread %s", out_shell_word(a, n->name));
	f->lost = (double)lost * 1e9 / (double)(irqbind.interval_ns ? irqbind.interval_ns : 1) +
		s.softirq;
	out_finding(out, f);
}

static void check_one_cpu(struct out *out)
{
	double all = 0, most = 0;
	unsigned at = CPUMASK_END;

	CPUMASK_EACH(cpu, &irqbind.topo.online) {
		const double rate = known(cpu_processed_rate(cpu));

		all += rate;
		if (rate > most)
			most = rate, at = cpu;
	}
	if (at != CPUMASK_END && all >= PACKETS_MIN && most >= ONE_CPU_SHARE * all)
		report_one_cpu(out, at, most, all);
}

/* ---- another node ---- */

struct remote {
	struct cpumask cpus;
	double packets, softirq;       /* of those CPUs; the highest share */
	uint64_t interrupts;
};

static void add_remote(struct remote *r, const struct nic *n, const struct nic_irq *q)
{
	CPUMASK_EACH(cpu, &irqbind.topo.online) {
		const uint64_t came = irq_delta(q->irq.number, cpu);
		struct cpu_shares s;

		if (!came || came == NA_U64 || irqbind.topo.places[cpu].node == NA_U64 ||
		    irqbind.topo.places[cpu].node == n->node)
			continue;
		cpu_shares_of(cpu, &s);
		if (!(s.softirq >= SOFTIRQ_MIN))
			continue;
		r->interrupts += came;
		r->softirq = s.softirq > r->softirq ? s.softirq : r->softirq;
		if (!cpumask_has(&r->cpus, cpu))
			r->packets += known(cpu_processed_rate(cpu));
		cpumask_set(&r->cpus, cpu);
	}
}

static void check_remote_node(struct out *out, const struct nic *n)
{
	struct arena *a = out_arena(out);
	struct remote r = { 0 };
	struct cpumask local;

	if (n->node == NA_U64 || !(nic_packet_rate(n) >= PACKETS_MIN))
		return;
	for (size_t i = 0; i < n->irq_count; i++)
		add_remote(&r, n, &n->irqs[i]);
	cputopo_node_cpus(&irqbind.topo, n->node, &local);
	if (r.packets < PACKETS_MIN || !cpumask_meets(&local, &irqbind.topo.online))
		return;
	struct finding *f = irqbind_finding(out, "irqbind.remote-node", STATE_RISK, n->name);

	finding_u64(f, "node", n->node);
	finding_text(f, "cpus", NAME_PLAIN, cpumask_list_text(a, &r.cpus));
	finding_f64(f, "packets_per_second", r.packets);
	finding_f64(f, "softirq_ratio", r.softirq);
	finding_u64(f, "interrupts", r.interrupts);
	finding_u64(f, "interval_ns", irqbind.interval_ns);
	finding_line(f, "device on node %llu (CPU %s), interrupts on CPU %s of another node: %s "
			"packets/s there, up to %s in softirq",
		     (unsigned long long)n->node, cpumask_list_text(a, &local),
		     cpumask_list_text(a, &r.cpus), human_count(a, round(r.packets)),
		     human_ratio(a, r.softirq));
	finding_proof(f, "/sys/class/net/%s/device/numa_node; /proc/interrupts",
		      out_shell_word(a, n->name));
	finding_next(f, "perfbox irqbind --plan node %s", out_shell_word(a, n->name));
	f->lost = r.softirq * 0.2;
	out_finding(out, f);
}

/* ---- squeezes ---- */

static double net_rx_rate(unsigned cpu)
{
	const struct look *now = look_now(), *before = look_before();

	if (!before || now->cpus[cpu].net_rx == NA_U64 || before->cpus[cpu].net_rx == NA_U64)
		return NA_F64;
	return rate_of((uint32_t)(now->cpus[cpu].net_rx - before->cpus[cpu].net_rx),
		       irqbind.interval_ns);
}

static void report_squeeze(struct out *out, unsigned cpu, double rate, double softirqs,
			   double softirq)
{
	struct arena *a = out_arena(out);
	struct finding *f = irqbind_finding(out, "irqbind.squeeze", STATE_RISK,
					    arena_printf(a, "CPU %u", cpu));

	finding_f64(f, "squeezes_per_second", rate);
	finding_f64(f, "net_rx_per_second", softirqs);
	finding_f64(f, "squeezes_ratio", rate / softirqs);
	finding_f64(f, "softirq_ratio", softirq);
	finding_f64(f, "packets_per_second", cpu_processed_rate(cpu));
	finding_u64(f, "interval_ns", irqbind.interval_ns);
	finding_line(f, "%s polls ended with packets left, %s of its receive softirqs; it handles "
			"%s packets/s and is %s in softirq",
		     human_rate(a, rate), human_ratio(a, rate / softirqs),
		     human_count(a, round(known(cpu_processed_rate(cpu)))),
		     human_ratio(a, softirq));
	finding_proof(f, "/proc/net/softnet_stat, column 3, line of CPU %u; /proc/softirqs, NET_RX",
		      cpu);
	finding_next(f, "perfbox irqbind (its queues); net.core.netdev_budget and "
			"netdev_budget_usecs bound a poll");
	f->lost = softirq * 0.1;
	out_finding(out, f);
}

static void check_squeezes(struct out *out)
{
	CPUMASK_EACH(cpu, &irqbind.topo.online) {
		const double rate = cpu_squeeze_rate(cpu), softirqs = net_rx_rate(cpu);
		struct cpu_shares s;

		cpu_shares_of(cpu, &s);
		if (rate >= SQUEEZE_MIN && softirqs > 0 && rate >= SQUEEZE_SHARE * softirqs &&
		    s.softirq >= SOFTIRQ_MIN)
			report_squeeze(out, cpu, rate, softirqs, s.softirq);
	}
}

/* ---- affinity ---- */

static void check_effective(struct out *out, const struct nic *n, const struct nic_irq *q)
{
	struct arena *a = out_arena(out);
	const uint64_t came = irq_delta_all(q->irq.number, NULL);

	if (!q->is_known || !q->irq.has_effective || q->irq.managed == IRQ_MANAGED || !came ||
	    came == NA_U64 || cpumask_is_empty(&q->irq.effective) ||
	    cpumask_meets(&q->irq.asked, &q->irq.effective))
		return;
	struct finding *f = irqbind_finding(out, "irqbind.affinity-not-effective", STATE_NOW,
					    arena_printf(a, "%s IRQ %u %s", n->name, q->irq.number,
							 q->name));

	finding_u64(f, "irq", q->irq.number);
	finding_text(f, "asked", NAME_PLAIN, cpumask_list_text(a, &q->irq.asked));
	finding_text(f, "effective", NAME_PLAIN, cpumask_list_text(a, &q->irq.effective));
	finding_u64(f, "interrupts", came);
	finding_u64(f, "interval_ns", irqbind.interval_ns);
	finding_line(f, "may go to CPU %s and goes to CPU %s: %s interrupts came in",
		     cpumask_list_text(a, &q->irq.asked), cpumask_list_text(a, &q->irq.effective),
		     human_count(a, (double)came));
	finding_proof(f, "/proc/irq/%u/smp_affinity_list, effective_affinity_list",
		      q->irq.number);
	out_finding(out, f);
}

/* ---- isolated CPUs ---- */

/* Storage's queues are managed, and before Linux 6.10 nothing tells: only a device whose driver
 * manages none, a network one, is proof, or a kernel that shows the difference. */
static bool is_unmanaged(uint32_t number, bool kernel_tells)
{
	const struct look *l = look_now();
	struct irq irq;

	for (size_t i = 0; i < l->nic_count; i++)
		for (size_t k = 0; k < l->nics[i].irq_count; k++)
			if (l->nics[i].irqs[k].irq.number == number)
				return l->nics[i].irqs[k].irq.managed != IRQ_MANAGED;
	return kernel_tells && irq_read(src_arena(), number, &irq) >= 0 &&
		irq.managed != IRQ_MANAGED;
}

/* Some line that can't be moved has the mode that says so. */
static bool does_kernel_tell(void)
{
	const struct hash *counts = &look_now()->counts;
	struct irq irq;

	for (uint32_t n = 0, seen = 0; seen < counts->used && n < IRQS_MAX; n++) {
		if (!hash_find_number(counts, n))
			continue;
		seen++;
		if (irq_read(src_arena(), n, &irq) >= 0 && irq.managed == IRQ_MANAGED)
			return true;
	}
	return false;
}

struct intruder {
	const struct irq_counts *most;
	double rate, all;              /* of that one; of all that come often enough */
	unsigned count;
};

static void report_isolated(struct out *out, const struct intruder *i, unsigned cpu)
{
	struct arena *a = out_arena(out);
	const struct irq_counts *c = i->most;
	struct finding *f = irqbind_finding(out, "irqbind.isolated-cpu", STATE_RISK,
					    arena_printf(a, "CPU %u", cpu));

	finding_u64(f, "irq", c->number);
	finding_text(f, "name", NAME_PLAIN, c->name);
	finding_f64(f, "interrupts_per_second", i->rate);
	finding_u64(f, "irqs", i->count);
	finding_f64(f, "all_per_second", i->all);
	finding_u64(f, "interval_ns", irqbind.interval_ns);
	finding_line(f, "is isolated and takes %s of IRQ %u (%s)%s", human_rate(a, i->rate),
		     c->number, c->name && *c->name ? c->name : "-", i->count > 1
		     ? arena_printf(a, ", and of %u others: %s in all", i->count - 1,
				    human_rate(a, i->all)) : "");
	finding_proof(f, "/sys/devices/system/cpu/isolated; /proc/interrupts, line %u", c->number);
	finding_next(f, "perfbox irqbind --plan spread leaves isolated CPUs out");
	out_finding(out, f);
}

static void find_intruders(unsigned cpu, int *kernel_tells, struct intruder *i)
{
	const struct hash *counts = &look_now()->counts;

	for (uint32_t n = 0, seen = 0; seen < counts->used && n < IRQS_MAX; n++) {
		const struct irq_counts *c = hash_find_number(counts, n);

		if (!c)
			continue;
		seen++;
		const double rate = rate_of(irq_delta(n, cpu), irqbind.interval_ns);

		if (!(rate >= ISOLATED_MIN))
			continue;
		if (*kernel_tells < 0)
			*kernel_tells = does_kernel_tell();
		if (!is_unmanaged(n, *kernel_tells > 0))
			continue;
		i->count++;
		i->all += rate;
		if (rate > i->rate)
			i->rate = rate, i->most = c;
	}
}

static void check_isolated(struct out *out)
{
	int kernel_tells = -1;

	CPUMASK_EACH(cpu, &irqbind.topo.isolated) {
		struct intruder i = { 0 };

		find_intruders(cpu, &kernel_tells, &i);
		if (i.count)
			report_isolated(out, &i, cpu);
	}
}

void report_findings(struct out *out)
{
	const struct look *l = look_now();

	if (!look_before() || !irqbind.interval_ns)
		return;
	check_one_cpu(out);
	check_squeezes(out);
	check_isolated(out);
	for (size_t i = 0; i < l->nic_count; i++) {
		check_remote_node(out, &l->nics[i]);
		for (size_t k = 0; k < l->nics[i].irq_count; k++)
			check_effective(out, &l->nics[i], &l->nics[i].irqs[k]);
	}
}
