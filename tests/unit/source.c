/* The source: live reading, and that what was saved replays as it was, whatever its names hold. */
#include "common/kernel/source.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/source_impl.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

static const char *const hostile[] = {
	"new\nline", "tab\tstop", "back\\slash", "\x1b[31mred", "\xff\xfe", "sp ace", "\\x41", "*",
		"...", "-", "\x7f",
};
#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

/* ---- live ---- */

static void test_live_files(void)
{
	struct text t, again;
	struct scan s;
	uint64_t pid = 0;

	open_live();
	CHECK(src_is_live() && !src_is_saving() && !src_frame()->is_only);
	CHECK(!src_read("proc/self/stat", &t));
	s = scan_of(t);
	CHECK(scan_u64(&s, &pid) && pid == (uint64_t)getpid() && pid == src_pid());
	CHECK(!src_readf(&again, "/proc/.//%s/stat", "self") && again.data == t.data);
	CHECK(fails(ENOENT, "proc/self/nothing"));
	CHECK_STR(fail_text(), "/proc/self/nothing: No such file or directory");
	CHECK(fails(ENOENT, "proc/self/nothing"));
	CHECK_STR(fail_text(), "/proc/self/nothing: No such file or directory");
	CHECK(fails(EISDIR, "proc/self"));
	CHECK(fails(ENOTDIR, "proc/self/stat/x"));
	CHECK(fails(EINVAL, "proc/../etc/passwd") && fails(EINVAL, "..") && fails(EINVAL, ""));
	CHECK(fails(EINVAL, "manifest") && fails(EINVAL, "calls/0") &&
	      fails(EINVAL, "netns/1/proc/stat"));
	CHECK(src_exists("proc/self") && src_exists("proc/self/stat") &&
	      !src_exists("proc/self/nothing"));
	CHECK(!src_exists("proc/../proc"));
	int err = src_read("dev/kmsg", &t);

	CHECK(err ? err == -EPERM || err == -ENOENT || err == -EACCES :
	      !t.len || (t.data[0] >= '0' && t.data[0] <= '9'));
	close_all();
	CHECK(fails(EINVAL, "proc/self/stat"));
}

static bool is_own_pid(const char *text)
{
	return strtol(text, NULL, 10) == getpid();
}

static void test_live_lists(void)
{
	struct src_names names;
	struct src_dir d;
	const uint32_t *pids = NULL;
	size_t count = 0, mine = 0;
	const char *target = NULL;
	struct text t;
	char own[32];

	snprintf(own, sizeof(own), "%d/stat", getpid());
	open_live();
	CHECK(!src_list("proc/self/task", &names) && names.count == 1 &&
	      is_own_pid(names.items[0]));
	CHECK(!src_list("proc/sys/kernel", &names) && names.count > 10);
	for (size_t i = 1; i < names.count; i++)
		CHECK(strcmp(names.items[i - 1], names.items[i]) < 0);
	/* of folders whose links are not counted so, nothing is known */
	CHECK(!src_is_leaf("proc/self/stat") && !src_is_leaf("proc/nothing") &&
	      !src_is_leaf("sys"));
	CHECK(!src_exists("sys/kernel/mm/hugepages") || !src_is_leaf("sys/kernel/mm"));
	CHECK(src_list("proc/self/stat", &names) == -ENOTDIR &&
	      src_list("proc/nothing", &names) == -ENOENT);
	CHECK(!src_link("proc/self/cwd", &target) && target[0] == '/');
	CHECK(src_link("proc/self/stat", &target) == -EINVAL);
	CHECK(!src_dir_open(&d, "proc"));
	for (int turn = 0; turn < 2; turn++) {
		CHECK(!src_dir_numbers(&d, &pids, &count) && count > 1);
		for (size_t i = 0; i < count; i++)
			mine += pids[i] == (uint32_t)getpid();
		for (size_t i = 1; i < count; i++)
			CHECK(pids[i - 1] < pids[i]);
	}
	CHECK(mine == 2);
	CHECK(!src_dir_read(&d, own, &t) && is_own_pid(t.data) && t.data[t.len - 1] == '\n');
	CHECK(src_dir_read(&d, "nothing/stat", &t) == -ENOENT);
	CHECK_STR(fail_text(), "/proc/nothing/stat: No such file or directory");
	CHECK(src_dir_read(&d, "/etc/passwd", &t) < 0 &&
	      src_dir_read(&d, "../etc/passwd", &t) == -EINVAL);
	CHECK(src_dir_read(&d, "", &t) == -EINVAL);
	CHECK(!src_dir_link(&d, "self", &target) && is_own_pid(target));
	CHECK(src_dir_link(&d, "nothing/cwd", &target) == -ENOENT);
	CHECK_STR(fail_text(), "/proc/nothing/cwd: No such file or directory");
	CHECK(src_dir_link(&d, "../proc/self", &target) == -EINVAL);
	CHECK(src_dir_link(&d, "self/stat", &target) == -EINVAL && is_own_pid(target));
	src_dir_close(&d);
	src_dir_close(&d);
	CHECK(src_dir_open(&d, "proc/self/stat") == -ENOTDIR);
	close_all();
}

