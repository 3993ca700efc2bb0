#include "common/stack/elfsym_inline.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/stack/elfsym_impl.h"

#define ENTRIES_MAX (100u << 20)       /* of an object's debug information that are looked at */
#define INLINED_MAX (16u << 20)        /* and functions in functions that are kept of them */
#define COMPARED_MAX (1ull << 33)      /* seconds of work: then nothing more is answered */
#define DEPTH_MAX 256                  /* blocks in blocks */

/* Code that belongs to one compilation unit. */
struct unit_range {
	uint64_t start, end;
	uint32_t unit;
};

struct unit {
	Dwarf_Off die;
	bool is_read;
	struct function *functions;    /* sorted by start, once read */
	size_t count, cap;
	struct inlined *inlined;       /* in the order they are found: a function's are together */
	size_t inlined_count, inlined_cap;
};

struct function {
	uint64_t start, end;
	uint32_t first, count;         /* of the unit's inlined */
};

struct inlined {
	uint64_t start, end;
	Dwarf_Off die;
	uint32_t depth;
};

struct elfsym_inline {
	Dwarf *dwarf;                  /* the file's */
	struct unit *units;
	size_t unit_count, unit_cap;
	struct unit_range *ranges;
	size_t range_count, range_cap;
	size_t entries, inlined;       /* read so far */
	uint64_t compared;             /* functions in functions, for all answers together */
};

/* ---- which unit ---- */

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_unit(struct elfsym_inline *i, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	const uint32_t number = (uint32_t)i->unit_count;

	i->units = mem_grow(i->units, &i->unit_cap, i->unit_count + 1, sizeof(*i->units));
	i->units[i->unit_count++].die = dwarf_dieoffset(die);
	while (i->entries < ENTRIES_MAX && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		i->entries++;
		if (start >= end)
			continue;
		i->ranges = mem_grow(i->ranges, &i->range_cap, i->range_count + 1,
				     sizeof(*i->ranges));
		i->ranges[i->range_count++] = (struct unit_range){ start, end, number };
	}
}

/* Whose content is in another file, which libdw would open. */
static bool is_split(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_GNU_dwo_name) || dwarf_hasattr(die, DW_AT_dwo_name);
}

/* dwarf_next_unit, as it opens no other file. */
static void find_units(struct elfsym_inline *i)
{
	Dwarf_Off at = 0, next;
	size_t header;
	Dwarf_Die die;

	while (i->entries++ < ENTRIES_MAX &&
	       !dwarf_next_unit(i->dwarf, at, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL)) {
		if (dwarf_offdie(i->dwarf, at + header, &die) &&
		    dwarf_tag(&die) == DW_TAG_compile_unit && !is_split(&die))
			add_unit(i, &die);
		if (next <= at)
			break;
		at = next;
	}
	if (i->range_count)
		qsort(i->ranges, i->range_count, sizeof(*i->ranges), compare_ranges);
}

struct elfsym_inline *elfsym_inline_new(struct elfsym_file *file, struct elfsym_file *shared)
{
	Dwarf *dwarf = elfsym_file_dwarf(file);
	Dwarf *alternate = shared ? elfsym_file_dwarf(shared) : NULL;

	if (!dwarf || (shared && !alternate))
		return NULL;
	if (alternate)
		dwarf_setalt(dwarf, alternate);
	struct elfsym_inline *i = mem_alloc(sizeof(*i));

	i->dwarf = dwarf;
	find_units(i);
	return i;
}

void elfsym_inline_free(struct elfsym_inline *i)
{
	if (!i)
		return;
	for (size_t u = 0; u < i->unit_count; u++) {
		free(i->units[u].functions);
		free(i->units[u].inlined);
	}
	free(i->units);
	free(i->ranges);
	free(i);
}

/* ---- what is in a unit ---- */

struct reading {
	struct elfsym_inline *i;
	struct unit *u;
};

static void add_function(struct reading *r, uint64_t start, uint64_t end)
{
	struct unit *u = r->u;

	u->functions = mem_grow(u->functions, &u->cap, u->count + 1, sizeof(*u->functions));
	u->functions[u->count++] = (struct function){
		.start = start, .end = end, .first = (uint32_t)u->inlined_count,
	};
}

static void add_inlined(struct reading *r, uint64_t start, uint64_t end, Dwarf_Off die,
			unsigned depth)
{
	struct unit *u = r->u;

	if (++r->i->inlined > INLINED_MAX)
		return;
	u->inlined = mem_grow(u->inlined, &u->inlined_cap, u->inlined_count + 1,
			      sizeof(*u->inlined));
	u->inlined[u->inlined_count++] = (struct inlined){ start, end, die, depth };
}

static void add_ranges(struct reading *r, Dwarf_Die *die, bool is_inlined, unsigned depth)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (r->i->entries++ < ENTRIES_MAX &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		if (is_inlined)
			add_inlined(r, start, end, dwarf_dieoffset(die), depth);
		else
			add_function(r, start, end);
	}
}

static bool may_hold_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static void read_children(struct reading *r, Dwarf_Die *parent, unsigned depth, unsigned blocks);

