/* The USE table's file systems and inodes. */
#include "applets/triage/use_look.h"

#include <errno.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define FILE_SYSTEMS_SHOWN 24

/*
 * Errors an ext4 file system has recorded in itself (fs/ext4/sysfs.c), or NA_U64. Its folder goes
 * by the block
 * device's own name, which for a mapped one is not the name it was mounted by.
 */
static uint64_t read_ext4_errors(const struct mount *m)
{
	const char *device;
	struct text t;

	if (!text_starts(text_of(m->type), "ext") ||
	    src_link(arena_printf(src_arena(), "sys/dev/block/%llu:%llu",
				  (unsigned long long)m->major,
				  (unsigned long long)m->minor), &device) < 0)
		return NA_U64;
	const char *slash = strrchr(device, '/');

	if (src_readf(&t, "sys/fs/ext4/%s/errors_count", slash ? slash + 1 : device) < 0)
		return NA_U64;
	return sysctl_parse_number(t, 0);
}

void use_read_files(struct out *out, struct use_look *now)
{
	struct use_files *f = &now->files;
	struct mounts all = { 0 };

	if (mounts_read(&now->arena, &all) < 0)
		out_missing(out, "%s", fail_text());
	else if (all.garbled_line)
		out_missing(out, "/proc/self/mountinfo line %u: not understood", all.garbled_line);
	mounts_select(&now->arena, &all, &f->mounts);
	f->errors = arena_alloc(&now->arena, f->mounts.count * sizeof(*f->errors));
	for (size_t i = 0; i < f->mounts.count; i++)
		f->errors[i] = read_ext4_errors(&f->mounts.items[i]);
}

/*
 * An overlay fills up with what its upper layer is on: if that is listed, it says nothing of its
 * own.
 */
static bool is_told_already(const struct mount *m, const struct mount_usage *u,
			    const struct mount *mounts,
			    const struct mount_usage *usages, size_t count)
{
	if (strcmp(m->type, "overlay") != 0 || !strcmp(m->point, "/") || u->size_bytes == NA_U64)
		return false;
	for (size_t i = 0; i < count; i++)
		if (&mounts[i] != m && usages[i].size_bytes == u->size_bytes &&
		    usages[i].inodes == u->inodes &&
		    (mounts[i].major != 0 || &mounts[i] < m))
			return true;
	return false;
}

static void read_usages(struct out *out, const struct mount *mounts, struct mount_usage *usages,
			size_t count)
{
	const struct mount_usage unknown =
		{ NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_F64, NA_F64 };
	const char *why = NULL;
	size_t failed = 0;

	for (size_t i = 0; i < count; i++) {
		usages[i] = unknown;
		if (mount_read_usage(&mounts[i], &usages[i]) >= 0 || mounts[i].is_remote ||
		    failed++)
			continue;
		why = arena_strdup(src_arena(), fail_text());
	}
	if (failed > 1)
		out_note(out, "%s, and %zu more file systems", why, failed - 1);
	else if (failed)
		out_note(out, "%s", why);
}

static struct use_row space_row(struct out *out, const struct mount *m, const struct mount_usage *u)
{
	struct use_row row = use_row("filesystem", m->point);
	bool is_read_only = mount_has_option(m->super_options, "ro");

	row.utilization_ratio = u->used_ratio;
	if (u->size_bytes != NA_U64)
		row.utilization =
			arena_printf(out_arena(out), "%s of %s%s",
				     use_bytes_text(out, u->used_bytes),
					       use_bytes_text(out, u->used_bytes +
							      u->available_bytes),
					       is_read_only ? ", read-only" : "");
	else if (m->is_remote || m->is_behind_remote)
		row.utilization = "remote, not asked";
	return row;
}

static struct use_row inode_row(struct out *out, const struct mount *m, const struct mount_usage *u)
{
	struct use_row row = use_row("inodes", m->point);

	use_set_used(out, &row, u->inodes_used, u->inodes, "");
	return row;
}

static uint64_t errors_before(const struct use_files *f, const struct mount *m)
{
	for (size_t i = 0; i < f->mounts.count; i++)
		if (f->mounts.items[i].major == m->major && f->mounts.items[i].minor == m->minor)
			return f->errors[i];
	return NA_U64;
}

static void set_errors(struct out *out, struct use_row *row, uint64_t now, uint64_t before)
{
	uint64_t moved = use_moved(now, before);

	if (now == NA_U64)
		return;
	row->errors_count = moved;
	row->errors =
		arena_printf(out_arena(out), "%s, %s ever", use_count_text(out, moved),
			     use_count_text(out, now));
}

void use_show_files(struct out *out, const struct use_look *before, const struct use_look *now)
{
	const struct use_files *f = &now->files;
	const struct mount *mounts = f->mounts.items;
	const size_t most = f->mounts.count;
	struct mount_usage *usages = arena_alloc(src_arena(), most * sizeof(*usages));
	struct use_row *space = arena_alloc(out_arena(out), most * sizeof(*space));
	struct use_row *inodes = arena_alloc(out_arena(out), most * sizeof(*inodes));
	size_t count = 0, inode_count = 0;

	read_usages(out, mounts, usages, most);
	for (size_t i = 0; i < most; i++) {
		if (is_told_already(&mounts[i], &usages[i], mounts, usages, most))
			continue;
		space[count] = space_row(out, &mounts[i], &usages[i]);
		set_errors(out, &space[count++], f->errors[i],
			   errors_before(&before->files, &mounts[i]));
		if (usages[i].inodes != NA_U64)
			inodes[inode_count++] = inode_row(out, &mounts[i], &usages[i]);
	}
	use_add_some(out, space, count, FILE_SYSTEMS_SHOWN);
	use_add_some(out, inodes, inode_count, FILE_SYSTEMS_SHOWN);
}
