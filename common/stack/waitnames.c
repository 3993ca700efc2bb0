#include "common/stack/waitnames.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/fail.h"
#include "common/kernel/offcpu.h"
#include "common/kernel/task.h"
#include "common/stack/waitnames_impl.h"

#define NOTES_MAX 8

/* ---- processes ---- */

static void keep_space(struct waitnames *n, struct process *p)
{
	if (n->space_count >= WAITNAMES_SPACES_MAX) {
		n->spaces_dropped++;
		return;
	}
	struct space *s = arena_alloc(&n->arena, sizeof(*s));
	void **of_pid = hash_number(&n->spaces, p->pid);

	*s = (struct space){ p->pid, process_maps_share(p->maps), *of_pid, n->first_space };
	*of_pid = n->first_space = s;
	n->space_count++;
}

static void leaving(void *arg, struct process *p)
{
	if (p && p->maps)
		keep_space(arg, p);
}

/* Its file is opened while it is there. */
static void mapped(void *arg, struct process *p, const struct process_map *m)
{
	const struct symbols_map map = waitnames_map(m, p->pid, p->comm);

	symbols_prepare(((struct waitnames *)arg)->symbols, &map);
}

static void kernel_symbol(void *arg, uint64_t address, uint64_t size, struct text name)
{
	symbols_add_ksymbol(((struct waitnames *)arg)->symbols, address, size, name);
}

static void take(void *to, const struct perf_events *es, const struct perf_record *r)
{
	processes_take(((struct waitnames *)to)->processes, es, r);
}

/* An event that counts nothing: its rings tell of maps, names, births and deaths. */
static int open_events(struct waitnames *n)
{
	struct perfevent_options o = {
		.event = "dummy", .period = 1,
		.target = { .is_everything = true, .cgroup = -1 },
	};
	unsigned *cpus;
	int err = perfevent_cpus(&cpus, &o.target.cpu_count);

	if (err < 0)
		return err;
	o.target.cpus = cpus;
	err = perfevent_open(&o, &n->events);
	free(cpus);
	if (err >= 0)
		perfevent_enable(n->events);
	return err;
}

int waitnames_open(struct waitnames **opened)
{
	struct waitnames *n = mem_alloc(sizeof(*n));

	n->symbols = symbols_new(&(struct symbols_options){ .is_this_boot = true });
	n->fold = fold_new();
	n->processes = processes_new(&(struct process_hooks){
		.arg = n, .leaving = leaving, .mapped = mapped, .kernel_symbol = kernel_symbol,
	});
	if (open_events(n) < 0)
		n->blind = mem_strdup(fail_text());
	const int err = perflive_open(&n->live, take, n,
				      n->events ? perfevent_events(n->events) : &n->none,
				      n->events ? perfevent_trailer(n->events) : 0);

	if (err < 0) {
		waitnames_free(n);
		return err;
	}
	*opened = n;
	return 0;
}

const char *waitnames_blind(const struct waitnames *n)
{
	return n->blind;
}

void waitnames_want_cgroups(struct waitnames *n)
{
	n->wants_cgroups = true;
}

static void know_group(struct waitnames *n, uint32_t pid)
{
	void **slot = hash_number(&n->groups, pid);
	char name[32];
	struct text text, path;

	if (*slot)
		return;
	snprintf(name, sizeof(name), "%u/cgroup", pid);
	if (src_dir_read(&n->live.proc, name, &text) < 0)
		return;
	/* where groups are v1, that of the CPU's controller is what people name */
	if (task_parse_cgroup(text, "cpu", &path) || task_parse_cgroup(text, "", &path))
		*slot = arena_text(&n->arena, path);
}

void waitnames_know(struct waitnames *n, uint32_t pid)
{
	perflive_know(&n->live, pid);
	if (n->wants_cgroups)
		know_group(n, pid);
}

void waitnames_follow(struct waitnames *n, int timeout_ms)
{
	struct perf_record r;

	if (!n->events) {
		const struct timespec t = { timeout_ms / 1000, timeout_ms % 1000 * 1000000l };

		nanosleep(&t, NULL);
		return;
	}
	if (timeout_ms)
		perfevent_wait(n->events, -1, timeout_ms);
	perfevent_drain(n->events, false);
	while (perfevent_next(n->events, &r))
		perflive_take(&n->live, &r);
}

void waitnames_free(struct waitnames *n)
{
	if (!n)
		return;
	for (struct space *s = n->first_space; s; s = s->next)
		process_maps_release(s->maps);
	perflive_close(&n->live);
	processes_free(n->processes);
	perfevent_close(n->events);
	symbols_free(n->symbols);
	fold_free(n->fold);
	hash_free(&n->spaces);
	hash_free(&n->groups);
	hash_free(&n->addresses);
	hash_free(&n->frames);
	hash_free(&n->stacks);
	hash_free(&n->by_id);
	hash_free(&n->threads);
	hash_free(&n->chains);
	hash_free(&n->rows);
	hash_free(&n->nameless);
	free(n->frame_numbers);
	free(n->blind);
	arena_free(&n->arena);
	free(n);
}

/* ---- rows ---- */

