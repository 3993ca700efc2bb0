/*
 * Namespaces of saved trees: which are found, what they are called, which one a word means, which
 * are new. For tests/live: "netns list [WANTED [DIR]]" prints those of this machine, having been in
 * each, and saves the run; "netns replay WANTED DIR"; "netns late WANTED".
 */
#include "common/kernel/netns.h"

#include <errno.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/source.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

#define ID "4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a91c0b7de4f2a"
#define POD "0123abcd-89ab-cdef-0123-456789abcdef"

/* ---- for tests/live/netns.sh ---- */

/* INODE NAME PATH own|other PID ERRNO, and the devices in it. */
static void print_one(const struct netns *ns)
{
	struct text t, line, name;
	int err = netns_enter(ns);

	printf("%llu\t%s\t%s\t%s\t%u\t%d\t", (unsigned long long)ns->inode, ns->name, ns->path,
	       ns->is_own ? "own" : "other", ns->pid, err);
	if (!err && !src_read("proc/net/dev", &t))
		for (struct scan s = scan_of(t); scan_line(&s, &line);) {
			struct scan of_line = scan_of(line);

			scan_blanks(&of_line);
			if (scan_until(&of_line, ':', &name))
				printf("%.*s ", (int)name.len, name.data);
		}
	printf("%s\n", err ? fail_text() : "");
}

static int say(int err)
{
	if (err)
		printf("%s\n", fail_text());
	src_close();
	return err != 0;
}

static int list(const char *wanted)
{
	struct netns_list l;

	/* as an applet does that shows owners: descriptors are looked through on any host */
	if (src_frame_begin() != 1 || sockowner_load() || netns_select(wanted, &l))
		return say(-1);
	for (size_t i = 0; i < l.count; i++)
		print_one(&l.items[i]);
	return say(netns_leave());
}

/* Waits for a line between finding it and going into it. */
static int go_late(const char *wanted)
{
	struct netns_list l;

	if (src_frame_begin() != 1 || netns_select(wanted, &l))
		return say(-1);
	printf("found\n");
	fflush(stdout);
	getchar();
	print_one(l.items);
	return say(netns_leave());
}

static int run_command(int argc, char **argv)
{
	const char *command = argv[1], *dir = argc > 3 ? argv[3] : NULL;
	const bool is_replay = !strcmp(command, "replay");

	if (is_replay ? src_open_root(dir) : src_open_live() || (dir && src_save(dir, 0)))
		return say(-1);
	return !strcmp(command, "late") ? go_late(argv[2]) : list(argc > 2 ? argv[2] : NULL);
}

/* ---- the links ---- */

static void check_links(void)
{
	static const char *const bad[] = {
		"", "net:", "net:[", "net:[]", "net:[12", "net:[12]x", "net:[-1]", "net:[x]",
		"mnt:[4026531840]", "net:[18446744073709551616]", "/proc/net:[12]",
	};
	const struct text good = TEXT("net:[4026531840]");
	uint64_t inode = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!netns_parse_link(text_of(bad[i]), &inode));
	for (size_t n = 0; n < good.len; n++)
		CHECK(!netns_parse_link(cut(good, n), &inode));
	CHECK(inode == 7);
	CHECK(netns_parse_link(good, &inode) && inode == 4026531840);
}

/* ---- a host ---- */

static void add_process(const char *pid, const char *inode, const char *cgroup)
{
	char path[64], target[64];

	snprintf(path, sizeof(path), "host/proc/%s/cgroup", pid);
	host_add(path, cgroup);
	snprintf(path, sizeof(path), "host/proc/%s/ns", pid);
	make(path);
	snprintf(path, sizeof(path), "host/proc/%s/ns/net", pid);
	snprintf(target, sizeof(target), "net:[%s]", inode);
	host_link(path, target);
}

/*
 * 100: PID 1 and ours; 200: named blue, with a process; 201: named green, without one; 300: a
 * docker container's; 301 and 302: of one pod, its containers' and another it made; 400: nobody's
 * cgroup tells; 401: held by a descriptor alone; 402: a sandbox of docker's.
 */
