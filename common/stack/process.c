/* Processes and their threads; what each record does to them. */
#include "common/stack/process.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/stack/process_maps.h"

#define NAMESPACE_PID 3                /* their order in a NAMESPACES record */
#define NAMESPACE_MOUNT 5
#define KSYMBOL_GONE 1u
#define PATH_BYTES_MAX 4096            /* longer names are cut */

struct exited {
	uint32_t tid;
	uint64_t birth;                /* of that thread: its number may have a new owner since */
};

struct processes {
	struct process_hooks hooks;
	struct arena arena;            /* names and objects */
	struct hash threads, by_pid;   /* by tid, by pid */
	struct hash strings, objects, cgroups;
	struct process_maps *kernel_maps, *guest_maps, *ksymbols;
	struct process_kernel kernel;
	struct process_counts counts;
	uint64_t lost_samples;         /* all that records told */
	uint64_t epochs;               /* a number for each change that needs one */
	struct exited exited[PROCESS_EXITED_KEPT];     /* a ring */
	uint64_t exits;
	struct process *first_process;
	struct thread *first_thread;
	struct process other;          /* whose limit is reached */
	struct thread other_thread;
};

/* A record's fields: where they are, and where its own part ends. */
struct fields {
	const unsigned char *bytes;
	uint32_t end;
	uint16_t misc;
};

static uint32_t field_u32(const struct fields *f, uint32_t at)
{
	return perf_u32(f->bytes + at);
}

static uint64_t field_u64(const struct fields *f, uint32_t at)
{
	return perf_u64(f->bytes + at);
}

static struct text field_text(const struct fields *f, uint32_t at)
{
	const char *p = (const char *)f->bytes + at;
	const size_t n = f->end > at ? strnlen(p, f->end - at) : 0;

	return (struct text){ p, n < PATH_BYTES_MAX ? n : PATH_BYTES_MAX - 1 };
}

/* The same bytes give the same pointer. */
static const char *intern(struct processes *ps, struct text t)
{
	char copy[PATH_BYTES_MAX];

	memcpy(copy, t.data, t.len);
	copy[t.len] = '\0';
	const char *known = hash_find_name(&ps->strings, copy);

	if (known)
		return known;
	char *kept = arena_text(&ps->arena, t);

	*hash_name(&ps->strings, kept) = kept;
	return kept;
}

bool process_path_is_file(const char *path)
{
	static const char *const others[] = {
		"//anon", "/anon_hugepage", "/memfd:", "/dev/zero", "/SYSV", "/dev/shm/",
		"/dev/ashmem",
	};

	if (path[0] != '/')
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (text_starts(text_of(path), others[i]))
			return false;
	return true;
}

static struct process_object *find_object(struct processes *ps, const struct process_object *o)
{
	const uintptr_t key[] = {
		(uintptr_t)o->path, (uintptr_t)o->build_id, (uintptr_t)o->device,
		(uintptr_t)o->inode, (uintptr_t)o->generation,
	};
	/* 64 bits of a hash: two objects of one recording never share one by chance, and one made
	 * to collide gets names of the other, no more */
	void **known = hash_number(&ps->objects, hash_bytes(key, sizeof(key)));

	if (!*known) {
		struct process_object *made = arena_alloc(&ps->arena, sizeof(*made));

		*made = *o;
		made->is_file = process_path_is_file(o->path);
		*known = made;
	}
	return *known;
}

struct processes *processes_new(const struct process_hooks *hooks)
{
	struct processes *ps = mem_alloc(sizeof(*ps));

	if (hooks)
		ps->hooks = *hooks;
	ps->other.epoch = ++ps->epochs;
	ps->other_thread = (struct thread){ .process = &ps->other, .comm = "" };
	return ps;
}

static void leave(struct processes *ps, struct process *p)
{
	if (ps->hooks.leaving)
		ps->hooks.leaving(ps->hooks.arg, p);
	if (p)
		p->epoch = ++ps->epochs;
}

