/*
 * Threads: two small files of each, read twice, and what moved between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applets/cpuwait/cpuwait.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/report/redact.h"

/* Above this many threads the first look reads switch counts only of those most likely to be shown.
 */
#define SWITCHES_AT_START_MAX 1000
#define FILE_NAME_MAX 64

static char *append_number(char *p, uint32_t n)
{
	char digits[10];
	unsigned len = 0;

	do
		digits[len++] = (char)('0' + n % 10);
	while (n /= 10);
	while (len)
		*p++ = digits[--len];
	return p;
}

/* "TID/NAME" */
static const char *thread_file(char to[FILE_NAME_MAX], uint32_t tid, const char *name)
{
	char *p = append_number(to, tid);

	*p++ = '/';
	memcpy(p, name, strlen(name) + 1);
	return to;
}

struct thread *threads_find(const struct threads *t, uint32_t tid)
{
	uintptr_t at = (uintptr_t)hash_find_number(&t->by_tid, tid);

	return at ? &t->items[at - 1] : NULL;
}

static void fill_stat(struct thread *t, const struct task_stat *stat)
{
	t->comm_len =
		(uint8_t)(stat->comm.len < sizeof(t->comm) ? stat->comm.len : sizeof(t->comm) - 1);
	memcpy(t->comm, stat->comm.data, t->comm_len);
	t->state = stat->state;
	t->start_ticks = stat->start_ticks;
	t->utime_ticks = stat->utime_ticks;
	t->stime_ticks = stat->stime_ticks;
	t->is_kernel = stat->flags != NA_U64 && stat->flags & TASK_FLAG_KTHREAD;
	t->is_realtime = stat->rt_priority != 0 && stat->rt_priority != NA_U64;
	t->nice = stat->nice == NA_I64 ? 0 : (int8_t)stat->nice;
	t->cpu = stat->cpu == NA_U64 ? CPU_UNKNOWN : (uint32_t)stat->cpu;
}

/* Remembers the first file of this look that made no sense, and why. */
static void note_garbled(struct threads *now, const struct src_dir *dir, const char *name)
{
	/* the text starts with the file's own name */
	int folder = (int)(strrchr(name, '/') - name);

	if (!now->garbled++)
		now->garbled_text = arena_printf(src_arena(), "/%s/%.*s/%s", dir->path, folder,
						 name, fail_text());
}

/* That a thread is gone is no trouble, that it is another user's is a remark, anything else is
 * trouble. */
static void note_unreadable(struct threads *now, int err)
{
	if (err == -EACCES || err == -EPERM)
		now->unreadable++;
	else if (err != -ENOENT && err != -ESRCH && !now->trouble)
		now->trouble = arena_strdup(src_arena(), fail_text());
}

static struct thread unknown_thread(uint32_t tgid, uint32_t tid)
{
	return (struct thread){
		.tid = tid, .tgid = tgid, .group = -1, .state = '?', .is_selected = true,
		.run_ns = NA_U64, .raw_wait_ns = NA_U64, .runs = NA_U64, .voluntary = NA_U64,
		.involuntary = NA_U64, .start_ticks = NA_U64, .utime_ticks = NA_U64,
		.stime_ticks = NA_U64, .cpu = CPU_UNKNOWN,
	};
}

/* One thread's two files, below its process's task folder; false if it is gone or can't be read. */
static bool add_thread(struct threads *now, struct src_dir *dir, uint32_t tgid, uint32_t tid)
{
	char name[FILE_NAME_MAX];

	if (threads_find(now, tid))
		return true;
	struct thread t = unknown_thread(tgid, tid);
	struct task_schedstat schedstat;
	struct task_stat stat;
	struct text text;
	int err = src_dir_read(dir, thread_file(name, tid, "schedstat"), &text);
	bool is_missing = err == -ENOENT;

	if (err >= 0 && task_parse_schedstat(text, &schedstat) >= 0) {
		t.run_ns = schedstat.run_ns;
		t.raw_wait_ns = schedstat.wait_ns;
		t.runs = schedstat.runs;
		now->has_schedstat |= (schedstat.run_ns | schedstat.wait_ns) != 0;
	} else if (err >= 0) {
		note_garbled(now, dir, name);
	}
	err = src_dir_read(dir, thread_file(name, tid, "stat"), &text);
	if (err < 0) {
		note_unreadable(now, err);
		return false;
	}
	if (is_missing && !now->missing_schedstat)
		now->missing_schedstat = tid;
	if (task_parse_stat(text, &stat) < 0)
		note_garbled(now, dir, name);
	else
		fill_stat(&t, &stat);
	now->items = mem_grow(now->items, &now->cap, now->count + 1, sizeof(*now->items));
	now->items[now->count++] = t;
	*hash_number(&now->by_tid, tid) = (void *)(uintptr_t)now->count;
	return true;
}