/* What was lent is stale when the frame is over, and in another run. */
static void test_generations(void)
{
	open_live();
	const uint64_t first = src_generation();

	CHECK(first && src_netns(7) == 0 && src_netns(0) == 7 && src_generation() == first);
	CHECK(src_frame_begin() == 1 && src_generation() > first);
	const uint64_t second = src_generation();

	close_all();
	open_live();
	CHECK(src_generation() > second);
	close_all();
}

/* Whole, whatever the size, also where a short read is taken for the end. */
static void test_live_sizes(void)
{
	static const size_t sizes[] = { 0, 1, 3999, 4000, 4094, 4095, 4096, 4097, 8191, 8192,
		1 << 20 };
	char *data = mem_alloc(1 << 20);
	struct src_dir d;
	struct text t;

	memset(data, 'x', 1 << 20);
	open_live();
	CHECK(!src_dir_open(&d, top));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		put("stat", data, sizes[i]);
		put("other", data, sizes[i]);
		CHECK(!src_dir_read(&d, "stat", &t) && t.len == sizes[i] &&
		      !memcmp(t.data, data, t.len));
		CHECK(!src_dir_read(&d, "other", &t) && t.len == sizes[i] && !t.data[t.len]);
	}
	CHECK(!src_read(at("other"), &t) && t.len == 1 << 20);
	src_dir_close(&d);
	close_all();
	free(data);
	CHECK(!truncate(at("other"), (off_t)SRC_FILE_MAX + 1));
	open_live();
	CHECK(fails(EFBIG, at("other")));
	close_all();
	unlink(at("stat"));
	unlink(at("other"));

	/* nobody writes to it, and we don't wait for anybody */
	CHECK(!mkfifo(at("pipe"), 0600));
	open_live();
	CHECK(reads(at("pipe"), ""));
	close_all();
}

static void test_errors_of_a_dead_process(void)
{
	struct src_dir d;
	struct text t;
	char path[64];
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	open_live();
	snprintf(path, sizeof(path), "proc/%d", child);
	CHECK(!src_dir_open(&d, path));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	int err = src_dir_read(&d, "stat", &t);

	CHECK(err == -ESRCH || err == -ENOENT);
	src_dir_close(&d);
	close_all();
}

/* ---- saving and replaying ---- */

/* What one look sees, as one text to compare. */
static struct buf seen;

static void note(const char *what, int err, struct text t)
{
	buf_printf(&seen, "%s %d ", what, err);
	if (!err)
		buf_add(&seen, t.data, t.len);
	buf_add_char(&seen, '\n');
}

static void note_names(const char *path)
{
	struct src_names names = { 0 };

	note(path, src_list(path, &names), TEXT("list"));
	for (size_t i = 0; i < names.count; i++)
		note("name", 0, text_of(names.items[i]));
}

static void note_link(const char *path)
{
	const char *target = NULL;
	int err = src_link(path, &target);

	note(path, err, text_of(err ? "" : target));
}

static int fetch_reply(void *arg, struct buf *reply)
{
	const char *say = arg;
	struct text t;

	/* a call may read, which moves the tables behind it */
	for (int i = 0; i < 40; i++)
		(void)src_readf(&t, "proc/self/no-%d", i);
	if (*say == '!')
		return fail(EPERM, "the call said no");
	buf_add(reply, say, strlen(say) + 1);
	return 0;
}

static void note_call(const char *key, const char *say)
{
	struct text t = TEXT("");
	int err = src_call(key, fetch_reply, (void *)(uintptr_t)say, &t);

	note(key, err, t);
}

