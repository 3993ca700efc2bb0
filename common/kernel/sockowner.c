#include "common/kernel/sockowner.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/base/na.h"
#include "common/base/scan.h"
#include "common/kernel/bpf.h"
#include "common/kernel/filenr.h"
#include "common/kernel/source.h"
#include "sockowner.skel.h"

#define READ_BYTES 65536
#define OWNERS_MAX (1u << 22)          /* 64 MiB of them */
#define CALL_KEY "bpf sockowner"

/* Where the iterator is the cheaper way: see the header. */
#define MANY_FILES 8000
#define LOAD_NS 40000000u              /* spent on scans in this run */

/* PID_NS_INIT_INO, include/uapi/linux/nsfs.h; earlier PROC_PID_INIT_INO, the same number. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

struct entry {
	uint64_t inode;
	struct sock_owner owner;
};

enum sockowner_way sockowner_way;
static struct sockowner_bpf *program;
static char *refusal;
static uint64_t scanned_ns;

/* The frame's; kept from one to the next for its memory. */
static struct map {
	uint64_t generation;           /* of the source it was made from; 0: none yet */
	int err;                       /* it could not be made; why: the frame's */
	const char *why;
	bool is_complete, is_iterated;
	struct entry *entries;         /* by inode, then pid, one per process */
	struct sock_owner *owners;     /* the same ones' owners, side by side */
	struct sock_owner *namespaces;
	size_t count, cap, owners_cap, namespace_count, namespaces_cap;
} map;

static void add_socket(uint64_t inode, uint32_t pid, uint32_t fd)
{
	if (map.count >= OWNERS_MAX) {
		map.is_complete = false;
		return;
	}
	map.entries = mem_grow(map.entries, &map.cap, map.count + 1, sizeof(*map.entries));
	map.entries[map.count++] = (struct entry){ inode, { pid, fd } };
}

static void add_namespace(uint32_t pid, uint32_t fd)
{
	if (map.namespace_count >= OWNERS_MAX) {
		map.is_complete = false;
		return;
	}
	map.namespaces = mem_grow(map.namespaces, &map.namespaces_cap, map.namespace_count + 1,
				  sizeof(*map.namespaces));
	map.namespaces[map.namespace_count++] = (struct sock_owner){ pid, fd };
}

/* ---- from proc ---- */

static void add_link(uint32_t pid, uint32_t fd, const char *target)
{
	struct scan s = scan_of(text_of(target));
	uint64_t inode;

	if (scan_literal(&s, "net:["))
		add_namespace(pid, fd);
	else if (scan_literal(&s, "socket:[") && scan_u64(&s, &inode))
		add_socket(inode, pid, fd);
}

static int scan_process(uint32_t pid)
{
	const uint32_t *fds;
	struct src_dir d;
	char name[32];
	size_t n;

	snprintf(name, sizeof(name), "proc/%u/fd", pid);
	int err = src_dir_open(&d, name);

	if (err)
		return err;
	err = src_dir_numbers(&d, &fds, &n);
	for (size_t i = 0; !err && i < n; i++) {
		const char *target;

		snprintf(name, sizeof(name), "%u", fds[i]);
		if (!src_dir_link(&d, name, &target))
			add_link(pid, fds[i], target);
	}
	src_dir_close(&d);
	return err;
}

static int scan_all(void)
{
	const uint64_t start_ns = src_now_ns();
	const uint32_t *pids;
	struct src_dir proc;
	size_t n, unreadable = 0;
	int err = src_dir_open(&proc, "proc"), first = 0;

	if (err)
		return err;
	err = src_dir_numbers(&proc, &pids, &n);
	src_dir_close(&proc);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		err = scan_process(pids[i]);
		if (err == -EACCES || err == -EPERM) {
			first = err;
			unreadable++;
		}
	}
	/* hidepid hides other users' processes: then there is no 1 */
	map.is_complete &= !unreadable && n && pids[0] == 1;
	scanned_ns += src_now_ns() - start_ns;
	return n && unreadable == n ? first : 0;
}

/* ---- from the iterator ---- */

