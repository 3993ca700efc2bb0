#include "common/stack/perflive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/fail.h"
#include "common/base/scan.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/procmaps.h"

/* Where fields stand in records; include/uapi/linux/perf_event.h. */
#define SAMPLE_PID_AT 16               /* behind the header and the ip */
#define TASK_PID_AT 8                  /* COMM: pid tid; FORK, EXIT: pid ppid tid ptid */
/* of MMAP2, <sys/mman.h> */
#define PROT_READ_BIT 1u
#define PROT_EXEC_BIT 4u
#define MAP_PRIVATE_BIT 2u
#define PATH_BYTES_MAX 4095u

static char known;                     /* that something is in a hash at all */

int perflive_open(struct perflive *l, perflive_taker take, void *to, const struct perf_events *es,
		  size_t trailer)
{
	*l = (struct perflive){ .take = take, .to = to, .events = es, .trailer = trailer };
	return src_dir_open(&l->proc, "proc");
}

static void take_to_fold(void *to, const struct perf_events *es, const struct perf_record *r)
{
	perffold_take(to, es, r);
}

int perflive_open_fold(struct perflive *l, struct perffold *fold, const struct perf_events *es,
		       size_t trailer)
{
	return perflive_open(l, take_to_fold, fold, es, trailer);
}

void perflive_close(struct perflive *l)
{
	hash_free(&l->processes);
	hash_free(&l->threads);
	buf_free(&l->record);
	if (l->take)
		src_dir_close(&l->proc);
	*l = (struct perflive){ 0 };
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

static void begin(struct perflive *l, uint32_t type, uint16_t misc)
{
	buf_reset(&l->record);
	put_u32(&l->record, type);
	buf_add(&l->record, &misc, sizeof(misc));
	buf_add(&l->record, "\0\0", 2);
}

/* A text with its NUL, up to a multiple of eight; then the trailer: no time, nobody. */
static void finish(struct perflive *l, struct text last)
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
	l->take(l->to, l->events, &r);
}

static void tell_comm(struct perflive *l, uint32_t pid, uint32_t tid)
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

static void tell_map(struct perflive *l, uint32_t pid, const struct procmap *m)
{
	struct text path = m->path.len ? m->path : TEXT("//anon");

	if (path.len > PATH_BYTES_MAX)
		path.len = PATH_BYTES_MAX;
	begin(l, RECORD_MMAP2, MODE_USER);
	put_u32(&l->record, pid);
	put_u32(&l->record, pid);
	put_u64(&l->record, m->start);
	put_u64(&l->record, m->end - m->start);
	/* of what has no file the kernel's own records have the address */
	put_u64(&l->record, m->inode ? m->pgoff : m->start);
	put_u32(&l->record, (uint32_t)m->major);
	put_u32(&l->record, (uint32_t)m->minor);
	put_u64(&l->record, m->inode);
	put_u64(&l->record, 0);
	put_u32(&l->record, PROT_EXEC_BIT | PROT_READ_BIT);
	put_u32(&l->record, MAP_PRIVATE_BIT);
	finish(l, path);
}

static void tell_maps(struct perflive *l, uint32_t pid)
{
	char path[64];
	struct text maps, line;
	struct procmap m;

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
		if (procmap_parse(line, &m) && m.is_executable)
			tell_map(l, pid, &m);
}

/* Groups that were there before: their paths by the number that samples have, a folder's inode. */
static void tell_cgroup(const char *path, const char *folder, unsigned depth, long parent,
			void *arg)
{
	struct perflive *l = arg;
	struct stat s;

	(void)depth;
	(void)parent;
	if (stat(arena_printf(src_arena(), "/%s", folder), &s) < 0)
		return;
	begin(l, RECORD_CGROUP, 0);
	put_u64(&l->record, s.st_ino);
	finish(l, text_of(path));
}

int perflive_know_cgroups(struct perflive *l)
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

void perflive_know(struct perflive *l, uint32_t pid)
{
	if (is_new(&l->processes, pid) && pid)
		tell_maps(l, pid);
}

static void before_sample(struct perflive *l, const struct perf_record *r)
{
	const uint32_t pid = perf_u32(r->bytes + SAMPLE_PID_AT);
	const uint32_t tid = perf_u32(r->bytes + SAMPLE_PID_AT + 4);

	/* 0: the idle task; -1: it has ended already and lost its number */
	if (!pid || pid == UINT32_MAX)
		return;
	perflive_know(l, pid);
	if (is_new(&l->threads, tid))
		tell_comm(l, pid, tid);
}

/* A child has its parent's maps and name, if those are known. */
static void after_fork(struct perflive *l, const struct perf_record *r)
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

static void after_comm(struct perflive *l, const struct perf_record *r)
{
	is_new(&l->threads, perf_u32(r->bytes + TASK_PID_AT + 4));
	/* exec: all its maps come as records */
	if (r->misc & MISC_COMM_EXEC)
		is_new(&l->processes, perf_u32(r->bytes + TASK_PID_AT));
}

static void after_exit(struct perflive *l, const struct perf_record *r)
{
	const uint32_t pid = perf_u32(r->bytes + TASK_PID_AT);
	const uint32_t tid = perf_u32(r->bytes + TASK_PID_AT + 8);

	forget(&l->threads, tid);
	if (pid == tid)
		forget(&l->processes, pid);
}

void perflive_take(struct perflive *l, const struct perf_record *r)
{
	if (r->size >= SAMPLE_PID_AT + 8) {
		if (r->type == RECORD_SAMPLE)
			before_sample(l, r);
		else if (r->type == RECORD_COMM)
			after_comm(l, r);
	}
	l->take(l->to, l->events, r);
	if (r->size < TASK_PID_AT + 16)
		return;
	if (r->type == RECORD_FORK)
		after_fork(l, r);
	else if (r->type == RECORD_EXIT)
		after_exit(l, r);
}