static int open_tasks(struct src_dir *dir, uint32_t pid)
{
	char path[FILE_NAME_MAX] = "proc/";

	memcpy(append_number(path + 5, pid), "/task", 6);
	return src_dir_open(dir, path);
}

static int add_process(struct threads *now, uint32_t pid)
{
	struct src_dir dir;
	const uint32_t *tids;
	size_t count;
	int err = open_tasks(&dir, pid);

	if (err < 0)
		return err;
	err = src_dir_numbers(&dir, &tids, &count);
	for (size_t i = 0; err >= 0 && i < count; i++)
		add_thread(now, &dir, pid, tids[i]);
	src_dir_close(&dir);
	return err;
}

static int add_all(struct threads *now)
{
	struct src_dir proc;
	const uint32_t *pids;
	size_t count;
	int err = src_dir_open(&proc, "proc");

	if (err < 0)
		return err;
	err = src_dir_numbers(&proc, &pids, &count);
	src_dir_close(&proc);
	for (size_t i = 0; err >= 0 && i < count; i++) {
		int gone = add_process(now, pids[i]);

		if (gone < 0)
			note_unreadable(now, gone);
	}
	return err;
}

/* Whose task folder has this thread: its status says, also under the name of a thread that is not
 * the first. */
static uint32_t find_tgid(uint32_t tid)
{
	struct task_status status;
	struct text text;
	struct src_dir proc;
	const uint32_t *pids;
	size_t count = 0;

	if (src_readf(&text, "proc/%u/status", tid) >= 0 &&
	    task_parse_status(text, &status) >= 0 && status.tgid != NA_U64)
		return (uint32_t)status.tgid;
	/* a saved run that looked at whole processes did not read that name */
	if (src_is_live() || src_dir_open(&proc, "proc") < 0)
		return tid;
	if (src_dir_numbers(&proc, &pids, &count) < 0)
		count = 0;
	src_dir_close(&proc);
	for (size_t i = 0; i < count; i++)
		if (src_exists(arena_printf(src_arena(), "proc/%u/task/%u/stat", pids[i], tid)))
			return pids[i];
	return tid;
}

static bool add_tid(struct threads *now, uint32_t tid)
{
	uint32_t tgid;
	struct src_dir dir;

	if (threads_find(now, tid))
		return true;
	tgid = find_tgid(tid);
	if (open_tasks(&dir, tgid) < 0)
		return false;
	bool is_there = add_thread(now, &dir, tgid, tid);

	src_dir_close(&dir);
	return is_there;
}

void threads_add(struct threads *now, uint32_t tid)
{
	if (!threads_find(now, tid) && add_tid(now, tid))
		now->items[now->count - 1].is_selected = false;
}

static int add_group(struct threads *now, const char *path)
{
	for (size_t i = 0; i < now->group_tid_count; i++)
		add_tid(now, now->group_tids[i]);
	return now->group_tid_count ? 0 : fail(ENOENT, "no thread in control group %s",
						 redact_name(src_arena(), NAME_CGROUP, path));
}

static void select_by_name(struct threads *now, const struct selection *selection)
{
	for (size_t i = 0; i < now->count; i++) {
		struct thread *t = &now->items[i];

		t->comm[t->comm_len] = '\0';
		t->is_selected = regexec(&selection->comm_pattern, t->comm, 0, NULL, 0) == 0;
	}
}

/* Up to 5.13 a kernel that does not keep the numbers prints "0 0 0": that is unknown, not 0. */
static void forget_schedstat(struct threads *now)
{
	for (size_t i = 0; i < now->count; i++)
		now->items[i].run_ns = now->items[i].raw_wait_ns = now->items[i].runs = NA_U64;
}

/* The id of a thread that is not its process's first is no process, although /proc has a folder of
 * that name. */
static void add_asked_process(struct threads *now, uint64_t pid)
{
	uint32_t tgid = pid > UINT32_MAX ? 0 : find_tgid((uint32_t)pid);

	if (tgid == pid && add_process(now, tgid) >= 0)
		return;
	now->missing_pid = pid;
	now->inner_of = tgid == pid ? 0 : tgid;
}