static void forget_maps(struct processes *ps, struct process *p)
{
	if (!p->maps)
		return;
	leave(ps, p);
	process_maps_release(p->maps);
	p->maps = NULL;
}

static void process_free(struct processes *ps, struct process *p)
{
	if (p->next)
		p->next->previous = p->previous;
	if (p->previous)
		p->previous->next = p->next;
	else
		ps->first_process = p->next;
	process_maps_release(p->maps);
	free(p);
}

static void leave_process(struct processes *ps, struct thread *t)
{
	struct process *p = t->process;

	if (--p->threads)
		return;
	leave(ps, p);
	*hash_number(&ps->by_pid, p->pid) = NULL;
	process_free(ps, p);
}

static struct process *find_process(struct processes *ps, uint32_t pid)
{
	void **known = hash_number(&ps->by_pid, pid);

	if (!*known) {
		struct process *p = mem_alloc(sizeof(*p));

		p->pid = pid;
		p->epoch = ++ps->epochs;
		p->next = ps->first_process;
		if (p->next)
			p->next->previous = p;
		ps->first_process = p;
		*known = p;
	}
	return *known;
}

static struct thread *thread_new(struct processes *ps)
{
	struct thread *t = mem_alloc(sizeof(*t));

	t->next = ps->first_thread;
	if (t->next)
		t->next->previous = t;
	ps->first_thread = t;
	return t;
}

static void thread_free(struct processes *ps, struct thread *t)
{
	if (t->next)
		t->next->previous = t->previous;
	if (t->previous)
		t->previous->next = t->next;
	else
		ps->first_thread = t->next;
	free(t);
}

static void set_comm(struct thread *t, const char *comm)
{
	t->comm = comm;
	t->root = 0;
	if (t->tid == t->process->pid)
		t->process->comm = comm;
}

static const char *unnamed(struct processes *ps, uint32_t tid)
{
	char name[16];
	const int n = snprintf(name, sizeof(name), ":%d", (int)tid);

	return tid ? intern(ps, (struct text){ name, (size_t)n }) : "swapper";
}

struct thread *processes_thread(struct processes *ps, uint32_t pid, uint32_t tid)
{
	struct thread *t = hash_find_number(&ps->threads, tid);

	if (t && t->process->pid == pid)
		return t;
	if (!t && ps->threads.used >= PROCESS_THREADS_MAX) {
		ps->counts.over_limit++;
		return &ps->other_thread;
	}
	struct process *p = find_process(ps, pid);

	p->threads++;
	if (t)                         /* its number has a new owner, and nobody said so */
		leave_process(ps, t);
	else
		*hash_number(&ps->threads, tid) = t = thread_new(ps);
	t->tid = tid;
	t->process = p;
	t->has_exited = false;
	t->birth = ++ps->epochs;
	set_comm(t, unnamed(ps, tid));
	return t;
}

const struct process_map *process_find_map(const struct process *p, uint64_t address)
{
	return process_maps_find(p->maps, address);
}

const struct process_map *processes_find_kernel_map(const struct processes *ps, uint64_t address,
						    bool is_guest)
{
	return process_maps_find(is_guest ? ps->guest_maps : ps->kernel_maps, address);
}

const struct process_kernel *processes_kernel(const struct processes *ps)
{
	return &ps->kernel;
}

const struct process_counts *processes_counts(const struct processes *ps)
{
	return &ps->counts;
}

const char *processes_cgroup(const struct processes *ps, uint64_t id)
{
	return hash_find_number(&ps->cgroups, id);
}

/* p NULL: the kernel's */
static void add_map(struct processes *ps, struct process *p, struct process_maps **maps,
		    const struct process_map *m)
{
	const enum map_change change = process_maps_judge(*maps, m);

	if (change == MAP_TOO_MANY)
		ps->counts.over_limit++;
	if (change == MAP_TOO_MANY || change == MAP_KNOWN)
		return;
	if (change == MAP_REPLACES)
		leave(ps, p);
	process_maps_add(maps, m);
	if (p && ps->hooks.mapped)
		ps->hooks.mapped(ps->hooks.arg, p, m);
}