static uint32_t thread_number(struct waitnames *n, uint64_t serial)
{
	void **slot = hash_number(&n->threads, serial);
	struct offcpu_thread t;

	if (*slot || !serial)
		return (uint32_t)(uintptr_t)*slot;
	struct wait_thread *made = waits_add_thread(n->waits);

	*slot = (void *)(uintptr_t)(n->waits->thread_count - 1);
	made->comm = "[lost]";
	if (offcpu_thread(serial, &t)) {
		*made = (struct wait_thread){
			.tid = t.tid, .tgid = t.tgid,
			.host_tid = t.host_tid, .host_tgid = t.host_tgid,
			.start_ns = t.start_ns, .is_kernel = t.is_kernel,
			.comm = arena_copy(&n->waits->arena, t.comm, strnlen(t.comm, 16)),
		};
		if (n->wants_cgroups) {
			know_group(n, t.tgid);
			made->cgroup = arena_strdup(&n->waits->arena,
						    hash_find_number(&n->groups, t.tgid));
		}
	}
	return (uint32_t)(uintptr_t)*slot;
}

static uint32_t pid_of(const struct waitnames *n, uint32_t thread)
{
	return (uint32_t)n->waits->threads[thread].tgid;
}

#define CHAIN_DEPTH_MAX 32

static uint32_t chain_number(struct waitnames *n, uint64_t id, unsigned depth)
{
	void **slot = hash_number(&n->chains, id);
	struct offcpu_chain c;

	if (*slot || !id || depth > CHAIN_DEPTH_MAX || !offcpu_chain(id, &c))
		return (uint32_t)(uintptr_t)*slot;
	const uint32_t thread = thread_number(n, c.thread);
	struct wait_chain made = {
		.thread = thread,
		.kernel = waitnames_kernel_stack(n, c.kernel),
		.waited_kernel = waitnames_kernel_stack(n, c.waited_kernel),
		.parent = chain_number(n, c.parent, depth + 1),
		.state = c.waited_state,
	};

	if (thread) {
		made.user = waitnames_user_stack(n, pid_of(n, thread), c.user);
		made.waited_user = waitnames_user_stack(n, pid_of(n, thread), c.waited_user);
	}
	*waits_add_chain(n->waits) = made;
	/* the table may have grown meanwhile */
	const uint32_t number = (uint32_t)(n->waits->chain_count - 1);

	*hash_number(&n->chains, id) = (void *)(uintptr_t)number;
	return number;
}

static void add_row(struct waitnames *n, const struct offcpu_row *r)
{
	struct wait_row row = { .thread = thread_number(n, r->key.thread) };

	if (!row.thread)               /* no serial: there was no room for its name */
		row.thread = thread_number(n, UINT64_MAX);
	row.user = waitnames_user_stack(n, pid_of(n, row.thread), r->key.user);
	row.kernel = r->key.kernel ? waitnames_kernel_stack(n, r->key.kernel) : 0;
	row.chain = chain_number(n, r->key.chain, 0);
	row.state = r->key.state;
	row.flags = r->key.flags;
	row.lock = r->key.lock;
	const uint64_t key = hash_bytes(&row, sizeof(row));
	void **slot = hash_number(&n->rows, key);

	if (!*slot) {
		*waits_add_row(n->waits) = row;
		*slot = (void *)(uintptr_t)n->waits->row_count;
	}
	struct wait_row *to = &n->waits->rows[(uintptr_t)*slot - 1];

	to->count += r->sum.count;
	to->sleep_ns += r->sum.sleep_ns;
	to->wait_ns += r->sum.wait_ns;
	to->throttled_ns += r->sum.throttled_ns;
	if (to->max_ns < r->sum.max_ns)
		to->max_ns = r->sum.max_ns;
}

static void add_lock(void *arg, uint64_t tgid, uint64_t address, uint64_t most)
{
	*waits_add_lock(arg) = (struct wait_lock){ tgid, address, most };
}

static void add_counts(struct waitnames *n)
{
	const struct offcpu_counts c = offcpu_counts();
	struct waits *w = n->waits;

	waits_add_count(w, "running_ns", offcpu_running_ns());
	waits_add_count(w, "intervals", c.intervals);
	waits_add_count(w, "resynced", c.resynced);
	waits_add_count(w, "unseen", c.unseen);
	waits_add_count(w, "lost_stacks", c.lost_stacks);
	waits_add_count(w, "lost_stack_ns", c.lost_stack_ns);
	waits_add_count(w, "lost_rows", c.lost_rows);
	waits_add_count(w, "lost_row_ns", c.lost_row_ns);
	waits_add_count(w, "lost_threads", c.lost_threads);
	waits_add_count(w, "lost_chains", c.lost_chains);
	waits_add_count(w, "backwards", c.backwards);
	waits_add_count(w, "spaces_dropped", n->spaces_dropped);
	waits_add_count(w, "nameless", n->nameless_count);
	waits_add_count(w, "refused", n->live.refused);
}

int waitnames_collect(struct waitnames *n, struct waits *w)
{
	struct offcpu_row *rows;
	const char *const *notes;
	struct perf_record r;
	size_t count;
	int err = offcpu_rows(&rows, &count);

	if (err < 0)
		return err;
	if (n->events) {
		perfevent_drain(n->events, true);
		while (perfevent_next(n->events, &r))
			perflive_take(&n->live, &r);
	}
	symbols_set_kernel(n->symbols, &(struct symbols_kernel){ 0 });
	n->waits = w;
	w->engine = "bpf";
	w->window_ns = offcpu_window_ns();
	for (size_t i = 0; i < count; i++)
		add_row(n, &rows[i]);
	free(rows);
	offcpu_locks(add_lock, w);
	add_counts(n);
	count = symbols_remarks(n->symbols, &notes);
	for (size_t i = 0; i < count && i < NOTES_MAX; i++)
		waits_add_note(w, notes[i]);
	return 0;
}
