/* The USE table's file systems and inodes. */
#include "applets/triage/use_look.h"

#include <string.h>

#include "common/kernel/source.h"
#include "common/kernel/sysctl.h"

#define FILE_SYSTEMS_SHOWN 16

/*
 * Errors an ext4 file system has recorded in itself (fs/ext4/sysfs.c), or NA_U64. Its folder goes
 * by the block device's own name, which for a mapped one is not the name it was mounted by.
 */
static uint64_t read_ext4_errors(struct out *out, const struct mount *m)
{
	const char *device, *link = arena_printf(src_arena(), "sys/dev/block/%llu:%llu",
						 (unsigned long long)m->major,
						 (unsigned long long)m->minor);
	struct text t;

	if (!text_starts(text_of(m->type), "ext") || src_link(link, &device) < 0)
		return NA_U64;
	const char *slash = strrchr(device, '/'), *name = slash ? slash + 1 : device;

	if (src_readf(&t, "sys/fs/ext4/%s/errors_count", name) < 0)
		return NA_U64;
	uint64_t n = sysctl_parse_number(t, 0);

	if (n == NA_U64)
		out_missing(out, "/sys/fs/ext4/%s/errors_count: no number", name);
	return n;
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
		f->errors[i] = read_ext4_errors(out, &f->mounts.items[i]);
}

static void read_usages(struct out *out, const struct mounts *mounts, struct mount_usage *usages)
{
	const struct mount_usage unknown = {
		NA_U64, NA_U64, NA_U64, NA_U64, NA_U64, NA_F64, NA_F64
	};
	const char *why = NULL;
	size_t failed = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *m = &mounts->items[i];

		usages[i] = unknown;
		if (mount_read_usage(m, &usages[i]) < 0 && !m->is_remote && !failed++)
			why = arena_strdup(src_arena(), fail_text());
	}
	if (failed > 1)
		out_note(out, "%s; %zu more file systems as well", why, failed - 1);
	else if (failed)
		out_note(out, "%s", why);
}

/* An overlay fills up with what its upper layer is on: if that is listed, it says nothing new. */
static bool is_told_already(const struct mounts *mounts, const struct mount_usage *usages,
			    size_t at)
{
	const struct mount *m = &mounts->items[at];
	const struct mount_usage *u = &usages[at];

	if (strcmp(m->type, "overlay") != 0 || !strcmp(m->point, "/") || u->size_bytes == NA_U64)
		return false;
	for (size_t i = 0; i < mounts->count; i++) {
		bool is_known = i < at || strcmp(mounts->items[i].type, "overlay") != 0;

		if (i != at && is_known && usages[i].size_bytes == u->size_bytes &&
		    usages[i].inodes == u->inodes)
			return true;
	}
	return false;
}

static struct use_row space_row(struct out *out, const struct mount *m, const struct mount_usage *u)
{
	struct use_row row = use_row("filesystem", m->point);

	if (m->is_remote || m->is_behind_remote)
		row.utilization = "remote, not asked";
	if (u->size_bytes == NA_U64)
		return row;
	use_set_used_bytes(out, &row, u->used_bytes, u->used_bytes + u->available_bytes);
	row.utilization_ratio = u->used_ratio;
	if (mount_has_option(m->super_options, "ro"))
		row.utilization = use_text(out, "%s, read-only", row.utilization);
	return row;
}

static void set_errors(struct out *out, struct use_row *row, uint64_t now, uint64_t before)
{
	if (now == NA_U64)
		return;
	row->errors_count = use_moved(now, before);
	row->errors = use_text(out, "%s, %s ever", use_count_text(out, row->errors_count),
			       use_count_text(out, now));
}

static uint64_t errors_before(const struct use_files *f, const struct mount *m)
{
	for (size_t i = 0; i < f->mounts.count; i++)
		if (f->mounts.items[i].major == m->major && f->mounts.items[i].minor == m->minor)
			return f->errors[i];
	return NA_U64;
}

void use_show_files(struct out *out, const struct use_look *before, const struct use_look *now)
{
	const struct mounts *mounts = &now->files.mounts;
	const size_t most = mounts->count;
	struct mount_usage *usages = arena_alloc(src_arena(), most * sizeof(*usages));
	struct use_row *space = arena_alloc(out_arena(out), most * sizeof(*space));
	struct use_row *inodes = arena_alloc(out_arena(out), most * sizeof(*inodes));
	size_t count = 0, inode_count = 0;

	read_usages(out, mounts, usages);
	for (size_t i = 0; i < most; i++) {
		const struct mount *m = &mounts->items[i];

		if (is_told_already(mounts, usages, i))
			continue;
		struct use_row row = space_row(out, m, &usages[i]);

		set_errors(out, &row, now->files.errors[i], errors_before(&before->files, m));
		space[count++] = row;
		if (usages[i].inodes == NA_U64)
			continue;
		row = use_row("inodes", m->point);
		use_set_used(out, &row, usages[i].inodes_used, usages[i].inodes);
		inodes[inode_count++] = row;
	}
	use_add_some(out, space, count, FILE_SYSTEMS_SHOWN);
	use_add_some(out, inodes, inode_count, FILE_SYSTEMS_SHOWN);
}
