#include "common/stack/elfimage.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "common/base/fail.h"

#define SECTIONS_MAX (1u << 17)        /* more are not looked at; real files have dozens */
#define SEGMENTS_MAX 4096u
#define NAME_BYTES_MAX 16384u          /* a longer name is as good as none */

#define NATIVE_DATA (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static bool copy_at(const struct elfimage *e, uint64_t offset, void *to, size_t size)
{
	if (offset > e->bytes.len || size > e->bytes.len - offset)
		return false;
	memcpy(to, e->bytes.data + offset, size);
	return true;
}

static struct text bytes_at(const struct elfimage *e, uint64_t offset, uint64_t size)
{
	if (offset > e->bytes.len || size > e->bytes.len - offset)
		return (struct text){ "", 0 };
	return (struct text){ e->bytes.data + offset, (size_t)size };
}

/* What lies behind an offset, up to `size`. */
static struct text bytes_from(const struct elfimage *e, uint64_t offset, uint64_t size)
{
	if (offset > e->bytes.len)
		return (struct text){ "", 0 };
	const uint64_t room = e->bytes.len - offset;

	return (struct text){ e->bytes.data + offset, (size_t)(size < room ? size : room) };
}

#define TAKE_HEADER(e, h) do {                                                              \
	(e)->type = (h).e_type;                                                             \
	(e)->machine = (h).e_machine;                                                       \
	(e)->entry = (h).e_entry;                                                           \
	(e)->segments_at = (h).e_phoff;                                                     \
	(e)->sections_at = (h).e_shoff;                                                     \
	(e)->segment_size = (h).e_phentsize;                                                \
	(e)->section_size = (h).e_shentsize;                                                \
	(e)->segment_count = (h).e_phnum;                                                   \
	(e)->section_count = (h).e_shnum;                                                   \
	(e)->names_section = (h).e_shstrndx;                                                \
} while (0)

#define TAKE_SECTION(s, h) do {                                                             \
	(s)->type = (h).sh_type;                                                            \
	(s)->link = (h).sh_link;                                                            \
	(s)->info = (h).sh_info;                                                            \
	(s)->flags = (h).sh_flags;                                                          \
	(s)->address = (h).sh_addr;                                                         \
	(s)->offset = (h).sh_offset;                                                        \
	(s)->size = (h).sh_size;                                                            \
	(s)->align = (h).sh_addralign;                                                      \
	(s)->entry_size = (h).sh_entsize;                                                   \
} while (0)

#define TAKE_SEGMENT(s, h) do {                                                             \
	(s)->type = (h).p_type;                                                             \
	(s)->flags = (h).p_flags;                                                           \
	(s)->offset = (h).p_offset;                                                         \
	(s)->address = (h).p_vaddr;                                                         \
	(s)->file_size = (h).p_filesz;                                                      \
	(s)->memory_size = (h).p_memsz;                                                     \
} while (0)

#define TAKE_SYMBOL(s, h) do {                                                              \
	(s)->value = (h).st_value;                                                          \
	(s)->size = (h).st_size;                                                            \
	(s)->section = (h).st_shndx;                                                        \
	(s)->info = (h).st_info;                                                            \
	(s)->other = (h).st_other;                                                          \
} while (0)

static bool read_header(struct elfimage *e)
{
	if (e->is_64) {
		Elf64_Ehdr h;

		if (!copy_at(e, 0, &h, sizeof(h)))
			return false;
		TAKE_HEADER(e, h);
		return true;
	}
	Elf32_Ehdr h;

	if (!copy_at(e, 0, &h, sizeof(h)))
		return false;
	TAKE_HEADER(e, h);
	return true;
}

static bool read_section(const struct elfimage *e, uint32_t index, struct elfsection *s)
{
	const uint64_t at = e->sections_at + (uint64_t)index * e->section_size;

	if (at < e->sections_at)
		return false;
	if (e->is_64) {
		Elf64_Shdr h;

		if (e->section_size < sizeof(h) || !copy_at(e, at, &h, sizeof(h)))
			return false;
		TAKE_SECTION(s, h);
		s->name.len = h.sh_name;
		return true;
	}
	Elf32_Shdr h;

	if (e->section_size < sizeof(h) || !copy_at(e, at, &h, sizeof(h)))
		return false;
	TAKE_SECTION(s, h);
	s->name.len = h.sh_name;
	return true;
}

/* Counts that do not fit the header's 16 bits stand in section 0 (gABI, "Extended numbering"). */
static void read_large_counts(struct elfimage *e)
{
	struct elfsection first;

	if (!e->sections_at || !read_section(e, 0, &first))
		return;
	if (!e->section_count)
		e->section_count = first.size > UINT32_MAX ? 0 : (uint32_t)first.size;
	if (e->names_section == SHN_XINDEX)
		e->names_section = first.link;
	if (e->segment_count == PN_XNUM)
		e->segment_count = first.info;
}