static int fetch(void *arg, struct buf *reply)
{
	union bpf_attr attr;

	(void)arg;
	if (!program)
		return fail(ENOENT, "%s: not open", CALL_KEY);
	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t)bpf_link__fd(program->links.each_file);
	int fd = (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return fail_errno(errno, "bpf(BPF_ITER_CREATE)");
	for (;;) {
		buf_reserve(reply, READ_BYTES);
		ssize_t n = read(fd, reply->data + reply->len, READ_BYTES);

		/* EAGAIN: a million files without a row; it goes on from there */
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0 || reply->len > SRC_FILE_MAX) {
			int err = n < 0 ? errno : n ? EFBIG : 0;

			close(fd);
			return err ? fail_errno(err, "reading the task_file iterator") : 0;
		}
		reply->len += (size_t)n;
	}
}

int sockowner_parse_rows(struct text reply, sockowner_each each, void *arg)
{
	struct sockowner_row row;

	if (reply.len % sizeof(row))
		return fail(EINVAL, "%s: cut in the middle of a row", CALL_KEY);
	for (size_t at = 0; at < reply.len; at += sizeof(row)) {
		memcpy(&row, reply.data + at, sizeof(row));
		if (row.kind != SOCKOWNER_SOCKET && row.kind != SOCKOWNER_NAMESPACE)
			return fail(EINVAL, "%s: a row of no known kind", CALL_KEY);
		each(&row, arg);
	}
	return 0;
}

static void take_row(const struct sockowner_row *row, void *unused)
{
	(void)unused;
	if (row->kind == SOCKOWNER_SOCKET)
		add_socket(row->inode, row->pid, row->fd);
	else
		add_namespace(row->pid, row->fd);
}

/* From inside a pid namespace the processes around it are not to be seen. */
static bool sees_all_processes(void)
{
	const char *target;

	return src_link("proc/self/ns/pid", &target) || !strcmp(target, INITIAL_PID_NAMESPACE);
}

/* The iterator numbers processes as our pid namespace does; /proc may be another's. */
static bool is_own_proc(void)
{
	const char *self;
	uint64_t pid;

	return !src_link("proc/self", &self) && scan_all_u64(text_of(self), &pid) &&
		pid == (uint64_t)getpid();
}

static int load_program(void)
{
	if (!is_own_proc())
		return fail(EXDEV, "/proc is another pid namespace's");
	bpf_quiet();
	program = sockowner_bpf__open();
	if (!program)
		return errno == ENOTSUP ? fail(ENOTSUP, "built without BPF") :
			bpf_fail(errno, "opening the task_file iterator");
	program->rodata->is_nested = !sees_all_processes();
	int err = -sockowner_bpf__load(program);

	if (err == EPERM)
		return bpf_fail_refused(err);
	if (err)
		return bpf_fail(err, "loading the task_file iterator");
	err = -sockowner_bpf__attach(program);
	return err ? bpf_fail(err, "attaching the task_file iterator") : 0;
}

static bool would_pay(void)
{
	struct file_nr files;

	if (sockowner_way != SOCKOWNER_CHEAPEST)
		return sockowner_way == SOCKOWNER_ITERATE;
	return scanned_ns >= LOAD_NS || (!file_nr_read(&files) && files.open >= MANY_FILES);
}

/* Loaded once a run; once refused, not asked again. */
static bool has_iterator(void)
{
	if (program && sockowner_way != SOCKOWNER_SCAN)
		return true;
	if (refusal || !would_pay())
		return false;
	if (!load_program())
		return true;
	refusal = mem_strdup(fail_text());
	sockowner_bpf__destroy(program);
	program = NULL;
	return false;
}

static int iterate(void)
{
	struct text reply;

	if (src_is_live() && !has_iterator())
		return -ENOENT;
	int err = src_call(CALL_KEY, fetch, NULL, &reply);

	return err ? err : sockowner_parse_rows(reply, take_row, NULL);
}

void sockowner_close(void)
{
	sockowner_bpf__destroy(program);
	program = NULL;
	free(refusal);
	free(map.entries);
	free(map.owners);
	free(map.namespaces);
	refusal = NULL;
	scanned_ns = 0;
	map = (struct map){ 0 };
}

const char *sockowner_refusal(void)
{
	return refusal;
}

/* ---- the map ---- */

static int by_inode(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->owner.pid != y->owner.pid)
		return x->owner.pid < y->owner.pid ? -1 : 1;
	return x->owner.fd < y->owner.fd ? -1 : x->owner.fd > y->owner.fd;
}

