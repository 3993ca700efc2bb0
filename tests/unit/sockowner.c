/* Owners out of saved trees, out of a saved iterator's rows, and of this program's own sockets. */
#include "common/kernel/sockowner.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/base/fail.h"
#include "common/base/na.h"
#include "tests/unit/cut.h"
#include "tests/unit/host.h"

#define LIMITS \
	"Limit                     Soft Limit           Hard Limit           Units     \n" \
	"Max cpu time              unlimited            unlimited            seconds   \n" \
	"Max open files            1024                 524288               files     \n" \
	"Max locked memory         8388608              8388608              bytes     \n"

static void check_limits(void)
{
	CHECK(sockowner_parse_limit(TEXT(LIMITS)) == 1024);
	CHECK(sockowner_parse_limit(TEXT("Max open files            unlimited  unlimited files\n"))
	      == NA_U64);
	CHECK(sockowner_parse_limit(TEXT("Max open files -1 2\n")) == NA_U64);
	CHECK(sockowner_parse_limit(TEXT("Max open files 99999999999999999999 2\n")) == NA_U64);
	CHECK(sockowner_parse_limit(TEXT("Max open filesystems 12\n")) == NA_U64);
	CHECK(sockowner_parse_limit(TEXT("")) == NA_U64);
	EACH_CUT(n, TEXT(LIMITS)) {
		uint64_t limit = sockowner_parse_limit(cut(TEXT(LIMITS), n));

		/* a number may be cut, too: 1, 10, 102 */
		CHECK(limit == NA_U64 || limit == 1 || limit == 10 || limit == 102 ||
		      limit == 1024);
	}
}

static bool is_owner(const struct sock_owner *o, uint32_t pid, uint32_t fd)
{
	return o && o->pid == pid && o->fd == fd;
}

/* Three workers share 900; 70 has it twice; nobody may see into 80. */
static void make_tree(void)
{
	make("tree");
	host_add("tree/proc/1/comm", "init\n");
	host_add("tree/proc/1/limits", LIMITS);
	make("tree/proc/1/fd");
	host_add("tree/proc/70/comm", "ngi)nx\n");
	make("tree/proc/70/fd");
	make("tree/proc/9");
	make("tree/proc/9/fd");
	make("tree/proc/100");
	make("tree/proc/100/fd");
	make("tree/proc/self");
	make("tree/proc/self/fd");
	host_link("tree/proc/self/fd/3", "socket:[1]");
	host_link("tree/proc/1/fd/0", "/dev/null");
	host_link("tree/proc/1/fd/1", "socket:[17]");
	host_link("tree/proc/70/fd/6", "socket:[900]");
	host_link("tree/proc/70/fd/10", "socket:[900]");
	host_link("tree/proc/70/fd/2", "pipe:[900]");
	host_link("tree/proc/70/fd/3", "net:[4026532000]");
	host_link("tree/proc/70/fd/4", "socket:[18446744073709551616]");
	host_link("tree/proc/9/fd/6", "socket:[900]");
	host_link("tree/proc/9/fd/7", "/tmp/socket:[900]");
	host_link("tree/proc/100/fd/3", "socket:[900]");
	host_link("tree/proc/100/fd/4", "socket:[");
}

static void check_tree(void)
{
	const struct sock_owner *o;
	size_t n;

	make_tree();
	open_root("tree");
	CHECK(!sockowner_is_loaded());
	CHECK(!sockowner_load() && sockowner_is_loaded());
	CHECK_STR(sockowner_engine(), "proc/PID/fd");
	CHECK(sockowner_is_complete());
	o = sockowner_find(900, &n);
	CHECK(n == 3 && is_owner(o, 9, 6) && is_owner(o + 1, 70, 6) && is_owner(o + 2, 100, 3));
	o = sockowner_find(17, &n);
	CHECK(n == 1 && is_owner(o, 1, 1));
	CHECK(!sockowner_find(1, &n) && n == 0);
	CHECK(!sockowner_find(0, &n) && n == 0);
	CHECK(!sockowner_find(UINT64_MAX, &n) && n == 0);
	o = sockowner_namespaces(&n);
	CHECK(n == 1 && is_owner(o, 70, 3));

	/* inside another namespace proc is still the host's */
	src_netns(4026532000);
	CHECK(sockowner_fd_count(70) == 5 && sockowner_fd_count(1) == 2);
	CHECK(sockowner_fd_limit(1) == 1024 && sockowner_fd_limit(70) == NA_U64);
	CHECK_STR(sockowner_comm(70), "ngi)nx");
	CHECK(!sockowner_comm(9) && sockowner_fd_count(555) == NA_U64);
	CHECK(src_netns(0) == 4026532000);
	close_all();
	CHECK(!sockowner_is_loaded() && !sockowner_is_complete());
}