static uint32_t fitting(const struct elfimage *e, uint64_t at, uint32_t size, uint32_t count,
			uint32_t max)
{
	if (count > max)
		count = max;
	if (!at || !size || at >= e->bytes.len)
		return 0;
	const uint64_t room = (e->bytes.len - at) / size;

	return count < room ? count : (uint32_t)room;
}

int elfimage_open(struct text bytes, struct elfimage *e)
{
	struct elfimage new = { .bytes = bytes };

	if (bytes.len < EI_NIDENT || memcmp(bytes.data, ELFMAG, SELFMAG))
		return fail(ENOEXEC, "not an ELF file");
	if (bytes.data[EI_DATA] != NATIVE_DATA)
		return fail(ENOEXEC, "an ELF file of another byte order");
	if (bytes.data[EI_CLASS] != ELFCLASS64 && bytes.data[EI_CLASS] != ELFCLASS32)
		return fail(ENOEXEC, "an ELF file neither of 32 nor 64 bits");
	new.is_64 = bytes.data[EI_CLASS] == ELFCLASS64;
	if (!read_header(&new))
		return fail(ENOEXEC, "an ELF file cut within its header");
	read_large_counts(&new);
	new.section_count = fitting(&new, new.sections_at, new.section_size, new.section_count,
				    SECTIONS_MAX);
	new.segment_count = fitting(&new, new.segments_at, new.segment_size, new.segment_count,
				    SEGMENTS_MAX);
	*e = new;
	return 0;
}

/* A NUL-terminated name in a table; empty if it does not end there. */
static struct text name_at(struct text names, uint64_t at)
{
	if (at >= names.len)
		return (struct text){ "", 0 };
	const char *start = names.data + at;
	const size_t room = names.len - (size_t)at;
	const char *end = memchr(start, '\0', room < NAME_BYTES_MAX ? room : NAME_BYTES_MAX);

	return end ? (struct text){ start, (size_t)(end - start) } : (struct text){ "", 0 };
}

static struct text section_names(const struct elfimage *e)
{
	struct elfsection s;

	if (e->names_section >= e->section_count || !read_section(e, e->names_section, &s))
		return (struct text){ "", 0 };
	return bytes_at(e, s.offset, s.size);
}

bool elfimage_section(const struct elfimage *e, uint32_t index, struct elfsection *s)
{
	if (index >= e->section_count || !read_section(e, index, s))
		return false;
	s->name = name_at(section_names(e), s->name.len);
	s->data = s->type == SHT_NOBITS ? (struct text){ "", 0 } : bytes_at(e, s->offset, s->size);
	return true;
}

bool elfimage_find_section(const struct elfimage *e, const char *name, struct elfsection *s)
{
	for (uint32_t i = 1; i < e->section_count; i++)
		if (elfimage_section(e, i, s) && text_is(s->name, name))
			return true;
	return false;
}

bool elfimage_find_type(const struct elfimage *e, uint32_t type, struct elfsection *s)
{
	for (uint32_t i = 1; i < e->section_count; i++)
		if (read_section(e, i, s) && s->type == type)
			return elfimage_section(e, i, s);
	return false;
}

bool elfimage_segment(const struct elfimage *e, uint32_t index, struct elfsegment *s)
{
	const uint64_t at = e->segments_at + (uint64_t)index * e->segment_size;

	if (index >= e->segment_count)
		return false;
	if (e->is_64) {
		Elf64_Phdr h;

		if (e->segment_size < sizeof(h) || !copy_at(e, at, &h, sizeof(h)))
			return false;
		TAKE_SEGMENT(s, h);
		return true;
	}
	Elf32_Phdr h;

	if (e->segment_size < sizeof(h) || !copy_at(e, at, &h, sizeof(h)))
		return false;
	TAKE_SEGMENT(s, h);
	return true;
}

bool elfimage_address_of(const struct elfimage *e, uint64_t offset, uint64_t *address)
{
	struct elfsegment s, best = { 0 };
	bool found = false;

	/* a page that two segments share is mapped twice: the code's copy is the one that runs */
	for (uint32_t i = 0; i < e->segment_count; i++) {
		if (!elfimage_segment(e, i, &s) || s.type != PT_LOAD || offset < s.offset ||
		    offset - s.offset >= s.file_size)
			continue;
		if (!found || ((s.flags & PF_X) && !(best.flags & PF_X)))
			best = s;
		found = true;
	}
	if (found)
		*address = offset - best.offset + best.address;
	return found;
}

/* gABI's "Section Compression", and the older .zdebug_*: "ZLIB" and a big-endian size. */
static uint64_t unpacked_size_of(const struct elfimage *e, const struct elfsection *s)
{
	if (text_starts(s->name, ".zdebug_") && s->data.len >= 12) {
		uint64_t size;

		memcpy(&size, s->data.data + 4, sizeof(size));
		return __builtin_bswap64(size);
	}
	if (!(s->flags & SHF_COMPRESSED))
		return 0;
	if (e->is_64 && s->data.len >= sizeof(Elf64_Chdr)) {
		Elf64_Chdr h;

		memcpy(&h, s->data.data, sizeof(h));
		return h.ch_size;
	}
	if (!e->is_64 && s->data.len >= sizeof(Elf32_Chdr)) {
		Elf32_Chdr h;

		memcpy(&h, s->data.data, sizeof(h));
		return h.ch_size;
	}
	return 0;
}

