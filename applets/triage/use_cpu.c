/* The USE table's CPUs and interrupts. */
#include "applets/triage/use_look.h"

#include "common/kernel/interrupts.h"
#include "common/kernel/source.h"

void use_read_cpu(struct out *out, struct use_look *now)
{
	struct use_cpu *c = &now->cpu;
	struct text t;

	use_forget(&c->pressure, sizeof(c->pressure));
	c->machine_checks = c->bad_interrupts = NA_U64;
	c->has_stat = cpustat_read(&c->stat) >= 0;
	if (!c->has_stat)
		out_missing(out, "%s", fail_text());
	else
		use_check_whole(out, "proc/stat");
	if (psi_read("proc/pressure/cpu", &c->pressure) < 0)
		out_note(out, "%s", fail_text());
	thermal_read(c->has_stat ? c->stat.cpu_count : 0, &c->thermal);
	if (src_read("proc/interrupts", &t) < 0) {
		out_note(out, "%s", fail_text());
		return;
	}
	if (interrupts_count_cpus(t))
		use_check_whole(out, "proc/interrupts");
	else
		out_missing(out, "/proc/interrupts: no header");
	c->machine_checks = interrupts_sum(t, "MCE");
	c->bad_interrupts = interrupts_sum(t, "ERR");
	/* misrouted ones, counted by IO-APICs alone */
	if (c->bad_interrupts != NA_U64)
		c->bad_interrupts = use_sum(c->bad_interrupts, use_known(interrupts_sum(t, "MIS")));
}

/* Runnable threads without a CPU just now; perfbox itself, which runs as it asks, not counted. */
static uint64_t count_waiting(const struct use_cpu *c)
{
	if (!c->has_stat || c->stat.running == NA_U64)
		return NA_U64;
	uint64_t others = c->stat.running ? c->stat.running - 1 : 0;

	return others > c->stat.online ? others - c->stat.online : 0;
}

static void set_cpu_saturation(struct out *out, struct use_row *row, const struct use_cpu *before,
			       const struct use_cpu *now)
{
	uint64_t waiting = count_waiting(now);
	double pressure = use_pressure(&now->pressure, &before->pressure);
	const char *text = use_text(out, "%s waiting, psi %s", use_count_text(out, waiting),
				    use_ratio_text(out, pressure));

	use_set_saturation(row, pressure, "pressure_ratio", text);
	if (waiting != NA_U64)
		row->saturation = text;
}

static void set_cpu_errors(struct out *out, struct use_row *row, const struct use_cpu *before,
			   const struct use_cpu *now)
{
	uint64_t checks = use_moved(now->machine_checks, before->machine_checks);
	uint64_t cores = use_moved(now->thermal.cores, before->thermal.cores);
	uint64_t packages = use_moved(now->thermal.packages, before->thermal.packages);
	uint64_t hot = cores == NA_U64 ? packages : cores + use_known(packages);

	if (checks == NA_U64 && hot == NA_U64)
		return;
	row->errors_count = use_known(checks) + use_known(hot);
	row->errors = use_text(out, "%s MCE", use_count_text(out, checks));
	if (hot != NA_U64)
		row->errors = use_text(out, "%s, %s hot", row->errors, use_count_text(out, hot));
}

static void show_cpus(struct out *out, const struct use_cpu *before, const struct use_cpu *now,
		      double busy)
{
	struct use_row row = use_row("cpu", "host");
	unsigned online = now->stat.online;

	row.utilization_ratio = busy;
	if (!is_na_f64(busy))
		row.utilization = use_text(out, "%s of %u CPU%s",
					   human_count(out_arena(out), busy * online), online,
					   online == 1 ? "" : "s");
	set_cpu_saturation(out, &row, before, now);
	set_cpu_errors(out, &row, before, now);
	use_add(out, &row);
}

/* The CPU that spent most of its time in soft interrupts: one may be full while the others idle. */
static void set_interrupt_saturation(struct out *out, struct use_row *row,
				     const struct cpu_stat *before, const struct cpu_stat *now)
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
			   use_text(out, "CPU %u: soft %s", which, use_ratio_text(out, most)));
}

static void show_interrupts(struct out *out, const struct use_cpu *before,
			    const struct use_cpu *now, const struct cpu_shares *shares)
{
	struct use_row row = use_row("interrupts", "host");

	row.utilization_ratio = shares->irq + shares->softirq;
	if (!is_na_f64(row.utilization_ratio)) {
		double per_second = use_rate(now->stat.interrupts, before->stat.interrupts);

		row.utilization = use_text(out, "irq %s, soft %s, %s",
					   use_ratio_text(out, shares->irq),
					   use_ratio_text(out, shares->softirq),
					   use_rate_text(out, per_second));
		set_interrupt_saturation(out, &row, &before->stat, &now->stat);
	}
	use_set_errors(out, &row, use_moved(now->bad_interrupts, before->bad_interrupts), "bad");
	use_add(out, &row);
}

void use_show_cpu(struct out *out, const struct use_look *before, const struct use_look *now)
{
	struct cpu_shares shares = { .busy = NA_F64, .irq = NA_F64, .softirq = NA_F64 };

	if (now->cpu.has_stat && before->cpu.has_stat)
		cpustat_shares(&before->cpu.stat.all, &now->cpu.stat.all, &shares);
	show_cpus(out, &before->cpu, &now->cpu, shares.busy);
	show_interrupts(out, &before->cpu, &now->cpu, &shares);
}