static void make_host(void)
{
	make("host");
	add_process("1", "100", "0::/init.scope\n");
	add_process("self", "100", "0::/user.slice\n");
	add_process("20", "200", "0::/docker/" ID "\n");
	add_process("21", "300", "12:cpu:/\n0::/system.slice/docker-" ID ".scope\n");
	add_process("22", "300", "0::/\n");
	add_process("30", "301", "0::/kubepods/burstable/pod" POD "/" ID "\n");
	add_process("31", "302", "0::/kubepods/burstable/pod" POD "/" ID "\n");
	add_process("40", "400", "0::/system.slice/x.service\n");
	make("host/proc/40/fd");
	host_link("host/proc/40/fd/7", "net:[401]");
	host_link("host/proc/40/fd/8", "net:[100]");
	host_add("host/proc/sys/fs/file-nr", "592\t0\t2466183\n");
	host_add("host/run/netns/blue", "");
	host_add("host/run/netns/green", "");
	host_add("host/run/netns/stale", "");
	host_add("host/run/docker/netns/ingress", "");
	host_add("host/run/docker/netns/default", "");
	make("host/calls");
	put_text("host/calls/0", "200");
	put_text("host/calls/1", "201");
	put_text("host/calls/2", "402");
	put_text("host/calls/3", "100");
	put_text("host/calls/4", "401");
	put_text("host/manifest", "clock\t1\t1\ncall\tinode run/netns/blue\t0\n"
		 "call\tinode run/netns/green\t0\ncall\tinode run/docker/netns/ingress\t0\n"
		 "call\tinode run/docker/netns/default\t0\ncall\tinode proc/40/fd/7\t0\n"
		 "call\tinode run/netns/stale\tEINVAL\ncall\tenter net:[302]\tESRCH\n");
}

static void check_one(const struct netns *ns, uint64_t inode, const char *name, uint32_t pid,
		      const char *path)
{
	CHECK(ns->inode == inode && ns->pid == pid);
	CHECK_STR(ns->name, name);
	CHECK_STR(ns->path, path);
	CHECK(ns->is_own == (inode == 100));
}

static void check_all(void)
{
	struct netns_list l;
	const struct netns *ns;

	if (!CHECK(!netns_select("all", &l)) || !CHECK(l.count == 9))
		return;
	CHECK(l.is_complete && l.has_descriptors);
	ns = l.items;
	check_one(ns++, 100, "host", 1, "proc/self/ns/net");
	check_one(ns++, 200, "blue", 20, "run/netns/blue");
	check_one(ns++, 300, "docker 4f2a91c0b7de", 21, "proc/21/ns/net");
	check_one(ns++, 201, "green", 0, "run/netns/green");
	check_one(ns++, 402, "ingress", 0, "run/docker/netns/ingress");
	check_one(ns++, 400, "net:[400]", 40, "proc/40/ns/net");
	check_one(ns++, 401, "net:[401]", 0, "proc/40/fd/7");
	check_one(ns++, 301, "pod " POD " net:[301]", 30, "proc/30/ns/net");
	check_one(ns++, 302, "pod " POD " net:[302]", 31, "proc/31/ns/net");
	for (size_t i = 0; i < l.count; i++)
		CHECK(!netns_is_new(&l.items[i], 0));
}

static bool selects(const char *wanted, uint64_t inode)
{
	struct netns_list l = { 0 };

	return !netns_select(wanted, &l) && l.count == 1 && l.items[0].inode == inode;
}

