/* Small ELF files made by a test: sections one behind the other, at addresses that it chooses. */
#ifndef TESTS_UNIT_ELFMAKE_H
#define TESTS_UNIT_ELFMAKE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"

#define ELFMAKE_SECTIONS 24

struct elfmake {
	struct buf bytes;
	Elf64_Ehdr head;
	Elf64_Shdr sections[ELFMAKE_SECTIONS];
	Elf64_Phdr segments[4];
	struct buf names;
	unsigned section_count, segment_count;
};

/* Program headers have room for four. */
static inline void elfmake_begin(struct elfmake *m, unsigned type, unsigned machine)
{
	*m = (struct elfmake){ .section_count = 1 };
	m->head = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = (Elf64_Half)type, .e_machine = (Elf64_Half)machine,
		.e_version = EV_CURRENT, .e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	buf_add(&m->names, "", 1);
	buf_reserve(&m->bytes, sizeof(m->head) + sizeof(m->segments));
	m->bytes.len = sizeof(m->head) + sizeof(m->segments);
	memset(m->bytes.data, 0, m->bytes.len);
}

/* Returns the section's number. */
static inline unsigned elfmake_section(struct elfmake *m, const char *name, unsigned type,
				       uint64_t flags, uint64_t address, const void *data,
				       size_t len)
{
	while (m->bytes.len % 16)
		buf_add_char(&m->bytes, '\0');
	m->sections[m->section_count] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)m->names.len, .sh_type = type, .sh_flags = flags,
		.sh_addr = address, .sh_offset = m->bytes.len, .sh_size = len, .sh_addralign = 1,
	};
	buf_add(&m->names, name, strlen(name) + 1);
	buf_add(&m->bytes, data, len);
	return m->section_count++;
}

/* Loads a section's bytes at its address. */
static inline void elfmake_load(struct elfmake *m, unsigned section, unsigned flags)
{
	const Elf64_Shdr *s = &m->sections[section];

	m->segments[m->segment_count++] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = flags, .p_offset = s->sh_offset,
		.p_vaddr = s->sh_addr, .p_filesz = s->sh_size, .p_memsz = s->sh_size,
	};
}

struct elfmake_symbol {
	const char *name;
	uint64_t value, size;
	unsigned section, type, binding;
};

static inline void elfmake_symbols(struct elfmake *m, unsigned table_type, const char *table,
				   const char *strings, const struct elfmake_symbol *list,
				   size_t count)
{
	struct buf symbols = { 0 }, text = { 0 };
	const Elf64_Sym zero = { 0 };

	buf_add(&text, "", 1);
	buf_add(&symbols, &zero, sizeof(zero));
	for (size_t i = 0; i < count; i++) {
		const Elf64_Sym s = {
			.st_name = (Elf64_Word)text.len, .st_value = list[i].value,
			.st_size = list[i].size, .st_shndx = (Elf64_Half)list[i].section,
			.st_info = ELF64_ST_INFO(list[i].binding, list[i].type),
		};

		buf_add(&text, list[i].name, strlen(list[i].name) + 1);
		buf_add(&symbols, &s, sizeof(s));
	}
	const unsigned number = elfmake_section(m, table, table_type, 0, 0, symbols.data,
						symbols.len);

	m->sections[number].sh_entsize = sizeof(Elf64_Sym);
	m->sections[number].sh_link = elfmake_section(m, strings, SHT_STRTAB, 0, 0, text.data,
						      text.len);
	buf_free(&symbols);
	buf_free(&text);
}

/* A GNU build id of four bytes. */
static inline void elfmake_build_id(struct elfmake *m, uint32_t id)
{
	const struct {
		Elf64_Nhdr head;
		char name[4];
		unsigned char id[4];
	} note = {
		{ 4, 4, NT_GNU_BUILD_ID }, "GNU",
		{ (unsigned char)(id >> 24), (unsigned char)(id >> 16), (unsigned char)(id >> 8),
		  (unsigned char)id },
	};

	elfmake_section(m, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, &note, sizeof(note));
}

/* The whole file, in the caller's memory: buf_free(&m->bytes). */
static inline struct text elfmake_end(struct elfmake *m)
{
	const unsigned names = elfmake_section(m, ".shstrtab", SHT_STRTAB, 0, 0, "", 0);

	m->sections[names].sh_size = m->names.len;
	buf_add(&m->bytes, m->names.data, m->names.len);
	while (m->bytes.len % 16)
		buf_add_char(&m->bytes, '\0');
	m->head.e_shoff = m->bytes.len;
	m->head.e_shnum = (Elf64_Half)m->section_count;
	m->head.e_shstrndx = (Elf64_Half)names;
	m->head.e_phnum = (Elf64_Half)m->segment_count;
	buf_add(&m->bytes, m->sections, m->section_count * sizeof(*m->sections));
	memcpy(m->bytes.data, &m->head, sizeof(m->head));
	memcpy(m->bytes.data + sizeof(m->head), m->segments, sizeof(m->segments));
	buf_free(&m->names);
	return buf_text(&m->bytes);
}

#endif
