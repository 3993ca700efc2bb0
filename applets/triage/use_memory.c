/* The USE table's memory: how full, who waits for it, who was killed, what the hardware says. */
#include "applets/triage/use_look.h"

#include "common/kernel/meminfo.h"
#include "common/kernel/source.h"

static void read_meminfo(struct out *out, struct use_memory *m)
{
	struct text t;

	if (src_read("proc/meminfo", &t) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	use_check_whole(out, "proc/meminfo");
	m->total_bytes = meminfo_bytes(t, "MemTotal");
	m->available_bytes = meminfo_bytes(t, "MemAvailable");
	m->swap_bytes = meminfo_bytes(t, "SwapTotal");
	m->swap_free_bytes = meminfo_bytes(t, "SwapFree");
	m->corrupted_bytes = meminfo_bytes(t, "HardwareCorrupted");
	if (m->total_bytes == NA_U64)
		out_missing(out, "/proc/meminfo: no line \"MemTotal\"");
	else if (m->available_bytes == NA_U64)
		out_missing(out, "/proc/meminfo: no line \"MemAvailable\" (Linux 3.14)");
}

static void read_vmstat(struct out *out, struct use_memory *m)
{
	struct text t;

	if (src_read("proc/vmstat", &t) < 0) {
		out_missing(out, "%s", fail_text());
		return;
	}
	use_check_whole(out, "proc/vmstat");
	m->pages_in = vmstat_count(t, "pswpin");
	m->pages_out = vmstat_count(t, "pswpout");
	m->reclaims = vmstat_sum(t, "allocstall");
	m->oom_kills = vmstat_count(t, "oom_kill");
	/* pswpin and pswpout need CONFIG_SWAP, oom_kill Linux 4.13; this one is always there */
	if (m->reclaims == NA_U64)
		out_missing(out, "/proc/vmstat: no line \"allocstall\"");
}

void use_read_memory(struct out *out, struct use_look *now)
{
	struct use_memory *m = &now->memory;

	use_forget(m, sizeof(*m));
	read_meminfo(out, m);
	read_vmstat(out, m);
	if (psi_read("proc/pressure/memory", &m->pressure) < 0)
		out_note(out, "%s", fail_text());
	edac_read(&m->edac);
}

static void set_saturation(struct out *out, struct use_row *row, const struct use_memory *before,
			   const struct use_memory *now)
{
	double reclaims = use_rate(now->reclaims, before->reclaims);
	double pressure = use_pressure(&now->pressure, &before->pressure);
	const char *text = use_text(out, "reclaim %s, psi %s", use_rate_text(out, reclaims),
				    use_ratio_text(out, pressure));

	use_set_saturation(row, pressure, "pressure_ratio", text);
	if (!is_na_f64(reclaims))
		row->saturation = text;
}

static void show_memory(struct out *out, const struct use_memory *before,
			const struct use_memory *now)
{
	struct use_row row = use_row("memory", "host");
	uint64_t used = delta_u64(now->total_bytes, now->available_bytes);
	uint64_t kills = use_moved(now->oom_kills, before->oom_kills);

	use_set_used_bytes(out, &row, used, now->total_bytes);
	set_saturation(out, &row, before, now);
	use_set_errors(out, &row, kills, "OOM kills");
	if (now->corrupted_bytes != NA_U64)
		row.errors = use_text(out, "%s OOM kills, %s bad", use_count_text(out, kills),
				      use_bytes_text(out, now->corrupted_bytes));
	use_add(out, &row);
}

static void show_swap(struct out *out, const struct use_memory *before,
		      const struct use_memory *now)
{
	struct use_row row = use_row("swap", "host");
	double pages_in = use_rate(now->pages_in, before->pages_in);
	double pages_out = use_rate(now->pages_out, before->pages_out);

	use_set_used_bytes(out, &row, delta_u64(now->swap_bytes, now->swap_free_bytes),
			   now->swap_bytes);
	if (now->swap_bytes == 0)
		row.utilization = "none configured";
	use_set_saturation(&row, pages_in + pages_out, "pages_per_second",
			   use_text(out, "pages in %s, out %s", use_rate_text(out, pages_in),
				    use_rate_text(out, pages_out)));
	use_add(out, &row);
}

static void show_hardware(struct out *out, const struct edac *before, const struct edac *now)
{
	struct use_row row = use_row("memory", "hardware");
	uint64_t corrected = use_moved(now->corrected, before->corrected);
	uint64_t uncorrected = use_moved(now->uncorrected, before->uncorrected);

	if (!now->controllers)
		return;
	row.utilization = use_text(out, "%u controllers", now->controllers);
	row.errors_count = use_sum(corrected, uncorrected);
	if (row.errors_count != NA_U64)
		row.errors = use_text(out, "%s corrected, %s not", use_count_text(out, corrected),
				      use_count_text(out, uncorrected));
	use_add(out, &row);
}

void use_show_memory(struct out *out, const struct use_look *before, const struct use_look *now)
{
	show_memory(out, &before->memory, &now->memory);
	show_swap(out, &before->memory, &now->memory);
	show_hardware(out, &before->memory.edac, &now->memory.edac);
}
