/* The window itself: begin, wait, end, names; and the same out of a saved run. */
#include <errno.h>
#include <stdlib.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/fail.h"
#include "common/base/na.h"
#include "common/kernel/offcpu.h"
#include "common/kernel/source.h"
#include "common/stack/waitnames.h"

#define FOLLOW_MS 200          /* how soon the maps of a new process are known, at the latest */

struct measuring {
	struct out *out;
	struct targets targets;
	struct waitnames *names;
};

static uint64_t to_ns(uint64_t us, uint64_t unless)
{
	if (is_na_u64(us))
		return unless;
	return us > UINT64_MAX / 1000 ? UINT64_MAX : us * 1000;
}

static int open_engine(const struct targets *t)
{
	return offcpu_open(&(struct offcpu_options){
		.pids = t->pids.items, .pid_count = t->pids.count,
		.tids = t->tids.items, .tid_count = t->tids.count,
		.inherits = t->inherits,
		.takes_all_new = t->takes_all_new,
		.only_user = window.user_threads,
		.only_kernel = window.kernel_threads,
		.no_user_stacks = window.kernel_only,
		.least_ns = to_ns(window.least_us, 0),
		.most_ns = to_ns(window.most_us, UINT64_MAX),
		.state_mask = window.state_mask,
		.waker_depth = !window.wakers ? 0 : is_na_u64(window.waker_depth) ? 1 :
			       (uint32_t)window.waker_depth,
		.storage = is_na_u64(window.storage) ? 0 : window.storage,
	});
}

/* Processes that may end within the window: what they have mapped is read while they are there. */
static void know_all(struct measuring *m)
{
	struct src_dir proc;
	const uint32_t *pids;
	size_t count;

	for (size_t i = 0; i < m->targets.pids.count; i++)
		waitnames_know(m->names, (uint32_t)m->targets.pids.items[i]);
	if ((m->targets.pids.count && !m->targets.tids.count) || src_dir_open(&proc, "proc") < 0)
		return;
	if (src_dir_numbers(&proc, &pids, &count) >= 0)
		for (size_t i = 0; i < count; i++)
			waitnames_know(m->names, pids[i]);
	src_dir_close(&proc);
}

static bool is_over(const struct measuring *m, uint64_t due_ns)
{
	if (run_is_interrupted() || src_now_ns() >= due_ns)
		return true;
	if (!m->targets.pids.count || m->targets.tids.count)
		return false;
	for (size_t i = 0; i < m->targets.pids.count; i++) {
		char path[32];

		snprintf(path, sizeof(path), "proc/%u", (unsigned)m->targets.pids.items[i]);
		if (src_exists(path))
			return false;
	}
	return true;
}

static int measure(struct measuring *m, struct waits *w)
{
	int err = targets_find(&m->targets);

	if (err >= 0)
		err = waitnames_open(&m->names);
	if (err >= 0)
		err = open_engine(&m->targets);
	if (err >= 0)
		err = offcpu_begin();
	if (err < 0)
		return err;
	const uint64_t due_ns = src_now_ns() + window.window_ns;

	if (window.by == BY_CGROUP)
		waitnames_want_cgroups(m->names);
	know_all(m);
	while (!is_over(m, due_ns)) {
		const uint64_t left_ms = (due_ns - src_now_ns()) / 1000000;

		waitnames_follow(m->names, left_ms < FOLLOW_MS ? (int)left_ms + 1 : FOLLOW_MS);
	}
	err = offcpu_end();
	return err < 0 ? err : waitnames_collect(m->names, targets_want, w);
}

static int fetch(void *arg, struct buf *reply)
{
	struct measuring m = { .out = arg };
	struct waits w = { 0 };
	/* what is read on the way is in the rows: it is not saved */
	src_sample_begin();
	const int err = measure(&m, &w);

	if (err >= 0)
		waits_write(&w, reply);
	if (m.names && waitnames_blind(m.names))
		out_note(m.out, "processes that begin and end within the window have no names: %s",
			 waitnames_blind(m.names));
	offcpu_close();
	waitnames_free(m.names);
	src_sample_end();
	targets_free(&m.targets);
	waits_free(&w);
	return err;
}

int measure_window(struct out *out, struct waits *w)
{
	struct text reply;
	const int err = src_call("bpf offcpu", fetch, out, &reply);

	return err < 0 ? err : waits_parse(reply, w);
}
