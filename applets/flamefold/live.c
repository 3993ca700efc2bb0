#include "applets/flamefold/live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/cgroup.h"

/* Where fields stand in records; include/uapi/linux/perf_event.h. */
#define SAMPLE_PID_AT 16               /* behind the header and the ip */
#define TASK_PID_AT 8                  /* COMM: pid tid; FORK, EXIT: pid ppid tid ptid */
#define PROT_EXEC_BIT 4u

static char known;                     /* that something is in a hash at all */

int live_open(struct live *l, struct perffold *fold, const struct perfevent *p)
{
	*l = (struct live){
		.fold = fold,
		.events = perfevent_events(p),
		.trailer = perfevent_trailer(p),
	};
	return src_dir_open(&l->proc, "proc");
}

void live_close(struct live *l)
{
	hash_free(&l->processes);
	hash_free(&l->threads);
	buf_free(&l->record);
	if (l->fold)
		src_dir_close(&l->proc);
	*l = (struct live){ 0 };
}

/* ---- records made up ---- */

static void put_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void put_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void begin(struct live *l, uint32_t type, uint16_t misc)
{
	buf_reset(&l->record);
	put_u32(&l->record, type);
	buf_add(&l->record, &misc, sizeof(misc));
	buf_add(&l->record, "\0\0", 2);
}

/* A text with its NUL, up to a multiple of eight; then the trailer: no time, nobody. */
static void finish(struct live *l, struct text last)
{
	static const char zero[64];
	struct buf *b = &l->record;

	buf_add(b, last.data, last.len);
	buf_add(b, zero, 8 - last.len % 8);
	buf_add(b, zero, l->trailer);
	const uint16_t size = (uint16_t)b->len;

	memcpy(b->data + 6, &size, sizeof(size));
	struct perf_record r = { .bytes = (const unsigned char *)b->data };

	perf_record_header(&r, r.bytes);
	perffold_take(l->fold, l->events, &r);
}

static void tell_comm(struct live *l, uint32_t pid, uint32_t tid)
{
	char path[64];
	struct text comm;

	snprintf(path, sizeof(path), "%u/task/%u/comm", pid, tid);
	if (src_dir_read(&l->proc, path, &comm) < 0)
		return;
	while (comm.len && comm.data[comm.len - 1] == '\n')
		comm.len--;
	if (comm.len > 64)
		comm.len = 64;
	begin(l, RECORD_COMM, MODE_USER);
	put_u32(&l->record, pid);
	put_u32(&l->record, tid);
	finish(l, comm);
}

/* A line of /proc/PID/maps: "start-end perms pgoff major:minor inode  path" (proc(5)). */
static void tell_map(struct live *l, uint32_t pid, struct text line)
{
	struct scan s = scan_of(line);
	uint64_t start, end, pgoff, major, minor, inode;
	struct text perms, path;

	if (!scan_hex(&s, &start) || !scan_literal(&s, "-") || !scan_hex(&s, &end) ||
	    !scan_word(&s, &perms) || !scan_hex(&s, &pgoff) || !scan_hex(&s, &major) ||
	    !scan_literal(&s, ":") || !scan_hex(&s, &minor) || !scan_u64(&s, &inode))
		return;
	if (perms.len < 3 || perms.data[2] != 'x')
		return;
	scan_blanks(&s);
	path = scan_rest(&s);
	if (!path.len)
		path = TEXT("//anon");
	if (path.len > 4095)
		path.len = 4095;
	begin(l, RECORD_MMAP2, MODE_USER);
	put_u32(&l->record, pid);
	put_u32(&l->record, pid);
	put_u64(&l->record, start);
	put_u64(&l->record, end - start);
	/* for a heap of code the kernel's own records have the address */
	put_u64(&l->record, inode ? pgoff : start);
	put_u32(&l->record, (uint32_t)major);
	put_u32(&l->record, (uint32_t)minor);
	put_u64(&l->record, inode);
	put_u64(&l->record, 0);
	put_u32(&l->record, PROT_EXEC_BIT | 1);
	put_u32(&l->record, 2);        /* MAP_PRIVATE */
	finish(l, path);
}

