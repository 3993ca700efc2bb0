/* Whom -p, --tid, -G and -C mean, when the window begins. */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>

#include "applets/offcpu/offcpu.h"
#include "common/base/fail.h"
#include "common/base/mem.h"
#include "common/kernel/cgroup.h"
#include "common/kernel/source.h"

static void add(struct opt_numbers *n, uint64_t number)
{
	n->items = mem_grow(n->items, &n->cap, n->count + 1, sizeof(*n->items));
	n->items[n->count++] = number;
}

static int check_process(uint64_t pid)
{
	if (src_exists(arena_printf(src_arena(), "proc/%llu/task", (unsigned long long)pid)))
		return 0;
	return fail(ESRCH, "no process %llu", (unsigned long long)pid);
}

/* ---- -G ---- */

static void add_group(const struct cgroup_hierarchy *h, const char *folder, struct targets *t)
{
	const uint32_t *tids;
	struct src_names names;
	size_t count;

	if (cgroup_read_threads(h, folder, &tids, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (tids[i])
			add(&t->tids, tids[i]);
	if (src_is_leaf(folder) || src_list(folder, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		const char *below = arena_printf(src_arena(), "%s/%s", folder, names.items[i]);

		if (src_exists(arena_printf(src_arena(), "%s/cgroup.procs", below)))
			add_group(h, below, t);
	}
}

/* A path as in /proc/PID/cgroup, or the folder itself. NULL: not in this hierarchy. */
static const char *folder_in(const struct cgroup_hierarchy *h)
{
	const char *folder;

	if (!h->version)
		return NULL;
	if (!strncmp(window.cgroup, "/sys/", 5)) {
		folder = window.cgroup + 1;
		const size_t mount = strlen(h->mount);

		if (strncmp(folder, h->mount, mount) != 0 ||
		    (folder[mount] && folder[mount] != '/'))
			return NULL;
	} else {
		const char *path = window.cgroup[0] == '/' ? window.cgroup :
			arena_printf(src_arena(), "/%s", window.cgroup);

		folder = cgroup_folder(src_arena(), h, path);
	}
	if (!folder || !src_exists(arena_printf(src_arena(), "%s/cgroup.procs", folder)))
		return NULL;
	return folder;
}

static int find_group(struct targets *t)
{
	struct cgroup_layout l;
	int err = cgroup_find(src_arena(), &l);

	if (err < 0)
		return err;
	const struct cgroup_hierarchy *all[] = {
		&l.cpu, &l.unified, &l.memory, &l.cpuacct, &l.cpuset,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const char *folder = folder_in(all[i]);

		if (!folder)
			continue;
		add_group(all[i], folder, t);
		t->inherits = true;
		/* without a thread now, threads may still come: none of them can be ours */
		return t->tids.count ? 0 : fail(ESRCH, "-G %s: no thread is in it", window.cgroup);
	}
	return fail(ENOENT, "-G %s: no such control group", window.cgroup);
}

/* ---- -C ---- */

static bool name_matches(const regex_t *re, struct text comm)
{
	while (comm.len && comm.data[comm.len - 1] == '\n')
		comm.len--;
	return !regexec(re, arena_text(src_arena(), comm), 0, NULL, 0);
}

static int find_names(struct targets *t)
{
	struct src_dir proc, task;
	const uint32_t *pids, *tids;
	size_t pid_count, tid_count;
	struct text comm;
	regex_t re;
	int err = src_dir_open(&proc, "proc");

	if (err < 0)
		return err;
	if (regcomp(&re, window.comm, REG_EXTENDED | REG_NOSUB)) {
		src_dir_close(&proc);
		return fail(EINVAL, "-C: '%s' is not a regular expression", window.comm);
	}
	err = src_dir_numbers(&proc, &pids, &pid_count);
	for (size_t i = 0; err >= 0 && i < pid_count; i++) {
		const char *path = arena_printf(src_arena(), "proc/%u/task", pids[i]);

		if (src_dir_open(&task, path) < 0)
			continue;
		if (src_dir_numbers(&task, &tids, &tid_count) < 0)
			tid_count = 0;
		for (size_t k = 0; k < tid_count; k++)
			if (src_dir_read(&task, arena_printf(src_arena(), "%u/comm", tids[k]),
					 &comm) >= 0 && name_matches(&re, comm))
				add(&t->tids, tids[k]);
		src_dir_close(&task);
	}
	src_dir_close(&proc);
	regfree(&re);
	t->takes_all_new = true;
	/* so that there is a filter at all */
	if (!t->tids.count)
		add(&t->tids, INT32_MAX);
	return err;
}

int targets_find(struct targets *t)
{
	int err = 0;

	*t = (struct targets){ 0 };
	for (size_t i = 0; i < window.pids.count && err >= 0; i++) {
		err = check_process(window.pids.items[i]);
		add(&t->pids, window.pids.items[i]);
	}
	for (size_t i = 0; i < window.tids.count && err >= 0; i++) {
		err = check_process(window.tids.items[i]);
		add(&t->tids, window.tids.items[i]);
	}
	if (err >= 0 && window.cgroup)
		err = find_group(t);
	else if (err >= 0 && window.comm && !t->pids.count && !t->tids.count)
		err = find_names(t);
	t->is_all = !t->pids.count && !t->tids.count;
	return err;
}

void targets_free(struct targets *t)
{
	free(t->pids.items);
	free(t->tids.items);
}

static bool has(const struct opt_numbers *n, uint64_t number)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->items[i] == number)
			return true;
	return false;
}

bool targets_want(const struct wait_thread *t)
{
	static regex_t re;
	static bool is_ready;

	if ((window.pids.count || window.tids.count) && !has(&window.pids, t->tgid) &&
	    !has(&window.tids, t->tid))
		return false;
	if ((window.user_threads && t->is_kernel) || (window.kernel_threads && !t->is_kernel))
		return false;
	if (!window.comm)
		return true;
	if (!is_ready && regcomp(&re, window.comm, REG_EXTENDED | REG_NOSUB))
		return true;
	is_ready = true;
	return !regexec(&re, t->comm, 0, NULL, 0);
}