int threads_collect(struct threads *now, const struct selection *selection)
{
	int err = 0;

	now->count = now->unreadable = now->garbled = 0;
	now->missing_pid = now->missing_tid = 0;
	now->has_schedstat = false;
	now->missing_schedstat = 0;
	now->trouble = NULL;
	now->inner_of = 0;
	hash_reset(&now->by_tid);
	for (size_t i = 0; i < selection->pids.count; i++)
		add_asked_process(now, selection->pids.items[i]);
	for (size_t i = 0; i < selection->tids.count; i++)
		if (selection->tids.items[i] > UINT32_MAX ||
		    !add_tid(now, (uint32_t)selection->tids.items[i]))
			now->missing_tid = selection->tids.items[i];
	if (selection->cgroup)
		err = add_group(now, selection->cgroup);
	else if (!selection->pids.count && !selection->tids.count)
		err = add_all(now);
	if (selection->comm)
		select_by_name(now, selection);
	if (!now->has_schedstat)
		forget_schedstat(now);
	return err;
}

void threads_read_switches(struct thread *t)
{
	struct task_status status;
	struct text text;

	if (t->voluntary != NA_U64 ||
	    src_readf(&text, "proc/%u/task/%u/status", t->tgid, t->tid) < 0 ||
	    task_parse_status(text, &status) < 0)
		return;
	t->voluntary = status.voluntary;
	t->involuntary = status.involuntary;
}