static void note_facts(void)
{
	const struct src_uname *u = src_uname();
	const char *list = NULL;

	buf_printf(&seen, "%s %s %s %s %llu %llu %llu %llu\n", u->host, u->release, u->version,
		u->machine,
		   (unsigned long long)src_page_size(), (unsigned long long)src_clock_ticks(),
		   (unsigned long long)src_uid(), (unsigned long long)src_pid());
	CHECK(!src_affinity(0, &list));
	note("affinity", 0, text_of(list));
	CHECK(!src_affinity((uint32_t)src_pid(), &list));
	note("affinity", 0, text_of(list));
	note("affinity", src_affinity(0x7ffffff0, &list), TEXT(""));
}

static void note_dir(const char *path)
{
	struct src_dir d;
	const uint32_t *list = NULL;
	const char *target = NULL;
	size_t count = 0;
	struct text t;
	int err = src_dir_open(&d, path);

	note(path, err, TEXT("dir"));
	if (err)
		return;
	note("numbers", src_dir_numbers(&d, &list, &count), TEXT(""));
	for (size_t i = 0; i < count; i++)
		buf_printf(&seen, "%u\n", list[i]);
	for (size_t i = 0; i < HOSTILE; i++) {
		err = src_dir_read(&d, hostile[i], &t);
		note(hostile[i], err, t);
	}
	err = src_dir_read(&d, "nothing", &t);
	note("nothing", err, t);
	err = src_dir_link(&d, "link", &target);
	note("link", err, text_of(err ? "" : target));
	src_dir_close(&d);
}

static void note_all(void)
{
	static const char *const paths[] = {
		"proc/self/stat", "proc/self/stat", "proc/self", "proc/self/nothing",
			"proc/self/stat/x",
		"proc/uptime", "proc/self/cmdline", "proc/sys/kernel/hostname",
	};
	char path[256];
	struct text t;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int err = src_read(paths[i], &t);

		note(paths[i], err, t);
	}
	for (size_t i = 0; i < HOSTILE; i++) {
		snprintf(path, sizeof(path), "%s/tree/%s", top, hostile[i]);
		int err = src_read(path, &t);

		note(path, err, t);
	}
	snprintf(path, sizeof(path), "%s/tree", top);
	note_names(path);
	note_names("proc/self/task");
	note_names("proc/nothing");
	note_names("proc/self/stat");
	note_dir(path);
	note_dir("proc/self/fd");
	note_dir("proc/nothing");
	note_dir("proc/self/stat");
	snprintf(path, sizeof(path), "%s/tree/link", top);
	note_link(path);
	note_link("proc/self/exe");
	note_link("proc/self/stat");
	note_link("proc/self/nothing");
	note("exists", src_exists("proc/self/stat"), TEXT(""));
	note("exists", src_exists("sys/kernel"), TEXT(""));
	note("exists", src_exists("proc/self/nothing"), TEXT(""));
	note_call("statfs /", "a reply");
	note_call("statfs /", "another");
	note_call("bad\tkey\n", "!");
	note_call("again", "a third"), note_call("empty", "");
	note_facts();
	src_netns(4026531840u);
	note_names("proc/self/task"), note_call("statfs /", "of another namespace");
	note("netns", src_read("proc/self/stat", &t), TEXT(""));
	src_netns(0);
	buf_printf(&seen, "%llu %llu %u\n", (unsigned long long)src_frame()->realtime_ns,
		   (unsigned long long)src_frame()->elapsed_ns, src_frame()->index);
}

static void make_tree(void)
{
	char path[256];

	make("tree");
	for (size_t i = 0; i < HOSTILE; i++) {
		snprintf(path, sizeof(path), "tree/%s", hostile[i]);
		put(path, hostile[i], strlen(hostile[i]));
	}
	put("tree/007", "", 0);
	put("tree/12", "\0\0\n\xff", 4);
	CHECK(!symlink("tar\tget\n\xc3", at("tree/link")));
}