/* All ranges of a function share what is inlined in it. */
static void read_function(struct reading *r, Dwarf_Die *die, unsigned blocks)
{
	struct unit *u = r->u;
	const size_t before = u->count, first = u->inlined_count;

	add_ranges(r, die, false, 0);
	const size_t after = u->count;

	read_children(r, die, 1, blocks);
	for (size_t f = before; f < after; f++)
		u->functions[f].count = (uint32_t)(u->inlined_count - first);
}

static void read_children(struct reading *r, Dwarf_Die *parent, unsigned depth, unsigned blocks)
{
	Dwarf_Die die;

	if (blocks == DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		const int tag = dwarf_tag(&die);

		if (r->i->entries++ >= ENTRIES_MAX)
			return;
		if (!may_hold_code(tag))
			continue;
		if (tag == DW_TAG_subprogram) {
			read_function(r, &die, blocks + 1);
			continue;
		}
		const bool is_inlined = tag == DW_TAG_inlined_subroutine;

		if (is_inlined)
			add_ranges(r, &die, true, depth);
		read_children(r, &die, depth + is_inlined, blocks + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void read_unit(struct elfsym_inline *i, struct unit *u)
{
	struct reading r = { i, u };
	Dwarf_Die die;

	if (u->is_read)
		return;
	u->is_read = true;
	if (dwarf_offdie(i->dwarf, u->die, &die))
		read_children(&r, &die, 0, 0);
	if (u->count)
		qsort(u->functions, u->count, sizeof(*u->functions), compare_functions);
}

/* ---- look-ups ---- */

static const struct unit_range *range_of(const struct elfsym_inline *i, uint64_t address)
{
	size_t low = 0, high = i->range_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (i->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < i->ranges[low - 1].end ? &i->ranges[low - 1] : NULL;
}

static const struct function *function_of(const struct unit *u, uint64_t address)
{
	size_t low = 0, high = u->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (u->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < u->functions[low - 1].end ? &u->functions[low - 1] : NULL;
}

static const char *string_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, name, &a) ? dwarf_formstring(&a) : NULL;
}

static const char *name_of(Dwarf_Die *die)
{
	const char *name = string_of(die, DW_AT_linkage_name);

	if (!name)
		name = string_of(die, DW_AT_MIPS_linkage_name);
	return name ? name : string_of(die, DW_AT_name);
}

static const char *without_folder(const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	return slash ? slash + 1 : file;
}

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;
	Dwarf_Word value;

	return dwarf_attr(die, name, &a) && !dwarf_formudata(&a, &value) ? value : 0;
}

/* Where the function around an inlined one calls it. */
static void set_call_line(Dwarf_Die *unit, Dwarf_Die *inlined, struct inlined_function *f)
{
	const uint64_t file = number_of(inlined, DW_AT_call_file);
	const uint64_t line = number_of(inlined, DW_AT_call_line);
	Dwarf_Files *files;
	size_t count;

	if (!line || line > INT32_MAX || dwarf_getsrcfiles(unit, &files, &count) || file >= count)
		return;
	f->file = without_folder(dwarf_filesrc(files, file, NULL, NULL));
	f->line = (int)line;
}

static void set_own_line(Dwarf_Die *unit, uint64_t address, struct inlined_function *f)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line || dwarf_lineno(line, &number) || !number)
		return;
	f->file = without_folder(dwarf_linesrc(line, NULL, NULL));
	f->line = number;
}

/* The innermost function inlined at an address, of those less deep than `below`. */
static const struct inlined *deepest(const struct unit *u, const struct function *f,
				     uint64_t address, uint32_t below)
{
	const struct inlined *best = NULL;

	for (uint32_t n = f->first; n < f->first + f->count; n++) {
		const struct inlined *x = &u->inlined[n];

		if (address >= x->start && address < x->end && x->depth < below &&
		    (!best || x->depth > best->depth))
			best = x;
	}
	return best;
}

size_t elfsym_inline_find(struct elfsym_inline *i, uint64_t address, struct inlined_function *found,
			  size_t max)
{
	const struct unit_range *r = range_of(i, address);
	Dwarf_Die unit, die;
	size_t n = 0;

	if (!r || !max || i->compared > COMPARED_MAX)
		return 0;
	struct unit *u = &i->units[r->unit];

	read_unit(i, u);
	if (!dwarf_offdie(i->dwarf, u->die, &unit))
		return 0;
	const struct function *f = function_of(u, address);
	const struct inlined *x = f ? deepest(u, f, address, UINT32_MAX) : NULL;

	i->compared += f ? f->count : 0;

	memset(found, 0, max * sizeof(*found));
	set_own_line(&unit, address, &found[0]);
	for (; x && n + 1 < max; x = deepest(u, f, address, x->depth)) {
		if (!dwarf_offdie(i->dwarf, x->die, &die))
			break;
		i->compared += f->count;
		found[n++].name = name_of(&die);
		set_call_line(&unit, &die, &found[n]);
	}
	return n + 1;
}
