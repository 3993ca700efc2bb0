#include "common/kernel/mounts.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "tests/unit/cut.h"
#include "tests/unit/host.h"

/* A container host, shortened. */
static const struct text host = TEXT(
	"21 26 0:20 / /proc rw,relatime - proc proc rw\n"
	"22 26 0:21 / /sys rw,relatime shared:7 master:2 - sysfs sysfs rw\n"
	"23 26 0:6 / /dev rw,nosuid - devtmpfs udev rw,size=12334416k\n"
	"26 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n"
	"27 26 254:16 / /data\\040of\\011all\\012\\134\\043x rw - xfs /dev/vdb rw\n"
	"28 26 254:1 /var/lib/x /srv/bind rw - ext4 /dev/vda1 rw,errors=remount-ro\n"
	"29 26 0:40 / /mnt/nfs rw - nfs4 filer:/export rw,vers=4.2\n"
	"30 29 254:32 / /mnt/nfs/scratch rw - ext4 /dev/vdc rw\n"
	"31 26 7:0 / /snap/core/1 ro - squashfs /dev/loop0 ro\n"
	"32 26 0:50 / /var/lib/docker/overlay2/a/merged rw - overlay overlay "
	"rw,lowerdir=/l,upperdir=/u,workdir=/w\n"
	"33 26 0:51 / /run rw - tmpfs tmpfs rw,mode=755\n"
	"34 33 0:52 /@ /run/pool rw - btrfs /dev/vdd rw\n"
	"35 26 0:52 / /pool rw - btrfs /dev/vdd rw\n"
	"36 26 0:60 / /mnt/ssh rw - fuse.sshfs user@host: rw\n"
	"37 26 0:61 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw\n"
	"38 26 0:62 / /empty rw - tmpfs  rw\n"
	"39 22 0:63 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");

static struct arena arena;

static const struct mount *find(const struct mounts *m, const char *point)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->items[i].point, point))
			return &m->items[i];
	return NULL;
}

static void test_host(void)
{
	struct mounts all, real;

	mounts_parse(&arena, host, &all);
	CHECK(all.count == 17 && !all.garbled_line);
	for (size_t i = 0; i < all.count; i++)
		CHECK(all.items[i].is_visible);
	const struct mount *m = find(&all, "/");

	if (!CHECK(m != NULL))
		return;
	CHECK(m->id == 26 && m->parent == 1 && m->major == 254 && m->minor == 1);
	CHECK_STR(m->type, "ext4");
	CHECK_STR(m->source, "/dev/vda1");
	CHECK_STR(m->options, "rw,relatime");
	CHECK_STR(m->super_options, "rw,errors=remount-ro");
	CHECK(mount_has_option(m->super_options, "errors=remount-ro"));
	CHECK(!mount_has_option(m->super_options, "errors") && !mount_has_option("", "rw"));
	CHECK(find(&all, "/data of\tall\n\\#x") != NULL);
	CHECK_STR(find(&all, "/empty")->source, "");
	CHECK(find(&all, "/mnt/nfs")->is_remote && !find(&all, "/mnt/nfs")->is_behind_remote);
	CHECK(find(&all, "/mnt/nfs/scratch")->is_behind_remote);
	CHECK(!find(&all, "/mnt/nfs/scratch")->is_remote);
	CHECK(!find(&all, "/run/pool")->is_behind_remote);

	mounts_select(&arena, &all, &real);
	CHECK(real.count == 10);
	CHECK(find(&real, "/") && find(&real, "/dev") && find(&real, "/data of\tall\n\\#x"));
	CHECK(find(&real, "/mnt/nfs") && find(&real, "/mnt/nfs/scratch") && find(&real, "/run"));
	CHECK(find(&real, "/mnt/ssh") && find(&real, "/empty"));
	CHECK(find(&real, "/var/lib/docker/overlay2/a/merged") != NULL);
	/* of two mounts of a pool the one that shows all of it; a bind mount is no file system */
	CHECK(find(&real, "/pool") && !find(&real, "/run/pool") && !find(&real, "/srv/bind"));
	CHECK(!find(&real, "/snap/core/1") && !find(&real, "/proc"));
	CHECK(!find(&real, "/var/lib/lxcfs") && !find(&real, "/sys/fs/cgroup"));
}