/* "[kernel.kallsyms]_text": pgoff is the address of _text */
static void take_kernel_reference(struct processes *ps, const struct process_map *m)
{
	const char *close = strchr(m->object->path, ']');

	if (ps->kernel.reference || !text_starts(text_of(m->object->path), "[kernel.") || !close)
		return;
	ps->kernel = (struct process_kernel){
		.reference = close + 1,
		.reference_address = m->pgoff,
		.start = m->start,
		.end = m->end,
		.build_id = m->object->build_id,
	};
}

static void take_mapping(struct processes *ps, const struct fields *f, struct process_object *o,
			 uint32_t path_at)
{
	const enum cpumode mode = f->misc & MISC_CPUMODE;
	const uint32_t pid = field_u32(f, 8), tid = field_u32(f, 12);
	const uint64_t length = field_u64(f, 24);
	struct process_map m = {
		.start = field_u64(f, 16), .pgoff = field_u64(f, 32),
	};

	if (f->misc & MISC_PROC_MAP_TIMEOUT)
		ps->counts.map_timeouts++;
	if (!length || __builtin_add_overflow(m.start, length, &m.end))
		m.end = length ? UINT64_MAX : m.start;
	if (m.end <= m.start)
		return;
	o->path = intern(ps, field_text(f, path_at));
	m.object = find_object(ps, o);
	if (mode == MODE_GUEST_KERNEL) {
		add_map(ps, NULL, &ps->guest_maps, &m);
	} else if (mode == MODE_KERNEL || pid == UINT32_MAX) {
		take_kernel_reference(ps, &m);
		add_map(ps, NULL, &ps->kernel_maps, &m);
	} else if (!(f->misc & MISC_MMAP_DATA)) {
		struct process *p = processes_thread(ps, pid, tid)->process;

		if (p != &ps->other)
			add_map(ps, p, &p->maps, &m);
	}
}

static void take_mmap(struct processes *ps, const struct fields *f)
{
	struct process_object o = { 0 };

	take_mapping(ps, f, &o, 40);
}

/*
 * MISC_MMAP_BUILD_ID is not enough: perf_event_mmap_output (kernel/events/core.c) sets it for one
 * session that asked for build ids and leaves it set for the next, whose record has device and
 * inode in that place. An id's size is at most 20, with three zeroes behind it; where a device's
 * major number reads as that size, too, its minor number stands where a short id begins.
 */
static bool has_build_id(const struct fields *f)
{
	const uint32_t size = field_u32(f, 40);

	if (!(f->misc & MISC_MMAP_BUILD_ID) || !size || size > 20)
		return false;
	return size >= 16 || field_u32(f, 44) >= 1u << 20;
}

static void take_mmap2(struct processes *ps, const struct fields *f)
{
	static const char digits[] = "0123456789abcdef";
	char hex[PROCESS_BUILD_ID_HEX];
	struct process_object o = { 0 };

	if (has_build_id(f)) {
		const size_t size = f->bytes[40];

		for (size_t i = 0; i < size; i++) {
			hex[2 * i] = digits[f->bytes[44 + i] >> 4];
			hex[2 * i + 1] = digits[f->bytes[44 + i] & 15];
		}
		o.build_id = intern(ps, (struct text){ hex, 2 * size });
	} else {
		o.device = (uint64_t)field_u32(f, 40) << 32 | field_u32(f, 44);
		o.inode = field_u64(f, 48);
		o.generation = field_u64(f, 56);
	}
	take_mapping(ps, f, &o, 72);
}

