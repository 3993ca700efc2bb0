/*
 * Worker pools seen from outside: of a listener where somebody waits all the time, what each
 * process that has it open does at every poll. A worker that is idle sits in accept; one that waits
 * for events (epoll, poll, select, io_uring) may be idle or not: that can't be told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "applets/listenq/listenq.h"
#include "common/kernel/accepting.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/sockowner.h"
#include "common/kernel/source.h"
#include "common/kernel/task.h"

#define WORKERS_MAX 256                /* of all listeners together */
#define THREADS_MAX 128                /* of one process */

/* What all threads of a process had used at one moment. */
struct usage {
	uint64_t at_ns, run_ns, wait_ns, throttled_ns;
};

static struct worker {
	struct acceptq_worker sums;
	uint32_t fd;
	struct usage first;
} workers[WORKERS_MAX];
static size_t worker_count;

/* ---- one process ---- */

static uint64_t throttled_ns(uint32_t pid)
{
	struct cgroup_layout layout;
	struct cgroup_cpu cpu;
	struct text t, path;

	if (cgroup_find(src_arena(), &layout) < 0 || !layout.cpu.version ||
	    src_readf(&t, "proc/%u/cgroup", pid) < 0 ||
	    !task_parse_cgroup(t, layout.cpu.version == 1 ? "cpu" : "", &path))
		return NA_U64;
	const char *folder =
		cgroup_folder(src_arena(), &layout.cpu, arena_text(src_arena(), path));

	return !folder || cgroup_read_quota(&layout, folder, &cpu) < 0 ? NA_U64 : cpu.throttled_ns;
}

static void add_thread_usage(struct src_dir *tasks, uint32_t tid, struct usage *u)
{
	struct task_schedstat s;
	struct text t;
	char name[32];

	snprintf(name, sizeof(name), "%u/schedstat", tid);
	if (src_dir_read(tasks, name, &t) < 0 || task_parse_schedstat(t, &s) < 0) {
		u->run_ns = u->wait_ns = NA_U64;
		return;
	}
	u->run_ns = sum_u64(u->run_ns, s.run_ns);
	u->wait_ns = sum_u64(u->wait_ns, s.wait_ns);
}

static struct usage process_usage(uint32_t pid)
{
	struct usage u = { .at_ns = src_now_ns(), .run_ns = NA_U64, .wait_ns = NA_U64,
			   .throttled_ns = throttled_ns(pid) };
	const uint32_t *tids;
	struct src_dir tasks;
	size_t count = 0;

	if (src_dir_open(&tasks, arena_printf(src_arena(), "proc/%u/task", pid)) < 0)
		return u;
	if (src_dir_numbers(&tasks, &tids, &count) >= 0 && count <= THREADS_MAX) {
		u.run_ns = u.wait_ns = 0;
		for (size_t i = 0; i < count; i++)
			add_thread_usage(&tasks, tids[i], &u);
	}
	src_dir_close(&tasks);
	return u;
}

static uint64_t parent_of(uint32_t pid)
{
	struct task_stat stat;
	struct text t;

	return src_readf(&t, "proc/%u/stat", pid) < 0 || task_parse_stat(t, &stat) < 0 ?
		NA_U64 : stat.ppid;
}

/* ---- in the polls ---- */

void pools_start(void)
{
	worker_count = 0;
}

void pools_watch(const struct look *look, const struct listener *l)
{
	uint64_t netns = look->spaces[l->space].ns.inode, cookie = l->sock.cookie;
	size_t count = 0;

	if (!l->sock.inode || sockowner_load() < 0)
		return;
	const struct sock_owner *owners = sockowner_find(l->sock.inode, &count);

	/* half a pool says nothing */
	if (!sockowner_is_complete() || count > WORKERS_MAX - worker_count)
		return;
	src_sample_begin();
	for (size_t i = 0; i < count; i++)
		workers[worker_count++] = (struct worker){
			.sums = { .netns = netns, .cookie = cookie, .pid = owners[i].pid,
				  .parent = parent_of(owners[i].pid) },
			.fd = owners[i].fd,
			.first = process_usage(owners[i].pid),
		};
	src_sample_end();
}

void pools_sample(void)
{
	for (size_t i = 0; i < worker_count; i++) {
		struct acceptq_worker *w = &workers[i].sums;
		enum accept_state state = accept_state((uint32_t)w->pid, workers[i].fd);

		if (state == ACCEPT_UNKNOWN)
			continue;
		w->polls++;
		w->accepting += state == ACCEPT_WAITING;
		w->listening += state == ACCEPT_POLLING;
	}
}

void pools_collect(struct acceptq *sums)
{
	sums->workers = arena_alloc(src_arena(), (worker_count + 1) * sizeof(*sums->workers));
	src_sample_begin();
	for (size_t i = 0; i < worker_count; i++) {
		struct acceptq_worker *w = &sums->workers[sums->worker_count++];
		const struct usage *first = &workers[i].first;
		struct usage now = process_usage((uint32_t)workers[i].sums.pid);

		*w = workers[i].sums;
		w->span_ns = delta_u64(now.at_ns, first->at_ns);
		w->ran_ns = delta_u64(now.run_ns, first->run_ns);
		w->queued_ns = delta_u64(now.wait_ns, first->wait_ns);
		w->throttled_ns = delta_u64(now.throttled_ns, first->throttled_ns);
	}
	src_sample_end();
}

void pools_free(void)
{
	worker_count = 0;
}

/* ---- what it comes to ---- */

static bool is_of(const struct acceptq_worker *w, const struct look *look, const struct listener *l)
{
	return w->netns == look->spaces[l->space].ns.inode && w->cookie == l->sock.cookie;
}

/*
 * A parent that made the workers, and waits for them rather than for connections: always asleep, or
 * in its event loop (nearly) all the time although a connection waits. One that leaves its event
 * loop now and then may be who accepts.
 */
static bool is_master(const struct acceptq *polls, const struct acceptq_worker *m)
{
	if (m->accepting || (m->listening && (double)m->listening < 0.9 * (double)m->polls))
		return false;
	for (size_t i = 0; i < polls->worker_count; i++) {
		const struct acceptq_worker *w = &polls->workers[i];

		if (w->parent == m->pid && w->netns == m->netns && w->cookie == m->cookie)
			return true;
	}
	return false;
}

static void add_worker(struct pool *p, const struct acceptq_worker *w)
{
	p->workers++;
	p->idle += w->accepting > 0;
	p->events += !w->accepting && w->listening > 0;
	if (w->polls < p->polls)
		p->polls = w->polls;
	p->span_ns = w->span_ns;
	p->ran_ns = sum_u64(p->ran_ns, w->ran_ns);
	p->queued_ns = sum_u64(p->queued_ns, w->queued_ns);
	if (w->throttled_ns != NA_U64 &&
	    (p->throttled_ns == NA_U64 || w->throttled_ns > p->throttled_ns))
		p->throttled_ns = w->throttled_ns;
}

bool pool_sum(const struct look *look, const struct listener *l, struct pool *p)
{
	const struct acceptq *polls = &look->polls;

	*p = (struct pool){ .polls = NA_U64, .throttled_ns = NA_U64 };
	for (size_t i = 0; i < polls->worker_count; i++) {
		const struct acceptq_worker *w = &polls->workers[i];

		if (!is_of(w, look, l))
			continue;
		p->sharing++;
		if (!is_master(polls, w))
			add_worker(p, w);
	}
	return p->workers > 0;
}