static void tell_maps(struct live *l, uint32_t pid)
{
	char path[64];
	struct text maps, line;

	snprintf(path, sizeof(path), "%u/maps", pid);
	const int err = src_dir_read(&l->proc, path, &maps);

	if (err < 0) {
		if (err == -EACCES || err == -EPERM)
			l->refused++;
		else
			l->gone++;
		return;
	}
	for (struct scan s = scan_of(maps); scan_line(&s, &line);)
		tell_map(l, pid, line);
}

/* Groups that were there before: their paths by the number that samples have, a folder's inode. */
static void tell_cgroup(const char *path, const char *folder, unsigned depth, long parent, void *arg)
{
	struct live *l = arg;
	struct stat s;

	(void)depth;
	(void)parent;
	if (stat(arena_printf(src_arena(), "/%s", folder), &s) < 0)
		return;
	begin(l, RECORD_CGROUP, 0);
	put_u64(&l->record, s.st_ino);
	finish(l, text_of(path));
}

int live_know_cgroups(struct live *l)
{
	struct cgroup_layout layout;
	int err = cgroup_find(src_arena(), &layout);

	if (err >= 0 && layout.unified.version != 2)
		err = fail(ENOENT, "no unified control groups are mounted");
	return err < 0 ? err : cgroup_walk(&layout.unified, tell_cgroup, l);
}

/* ---- who is known ---- */

static bool is_new(struct hash *h, uint32_t number)
{
	void **slot = hash_number(h, number);

	if (*slot)
		return false;
	*slot = &known;
	return true;
}

static void forget(struct hash *h, uint32_t number)
{
	*hash_number(h, number) = NULL;
}

void live_know(struct live *l, uint32_t pid)
{
	if (is_new(&l->processes, pid) && pid)
		tell_maps(l, pid);
}

static void before_sample(struct live *l, const struct perf_record *r)
{
	const uint32_t pid = perf_u32(r->bytes + SAMPLE_PID_AT);
	const uint32_t tid = perf_u32(r->bytes + SAMPLE_PID_AT + 4);

	/* 0: the idle task; -1: it has ended already and lost its number */
	if (!pid || pid == UINT32_MAX)
		return;
	live_know(l, pid);
	if (is_new(&l->threads, tid))
		tell_comm(l, pid, tid);
}

/* A child has its parent's maps and name, if those are known. */
static void after_fork(struct live *l, const struct perf_record *r)
{
	const uint32_t pid = perf_u32(r->bytes + TASK_PID_AT);
	const uint32_t parent = perf_u32(r->bytes + TASK_PID_AT + 4);
	const uint32_t tid = perf_u32(r->bytes + TASK_PID_AT + 8);
	const uint32_t parent_tid = perf_u32(r->bytes + TASK_PID_AT + 12);

	if (pid != parent) {
		if (hash_find_number(&l->processes, parent))
			is_new(&l->processes, pid);
		else
			forget(&l->processes, pid);
	}
	if (hash_find_number(&l->threads, parent_tid))
		is_new(&l->threads, tid);
	else
		forget(&l->threads, tid);
}

static void after_comm(struct live *l, const struct perf_record *r)
{
	is_new(&l->threads, perf_u32(r->bytes + TASK_PID_AT + 4));
	/* exec: all its maps come as records */
	if (r->misc & MISC_COMM_EXEC)
		is_new(&l->processes, perf_u32(r->bytes + TASK_PID_AT));
}

static void after_exit(struct live *l, const struct perf_record *r)
{
	const uint32_t pid = perf_u32(r->bytes + TASK_PID_AT);
	const uint32_t tid = perf_u32(r->bytes + TASK_PID_AT + 8);

	forget(&l->threads, tid);
	if (pid == tid)
		forget(&l->processes, pid);
}

void live_take(struct live *l, const struct perf_record *r)
{
	if (r->size >= SAMPLE_PID_AT + 8) {
		if (r->type == RECORD_SAMPLE)
			before_sample(l, r);
		else if (r->type == RECORD_COMM)
			after_comm(l, r);
	}
	perffold_take(l->fold, l->events, r);
	if (r->size < TASK_PID_AT + 16)
		return;
	if (r->type == RECORD_FORK)
		after_fork(l, r);
	else if (r->type == RECORD_EXIT)
		after_exit(l, r);
}