/* What may not be read is unknown, and one that went meanwhile is nothing. */
static void check_unreadable(void)
{
	const struct sock_owner *o;
	size_t n;

	make("partly");
	put_text("partly/manifest", "clock\t1\t1\nerror\tproc/5/fd\tEACCES\tlist\n");
	host_add("partly/proc/5/comm", "secret\n");
	make("partly/proc/1");
	make("partly/proc/1/fd");
	host_link("partly/proc/1/fd/4", "socket:[44]");
	make("partly/proc/6");
	open_root("partly");
	CHECK(!sockowner_load() && !sockowner_is_complete());
	o = sockowner_find(44, &n);
	CHECK(n == 1 && is_owner(o, 1, 4));
	CHECK(sockowner_fd_count(5) == NA_U64);
	CHECK_STR(sockowner_comm(5), "secret");
	close_all();

	put_text("partly/manifest", "clock\t1\t1\nerror\tproc/5/fd\tEACCES\tlist\n"
		 "error\tproc/1/fd\tEACCES\tlist\nerror\tproc/6/fd\tEACCES\tlist\n");
	open_root("partly");
	CHECK(sockowner_load() == -EACCES && !sockowner_is_loaded());
	CHECK(!sockowner_find(44, &n) && n == 0);
	CHECK(sockowner_load() == -EACCES);
	close_all();

	/* in a pid namespace of our own, or where others' processes are hidden */
	put_text("partly/manifest", "clock\t1\t1\nlink\tproc/self/ns/pid\tpid:[4026532444]\n");
	open_root("partly");
	CHECK(!sockowner_load() && !sockowner_is_complete());
	close_all();
	put_text("partly/manifest", "clock\t1\t1\nlink\tproc/self/ns/pid\tpid:[4026531836]\n"
		 "dir\tproc\t5\t6\n");
	open_root("partly");
	CHECK(!sockowner_load() && !sockowner_is_complete());
	close_all();
}

static void count_rows(const struct sockowner_row *row, void *arg)
{
	*(size_t *)arg += row->pid;
}

static void check_rows(void)
{
	static const struct sockowner_row rows[] = {
		{ .inode = 8, .pid = 30, .fd = 5, .kind = SOCKOWNER_SOCKET },
		{ .inode = 8, .pid = 4, .fd = 9, .kind = SOCKOWNER_SOCKET },
		{ .inode = 4026532000, .pid = 4, .fd = 2, .kind = SOCKOWNER_NAMESPACE },
		{ .inode = 8, .pid = 4, .fd = 7, .kind = SOCKOWNER_SOCKET },
	};
	const struct text whole = { (const char *)rows, sizeof(rows) };
	const struct sock_owner *o;
	size_t n, sum = 0;

	CHECK(!sockowner_parse_rows(whole, count_rows, &sum) && sum == 42);
	EACH_CUT(len, whole)
		CHECK(sockowner_parse_rows(cut(whole, len), count_rows, &sum) ==
		      (len % sizeof(*rows) ? -EINVAL : 0));
	static const struct sockowner_row bad = { .kind = 3 };

	CHECK(sockowner_parse_rows((struct text){ (const char *)&bad, sizeof(bad) }, count_rows,
				   &sum) == -EINVAL);

	make("rows");
	put_text("rows/manifest", "clock\t1\t1\ncall\tbpf sockowner\t0\n");
	make("rows/calls");
	put("rows/calls/0", whole.data, whole.len);
	open_root("rows");
	o = sockowner_find(8, &n);
	CHECK(n == 2 && is_owner(o, 4, 7) && is_owner(o + 1, 30, 5));
	CHECK_STR(sockowner_engine(), "task_file iterator");
	CHECK(sockowner_is_complete());
	o = sockowner_namespaces(&n);
	CHECK(n == 1 && is_owner(o, 4, 2));
	close_all();
}

/* ---- live ---- */

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* Both engines must say the same of a socket that a child shares and of one it has not. */
static void check_own(int shared, int own, pid_t child)
{
	const struct sock_owner *o;
	struct rlimit limit;
	size_t n;

	o = sockowner_find(inode_of(shared), &n);
	CHECK(n == 2);
	for (size_t i = 0; i < n; i++)
		CHECK(o[i].fd == (uint32_t)shared && (o[i].pid == (uint32_t)getpid() ||
						      o[i].pid == (uint32_t)child));
	o = sockowner_find(inode_of(own), &n);
	CHECK(n == 1 && is_owner(o, (uint32_t)getpid(), (uint32_t)own));
	CHECK_STR(sockowner_comm((uint32_t)getpid()), "sockowner");
	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	CHECK(sockowner_fd_limit((uint32_t)getpid()) == limit.rlim_cur);
	/* the child holds this socket and the three it was born with, and what they had open */
	uint64_t count = sockowner_fd_count((uint32_t)child);

	CHECK(count >= 4 && count < 20);
	CHECK(sockowner_fd_count((uint32_t)child) == count);
	sockowner_namespaces(&n);
	CHECK(n >= 1);
}

static void check_replayed(const char *run, const char *engine, uint64_t inode)
{
	size_t n;

	open_root(run);
	sockowner_find(inode, &n);
	CHECK(n == 2);
	CHECK_STR(sockowner_engine(), engine);
	CHECK(sockowner_fd_limit((uint32_t)getpid()) != NA_U64);
	CHECK(sockowner_fd_count((uint32_t)getpid()) != NA_U64);
	close_all();
}

static void check_live(enum sockowner_way way, const char *run, const char *engine)
{
	int shared = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	int own = socket(AF_UNIX, SOCK_STREAM, 0);
	int ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	sockowner_way = way;
	CHECK(!src_open_live());
	CHECK(!src_save(at(run), 0));
	CHECK(src_frame_begin() == 1);
	CHECK(!sockowner_load());
	bool is_as_asked = !strcmp(sockowner_engine(), engine);

	if (is_as_asked) {
		check_own(shared, own, child);
		sockowner_fd_count((uint32_t)getpid());
	} else if (CHECK(sockowner_refusal() != NULL)) {
		check_skip("iterator", sockowner_refusal());
	}
	close_all();
	if (is_as_asked)
		check_replayed(run, engine, inode_of(shared));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(shared);
	close(own);
	close(ns);
}

int main(void)
{
	if (!scratch_begin("sockowner"))
		return 1;
	check_limits();
	check_tree();
	check_unreadable();
	check_rows();
	check_live(SOCKOWNER_SCAN, "scanned", "proc/PID/fd");
	check_live(SOCKOWNER_ITERATE, "iterated", "task_file iterator");
	sockowner_close();
	scratch_end();
	return check_done("sockowner");
}
