/* The USE table's CPUs and interrupts. */
#include "applets/triage/use_look.h"

#include "common/kernel/interrupts.h"
#include "common/kernel/source.h"

void use_read_cpu(struct out *out, struct use_look *now)
{
	struct use_cpu *c = &now->cpu;
	struct text t;

	c->pressure = (struct psi){ NA_U64, NA_U64 };
	c->machine_checks = c->bad_interrupts = NA_U64;
	c->has_stat = cpustat_read(&c->stat) >= 0;
	if (!c->has_stat)
		out_missing(out, "%s", fail_text());
	if (psi_read("proc/pressure/cpu", &c->pressure) < 0)
		out_note(out, "%s", fail_text());
	thermal_read(c->has_stat ? c->stat.cpu_count : 0, &c->thermal);
	if (src_read("proc/interrupts", &t) < 0) {
		out_note(out, "%s", fail_text());
		return;
	}
	c->machine_checks = interrupts_sum(t, "MCE");
	c->bad_interrupts = interrupts_sum(t, "ERR");
	/* misrouted ones, counted by IO-APICs alone */
	if (c->bad_interrupts != NA_U64)
		c->bad_interrupts = use_sum(c->bad_interrupts, use_known(interrupts_sum(t, "MIS")));
}

/*
 * Runnable threads without a CPU at the moment of looking; perfbox itself, which runs just then,
 * not counted.
 */
static uint64_t count_waiting(const struct cpu_stat *stat)
{
	uint64_t others = stat->running ? stat->running - 1 : 0;

	if (stat->running == NA_U64)
		return NA_U64;
	return others > stat->online ? others - stat->online : 0;
}

static void set_cpu_saturation(struct out *out, struct use_row *row, const struct use_look *before,
			       const struct use_look *now)
{
	uint64_t waiting = now->cpu.has_stat ? count_waiting(&now->cpu.stat) : NA_U64;
	double pressure = use_pressure(&now->cpu.pressure, &before->cpu.pressure);
	const char *text =
		arena_printf(out_arena(out), "%s waiting, psi %s", use_count_text(out, waiting),
					human_ratio(out_arena(out), pressure));

	use_set_saturation(row, pressure, "pressure_ratio", text);
	if (waiting != NA_U64)
		row->saturation = text;
}

static void set_cpu_errors(struct out *out, struct use_row *row, const struct use_look *before,
			   const struct use_look *now)
{
	const struct thermal *t = &now->cpu.thermal, *was = &before->cpu.thermal;
	uint64_t checks = use_moved(now->cpu.machine_checks, before->cpu.machine_checks);
	uint64_t cores = use_moved(t->cores, was->cores),
		packages = use_moved(t->packages, was->packages);
	bool is_throttle_known = cores != NA_U64 || packages != NA_U64;

	if (checks == NA_U64 && !is_throttle_known)
		return;
	row->errors_count = use_known(checks) + use_known(cores) + use_known(packages);
	row->errors = !is_throttle_known ?
		arena_printf(out_arena(out), "%s MCE", use_count_text(out, checks)) :
		arena_printf(out_arena(out), "%s MCE, %s times hot", use_count_text(out, checks),
			     use_count_text(out, use_known(cores) + use_known(packages)));
}

static void show_cpus(struct out *out, const struct use_look *before, const struct use_look *now,
		      const struct cpu_shares *shares)
{
	struct use_row row = use_row("cpu", "host");

	row.utilization_ratio = shares->busy;
	if (!is_na_f64(shares->busy))
		row.utilization = arena_printf(out_arena(out), "%s of %u CPU%s",
					       human_count(out_arena(out),
							   shares->busy * now->cpu.stat.online),
					       now->cpu.stat.online, now->cpu.stat.online == 1 ?
						"" : "s");
	set_cpu_saturation(out, &row, before, now);
	set_cpu_errors(out, &row, before, now);
	use_add(out, &row);
}

/*
 * The CPU that spent most of the interval in soft interrupts: one may be full while the others
 * idle.
 */
static void set_interrupt_saturation(struct out *out, struct use_row *row,
				     const struct cpu_stat *before,
				     const struct cpu_stat *now)
{
	struct cpu_shares s;
	double most = NA_F64;
	unsigned which = 0;

	for (unsigned cpu = 0; cpu < now->cpu_count && cpu < before->cpu_count; cpu++) {
		if (!now->cpus[cpu].is_online || !before->cpus[cpu].is_online)
			continue;
		cpustat_shares(&before->cpus[cpu], &now->cpus[cpu], &s);
		if (!is_na_f64(s.softirq) && (is_na_f64(most) || s.softirq > most)) {
			most = s.softirq;
			which = cpu;
		}
	}
	use_set_saturation(row, most, "softirq_ratio",
			   arena_printf(out_arena(out), "CPU %u: soft %s", which,
					human_ratio(out_arena(out), most)));
}

static void show_interrupts(struct out *out, const struct use_look *before,
			    const struct use_look *now,
			    const struct cpu_shares *shares)
{
	struct use_row row = use_row("interrupts", "host");
	const struct cpu_stat *stat = &now->cpu.stat, *was = &before->cpu.stat;
	struct arena *arena = out_arena(out);

	row.utilization_ratio = shares->irq + shares->softirq;
	if (now->cpu.has_stat && before->cpu.has_stat) {
		double per_second = use_rate(stat->interrupts, was->interrupts);

		if (!is_na_f64(row.utilization_ratio))
			row.utilization = arena_printf(arena, "irq %s, soft %s, %s",
						       human_ratio(arena, shares->irq),
						       human_ratio(arena, shares->softirq),
						       human_rate(arena, per_second));
		set_interrupt_saturation(out, &row, was, stat);
	}
	use_set_errors(out, &row, use_moved(now->cpu.bad_interrupts, before->cpu.bad_interrupts),
		       "bad");
	use_add(out, &row);
}

void use_show_cpu(struct out *out, const struct use_look *before, const struct use_look *now)
{
	struct cpu_shares shares = { .busy = NA_F64, .irq = NA_F64, .softirq = NA_F64 };

	if (now->cpu.has_stat && before->cpu.has_stat)
		cpustat_shares(&before->cpu.stat.all, &now->cpu.stat.all, &shares);
	show_cpus(out, before, now, &shares);
	show_interrupts(out, before, now, &shares);
}
