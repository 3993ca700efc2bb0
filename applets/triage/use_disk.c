/* The USE table's disks. */
#include "applets/triage/use_look.h"

#include "common/base/hash.h"
#include "common/kernel/source.h"

#define DISKS_SHOWN 32

void use_read_disk(struct out *out, struct use_look *now)
{
	struct use_disk *d = &now->disk;

	d->disks = (struct disks){ 0 };
	d->pressure = (struct psi){ NA_U64, NA_U64 };
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

/* What a disk did, and where it stood at the look before: 0 if it was not there. */
struct pair {
	const struct disk *now, *before;
	uint64_t errors;
};

static struct use_row disk_row(struct out *out, const struct pair *p, struct disk_rates *rates)
{
	struct arena *arena = out_arena(out);
	struct use_row row = use_row("disk", p->now->name);
	const struct disk_rates *r = rates;

	disk_measure(p->before, p->now, src_frame()->elapsed_ns, rates);
	row.utilization_ratio = r->busy_ratio;
	if (!is_na_f64(r->reads_per_second) && !is_na_f64(r->writes_per_second))
		row.utilization =
			arena_printf(arena, "r %s %s, w %s %s",
				     human_rate(arena, r->reads_per_second),
					       use_flow_text(out, r->read_bytes_per_second),
					       human_rate(arena, r->writes_per_second),
					       use_flow_text(out, r->write_bytes_per_second));
	use_set_saturation(&row, r->queue, "requests",
			   arena_printf(arena, "queue %s, await %s", human_count(arena, r->queue),
					human_ns(arena, r->await_ns)));
	use_set_errors(out, &row, p->errors, "errors");
	return row;
}

/*
 * All disks together have no capacity of their own; what is known of them as one is who waits for
 * them.
 */
static void show_all(struct out *out, const struct use_look *before, const struct use_look *now,
		     double per_second)
{
	struct use_row row = use_row("disk", "host");
	double pressure = use_pressure(&now->disk.pressure, &before->disk.pressure);
	uint64_t blocked = now->cpu.has_stat ? now->cpu.stat.blocked : NA_U64;
	const char *text =
		arena_printf(out_arena(out), "psi %s, %s in D",
			     human_ratio(out_arena(out), pressure),
					use_count_text(out, blocked));

	if (!is_na_f64(per_second))
		row.utilization =
			arena_printf(out_arena(out), "I/O %s",
				     human_rate(out_arena(out), per_second));
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
	double per_second = src_frame()->elapsed_ns ? 0 : NA_F64;

	for (size_t i = 0; i < was->disks.count; i++)
		*hash_name(&by_name, was->disks.items[i].name) = &was->disks.items[i];
	for (size_t i = 0; i < d->disks.count; i++) {
		const struct disk *same = hash_find_name(&by_name, d->disks.items[i].name);
		struct pair p = { &d->disks.items[i], same, NA_U64 };
		struct disk_rates rates;

		if (!same) {
			rows[i] = use_row("disk", p.now->name);
			continue;
		}
		p.errors = use_moved(d->errors[i], was->errors[same - was->disks.items]);
		rows[i] = disk_row(out, &p, &rates);
		if (!is_na_f64(rates.reads_per_second + rates.writes_per_second))
			per_second += rates.reads_per_second + rates.writes_per_second;
	}
	hash_free(&by_name);
	show_all(out, before, now, d->disks.count ? per_second : NA_F64);
	use_add_some(out, rows, d->disks.count, DISKS_SHOWN);
}
