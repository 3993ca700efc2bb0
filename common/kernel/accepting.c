#include "common/kernel/accepting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/fail.h"
#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"

/* ---- what the kernel says ---- */

struct call {
	uint32_t number;
	enum accept_state state;
};

/* arch/x86/entry/syscalls/syscall_64.tbl */
static const struct call calls_x86_64[] = {
	{ 43, ACCEPT_WAITING }, { 288, ACCEPT_WAITING },       /* accept, accept4 */
	{ 7, ACCEPT_POLLING }, { 271, ACCEPT_POLLING },        /* poll, ppoll */
	{ 23, ACCEPT_POLLING }, { 270, ACCEPT_POLLING },       /* select, pselect6 */
	{ 232, ACCEPT_POLLING }, { 281, ACCEPT_POLLING }, { 441, ACCEPT_POLLING },     /* epoll */
	{ 426, ACCEPT_POLLING },                               /* io_uring_enter */
	{ 219, ACCEPT_UNKNOWN },                               /* restart_syscall: of what? */
	{ 0 },
};

/* include/uapi/asm-generic/unistd.h: arm64, riscv, loongarch */
static const struct call calls_generic[] = {
	{ 202, ACCEPT_WAITING }, { 242, ACCEPT_WAITING },
	{ 73, ACCEPT_POLLING }, { 72, ACCEPT_POLLING },
	{ 22, ACCEPT_POLLING }, { 441, ACCEPT_POLLING }, { 426, ACCEPT_POLLING },
	{ 128, ACCEPT_UNKNOWN },
	{ 0 },
};

static const struct call *calls_of(const char *machine)
{
	static const struct {
		const char *machine;
		const struct call *calls;
	} all[] = {
		{ "x86_64", calls_x86_64 }, { "aarch64", calls_generic },
		{ "riscv64", calls_generic }, { "loongarch64", calls_generic },
	};

	for (size_t i = 0; machine && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(machine, all[i].machine))
			return all[i].calls;
	return NULL;
}

enum accept_state accept_parse_syscall(struct text t, const char *machine, uint32_t fd)
{
	const struct call *call = calls_of(machine);
	struct scan s = scan_of(t);
	uint64_t number, first;

	if (scan_literal(&s, "running"))
		return ACCEPT_RUNNING;
	if (scan_literal(&s, "-1 "))
		return ACCEPT_ASLEEP;
	if (!call || !scan_u64(&s, &number))
		return ACCEPT_UNKNOWN;
	while (call->number && call->number != number)
		call++;
	if (!call->number)
		return ACCEPT_ASLEEP;
	if (call->state != ACCEPT_WAITING)
		return call->state;
	/* a register's upper half may hold anything: the kernel takes an int */
	if (!scan_literal(&s, " 0x") || !scan_hex(&s, &first))
		return ACCEPT_UNKNOWN;
	return (uint32_t)first == fd ? ACCEPT_WAITING : ACCEPT_ASLEEP;
}

/* The compiler may have cut a function in parts: "do_poll.constprop.0". */
enum accept_state accept_parse_wchan(struct text t)
{
	static const struct {
		const char *name;
		enum accept_state state;
	} functions[] = {
		{ "inet_csk_accept", ACCEPT_WAITING },
		{ "inet_csk_wait_for_connect", ACCEPT_WAITING },
		{ "ep_poll", ACCEPT_POLLING }, { "do_epoll_wait", ACCEPT_POLLING },
		{ "do_poll", ACCEPT_POLLING }, { "do_sys_poll", ACCEPT_POLLING },
		{ "do_select", ACCEPT_POLLING }, { "core_sys_select", ACCEPT_POLLING },
		{ "poll_schedule_timeout", ACCEPT_POLLING },
		{ "io_cqring_wait", ACCEPT_POLLING },
	};
	const char *dot = t.len ? memchr(t.data, '.', t.len) : NULL;
	const struct text name = { t.data, dot ? (size_t)(dot - t.data) : t.len };

	if (!t.len || text_is(t, "0"))
		return ACCEPT_UNKNOWN;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (text_is(name, functions[i].name))
			return functions[i].state;
	return ACCEPT_ASLEEP;
}

const char *accept_state_name(enum accept_state s)
{
	static const char *const names[] = {
		[ACCEPT_UNKNOWN] = "unknown", [ACCEPT_WAITING] = "in accept",
		[ACCEPT_POLLING] = "polling", [ACCEPT_RUNNING] = "running",
		[ACCEPT_RUNNABLE] = "runnable", [ACCEPT_ASLEEP] = "asleep",
		[ACCEPT_STOPPED] = "stopped",
	};

	return s < ACCEPT_STATES ? names[s] : names[ACCEPT_UNKNOWN];
}

/* ---- runnable, but does it run? ---- */

#define TICKS_NS 15000000u             /* a running thread's time may lag by a tick: 10 ms */

/* What the threads that were runnable in a frame had run until then. */
struct look {
	uint64_t generation;           /* of the source; 0: none */
	unsigned frame;
	struct hash run_ns;            /* tid -> uint64_t * */
	struct arena arena;
};
static struct look now, before;