uint64_t elfimage_unpacked_size(const struct elfimage *e)
{
	struct elfsection s;
	uint64_t sum = 0;

	for (uint32_t i = 1; elfimage_section(e, i, &s); i++) {
		const uint64_t size = unpacked_size_of(e, &s);

		sum = size > UINT64_MAX - sum ? UINT64_MAX : sum + size;
	}
	return sum;
}

struct text elfimage_loaded_at(const struct elfimage *e, uint64_t address)
{
	struct elfsegment s;

	for (uint32_t i = 0; i < e->segment_count; i++) {
		if (!elfimage_segment(e, i, &s) || s.type != PT_LOAD || address < s.address ||
		    address - s.address >= s.file_size)
			continue;
		const uint64_t into = address - s.address;

		if (s.offset > UINT64_MAX - into)
			break;
		return bytes_from(e, s.offset + into, s.file_size - into);
	}
	return (struct text){ "", 0 };
}

size_t elfimage_symbol_count(const struct elfimage *e, const struct elfsection *symbols)
{
	return symbols->data.len / (e->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
}

bool elfimage_symbol(const struct elfimage *e, const struct elfsection *symbols,
		     struct text names, size_t index, struct elfsymbol *s)
{
	if (index >= elfimage_symbol_count(e, symbols))
		return false;
	if (e->is_64) {
		Elf64_Sym h;

		memcpy(&h, symbols->data.data + index * sizeof(h), sizeof(h));
		TAKE_SYMBOL(s, h);
		s->name = name_at(names, h.st_name);
		return true;
	}
	Elf32_Sym h;

	memcpy(&h, symbols->data.data + index * sizeof(h), sizeof(h));
	TAKE_SYMBOL(s, h);
	s->name = name_at(names, h.st_name);
	return true;
}

bool elfimage_symbol_value(const struct elfimage *e, const char *name, uint64_t *value)
{
	struct elfsection table, names;
	struct elfsymbol s;

	if (!elfimage_find_type(e, SHT_SYMTAB, &table) ||
	    !elfimage_section(e, table.link, &names))
		return false;
	for (size_t i = 0; elfimage_symbol(e, &table, names.data, i, &s); i++) {
		if (!text_is(s.name, name) || s.section == SHN_UNDEF)
			continue;
		*value = s.value;
		return true;
	}
	return false;
}

static void to_hex(struct text id, char hex[ELFIMAGE_BUILD_ID_HEX])
{
	for (size_t i = 0; i < id.len; i++) {
		const unsigned char byte = (unsigned char)id.data[i];

		*hex++ = "0123456789abcdef"[byte >> 4];
		*hex++ = "0123456789abcdef"[byte & 15];
	}
	*hex = '\0';
}

static bool find_build_id(struct text notes, uint64_t align, char hex[ELFIMAGE_BUILD_ID_HEX])
{
	const size_t mask = align == 8 ? 7 : 3;
	size_t at = 0;

	while (notes.len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;

		memcpy(&n, notes.data + at, sizeof(n));
		at += sizeof(n);
		const size_t name = ((size_t)n.n_namesz + mask) & ~mask;
		const size_t content = ((size_t)n.n_descsz + mask) & ~mask;

		if (name > notes.len - at || n.n_descsz > notes.len - at - name)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz &&
		    n.n_descsz <= ELFIMAGE_BUILD_ID_MAX && !memcmp(notes.data + at, "GNU", 4)) {
			to_hex((struct text){ notes.data + at + name, n.n_descsz }, hex);
			return true;
		}
		if (content > notes.len - at - name)
			return false;
		at += name + content;
	}
	return false;
}

bool elfimage_notes_build_id(struct text notes, char hex[ELFIMAGE_BUILD_ID_HEX])
{
	return find_build_id(notes, 4, hex);
}

bool elfimage_build_id(const struct elfimage *e, char hex[ELFIMAGE_BUILD_ID_HEX])
{
	struct elfsegment g;
	struct elfsection s;

	for (uint32_t i = 0; i < e->segment_count; i++) {
		if (!elfimage_segment(e, i, &g) || g.type != PT_NOTE)
			continue;
		const struct text notes = bytes_at(e, g.offset, g.file_size);

		/* 8-byte alignment is used for some notes, 4 for this one, whatever p_align says */
		if (find_build_id(notes, 4, hex) || find_build_id(notes, 8, hex))
			return true;
	}
	for (uint32_t i = 1; i < e->section_count; i++)
		if (read_section(e, i, &s) && s.type == SHT_NOTE && elfimage_section(e, i, &s) &&
		    (find_build_id(s.data, 4, hex) || find_build_id(s.data, 8, hex)))
			return true;
	return false;
}