static void test_cut(void)
{
	struct mounts all, some;

	mounts_parse(&arena, host, &all);
	EACH_CUT(n, host) {
		mounts_parse(&arena, cut(host, n), &some);
		CHECK(some.garbled_line == (n && host.data[n - 1] != '\n' ? some.count + 1 : 0));
		for (size_t i = 0; i < some.count; i++) {
			CHECK(some.items[i].id == all.items[i].id);
			CHECK(!strcmp(some.items[i].point, all.items[i].point));
		}
	}
}

static void test_covered(void)
{
	struct mounts m;

	/* /mnt/a can't be reached any more; on /dev/shm the second one is what a path finds */
	mounts_parse(&arena, TEXT("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
				  "2 1 8:2 / /mnt rw - ext4 /dev/sda2 rw\n"
				  "3 2 8:3 / /mnt/a rw - ext4 /dev/sda3 rw\n"
				  "4 2 8:4 / /mnt rw - ext4 /dev/sda4 rw\n"
				  "5 1 0:5 / /dev/shm rw - tmpfs one rw\n"
				  "6 5 0:6 / /dev/shm rw - tmpfs two rw\n"
				  "7 4 8:7 / /mnt/a rw - ext4 /dev/sda7 rw\n"), &m);
	CHECK(m.count == 7);
	CHECK(m.items[0].is_visible && !m.items[1].is_visible && !m.items[2].is_visible);
	CHECK(m.items[3].is_visible && !m.items[4].is_visible && m.items[5].is_visible);
	CHECK(m.items[6].is_visible);
	/* a new root over the old one */
	mounts_parse(&arena, TEXT("1 1 0:1 / / rw - rootfs rootfs rw\n"
				  "2 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				  "3 2 8:2 / /home rw - ext4 /dev/sda2 rw\n"
				  "4 1 8:3 / /home rw - ext4 /dev/sda3 rw\n"), &m);
	CHECK(!m.items[0].is_visible && m.items[1].is_visible && m.items[2].is_visible);
	CHECK(!m.items[3].is_visible);
	/* a root that is no mount of its own (chroot) */
	mounts_parse(&arena, TEXT("5 4 8:2 / /home rw - ext4 /dev/sda2 rw\n"
				  "6 4 0:3 / /proc rw - proc proc rw\n"), &m);
	CHECK(m.items[0].is_visible && m.items[1].is_visible);
}

static void test_hostile(void)
{
	struct mounts m, real;

	mounts_parse(&arena, TEXT(""), &m);
	CHECK(m.count == 0 && !m.garbled_line);
	mounts_select(&arena, &m, &real);
	CHECK(real.count == 0);
	mounts_parse(&arena, TEXT("x\n1 2 3 4\n1 2 3:4 / / rw\n1 2 3:4 / / rw -\n"
				  "1 2 3:4 / / rw - ext4\n1 2 3:4 / / rw - ext4 x\n"
				  "1 2 3:4 / relative rw - ext4 x rw\n"
				  "1 2 3:4 / /ok\\9\\04\\777\\ rw - ext4 x rw\n"), &m);
	CHECK(m.count == 1 && m.garbled_line == 1);
	CHECK_STR(m.items[0].point, "/ok\\9\\04\\777\\");
	/* mounts on each other in a ring end */
	mounts_parse(&arena, TEXT("1 2 8:1 / /a rw - ext4 x rw\n2 1 8:2 / /a rw - ext4 x rw\n"
				  "3 3 8:3 / / rw - ext4 x rw\n3 3 8:3 / // rw - ext4 x rw\n"), &m);
	CHECK(m.count == 4);
	mounts_select(&arena, &m, &real);
	CHECK(real.count <= 4);
}

#define USAGE "block_size 4096\nblocks 1000\nblocks_free 400\nblocks_available 300\n" \
	"files 200\nfiles_free 150\n"