static void test_round_trip(void)
{
	struct buf live = { 0 };
	struct text t;

	CHECK(!src_open_live() && !src_save(at("run"), 0) && src_is_saving());
	CHECK(!src_save_record("environment", TEXT("kernel\tx\n")));
	CHECK(!src_save_record("manifest", TEXT("applet\ttest\n")));
	CHECK(src_save_record("../x", TEXT("")) == -EINVAL &&
	      src_save_record("000001", TEXT("")) == -EINVAL);
	CHECK(reads("proc/sys/kernel/ostype", "Linux\n"));
	for (int i = 0; i < 3; i++) {
		CHECK(src_frame_begin() == 1 && (i == 0) == (src_frame()->elapsed_ns == 0));
		note_all();
		CHECK(!src_frame_end());
	}
	CHECK(!src_read("proc/uptime", &t));
	src_close();
	CHECK(is_there("run/000002") && !is_there("run/000003"));
	CHECK(is_mode("run", 0700) && is_mode("run/000000/proc", 0700) &&
	      is_mode("run/000000/manifest", 0600) &&
	      is_mode("run/000000/proc/self/stat", 0600));
	live = seen;
	for (int turn = 0; turn < 3; turn++) {
		seen = (struct buf){ 0 };
		src_without_openat2 = turn == 1;
		CHECK(!src_open_root(at(turn < 2 ? "run" : "copy")) && !src_is_live());
		if (turn == 1)
			CHECK(!src_save(at("copy"), 0));
		CHECK(reads("proc/sys/kernel/ostype", "Linux\n"));
		while (src_frame_begin() == 1) {
			CHECK(!src_frame()->is_only && src_now_ns() == src_frame()->monotonic_ns);
			note_all();
			CHECK(!src_frame_end());
		}
		CHECK(src_frame_begin() == 0 && src_garbled() == 0);
		CHECK_STR(src_garbled_text(), "");
		if (turn == 0) {
			CHECK(!src_saved_record("environment", &t) && text_is(t, "kernel\tx\n"));
			CHECK(!src_saved_record("manifest", &t) &&
			      text_is(t, "perfbox-save 1\napplet\ttest\n"));
			CHECK(src_saved_record("workload", &t) == -ENOENT);
		}
		src_close();
		CHECK(seen.len == live.len && !memcmp(seen.data, live.data, live.len));
		buf_free(&seen);
	}
	src_without_openat2 = false;
	buf_free(&live);
}

static void test_call_texts(void)
{
	struct text t;

	open_live();
	CHECK(src_call("k", fetch_reply, (void *)(uintptr_t)"!", &t) == -EPERM);
	CHECK_STR(fail_text(), "the call said no");
	fail(EIO, "something else");
	CHECK(src_call("k", fetch_reply, (void *)(uintptr_t)"x", &t) == -EPERM);
	CHECK_STR(fail_text(), "the call said no");
	close_all();
	open_root("run");
	CHECK(src_call("never asked", fetch_reply, NULL, &t) == -ENOENT);
	CHECK_STR(fail_text(), "never asked: not in the saved run");
	CHECK(fails(ENOENT, "proc/never"));
	CHECK_STR(fail_text(), "/proc/never: not in the saved run");
	close_all();
}

/* ---- by hand ---- */

static void test_plain_tree(void)
{
	struct src_names names = { 0 };
	const char *list = "untouched";
	struct src_dir d;
	const uint32_t *pids;
	size_t count;

	make("plain"), make("plain/proc"), make("plain/proc/sys"), make("plain/proc/sys/kernel");
	put_text("plain/proc/sys/kernel/hostname", "there\n");
	put_text("plain/proc/stat", "cpu 1\n");
	put_text("plain/manifest", "of something else\n");
	make("plain/proc/1"), make("plain/proc/10"), make("plain/proc/9");
	make("plain/task"), make("plain/task/10"), make("plain/task/9");
	open_root("plain");
	CHECK(src_frame()->is_only && src_frame()->realtime_ns == 0 &&
	      src_frame()->elapsed_ns == 0);
	CHECK(src_garbled() == 0 && reads("proc/stat", "cpu 1\n") && src_exists("proc/9") &&
	      !src_exists("proc/8"));
	CHECK(!src_list("proc", &names) && names.count == 5 && !strcmp(names.items[1], "10"));
	CHECK(!src_list("task", &names) && names.count == 2 && !strcmp(names.items[0], "9"));
	CHECK(!src_dir_open(&d, "proc") && !src_dir_numbers(&d, &pids, &count) && count == 3 &&
	      pids[2] == 10);
	src_dir_close(&d);
	CHECK(src_dir_open(&d, "sys") == -ENOENT);
	CHECK_STR(src_uname()->host, "there");
	CHECK_STR(src_uname()->release, NULL);
	CHECK(src_page_size() == 4096 && src_clock_ticks() == 100 && src_uid() == NA_U64 &&
	      src_pid() == NA_U64);
	CHECK(src_affinity(0, &list) == -ENODATA);
	CHECK_STR(list, "untouched");
	CHECK(src_now_ns() == 0);
	close_all();
	CHECK(src_open_root(at("file")) == -ENOTDIR && src_open_root(at("nothing")) == -ENOENT &&
	      !src_is_open());
}

