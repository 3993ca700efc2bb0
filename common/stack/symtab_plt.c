/* Stubs of the procedure linkage table: which function each jumps to. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/mem.h"
#include "common/stack/elfimage.h"
#include "common/stack/symtab_impl.h"

#define STUBS_MAX (1u << 20)

/* Relocated addresses (a stub's word in the GOT), each with its symbol's number. */
struct slots {
	struct hash by_address;        /* to an index into numbers, plus 1 */
	struct text dynamic_names;
	struct elfsection symbols;
	const struct elfimage *e;
};

static void add_relocation(struct slots *g, const char *at)
{
	Elf64_Rela r;

	memcpy(&r, at, sizeof(r));
	const uint64_t number = ELF64_R_SYM(r.r_info);

	if (number)
		*hash_number(&g->by_address, r.r_offset) = (void *)(uintptr_t)number;
}

static void add_relocations(struct slots *g, const char *section)
{
	struct elfsection s;

	if (!elfimage_find_section(g->e, section, &s) || s.type != SHT_RELA)
		return;
	for (size_t at = 0; s.data.len - at >= sizeof(Elf64_Rela) && g->by_address.used < STUBS_MAX;
	     at += sizeof(Elf64_Rela))
		add_relocation(g, s.data.data + at);
}

static void add_stub(struct symtab *t, struct slots *g, uint64_t start, uint64_t size,
		     uint64_t word)
{
	const uintptr_t number = (uintptr_t)hash_find_number(&g->by_address, word);
	struct elfsymbol s;

	if (number && elfimage_symbol(g->e, &g->symbols, g->dynamic_names, number, &s) &&
	    s.name.len)
		symtab_add_made(t, start, size, s.name, "@plt");
}

/* jmp *disp32(%rip) is ff 25 disp32, wherever in its stub. */
static void add_x86_stubs(struct symtab *t, struct slots *g, const struct elfsection *s)
{
	const unsigned char *code = (const unsigned char *)s->data.data;
	const size_t size = s->entry_size == 8 ? 8 : 16;

	for (size_t at = 0; s->data.len - at >= size; at += size) {
		for (size_t i = 0; i + 6 <= size; i++) {
			int32_t to;

			if (code[at + i] != 0xff || code[at + i + 1] != 0x25)
				continue;
			memcpy(&to, code + at + i + 2, sizeof(to));
			add_stub(t, g, s->address + at, size,
				 s->address + at + i + 6 + (uint64_t)(int64_t)to);
			break;
		}
	}
}

/* adrp x16, page; ldr x17, [x16, #low]: wherever in its stub, a bti may stand in front. */
static void add_arm64_stubs(struct symtab *t, struct slots *g, const struct elfsection *s)
{
	for (size_t at = 0; s->data.len - at >= 16; at += 4) {
		uint32_t page, load;

		memcpy(&page, s->data.data + at, 4);
		memcpy(&load, s->data.data + at + 4, 4);
		if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
			continue;
		const int64_t pages = (int64_t)((uint64_t)((page >> 5 & 0x7ffff) << 2 |
							   (page >> 29 & 3)) << 43) >> 31;
		const uint64_t here = (s->address + at) & ~0xfffull;

		add_stub(t, g, s->address + at, 16,
			 here + (uint64_t)pages + (uint64_t)(load >> 10 & 0xfff) * 8);
	}
}

void symtab_add_plt(struct symtab *t, const struct elfimage *e)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got" };
	struct slots g = { .e = e };
	struct elfsection names, s;

	if (!e->is_64 || (e->machine != EM_X86_64 && e->machine != EM_AARCH64) ||
	    !elfimage_find_type(e, SHT_DYNSYM, &g.symbols) ||
	    !elfimage_section(e, g.symbols.link, &names))
		return;
	g.dynamic_names = names.data;
	add_relocations(&g, ".rela.plt");
	add_relocations(&g, ".rela.dyn");
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		if (!elfimage_find_section(e, sections[i], &s) || s.data.len > 16ull * STUBS_MAX)
			continue;
		if (e->machine == EM_X86_64)
			add_x86_stubs(t, &g, &s);
		else
			add_arm64_stubs(t, &g, &s);
	}
	hash_free(&g.by_address);
}