static int by_total_wait(const void *a, const void *b)
{
	const struct thread *x = *(struct thread *const *)a, *y = *(struct thread *const *)b;

	if (x->raw_wait_ns != y->raw_wait_ns)
		return x->raw_wait_ns < y->raw_wait_ns ? 1 : -1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Which threads need their switch counts at this look already, before it is known what will be
 * shown. */
static void read_switches_ahead(struct threads *now, bool is_first)
{
	bool all = !now->has_schedstat || cpuwait.is_by_process ||
		   (is_first && now->count <= SWITCHES_AT_START_MAX);

	for (size_t i = 0; i < now->count; i++)
		if (all || now->items[i].state == 'R')
			threads_read_switches(&now->items[i]);
	if (all || !is_first)
		return;
	struct thread **order = mem_alloc(now->count * sizeof(struct thread *));

	for (size_t i = 0; i < now->count; i++)
		order[i] = &now->items[i];
	qsort(order, now->count, sizeof(struct thread *), by_total_wait);
	for (size_t i = 0; i < SWITCHES_AT_START_MAX; i++)
		threads_read_switches(order[i]);
	free(order);
}

static bool was_runnable_throughout(const struct thread *t, const struct thread *b)
{
	if (t->state != 'R' || b->state != 'R')
		return false;
	if (t->voluntary != NA_U64 && t->voluntary == b->voluntary)
		return true;
	/* nothing moved at all; on nohz_full CPUs schedstat alone may stand still for a second */
	return t->run_ns == b->run_ns && t->raw_wait_ns == b->raw_wait_ns && t->runs == b->runs &&
	       t->utime_ticks == b->utime_ticks && t->stime_ticks == b->stime_ticks;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * schedstat counts a wait when it ends. A thread that was runnable throughout waited whenever it
 * did not run, but for time the hypervisor or interrupts took, which the scheduler's clock may
 * leave out of both. What it waited more than schedstat says is remembered as credited, and taken
 * off again when schedstat catches up.
 */
static void move_wait(struct thread *t, const struct thread *b, uint64_t interval_ns,
		      uint64_t taken_ns)
{
	t->ran_ns = delta_u64(t->run_ns, b->run_ns);
	t->raw_waited_ns = delta_u64(t->raw_wait_ns, b->raw_wait_ns);
	t->ran_times = delta_u64(t->runs, b->runs);
	if (t->ran_ns == NA_U64 || t->raw_waited_ns == NA_U64)
		return;
	uint64_t counted = less(t->raw_waited_ns, b->credited_ns);

	t->waited_ns = counted;
	if (was_runnable_throughout(t, b)) {
		uint64_t most = less(interval_ns, t->ran_ns), least = less(most, taken_ns);

		t->waited_ns = counted > most ? most : counted < least ? least : counted;
	}
	t->credited_ns = less(b->credited_ns + t->waited_ns, t->raw_waited_ns);
}

/* The time it ran is known to the ns, its split only in ticks: the ticks give the shares. */
static void move_cpu_time(struct thread *t, const struct thread *b)
{
	uint64_t user = delta_u64(t->utime_ticks, b->utime_ticks),
		 system = delta_u64(t->stime_ticks, b->stime_ticks);

	if (user == NA_U64 || system == NA_U64)
		return;
	if (t->ran_ns == NA_U64) {
		double tick_ns = 1e9 / (double)src_clock_ticks();

		t->user_ns = (double)user * tick_ns;
		t->system_ns = (double)system * tick_ns;
		return;
	}
	if (user + system == 0) {
		user = t->utime_ticks;
		system = t->stime_ticks;
	}
	double share = user + system ? (double)user / (double)(user + system) : 1;

	t->user_ns = (double)t->ran_ns * share;
	t->system_ns = (double)t->ran_ns - t->user_ns;
}

/* Time that neither tasks nor idle had on this CPU: steal and interrupts, in ticks. */
static uint64_t taken_from_cpu(const struct look *now, const struct look *before, uint32_t cpu)
{
	if (cpu >= now->cpus.cpu_count || cpu >= before->cpus.cpu_count)
		return NA_U64;
	const struct cpu_times *n = &now->cpus.cpus[cpu], *b = &before->cpus.cpus[cpu];
	const uint64_t parts[] = { delta_u64(n->steal, b->steal), delta_u64(n->irq, b->irq),
				   delta_u64(n->softirq, b->softirq) };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sum += parts[i] == NA_U64 ? 0 : parts[i];
	return (uint64_t)((double)sum * 1e9 / (double)src_clock_ticks());
}

/* A start time that could not be read proves nothing. */
static bool is_same(const struct thread *t, const struct thread *b)
{
	return b && (b->start_ticks == t->start_ticks || b->start_ticks == NA_U64 ||
		     t->start_ticks == NA_U64);
}

/*
 * exec from a thread that is not the first gives it the first one's id and start time, but it keeps
 * its own counters: what these seem to have moved then is no movement.
 */
static bool was_replaced(const struct thread *t, const struct thread *b, uint64_t interval_ns)
{
	uint64_t moved = sum_u64(delta_u64(t->run_ns, b->run_ns),
				 delta_u64(t->raw_wait_ns, b->raw_wait_ns));
	bool has_same_name = t->comm_len == b->comm_len && !memcmp(t->comm, b->comm, t->comm_len);

	return !has_same_name && (moved == NA_U64 || moved > interval_ns + interval_ns / 10);
}

void threads_move(struct look *look, const struct look *look_before, uint64_t interval_ns)
{
	struct threads *now = &look->threads;
	const struct threads *before = &look_before->threads;
	bool is_first = !before->count;
	unsigned same = 0;

	read_switches_ahead(now, is_first);
	now->started = 0;
	for (size_t i = 0; i < now->count; i++) {
		struct thread *t = &now->items[i];
		const struct thread *b = threads_find(before, t->tid);

		t->ran_ns = t->waited_ns = t->raw_waited_ns = t->ran_times = NA_U64;
		t->throttled_low_ns = t->throttled_high_ns = NA_U64;
		t->voluntary_before = t->involuntary_before = NA_U64;
		t->user_ns = t->system_ns = NA_F64;
		t->is_new = !is_same(t, b) || (!is_first && was_replaced(t, b, interval_ns));
		if (t->is_new) {
			now->started++;
			continue;
		}
		same++;
		t->has_moved_cpu = t->cpu != b->cpu;
		t->voluntary_before = b->voluntary;
		t->involuntary_before = b->involuntary;
		move_wait(t, b, interval_ns, taken_from_cpu(look, look_before, t->cpu));
		move_cpu_time(t, b);
	}
	now->exited = (unsigned)before->count - same;
}

uint64_t thread_ran_ns(const struct thread *t)
{
	return t->is_new ? t->run_ns : t->ran_ns;
}

bool thread_split_is_known(const struct thread *t, uint64_t interval_ns)
{
	return t->throttled_high_ns != NA_U64 && t->throttled_low_ns != NA_U64 &&
	       t->throttled_high_ns - t->throttled_low_ns <= interval_ns / 10;
}

void threads_free(struct threads *t)
{
	free(t->items);
	free(t->group_tids);
	hash_free(&t->by_tid);
	*t = (struct threads){ 0 };
}