static void begin_frame(void)
{
	const uint64_t generation = src_generation();
	const struct look oldest = before;

	if (now.generation == generation)
		return;

	before = now;
	now = oldest;
	hash_reset(&now.run_ns);
	arena_reset(&now.arena);
	now.generation = generation;
	now.frame = src_frame()->index;
}

static enum accept_state running_or_not(uint32_t tid, uint64_t run_ns)
{
	begin_frame();
	uint64_t *kept = arena_alloc(&now.arena, sizeof(*kept));
	const uint64_t *last = before.generation && before.frame + 1 == now.frame ?
		hash_find_number(&before.run_ns, tid) : NULL;

	*kept = run_ns;
	*hash_number(&now.run_ns, tid) = kept;
	return last && *last == run_ns && src_frame()->elapsed_ns >= TICKS_NS ? ACCEPT_RUNNABLE :
		ACCEPT_RUNNING;
}

/* ---- looking ---- */

static enum accept_state of_runnable(struct src_dir *task, uint32_t tid)
{
	struct task_schedstat stat;
	struct text t;
	char name[32];

	snprintf(name, sizeof(name), "%u/schedstat", tid);
	if (src_dir_read(task, name, &t) || task_parse_schedstat(t, &stat))
		return ACCEPT_RUNNING;
	return running_or_not(tid, stat.run_ns);
}

static enum accept_state of_sleeping(struct src_dir *task, uint32_t tid, uint32_t fd)
{
	enum accept_state state = ACCEPT_UNKNOWN;
	struct text t;
	char name[32];

	snprintf(name, sizeof(name), "%u/syscall", tid);
	if (!src_dir_read(task, name, &t))
		state = accept_parse_syscall(t, src_uname()->machine, fd);
	if (state != ACCEPT_UNKNOWN)
		return state;
	snprintf(name, sizeof(name), "%u/wchan", tid);
	return src_dir_read(task, name, &t) ? ACCEPT_UNKNOWN : accept_parse_wchan(t);
}

/* 0 for one that has exited. */
static char look_at(struct src_dir *task, uint32_t tid, uint32_t fd, enum accept_state *state)
{
	struct task_stat stat;
	struct text t;
	char name[32];

	snprintf(name, sizeof(name), "%u/stat", tid);
	int err = src_dir_read(task, name, &t);

	*state = ACCEPT_UNKNOWN;
	if (err == -ENOENT || err == -ESRCH)
		return 0;
	if (err || task_parse_stat(t, &stat))
		return '?';
	switch (stat.state) {
	case 'R':
		*state = of_runnable(task, tid);
		break;
	case 'S':
		*state = of_sleeping(task, tid, fd);
		break;
	case 'T':
	case 't':
		*state = ACCEPT_STOPPED;
		break;
	case 'Z':
	case 'X':
		return 0;
	default:
		*state = ACCEPT_ASLEEP;
	}
	return stat.state;
}

/* One that may be in accept and can't be seen leaves all but "yes" open. */
static enum accept_state sum_up(const struct accept_threads *a)
{
	static const enum accept_state order[] = {
		ACCEPT_WAITING, ACCEPT_POLLING, ACCEPT_UNKNOWN, ACCEPT_RUNNING, ACCEPT_RUNNABLE,
		ACCEPT_STOPPED, ACCEPT_ASLEEP,
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (a->in[order[i]])
			return order[i];
	return ACCEPT_UNKNOWN;
}

static int look_at_all(struct src_dir *task, uint32_t fd, struct accept_threads *threads)
{
	struct accept_threads a = { 0 };
	char letters[ACCEPT_STATES] = { 0 };
	const uint32_t *tids;
	size_t n;
	int err = src_dir_numbers(task, &tids, &n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		enum accept_state state = ACCEPT_UNKNOWN;
		char letter = i < ACCEPT_THREADS_MAX ? look_at(task, tids[i], fd, &state) : '?';

		if (!letter)
			continue;
		a.total++;
		a.in[state]++;
		if (!letters[state])
			letters[state] = letter;
	}
	if (!a.total)
		return fail(ENOENT, "/%s: all threads have exited", task->path);
	a.state = sum_up(&a);
	a.letter = letters[a.state];
	*threads = a;
	return 0;
}

int accept_look(uint32_t pid, uint32_t fd, struct accept_threads *threads)
{
	const uint64_t inside = src_netns(0);
	char path[32];
	struct src_dir task;

	snprintf(path, sizeof(path), "proc/%u/task", pid);
	int err = src_dir_open(&task, path);

	if (!err) {
		err = look_at_all(&task, fd, threads);
		src_dir_close(&task);
	}
	src_netns(inside);
	return err == -ESRCH ? -ENOENT : err;
}

enum accept_state accept_state(uint32_t pid, uint32_t fd)
{
	struct accept_threads threads;

	return accept_look(pid, fd, &threads) ? ACCEPT_UNKNOWN : threads.state;
}
