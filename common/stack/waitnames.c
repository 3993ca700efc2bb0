#include "common/stack/waitnames.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/fail.h"
#include "common/base/hash.h"
#include "common/kernel/offcpu.h"
#include "common/kernel/task.h"
#include "common/stack/fold.h"
#include "common/stack/frame.h"
#include "common/stack/perfevent.h"
#include "common/stack/perflive.h"
#include "common/stack/process_maps.h"
#include "common/stack/symbols.h"

#define NOTES_MAX 8

/* What was mapped in a process, until it ended or that changed. */
struct space {
	uint32_t pid;
	struct process_maps *maps;
	struct space *older;           /* of the same pid */
	struct space *next;
};

struct named {                         /* what one address stands for */
	uint32_t first, count;         /* in frame_numbers, innermost first */
};

struct waitnames {
	struct perfevent *events;
	char *blind;
	struct perflive live;
	struct perf_events none;
	struct processes *processes;
	struct symbols *symbols;
	struct fold *fold;             /* names, each once */
	struct arena arena;
	struct hash spaces, groups;    /* by pid */
	struct space *first_space;
	size_t space_count;
	uint64_t spaces_dropped;
	bool wants_cgroups;

	/* while collecting */
	struct waits *waits;
	struct hash addresses, frames, stacks, by_id, threads, chains, rows,
		nameless;
	uint64_t nameless_count;       /* processes whose maps are not known */
	uint32_t *frame_numbers;
	size_t frame_number_count, frame_number_cap;
	uint64_t outside;              /* frames in no map: left out */
};

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

static struct symbols_map map_of(const struct process_map *m, uint32_t pid, const char *comm)
{
	struct process_object *o = m->object;

	return (struct symbols_map){
		.path = o->path, .build_id = o->build_id,
		.start = m->start, .end = m->end, .pgoff = m->pgoff, .inode = o->inode,
		.pid = pid, .comm = comm, .slot = o->is_file ? &o->slot : NULL,
	};
}