static void check_words(void)
{
	struct netns_list l = { .count = 77 };

	CHECK(selects(NULL, 100) && selects("host", 100) && selects("1", 100));
	CHECK(selects("blue", 200) && selects("20", 200) && selects("/run/netns/blue", 200));
	CHECK(selects("docker 4f2a91c0b7de", 300) && selects("22", 300));
	CHECK(selects("net:[400]", 400) && selects("net:[200]", 200));
	CHECK(selects("pod " POD " net:[302]", 302));
	CHECK(selects("/proc/40/fd/7", 401));
	CHECK(netns_select("net:[999]", &l) == -ENOENT);
	CHECK(netns_select("red", &l) == -ENOENT);
	CHECK_STR(fail_text(), "red: no network namespace has this name or process");
	CHECK(netns_select("4000", &l) == -ENOENT && netns_select("", &l) == -ENOENT);
	CHECK(netns_select("/run/netns/red", &l) == -ENOENT);
	CHECK(netns_select("/run/netns/stale", &l) == -EINVAL);
	CHECK(netns_select("pod " POD, &l) == -ENOENT);        /* there are two */
	CHECK(l.count == 77);
}

/* Inside, files are those of the namespace's folder, and what it lacks is not the host's. */
static void check_entering(void)
{
	struct netns_list l;
	struct text t;

	host_add("host/netns/200/proc/net/dev", "blue's\n");
	host_add("host/proc/net/dev", "host's\n");
	if (!CHECK(!netns_select("all", &l)) || !CHECK(l.count == 9))
		return;
	CHECK(!netns_enter(&l.items[1]) && reads("proc/net/dev", "blue's\n"));
	CHECK(!netns_enter(&l.items[3]) && src_read("proc/net/dev", &t) == -ENOENT);
	CHECK(!netns_enter(&l.items[0]) && reads("proc/net/dev", "host's\n"));
	CHECK(!netns_enter(&l.items[1]) && !netns_leave() && reads("proc/net/dev", "host's\n"));
	CHECK(!netns_enter(&l.items[1]) && selects("blue", 200));
	CHECK(reads("proc/net/dev", "host's\n"));
	/* one that was gone when it was to be entered */
	CHECK(!netns_enter(&l.items[1]) && netns_enter(&l.items[8]) == -ESRCH);
	CHECK(reads("proc/net/dev", "host's\n"));
}

static void check_host(void)
{
	struct netns_count count;

	make_host();
	open_root("host");
	check_all();
	check_words();
	check_entering();
	CHECK(!netns_count(&count) && count.seen == 8 && count.is_complete);
	close_all();

	/* many open files, and no map of owners yet: descriptors are not looked through */
	put_text("host/proc/sys/fs/file-nr", "30592\t0\t2466183\n");
	open_root("host");
	struct netns_list l;

	CHECK(!netns_select("all", &l) && l.count == 8 && !l.has_descriptors);
	close_all();
}

/* ---- what is ours called ---- */

static void check_own(const char *manifest, const char *name, bool is_complete)
{
	struct netns_list l;

	put_text("own/manifest", manifest);
	open_root("own");
	if (CHECK(!netns_select(NULL, &l)) && CHECK(l.count == 1)) {
		CHECK_STR(l.items[0].name, name);
		CHECK(l.items[0].is_own && l.items[0].inode == 500 && !netns_enter(l.items));
	}
	if (CHECK(!netns_select("all", &l)) && CHECK(l.count >= 1)) {
		CHECK_STR(l.items[0].name, name);
		CHECK(l.is_complete == is_complete);
	}
	close_all();
}

