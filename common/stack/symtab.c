#include "common/stack/symtab.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/stack/elfimage.h"
#include "common/stack/symtab_impl.h"

#define NAME_BITS 30                   /* of an entry's name; the table's number stands above */
#define NAME_MASK ((1u << NAME_BITS) - 1)
#define MADE_BYTES_MAX (64u << 20)     /* of names made here */
#define NESTED_MAX 32                  /* entries looked back over for one that encloses */

struct symtab *symtab_new(void)
{
	return mem_alloc(sizeof(struct symtab));
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->raw);
	free(t->entries);
	buf_free(&t->made);
	free(t);
}

bool symtab_is_cut(const struct symtab *t)
{
	return t->is_cut;
}

struct symtab_entry *symtab_entries(struct symtab *t, size_t *count)
{
	*count = t->count;
	return t->entries;
}

bool symtab_add_table(struct symtab *t, struct text names, unsigned *table)
{
	if (t->table_count == SYMTAB_TABLES - 1)
		return false;          /* the last one holds names made here */
	*table = t->table_count++;
	t->tables[*table] = names;
	return true;
}

void symtab_add(struct symtab *t, uint64_t start, uint64_t size, uint64_t limit, unsigned table,
		size_t name, enum symtab_binding binding)
{
	if (name > NAME_MASK)
		return;
	if (t->raw_count == SYMTAB_MAX) {
		t->is_cut = true;
		return;
	}
	t->raw = mem_grow(t->raw, &t->raw_cap, t->raw_count + 1, sizeof(*t->raw));
	t->raw[t->raw_count] = (struct symtab_raw){
		.order = (uint32_t)t->raw_count,
		.start = start, .limit = limit,
		.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
		.name = (uint32_t)name | table << NAME_BITS, .binding = (unsigned char)binding,
	};
	t->raw_count++;
}

/* ---- ELF ---- */

/* Where each section of an object still to be linked will stand; UINT64_MAX: not in text. */
static uint64_t *lay_out(const struct elfimage *e)
{
	uint64_t *bases = mem_alloc(((size_t)e->section_count + 1) * sizeof(*bases));
	uint64_t at = 0;
	struct elfsection s;

	/* kernel/module/main.c layout_sections: executable ones in the file's order, .init apart */
	for (uint32_t i = 0; i < e->section_count; i++) {
		bases[i] = UINT64_MAX;
		if (!elfimage_section(e, i, &s) || !(s.flags & SHF_EXECINSTR) ||
		    !(s.flags & SHF_ALLOC) || text_starts(s.name, ".init"))
			continue;
		if (s.align > 1 && s.align <= 65536 && !(s.align & (s.align - 1)))
			at = (at + s.align - 1) & ~(s.align - 1);
		bases[i] = at;
		at += s.size & UINT32_MAX;
	}
	return bases;
}

struct placed {
	const struct elfimage *e;
	const uint64_t *bases;         /* NULL: values are addresses */
	uint32_t section;              /* the one asked for last ... */
	struct elfsection s;           /* ... and what it is */
	bool is_there;
};

/* The address of a symbol, and where its section ends; false: not code. */
static bool place(struct placed *p, const struct elfsymbol *s, uint64_t *start, uint64_t *limit)
{
	*start = s->value;
	*limit = UINT64_MAX;
	if (s->section == SHN_XINDEX)
		return !p->bases;      /* in a section above 65,280, wherever that is */
	if (s->section == SHN_UNDEF || s->section >= SHN_LORESERVE)
		return false;
	if (p->section != s->section) {
		p->section = s->section;
		p->is_there = elfimage_section(p->e, s->section, &p->s);
	}
	if (!p->is_there)
		return !p->bases && ELF64_ST_TYPE(s->info) != STT_NOTYPE;
	if (!(p->s.flags & SHF_EXECINSTR))
		return false;
	const uint64_t base = p->bases ? p->bases[s->section] : 0;

	if (base == UINT64_MAX)
		return false;
	*start = base + s->value;
	*limit = base + p->s.address + p->s.size;
	return true;
}

