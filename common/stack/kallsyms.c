#include "common/stack/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/scan.h"
#include "common/stack/symtab.h"

#define PAGE 4096u

#define MARKS 2

/* Where the kernel begins: other names for the same address are better known. */
static const char *const mark_names[MARKS] = { "_text", "_stext" };

struct kallsyms {
	struct buf text;               /* a NUL behind each name, and behind its module */
	struct symtab *table;
	uint64_t marks[MARKS];         /* 0: not listed */
	size_t lines, hidden, skipped;
};

static bool is_function(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static bool is_noise(struct text name)
{
	return name.data[0] == '$' || text_starts(name, ".L") || text_starts(name, "__cfi_") ||
	       text_starts(name, "__pfx_");
}

static enum symtab_binding binding_of(char type)
{
	return type == 'T' ? SYMTAB_GLOBAL : type == 't' ? SYMTAB_LOCAL : SYMTAB_WEAK;
}

/* The mark where a section ends is not a function that goes on from there. */
static bool is_end(struct text name)
{
	return text_is(name, "_etext") || text_is(name, "_einittext");
}

static void note_mark(struct kallsyms *k, struct text name, uint64_t address)
{
	for (unsigned i = 0; i < MARKS; i++)
		if (text_is(name, mark_names[i]))
			k->marks[i] = address;
}

/* False: not a line of this file. */
static bool add_line(struct kallsyms *k, struct text line, unsigned table)
{
	struct scan s = scan_of(line);
	struct text type, name;
	uint64_t address;

	if (!scan_hex(&s, &address) || !scan_word(&s, &type) || type.len != 1 ||
	    !scan_word(&s, &name) || memchr(name.data, '\0', name.len))
		return false;
	k->lines++;
	k->hidden += !address;
	if (!address || !is_function(type.data[0]) || is_noise(name))
		return true;
	const size_t at = (size_t)(name.data - k->text.data);
	struct text module;

	note_mark(k, name, address);

	if (!scan_word(&s, &module) || module.data[0] != '[' ||
	    module.data != name.data + name.len + 1)
		module = (struct text){ "", 0 };
	symtab_add(k->table, address, 0, is_end(name) ? address : UINT64_MAX, table, at,
		   binding_of(type.data[0]));
	/* in place: the line has been read */
	k->text.data[at + name.len] = '\0';
	if (module.len)
		k->text.data[(size_t)(module.data - k->text.data) + module.len] = '\0';
	return true;
}

static struct text module_of(const char *name)
{
	const char *behind = name + strlen(name) + 1;

	return *behind == '[' ? text_of(behind) : (struct text){ "", 0 };
}

/* A list has no lengths: the last function of a module ends with its page at the latest. */
static void bound_last_ones(struct kallsyms *k)
{
	size_t count;
	struct symtab_entry *e = symtab_entries(k->table, &count);

	for (size_t i = 0; i < count; i++) {
		const uint64_t page_end = (e[i].start | (PAGE - 1)) + 1;
		const struct text own = module_of(symtab_name(k->table, &e[i]));

		if (i + 1 < count && text_equals(own, module_of(symtab_name(k->table, &e[i + 1]))))
			continue;
		if (e[i].size > page_end - e[i].start)
			e[i].size = (uint32_t)(page_end - e[i].start);
	}
}

struct kallsyms *kallsyms_new(struct buf *text)
{
	struct kallsyms *k = mem_alloc(sizeof(*k));
	struct text line;
	unsigned table = 0;

	/* two bytes more than there are: what stands behind the last name is looked at */
	buf_add(text, "\n", 2);
	k->text = *text;
	*text = (struct buf){ 0 };
	k->table = symtab_new();
	symtab_add_table(k->table, buf_text(&k->text), &table);

	struct scan s = { k->text.data, k->text.data + k->text.len - 2 };

	while (scan_line(&s, &line))
		if (line.len && !add_line(k, line, table))
			k->skipped++;
	symtab_seal(k->table);
	bound_last_ones(k);
	return k;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	symtab_free(k->table);
	buf_free(&k->text);
	free(k);
}

enum kallsyms_state kallsyms_state(const struct kallsyms *k)
{
	if (!k->lines)
		return KALLSYMS_EMPTY;
	return k->hidden == k->lines ? KALLSYMS_HIDDEN : KALLSYMS_GOOD;
}

size_t kallsyms_skipped(const struct kallsyms *k)
{
	return k->skipped;
}

bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *found)
{
	const struct symtab_entry *e = symtab_find(k->table, address);

	if (!e)
		return false;
	*found = (struct kallsyms_symbol){ .name = symtab_name(k->table, e), .start = e->start };
	found->module = module_of(found->name);
	return true;
}

bool kallsyms_mark(const struct kallsyms *k, const char *name, uint64_t *address)
{
	for (unsigned i = 0; i < MARKS; i++) {
		if (strcmp(name, mark_names[i]) || !k->marks[i])
			continue;
		*address = k->marks[i];
		return true;
	}
	return false;
}
