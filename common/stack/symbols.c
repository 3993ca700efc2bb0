#include "common/stack/symbols.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/stack/elfsym.h"
#include "common/stack/symbols_impl.h"

#define READABLE_MAX 8192              /* bytes of a demangled name that are kept */
#define OBJECTS_NAMED_MAX 5            /* objects without names that a remark lists */

struct symbols *symbols_new(const struct symbols_options *o)
{
	struct symbols *s = mem_alloc(sizeof(*s));

	s->options = *o;
	s->places.options = &s->options;
	if (o->buildids)
		object_places_read(&s->places, o->buildids);
	return s;
}

static void forget_remarks(struct symbols *s)
{
	for (size_t i = 0; i < s->remark_count; i++)
		free((char *)s->remarks[i]);
	s->remark_count = 0;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	while (s->first) {
		struct object *o = s->first;

		s->first = o->next;
		object_free(o);
	}
	symbols_kernel_free(s);
	symbols_jit_free(s);
	forget_remarks(s);
	free(s->remarks);
	hash_free(&s->objects);
	hash_free(&s->inlined_names);
	object_places_free(&s->places);
	arena_free(&s->arena);
	free(s);
}

/* Maps of a process come one after the other: each is asked about once. */
static bool is_elsewhere(struct symbols *s, uint32_t pid)
{
	if (s->last_pid != pid) {
		s->last_pid = pid;
		s->last_is_elsewhere = object_process_is_elsewhere(pid);
	}
	return s->last_is_elsewhere;
}

/*
 * One object for all processes that map the same file. Without a build id a path in a container may
 * be another file than the same path here.
 */
static void make_key(struct symbols *s, const struct symbols_map *map, struct buf *key)
{
	buf_printf(key, "%s\n%s\n", map->path, map->build_id ? map->build_id : "");
	if (!map->build_id && map->path[0] == '/' && s->options.is_this_boot && map->pid &&
	    is_elsewhere(s, map->pid))
		buf_printf(key, "%" PRIu32, map->pid);
}

struct object *symbols_object(struct symbols *s, const struct symbols_map *map)
{
	struct buf key = { 0 };

	if (map->slot && *map->slot)
		return *map->slot;
	make_key(s, map, &key);
	struct object *o = hash_find_name(&s->objects, key.data);

	if (!o) {
		o = object_new(&s->places, map);
		o->next = s->first;
		s->first = o;
		*hash_name(&s->objects, arena_strdup(&s->arena, key.data)) = o;
	}
	buf_free(&key);
	if (map->slot)
		*map->slot = o;
	return o;
}

void symbols_prepare(struct symbols *s, const struct symbols_map *map)
{
	if (!symbols_is_jit(map))
		symbols_object(s, map);
}

struct text symbols_readable(struct symbols *s, struct object *o, const struct symtab_entry *e)
{
	void **slot = hash_number(&o->readable, (uintptr_t)e);
	char readable[READABLE_MAX];

	if (!*slot) {
		const char *name = symtab_name(o->symbols, e);

		*slot = (void *)name;
		if (elfsym_demangle(name, readable, sizeof(readable)))
			*slot = arena_strdup(&s->arena, readable);
	}
	return text_of(*slot);
}

/* A file's name when it is all that is known: "[vdso]" is one already. */
static struct text object_text(const struct object *o)
{
	return text_of(o->path);
}

bool symbols_find(struct symbols *s, const struct symbols_map *map, uint64_t address,
		  bool is_return_address, struct symbol *found)
{
	const uint64_t at = address - is_return_address;

	if (map->is_kernel)
		return symbols_find_kernel(s, map, address, is_return_address, found);
	if (symbols_is_jit(map))
		return symbols_find_jit(s, map, at, found);
	struct object *o = symbols_object(s, map);
	struct symtab *table = object_symbols(o, &s->places);
	uint64_t place = at - map->start + map->pgoff;

	*found = (struct symbol){ .object = object_text(o) };
	const bool is_placed = object_address_of(o, place, &place);
	const struct symtab_entry *e = table && is_placed ? symtab_find(table, place) : NULL;

	if (!e) {
		found->offset = place + is_return_address;
		o->nameless++;
		return false;
	}
	found->name = symbols_readable(s, o, e);
	found->offset = place - e->start + is_return_address;
	return true;
}

size_t symbols_unnamed(const struct symbol *found, char *out, size_t size)
{
	struct text object = found->object;
	const char *slash = memrchr(object.data ? object.data : "", '/', object.len);
	int n;

	if (slash)
		object = (struct text){ slash + 1,
					(size_t)(object.data + object.len - slash - 1) };
	if (object.len > 2 && object.data[0] == '[' && object.data[object.len - 1] == ']')
		object = (struct text){ object.data + 1, object.len - 2 };
	if (text_is(object, "kernel.kallsyms"))
		object = TEXT("kernel");
	if (!object.len)
		n = snprintf(out, size, "[unknown]");
	else
		n = snprintf(out, size, "[%.*s+0x%" PRIx64 "]", (int)object.len, object.data,
			     found->offset);
	return (size_t)n < size ? (size_t)n : size ? size - 1 : 0;
}

/* ---- remarks ---- */

void symbols_remark(struct symbols *s, const char *format, ...)
{
	va_list args;
	char *line;

	va_start(args, format);
	const int n = vasprintf(&line, format, args);

	va_end(args);
	if (n < 0)
		return;
	s->remarks = mem_grow(s->remarks, &s->remark_cap, s->remark_count + 1, sizeof(*s->remarks));
	s->remarks[s->remark_count++] = line;
}

static const char *why(const struct object *o)
{
	if (o->state == OBJECT_OTHER_BUILD)
		return "the file there is another build";
	if (o->state == OBJECT_MISSING)
		return "no such file";
	return o->symbols ? "not covered by its symbols" : "no symbols";
}

static int compare_nameless(const void *a, const void *b)
{
	const struct object *x = *(const struct object *const *)a;
	const struct object *y = *(const struct object *const *)b;

	if (x->nameless != y->nameless)
		return x->nameless > y->nameless ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* The objects most frames of which have no name, and why. */
static void remark_objects(struct symbols *s)
{
	struct object **list = NULL;
	size_t count = 0, cap = 0;

	for (struct object *o = s->first; o; o = o->next) {
		if (!o->nameless)
			continue;
		list = mem_grow(list, &cap, count + 1, sizeof(struct object *));
		list[count++] = o;
	}
	if (count)
		qsort(list, count, sizeof(*list), compare_nameless);
	for (size_t i = 0; i < count && i < OBJECTS_NAMED_MAX; i++)
		symbols_remark(s, "%s: %" PRIu64 " addresses without a name: %s", list[i]->path,
			       list[i]->nameless, why(list[i]));
	if (count > OBJECTS_NAMED_MAX)
		symbols_remark(s, "%zu more objects have addresses without a name",
			       count - OBJECTS_NAMED_MAX);
	free(list);
}

size_t symbols_remarks(struct symbols *s, const char *const **lines)
{
	forget_remarks(s);
	symbols_kernel_remarks(s);
	symbols_jit_remarks(s);
	remark_objects(s);
	*lines = s->remarks;
	return s->remark_count;
}