static void test_usage(void)
{
	const struct text whole = TEXT(USAGE);
	struct mount_usage u, part;

	CHECK(mount_parse_usage(whole, &u) == 0);
	CHECK(u.size_bytes == 4096000 && u.used_bytes == 600 * 4096);
	CHECK(u.available_bytes == 300 * 4096 && u.used_ratio == 600.0 / 900);
	CHECK(u.inodes == 200 && u.inodes_used == 50 && u.inodes_ratio == 0.25);
	EACH_CUT(n, whole)
		CHECK(n == whole.len ? mount_parse_usage(cut(whole, n), &part) == 0 :
		      mount_parse_usage(cut(whole, n), &part) == -EINVAL);
	/* btrfs has no inodes to count, some file systems no size */
	CHECK(mount_parse_usage(TEXT("block_size 1\nblocks 0\nblocks_free 0\nblocks_available 0\n"
				     "files 0\nfiles_free 0\n"), &u) == 0);
	CHECK(u.size_bytes == NA_U64 && isnan(u.used_ratio) && u.inodes == NA_U64);
	CHECK(isnan(u.inodes_ratio));
	/* into the reserve: available is negative */
	CHECK(mount_parse_usage(TEXT("block_size 1\nblocks 100\nblocks_free 2\n"
				     "blocks_available 18446744073709551613\n"
				     "files 1\nfiles_free 2\n"), &u) == 0);
	CHECK(u.available_bytes == 0 && u.used_ratio == 1 && u.inodes == NA_U64);
	CHECK(mount_parse_usage(TEXT("block_size 18446744073709551615\nblocks 2\nblocks_free 1\n"
				     "blocks_available 1\nfiles 1\nfiles_free 1\n"),
				&u) == -EINVAL);
	CHECK(mount_parse_usage(TEXT("block_size 1\nblocks 2\nblocks_free 3\n"
				     "blocks_available 1\nfiles 1\nfiles_free 1\n"),
				&u) == -EINVAL);
}

/* What is asked and what must not be. */
static void test_asking(void)
{
	struct mounts all;
	struct mount_usage u;

	host_add("h/manifest", "perfbox-save 1\n");
	host_add("h/000000/manifest", "clock\t1\t1\ncall\tstatfs /\t0\n"
		 "call\tstatfs /mnt/nfs\t0\ncall\tstatfs /mnt/nfs/scratch\t0\n");
	host_add("h/000000/calls/0", USAGE);
	host_add("h/000000/calls/1", USAGE);
	host_add("h/000000/calls/2", USAGE);
	put("h/mountinfo", host.data, host.len);
	host_add("h/000000/proc/self/mountinfo", "");
	put("h/000000/proc/self/mountinfo", host.data, host.len);
	open_root("h");
	CHECK(mounts_read(&arena, &all) == 0 && all.count == 17);
	CHECK(mount_read_usage(find(&all, "/"), &u) == 0 && u.inodes == 200);
	CHECK(mount_read_usage(find(&all, "/run"), &u) == -ENOENT);
	CHECK(mount_read_usage(find(&all, "/mnt/nfs"), &u) == -EOPNOTSUPP);
	CHECK(mount_read_usage(find(&all, "/mnt/nfs/scratch"), &u) == -EOPNOTSUPP);
	CHECK(mount_read_usage(find(&all, "/mnt/ssh"), &u) == -EOPNOTSUPP);
	close_all();
}

/* The kernel's own word for the file system the program stands on. */
static void test_live(void)
{
	struct mounts all, real;
	struct mount_usage u;
	struct statvfs fs;

	open_live();
	CHECK(mounts_read(&arena, &all) == 0 && all.count > 0 && !all.garbled_line);
	mounts_select(&arena, &all, &real);
	const struct mount *m = find(&real, "/");

	if (!m || mount_read_usage(m, &u) < 0 || statvfs("/", &fs) || u.size_bytes == NA_U64)
		check_skip("mounts live", "/ does not say how large it is");
	else
		CHECK(u.size_bytes == (uint64_t)fs.f_blocks * fs.f_frsize);
	close_all();
}

int main(void)
{
	if (!scratch_begin("mounts"))
		return 1;
	test_host();
	test_cut();
	test_covered();
	test_hostile();
	test_usage();
	test_asking();
	test_live();
	arena_free(&arena);
	scratch_end();
	return check_done("mounts");
}