static void take_comm(struct processes *ps, const struct fields *f)
{
	struct thread *t = processes_thread(ps, field_u32(f, 8), field_u32(f, 12));

	if (t == &ps->other_thread)
		return;
	if (f->misc & MISC_COMM_EXEC)
		forget_maps(ps, t->process);
	set_comm(t, intern(ps, field_text(f, 16)));
}

/* Of those that have ended the oldest is forgotten, once there are enough. */
static void retire(struct processes *ps, struct thread *t)
{
	struct exited *e = &ps->exited[ps->exits++ % PROCESS_EXITED_KEPT];
	struct thread *old = e->tid ? hash_find_number(&ps->threads, e->tid) : NULL;

	if (old && old->has_exited && old->birth == e->birth) {
		*hash_number(&ps->threads, old->tid) = NULL;
		leave_process(ps, old);
		thread_free(ps, old);
	}
	*e = (struct exited){ t->tid, t->birth };
	t->has_exited = true;
}

static void take_exit(struct processes *ps, const struct fields *f)
{
	struct thread *t = hash_find_number(&ps->threads, field_u32(f, 16));

	if (t && !t->has_exited && t->process->pid == field_u32(f, 8))
		retire(ps, t);
}

static void take_fork(struct processes *ps, const struct fields *f)
{
	const uint32_t pid = field_u32(f, 8), parent_pid = field_u32(f, 12);
	const bool is_made_up = f->misc & MISC_FORK_EXEC;
	const struct thread *parent = hash_find_number(&ps->threads, field_u32(f, 20));
	const struct process *from = hash_find_number(&ps->by_pid, parent_pid);
	/* the parent's, before the child takes its number */
	const char *comm = parent ? parent->comm : NULL;
	struct process_maps *maps = from ? process_maps_share(from->maps) : NULL;
	struct thread *t = processes_thread(ps, pid, field_u32(f, 16));

	if (t == &ps->other_thread) {
		process_maps_release(maps);
		return;
	}
	/* perf makes up forks of processes whose maps it may have told already: those are right */
	if (pid != parent_pid && !is_made_up) {
		forget_maps(ps, t->process);
		t->process->maps = process_maps_share(maps);
	}
	process_maps_release(maps);
	if (comm && (!is_made_up || t->comm[0] == ':'))
		set_comm(t, comm);
	t->has_exited = false;
	t->birth = ++ps->epochs;
}

/* u64 count, and {device, inode} of each namespace */
static void take_namespaces(struct processes *ps, const struct fields *f)
{
	struct process *p = processes_thread(ps, field_u32(f, 8), field_u32(f, 12))->process;
	const uint64_t room = (f->end - 24) / 16, told = field_u64(f, 16);
	const uint64_t count = told < room ? told : room;

	if (count > NAMESPACE_PID)
		p->pid_namespace = field_u64(f, 24 + 16 * NAMESPACE_PID + 8);
	if (count > NAMESPACE_MOUNT)
		p->mount_namespace = field_u64(f, 24 + 16 * NAMESPACE_MOUNT + 8);
}

static void take_cgroup(struct processes *ps, const struct fields *f)
{
	*hash_number(&ps->cgroups, field_u64(f, 8)) = (void *)intern(ps, field_text(f, 16));
}

/* A name that goes (flag 1) stays known for the samples that are still to come. */
static void take_ksymbol(struct processes *ps, const struct fields *f)
{
	const uint16_t flags = perf_u16(f->bytes + 22);
	struct process_object o = { .path = intern(ps, field_text(f, 24)) };
	struct process_map m = { .start = field_u64(f, 8), .object = find_object(ps, &o) };

	if ((flags & KSYMBOL_GONE) || !field_u32(f, 16) ||
	    __builtin_add_overflow(m.start, field_u32(f, 16), &m.end))
		return;
	const enum map_change change = process_maps_judge(ps->ksymbols, &m);

	if (change == MAP_TOO_MANY)
		ps->counts.over_limit++;
	if (change == MAP_KNOWN || change == MAP_TOO_MANY)
		return;
	if (change == MAP_REPLACES)
		leave(ps, NULL);
	process_maps_add(&ps->ksymbols, &m);
	if (ps->hooks.kernel_symbol)
		ps->hooks.kernel_symbol(ps->hooks.arg, m.start, m.end - m.start,
					text_of(o.path));
}