/* By inode, and of a process that holds it more than once the lowest descriptor. */
static void settle(void)
{
	size_t n = 0;

	if (map.count)
		qsort(map.entries, map.count, sizeof(*map.entries), by_inode);
	for (size_t i = 0; i < map.count; i++)
		if (!n || map.entries[i].inode != map.entries[n - 1].inode ||
		    map.entries[i].owner.pid != map.entries[n - 1].owner.pid)
			map.entries[n++] = map.entries[i];
	map.count = n;
	map.owners = mem_grow(map.owners, &map.owners_cap, n + 1, sizeof(*map.owners));
	for (size_t i = 0; i < n; i++)
		map.owners[i] = map.entries[i].owner;
}

static void begin(void)
{
	map.count = map.namespace_count = 0;
	map.is_complete = sees_all_processes();
}

static int make_map(void)
{
	begin();
	map.is_iterated = true;
	if (!iterate())
		return 0;
	begin();
	map.is_iterated = false;
	return scan_all();
}

int sockowner_load(void)
{
	const uint64_t now = src_generation();

	if (map.generation != now) {
		const uint64_t inside = src_netns(0);

		map.err = make_map();
		map.why = map.err ? arena_strdup(src_arena(), fail_text()) : NULL;
		map.count = map.err ? 0 : map.count;
		map.generation = now;
		settle();
		src_netns(inside);
	}
	return map.err ? fail(-map.err, "%s", map.why) : 0;
}

bool sockowner_is_loaded(void)
{
	return map.generation == src_generation() && !map.err;
}

bool sockowner_is_complete(void)
{
	return sockowner_is_loaded() && map.is_complete;
}

const char *sockowner_engine(void)
{
	return map.is_iterated ? "task_file iterator" : "proc/PID/fd";
}

const struct sock_owner *sockowner_find(uint64_t inode, size_t *count)
{
	size_t low = 0, high, end;

	*count = 0;
	if (!inode || sockowner_load())
		return NULL;
	for (high = map.count; low < high;) {
		const size_t middle = low + (high - low) / 2;

		if (map.entries[middle].inode < inode)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < map.count && map.entries[end].inode == inode; end++)
		;
	*count = end - low;
	return *count ? &map.owners[low] : NULL;
}

const struct sock_owner *sockowner_namespaces(size_t *count)
{
	*count = sockowner_load() ? 0 : map.namespace_count;
	return map.namespaces;
}

/* ---- what else is known of a process ---- */

/* The size of the folder is the number of its names since 6.2; before, it is 0. */
static int fetch_fd_count(void *arg, struct buf *reply)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/fd", *(const uint32_t *)arg);
	if (stat(path, &st))
		return fail_errno(errno, "%s", path);
	if (!st.st_size)
		return fail(ENODATA, "%s: this kernel does not count them", path);
	buf_printf(reply, "%llu", (unsigned long long)st.st_size);
	return 0;
}

static uint64_t count_fds(uint32_t pid)
{
	char *key = arena_printf(src_arena(), "descriptors %u", pid);
	struct src_names names;
	struct text t;
	uint64_t n;

	if (!src_call(key, fetch_fd_count, &pid, &t) && scan_all_u64(t, &n))
		return n;
	return src_list(arena_printf(src_arena(), "proc/%u/fd", pid), &names) ? NA_U64 :
		names.count;
}

uint64_t sockowner_fd_count(uint32_t pid)
{
	const uint64_t inside = src_netns(0), n = count_fds(pid);

	src_netns(inside);
	return n;
}

uint64_t sockowner_parse_limit(struct text limits)
{
	struct scan s = scan_of(limits), of_line;
	struct text line;
	uint64_t n;

	while (scan_line(&s, &line)) {
		of_line = scan_of(line);
		if (scan_literal(&of_line, "Max open files "))
			return scan_u64(&of_line, &n) ? n : NA_U64;
	}
	return NA_U64;
}

static int read_of(uint32_t pid, const char *file, struct text *t)
{
	const uint64_t inside = src_netns(0);
	int err = src_readf(t, "proc/%u/%s", pid, file);

	src_netns(inside);
	return err;
}

uint64_t sockowner_fd_limit(uint32_t pid)
{
	struct text t;

	return read_of(pid, "limits", &t) ? NA_U64 : sockowner_parse_limit(t);
}

const char *sockowner_comm(uint32_t pid)
{
	struct text t;

	if (read_of(pid, "comm", &t))
		return NULL;
	if (t.len && t.data[t.len - 1] == '\n')
		t.len--;
	return arena_text(src_arena(), t);
}