static void test_by_hand(void)
{
	const char *target;
	struct text t;

	make("hand"), make("hand/2"), make("hand/10"), make("hand/000000"), make("hand/10/calls");
	put_text("hand/manifest", "perfbox-save 1\napplet\tcpuwait\n");
	put_text("hand/000000/manifest", "clock\t5\t1000\n# a remark\n\nvalue\tpage_size\t65536\n");
	put_text("hand/2/manifest",
		"error\tproc/stat\tEACCES\nerror\t/proc/x\t110\nclock\t6\t900\n");
	put_text("hand/10/manifest",
		"clock\t7\t1500\ncall\ta\t0\ngarbage\ncall\tb\tE2LONG\ncall\tc\t0\n"
		 "link\tproc/1/exe\t/bin/\\x41\nlink\tx\nvalue\tv\t\\q\nerror\tp\tEPERM\tsmell\n"
		 "clock\t8\t16");
	put_text("hand/10/calls/0", "zero"), put_text("hand/10/calls/2", "two");
	open_root("hand");
	CHECK(src_frame()->realtime_ns == 5 && !src_frame()->is_only && src_page_size() == 65536);
	CHECK(!src_frame_end() && src_frame_begin() == 1 && src_frame()->elapsed_ns == 0);
	CHECK(fails(EACCES, "proc/stat") && fails(ETIMEDOUT, "proc/x") && src_page_size() == 65536);
	CHECK(src_garbled() == 0 && !src_frame_end() && src_frame_begin() == 1);
	CHECK(src_frame()->elapsed_ns == 600 && src_frame()->realtime_ns == 7);
	CHECK(!src_call("a", NULL, NULL, &t) && text_is(t, "zero"));
	CHECK(!src_call("c", NULL, NULL, &t) && text_is(t, "two") &&
	      src_call("b", NULL, NULL, &t) == -ENOENT);
	CHECK(!src_link("proc/1/exe", &target));
	CHECK_STR(target, "/bin/A");
	CHECK(src_garbled() == 6 &&
	      strstr(src_garbled_text(), "hand/10/manifest line 3: not understood"));
	CHECK(!src_frame_end() && src_frame_begin() == 0);
	src_close();
	/* one folder of a run is a root, too */
	open_root("hand/000000");
	CHECK(src_frame()->is_only && src_frame()->monotonic_ns == 1000);
	close_all();
	put_text("hand/manifest", "perfbox-save 2\n");
	CHECK(src_open_root(at("hand")) == -EPROTONOSUPPORT);
	make("none"), put_text("none/manifest", "perfbox-save 1\n");
	CHECK(src_open_root(at("none")) == -ENODATA);
}

static void test_words(void)
{
	struct arena arena = { 0 };
	struct buf line = { 0 };
	const char *back;

	for (int c = 1; c < 256; c++) {
		const char word[] = { 'a', (char)c, 'f', '\0' };

		buf_reset(&line);
		src_add_word(&line, word);
		CHECK(src_unescape((struct text){ line.data + 1, line.len - 1 }, &arena, &back) &&
		      !strcmp(back, word));
		for (size_t i = 1; i < line.len; i++)
			CHECK(line.data[i] >= ' ' && line.data[i] < 0x7f);
	}
	CHECK(!src_unescape(TEXT("\\"), &arena, &back) &&
	      !src_unescape(TEXT("\\x4"), &arena, &back));
	CHECK(!src_unescape(TEXT("\\x00"), &arena, &back) &&
	      !src_unescape(TEXT("\\x 4"), &arena, &back));
	CHECK(!src_unescape(TEXT("a\0b"), &arena, &back));
	buf_free(&line);
	arena_free(&arena);
}

int main(void)
{
	if (!scratch_begin("perfbox-source"))
		return 1;
	test_words();
	test_generations();
	test_live_files(), test_live_lists(), test_live_sizes(), test_errors_of_a_dead_process();
	make_tree();
	test_round_trip(), test_call_texts();
	put_text("file", "");
	test_plain_tree(), test_by_hand();
	scratch_end();
	buf_free(&seen);
	return check_done("source");
}