static void check_own_names(void)
{
	struct netns_list l;

	make("own");
	host_add("own/proc/5/comm", "x\n");
	host_add("own/proc/self/cgroup", "0::/\n");
	check_own("clock\t1\t1\nlink\tproc/self/ns/net\tnet:[500]\n"
		  "link\tproc/1/ns/net\tnet:[500]\n", "host", true);
	check_own("clock\t1\t1\nlink\tproc/self/ns/net\tnet:[500]\n"
		  "link\tproc/1/ns/net\tnet:[4026531833]\n", "net:[500]", true);
	check_own("clock\t1\t1\nlink\tproc/self/ns/net\tnet:[500]\n"
		  "error\tproc/1/ns/net\tEACCES\tlink\nerror\tproc/5/ns/net\tEACCES\tlink\n",
		  "own", false);
	check_own("clock\t1\t1\nlink\tproc/self/ns/net\tnet:[500]\n"
		  "error\tproc/1/ns/net\tEACCES\tlink\n"
		  "exists\tproc/sys/net/core/netdev_max_backlog\n", "host", true);
	check_own("clock\t1\t1\nlink\tproc/self/ns/net\tnet:[500]\ndir\tproc\t1\t5\n"
		  "error\tproc/1/ns/net\tEACCES\tlink\n"
		  "exists\tproc/sys/net/core/netdev_max_backlog\n", "host", true);
	check_own("clock\t1\t1\nlink\tproc/self/ns/net\tnet:[500]\ndir\tproc\t1\t5\n"
		  "error\tproc/1/ns/net\tEACCES\tlink\n", "own", false);
	check_own("clock\t1\t1\nlink\tproc/self/ns/net\tnet:[500]\ndir\tproc\t1\t5\n"
		  "error\tproc/1/ns/net\tEACCES\tlink\nlink\tproc/5/ns/net\tnet:[4026531833]\n",
		  "own", true);
	put_text("own/proc/self/cgroup", "0::/docker/" ID "\n");
	check_own("clock\t1\t1\nlink\tproc/self/ns/net\tnet:[500]\n"
		  "error\tproc/1/ns/net\tEACCES\tlink\nerror\tproc/5/ns/net\tEACCES\tlink\n",
		  "docker 4f2a91c0b7de", false);

	/* a tree that says nothing of namespaces is one all the same */
	make("bare");
	host_add("bare/proc/stat", "cpu 1\n");
	open_root("bare");
	CHECK(!netns_select(NULL, &l) && l.count == 1 && l.items[0].is_own);
	CHECK_STR(l.items[0].name, "own");
	CHECK(!netns_enter(l.items) && netns_select("all", &l) == -ENOENT);
	close_all();
}

/* ---- new ones ---- */

static void add_frame(const char *name, const char *pids)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "run/%s", name);
	make(path);
	snprintf(path, sizeof(path), "run/%s/manifest", name);
	snprintf(text, sizeof(text), "clock\t%d\t%d\ndir\tproc%s\nlink\tproc/self/ns/net\tnet:[1]\n"
		 "link\tproc/1/ns/net\tnet:[1]\nlink\tproc/7/ns/net\tnet:[7]\n"
		 "link\tproc/8/ns/net\tnet:[8]\n", name[5], name[5], pids);
	put_text(path, text);
	snprintf(path, sizeof(path), "run/%s/proc/sys/fs/file-nr", name);
	host_add(path, "592\t0\t2466183\n");
}

static const struct netns *find(const struct netns_list *l, uint64_t inode)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].inode == inode)
			return &l->items[i];
	return NULL;
}

/* 7 is there from the start, 8 comes, goes, and its number comes again. */
static void check_new(void)
{
	static const char *const pids[] = {
		"\t1\t7", "\t1\t7\t8", "\t1\t7\t8", "\t1\t7", "\t1\t8"
	};
	static const unsigned first[] = { 0, 1, 1, 0, 4 };
	struct netns_list l;

	make("run");
	for (unsigned i = 0; i < 5; i++)
		add_frame((const char *[]){ "000000", "000001", "000002", "000003", "000004" }[i],
			  pids[i]);
	CHECK(!src_open_root(at("run")));
	for (unsigned i = 0; i < 5; i++) {
		CHECK(src_frame_begin() == 1);
		/* asked twice it is the same list */
		CHECK(!netns_select("all", &l) && !netns_select("all", &l));
		const struct netns *seven = find(&l, 7), *eight = find(&l, 8);

		CHECK((i < 4) == (seven != NULL) && (!seven || !netns_is_new(seven, 0)));
		if (first[i] && CHECK(eight != NULL)) {
			CHECK(netns_is_new(eight, first[i] - 1));
			CHECK(!netns_is_new(eight, first[i]));
		}
		CHECK(!src_frame_end());
	}
	src_close();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return run_command(argc, argv);
	if (!scratch_begin("netns"))
		return 1;
	check_links();
	check_host();
	check_own_names();
	check_new();
	scratch_end();
	return check_done("netns");
}
