/* The USE table's disks, file systems and inodes. */
#include "applets/triage/use_look.h"

#include <errno.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define DISKS_SHOWN 32
#define FILE_SYSTEMS_SHOWN 24

/* ---- reading ---- */

/*
 * Errors an ext4 file system has recorded in itself (fs/ext4/sysfs.c), or NA_U64: ext4's own folder goes by the
 * name of the block device, which for a mapped one is not the name it was mounted by.
 */
static uint64_t read_ext4_errors(const struct mount *m)
{
	const char *device;
	struct text t;

	if (strncmp(m->type, "ext", 3) != 0 ||
	    src_link(arena_printf(src_arena(), "sys/dev/block/%llu:%llu", (unsigned long long)m->major,
				  (unsigned long long)m->minor), &device) < 0)
		return NA_U64;
	const char *slash = strrchr(device, '/');

	if (src_readf(&t, "sys/fs/ext4/%s/errors_count", slash ? slash + 1 : device) < 0)
		return NA_U64;
	return sysctl_parse_number(t, 0);
}

static void read_disks(struct out *out, struct use_disk *d, struct arena *arena)
{
	d->disks = (struct disks){ 0 };
	if (disk_read(arena, &d->disks) < 0)
		out_missing(out, "%s", fail_text());
	else if (d->disks.garbled_line)
		out_missing(out, "/proc/diskstats line %u: not understood", d->disks.garbled_line);
	d->disk_errors = arena_alloc(arena, d->disks.count * sizeof(*d->disk_errors));
	for (size_t i = 0; i < d->disks.count; i++)
		d->disk_errors[i] = disk_read_errors(d->disks.items[i].name);
}

static void read_file_systems(struct out *out, struct use_disk *d, struct arena *arena)
{
	struct mounts all = { 0 };

	if (mounts_read(src_arena(), &all) < 0)
		out_missing(out, "%s", fail_text());
	else if (all.garbled_line)
		out_missing(out, "/proc/self/mountinfo line %u: not understood", all.garbled_line);
	mounts_select(src_arena(), &all, &d->file_systems);
	d->file_system_errors = arena_alloc(arena, d->file_systems.count * sizeof(*d->file_system_errors));

	struct mount *kept = arena_alloc(arena, d->file_systems.count * sizeof(*kept));

	for (size_t i = 0; i < d->file_systems.count; i++) {
		kept[i] = d->file_systems.items[i];
		kept[i].point = arena_strdup(arena, kept[i].point);
		d->file_system_errors[i] = read_ext4_errors(&kept[i]);
	}
	d->file_systems.items = kept;
}

void use_read_disk(struct out *out, struct use_look *now)
{
	struct use_disk *d = &now->disk;

	d->pressure = (struct psi){ NA_U64, NA_U64 };
	if (psi_read("proc/pressure/io", &d->pressure) < 0)
		out_note(out, "%s", fail_text());
	read_disks(out, d, &now->arena);
	read_file_systems(out, d, &now->arena);
}
