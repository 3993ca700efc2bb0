/* Names of addresses, and stacks of names. */
#include "common/kernel/offcpu.h"
#include "common/stack/frame.h"
#include "common/stack/waitnames_impl.h"

struct symbols_map waitnames_map(const struct process_map *m, uint32_t pid, const char *comm)
{
	struct process_object *o = m->object;

	return (struct symbols_map){
		.path = o->path, .build_id = o->build_id,
		.start = m->start, .end = m->end, .pgoff = m->pgoff, .inode = o->inode,
		.pid = pid, .comm = comm, .slot = o->is_file ? &o->slot : NULL,
	};
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
	struct symbols_map map = waitnames_map(m, pid, NULL);
	struct symbol found = { 0 };
	struct process_map below;

	if (process_map_covered(m, &below)) {
		if (!symbols_find(n->symbols, &map, address, is_return, &found)) {
			map = waitnames_map(&below, pid, NULL);
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

uint32_t waitnames_kernel_stack(struct waitnames *n, uint64_t id)
{
	void **slot = hash_number(&n->by_id, id);
	struct offcpu_stack s;

	if (!*slot && offcpu_stack(id, &s))
		*slot = (void *)(uintptr_t)name_kernel_stack(n, &s);
	return (uint32_t)(uintptr_t)*slot;
}

uint32_t waitnames_user_stack(struct waitnames *n, uint32_t pid, uint64_t id)
{
	void **slot = hash_number(&n->by_id, hash_keyed(pid, &id, sizeof(id)));
	struct offcpu_stack s;

	if (id && !*slot && offcpu_stack(id, &s))
		*slot = (void *)(uintptr_t)name_user_stack(n, pid, &s);
	return (uint32_t)(uintptr_t)*slot;
}
