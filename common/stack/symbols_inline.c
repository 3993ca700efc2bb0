/* Functions that the compiler put into others, by debug information; each address is asked once. */
#include <string.h>

#include "common/stack/elfsym.h"
#include "common/stack/elfsym_inline.h"
#include "common/stack/symbols_impl.h"

#define READABLE_MAX 8192

struct place {
	size_t count;
	struct frame_at {
		struct text name, line;
	} at[];
};

static const struct place none;

static struct text readable(struct symbols *s, const char *name)
{
	char text[READABLE_MAX];
	void **slot = hash_number(&s->inlined_names, (uintptr_t)name);

	if (!*slot)
		*slot = arena_strdup(&s->arena, elfsym_demangle(name, text, sizeof(text)) ? text :
								name);
	return text_of(*slot);
}

static struct place *look_up(struct symbols *s, struct elfsym_inline *i, uint64_t address)
{
	struct inlined_function found[SYMBOLS_INLINED_MAX];
	const size_t n = elfsym_inline_find(i, address, found, SYMBOLS_INLINED_MAX);

	if (!n)
		return (struct place *)&none;
	struct place *p = arena_alloc(&s->arena, sizeof(*p) + n * sizeof(*p->at));

	p->count = n;
	for (size_t k = 0; k < n; k++) {
		if (found[k].name)
			p->at[k].name = readable(s, found[k].name);
		if (found[k].file)
			p->at[k].line = text_of(arena_printf(&s->arena, "%s:%d", found[k].file,
							     found[k].line));
	}
	return p;
}

/* What debug information says of an address of an object; NULL: it has none. */
static const struct place *place_of(struct symbols *s, const struct symbols_map *map, uint64_t at)
{
	if (map->is_kernel || symbols_is_jit(map))
		return NULL;
	struct object *o = symbols_object(s, map);
	struct elfsym_inline *i = object_lines(o, &s->places);
	uint64_t place = at - map->start + map->pgoff;

	if (!i || !object_address_of(o, place, &place))
		return NULL;
	void **slot = hash_number(&o->inlined, place);

	if (!*slot)
		*slot = look_up(s, i, place);
	return *slot;
}

size_t symbols_find_inlined(struct symbols *s, const struct symbols_map *map, uint64_t address,
			    bool is_return_address, struct symbol *found, size_t max)
{
	const struct place *p = place_of(s, map, address - is_return_address);
	struct symbol real;

	symbols_find(s, map, address, is_return_address, &real);
	if (!p || !p->count || p->count > max) {
		found[0] = real;
		return 1;
	}
	for (size_t k = 0; k < p->count; k++) {
		const bool is_real = k + 1 == p->count;

		found[k] = is_real ? real : (struct symbol){
			.name = p->at[k].name, .object = real.object,
		};
		found[k].line = p->at[k].line;
	}
	return p->count;
}
