/* The USE table's disks. */
#include "applets/triage/use_look.h"

#include "common/base/hash.h"
#include "common/kernel/source.h"

#define DISKS_SHOWN 32

void use_read_disk(struct out *out, struct use_look *now)
{
	struct use_disk *d = &now->disk;

	d->disks = (struct disks){ 0 };
	use_forget(&d->pressure, sizeof(d->pressure));
	if (psi_read("proc/pressure/io", &d->pressure) < 0)
		out_note(out, "%s", fail_text());
	if (disk_read(&now->arena, &d->disks) < 0)
		out_missing(out, "%s", fail_text());
	else if (d->disks.garbled_line)
		out_missing(out, "/proc/diskstats line %u: not understood", d->disks.garbled_line);
	d->errors = arena_alloc(&now->arena, d->disks.count * sizeof(*d->errors));
	for (size_t i = 0; i < d->disks.count; i++)
		d->errors[i] = disk_read_errors(d->disks.items[i].name);
}

static struct use_row disk_row(struct out *out, const struct disk *disk, const struct disk_rates *r,
			       uint64_t errors)
{
	struct use_row row = use_row("disk", disk->name);

	row.utilization_ratio = r->busy_ratio;
	if (!is_na_f64(r->reads_per_second) && !is_na_f64(r->writes_per_second))
		row.utilization = use_text(out, "r %s %s, w %s %s",
					   use_rate_text(out, r->reads_per_second),
					   use_flow_text(out, r->read_bytes_per_second),
					   use_rate_text(out, r->writes_per_second),
					   use_flow_text(out, r->write_bytes_per_second));
	use_set_saturation(&row, r->queue, "requests",
			   use_text(out, "queue %s, await %s",
				    human_count(out_arena(out), r->queue),
				    human_ns(out_arena(out), r->await_ns)));
	use_set_errors(out, &row, errors, "errors");
	return row;
}

/* All disks as one have no capacity; what is known of them is how much they did, and who waits. */
static void show_all(struct out *out, const struct use_look *before, const struct use_look *now,
		     double per_second)
{
	struct use_row row = use_row("disk", "host");
	double pressure = use_pressure(&now->disk.pressure, &before->disk.pressure);
	uint64_t blocked = now->cpu.has_stat ? now->cpu.stat.blocked : NA_U64;
	const char *text = use_text(out, "psi %s, %s in D", use_ratio_text(out, pressure),
				    use_count_text(out, blocked));

	if (!is_na_f64(per_second))
		row.utilization = use_text(out, "I/O %s", use_rate_text(out, per_second));
	use_set_saturation(&row, pressure, "pressure_ratio", text);
	if (blocked != NA_U64)
		row.saturation = text;
	use_add(out, &row);
}

void use_show_disk(struct out *out, const struct use_look *before, const struct use_look *now)
{
	const struct use_disk *d = &now->disk, *was = &before->disk;
	struct use_row *rows = arena_alloc(out_arena(out), d->disks.count * sizeof(*rows));
	struct hash by_name = { 0 };
	double all = NA_F64;

	for (size_t i = 0; i < was->disks.count; i++)
		*hash_name(&by_name, was->disks.items[i].name) = &was->disks.items[i];
	for (size_t i = 0; i < d->disks.count; i++) {
		const struct disk *disk = &d->disks.items[i];
		const struct disk *same = hash_find_name(&by_name, disk->name);
		struct disk_rates rates;

		rows[i] = use_row("disk", disk->name);
		if (!same)
			continue;
		disk_measure(same, disk, src_frame()->elapsed_ns, &rates);
		rows[i] = disk_row(out, disk, &rates,
				   use_moved(d->errors[i], was->errors[same - was->disks.items]));
		double one = rates.reads_per_second + rates.writes_per_second;

		if (!is_na_f64(one))
			all = is_na_f64(all) ? one : all + one;
	}
	hash_free(&by_name);
	show_all(out, before, now, all);
	use_add_some(out, rows, d->disks.count, DISKS_SHOWN);
}