/* Its file is opened while it is there. */
static void mapped(void *arg, struct process *p, const struct process_map *m)
{
	const struct symbols_map map = map_of(m, p->pid, p->comm);

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

/* ---- names of addresses ---- */

/* A number for a frame of that name and object. */
static uint32_t frame_number(struct waitnames *n, uint32_t name, struct text object, bool is_kernel)
{
	const uint64_t key = hash_keyed((uint64_t)name << 1 | is_kernel, object.data, object.len);
	void **slot = hash_number(&n->frames, key);

	if (!*slot) {
		struct wait_frame *f = waits_add_frame(n->waits);

		f->name = arena_text(&n->waits->arena, fold_name_text(n->fold, name));
		f->object = object.len ? arena_text(&n->waits->arena, object) : NULL;
		f->is_kernel = is_kernel;
		*slot = (void *)(uintptr_t)(n->waits->frame_count - 1);
	}
	return (uint32_t)(uintptr_t)*slot;
}

static void add_number(struct waitnames *n, uint32_t number)
{
	n->frame_numbers = mem_grow(n->frame_numbers, &n->frame_number_cap,
				    n->frame_number_count + 1, sizeof(*n->frame_numbers));
	n->frame_numbers[n->frame_number_count++] = number;
}

static void name_found(struct waitnames *n, const struct symbol *found, uint64_t address,
		       bool is_kernel)
{
	struct frame_source source = {
		.symbol = found->name, .object = found->object,
		.address = address, .has_address = true,
	};
	static const struct frame_options plain;
	uint32_t names[FRAME_NAMES_MAX];
	char unnamed[512];

	if (!source.symbol.len)
		source.symbol = (struct text){ unnamed, symbols_unnamed(found, unnamed,
									sizeof(unnamed)) };
	size_t count = frame_names(n->fold, &plain, &source, names);

	while (count)
		add_number(n, frame_number(n, names[--count], found->object, is_kernel));
}

static void name_user(struct waitnames *n, const struct process_map *m, uint32_t pid,
		      uint64_t address, bool is_return)
{
	struct symbols_map map = map_of(m, pid, NULL);
	struct symbol found = { 0 };
	struct process_map below;

	if (process_map_covered(m, &below)) {
		if (!symbols_find(n->symbols, &map, address, is_return, &found)) {
			map = map_of(&below, pid, NULL);
			found = (struct symbol){ 0 };
			symbols_find(n->symbols, &map, address, is_return, &found);
		}
	} else {
		symbols_find(n->symbols, &map, address, is_return, &found);
	}
	name_found(n, &found, address, false);
}

/* map NULL: the kernel's. */
static struct named *name_address(struct waitnames *n, const struct process_map *m, uint32_t pid,
				  uint64_t address, bool is_return)
{
	const uint64_t key[] = {
		address << 1 | is_return, m ? pid : 0, m ? (uintptr_t)m->object : 0,
		m ? m->start - m->pgoff : 0,
	};
	void **slot = hash_number(&n->addresses, hash_bytes(key, sizeof(key)));

	if (!*slot) {
		struct named *made = arena_alloc(&n->arena, sizeof(*made));
		struct symbol found = { 0 };

		*slot = made;
		made->first = (uint32_t)n->frame_number_count;
		if (m) {
			name_user(n, m, pid, address, is_return);
		} else {
			symbols_find_kernel(n->symbols, NULL, address, is_return, &found);
			name_found(n, &found, address, true);
		}
		made->count = (uint32_t)n->frame_number_count - made->first;
	}
	return *slot;
}

/* ---- stacks ---- */

/* The number of a stack of these frames. */
static uint32_t stack_number(struct waitnames *n, const uint32_t *frames, uint32_t count,
			     bool is_kernel, bool is_cut)
{
	uint64_t key = hash_keyed(is_kernel * 2u + is_cut + 1u, frames, count * sizeof(*frames));

	for (;; key++) {
		void **slot = hash_number(&n->stacks, key);

		if (!*slot) {
			struct wait_stack *s = waits_add_stack(n->waits, frames, count);

			s->is_kernel = is_kernel;
			s->is_cut = is_cut;
			*slot = (void *)(uintptr_t)(n->waits->stack_count - 1);
		}
		const uint32_t number = (uint32_t)(uintptr_t)*slot;
		const struct wait_stack *s = &n->waits->stacks[number];

		if (s->count == count && s->is_kernel == is_kernel && s->is_cut == is_cut &&
		    !memcmp(s->frames, frames, count * sizeof(*frames)))
			return number;
	}
}

/* What took the stack, and the switch itself, say nothing of why it waits. */
static bool is_machinery(const char *name)
{
	static const char *const names[] = {
		"__schedule", "__switch_to_asm", "__switch_to", "__traceiter_", "__bpf_", "bpf_",
		"trampoline_", "stack_trace_save",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

#define FRAMES_NAMED_MAX 1024

struct frames {
	uint32_t numbers[FRAMES_NAMED_MAX], count;
};

static void add_named(const struct waitnames *n, struct frames *f, const struct named *named)
{
	for (uint32_t i = 0; i < named->count && f->count < FRAMES_NAMED_MAX; i++)
		f->numbers[f->count++] = n->frame_numbers[named->first + i];
}

static uint32_t name_kernel_stack(struct waitnames *n, const struct offcpu_stack *s)
{
	struct frames f = { .count = 0 };

	for (uint32_t i = 0; i < s->count; i++) {
		const struct named *named = name_address(n, NULL, 0, s->frames[i], true);
		const uint32_t first = named->count ? n->frame_numbers[named->first] : 0;

		if (f.count || !first || !is_machinery(n->waits->frames[first].name))
			add_named(n, &f, named);
	}
	return stack_number(n, f.numbers, f.count, true, false);
}

static uint32_t mapped_frames(const struct process_maps *maps, const struct offcpu_stack *s)
{
	uint32_t count = 0;

	for (uint32_t i = 0; maps && i < s->count; i++)
		count += process_maps_find(maps, s->frames[i] - (i > 0)) != NULL;
	return count;
}

/* The newest of all that the process had mapped in which the whole stack lies, or most of it. */
static const struct process_maps *maps_for(struct waitnames *n, uint32_t pid,
					   const struct offcpu_stack *s)
{
	const struct process *p = processes_thread(n->processes, pid, pid)->process;
	const struct process_maps *best = p->maps;
	uint32_t most = mapped_frames(p->maps, s);

	for (const struct space *old = hash_find_number(&n->spaces, pid); old && most < s->count;
	     old = old->older) {
		const uint32_t count = mapped_frames(old->maps, s);

		if (count > most) {
			most = count;
			best = old->maps;
		}
	}
	return best;
}

static bool is_libc(const char *object)
{
	const char *slash = object ? strrchr(object, '/') : NULL;
	const char *base = slash ? slash + 1 : object ? object : "";

	return !strncmp(base, "libc.", 5) || !strncmp(base, "libc-", 5) ||
	       !strncmp(base, "ld-", 3) || !strncmp(base, "libpthread", 10) ||
	       !strncmp(base, "ld.so", 5);
}

/* Whether a stack ends where threads begin. */
static bool is_whole(const struct waitnames *n, const struct frames *f)
{
	static const char *const roots[] = {
		"_start", "__libc_start_main", "__libc_start_call_main", "main", "start_thread",
		"clone", "clone3", "__clone", "__clone3", "thread_start", "__thread_start",
		"runtime.goexit", "runtime.mstart",
	};

	if (f->count < 2)
		return false;
	const struct wait_frame *last = &n->waits->frames[f->numbers[f->count - 1]];

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		if (!strncmp(last->name, roots[i], strlen(roots[i])))
			return true;
	return is_libc(last->object);
}

static uint32_t name_user_stack(struct waitnames *n, uint32_t pid, const struct offcpu_stack *s)
{
	const struct process_maps *maps = maps_for(n, pid, s);
	void **nameless = maps ? NULL : hash_number(&n->nameless, pid);
	struct frames f = { .count = 0 };
	bool is_cut = false;

	if (nameless && !*nameless) {
		*nameless = n;
		n->nameless_count++;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		const struct process_map *m =
			maps ? process_maps_find(maps, s->frames[i] - (i > 0)) : NULL;

		if (m) {
			add_named(n, &f, name_address(n, m, pid, s->frames[i], i > 0));
			continue;
		}
		/* what a register that is no frame pointer led to */
		n->outside++;
		is_cut = true;
		if (i)
			break;
		const struct symbol unknown = { 0 };
		const size_t at = n->frame_number_count;

		name_found(n, &unknown, s->frames[0], false);
		add_named(n, &f, &(struct named){ (uint32_t)at, 1 });
	}
	return stack_number(n, f.numbers, f.count, false, is_cut || !is_whole(n, &f));
}

static uint32_t kernel_stack(struct waitnames *n, uint64_t id)
{
	void **slot = hash_number(&n->by_id, id);
	struct offcpu_stack s;

	if (!*slot && offcpu_stack(id, &s))
		*slot = (void *)(uintptr_t)name_kernel_stack(n, &s);
	return (uint32_t)(uintptr_t)*slot;
}

/* The same addresses are others' code in another process. */
static uint32_t user_stack(struct waitnames *n, uint32_t pid, uint64_t id)
{
	void **slot = hash_number(&n->by_id, hash_keyed(pid, &id, sizeof(id)));
	struct offcpu_stack s;

	if (id && !*slot && offcpu_stack(id, &s))
		*slot = (void *)(uintptr_t)name_user_stack(n, pid, &s);
	return (uint32_t)(uintptr_t)*slot;
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
		.kernel = kernel_stack(n, c.kernel),
		.waited_kernel = kernel_stack(n, c.waited_kernel),
		.parent = chain_number(n, c.parent, depth + 1),
		.state = c.waited_state,
	};

	if (thread) {
		made.user = user_stack(n, pid_of(n, thread), c.user);
		made.waited_user = user_stack(n, pid_of(n, thread), c.waited_user);
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
	row.user = user_stack(n, pid_of(n, row.thread), r->key.user);
	row.kernel = r->key.kernel ? kernel_stack(n, r->key.kernel) : 0;
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
