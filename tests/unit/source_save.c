/* Saving: where a run may be kept, that no link is followed,
	that old frames go and full disks tell. */
#include "common/kernel/source.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/kernel/source_impl.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

static void refuse(const char *below, int err)
{
	CHECK(!src_open_live());
	if (!CHECK(src_save(at(below), 0) == -err) || !CHECK(!src_is_saving()))
		printf("%s: %s\n", below, fail_text());
	src_close();
}

static void test_places(void)
{
	make("full"), put_text("full/x", "");
	make("elsewhere");
	CHECK(!symlink("elsewhere", at("link")) && !symlink("nowhere", at("dangling")));
	put_text("file", "");
	refuse("full", ENOTEMPTY);
	refuse("link", ENOTDIR), refuse("link/", ENOTDIR), refuse("dangling", ENOTDIR);
	CHECK(!is_there("elsewhere/manifest") && !is_there("nowhere"));
	refuse("file", ENOTDIR), refuse("no/such/parent", ENOENT);
	make("open"), CHECK(!chmod(at("open"), 0777));
	CHECK(!src_open_live() && !src_save(at("open/"), 0) && is_mode("open", 0700));
	CHECK(src_save(at("second"), 0) == -EINVAL && !is_there("second"));
	src_close();
	if (geteuid()) {
		check_skip("a folder of somebody else", "only root can make one");
		refuse("../../proc/self/x", ENOENT);
		return;
	}
	make("theirs"), CHECK(!chown(at("theirs"), 65534, 65534));
	refuse("theirs", EPERM);
}

static void test_planted_links(void)
{
	struct text t;

	/* somebody with our uid plants links into the frame being written */
	CHECK(!src_open_live() && !src_save(at("planted"), 0) && src_frame_begin() == 1);
	CHECK(!src_read("proc/self/stat", &t));
	make("planted/000000/proc");
	CHECK(!symlink(at("elsewhere"), at("planted/000000/proc/sys")));
	CHECK(!src_read("proc/sys/kernel/ostype", &t));
	CHECK(src_frame_end() == -ENOTDIR &&
	      strstr(fail_text(), "/proc/sys/kernel/ostype: Not a dir"));
	src_close();
	CHECK(!is_there("elsewhere/kernel") && is_there("elsewhere"));

	CHECK(!src_open_live() && !src_save(at("planted2"), 0) && src_frame_begin() == 1);
	CHECK(!src_read("proc/self/stat", &t));
	make("planted2/000000/proc");
	CHECK(!symlink(at("elsewhere/new"), at("planted2/000000/proc/stat")));
	CHECK(!src_read("proc/stat", &t) && src_frame_end() == -EEXIST);
	src_close();
	CHECK(!is_there("elsewhere/new"));
}

static void test_sent_links(void)
{
	/* a tree somebody sent has links and a pipe in it */
	put_text("secret", "secret");
	make("sent"), make("sent/proc"), put_text("sent/proc/real", "real");
	CHECK(!symlink(at("secret"), at("sent/proc/absolute")) &&
	      !symlink("../../secret", at("sent/proc/up")));
	CHECK(!symlink("/proc/real", at("sent/proc/inside")) &&
	      !symlink("loop", at("sent/proc/loop")));
	CHECK(!symlink("/proc/self/root", at("sent/proc/magic")));
	CHECK(!mkfifo(at("sent/proc/pipe"), 0600));
	open_root("sent");
	CHECK(src_frame()->is_only);
	CHECK(fails(ENOENT, "proc/absolute") && fails(ENOENT, "proc/up") &&
	      fails(ENOENT, "proc/magic/etc"));
	CHECK(reads("proc/inside", "real") && fails(ELOOP, "proc/loop") &&
	      fails(EINVAL, "proc/pipe"));
	CHECK(fails(EISDIR, "proc"));
	close_all();
	src_without_openat2 = true;
	open_root("sent");
	CHECK(reads("proc/real", "real") && fails(ELOOP, "proc/absolute") &&
	      fails(ELOOP, "proc/inside"));
	close_all();
	src_without_openat2 = false;
}

static void test_keep(void)
{
	struct text t;
	char path[32];
	unsigned count = 0;

	CHECK(!src_open_live() && !src_save(at("kept"), 3));
	for (int i = 0; i < 10; i++) {
		CHECK(src_frame_begin() == 1 && !src_read("proc/uptime", &t));
		if (i == 2) {
			make("kept/000002/proc");
			CHECK(!symlink(at("elsewhere"), at("kept/000002/proc/link")));
		}
		CHECK(!src_frame_end());
	}
	src_close();
	for (int i = 0; i < 10; i++) {
		snprintf(path, sizeof(path), "kept/%06d", i);
		CHECK(is_there(path) == (i == 0 || i > 6));
	}
	CHECK(is_there("elsewhere"));
	CHECK(!src_open_root(at("kept")));
	for (; src_frame_begin() == 1; count++) {
		CHECK(src_frame()->index == count && !src_read("proc/uptime", &t) &&
		      !src_frame()->is_only);
		CHECK((count > 0) == (src_frame()->elapsed_ns > 0));
		CHECK(!src_frame_end());
	}
	CHECK(count == 4);
	src_close();
}

/* In a mount namespace of its own; the result is the child's exit status. */
static int fill_disk(void)
{
	const unsigned before = check_failed;
	struct text t;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", at("small"), "tmpfs", 0, "size=64k"))
		return 77;
	CHECK(!src_open_live() && !src_save(at("small/run"), 0));
	int err = 0;

	for (int i = 0; i < 100 && !err; i++) {
		CHECK(src_frame_begin() == 1 && !src_read("proc/self/stat", &t) &&
		      !src_read("proc/cpuinfo", &t));
		err = src_frame_end();
	}
	CHECK(err == -ENOSPC && strstr(fail_text(), at("small/run")) &&
	      strstr(fail_text(), "No space left"));
	CHECK(src_frame_begin() == 1 && !src_read("proc/self/stat", &t) &&
	      src_frame_end() == -ENOSPC);
	src_close();
	/* what is kept is whole */
	CHECK(!src_open_root(at("small/run")));
	for (err = 0; src_frame_begin() == 1; err++) {
		CHECK(!src_read("proc/self/stat", &t) && !src_read("proc/cpuinfo", &t));
		CHECK(src_frame()->monotonic_ns && !src_frame_end());
	}
	CHECK(err > 0);
	src_close();
	return check_failed != before;
}

static void test_full_disk(void)
{
	int status = 0;

	make("small");
	fflush(stdout);
	pid_t child = fork();

	if (!child) {
		int result = fill_disk();

		fflush(stdout);
		_exit(result);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		check_skip("a full disk", "no mount namespace of our own (needs root)");
	else
		CHECK(status == 0);
}

int main(void)
{
	if (!scratch_begin("perfbox-save"))
		return 1;
	test_places(), test_planted_links(), test_sent_links(), test_keep(), test_full_disk();
	scratch_end();
	return check_done("source_save");
}
