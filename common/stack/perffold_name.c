/* What an address of a process or of the kernel is called; each is asked for once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/stack/perffold_impl.h"

#define SLOTS_FIRST 16384

static void add_name(struct perffold *pf, uint32_t name)
{
	if (pf->name_count == pf->name_cap)
		pf->names = mem_grow(pf->names, &pf->name_cap, pf->name_count + 1,
				     sizeof(*pf->names));
	pf->names[pf->name_count++] = name;
}

void perffold_name_text(struct perffold *pf, struct text name)
{
	add_name(pf, fold_name(pf->fold, name));
}

static bool is_kernel_mode(enum cpumode mode)
{
	return mode == MODE_KERNEL || mode == MODE_GUEST_KERNEL || mode == MODE_HYPERVISOR;
}

static struct text base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return text_of(slash ? slash + 1 : path);
}

/* "[libfoo.so+0x1234]", "[kernel+0x1234]", "[unknown]" */
static size_t write_unnamed(const struct process_map *m, uint64_t address, enum cpumode mode,
			    char *name, size_t size)
{
	if (mode == MODE_HYPERVISOR)
		return (size_t)snprintf(name, size, "[hypervisor]");
	if (!m)
		return (size_t)snprintf(name, size, "%s", is_kernel_mode(mode) ? "[kernel]" :
										"[unknown]");
	struct text base = base_name(m->object->path);
	uint64_t offset = address - m->start + m->pgoff;

	if (text_starts(base, "[kernel.") || text_starts(base, "[guest.kernel.")) {
		base = TEXT("kernel");
		offset = address - m->start;
	}
	if (base.len > 2 && base.data[0] == '[' && base.data[base.len - 1] == ']')
		base = (struct text){ base.data + 1, base.len - 2 };
	if (base.len > 255)
		base.len = 255;
	const int n = snprintf(name, size, "[%.*s+0x%" PRIx64 "]", (int)base.len, base.data,
			       offset);

	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* Build ids stand in a table of their own, by path, where maps do not tell them. */
static const char *listed_build_id(struct perffold *pf, const char *path)
{
	const struct perfdata_facts *f = pf->options.facts;

	if (!f)
		return NULL;
	/* a stream may have sent more of them since */
	for (; pf->build_ids_known < f->build_id_count; pf->build_ids_known++) {
		const struct perfdata_build_id *b = &f->build_ids[pf->build_ids_known];

		if (b->hex[0])
			*hash_name(&pf->build_ids, b->path) = arena_strdup(&pf->arena, b->hex);
	}
	return hash_find_name(&pf->build_ids, path);
}

/* Before the first address is asked for; by then a recording has said all it says. */
static void tell_kernel(struct perffold *pf)
{
	const struct perfdata_facts *f = pf->options.facts;
	const struct process_kernel *k = processes_kernel(pf->processes);
	const char *listed = listed_build_id(pf, "[kernel.kallsyms]");

	symbols_set_kernel(pf->options.symbols, &(struct symbols_kernel){
		.build_id = k->build_id ? k->build_id : listed,
		.osrelease = f ? f->os_release : NULL,
		.reference = k->reference,
		.reference_address = k->reference_address,
		/* perf record --kcore: what it copied of the kernel */
		.kallsyms = f && f->folder ? arena_printf(&pf->arena, "%s/kcore_dir/kallsyms",
							  f->folder) : NULL,
		.hostname = f ? f->host : NULL,
		.recorded_at = f ? f->recorded_at : 0,
	});
	pf->knows_kernel = true;
}

struct symbols_map perffold_symbols_map(struct perffold *pf, const struct process *p,
					const struct process_map *m)
{
	struct process_object *o = m->object;

	return (struct symbols_map){
		.path = o->path,
		.build_id = o->build_id ? o->build_id : listed_build_id(pf, o->path),
		.start = m->start, .end = m->end, .pgoff = m->pgoff,
		.inode = o->inode,
		.pid = p ? p->pid : 0,
		.comm = p ? p->comm : NULL,
		.is_kernel = !p,
		.slot = o->is_file ? &o->slot : NULL,
	};
}

static bool is_kernel_itself(const struct process_map *m)
{
	return text_starts(text_of(m->object->path), "[kernel.");
}

/* A JIT's code, or else what stands in the file that anonymous memory covers. */
static size_t ask_map(struct perffold *pf, const struct process *p, const struct process_map *m,
		      uint64_t address, bool is_return, struct symbol *found)
{
	struct process_map below;
	struct symbols_map map = perffold_symbols_map(pf, p, m);

	if (process_map_covered(m, &below)) {
		if (symbols_find(pf->options.symbols, &map, address, is_return, found))
			return 1;
		map = perffold_symbols_map(pf, p, &below);
	}
	if (pf->options.inlines)
		return symbols_find_inlined(pf->options.symbols, &map, address, is_return, found,
					    SYMBOLS_INLINED_MAX);
	symbols_find(pf->options.symbols, &map, address, is_return, found);
	return 1;
}

/* What is found at the address, inlined functions first; at least one. */
static size_t ask_symbols(struct perffold *pf, const struct process *p, uint64_t address,
			  enum cpumode mode, bool is_return, struct symbol *found)
{
	const bool is_kernel = mode == MODE_KERNEL;
	const struct process_map *m = is_kernel ?
		processes_find_kernel_map(pf->processes, address, false) :
		process_find_map(p, address);
	struct symbols_map map = { 0 };

	if (!pf->knows_kernel)
		tell_kernel(pf);
	if (m && is_kernel)
		map = perffold_symbols_map(pf, NULL, m);
	if (is_kernel) {
		symbols_find_kernel(pf->options.symbols, m && !is_kernel_itself(m) ? &map : NULL,
				    address, is_return, found);
		return 1;
	}
	*found = (struct symbol){ 0 };
	return m ? ask_map(pf, p, m, address, is_return, found) : 1;
}

static void add_frame(struct perffold *pf, const struct frame_source *source)
{
	uint32_t names[FRAME_NAMES_MAX];
	size_t n = frame_names(pf->fold, &pf->options.stack.frame, source, names);

	while (n)
		add_name(pf, names[--n]);
}

static void look_up(struct perffold *pf, const struct process *p, uint64_t address,
		    enum cpumode mode, bool is_return)
{
	struct symbol found[SYMBOLS_INLINED_MAX];
	char unnamed[512];
	const size_t n = ask_symbols(pf, p, address, mode, is_return, found);

	for (size_t i = 0; i < n; i++) {
		struct frame_source source = {
			.symbol = found[i].name,
			.object = found[i].object,
			.line = found[i].line,
			.address = address,
			.has_address = true,
			.is_inlined = i + 1 < n,
		};

		if (!source.symbol.len && !pf->options.stack.frame.addresses)
			source.symbol = (struct text){ unnamed, symbols_unnamed(&found[i], unnamed,
									sizeof(unnamed)) };
		add_frame(pf, &source);
	}
}

/* Where nobody has symbols: a guest's, or all of them. */
static void look_up_nothing(struct perffold *pf, const struct process *p, uint64_t address,
			    enum cpumode mode)
{
	const bool is_kernel = is_kernel_mode(mode);
	const struct process_map *m = NULL;
	struct process_map below;
	char name[512];

	if (is_kernel)
		m = processes_find_kernel_map(pf->processes, address, mode == MODE_GUEST_KERNEL);
	else if (mode != MODE_GUEST_USER)
		m = process_find_map(p, address);
	if (m && process_map_covered(m, &below))
		m = &below;
	const size_t len = write_unnamed(m, address, mode, name, sizeof(name));

	add_frame(pf, &(struct frame_source){
		.symbol = { name, pf->options.stack.frame.addresses ? 0 : len },
		.object = is_kernel ? TEXT("[kernel.kallsyms]") :
				      m ? text_of(m->object->path) : TEXT(""),
		.address = address,
		.has_address = true,
	});
}

void perffold_prepare(struct perffold *pf, const struct process *p, const struct process_map *m)
{
	const struct symbols_map map = perffold_symbols_map(pf, p, m);

	symbols_prepare(pf->options.symbols, &map);
}

static uint64_t hash_of(uint64_t address, uint64_t space)
{
	return perffold_mix(address ^ 0x2d358dccaa6c78a5ull, space ^ 0x8bb84b93962eacc9ull);
}

static void grow(struct name_cache *c)
{
	const size_t size = c->size ? c->size * 2 : SLOTS_FIRST;
	struct name_slot *slots = mem_alloc(size * sizeof(*slots));

	for (size_t i = 0; i < c->size; i++) {
		if (!c->slots[i].space)
			continue;
		size_t at = hash_of(c->slots[i].address, c->slots[i].space) & (size - 1);

		while (slots[at].space)
			at = (at + 1) & (size - 1);
		slots[at] = c->slots[i];
	}
	free(c->slots);
	c->slots = slots;
	c->size = size;
}

/* Room for one more. */
static void make_room(struct name_cache *c)
{
	if (c->used >= PERFFOLD_NAMES_MAX) {
		memset(c->slots, 0, c->size * sizeof(*c->slots));
		c->used = c->name_count = 0;
	}
	if ((c->used + 1) * 2 > c->size)
		grow(c);
}

static struct name_slot *find(struct name_cache *c, uint64_t address, uint64_t space)
{
	size_t at = hash_of(address, space) & (c->size - 1);

	while (c->slots[at].space && (c->slots[at].address != address ||
				      c->slots[at].space != space))
		at = (at + 1) & (c->size - 1);
	return &c->slots[at];
}

static void keep(struct perffold *pf, struct name_slot *s, size_t from)
{
	struct name_cache *c = &pf->cache;

	s->count = (uint32_t)(pf->name_count - from);
	c->used++;
	if (s->count == 1) {
		s->name = pf->names[from];
		return;
	}
	s->name = (uint32_t)c->name_count;
	c->names = mem_grow(c->names, &c->name_cap, c->name_count + s->count, sizeof(*c->names));
	memcpy(c->names + c->name_count, pf->names + from, s->count * sizeof(*c->names));
	c->name_count += s->count;
}

void perffold_name(struct perffold *pf, struct process *p, uint64_t address, enum cpumode mode,
		   bool is_return)
{
	struct name_cache *c = &pf->cache;
	const bool is_kernel = is_kernel_mode(mode);
	/* the kernel's addresses mean the same in all processes */
	const uint64_t epoch = is_kernel ? pf->kernel_epoch : p->epoch;
	const uint64_t space = epoch << 5 | (uint64_t)mode << 2 | (unsigned)is_kernel << 1 |
			       is_return;
	const size_t from = pf->name_count;

	make_room(c);
	struct name_slot *s = find(c, address, space);

	if (!s->space) {
		*s = (struct name_slot){ .address = address, .space = space };
		if (pf->options.symbols && (mode == MODE_KERNEL || mode == MODE_USER))
			look_up(pf, p, address, mode, is_return);
		else
			look_up_nothing(pf, p, address, mode);
		keep(pf, s, from);
		return;
	}
	if (s->count == 1) {
		add_name(pf, s->name);
		return;
	}
	for (uint32_t i = 0; i < s->count; i++)
		add_name(pf, c->names[s->name + i]);
}