/* $x, $d.7: where code and data begin on ARM and RISC-V; .L: the compiler's own. */
static bool is_label(struct text name)
{
	return !name.len || name.data[0] == '$' || text_starts(name, ".L");
}

static bool is_function(const struct elfsymbol *s)
{
	const unsigned type = ELF64_ST_TYPE(s->info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       !is_label(s->name);
}

static enum symtab_binding binding_of(const struct elfsymbol *s)
{
	switch (ELF64_ST_BIND(s->info)) {
	case STB_WEAK:
		return SYMTAB_WEAK;
	case STB_LOCAL:
		return SYMTAB_LOCAL;
	default:
		return SYMTAB_GLOBAL;
	}
}

static void add_symbols(struct symtab *t, const struct elfimage *e, const struct elfsection *table,
			struct text names, unsigned number)
{
	uint64_t *bases = e->type == ET_REL ? lay_out(e) : NULL;
	struct placed p = { .e = e, .bases = bases };
	const size_t count = elfimage_symbol_count(e, table);
	struct elfsymbol s;
	uint64_t start, limit;

	for (size_t i = 1; i < count && !t->is_cut; i++) {
		if (!elfimage_symbol(e, table, names, i, &s) || !is_function(&s) ||
		    !place(&p, &s, &start, &limit))
			continue;
		if (e->machine == EM_ARM)
			start &= ~1ull;        /* Thumb */
		const size_t at = t->raw_count;

		symtab_add(t, start, s.size, limit, number, (size_t)(s.name.data - names.data),
			   binding_of(&s));
		if (t->raw_count > at)
			t->raw[at].is_label = ELF64_ST_TYPE(s.info) == STT_NOTYPE && !s.size;
	}
	free(bases);
}

bool symtab_add_elf(struct symtab *t, const struct elfimage *e)
{
	struct elfsection table, names;
	unsigned number;

	if ((!elfimage_find_type(e, SHT_SYMTAB, &table) || !table.data.len) &&
	    (!elfimage_find_type(e, SHT_DYNSYM, &table) || !table.data.len))
		return false;
	if (!elfimage_section(e, table.link, &names) || !names.data.len ||
	    !symtab_add_table(t, names.data, &number))
		return false;
	add_symbols(t, e, &table, names.data, number);
	return true;
}

void symtab_add_made(struct symtab *t, uint64_t start, uint64_t size, struct text name,
		     const char *suffix)
{
	const size_t at = t->made.len;

	if (at > MADE_BYTES_MAX)
		return;
	buf_add(&t->made, name.data, name.len);
	buf_add(&t->made, suffix, strlen(suffix) + 1);
	symtab_add(t, start, size, UINT64_MAX, SYMTAB_TABLES - 1, at, SYMTAB_LOCAL);
}

/* ---- order ---- */

static const char *name_of(const struct symtab *t, uint32_t name)
{
	const unsigned table = name >> NAME_BITS;
	const size_t at = name & NAME_MASK;

	return table == SYMTAB_TABLES - 1 ? t->made.data + at : t->tables[table].data + at;
}

static unsigned underscores(const char *name)
{
	return (unsigned)strspn(name, "_");
}

/* Whether a is the better name for an address that b names too: negative if so. */
static int compare_names(const struct symtab *t, const struct symtab_raw *a,
			 const struct symtab_raw *b)
{
	if (!a->size != !b->size)
		return a->size ? -1 : 1;
	if ((a->binding == SYMTAB_WEAK) != (b->binding == SYMTAB_WEAK))
		return a->binding == SYMTAB_WEAK ? 1 : -1;
	if (a->binding != b->binding)
		return a->binding == SYMTAB_GLOBAL ? -1 : 1;
	const char *x = name_of(t, a->name), *y = name_of(t, b->name);
	const bool x_is_call = !strncmp(x, "__SCT__", 7), y_is_call = !strncmp(y, "__SCT__", 7);

	if (x_is_call != y_is_call)
		return x_is_call ? 1 : -1;
	if (underscores(x) != underscores(y))
		return underscores(x) < underscores(y) ? -1 : 1;
	const size_t m = strlen(x), n = strlen(y);

	if (m != n)
		return m > n ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static int compare_aliases(const void *a, const void *b, void *arg)
{
	return compare_names(arg, a, b);
}

struct place_of {
	uint64_t start;
	uint32_t index;
};

/* One pass of the sort by digits: stable, by the byte of start that stands at shift. */
static void sort_digit(const struct place_of *from, struct place_of *to, size_t count,
		       unsigned shift)
{
	size_t at[256] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		at[from[i].start >> shift & 255]++;
	for (unsigned d = 0; d < 256; d++) {
		const size_t n = at[d];

		at[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[at[from[i].start >> shift & 255]++] = from[i];
}

/* By start: the bytes in which no two differ, most of them, cost nothing. */
static void sort_by_start(struct symtab *t)
{
	const size_t count = t->raw_count;
	struct place_of *from = mem_alloc(count * sizeof(*from));
	struct place_of *to = mem_alloc(count * sizeof(*to));
	struct symtab_raw *sorted = mem_alloc(count * sizeof(*sorted));
	uint64_t differ = 0;

	for (size_t i = 0; i < count; i++) {
		from[i] = (struct place_of){ t->raw[i].start, (uint32_t)i };
		differ |= t->raw[i].start ^ t->raw[0].start;
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct place_of *other = from;

		if (!(differ >> shift & 255))
			continue;
		sort_digit(from, to, count, shift);
		from = to;
		to = other;
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = t->raw[from[i].index];
	free(from);
	free(to);
	free(t->raw);
	t->raw = sorted;
	t->raw_cap = count;
}

/* Of equal starts the best name first. */
static void sort_aliases(struct symtab *t)
{
	size_t end;

	for (size_t i = 0; i < t->raw_count; i = end) {
		for (end = i + 1; end < t->raw_count; end++)
			if (t->raw[end].start != t->raw[i].start)
				break;
		if (end - i > 1)
			qsort_r(t->raw + i, end - i, sizeof(*t->raw), compare_aliases, t);
	}
}

/* One entry for each address, of those sorted with the best name first. */
static size_t drop_aliases(struct symtab_raw *raw, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && raw[kept - 1].start == raw[i].start) {
			if (raw[kept - 1].limit == UINT64_MAX)
				raw[kept - 1].limit = raw[i].limit;
			continue;
		}
		raw[kept++] = raw[i];
	}
	return kept;
}

/* Labels inside a function that says how long it is. */
static size_t drop_labels(struct symtab_raw *raw, size_t count)
{
	size_t kept = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		if (raw[i].is_label && raw[i].start < end)
			continue;
		if (raw[i].start + raw[i].size > end)
			end = raw[i].start + raw[i].size;
		raw[kept++] = raw[i];
	}
	return kept;
}

void symtab_seal(struct symtab *t)
{
	if (t->raw_count) {
		sort_by_start(t);
		sort_aliases(t);
	}
	t->count = drop_labels(t->raw, drop_aliases(t->raw, t->raw_count));
	t->entries = mem_alloc(t->count * sizeof(*t->entries));
	for (size_t i = 0; i < t->count; i++) {
		const struct symtab_raw *r = &t->raw[i];
		uint64_t end = r->limit;

		if (i + 1 < t->count && t->raw[i + 1].start < end)
			end = t->raw[i + 1].start;
		uint64_t size = r->size ? r->size : end > r->start ? end - r->start : 0;

		t->entries[i] = (struct symtab_entry){
			r->start, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size, r->name,
		};
	}
	free(t->raw);
	t->raw = NULL;
	t->raw_count = t->raw_cap = 0;
}

static size_t first_above(const struct symtab *t, uint64_t address)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (t->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address)
{
	const size_t above = first_above(t, address);

	for (size_t i = above; i > 0 && above - i < NESTED_MAX; i--)
		if (address - t->entries[i - 1].start < t->entries[i - 1].size)
			return &t->entries[i - 1];
	return NULL;
}

const char *symtab_name(const struct symtab *t, const struct symtab_entry *e)
{
	return name_of(t, e->name);
}