/*
 * A ring that is full tells of it in LOST, and an event with PERF_FORMAT_LOST once more at its end,
 * in a LOST_SAMPLES that perf writes.
 */
static void count_lost(struct processes *ps)
{
	const uint64_t told_twice = ps->counts.lost;

	ps->counts.lost_samples = ps->lost_samples > told_twice ? ps->lost_samples - told_twice : 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void take_lost(struct processes *ps, const struct fields *f)
{
	ps->counts.lost = sum(ps->counts.lost, field_u64(f, 16));
	count_lost(ps);
}

static void take_lost_samples(struct processes *ps, const struct fields *f)
{
	ps->lost_samples = sum(ps->lost_samples, field_u64(f, 8));
	count_lost(ps);
}

static void take_throttle(struct processes *ps, const struct fields *f)
{
	(void)f;
	ps->counts.throttled++;
}

static void take_text_poke(struct processes *ps, const struct fields *f)
{
	(void)f;
	ps->counts.text_pokes++;
}

static void take_nothing(struct processes *ps, const struct fields *f)
{
	(void)ps;
	(void)f;
}

/* The least each has before its name, and who takes it. */
static const struct {
	uint32_t size;
	void (*take)(struct processes *ps, const struct fields *f);
} kinds[] = {
	[RECORD_MMAP] = { 40, take_mmap },
	[RECORD_LOST] = { 24, take_lost },
	[RECORD_COMM] = { 16, take_comm },
	[RECORD_EXIT] = { 24, take_exit },
	[RECORD_THROTTLE] = { 8, take_throttle },
	[RECORD_FORK] = { 24, take_fork },
	[RECORD_MMAP2] = { 72, take_mmap2 },
	[RECORD_LOST_SAMPLES] = { 16, take_lost_samples },
	[RECORD_NAMESPACES] = { 24, take_namespaces },
	[RECORD_KSYMBOL] = { 24, take_ksymbol },
	[RECORD_CGROUP] = { 16, take_cgroup },
	[RECORD_TEXT_POKE] = { 20, take_text_poke },
	/* who runs when, and what a BPF program is (a KSYMBOL names it): not in a stack */
	[RECORD_UNTHROTTLE] = { 8, take_nothing },
	[RECORD_SWITCH] = { 8, take_nothing },
	[RECORD_SWITCH_CPU_WIDE] = { 8, take_nothing },
	[RECORD_BPF_EVENT] = { 8, take_nothing },
};

bool processes_take(struct processes *ps, const struct perf_events *es,
		    const struct perf_record *r)
{
	struct perf_identity i;
	uint32_t trailer;

	if (r->type >= sizeof(kinds) / sizeof(*kinds) || !kinds[r->type].take)
		return false;
	perf_record_identity(es, r, &i, &trailer);
	const struct fields f = { r->bytes, r->size - trailer, r->misc };

	if (f.end < kinds[r->type].size)
		ps->counts.damaged++;
	else
		kinds[r->type].take(ps, &f);
	return true;
}

void processes_free(struct processes *ps)
{
	if (!ps)
		return;
	while (ps->first_thread)
		thread_free(ps, ps->first_thread);
	while (ps->first_process)
		process_free(ps, ps->first_process);
	process_maps_release(ps->kernel_maps);
	process_maps_release(ps->guest_maps);
	process_maps_release(ps->ksymbols);
	hash_free(&ps->threads);
	hash_free(&ps->by_pid);
	hash_free(&ps->strings);
	hash_free(&ps->objects);
	hash_free(&ps->cgroups);
	arena_free(&ps->arena);
	free(ps);
}
